"""Writes the rows of one column of a run: sorted, in pieces, so that the wide stored rows of millions of files are
never held at once; and their aggregates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from metaindex.formats import Leaf
from metaindex.index.kinds.described import PartitionColumn
from metaindex.index.kinds.facts import domain_of, take_bounds
from metaindex.index.store.layout import PartInfo
from metaindex.index.store.rows import PART_ROWS
from metaindex.index.store.writer import PartStream, RunSink

from .rows import column_rows, partition_column_rows, partition_rows
from .schemas import COLUMN_STATS, COLUMNS, PARTITION_STATS


@dataclass(frozen=True, slots=True)
class ColumnWriter:
    """Writes the statistics of the files of one run, by ordinal. `partition_ids`: by partition number."""

    columns: PartStream
    aggregates: PartStream
    partition_ord: npt.NDArray[np.int32]
    partition_ids: pa.Array
    piece: int = PART_ROWS

    @classmethod
    def of(cls, sink: RunSink, partition_ord: npt.NDArray[np.int32], partition_ids: pa.Array) -> Self:
        return cls(*streams(sink), partition_ord, partition_ids)

    def write(self, leaf: Leaf, facts: pa.Table) -> None:
        """The next column: COLUMN_STATS in their order (partition, lower bound with nulls first, ordinal),
        PARTITION_STATS behind them."""
        order = self._order(facts.column("lower"))
        partial = []
        for start in range(0, len(order), self.piece):
            some = order[start : start + self.piece]
            partitions = pa.array(self.partition_ord[some])
            ids = self.partition_ids.take(partitions)
            ordinals = pa.array(some.astype(np.int32))
            rows = column_rows(leaf, facts.take(pa.array(some)).combine_chunks(), ordinals, partitions, ids)
            self.columns.add(rows)
            partial.append(partition_rows(rows, domain_of(leaf.type)))
        if partial:
            self.aggregates.add(aggregated(partial, leaf, self.partition_ord, len(self.partition_ids)))

    def write_values(self, column: PartitionColumn) -> None:
        """The next column, whose values are those of partitions."""
        self.aggregates.add(partition_values(column))

    def close(self) -> list[PartInfo]:
        """Return all parts."""
        return [*self.columns.close(), *self.aggregates.close()]

    def _order(self, lower: pa.ChunkedArray) -> npt.NDArray[np.int64]:
        """Files in the order of their rows. The sort is stable, so that equal rows stay in order of their ordinals."""
        keys = {"lower": lower}
        if len(self.partition_ids) > 1:
            keys = {"partition_ord": pa.array(self.partition_ord), **keys}
        order = pc.sort_indices(pa.table(keys), [(name, "ascending", "at_start") for name in keys])
        return np.asarray(order.to_numpy()).astype(np.int64)


def streams(sink: RunSink) -> tuple[PartStream, PartStream]:
    """Return the streams for rows of both levels."""
    return (
        PartStream(sink, "column_stats", COLUMN_STATS, COLUMNS),
        PartStream(sink, "partition_stats", PARTITION_STATS, COLUMNS),
    )


def aggregated(
    pieces: Sequence[pa.Table], leaf: Leaf, partition_ord: npt.NDArray[np.int32], partitions: int
) -> pa.Table:
    """PARTITION_STATS of pieces as those of the whole: a partition may go on from one piece to the next.
    `partition_ord`: of every file."""
    if len(pieces) == 1:
        return pieces[0]
    rows = partition_rows(pa.concat_tables(pieces).combine_chunks(), domain_of(leaf.type))
    counts = np.bincount(partition_ord, minlength=partitions).astype(np.int32)
    at = PARTITION_STATS.get_field_index("file_count")
    return rows.set_column(at, PARTITION_STATS.field(at), pa.array(counts))


def partition_values(column: PartitionColumn) -> pa.Table:
    """PARTITION_STATS of a column whose values are those of partitions."""
    tables = []
    for start in range(0, max(len(column.no_value), 1), PART_ROWS):
        some = slice(start, start + PART_ROWS)
        tables.append(
            partition_column_rows(
                column.leaf,
                column.bounds if column.bounds is None else take_bounds(column.bounds, column.rows[some]),
                column.no_value[some],
                column.partition_ord[some],
                column.record_count.slice(start, PART_ROWS),
                column.partitions,
            )
        )
    return aggregated(tables, column.leaf, column.partition_ord, column.partitions.num_rows)
