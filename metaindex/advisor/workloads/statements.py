"""Reads of a single text, a condition or a statement."""

from __future__ import annotations

from metaindex.expressions import Predicate, StatementReads, TableRead, columns, normalize


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
    return StatementReads((TableRead("", normalize(predicate), tuple(ref.name for ref in columns(predicate))),))
