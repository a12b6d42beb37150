"""Stored rows of several columns at once, for few files: those that `rows` makes column by column; a test compares
them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from metaindex.formats import Leaf
from metaindex.index.keys import column_id
from metaindex.index.kinds.described import Ordinals, PartitionColumn
from metaindex.index.kinds.facts import domain_of, joined
from metaindex.index.store.layout import PartInfo
from metaindex.index.store.writer import PartStream, RunSink

from .rows import STORED_AS, aggregates
from .schemas import COLUMN_STATS, PARTITION_STATS
from .writer import partition_values, streams

_BOUNDS = [f"lower_{suffix}" for suffix in STORED_AS.values()]


@dataclass(frozen=True, slots=True)
class TogetherWriter:
    """Writes the columns of few files, whose rows are there before the first is written."""

    columns: PartStream
    aggregates: PartStream
    rows: dict[str, tuple[pa.Table, pa.Table]]

    @classmethod
    def of(
        cls,
        sink: RunSink,
        partition_ord: Ordinals,
        partition_ids: pa.Array,
        leaves: Sequence[Leaf],
        facts: list[pa.Table],
    ) -> Self:
        ordinals, partitions = pa.array(np.arange(len(partition_ord), dtype=np.int32)), pa.array(partition_ord)
        pairs = rows_together(leaves, facts, ordinals, partitions, partition_ids.take(partitions))
        return cls(*streams(sink), {leaf.stable: pair for leaf, pair in zip(leaves, pairs, strict=True)})

    def write(self, leaf: Leaf, facts: pa.Table) -> None:
        """The next column."""
        rows, totals = self.rows[leaf.stable]
        self.columns.add(rows)
        self.aggregates.add(totals)

    def write_values(self, column: PartitionColumn) -> None:
        """The next column, whose values are those of partitions."""
        self.aggregates.add(partition_values(column))

    def close(self) -> list[PartInfo]:
        """Return all parts."""
        return [*self.columns.close(), *self.aggregates.close()]


def rows_together(
    leaves: Sequence[Leaf],
    facts: Sequence[pa.Table],
    ordinals: pa.Array,
    partition_ord: pa.Array,
    partition_ids: pa.Array,
) -> list[tuple[pa.Table, pa.Table]]:
    """Return for each leaf its rows of COLUMN_STATS, in their stored order, and of PARTITION_STATS."""
    if not leaves:
        return []
    count, columns = len(ordinals), len(leaves)
    tiled = pa.array(np.tile(np.arange(count), columns))
    whole: dict[str, pa.Array] = {
        "column_id": pa.array(np.repeat(np.array([column_id(leaf.stable) for leaf in leaves], np.int64), count)),
        "partition_ord": partition_ord.take(tiled),
        "ordinal": ordinals.take(tiled),
        "partition_id": partition_ids.take(tiled),
    }
    for domain, suffix in STORED_AS.items():
        nothing = pa.nulls(count, domain)
        mine = [domain_of(leaf.type) == domain for leaf in leaves]
        for side in ("lower", "upper"):
            pieces = [table.column(side) if yes else nothing for table, yes in zip(facts, mine, strict=True)]
            whole[f"{side}_{suffix}"] = joined(pieces, domain)
    for field in COLUMN_STATS:
        if field.name not in whole:
            whole[field.name] = joined([table.column(field.name) for table in facts], field.type)
    rows = pa.Table.from_arrays([whole[name] for name in COLUMN_STATS.names], schema=COLUMN_STATS)
    return in_stored_order(rows, np.repeat(np.arange(columns), count), columns, count, len(np.unique(partition_ord)))


def in_stored_order(
    rows: pa.Table, number: npt.NDArray[np.int64], columns: int, count: int, partitions: int
) -> list[tuple[pa.Table, pa.Table]]:
    """Rows of COLUMN_STATS of `columns` columns, each of `count` files in `partitions` partitions, as each column's own
    rows in their stored order and its aggregates. `number`: for each row, which of the columns, from 0."""
    # The bounds of a column are of one domain: in the others all its rows are alike.
    keys = ("number", "partition_ord", *_BOUNDS, "ordinal")
    order = pc.sort_indices(
        rows.append_column("number", pa.array(number)), [(name, "ascending", "at_start") for name in keys]
    )
    rows = rows.take(order).combine_chunks()
    if partitions == count:
        totals = _each_its_own(rows)
    else:
        key = number[order.to_numpy()] * partitions + rows.column("partition_ord").to_numpy()
        totals = aggregates(rows, list(STORED_AS), pa.array(key))
    return [(rows.slice(at * count, count), totals.slice(at * partitions, partitions)) for at in range(columns)]


def _each_its_own(rows: pa.Table) -> pa.Table:
    """Return the aggregates if every partition has one file: the file's own rows."""
    ones = pa.repeat(pa.scalar(1, pa.int32()), rows.num_rows)
    return pa.Table.from_arrays(
        [ones if name == "file_count" else rows.column(name) for name in PARTITION_STATS.names], schema=PARTITION_STATS
    )
