"""Converts the facts of a column to its stored rows: widened, sorted, aggregated."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from metaindex.expressions import Family, physical_type
from metaindex.formats import Footer, Leaf, Trust
from metaindex.index.keys import column_id, partition_id
from metaindex.index.kinds.described import PartitionColumn
from metaindex.index.kinds.facts import COUNTS, constant, domain_of, facts_of, plain, sure, take_bounds, unknown_facts
from metaindex.index.kinds.states import StatState
from metaindex.index.log.entry import CoveredColumn
from metaindex.index.store.kway import groups_holding
from metaindex.index.store.reader import RunReader
from metaindex.index.store.rows import PART_ROWS

from .schemas import COLUMN_STATS, LATER, ORDER, PARTITION_STATS

STORED_AS = {pa.int64(): "int", pa.float64(): "double", pa.binary(): "bytes"}


def column_rows(
    leaf: Leaf,
    facts: pa.Table,
    ordinals: pa.Array,
    partition_ord: pa.Array,
    partition_ids: pa.Array,
) -> pa.Table:
    """Rows of COLUMN_STATS for one column, in file order. `partition_ids`: of each file."""
    ids = constant(column_id(leaf.stable), facts.num_rows, pa.int64())
    return stored_rows(under_stored_names(facts), ids, ordinals, partition_ord, partition_ids)


def stored_rows(
    facts: pa.Table, column_ids: pa.Array, ordinals: pa.Array, partition_ord: pa.Array, partition_ids: pa.Array
) -> pa.Table:
    """Rows of COLUMN_STATS of facts `under_stored_names`."""
    named = {"column_id": column_ids, "partition_ord": partition_ord, "ordinal": ordinals}
    named |= {"partition_id": partition_ids, **{name: facts.column(name) for name in facts.column_names}}
    return _filled(named, facts.num_rows, COLUMN_STATS)


def under_stored_names(facts: pa.Table) -> pa.Table:
    """The facts of a column, its bounds as those of their domain."""
    suffix = STORED_AS[facts.schema.field("lower").type]
    return facts.rename_columns([f"{n}_{suffix}" if n in ("lower", "upper") else n for n in facts.column_names])


def sorted_rows(rows: pa.Table) -> pa.Table:
    """Rows of COLUMN_STATS in their stored order."""
    return rows.take(pc.sort_indices(rows, [(key, "ascending", "at_start") for key in ORDER]))


def aggregated(pieces: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """Yield the `aggregates` of sorted rows that come in pieces: a partition may go on from one to the next."""
    last: pa.Table | None = None
    for rows in pieces:
        if not rows.num_rows:
            continue
        totals = aggregates(rows.combine_chunks())
        if last is not None:
            border = aggregates(pa.concat_tables([last, totals.slice(0, 1)]).combine_chunks())
            totals = pa.concat_tables([border, totals.slice(1)])
        yield totals.slice(0, totals.num_rows - 1)
        last = totals.slice(totals.num_rows - 1)
    if last is not None:
        yield last


def aggregates(rows: pa.Table) -> pa.Table:
    """Rows of PARTITION_STATS: the aggregates by column and partition of rows of COLUMN_STATS, or of PARTITION_STATS,
    that are sorted by these."""
    files = rows.column("file_count") if "file_count" in rows.column_names else constant(1, rows.num_rows, pa.int32())
    number = np.zeros(rows.num_rows, np.int64)
    for name in ("column_id", "partition_ord"):
        values = rows.column(name).to_numpy()
        number[1:] |= values[1:] != values[:-1]
    number = np.cumsum(number)
    if rows.num_rows and number[-1] == rows.num_rows - 1:  # each its own
        return _filled(
            {**{n: rows.column(n) for n in rows.column_names}, "file_count": files}, rows.num_rows, PARTITION_STATS
        )
    state, key = rows.column("state"), pa.array(number)
    # The bounds of a column are of one domain; where nobody has any of one, there is nothing to aggregate.
    domains = [suffix for suffix in STORED_AS.values() if rows.column(f"lower_{suffix}").null_count < rows.num_rows]
    pairs = [(f"lower_{suffix}", f"upper_{suffix}") for suffix in domains]
    work = rows.select(
        ["partition_ord", "column_id", "partition_id", "trust", *(n for pair in pairs for n in pair), *COUNTS]
    )
    work = work.append_column("key", key).append_column("file_count", files)
    work = work.append_column("unknown", pc.equal(state, int(StatState.UNKNOWN)))
    work = work.append_column("values", pc.equal(state, int(StatState.VALUES)))
    whole = pc.ScalarAggregateOptions(skip_nulls=False, min_count=0)
    groups = work.group_by("key", use_threads=False).aggregate(
        [
            *((name, "min") for name in ("partition_ord", "column_id", "partition_id", "trust")),
            *((lower, "min") for lower, _ in pairs),
            *((upper, "max") for _, upper in pairs),
            *((name, "any") for name in ("unknown", "values")),
            *((name, "sum", whole) for name in COUNTS),
            ("file_count", "sum"),
        ]
    )
    groups = groups.sort_by("key").combine_chunks()
    unknown, values = (plain(groups.column(f"{name}_any")) for name in ("unknown", "values"))
    known = pc.if_else(values, int(StatState.VALUES), int(StatState.ALL_NULL))
    out = {name: groups.column(f"{name}_sum") for name in (*COUNTS, "file_count")}
    out |= {name: groups.column(f"{name}_min") for name in ("column_id", "partition_ord", "partition_id", "trust")}
    out |= {"state": pc.if_else(unknown, int(StatState.UNKNOWN), known)}
    for side, names in (("lower", [f"{n}_min" for n, _ in pairs]), ("upper", [f"{n}_max" for _, n in pairs])):
        attained = constant(False, rows.num_rows, pa.bool_())  # a partition's bound is exact when a file attains it
        for name in names:
            column = name.rpartition("_")[0]
            out[column] = pc.if_else(unknown, None, plain(groups.column(name)))
            attained = pc.or_(attained, sure(plain(pc.equal(rows.column(column), out[column].take(key)))))
        exactly = pc.and_(plain(rows.column(f"{side}_exact")), attained)
        out[f"{side}_exact"] = pc.is_in(groups.column("key"), key.filter(exactly))
    return _filled(out, groups.num_rows, PARTITION_STATS)


def partition_values(column: PartitionColumn) -> pa.Table:
    """Rows of PARTITION_STATS for a partition column: the value of the partition is both bounds, exact. The value is a
    fact of the table, not of the files' bytes; how many rows show it is known where the log says how many the files
    have."""
    ids = plain(column.partitions.sort_by("partition_ord").column("partition_id"))
    starts = range(0, len(column.no_value), PART_ROWS)
    pieces = (_value_rows(column, ids, slice(start, start + PART_ROWS)) for start in starts)
    return pa.concat_tables([PARTITION_STATS.empty_table(), *aggregated(pieces)])


def _value_rows(column: PartitionColumn, ids: pa.Array, some: slice) -> pa.Table:
    """Rows of COLUMN_STATS as some files would have them of a partition column."""
    each, null = pa.array(column.partition_ord[some]), pa.array(column.no_value[some])
    count, rows = len(each), some_rows(plain(column.record_count.slice(some.start, len(each))))
    facts = unknown_facts(column.leaf.type, count)
    if column.bounds is not None:
        facts = facts_of(take_bounds(column.bounds, column.rows[some]), count, Trust.LOG)
    # One value: the rows of a file are all NULL or none is.
    null = pc.or_(null, pc.equal(facts.column("state"), int(StatState.ALL_NULL)))
    valued = pc.equal(facts.column("state"), int(StatState.VALUES))
    zeros = pc.if_else(pc.or_(valued, null), constant(0, count, pa.int64()), None)
    told = {
        "state": pc.if_else(null, int(StatState.ALL_NULL), facts.column("state")).cast(pa.int8()),
        "trust": pc.if_else(null, int(Trust.LOG), facts.column("trust")).cast(pa.int8()),
        "value_count": rows,
        "null_count": pc.if_else(null, rows, zeros),
        "nan_count": pc.if_else(null, zeros, facts.column("nan_count")),
    }
    for side in ("lower", "upper"):
        told[side] = pc.if_else(null, pa.scalar(None, facts.schema.field(side).type), facts.column(side))
        told[f"{side}_exact"] = pc.and_not(facts.column(f"{side}_exact"), null)
    ordinals = pa.array(np.arange(count, dtype=np.int32))
    return column_rows(column.leaf, with_columns(facts, told), ordinals, each, ids.take(each))


def some_rows(counts: pa.Array) -> pa.Array:
    """The counts; unknown where there is no row, as writers without statistics say."""
    return pc.if_else(sure(pc.greater(counts, 0)), counts, None)


def with_columns(table: pa.Table, values: Mapping[str, pa.Array]) -> pa.Table:
    """The table with these columns in the place of its own."""
    for name, array in values.items():
        table = table.set_column(table.schema.get_field_index(name), table.schema.field(name), array)
    return table


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
    asked = [name for name in COLUMN_STATS.names if name != LATER]
    names = [n for n in asked if not n.startswith(("lower_", "upper_")) or n.endswith(("exact", suffix))]
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
    table = table.sort_by("ordinal").rename_columns([n.removesuffix(f"_{suffix}") for n in names])
    return table if type_ is None else believed(table, type_, run.run.trusted)


def believed(rows: pa.Table, type_: pa.DataType, revision: int, *, of_files: bool = True) -> pa.Table:
    """The rows of a column without what footers said that an older revision of the table of writers believed, and
    today's may not. `of_files`: a row is of one file; where it is of many, its trust is that of the least of them."""
    if revision >= Footer.REVISION:
        return rows
    trust = rows.column("trust")
    doubted = pc.equal(trust, int(Trust.FOOTER)) if of_files else pc.less(trust, int(Trust.COMPUTED))
    ends = Footer.reconsidered(type_, revision)
    for at, field in enumerate(rows.schema):
        values, where = rows.column(at), doubted
        if field.name.endswith("_exact"):
            unknown = pa.scalar(False)
        elif field.name == "state":
            unknown = pa.scalar(int(StatState.UNKNOWN), field.type)
            where = doubted if ends else pc.and_(doubted, pc.equal(values, int(StatState.ALL_NULL)))
        elif (
            field.name == "null_count"
            or (field.name == "nan_count" and Family.may_be_nan(type_))
            or (ends and field.name.startswith(("lower", "upper")))
        ):
            unknown = pa.scalar(None, field.type)
        else:
            continue
        rows = rows.set_column(at, field.with_nullable(True), pc.if_else(where, unknown, values))
    return rows
