"""Recommendations for tables by their paths, or as they are open, or for a whole lake."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

import pyarrow.compute as pc

from metaindex.advisor.clustering.sample import ReadLimit, check_share
from metaindex.advisor.hypothetical.candidates import named
from metaindex.advisor.hypothetical.what_if import Weighing, check_workplace, unread
from metaindex.advisor.workloads.table_queries import TableNames
from metaindex.advisor.workloads.taking import from_query_log, workload
from metaindex.advisor.workloads.template import Workload
from metaindex.core import ArgumentError, Cure, MetaIndexError, Progress, dataclass, watched
from metaindex.formats import At
from metaindex.index import Kind
from metaindex.query import Handle, TableQueryLog
from metaindex.table import Table, handle_of, open_table, tables_below

from .answer import CreatedIndex, Recommendation, RecommendedIndex, budget_of
from .recommending import OF_INDEXES, recommended

_MOST_NAMES = 5
_MOST = 1e18
"""Bytes, seconds or days that a question may say."""


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
            days = Cure("argument", "days")
            raise ArgumentError(f"{days} is the time that the workload is of; got 0; leave it out where nobody knows")


def recommend_for(handles: Sequence[Handle], *arguments: Any, **named_arguments: Any) -> Recommendation:
    """Implement `Table.recommend`, whose arguments are those of `RecommendQuestion`."""
    question = RecommendQuestion(*arguments, **named_arguments)
    if question.candidates and len(handles) > 1:
        raise ArgumentError(
            f"candidates= are of one table; {len(handles)} are asked; leave it out, or ask the tables one by one"
        )
    handles = [handle.as_indexed() for handle in handles]
    given = tuple(named(question.candidates)) if question.candidates else ()
    for handle in handles:
        check_workplace(handle)
    several = None if question.queries is None else _workload(question.queries, handles)
    noted = [_Noted.of(handle) for handle in handles] if several is None else []
    workloads = [log.workload for log in noted] if several is None else [several] * len(handles)
    copies = [question.copies and (several is not None or noted[at].by_spark) for at in range(len(handles))]
    asked = [
        _table(handle, queries, question, given, rows_too)
        for handle, queries, rows_too in zip(handles, workloads, copies, strict=True)
    ]
    days = question.days
    if days is None:
        days = max((queries.days for queries in workloads if queries.days is not None), default=None)
    budget = budget_of(question.budget_bytes, question.budget_cpu)
    indexes, tables = recommended(asked, question.sample, budget, days, question.progress)
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
        creates=partial(_created, {handle.path: handle for handle in handles}),
    )


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
        rows = handle.made(TableQueryLog).read().rows
        return cls(from_query_log(rows), bool(pc.any(pc.equal(rows.column("engine"), "spark")).as_py()))


def _table(
    handle: Handle, queries: Workload, question: RecommendQuestion, given: Sequence[Any], copies: bool
) -> Weighing:
    snapshot = handle.snapshot(At())
    allowed = ReadLimit(question.sample, OF_INDEXES)
    return Weighing.of(handle, snapshot, queries, tuple(given), allowed, tables=question.tables, copies=copies)


def _notes(question: RecommendQuestion, workloads: Sequence[Workload], handles: Sequence[Handle]) -> Iterator[str]:
    """Yield notes on queries that have no part in the answer, and on why it may be empty."""
    for queries in workloads:
        yield from unread(queries)
    every = [queries for queries in workloads if queries.templates]
    if not every:
        yield (
            f"the workload is empty: {Cure('queries')}, or have them noted by"
            f" {Cure('setting', 'Config(query_log=True)')}"
            if question.queries is None
            else "the workload is empty: no query of it can be read"
        )
    paths = TableNames.paths_of(question.tables)
    names = [TableNames(handle.path, paths) for handle in handles]
    others: dict[str, int] = {}
    for template in (template for queries in every for template in queries.templates):
        for read in template.tables:
            if not any(known.has(read.table) for known in names):
                others[read.table] = others.get(read.table, 0) + template.seen
    if others:
        shown = ", ".join(f"{name} ({seen:,})" for name, seen in list(others.items())[:_MOST_NAMES])
        more = f" and {len(others) - _MOST_NAMES:,} more" if len(others) > _MOST_NAMES else ""
        yield f"of other tables, with how many queries: {shown}{more}; {Cure('naming')}"
    for word, value in (("bytes", question.budget_bytes), ("processor time", question.budget_cpu)):
        if value == 0:
            yield f"nothing is recommended: the budget is 0 {word}"


def _created(handles: Mapping[str, Handle], index: RecommendedIndex, builder: Any, progress: Any) -> CreatedIndex:
    """Create an index; any error becomes its problem."""
    try:
        made = Table(handles[index.table]).create_index(index.name, *index.kinds, builder=builder, progress=progress)
    except MetaIndexError as error:
        return CreatedIndex(index.table, index.name, str(error))
    return CreatedIndex(index.table, index.name, notes=made.notes)


_PATTERN: Final = frozenset("*?[{")


@watched
def recommend(
    queries: object,
    *places: Table | str | os.PathLike[str],
    candidates: Sequence[Kind | Sequence[Kind]] = (),
    budget_bytes: float | None = None,
    budget_cpu: float | None = None,
    days: float | None = None,
    sample: float | None = None,
    copies: bool = True,
    tables: Mapping[str, str | os.PathLike[str]] | None = None,
    progress: Progress | None = None,
) -> Recommendation:
    """Recommend indexes for a workload: `mi.recommend("log.sql", "lake/flights", budget_bytes=1e8)`.

    `queries`: as `Table.recommend` takes them. `places`: tables as `open_table` gives them, or paths of tables, or of
    folders with tables below them, of which those are taken that the workload names; without any, those of `tables`.
    All tables share the budget. The rest is that of `Table.recommend`, and so is what is raised.
    """
    if queries is not None and not isinstance(queries, Workload):
        queries = workload(queries)
    mapped = TableNames.paths_of(tables)
    wanted = places or tuple(dict.fromkeys(mapped.values()))
    if not wanted:
        raise ArgumentError(
            "recommend looks at tables; none was given; name them by path, as in recommend('log.sql', 'lake/flights'),"
            " or a folder that holds them"
        )
    opened = [table for place in wanted for table in _opened(place, queries, mapped)]
    handles = [handle_of(table) for table in opened]
    how = candidates, budget_bytes, budget_cpu, days, sample, tables, copies, progress
    return recommend_for(handles, queries, *how)


def _opened(place: Table | str | os.PathLike[str], queries: object, mapped: Mapping[str, str]) -> list[Table]:
    if isinstance(place, Table):
        return [place]
    paths = named_below(place, queries, mapped) if isinstance(place, str | os.PathLike) else [place]
    return [open_table(path) for path in paths]


def named_below(
    place: str | os.PathLike[str],
    queries: object,
    mapped: Mapping[str, str],
    storage_options: Mapping[str, str] | None = None,
) -> list[str]:
    """Return the path if it is a table, or no table lies below it; else the tables below it that a workload names."""
    path = os.fspath(place)
    below = list(tables_below(path, storage_options)) if path and not _PATTERN.intersection(path) else []
    if below in ([], [""]):
        return [path]
    paths = [f"{path.rstrip('/')}/{folder}" for folder in below]
    return [table for table in paths if TableNames(table, mapped).are_in(queries)]
