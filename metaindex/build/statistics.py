"""From what is known of a column in N files to rows of `column_stats` and `partition_stats`.

The step between is the column's **facts**: an Arrow table of N rows in file order (`facts_schema`), with the bounds in
the one physical domain of the column's type. Footers give facts, scans give facts, absent columns give facts; they are
put together row by row (`replace_rows`) and only then widened to the stored schema, sorted and aggregated.

What a row promises (see `kinds.rows`): the state is never a guess, the counts that are not null are true whatever the
state, and each bound encloses. A pair of bounds that contradicts itself is dropped: the row is UNKNOWN.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from expressions.physical import physical_type
from expressions.statistics import ColumnBounds
from expressions.vectors import vector
from formats.model import Leaf, Trust
from metaindex.keys import column_id
from metaindex.kinds.rows import BOUND_BYTES, COLUMN_STATS, PARTITION_STATS, StatState

COUNTS = ("null_count", "nan_count", "value_count", "compressed_bytes", "uncompressed_bytes")
_INT64 = pa.int64()
STORED_AS = {pa.int64(): "int", pa.float64(): "double", pa.binary(): "bytes"}


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
        ]
    )


def facts_of(
    bounds: ColumnBounds,
    count: int,
    trust: pa.Array | Trust,
    compressed: pa.Array | None = None,
    uncompressed: pa.Array | None = None,
) -> pa.Table:
    """The facts that bounds and counts of a column of `count` files amount to. This is where the state is decided."""
    schema = facts_schema(bounds.type)
    domain = schema.field("lower").type

    def known(values: pa.Array | None, type_: pa.DataType = _INT64) -> pa.Array:
        return pa.nulls(count, type_) if values is None else _plain(values).cast(type_)

    lower, upper = known(bounds.lower, domain), known(bounds.upper, domain)
    nulls, rows = known(bounds.null_count), known(bounds.row_count)
    nans = known(bounds.nan_count)
    cut_lower = cut_upper = constant(False, count, pa.bool_())
    if not pa.types.is_floating(bounds.type):
        nans = constant(0, count, pa.int64())
    if pa.types.is_floating(domain):
        # NaN compares to nothing. The two zeros are equal: both lie inside, for readers that tell them apart.
        lower, upper = (pc.if_else(_sure(pc.is_nan(one)), None, one) for one in (lower, upper))
        lower = pc.if_else(_sure(pc.equal(lower, 0.0)), -0.0, lower)
        upper = pc.if_else(_sure(pc.equal(upper, 0.0)), 0.0, upper)
    elif pa.types.is_binary(domain):
        # Every value lies above the empty one: a column with only an upper bound keeps it.
        lower = pc.if_else(pc.and_(pc.is_null(lower), pc.is_valid(upper)), b"", lower)
        lower, upper, cut_lower, cut_upper = _cut(lower, upper)

    all_null = _sure(pc.equal(nulls, rows))
    all_nan = _sure(pc.and_(pc.equal(pc.add(nulls, nans), rows), pc.greater(nans, 0)))
    ordered = _sure(pc.less_equal(lower, upper))
    valued = pc.and_(pc.invert(all_null), pc.or_(ordered, all_nan))
    bounded = pc.and_(valued, pc.invert(all_nan))
    state = pc.if_else(all_null, int(StatState.ALL_NULL), pc.if_else(valued, int(StatState.VALUES), 0))
    lower, upper = pc.if_else(bounded, lower, None), pc.if_else(bounded, upper, None)

    def exact(flags: pa.Array | None, bound: pa.Array, cut: pa.Array) -> pa.Array:
        return pc.and_not(pc.and_(_sure(known(flags, pa.bool_())), pc.is_valid(bound)), cut)

    trusts = constant(int(trust), count, pa.int8()) if isinstance(trust, Trust) else _plain(trust).cast(pa.int8())
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
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def unknown_facts(type_: pa.DataType, count: int) -> pa.Table:
    """Nothing is known of the column in any of `count` files."""
    schema = facts_schema(type_)
    said = {"state": int(StatState.UNKNOWN), "trust": int(Trust.NONE), "lower_exact": False, "upper_exact": False}
    arrays = [
        constant(said[one.name], count, one.type) if one.name in said else pa.nulls(count, one.type) for one in schema
    ]
    return pa.Table.from_arrays(arrays, schema=schema)


def replace_rows(facts: pa.Table, rows: npt.NDArray[np.int64], better: pa.Table) -> pa.Table:
    """The facts with row `rows[i]` replaced by row i of `better`."""
    if not len(rows):
        return facts
    order = np.arange(facts.num_rows, dtype=np.int64)
    order[rows] = np.arange(facts.num_rows, facts.num_rows + len(rows), dtype=np.int64)
    return pa.concat_tables([facts, better]).take(pa.array(order)).combine_chunks()


def column_rows(
    leaf: Leaf,
    facts: pa.Table,
    ordinals: pa.Array,
    partition_ord: pa.Array,
    partition_ids: pa.Array,
) -> pa.Table:
    """Rows of COLUMN_STATS for one column, in file order. `partition_ids`: of each file."""
    count = facts.num_rows
    named = {
        "column_id": constant(column_id(leaf.stable), count, pa.int64()),
        "partition_ord": partition_ord,
        "ordinal": ordinals,
        "partition_id": partition_ids,
    }
    return stored(facts, named, COLUMN_STATS)


def sorted_rows(rows: pa.Table, domain: pa.DataType) -> pa.Table:
    """Rows of one column in their stored order."""
    keys = ("partition_ord", f"lower_{STORED_AS[domain]}", "ordinal")
    order = pc.sort_indices(rows, [(key, "ascending", "at_start") for key in keys])
    return rows.take(order)


def partition_rows(rows: pa.Table, domain: pa.DataType) -> pa.Table:
    """Rows of PARTITION_STATS: the aggregate of the COLUMN_STATS rows of one column, by partition_ord."""
    return aggregates(rows, [domain], rows.column("partition_ord"))


def aggregates(rows: pa.Table, domains: Sequence[pa.DataType], key: pa.Array | pa.ChunkedArray) -> pa.Table:
    """Rows of PARTITION_STATS: the aggregates of COLUMN_STATS rows of columns of some domains. `key`: of each row, a
    number of its own for each column and partition, by which the aggregates are ordered."""
    pairs = [(f"lower_{STORED_AS[domain]}", f"upper_{STORED_AS[domain]}") for domain in domains]
    state = rows.column("state")
    work = rows.select(
        ["partition_ord", "column_id", "partition_id", "trust", *(n for pair in pairs for n in pair), *COUNTS]
    )
    work = work.append_column("key", key)
    work = work.append_column("unknown", pc.equal(state, int(StatState.UNKNOWN)))
    work = work.append_column("values", pc.equal(state, int(StatState.VALUES)))
    whole = pc.ScalarAggregateOptions(skip_nulls=False, min_count=0)
    groups = work.group_by("key", use_threads=False).aggregate(
        [
            ("partition_ord", "min"),
            ("column_id", "min"),
            ("partition_id", "min"),
            ("trust", "min"),
            *((lower, "min") for lower, _ in pairs),
            *((upper, "max") for _, upper in pairs),
            ("unknown", "any"),
            ("values", "any"),
            *((name, "sum", whole) for name in COUNTS),
            ([], "count_all"),
        ]
    )
    groups = groups.sort_by("key").combine_chunks()
    unknown, values = (_plain(groups.column(f"{name}_any")) for name in ("unknown", "values"))
    known = pc.if_else(values, int(StatState.VALUES), int(StatState.ALL_NULL))
    out = {name: groups.column(f"{name}_sum") for name in COUNTS}
    out |= {name: groups.column(f"{name}_min") for name in ("column_id", "partition_ord", "partition_id", "trust")}
    out |= {"state": pc.if_else(unknown, int(StatState.UNKNOWN), known), "file_count": groups.column("count_all")}
    group = _plain(pc.index_in(key, groups.column("key")))
    for side, names in (("lower", [f"{n}_min" for n, _ in pairs]), ("upper", [f"{n}_max" for _, n in pairs])):
        attained = constant(False, rows.num_rows, pa.bool_())  # a partition's bound is exact when a file attains it
        for name in names:
            column = name.rpartition("_")[0]
            out[column] = pc.if_else(unknown, None, _plain(groups.column(name)))
            attained = pc.or_(attained, _sure(_plain(pc.equal(rows.column(column), out[column].take(group)))))
        exactly = pc.and_(_plain(rows.column(f"{side}_exact")), attained)
        out[f"{side}_exact"] = pc.is_in(groups.column("key"), key.filter(exactly))
    return _filled(out, groups.num_rows, PARTITION_STATS)


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
    """Is it a float column of which the writer says that no value is NaN?"""
    return len(leaf.parts) == 1 and leaf.parts[0] in without_nan and pa.types.is_floating(leaf.type)


def constant(value: object, count: int, type_: pa.DataType) -> pa.Array:
    """`count` times the same value."""
    return pa.repeat(pa.scalar(value, type_), count)


def _cut(lower: pa.Array, upper: pa.Array) -> tuple[pa.Array, pa.Array, pa.Array, pa.Array]:
    """Byte bounds of at most BOUND_BYTES, the lower cut downwards, the upper upwards (null where nothing is above);
    and which of them were cut."""
    cut_lower = _sure(pc.greater(pc.binary_length(lower), BOUND_BYTES))
    if pc.any(cut_lower).as_py():
        lower = pc.if_else(cut_lower, pc.binary_slice(lower, 0, BOUND_BYTES), lower)
    cut_upper = _sure(pc.greater(pc.binary_length(upper), BOUND_BYTES))
    if pc.any(cut_upper).as_py():
        prefixes = pc.binary_slice(upper.filter(cut_upper), 0, BOUND_BYTES)
        matrix = vector(prefixes.cast(pa.binary(BOUND_BYTES)), np.uint8, BOUND_BYTES).reshape(-1, BOUND_BYTES)
        upper = pc.replace_with_mask(upper, cut_upper, successors(matrix))
    return lower, upper, cut_lower, cut_upper


def stored(facts: pa.Table, named: dict[str, pa.Array], schema: pa.Schema) -> pa.Table:
    """Facts widened to the stored schema: the domain's two columns filled, the other domains' null."""
    suffix = STORED_AS[facts.schema.field("lower").type]
    shared = {name: facts.column(name) for name in facts.schema.names if name not in ("lower", "upper")}
    bounds = {f"{side}_{suffix}": facts.column(side) for side in ("lower", "upper")}
    return _filled(shared | named | bounds, facts.num_rows, schema)


def partition_column_rows(
    leaf: Leaf,
    bounds: ColumnBounds | None,
    no_value: npt.NDArray[np.bool_],
    partition_ord: npt.NDArray[np.int32],
    record_count: pa.ChunkedArray,
    partitions: pa.Table,
) -> pa.Table:
    """Rows of PARTITION_STATS for a partition column: the value of the partition is both bounds, exact.

    `bounds`, `no_value` (the value is NULL), `partition_ord` and `record_count` are aligned with the files. The value
    is a fact of the table, not of the files' bytes; how many rows show it is known where the log says how many the
    files have.
    """
    count = len(partition_ord)
    each = pa.array(partition_ord)
    ids = _plain(partitions.sort_by("partition_ord").column("partition_id")).take(each)
    facts = unknown_facts(leaf.type, count)
    if bounds is not None:
        facts = facts_of(bounds, count, Trust.LOG)
    rows, null = _plain(record_count), pa.array(no_value)
    # One value: the rows of a file are all NULL or none is.
    null = pc.or_(null, pc.equal(facts.column("state"), int(StatState.ALL_NULL)))
    valued = pc.equal(facts.column("state"), int(StatState.VALUES))
    zeros = pc.if_else(pc.or_(valued, null), constant(0, count, _INT64), None)
    facts = _put(facts, "state", pc.if_else(null, int(StatState.ALL_NULL), facts.column("state")).cast(pa.int8()))
    facts = _put(facts, "trust", pc.if_else(null, int(Trust.LOG), facts.column("trust")).cast(pa.int8()))
    facts = _put(facts, "value_count", rows)
    facts = _put(facts, "null_count", pc.if_else(null, rows, zeros))
    facts = _put(facts, "nan_count", pc.if_else(null, zeros, facts.column("nan_count")))
    for side in ("lower", "upper"):
        domain = facts.schema.field(side).type
        facts = _put(facts, side, pc.if_else(null, pa.scalar(None, domain), facts.column(side)))
        facts = _put(facts, f"{side}_exact", pc.and_not(facts.column(f"{side}_exact"), null))
    stored = column_rows(leaf, facts, pa.array(np.arange(count, dtype=np.int32)), each, ids)
    return partition_rows(stored, domain_of(leaf.type))


def in_column_order(leaves: tuple[Leaf, ...]) -> Iterator[tuple[int, Leaf]]:
    """(position, leaf) by ascending column id: the order of the stored rows."""
    order = sorted(range(len(leaves)), key=lambda i: column_id(leaves[i].stable))
    return ((i, leaves[i]) for i in order)


def take_bounds(bounds: ColumnBounds, rows: npt.NDArray[np.int64]) -> ColumnBounds:
    """The bounds of the files `rows`."""
    whole = next((len(v) for one in fields(ColumnBounds) if isinstance(v := getattr(bounds, one.name), pa.Array)), -1)
    if whole == len(rows) and np.array_equal(rows, np.arange(whole)):
        return bounds
    at = pa.array(rows)
    arrays = {one.name: getattr(bounds, one.name) for one in fields(ColumnBounds) if one.name != "type"}
    return replace(bounds, **{name: None if values is None else values.take(at) for name, values in arrays.items()})


def _put(table: pa.Table, name: str, values: pa.Array) -> pa.Table:
    return table.set_column(table.schema.get_field_index(name), table.schema.field(name), values)


def _filled(columns: dict[str, pa.Array | pa.ChunkedArray], count: int, schema: pa.Schema) -> pa.Table:
    """A table of the schema; what is not given is null."""
    arrays = []
    for one in schema:
        found = columns.get(one.name)
        if found is None:
            arrays.append(pa.nulls(count, one.type))
        else:
            arrays.append(_plain(found) if found.type == one.type else _plain(found).cast(one.type))
    return pa.Table.from_arrays(arrays, schema=schema)


def _sure(mask: pa.Array) -> pa.Array:
    return pc.fill_null(mask, False)


def _plain(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    """One contiguous array."""
    if isinstance(values, pa.ChunkedArray):
        return values.chunk(0) if values.num_chunks == 1 else values.combine_chunks()
    return values
