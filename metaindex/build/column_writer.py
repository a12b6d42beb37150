"""Writes the rows of one column of a run: sorted, in pieces, so that the wide stored rows of millions of files are
never held at once; and their aggregates.

A column's facts that wait for their turn are held compressed: ten million files of five columns are gigabytes
otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from formats.model import Leaf
from metaindex.kinds.rows import PART_ROWS, PARTITION_STATS

from .parts import PartStream
from .statistics import column_rows, domain_of, partition_rows

PACKED_ROWS = 1 << 20
"""Files from which on facts that wait are held compressed."""


@dataclass(frozen=True, slots=True)
class PackedFacts:
    """The facts of a column, compressed in memory."""

    data: pa.Buffer

    @classmethod
    def of(cls, facts: pa.Table) -> PackedFacts:
        out = pa.BufferOutputStream()
        with pa.ipc.new_stream(out, facts.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as writer:
            writer.write_table(facts, max_chunksize=1 << 17)
        return cls(out.getvalue())

    def table(self) -> pa.Table:
        return pa.ipc.open_stream(self.data).read_all().combine_chunks()


Facts: TypeAlias = "pa.Table | PackedFacts"


def packed(facts: pa.Table, least: int = PACKED_ROWS) -> Facts:
    """Compressed where they are many."""
    return PackedFacts.of(facts) if facts.num_rows >= least else facts


def unpacked(facts: Facts) -> pa.Table:
    return facts.table() if isinstance(facts, PackedFacts) else facts


@dataclass(frozen=True, slots=True)
class ColumnWriter:
    """Of the files of one run, by ordinal. `partition_ids`: by partition number."""

    columns: PartStream
    aggregates: PartStream
    partition_ord: npt.NDArray[np.int32]
    partition_ids: pa.Array
    piece: int = PART_ROWS

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

    def _order(self, lower: pa.ChunkedArray) -> npt.NDArray[np.int64]:
        """Files in the order of their rows. The sort is stable, so that equal rows stay in order of their ordinals."""
        keys = {"lower": lower}
        if len(self.partition_ids) > 1:
            keys = {"partition_ord": pa.array(self.partition_ord), **keys}
        order = pc.sort_indices(pa.table(keys), [(name, "ascending", "at_start") for name in keys])
        return np.asarray(order.to_numpy()).astype(np.int64)


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
