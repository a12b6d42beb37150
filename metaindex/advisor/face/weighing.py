"""What-if questions to a table: the effect of an index, measured on its snapshot and indexes."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from metaindex.advisor.hypothetical.baseline import Baseline
from metaindex.advisor.hypothetical.candidates import A_PART, named
from metaindex.advisor.hypothetical.cost import rate_of
from metaindex.advisor.hypothetical.weigh import Asked, AskedQuery, TableContext, weigh
from metaindex.advisor.workloads.asked import OfTable, TableNames, TableQuery, of_table
from metaindex.advisor.workloads.plans import is_frame
from metaindex.advisor.workloads.taking import path_in, workload
from metaindex.advisor.workloads.template import NOT_READ, Workload
from metaindex.advisor.workloads.typed import typed
from metaindex.core import ArgumentError, one_line
from metaindex.expressions import columns
from metaindex.formats import Leaf, Schema
from metaindex.index import Kind, columns_of
from metaindex.query import Handle, Scan, TimestampLike, VersionLike, at_version, check_outside, names_of, paths_of

if TYPE_CHECKING:
    from metaindex.advisor.hypothetical.answer import WhatIf

_MOST_TOLD = 10
"""Reasons why something of a workload could not be read."""


def weighed(
    handle: Handle,
    queries: object,
    candidates: Sequence[Kind | Sequence[Kind]],
    *,
    version: VersionLike,
    timestamp: TimestampLike,
    sample: float | None,
    indexes: Iterable[str] | None,
    tables: Mapping[str, str | os.PathLike[str]] | None = None,
) -> WhatIf:
    """Implement `Table.what_if`."""
    check_workplace(handle)
    if _are_statements(queries):
        queries = workload(queries, time_zone=handle.config.time_zone)
    elif tables is not None and not isinstance(queries, Workload):
        raise ArgumentError(
            "tables= names tables as the SQL of a workload does; conditions alone name none; give statements, or leave"
            " tables= out"
        )
    several = tuple(queries) if isinstance(queries, list | tuple) else (queries,)
    if not several or queries is None:
        raise ArgumentError("what-if weighs at least one query; none was given; name a condition, as behind WHERE")
    kinds = tuple(named(candidates))
    snapshot = handle.snapshot(at_version(version, timestamp))
    notes: tuple[str, ...] = ()
    if isinstance(queries, Workload):
        names = TableNames(handle.path, paths_of(tables))
        chosen = of_table(queries, names, [field.name for field in snapshot.schema.fields])
        zone = handle.config.time_zone
        several_asked = tuple(asked_query(query, snapshot.schema, zone) for query in chosen.queries)
        notes = tuple(_left_out(queries, chosen))
    else:
        several_asked = tuple(AskedQuery(query, " ".join(str(query).split())) for query in several)
    asked = Asked(several_asked, kinds, sample, handle.config.time_zone, handle.path)
    opened, refused = handle.open_indexes(names_of(indexes, "indexes"))

    reports = tuple(f"index {report.name} is left out: {report.reason}" for report in refused)
    hand = at_hand(handle, Baseline(snapshot, tuple(opened)), (*reports, *notes))
    return weigh(asked, hand)


def check_workplace(handle: Handle) -> None:
    """Raise ArgumentError if candidates would be built among the files of the table, as with a folder for temporary
    files there: Python's is the current folder if no other can be written."""
    check_outside(tempfile.gettempdir(), handle.path, "temporary files are written (TMPDIR says where)")


def at_hand(handle: Handle, standing: Baseline, notes: tuple[str, ...]) -> TableContext:
    """The table for what-if."""
    snapshot = standing.snapshot

    def scan(row: int, leaves: Sequence[Leaf]) -> Scan:
        names = tuple(dict.fromkeys(leaf.parts[0] for leaf in leaves))
        rows = np.array([row], np.int64)
        return Scan(snapshot, handle.ref.storage, handle.ref, rows, columns=names, time_zone=handle.config.time_zone)

    return TableContext(handle.ref, standing, scan, lambda: rate_of(handle.table_format, handle.ref, snapshot), notes)


def _are_statements(queries: object) -> bool:
    """Return whether a file of queries, a SQL statement, or a DataFrame is among them."""
    from metaindex.expressions import is_statement

    several = queries if isinstance(queries, list | tuple) else (queries,)
    return any(
        path_in(query) is not None or is_frame(query) or (isinstance(query, str) and is_statement(query))
        for query in several
    )


def asked_query(query: TableQuery, schema: Schema, time_zone: str) -> AskedQuery:
    """`columns` by the names of the table; one that it does not have is none."""
    types = {tuple(part.lower() for part in leaf.parts): leaf.type for leaf in schema.leaves()}
    keys = query.joined, query.grouped, query.ordered
    predicate = typed(query.predicate, types, time_zone)
    wanted = query.columns if query.columns is not None else frozenset((field.name,) for field in schema)
    needs = _needs([*wanted, *(ref.parts for ref in columns(predicate))], schema)
    return AskedQuery(predicate, query.text, query.seen, needs, *keys, query.stands)


def _needs(named_columns: Iterable[tuple[str, ...]], schema: Schema) -> frozenset[tuple[str, ...]]:
    """Return the columns that a scan of such a query needs, as the rule of Spark's optimizer counts them
    (`Fields.java`): a field of a struct by itself, the whole column if it is named anywhere. Of what is named inside
    lists and maps, of a struct in a struct, and of a field that is required in a struct that may be NULL, Spark reads a
    part of the column, unless the whole is read anyway."""
    every = {_folded(leaf.parts): leaf for leaf in columns_of(schema)}
    needs: set[tuple[str, ...]] = set()
    for path in map(_folded, named_columns):
        inner = next((every[path[:end]] for end in range(len(path), 0, -1) if path[:end] in every), None)
        if inner is None or (len(inner.parts) < len(path) and inner.field.children):
            continue
        behind = len(inner.parts) < len(path) and _has_struct(inner.type)
        inside = len(inner.parts) > 1 and bool(inner.field.children)
        required = not all(field.nullable for field in inner.path[1:])
        needs.add((inner.parts[0], A_PART) if behind or inside or required else inner.parts)
    parted = {parts[0] for parts in needs if parts[1:] == (A_PART,)}
    whole = {parts[0] for parts in needs if len(parts) == 1}
    return frozenset(
        parts
        for parts in needs
        if len(parts) == 1 or (parts[0] not in whole and (parts[0] not in parted or parts[1:] == (A_PART,)))
    )


def _has_struct(type_: pa.DataType) -> bool:
    """Return whether a list or map holds a struct, of which a field can be read alone."""
    if pa.types.is_struct(type_):
        return True
    if pa.types.is_map(type_):
        return _has_struct(type_.key_type) or _has_struct(type_.item_type)
    return pa.types.is_nested(type_) and any(_has_struct(type_.field(at).type) for at in range(type_.num_fields))


def _folded(parts: Iterable[str]) -> tuple[str, ...]:
    return tuple(part.lower() for part in parts)


def _left_out(queries: Workload, chosen: OfTable) -> Iterator[str]:
    if chosen.others:
        yield f"of the workload {chosen.others:,} of {queries.seen:,} queries are of other tables"
    yield from unread(queries)


def unread(queries: Workload) -> Iterator[str]:
    """Yield what could not be read of a workload."""
    for problem in queries.problems[:_MOST_TOLD]:
        yield f"{NOT_READ}: {one_line(str(problem))}"
    if len(queries.problems) > _MOST_TOLD:
        yield f"{NOT_READ} for {len(queries.problems) - _MOST_TOLD:,} more reasons; its problems have all"
