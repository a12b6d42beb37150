"""Footer of a part: the places of its row groups, and each column's ranges, read on demand."""

from __future__ import annotations

from dataclasses import field
from typing import Any

import numpy as np
import numpy.typing as npt

# What pq.ParquetFile is made of; that module loads every file system of Arrow, which a look-up does not need.
from pyarrow._parquet import ColumnChunkMetaData, FileMetaData

from metaindex.core import dataclass

_Ints = npt.NDArray[np.int64]


@dataclass(slots=True)
class GroupRange:
    """Ranges of one column in every row group of a part: least and greatest value and null count; `known` is False if
    the footer lacks them."""

    least: list[Any]
    greatest: list[Any]
    nulls: _Ints
    known: npt.NDArray[np.bool_]


@dataclass(slots=True)
class Footer:
    """A parsed footer, and the row-group ranges taken from it so far."""

    metadata: FileMetaData
    columns: dict[str, int]
    rows: _Ints
    ranges: dict[str, GroupRange] = field(default_factory=dict)
    derived: dict[object, Any] = field(default_factory=dict)  # what readers compute from the ranges

    def range(self, column: str) -> GroupRange:
        range_ = self.ranges.get(column)
        if range_ is None:
            range_ = self.ranges[column] = self._load(column)
        return range_

    def _load(self, column: str) -> GroupRange:
        at = self.columns[column]
        count = self.metadata.num_row_groups
        least: list[Any] = [None] * count
        greatest: list[Any] = [None] * count
        nulls = np.full(count, -1, np.int64)
        known = np.zeros(count, np.bool_)
        for group in range(count):
            statistics = self.metadata.row_group(group).column(at).statistics
            if statistics is None or not statistics.has_null_count:
                continue
            nulls[group] = statistics.null_count
            if statistics.has_min_max:
                least[group], greatest[group] = statistics.min_raw, statistics.max_raw
                known[group] = True
            else:
                known[group] = nulls[group] == self.rows[group]  # nothing but nulls: nothing to bound
        return GroupRange(least, greatest, nulls, known)


def span_of(chunk: ColumnChunkMetaData) -> tuple[int, int]:
    """Return the first and last byte of a column chunk's pages."""
    start = chunk.data_page_offset
    if chunk.has_dictionary_page and chunk.dictionary_page_offset:
        start = min(start, chunk.dictionary_page_offset)
    return start, start + chunk.total_compressed_size
