"""Converts the facts of a column to its stored rows: widened, sorted, aggregated."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from metaindex.expressions import ColumnBounds, physical_type
from metaindex.formats import Leaf, Trust
from metaindex.index.keys import column_id, partition_id
from metaindex.index.kinds.facts import COUNTS, constant, domain_of, facts_of, plain, sure, unknown_facts
from metaindex.index.kinds.states import StatState
from metaindex.index.log.entry import CoveredColumn
from metaindex.index.store.kway import groups_holding
from metaindex.index.store.reader import RunReader

from .schemas import COLUMN_STATS, PARTITION_STATS

STORED_AS = {pa.int64(): "int", pa.float64(): "double", pa.binary(): "bytes"}
_INT64 = pa.int64()


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
    unknown, values = (plain(groups.column(f"{name}_any")) for name in ("unknown", "values"))
    known = pc.if_else(values, int(StatState.VALUES), int(StatState.ALL_NULL))
    out = {name: groups.column(f"{name}_sum") for name in COUNTS}
    out |= {name: groups.column(f"{name}_min") for name in ("column_id", "partition_ord", "partition_id", "trust")}
    out |= {"state": pc.if_else(unknown, int(StatState.UNKNOWN), known), "file_count": groups.column("count_all")}
    group = plain(pc.index_in(key, groups.column("key")))
    for side, names in (("lower", [f"{n}_min" for n, _ in pairs]), ("upper", [f"{n}_max" for _, n in pairs])):
        attained = constant(False, rows.num_rows, pa.bool_())  # a partition's bound is exact when a file attains it
        for name in names:
            column = name.rpartition("_")[0]
            out[column] = pc.if_else(unknown, None, plain(groups.column(name)))
            attained = pc.or_(attained, sure(plain(pc.equal(rows.column(column), out[column].take(group)))))
        exactly = pc.and_(plain(rows.column(f"{side}_exact")), attained)
        out[f"{side}_exact"] = pc.is_in(groups.column("key"), key.filter(exactly))
    return _filled(out, groups.num_rows, PARTITION_STATS)


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
    ids = plain(partitions.sort_by("partition_ord").column("partition_id")).take(each)
    facts = unknown_facts(leaf.type, count)
    if bounds is not None:
        facts = facts_of(bounds, count, Trust.LOG)
    rows, null = plain(record_count), pa.array(no_value)
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


def _put(table: pa.Table, name: str, values: pa.Array) -> pa.Table:
    return table.set_column(table.schema.get_field_index(name), table.schema.field(name), values)


def _filled(columns: dict[str, pa.Array | pa.ChunkedArray], count: int, schema: pa.Schema) -> pa.Table:
    """A table of the schema; what is not given is null."""
    arrays = []
    for field in schema:
        values = columns.get(field.name)
        if values is None:
            arrays.append(pa.nulls(count, field.type))
        else:
            arrays.append(plain(values) if values.type == field.type else plain(values).cast(field.type))
    return pa.Table.from_arrays(arrays, schema=schema)


def of_column(run: RunReader, column: CoveredColumn, partition: str | None) -> pa.Table:
    """The rows of a column in every file (of one partition, by its text), by ordinal, with the bounds of its domain."""
    type_ = column.type
    suffix = STORED_AS[domain_of(type_)] if type_ is not None and physical_type(type_) is not None else "bytes"
    names = [n for n in COLUMN_STATS.names if not n.startswith(("lower_", "upper_")) or n.endswith(("exact", suffix))]
    tables = [pa.schema([COLUMN_STATS.field(n) for n in names]).empty_table()]
    wanted = {"column_id": column.column_id} | ({} if partition is None else {"partition_id": partition_id(partition)})
    for part in run.parts("column_stats"):
        footer = run.footer(part)
        held = [set(groups_holding(footer, name, [key])) for name, key in wanted.items()]
        groups = sorted(set.intersection(*held))
        if groups:
            tables.append(run.read(part, groups, names))
    table = pa.concat_tables(tables[1:] or tables)
    for name, key in wanted.items():
        table = table.filter(pc.equal(table.column(name), key))
    return table.sort_by("ordinal").rename_columns([n.removesuffix(f"_{suffix}") for n in names])
