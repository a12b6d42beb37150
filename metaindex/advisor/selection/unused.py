"""Indexes that there are and that a workload does not need: without any of them no query would read more."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from metaindex.advisor.hypothetical.baseline import Baseline
from metaindex.expressions import Predicate, columns
from metaindex.index import OpenIndex, served_keys

from .evaluation import TableEvaluation
from .pieces import UnusedIndex


def unused_of(
    case: TableEvaluation, sizes: Mapping[str, int], helped: Mapping[str, int] | None
) -> tuple[UnusedIndex, ...]:
    """Return the unused indexes, by the files that each query keeps, exactly; the largest index first, each without
    those before. One whose rows are read in the table's place is unused if no query asks, joins or groups by its first
    column. One that helped a query of the query log is in use."""
    standing = case.weighing.hand.standing
    trees = list(case.weighing.nows)
    asked = _asked(case)
    unused = []
    for index in sorted(standing.indexes, key=lambda index: (-sizes.get(index.name, 0), index.name)) if trees else ():
        if (helped and helped.get(index.name)) or not _firsts(index).isdisjoint(asked):
            continue
        without = Baseline(standing.snapshot, tuple(other for other in standing.indexes if other is not index))
        if all(_same(tree, standing, without) for tree in trees):
            standing = without
            told = None if helped is None else helped.get(index.name, 0)
            unused.append(UnusedIndex(index.name, sizes.get(index.name, 0), told))
    return tuple(unused)


def _firsts(index: OpenIndex) -> set[str]:
    """The first columns of what it has to be read in the table's place."""
    return {key.columns[0].name.lower() for run in index.entry.content.runs for key in served_keys(run)}


def _asked(case: TableEvaluation) -> set[str]:
    """Columns that queries restrict, join and group by."""
    queries = case.weighing.asked.queries
    keys = {name.lower() for query in queries for name in (*query.joined, *query.grouped, *query.ordered)}
    return keys | {ref.name.lower() for tree in case.weighing.nows for ref in columns(tree)}


def _same(tree: Predicate, standing: Baseline, without: Baseline) -> bool:
    return np.array_equal(standing.kept(standing.answer(tree)), without.kept(without.answer(tree)))
