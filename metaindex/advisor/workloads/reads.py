"""Reads of a query: of a text, a condition, or the plan that Spark makes of a DataFrame."""

from __future__ import annotations

from collections.abc import Sequence

from metaindex.core import dataclass
from metaindex.expressions import Predicate, StatementReads, TableRead, normalize


def reads_of(text: str, time_zone: str = "UTC") -> StatementReads:
    """Return what a text reads, a condition or a statement. Raises ExpressionError if it cannot be parsed."""
    from metaindex.expressions import is_statement, statement_reads

    return statement_reads(text, timezone=time_zone) if is_statement(text) else bare(condition(text, time_zone))


def condition(query: object, time_zone: str = "UTC") -> Predicate:
    """Parse a condition, in any words that `prune` takes. Raises MetaIndexError if it cannot be read."""
    from metaindex.expressions import to_predicate

    return to_predicate(query, time_zone=time_zone)


def bare(predicate: Predicate) -> StatementReads:
    """A condition of the table that is asked."""
    return StatementReads((TableRead("", normalize(predicate), tuple(ref.name for ref in predicate.columns)),))


@dataclass(frozen=True, slots=True)
class PlanReads:
    """`untold`: why something of it is not known."""

    reads: StatementReads
    untold: tuple[str, ...] = ()

    @classmethod
    def merged(cls, plans: Sequence[PlanReads]) -> PlanReads:
        """Merge the plans of one query, each read once."""
        tables = dict.fromkeys(read for plan in plans for read in plan.reads.tables)
        joins = dict.fromkeys(join for plan in plans for join in plan.reads.joins)
        limit = next((plan.reads.limit for plan in plans if plan.reads.limit is not None), None)
        untold = dict.fromkeys(reason for plan in plans for reason in plan.untold)
        return cls(StatementReads(tuple(tables), tuple(joins), limit), tuple(untold))


def is_frame(query: object) -> bool:
    """Return whether a query is a DataFrame of Spark's."""
    kind = type(query)
    return kind.__name__ == "DataFrame" and kind.__module__.startswith("pyspark.sql")
