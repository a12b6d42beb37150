"""Tables whose filters are remembered, and what a test asks of that."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

import metaindex as mi
from metaindex.formats.storage import Storage
from metaindex.querylog.writer import WRITER
from metaindex.remembering.recorder import storage_of
from metaindex.table.face import handle_of
from metaindex.table.noting import place_of
from tests.tables import Lake, parquet_lake

FILES, ROWS = 6, 40
ONCE = "lower(s) LIKE '%q3%'"
"""A filter that no index, no statistics and no footer answer: rows of one file."""


def six_files(folder: Path) -> Lake:
    """Of which `ONCE` is true of rows of the fourth."""
    lake = parquet_lake(folder)
    for number in range(FILES):
        names = [f"x{n % 7}Q{number if n > ROWS // 2 else 'z'}y" for n in range(ROWS)]
        lake.append(pa.table({"id": range(number * ROWS, (number + 1) * ROWS), "s": names}))
    return lake


def remembering(lake: Lake, **setting: Any) -> mi.Table:
    return lake.open(config=mi.Config(remember_filters=mi.RememberFilters(**setting)))


def storage(table: mi.Table) -> Storage:
    """What is remembered of the table."""
    return storage_of(place_of(handle_of(table)))


def objects(table: mi.Table) -> list[str]:
    return [info.path for info in storage(table).list("")]


def flushed() -> None:
    assert WRITER.flush(300)


def opened(table: mi.Table, where: str) -> int:
    """How many files a scan would open."""
    return len(table.scan(where).file_rows)
