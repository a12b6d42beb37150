"""A lake of a thousand tables of all formats, in folders of teams, as a person would find it: some indexed, some of
these behind, some whose queries were noted, some damaged, and folders that are no tables at all."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import deltalake
import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.json as pajson
import pyarrow.parquet as pq

import metaindex as mi

FORMATS = ("delta", "delta", "delta", "delta", "iceberg", "iceberg", "parquet", "parquet", "csv", "json")
"""Of ten tables that follow each other."""
COMMITS = 8


def write_lake(root: Path, tables: int, strays: int) -> None:
    """`strays`: folders that are no tables, with a file each. A lake that is there is used again."""
    done = root / f"_written_{tables}_{strays}"
    if done.exists():
        return
    (root / "warehouse").mkdir(parents=True)
    catalog = _catalog(root)
    for number in range(tables):
        table_format = FORMATS[number % len(FORMATS)]
        place = root / f"team-{number // 100:02}" / f"{table_format}-{number:04}"
        path = _WRITERS[table_format](place, number, catalog)
        if number % 2 == 0 and table_format != "json":
            _index(path, number, table_format)
        if number % 6 == 0:  # a commit that no index has seen
            _append(path, table_format, number, catalog)
        if number % 50 == 41:
            _damage(path)
    for number in range(strays):
        folder = root / "stray" / f"{number % 100:02}" / f"{number:05}"
        folder.mkdir(parents=True)
        (folder / "notes.txt").write_text("nothing")
    _settle(root)
    done.touch()


def rows(number: int, commit: int) -> pa.Table:
    """Of one file: a time in order, an id in none."""
    random = np.random.default_rng((number, commit))
    at = pa.array(np.sort(random.integers(commit * 1_000, (commit + 1) * 1_000, 200)), pa.int64())
    return pa.table({"at": at, "id": random.integers(0, 1_000_000, 200), "name": [f"n{commit}"] * 200})


def _delta(place: Path, number: int, _: object) -> str:
    for commit in range(COMMITS):
        deltalake.write_deltalake(str(place), rows(number, commit), mode="append")
    return str(place)


def _iceberg(place: Path, number: int, catalog: object) -> str:
    name = f"{place.parent.name.replace('-', '_')}.t{number:04}"
    table = catalog.create_table(name, rows(number, 0).schema, location=place.as_uri())  # type: ignore[attr-defined]
    for commit in range(3):
        table.append(rows(number, commit))
    return str(place)


def _files(suffix: str, write: Callable[[pa.Table, Path], object]) -> Callable[[Path, int, object], str]:
    def written(place: Path, number: int, _: object) -> str:
        place.mkdir(parents=True)
        for commit in range(COMMITS):
            write(rows(number, commit), place / f"part-{commit:03}.{suffix}")
        _settle(place)
        return str(place)

    return written


def _json(table: pa.Table, path: Path) -> None:
    assert pajson
    path.write_text("".join(f'{{"at": {row["at"]}, "id": {row["id"]}}}\n' for row in table.to_pylist()))


_WRITERS: dict[str, Callable[[Path, int, object], str]] = {
    "delta": _delta,
    "iceberg": _iceberg,
    "parquet": _files("parquet", pq.write_table),
    "csv": _files("csv", pacsv.write_csv),
    "json": _files("json", _json),
}


def _catalog(root: Path) -> object:
    from pyiceberg.catalog.sql import SqlCatalog

    catalog = SqlCatalog("lake", uri=f"sqlite:///{root}/warehouse/catalog.db", warehouse=f"file://{root}/warehouse")
    for team in range(100):
        catalog.create_namespace_if_not_exists(f"team_{team:02}")
    return catalog


def _index(path: str, number: int, table_format: str) -> None:
    options = {"header": True} if table_format == "csv" else {}
    table = mi.open_table(path, config=mi.Config(query_log=number % 8 == 0), **options)  # type: ignore[arg-type]
    kinds = (mi.ColumnStats(), mi.Values("id")) if number % 4 == 0 else (mi.ColumnStats(),)
    table.create_index("find", *kinds, builder="local")
    if number % 8 == 0:
        for at in range(20):
            table.prune(f"at = {at * 311 % 8000}")


def _append(path: str, table_format: str, number: int, catalog: object) -> None:
    new = rows(number, 99)
    match table_format:
        case "delta":
            deltalake.write_deltalake(path, new, mode="append")
        case "iceberg":
            team = Path(path).parent.name.replace("-", "_")
            catalog.load_table(f"{team}.t{number:04}").append(new)  # type: ignore[attr-defined]
        case "parquet":
            pq.write_table(new, Path(path) / "part-099.parquet")
        case "csv":
            pacsv.write_csv(new, Path(path) / "part-099.csv")
        case _:
            _json(new, Path(path) / "part-099.json")


def _damage(path: str) -> None:
    for log in sorted(Path(path, "_delta_log").glob("*.json"))[-1:]:
        log.write_text("{")
    for metadata in Path(path, "metadata").glob("*.metadata.json"):
        metadata.write_text("{")


def _settle(root: Path) -> None:
    """As if it had been written a minute ago."""
    then = time.time_ns() - 60 * 10**9
    for base, _, names in os.walk(root):
        for name in names:
            path = os.path.join(base, name)
            if os.stat(path).st_mtime_ns > then + 10**9 and not path.endswith(".db"):
                os.utime(path, ns=(then, then))
