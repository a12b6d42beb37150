"""Writes the rows of the columns of a run: sorted, in pieces, so that the wide stored rows of millions of files are
never held at once; and their aggregates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from metaindex.formats import Leaf
from metaindex.index.keys import column_id
from metaindex.index.kinds.described import PartitionColumn
from metaindex.index.store.layout import PartInfo
from metaindex.index.store.rows import PART_ROWS
from metaindex.index.store.writer import PartStream, RunSink

from .rows import aggregated, partition_values, stored_rows, under_stored_names
from .schemas import COLUMN_STATS, COLUMNS, ORDER, PARTITION_STATS


@dataclass(frozen=True, slots=True)
class ColumnWriter:
    """Writes the statistics of the files of one run, by ordinal: columns by ascending column id. `partition_ids`: by
    partition number."""

    columns: PartStream
    aggregates: PartStream
    partition_ord: npt.NDArray[np.int32]
    partition_ids: pa.Array
    piece: int = PART_ROWS

    @classmethod
    def of(cls, sink: RunSink, partition_ord: npt.NDArray[np.int32], partition_ids: pa.Array) -> Self:
        return cls(*streams(sink), partition_ord, partition_ids)

    def write(self, leaves: Sequence[Leaf], facts: Sequence[pa.Table]) -> None:
        """The next columns, by their facts in every file. Few files are written sooner with many columns at once."""
        for totals in aggregated(self._written(leaves, facts)):
            self.aggregates.add(totals)

    def write_values(self, column: PartitionColumn) -> None:
        """The next column, whose values are those of partitions."""
        self.aggregates.add(partition_values(column))

    def close(self) -> list[PartInfo]:
        """Return all parts."""
        return [*self.columns.close(), *self.aggregates.close()]

    def _written(self, leaves: Sequence[Leaf], facts: Sequence[pa.Table]) -> Iterator[pa.Table]:
        """Write rows of COLUMN_STATS, and yield them."""
        if not leaves:
            return
        count, ids = len(self.partition_ord), np.array([column_id(leaf.stable) for leaf in leaves], np.int64)
        whole = pa.concat_tables(map(under_stored_names, facts), promote_options="default")
        keys = {name: whole.column(name) for name in ORDER if name in whole.column_names}
        if len(self.partition_ids) > 1:
            keys = {"partition_ord": pa.array(np.tile(self.partition_ord, len(leaves))), **keys}
        if len(leaves) > 1:
            keys = {"column_id": pa.array(np.repeat(ids, count)), **keys}
        # The sort is stable: equal rows stay in order of their ordinals.
        sorted_ = pc.sort_indices(pa.table(keys), [(name, "ascending", "at_start") for name in keys])
        order = np.asarray(sorted_.to_numpy()).astype(np.int64)
        for start in range(0, len(order), self.piece):
            some = order[start : start + self.piece]
            column, ordinal = np.divmod(some, count)
            partitions = pa.array(self.partition_ord[ordinal])
            rows = stored_rows(
                whole.take(pa.array(some)),
                pa.array(ids[column]),
                pa.array(ordinal.astype(np.int32)),
                partitions,
                self.partition_ids.take(partitions),
            )
            self.columns.add(rows)
            yield rows


def streams(sink: RunSink) -> tuple[PartStream, PartStream]:
    """Return the streams for rows of both levels."""
    return (
        PartStream(sink, "column_stats", COLUMN_STATS, COLUMNS),
        PartStream(sink, "partition_stats", PARTITION_STATS, COLUMNS),
    )
