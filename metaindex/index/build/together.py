"""Facts of several columns at once, for few files: a call into Arrow costs the same for ten rows as for ten thousand,
and a refresh after a commit has ten files.

They are those that `kinds.facts` makes column by column; a test compares them.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from metaindex.expressions import ColumnBounds
from metaindex.formats import Trust
from metaindex.index.kinds.facts import constant, domain_of, facts_of, joined


def facts_together(
    bounds: Sequence[ColumnBounds],
    count: int,
    trusts: Sequence[pa.Array | Trust],
    compressed: Sequence[pa.Array | None] | None = None,
    uncompressed: Sequence[pa.Array | None] | None = None,
) -> list[pa.Table]:
    """Return `facts_of` of each column's bounds in `count` files, computed together."""
    out: dict[int, pa.Table] = {}
    kinds = [(domain_of(column.type), pa.types.is_floating(column.type)) for column in bounds]
    for kind in dict.fromkeys(kinds):
        mine = [place for place, kind_ in enumerate(kinds) if kind_ == kind]
        some = [bounds[place] for place in mine]

        def every(values: Sequence[pa.Array | pa.ChunkedArray | None], type_: pa.DataType) -> pa.Array:
            return joined([pa.nulls(count, type_) if value is None else value.cast(type_) for value in values], type_)

        def sizes(of: Sequence[pa.Array | None] | None, places: Sequence[int]) -> pa.Array | None:
            return None if of is None else every([of[place] for place in places], pa.int64())

        whole = ColumnBounds(
            some[0].type,
            every([column.lower for column in some], kind[0]),
            every([column.upper for column in some], kind[0]),
            every([column.null_count for column in some], pa.int64()),
            every([column.nan_count for column in some], pa.int64()),
            every([column.row_count for column in some], pa.int64()),
            every([column.lower_exact for column in some], pa.bool_()),
            every([column.upper_exact for column in some], pa.bool_()),
        )
        said = [constant(int(t), count, pa.int8()) if isinstance(t, Trust) else t for t in (trusts[p] for p in mine)]
        facts = facts_of(
            whole, count * len(mine), every(said, pa.int8()), sizes(compressed, mine), sizes(uncompressed, mine)
        )
        out |= {place: facts.slice(at * count, count) for at, place in enumerate(mine)}
    return [out[place] for place in range(len(bounds))]
