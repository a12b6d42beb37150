"""Facts and stored rows of several columns at once, for few files: a call into Arrow costs the same for ten rows as for
ten thousand, and a refresh after a commit has ten files.

They are those that `statistics` makes column by column; a test compares them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from expressions.statistics import ColumnBounds
from formats.model import Leaf, Trust
from metaindex.keys import column_id
from metaindex.kinds.rows import COLUMN_STATS, PARTITION_STATS

from .statistics import STORED_AS, aggregates, constant, domain_of, facts_of

MOST_ROWS = 1 << 16
"""Files times columns up to which it pays: the facts of all columns are held twice."""

_BOUNDS = [f"lower_{suffix}" for suffix in STORED_AS.values()]


def facts_together(
    bounds: Sequence[ColumnBounds],
    count: int,
    trusts: Sequence[pa.Array | Trust],
    compressed: Sequence[pa.Array | None] | None = None,
    uncompressed: Sequence[pa.Array | None] | None = None,
) -> list[pa.Table]:
    """For the bounds of each column in `count` files, what `facts_of` makes of them."""
    out: dict[int, pa.Table] = {}
    kinds = [(domain_of(one.type), pa.types.is_floating(one.type)) for one in bounds]
    for kind in dict.fromkeys(kinds):
        mine = [place for place, one in enumerate(kinds) if one == kind]
        some = [bounds[place] for place in mine]

        def every(values: Sequence[pa.Array | pa.ChunkedArray | None], type_: pa.DataType) -> pa.Array:
            return _joined([pa.nulls(count, type_) if one is None else one.cast(type_) for one in values], type_)

        def sizes(of: Sequence[pa.Array | None] | None, places: Sequence[int]) -> pa.Array | None:
            return None if of is None else every([of[place] for place in places], pa.int64())

        whole = ColumnBounds(
            some[0].type,
            every([one.lower for one in some], kind[0]),
            every([one.upper for one in some], kind[0]),
            every([one.null_count for one in some], pa.int64()),
            every([one.nan_count for one in some], pa.int64()),
            every([one.row_count for one in some], pa.int64()),
            every([one.lower_exact for one in some], pa.bool_()),
            every([one.upper_exact for one in some], pa.bool_()),
        )
        said = [constant(int(t), count, pa.int8()) if isinstance(t, Trust) else t for t in (trusts[p] for p in mine)]
        facts = facts_of(
            whole, count * len(mine), every(said, pa.int8()), sizes(compressed, mine), sizes(uncompressed, mine)
        )
        out |= {place: facts.slice(at * count, count) for at, place in enumerate(mine)}
    return [out[place] for place in range(len(bounds))]


def rows_together(
    leaves: Sequence[Leaf],
    facts: Sequence[pa.Table],
    ordinals: pa.Array,
    partition_ord: pa.Array,
    partition_ids: pa.Array,
) -> list[tuple[pa.Table, pa.Table]]:
    """For each leaf its rows of COLUMN_STATS, in their stored order, and of PARTITION_STATS."""
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
            pieces = [one.column(side) if yes else nothing for one, yes in zip(facts, mine, strict=True)]
            whole[f"{side}_{suffix}"] = _joined(pieces, domain)
    for field in COLUMN_STATS:
        if field.name not in whole:
            whole[field.name] = _joined([one.column(field.name) for one in facts], field.type)
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
    """The aggregates where every partition has one file: what is said of the file."""
    one = pa.repeat(pa.scalar(1, pa.int32()), rows.num_rows)
    return pa.Table.from_arrays(
        [one if name == "file_count" else rows.column(name) for name in PARTITION_STATS.names], schema=PARTITION_STATS
    )


def _joined(pieces: Sequence[pa.Array | pa.ChunkedArray], type_: pa.DataType) -> pa.Array:
    chunks = [chunk for one in pieces for chunk in (one.chunks if isinstance(one, pa.ChunkedArray) else (one,))]
    return pa.concat_arrays(chunks) if chunks else pa.array([], type_)
