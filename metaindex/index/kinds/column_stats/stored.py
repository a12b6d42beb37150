"""The stored rows of column statistics: one a file and column, and one a partition and column."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from metaindex.core import Mask
from metaindex.expressions import ColumnRef
from metaindex.formats import Leaf
from metaindex.index.kinds.described import (
    FactSource,
    FactWriter,
    Level,
    MergedFiles,
    Ordinals,
    PartitionColumn,
    StoredColumn,
)
from metaindex.index.log.entry import CoveredColumn

from .schemas import COLUMN_STATS, COLUMNS, PARTITION_STATS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from metaindex.index.store.layout import PartInfo
    from metaindex.index.store.reader import RunReader
    from metaindex.index.store.writer import RunSink


class ColumnStatsRows:
    """The stored rows: how they are written, merged, asked, checked and told of. All of it is said of the class."""

    name = "column_stats"
    files = Level(
        "column_stats",
        COLUMN_STATS,
        ("column_id", "partition_ord", "lower_int", "lower_double", "lower_bytes", "ordinal"),
        COLUMNS,
    )
    partitions = Level("partition_stats", PARTITION_STATS, ("column_id", "partition_ord"), COLUMNS)

    @classmethod
    def writer(cls, sink: RunSink, partition_ord: Ordinals, partition_ids: pa.Array) -> FactWriter:
        """Return the writer of a run's rows. `partition_ord`: by file; `partition_ids`: by partition number."""
        from .writer import ColumnWriter

        return ColumnWriter.of(sink, partition_ord, partition_ids)

    @classmethod
    def few(
        cls,
        sink: RunSink,
        partition_ord: Ordinals,
        partition_ids: pa.Array,
        leaves: Sequence[Leaf],
        facts: list[pa.Table],
    ) -> FactWriter:
        """Return a writer for few files and columns (`facts.MOST_ROWS`), given all of their facts."""
        from .together import TogetherWriter

        return TogetherWriter.of(sink, partition_ord, partition_ids, leaves, facts)

    @classmethod
    def rows(
        cls, leaf: Leaf, facts: pa.Table, ordinals: pa.Array, partition_ord: pa.Array, partition_ids: pa.Array
    ) -> pa.Table:
        """The rows of some files (`files.schema`), in their order: for who sorts and writes them himself."""
        from .rows import column_rows

        return column_rows(leaf, facts, ordinals, partition_ord, partition_ids)

    @classmethod
    def values(cls, column: PartitionColumn) -> pa.Table:
        """The rows of partitions (`partitions.schema`) of a column whose values they say."""
        from .writer import partition_values

        return partition_values(column)

    @classmethod
    def aggregated(cls, rows: DataFrame) -> DataFrame:
        """Aggregate rows of files to those of partitions, by Spark."""
        from .spark import aggregated

        return aggregated(rows)

    @classmethod
    def source(cls, run: RunReader, columns: Mapping[ColumnRef, StoredColumn], scope: Mask | None) -> FactSource:
        """Answers about the files of a run; a column that it does not know is True throughout. `scope`: the partitions
        that may hold matching rows; the answer for a file of any other is False, as its partition's was."""
        from .levels import BothLevels

        return BothLevels(run, columns, scope)

    @classmethod
    def partition_source(cls, run: RunReader, columns: Mapping[ColumnRef, StoredColumn]) -> FactSource:
        """Like `source`, with each partition treated as one file."""
        from .levels import partition_source

        return partition_source(run, columns)

    @classmethod
    def together(cls, a: Sequence[CoveredColumn], b: Sequence[CoveredColumn]) -> tuple[CoveredColumn, ...] | None:
        """The columns of a run merged of two that cover these; None where the runs stay apart."""
        from .merge import together

        return together(a, b)

    @classmethod
    def merge(
        cls,
        columns: Sequence[CoveredColumn],
        sources: Sequence[RunReader],
        files: MergedFiles,
        blank: Mapping[str, Mask],
        sink: RunSink,
    ) -> list[PartInfo]:
        """Write the rows of several runs as those of one. `blank`: by run, the files without facts."""
        from .merge import merge

        return merge(columns, sources, files, blank, sink)

    @classmethod
    def check(cls, run: RunReader, partition_ord: Ordinals) -> Iterator[int]:
        """Reads all rows of a run back, and says after each column how many are done. Raises Mismatch, or what reading
        raises, where something is wrong. `partition_ord`: of each file, as the files themselves say."""
        from .verified import check

        return check(run, partition_ord)

    @classmethod
    def wrong(
        cls, run: RunReader, column: CoveredColumn, type_: pa.DataType, ordinals: Ordinals, truth: pa.Table
    ) -> Iterator[tuple[int, str]]:
        """Yield the files whose stored rows contradict their facts, the `truth`, and the difference."""
        from .verified import wrong

        return wrong(run, column, type_, ordinals, truth)

    @classmethod
    def of_column(cls, run: RunReader, column: CoveredColumn, partition: str | None) -> pa.Table:
        """Return the stored rows of a column for every file (of one partition, by its text), by `ordinal`."""
        from .rows import of_column

        return of_column(run, column, partition)
