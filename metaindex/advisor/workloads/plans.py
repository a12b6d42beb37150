"""Spark's view of queries: DataFrames and texts in a live session, or plans in its event logs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from metaindex.core import dataclass
from metaindex.expressions import StatementReads

if TYPE_CHECKING:
    pass


@dataclass(frozen=True, slots=True)
class PlanReads:
    """`untold`: why something of it is not known."""

    reads: StatementReads
    untold: tuple[str, ...] = ()


def together(plans: Sequence[PlanReads]) -> PlanReads:
    """Merge the plans of one query, each read once."""
    tables = dict.fromkeys(read for plan in plans for read in plan.reads.tables)
    joins = dict.fromkeys(join for plan in plans for join in plan.reads.joins)
    limit = next((plan.reads.limit for plan in plans if plan.reads.limit is not None), None)
    untold = dict.fromkeys(reason for plan in plans for reason in plan.untold)
    return PlanReads(StatementReads(tuple(tables), tuple(joins), limit), tuple(untold))


def is_frame(query: object) -> bool:
    """Return whether a query is a DataFrame of Spark's."""
    kind = type(query)
    return kind.__name__ == "DataFrame" and kind.__module__.startswith("pyspark.sql")
