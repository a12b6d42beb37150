"""Facts: what is known of a column in N files, as an Arrow table of N rows in file order (`facts_schema`), with the
bounds in the one physical domain of the column's type. Footers give facts, scans give facts, absent columns give facts;
they are put together row by row (`replace_rows`). Builders find them; the kind that keeps them says how they are stored
(`column_stats.stored`).

What a row of facts promises (see `states`): the state is never a guess, the counts that are not null are true whatever
the state, and each bound encloses. A pair of bounds that contradicts itself is dropped: the row is UNKNOWN.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from metaindex.core import Vector
from metaindex.expressions import ColumnBounds, physical_type
from metaindex.formats import Leaf, Trust
from metaindex.index.keys import column_id

from .states import BOUND_BYTES, StatState

COUNTS = ("null_count", "nan_count", "value_count", "compressed_bytes", "uncompressed_bytes")
MOST_ROWS = 1 << 16
"""Files times columns up to which it pays to make the facts and rows of all columns at once: they are held twice."""
_INT64 = pa.int64()


def domain_of(type_: pa.DataType) -> pa.DataType:
    """The physical domain of a column's bounds; int64, always null, for types that have none."""
    return physical_type(type_) or pa.int64()


def facts_schema(type_: pa.DataType) -> pa.Schema:
    """The columns of the facts of a column of this type."""
    domain = domain_of(type_)
    return pa.schema(
        [
            pa.field("state", pa.int8()),
            pa.field("lower", domain),
            pa.field("upper", domain),
            pa.field("null_count", pa.int64()),
            pa.field("nan_count", pa.int64()),
            pa.field("value_count", pa.int64()),
            pa.field("lower_exact", pa.bool_()),
            pa.field("upper_exact", pa.bool_()),
            pa.field("trust", pa.int8()),
            pa.field("compressed_bytes", pa.int64()),
            pa.field("uncompressed_bytes", pa.int64()),
            pa.field("form", pa.int8()),
        ]
    )


def facts_of(
    bounds: ColumnBounds,
    count: int,
    trust: pa.Array | Trust,
    compressed: pa.Array | None = None,
    uncompressed: pa.Array | None = None,
    form: pa.Array | None = None,
) -> pa.Table:
    """The facts that bounds and counts of a column of `count` files amount to. This is where the state is decided."""
    schema = facts_schema(bounds.type)
    domain = schema.field("lower").type

    def known(values: pa.Array | None, type_: pa.DataType = _INT64) -> pa.Array:
        return pa.nulls(count, type_) if values is None else plain(values).cast(type_)

    lower, upper = known(bounds.lower, domain), known(bounds.upper, domain)
    nulls, rows = known(bounds.null_count), known(bounds.row_count)
    nans = known(bounds.nan_count)
    cut_lower = cut_upper = constant(False, count, pa.bool_())
    if not pa.types.is_floating(bounds.type):
        nans = constant(0, count, pa.int64())
    if pa.types.is_floating(domain):
        # NaN compares to nothing. The two zeros are equal: both lie inside, for readers that tell them apart.
        lower, upper = (pc.if_else(sure(pc.is_nan(bound)), None, bound) for bound in (lower, upper))
        lower = pc.if_else(sure(pc.equal(lower, 0.0)), -0.0, lower)
        upper = pc.if_else(sure(pc.equal(upper, 0.0)), 0.0, upper)
    elif pa.types.is_binary(domain):
        # Every value lies above the empty one: a column with only an upper bound keeps it.
        lower = pc.if_else(pc.and_(pc.is_null(lower), pc.is_valid(upper)), b"", lower)
        lower, upper, cut_lower, cut_upper = _cut(lower, upper)

    all_null = sure(pc.equal(nulls, rows))
    all_nan = sure(pc.and_(pc.equal(pc.add(nulls, nans), rows), pc.greater(nans, 0)))
    ordered = sure(pc.less_equal(lower, upper))
    valued = pc.and_(pc.invert(all_null), pc.or_(ordered, all_nan))
    bounded = pc.and_(valued, pc.invert(all_nan))
    state = pc.if_else(all_null, int(StatState.ALL_NULL), pc.if_else(valued, int(StatState.VALUES), 0))
    lower, upper = pc.if_else(bounded, lower, None), pc.if_else(bounded, upper, None)

    def exact(flags: pa.Array | None, bound: pa.Array, cut: pa.Array) -> pa.Array:
        return pc.and_not(pc.and_(sure(known(flags, pa.bool_())), pc.is_valid(bound)), cut)

    trusts = constant(int(trust), count, pa.int8()) if isinstance(trust, Trust) else plain(trust).cast(pa.int8())
    columns = [
        state.cast(pa.int8()),
        lower,
        upper,
        nulls,
        nans,
        rows,
        exact(bounds.lower_exact, lower, cut_lower),
        exact(bounds.upper_exact, upper, cut_upper),
        trusts,
        known(compressed),
        known(uncompressed),
        known(form, pa.int8()),
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def unknown_facts(type_: pa.DataType, count: int) -> pa.Table:
    """Nothing is known of the column in any of `count` files."""
    schema = facts_schema(type_)
    said = {"state": int(StatState.UNKNOWN), "trust": int(Trust.NONE), "lower_exact": False, "upper_exact": False}
    arrays = [
        constant(said[field.name], count, field.type) if field.name in said else pa.nulls(count, field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(arrays, schema=schema)


def replace_rows(facts: pa.Table, rows: npt.NDArray[np.int64], better: pa.Table) -> pa.Table:
    """The facts with row `rows[i]` replaced by row i of `better`."""
    if not len(rows):
        return facts
    order = np.arange(facts.num_rows, dtype=np.int64)
    order[rows] = np.arange(facts.num_rows, facts.num_rows + len(rows), dtype=np.int64)
    return pa.concat_tables([facts, better]).take(pa.array(order)).combine_chunks()


def successors(prefixes: npt.NDArray[np.uint8]) -> pa.Array:
    """The least byte string above everything that starts with each row of the matrix; null where there is none (all
    0xFF)."""
    count, width = prefixes.shape
    matrix = prefixes.copy()
    below = matrix != 0xFF
    lengths = np.where(below.any(axis=1), width - np.argmax(below[:, ::-1], axis=1), 0)
    alive = np.flatnonzero(lengths)
    matrix[alive, lengths[alive] - 1] += 1
    data = matrix[np.arange(width) < lengths[:, None]]
    offsets = np.zeros(count + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    values = pa.Array.from_buffers(
        pa.binary(), count, [None, pa.py_buffer(offsets.tobytes()), pa.py_buffer(data.tobytes())]
    )
    return pc.if_else(pa.array(lengths > 0), values, None)


def told(leaf: Leaf, without_nan: frozenset[str]) -> bool:
    """Return whether the writer states that the column, of floats, has no NaN."""
    return len(leaf.parts) == 1 and leaf.parts[0] in without_nan and pa.types.is_floating(leaf.type)


def constant(value: object, count: int, type_: pa.DataType) -> pa.Array:
    """`count` times the same value."""
    return pa.repeat(pa.scalar(value, type_), count)


def _cut(lower: pa.Array, upper: pa.Array) -> tuple[pa.Array, pa.Array, pa.Array, pa.Array]:
    """Byte bounds of at most BOUND_BYTES, the lower cut downwards, the upper upwards (null where nothing is above);
    and which of them were cut."""
    cut_lower = sure(pc.greater(pc.binary_length(lower), BOUND_BYTES))
    if pc.any(cut_lower).as_py():
        lower = pc.if_else(cut_lower, pc.binary_slice(lower, 0, BOUND_BYTES), lower)
    cut_upper = sure(pc.greater(pc.binary_length(upper), BOUND_BYTES))
    if pc.any(cut_upper).as_py():
        prefixes = pc.binary_slice(upper.filter(cut_upper), 0, BOUND_BYTES)
        matrix = Vector(prefixes.cast(pa.binary(BOUND_BYTES))).items(np.uint8, BOUND_BYTES).reshape(-1, BOUND_BYTES)
        upper = pc.replace_with_mask(upper, cut_upper, successors(matrix))
    return lower, upper, cut_lower, cut_upper


def take_bounds(bounds: ColumnBounds, rows: npt.NDArray[np.int64]) -> ColumnBounds:
    """The bounds of the files `rows`."""
    whole = next(
        (len(v) for field in fields(ColumnBounds) if isinstance(v := getattr(bounds, field.name), pa.Array)), -1
    )
    if whole == len(rows) and np.array_equal(rows, np.arange(whole)):
        return bounds
    at = pa.array(rows)
    arrays = {field.name: getattr(bounds, field.name) for field in fields(ColumnBounds) if field.name != "type"}
    return replace(bounds, **{name: None if values is None else values.take(at) for name, values in arrays.items()})


def in_column_order(leaves: tuple[Leaf, ...]) -> Iterator[tuple[int, Leaf]]:
    """(position, leaf) by ascending column id: the order of the stored rows."""
    order = sorted(range(len(leaves)), key=lambda i: column_id(leaves[i].stable))
    return ((i, leaves[i]) for i in order)


def sure(mask: pa.Array) -> pa.Array:
    """False where it is null."""
    return pc.fill_null(mask, False)


def plain(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return one contiguous array."""
    if isinstance(values, pa.ChunkedArray):
        return values.chunk(0) if values.num_chunks == 1 else values.combine_chunks()
    return values


def joined(pieces: Sequence[pa.Array | pa.ChunkedArray], type_: pa.DataType) -> pa.Array:
    """Pieces as one array."""
    chunks = [chunk for piece in pieces for chunk in (piece.chunks if isinstance(piece, pa.ChunkedArray) else (piece,))]
    return pa.concat_arrays(chunks) if chunks else pa.nulls(0, type_)
