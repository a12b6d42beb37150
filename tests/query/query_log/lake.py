"""A table whose queries are noted, and what a test asks of its log."""

import os
from pathlib import Path
from typing import Any

import pyarrow as pa

import metaindex as mi
from metaindex.query import TableQueryLog
from metaindex.query.query_log.files import encoded, new_name
from metaindex.query.query_log.row import QueryRow
from metaindex.query.query_log.writer import WRITER
from metaindex.storage import Storage
from metaindex.table import handle_of
from tests.tables import Lake, rows

START_MS = 1_700_000_000_000


def noted(lake: Lake, **setting: Any) -> mi.Table:
    """The table with two files, an index, and a query log."""
    lake.append(rows(0))
    lake.append(rows(100))
    table = lake.open(config=mi.Config(query_log=mi.QueryLog(**setting)))
    table.create_index("stats", mi.ColumnStats(), builder="local")
    return table


def storage_of(table: mi.Table) -> Storage:
    """Of its query log."""
    return handle_of(table).made(TableQueryLog).storage


def folder_of(table: mi.Table) -> Path:
    return Path(storage_of(table).root)


def flushed() -> None:
    assert WRITER.flush(300)


def row(number: int, at_ms: int = START_MS) -> QueryRow:
    """A query that tells its number."""
    return QueryRow(at_us=at_ms * 1000 + number, engine="prune", predicate=None, files_read=number, version="1")


def written(storage: Storage, numbers: range, at_ms: int = START_MS) -> str:
    """A file of the log with these queries."""
    name = new_name(at_ms)
    storage.put_if_absent(name, encoded([row(number, at_ms) for number in numbers], mi.QueryLog()))
    return name


def numbers(log: pa.Table) -> list[int]:
    """Those that the queries tell, in order."""
    return sorted(log.column("files_read").to_pylist())


def tree(folder: str | Path) -> dict[str, bytes]:
    """Every file below a folder, and what is in it."""
    return {
        os.path.relpath(os.path.join(base, name), folder): Path(base, name).read_bytes()
        for base, _, names in os.walk(folder)
        for name in names
    }
