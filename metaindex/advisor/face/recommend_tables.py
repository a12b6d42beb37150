"""Recommendations for tables by their paths, or as they are open, or for a whole lake."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from metaindex.advisor.workloads.asked import TableNames
from metaindex.advisor.workloads.taking import workload
from metaindex.advisor.workloads.template import Workload
from metaindex.core import ArgumentError, watched
from metaindex.index import Kind
from metaindex.query import paths_of
from metaindex.table import Table, handle_of, open_table, tables_below

from .recommending import RecommendQuestion, recommendation

if TYPE_CHECKING:
    from metaindex.advisor.selection.answer import Recommendation
    from metaindex.index import Progress

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
    mapped = paths_of(tables)
    wanted = places or tuple(dict.fromkeys(mapped.values()))
    if not wanted:
        raise ArgumentError(
            "recommend looks at tables; none was given; name them by path, as in recommend('log.sql', 'lake/flights'),"
            " or a folder that holds them"
        )
    opened = [table for place in wanted for table in _opened(place, queries, mapped)]
    question = RecommendQuestion(queries, candidates, budget_bytes, budget_cpu, days, sample, tables, copies, progress)
    return recommendation([handle_of(table) for table in opened], question)


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
    return [table for table in paths if is_named(table, queries, mapped)]


def is_named(path: str, queries: object, mapped: Mapping[str, str]) -> bool:
    if not isinstance(queries, Workload):
        return True
    names = TableNames(path, mapped)
    return any(names.has(read.table) for template in queries.templates for read in template.tables)
