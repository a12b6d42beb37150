"""Small tables of the same rows in every format, written by real writers without a JVM: pyarrow, deltalake,
pyiceberg."""

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

import metaindex as mi


def settle(folder: Path) -> None:
    """As if the files had been written a minute ago: plain files younger than two seconds are waited for."""
    then = time.time_ns() - 60 * 10**9
    for base, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(base, name)
            if os.stat(path).st_mtime_ns > then + 10**9:  # a file that is old already stays the file it is
                os.utime(path, ns=(then, then))


def settled(folder: Path, files: Mapping[str, str | bytes | pa.Table]) -> Path:
    """The folder, made where it is not there, with these texts, bytes and tables of Parquet, as if they had been
    written a minute ago."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        match content:
            case str():
                path.write_text(content)
            case bytes():
                path.write_bytes(content)
            case _:
                pq.write_table(content, path)
    settle(folder)
    return folder


@dataclass
class Lake:
    """One table. `append` commits the rows as one new data file, `drop` removes the file that was appended as number
    `n`."""

    path: str
    append: Callable[[pa.Table], None]
    options: dict[str, Any] = field(default_factory=dict)
    remove: Callable[[int], None] | None = None

    def open(self, **more: Any) -> mi.Table:
        return mi.open_table(self.path, **self.options, **more)


def rows(first: int) -> pa.Table:
    """Five ids, from `first` on."""
    return pa.table({"id": pa.array(range(first, first + 5), pa.int64())})


def indexed(lake: Lake) -> mi.Table:
    """The table, now of `rows(0)`, with an index of statistics."""
    lake.append(rows(0))
    table = lake.open()
    table.create_index("stats", mi.ColumnStats(), builder="local")
    return table


def parquet_lake(folder: Path) -> Lake:
    root = folder / "lake"
    root.mkdir()
    count = 0

    def append(rows: pa.Table) -> None:
        nonlocal count
        pq.write_table(rows, root / f"f{count:03d}.parquet")
        count += 1
        settle(root)

    return Lake(str(root), append, remove=lambda n: (root / f"f{n:03d}.parquet").unlink())


def csv_lake(folder: Path) -> Lake:
    root = folder / "lake"
    root.mkdir()
    count = 0
    schema: list[pa.Schema] = []

    def append(rows: pa.Table) -> None:
        nonlocal count
        schema[:] = schema or [rows.schema]
        pacsv.write_csv(rows, root / f"f{count:03d}.csv")
        count += 1
        settle(root)
        lake.options["schema"] = schema[0]

    lake = Lake(str(root), append, {"header": True}, lambda n: (root / f"f{n:03d}.csv").unlink())
    return lake


def delta_lake(folder: Path) -> Lake:
    import deltalake

    root = str(folder / "lake")
    return Lake(root, lambda rows: deltalake.write_deltalake(root, rows, mode="append"))


def catalog_in(folder: Path | str) -> Any:
    """A catalog of pyiceberg's, with its namespace `db`."""
    from pyiceberg.catalog.sql import SqlCatalog

    catalog = SqlCatalog("local", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}/warehouse")
    catalog.create_namespace_if_not_exists("db")
    return catalog


def iceberg_lake(folder: Path) -> Lake:
    catalog = catalog_in(folder)
    tables: list[Any] = []

    def append(rows: pa.Table) -> None:
        if not tables:
            tables.append(catalog.create_table("db.lake", rows.schema))
        tables[0].append(rows)

    return Lake(str(folder / "warehouse" / "db" / "lake"), append)


FORMATS: dict[str, Callable[[Path], Lake]] = {
    "parquet": parquet_lake,
    "csv": csv_lake,
    "delta": delta_lake,
    "iceberg": iceberg_lake,
}
