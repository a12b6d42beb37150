"""The stored rows of column statistics: one a file and column, and one a partition and column."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pyarrow as pa

from metaindex.core import Mask
from metaindex.expressions import ColumnRef
from metaindex.index.kinds.described import Level, StoredColumn
from metaindex.index.log.entry import CoveredColumn

from .schemas import COLUMN_STATS, COLUMNS, ORDER, PARTITION_STATS

if TYPE_CHECKING:
    from metaindex.index.store.reader import RunReader

    from .reader import BothLevels, RunStatistics


class ColumnStatsRows:
    """The stored rows: how they are sorted and written, and what readers ask of them."""

    name = "column_stats"
    files = Level("column_stats", COLUMN_STATS, ORDER, COLUMNS)
    partitions = Level("partition_stats", PARTITION_STATS, ("column_id", "partition_ord"), COLUMNS)

    @classmethod
    def source(cls, run: RunReader, columns: Mapping[ColumnRef, StoredColumn], scope: Mask | None) -> BothLevels:
        """Answers about the files of a run; a column that it does not know is True throughout. `scope`: the partitions
        that may hold matching rows; the answer for a file of any other is False, as its partition's was."""
        from .reader import BothLevels

        return BothLevels(run, columns, scope)

    @classmethod
    def partition_source(cls, run: RunReader, columns: Mapping[ColumnRef, StoredColumn]) -> RunStatistics:
        """Like `source`, with each partition treated as one file."""
        from .reader import partition_source

        return partition_source(run, columns)

    @classmethod
    def of_column(cls, run: RunReader, column: CoveredColumn, partition: str | None) -> pa.Table:
        """Return the stored rows of a column for every file (of one partition, by its text), by `ordinal`."""
        from .rows import of_column

        return of_column(run, column, partition)
