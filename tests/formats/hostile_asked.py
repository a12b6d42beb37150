"""Asks every broken or hostile table of one format, and says what came of it: `python -m tests.formats.hostile_asked
FORMAT FOLDER`, run by `test_hostile_tables` as a child process, whose memory is its own."""

from __future__ import annotations

import bz2
import gzip
import json
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import metaindex as mi
from tests.formats.hostile import RealTable, changes
from tests.formats.hostile_texts import SCHEMA, NotCertain, own_rows
from tests.processes import peak_bytes

_SECONDS = 20
_EVERY = 8
_NOT_CERTAIN = object()


def rows(first: int) -> pa.Table:
    return pa.table(
        {
            "id": pa.array(range(first, first + 5), pa.int64()),
            "word": [f"w{n}" for n in range(first, first + 5)],
            "day": ["a" if first % 20 else "b"] * 5,
        }
    )


def sorted_rows(table: pa.Table) -> list[dict[str, Any]]:
    return sorted(table.to_pylist(), key=repr)


def delta(folder: Path, name: str = "delta") -> RealTable:
    import deltalake

    root = folder / name
    for first in range(0, 50, 10):
        deltalake.write_deltalake(str(root), rows(first), mode="append", partition_by=["day"])
    there = deltalake.DeltaTable(str(root))
    there.create_checkpoint()
    there.delete("id = 11")
    deltalake.write_deltalake(str(root), rows(90), mode="append")
    log = sorted(path for path in (root / "_delta_log").iterdir() if path.is_file())
    return RealTable(root, tuple(log), lambda: deltalake.DeltaTable(str(root)).to_pyarrow_table(), {})


def iceberg(folder: Path, name: str = "iceberg") -> RealTable:
    from pyiceberg.catalog.sql import SqlCatalog
    from pyiceberg.table import StaticTable

    catalog = SqlCatalog(name, uri=f"sqlite:///{folder}/{name}.db", warehouse=f"file://{folder}/{name}")
    catalog.create_namespace("db")
    table = catalog.create_table("db.t", rows(0).schema)
    for first in range(0, 30, 10):
        table.append(rows(first))
    table.delete("id = 11")
    root = Path(table.location().removeprefix("file://"))
    newest = table.metadata_location
    kept = [
        newest.removeprefix("file://"),
        *(s.manifest_list.removeprefix("file://") for s in [table.current_snapshot()]),
    ]
    manifests = [m.manifest_path.removeprefix("file://") for m in table.current_snapshot().manifests(table.io)]
    return RealTable(
        root,
        tuple(Path(one) for one in [*kept, *manifests]),
        lambda: StaticTable.from_metadata(newest).scan().to_arrow(),
        {},
    )


def parquet(folder: Path, name: str = "parquet") -> RealTable:
    root = folder / name
    for first in (0, 10, 20, 30):
        (root / f"p={first}").mkdir(parents=True)
        pq.write_table(rows(first), root / f"p={first}" / "a.parquet")
    files = tuple(sorted(root.rglob("*.parquet")))
    return RealTable(root, files, lambda: pq.read_table(root), {})


def text(folder: Path, name: str, kind: str, line: Callable[[int], str], head: str = "") -> RealTable:
    """Four files, two of them packed."""
    root = folder / name
    root.mkdir()
    for first, ending, pack in (
        (0, "", bytes),
        (10, ".gz", gzip.compress),
        (20, ".bz2", bz2.compress),
        (30, "", bytes),
    ):
        data = head + "".join(map(line, range(first, first + 5)))
        (root / f"{first}.{kind}{ending}").write_bytes(pack(data.encode()))
    files = tuple(sorted(root.iterdir()))
    return RealTable(
        root, files, lambda: pa.Table.from_pylist(own_rows(root), SCHEMA), {}, {"schema": SCHEMA, "format": kind}
    )


def csv(folder: Path, name: str = "csv") -> RealTable:
    return text(folder, name, "csv", lambda n: f"{n},w{n}\n", "id,word\n")


def json_lines(folder: Path, name: str = "json") -> RealTable:
    return text(folder, name, "json", lambda n: f'{{"id":{n},"word":"w{n}"}}\n')


MADE: dict[str, Callable[[Path, str], RealTable]] = {"delta": delta, "iceberg": iceberg, "parquet": parquet, "csv": csv,
    "json": json_lines}  # fmt: skip


@contextmanager
def at_most(seconds: int) -> Iterator[None]:
    def late(number: int, frame: object) -> None:
        raise TimeoutError(f"not answered in {seconds} seconds")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def read(table: RealTable) -> list[dict[str, Any]]:
    """All that a table can be asked for without an index."""
    opened = mi.open_table(str(table.root), **table.options)
    for version in opened.versions():
        opened.snapshot(version)
    opened.prune("id = 3 OR word = 'w7' OR word IS NULL")
    return sorted_rows(opened.scan().to_arrow())


def main() -> None:
    name, folder = sys.argv[1:]
    seen, wrong = ask(name, Path(folder))
    sys.stdout.write(json.dumps({"seen": seen, "wrong": wrong, "peak_bytes": peak_bytes()}))


def ask(name: str, folder: Path) -> tuple[Counter[str], list[str]]:
    """How often a changed table was answered in which way, and what was answered as it must not be."""
    table = MADE[name](folder, name)
    other = MADE[name](folder, "other")
    table = replace(table, foreign={p.suffix: p.read_bytes() for p in other.metadata})
    before = read(table)
    opened = mi.open_table(str(table.root), **table.options)
    earlier = [sorted_rows(opened.scan(version=version).to_arrow()) for version in opened.versions()]
    assert before == sorted_rows(table.own()) or name == "parquet"
    seen: Counter[str] = Counter()
    wrong: list[str] = []
    for change in changes(table, every=_EVERY):
        whole = change.path.read_bytes()
        if change.data is None:
            change.path.unlink()
        else:
            change.path.write_bytes(change.data)
        try:
            with at_most(_SECONDS):
                found = read(table)
            if found == before:
                seen["as before"] += 1
            elif found in earlier and change.data is None:
                seen["as at an earlier version"] += 1  # the newest was never committed, for all that is there
            elif [_without_day(row) for row in found] == [_without_day(row) for row in before] and name == "delta":
                seen["with the log's partition value"] += 1
            elif change.name.endswith("cut to 0") and name == "parquet":
                seen["without an empty file"] += 1  # as Spark has it
            elif found == (own := _own(table)):
                seen["as the own reader"] += 1
            elif own is _NOT_CERTAIN:
                seen["not certain"] += 1
            else:
                seen["other rows"] += 1
                wrong.append(f"{change.name}: {len(found)} rows, {len(before)} before")
        except mi.MetaIndexError:
            seen["refused"] += 1
        except Exception as error:  # noqa: BLE001 - what is sought
            seen["raised"] += 1
            wrong.append(f"{change.name}: {error!r:.200}")
        finally:
            change.path.write_bytes(whole)
    return seen, wrong


def _without_day(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name != "day"}


def _own(table: RealTable) -> object:
    try:
        return sorted_rows(table.own())
    except NotCertain:
        return _NOT_CERTAIN
    except BaseException:  # noqa: BLE001 - another project's reader, which may panic
        return None


if __name__ == "__main__":
    main()
