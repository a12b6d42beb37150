"""Small tables of the same rows in every format, written by real writers without a JVM: pyarrow, deltalake,
pyiceberg."""

import json
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
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


def _plain_lake(folder: Path, ending: str, write: Callable[[pa.Table, Path], object], **options: Any) -> Lake:
    """A folder of plain files, made with all above it. Those of text are read with the columns of the first."""
    root = folder / "lake"
    root.mkdir(parents=True)
    numbers = count()

    def append(rows: pa.Table) -> None:
        write(rows, root / f"f{next(numbers):03d}.{ending}")
        settle(root)
        if ending != "parquet":
            lake.options.setdefault("schema", rows.schema)

    lake = Lake(str(root), append, options, lambda n: (root / f"f{n:03d}.{ending}").unlink())
    return lake


def parquet_lake(folder: Path) -> Lake:
    return _plain_lake(folder, "parquet", pq.write_table)


def csv_lake(folder: Path) -> Lake:
    return _plain_lake(folder, "csv", pacsv.write_csv, header=True)


def json_lake(folder: Path) -> Lake:
    def write(rows: pa.Table, path: Path) -> None:
        path.write_text("".join(json.dumps(row, default=str) + "\n" for row in rows.to_pylist()))

    return _plain_lake(folder, "json", write, format="json")


def delta_lake(folder: Path) -> Lake:
    import deltalake

    root = str(folder / "lake")
    return Lake(root, lambda rows: deltalake.write_deltalake(root, rows, mode="append"))


def catalog_in(folder: Path | str) -> Any:
    """A catalog of pyiceberg's, with its namespace `db`."""
    from pyiceberg.catalog.sql import SqlCatalog

    Path(folder).mkdir(parents=True, exist_ok=True)
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
FIVE = {**FORMATS, "json": json_lake}
