"""Stored rows of several columns at once, for few files: a call into Arrow costs the same for ten rows as for ten thousand, and a refresh after a commit has ten files.

The rows are those that `statistics` makes column by column; a test compares them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from formats.model import Leaf
from metaindex.keys import column_id
from metaindex.kinds.rows import COLUMN_STATS

from .statistics import STORED_AS, domain_of, partition_rows, stored

MOST_ROWS = 1 << 16
"""Files times columns up to which it pays: the facts of all columns are held twice."""


def rows_together(
    leaves: Sequence[Leaf],
    facts: Sequence[pa.Table],
    ordinals: pa.Array,
    partition_ord: pa.Array,
    partition_ids: pa.Array,
) -> list[tuple[pa.Table, pa.Table]]:
    """For each leaf its rows of COLUMN_STATS, in their stored order, and of PARTITION_STATS."""
    count, partitions = len(ordinals), pc.count_distinct(partition_ord).as_py()
    out: dict[int, tuple[pa.Table, pa.Table]] = {}
    for domain in dict.fromkeys(domain_of(leaf.type) for leaf in leaves):
        mine = [place for place, leaf in enumerate(leaves) if domain_of(leaf.type) == domain]
        number = pa.array(np.repeat(np.arange(len(mine), dtype=np.int64), count))
        ids = pa.array(np.repeat(np.array([column_id(leaves[place].stable) for place in mine], np.int64), count))
        tiled = pa.array(np.tile(np.arange(count), len(mine)))
        named = {
            "column_id": ids,
            "partition_ord": partition_ord.take(tiled),
            "ordinal": ordinals.take(tiled),
            "partition_id": partition_ids.take(tiled),
        }
        rows = stored(pa.concat_tables([facts[place] for place in mine]).combine_chunks(), named, COLUMN_STATS)
        out |= zip(mine, in_stored_order(rows, number, domain, len(mine), count, partitions), strict=True)
    return [out[place] for place in range(len(leaves))]


def in_stored_order(
    rows: pa.Table, number: pa.Array, domain: pa.DataType, columns: int, count: int, partitions: int
) -> list[tuple[pa.Table, pa.Table]]:
    """Rows of COLUMN_STATS of `columns` columns of one domain, each of `count` files in `partitions` partitions, as each column's own rows in their stored order and its aggregates.
    `number`: for each row, which of the columns, from 0."""
    key = pc.add(pc.multiply(number, partitions), rows.column("partition_ord").combine_chunks().cast(pa.int64()))
    aggregates = partition_rows(rows, domain, key)
    keys = ("number", "partition_ord", f"lower_{STORED_AS[domain]}", "ordinal")
    order = pc.sort_indices(rows.append_column("number", number), [(name, "ascending", "at_start") for name in keys])
    rows = rows.take(order)
    return [(rows.slice(at * count, count), aggregates.slice(at * partitions, partitions)) for at in range(columns)]
