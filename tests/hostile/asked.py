"""Asks every broken or hostile table of one format, or every written hostile text, and says what came of it: `python -m
tests.hostile.asked NAME FOLDER`, run by `test_hostile_tables` as a child process, whose memory is its own.

A table is a real one of which one object of the metadata is changed.
"""

import bz2
import gc
import gzip
import json
import re
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import metaindex as mi
from tests.hostile.changes import of_bytes, of_json
from tests.hostile.driver import Change, answer
from tests.hostile.texts import CSV, JSON, SCHEMA, NotCertain, Rows, Text, own_rows
from tests.processes import peak_bytes

_SECONDS = 40
_EVERY = 8
TEXTS: dict[str, dict[str, Text]] = {"csv texts": CSV, "json texts": JSON}
_NOT_CERTAIN = object()


@dataclass(frozen=True)
class RealTable:
    """A table to be changed. `metadata`: the objects that say what it is; `own`: its rows as the format's own reader
    gives them."""

    root: Path
    metadata: tuple[Path, ...]
    own: Callable[[], pa.Table]
    options: dict[str, Any] = field(default_factory=dict)


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
    return RealTable(root, tuple(log), lambda: deltalake.DeltaTable(str(root)).to_pyarrow_table())


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
    )


def parquet(folder: Path, name: str = "parquet") -> RealTable:
    root = folder / name
    for first in (0, 10, 20, 30):
        (root / f"p={first}").mkdir(parents=True)
        pq.write_table(rows(first), root / f"p={first}" / "a.parquet")
    return RealTable(root, tuple(sorted(root.rglob("*.parquet"))), lambda: pq.read_table(root))


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
        root, files, lambda: pa.Table.from_pylist(own_rows(root), SCHEMA), {"schema": SCHEMA, "format": kind}
    )


def csv(folder: Path, name: str = "csv") -> RealTable:
    return text(folder, name, "csv", lambda n: f"{n},w{n}\n", "id,word\n")


def json_lines(folder: Path, name: str = "json") -> RealTable:
    return text(folder, name, "json", lambda n: f'{{"id":{n},"word":"w{n}"}}\n')


def hudi(folder: Path, name: str = "hudi", version: int = 6) -> RealTable:
    """Nothing is pending: an instant without its completed file would be so by the specification."""
    from tests.formats.hudi.written import META_FIELDS, HudiTable

    def batch(first: int) -> pa.Table:
        day = "a" if first % 20 else "b"
        of_hudi = pa.table({member: [f"{first} {n}" for n in range(5)] for member in META_FIELDS})
        data = pa.table([*of_hudi, *rows(first)], names=[*META_FIELDS, *rows(first).column_names])
        return data.set_column(data.num_columns - 1, "day", pa.array([day] * 5))

    table = HudiTable(folder / name, version, more={"hoodie.populate.meta.fields": ""})
    schema = batch(0).schema
    for first in range(0, 50, 10):
        table.commit([(f"day={'a' if first % 20 else 'b'}", f"g{first}-0", batch(first))], schema=schema)
    table.commit([("day=a", None, batch(90))], [("day=a", "g10-0")], operation="INSERT_OVERWRITE", schema=schema)
    table.archive(sorted(table.live)[:2])
    table.commit([("day=b", "g0-0", batch(20))], schema=schema)
    for ending in ("requested", "inflight"):
        for path in table.timeline.glob(f"*.{ending}"):
            path.unlink()
    live = [table.root / path for path in table.now.values()]
    metadata = [path for path in (table.root / ".hoodie").rglob("*") if path.is_file()]
    newest = table.completed(max(table.live))

    def own() -> pa.Table:
        """The live rows, with the columns that the newest commit names: no other object says what they are."""
        said = re.search(rb'\{\\*"type\\*": ?\\*"record\\*", ?\\*"name\\*": ?\\*"t_record.*\]\}', newest.read_bytes())
        names = [] if said is None else [m.decode() for m in re.findall(rb'"name\\*": ?\\*"([^"\\]*)', said[0])][1:]
        names = [*(name for name in META_FIELDS if name not in names), *names]
        found = pa.concat_tables(pq.ParquetFile(path).read() for path in live)
        return pa.table({n: found[n] if n in found.schema.names else pa.nulls(len(found)) for n in names})

    return RealTable(table.root, tuple(sorted(metadata)), own)


MADE: dict[str, Callable[[Path, str], RealTable]] = {"delta": delta, "iceberg": iceberg, "parquet": parquet, "csv": csv,
    "json": json_lines, "hudi": hudi, "hudi 8": partial(hudi, version=8)}  # fmt: skip


def read(table: RealTable) -> list[dict[str, Any]]:
    """All that a table can be asked for without an index."""
    opened = mi.open_table(str(table.root), **table.options)
    for version in opened.versions():
        opened.snapshot(version)
    opened.prune("id = 3 OR word = 'w7' OR word IS NULL")
    return sorted_rows(opened.scan().to_arrow())


def ask(name: str, folder: Path) -> dict[str, Any]:
    """How often a changed table was answered in which way, and what was answered as it must not be."""
    table = MADE[name](folder, name)
    foreign = {p.suffix: p.read_bytes() for p in MADE[name](folder, "other").metadata}
    before = read(table)
    opened = mi.open_table(str(table.root), **table.options)
    earlier = [sorted_rows(opened.scan(version=version).to_arrow()) for version in opened.versions()]
    assert before == sorted_rows(table.own()) or name == "parquet"
    seen: Counter[str] = Counter()
    wrong: list[str] = []
    for change in changes(table, foreign):
        with change.made():
            found = answer(lambda: read(table), _SECONDS)
            seen[how := judged(name, table, change, found, before, earlier)] += 1
            if how in ("raised", "other rows"):
                wrong.append(f"{change.name}: {repr(found) if how == 'raised' else len(found)!s:.200}")
    return {"seen": seen, "wrong": wrong}


def judged(name: str, table: RealTable, change: Change, found: Any, before: Any, earlier: list[Any]) -> str:
    """How a changed table was answered."""
    if isinstance(found, Exception):
        return "refused" if isinstance(found, mi.MetaIndexError) else "raised"
    if found == before:
        return "as before"
    if found in earlier and None in change.objects.values():
        return "as at an earlier version"  # the newest was never committed, for all that is there
    if [_without_day(row) for row in found] == [_without_day(row) for row in before] and name == "delta":
        return "with the log's partition value"
    if change.name.endswith("cut to 0") and name == "parquet":
        return "without an empty file"  # as Spark has it
    own = _own(table)
    return "as the own reader" if found == own else "not certain" if own is _NOT_CERTAIN else "other rows"


def changes(table: RealTable, foreign: dict[str, bytes]) -> Iterator[Change]:
    """Of every object of the metadata; of changes of single values in JSON one of so many, always the same. `foreign`:
    an object of another table, by suffix."""
    for path in table.metadata:
        whole, name = path.read_bytes(), path.relative_to(table.root).as_posix()
        alike = [one for one in table.metadata if one != path and one.suffix == path.suffix]
        others = {f"replaced by {one.name}": one.read_bytes() for one in alike}
        others |= {"of another table": foreign[path.suffix]} if path.suffix in foreign else {}
        values = (one for one in of_json(whole, path.suffix) if zlib.crc32(f"{name} {one[0]}".encode()) % _EVERY == 0)
        for said, data in (*of_bytes(whole), *others.items(), *values):
            yield Change(f"{name} {said}", {path: data})


def _without_day(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name != "day"}


def _own(table: RealTable) -> object:
    try:
        return sorted_rows(table.own())
    except NotCertain:
        return _NOT_CERTAIN
    except BaseException:  # noqa: BLE001 - another project's reader, which may panic
        return None


def ask_text(folder: Path, case: Text) -> list[str]:
    """What was answered as it must not be."""
    gc.collect()  # the errors of the case before hold its frame, and with it what they were about
    path = folder / case.file
    path.write_bytes(case.data())
    try:
        asked = [("named", {"schema": SCHEMA}, case.rows)]
        if case.inferred is not None:
            asked.append(("inferred", {}, case.inferred))
        found = [
            (how, answer(partial(rows_of, folder, {**case.options, **options}), _SECONDS), wanted)
            for how, options, wanted in asked
        ]
        return [f"{how}: {got!r:.300}" for how, got, wanted in found if not _is(got, wanted)]
    finally:
        path.unlink()


def rows_of(folder: Path, options: dict[str, Any]) -> list[tuple[Any, ...]]:
    found = mi.open_table(str(folder), **options).scan().to_arrow()
    return list(
        zip(*(found.column(name).to_pylist() for name in SCHEMA.names if name in found.schema.names), strict=True)
    )


def _is(got: object, wanted: Rows | str) -> bool:
    """The rows; of an error of ours its text, where one is wanted."""
    if isinstance(wanted, str):
        text = str(got)
        return isinstance(got, mi.MetaIndexError) and re.search(wanted, text) is not None and "\n" not in text
    return got == wanted


def main() -> None:
    """With a name of `MADE`, its changed tables; with one of `TEXTS`, those that are written."""
    name, folder = sys.argv[1], Path(sys.argv[2])
    said = (
        ask(name, folder) if name in MADE else {"asked": {n: ask_text(folder, one) for n, one in TEXTS[name].items()}}
    )
    sys.stdout.write(json.dumps(said | {"peak_bytes": peak_bytes()}))


if __name__ == "__main__":
    main()
