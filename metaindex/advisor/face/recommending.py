"""Indexes for a workload, asked of tables and their indexes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from metaindex.advisor.clustering.advised import Advice
from metaindex.advisor.clustering.sample import SMALL_BYTES, Sampled, check_share
from metaindex.advisor.hypothetical.baseline import Baseline
from metaindex.advisor.hypothetical.candidates import named
from metaindex.advisor.hypothetical.weigh import Asked
from metaindex.advisor.selection.answer import CreatedIndex, Recommendation, budget_of
from metaindex.advisor.selection.asked import TableAsked
from metaindex.advisor.selection.pieces import RecommendedIndex
from metaindex.advisor.selection.recommending import recommended
from metaindex.advisor.selection.texts import table_sql
from metaindex.advisor.workloads.asked import OfTable, TableNames, of_table
from metaindex.advisor.workloads.taking import from_query_log, workload
from metaindex.advisor.workloads.template import Workload
from metaindex.core import ArgumentError, MetaIndexError, dataclass
from metaindex.formats import At
from metaindex.index import Kind, Value, with_text
from metaindex.query import Handle, logged, logged_queries, paths_of, place_of
from metaindex.table import create

from .layout import catalog_name, clustering
from .weighing import asked_query, at_hand, check_workplace, unread

if TYPE_CHECKING:
    from metaindex.index import Progress

_MOST_NAMES = 5
_MOST = 1e18
"""Bytes, seconds or days that a question may say."""
_OF_LAYOUT = 0.25
"""Of what may be read, what is kept for advice on the layout."""


@dataclass(frozen=True, slots=True)
class RecommendQuestion:
    """The parameters of a recommendation. `queries`: None for the tables' own query logs; `tables`: paths by names in
    SQL; `days`: the time span of the workload, None if its own is known, or nobody knows; `copies`: may indexes keep
    rows of the table, for Spark to read in its place?"""

    queries: object = None
    candidates: Sequence[Kind | Sequence[Kind]] = ()
    budget_bytes: float | None = None
    budget_cpu: float | None = None
    days: float | None = None
    sample: float | None = None
    tables: Mapping[str, str | os.PathLike[str]] | None = None
    copies: bool = True
    progress: Progress | None = None

    def __post_init__(self) -> None:
        check_share(self.sample)
        for word, value in (("budget_bytes", self.budget_bytes), ("budget_cpu", self.budget_cpu), ("days", self.days)):
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if value is not None and not (number and 0 <= value <= _MOST):
                got = f"more than {_MOST:g}" if number and value > _MOST else repr(value)
                raise ArgumentError(
                    f"{word}= is a number from 0 on, or None; got {got}; give such as {word}=1e8, or leave it out"
                )
        if self.days == 0:
            raise ArgumentError("days= is the time that the workload is of; got 0; leave it out where nobody knows")


def recommend(handles: Sequence[Handle], *asked: Any) -> Recommendation:
    """Implement `Table.recommend`, whose arguments follow in the order of `RecommendQuestion`."""
    return recommendation(handles, RecommendQuestion(*asked))


def recommendation(handles: Sequence[Handle], question: RecommendQuestion) -> Recommendation:
    """Implement `Table.recommend`."""
    if question.candidates and len(handles) > 1:
        raise ArgumentError(
            f"candidates= are of one table; {len(handles)} are asked; leave it out, or ask the tables one by one"
        )
    given = tuple(named(question.candidates)) if question.candidates else ()
    for handle in handles:
        check_workplace(handle)
    several = None if question.queries is None else _workload(question.queries, handles)
    noted = [_Noted.of(handle) for handle in handles] if several is None else []
    workloads = [log.workload for log in noted] if several is None else [several] * len(handles)
    copies = [question.copies and (several is not None or noted[at].by_spark) for at in range(len(handles))]
    asked = []
    for handle, queries, rows_too in zip(handles, workloads, copies, strict=True):
        asked.append(_table(handle, queries, replace(question, copies=rows_too), given))
    days = question.days
    if days is None:
        days = max((queries.days for queries in workloads if queries.days is not None), default=None)
    budget = budget_of(question.budget_bytes, question.budget_cpu)
    indexes, tables = recommended([table for table, _ in asked], budget, days, question.progress)
    by_path = {handle.path: handle for handle in handles}
    distinct = [several] if several is not None else workloads
    return Recommendation(
        indexes=indexes,
        tables=tables,
        queries=sum(queries.seen for queries in distinct),
        templates=sum(len(queries) for queries in distinct),
        days=days,
        budget_bytes=question.budget_bytes,
        budget_cpu_seconds=question.budget_cpu,
        notes=tuple(_notes(question, distinct, handles)),
        creates=partial(_created_in, by_path),
    )


def _created_in(
    handles: Mapping[str, Handle], index: RecommendedIndex, builder: object, progress: object
) -> CreatedIndex:
    return _created(handles[index.table], index, builder, progress)


def _workload(queries: object, handles: Sequence[Handle]) -> Workload:
    if isinstance(queries, Workload):
        return queries
    return workload(queries, time_zone=handles[0].config.time_zone if handles else "UTC")


@dataclass(frozen=True, slots=True)
class _Noted:
    """A table's own query log. `by_spark`: has Spark asked some of it? Spark alone reads copies of rows."""

    workload: Workload
    by_spark: bool

    @classmethod
    def of(cls, handle: Handle) -> _Noted:
        rows = logged_queries(handle).rows
        return cls(from_query_log(rows), bool(pc.any(pc.equal(rows.column("engine"), "spark")).as_py()))


def _options(handle: Handle) -> tuple[tuple[str, Value], ...]:
    """Return the reader options with which the table is open, without a schema that has no text."""
    if not handle.table_format.reader_options:
        return ()
    return tuple(handle.read.in_text.items())


def _sql_name(handle: Handle, file_format: str) -> str:
    """The table as statements name it, so that its files are read as they are here."""
    name = table_sql(handle.table_format.called(file_format), handle.path, catalog_name(handle))
    options = _options(handle)
    if file_format == "csv" and not any(key.lower() == "header" for key, _ in options):
        options = (("header", True), *options)  # to Spark a header has to be said
    return f"{name} {with_text(options)}" if options else name


def _table(
    handle: Handle, queries: Workload, question: RecommendQuestion, given: Sequence[Any]
) -> tuple[TableAsked, OfTable]:
    snapshot = handle.snapshot(At())
    chosen = of_table(queries, _names(handle.path, question), [field.name for field in snapshot.schema.fields])
    opened, refused = handle.open_indexes(None)
    notes = tuple(f"index {report.name} is left out: {report.reason}" for report in refused)
    hand = at_hand(handle, Baseline(snapshot, tuple(opened)), notes)
    entries = handle.entries()
    large = snapshot.files.size_bytes > SMALL_BYTES or question.sample is not None
    share = 0.01 if question.sample is None else question.sample
    asked = Asked(
        tuple(asked_query(query, snapshot.schema, handle.config.time_zone) for query in chosen.queries),
        tuple(given),
        share * (1 - _OF_LAYOUT) if large else None,
        handle.config.time_zone,
        handle.path,
        question.copies,
    )
    file_format = str(snapshot.details.read_options().get("file_format", "parquet"))
    table = TableAsked(
        asked=asked,
        hand=hand,
        sql_name=_sql_name(handle, file_format),
        options=_options(handle),
        taken=frozenset(handle.indexes().names()),
        sizes={entry.name: sum(run.size_bytes for run in entry.content.runs) for entry in entries},
        helped=_helped(handle),
        layout=_layout(handle, share * _OF_LAYOUT if large else None),
        copies=question.copies,
    )
    return table, chosen


def _names(path: str, question: RecommendQuestion) -> TableNames:
    return TableNames(path, paths_of(question.tables))


def _helped(handle: Handle) -> Mapping[str, int] | None:
    """Count by index the queries of the query log that it helped; None if no query log can be read."""
    try:
        rows = logged(place_of(handle).storage(), 0).rows
    except MetaIndexError:
        return None
    if not rows.num_rows:
        return None
    counts = pc.value_counts(pc.list_flatten(rows.column("indexes")).combine_chunks())
    return {count["values"]: count["counts"] for count in counts.to_pylist() if count["values"] is not None}


def _layout(handle: Handle, sample: float | None) -> Callable[[Sequence[str]], tuple[tuple[Advice, ...], Sampled]]:
    def advised(columns: Sequence[str]) -> tuple[tuple[Advice, ...], Sampled]:
        try:
            layout = clustering(handle, columns, version=None, timestamp=None, sample=sample, indexes=None)
        except MetaIndexError as error:  # what no column can be laid out by is advised of nothing
            return (), Sampled(reason=str(error))
        return layout.advice[:1], layout.sampled

    return advised


def _notes(question: RecommendQuestion, workloads: Sequence[Workload], handles: Sequence[Handle]) -> Iterator[str]:
    """Yield notes on queries that have no part in the answer, and on why it may be empty."""
    for queries in workloads:
        yield from unread(queries)
    every = [queries for queries in workloads if queries.templates]
    if not every:
        yield (
            "the workload is empty: name queries, or have them noted by Config(query_log=True)"
            if question.queries is None
            else "the workload is empty: no query of it can be read"
        )
    names = [_names(handle.path, question) for handle in handles]
    others: dict[str, int] = {}
    for template in (template for queries in every for template in queries.templates):
        for read in template.tables:
            if not any(known.has(read.table) for known in names):
                others[read.table] = others.get(read.table, 0) + template.seen
    if others:
        shown = ", ".join(f"{name} ({seen:,})" for name, seen in list(others.items())[:_MOST_NAMES])
        more = f" and {len(others) - _MOST_NAMES:,} more" if len(others) > _MOST_NAMES else ""
        yield f"of other tables, with how many queries: {shown}{more}; tables= names a table by its path"
    for word, value in (("bytes", question.budget_bytes), ("processor time", question.budget_cpu)):
        if value == 0:
            yield f"nothing is recommended: the budget is 0 {word}"


def _created(handle: Handle, index: RecommendedIndex, builder: Any, progress: Any) -> CreatedIndex:
    """Create an index; any error becomes its problem."""
    try:
        made = create(
            handle,
            index.name,
            index.kinds,
            builder=builder,
            progress=progress,
            version=None,
            timestamp=None,
            history=False,
        )
    except MetaIndexError as error:
        return CreatedIndex(index.table, index.name, str(error))
    return CreatedIndex(index.table, index.name, notes=made.notes)
