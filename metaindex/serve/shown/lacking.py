"""Conditions on columns that a file lacks.

A file lacks a column that was added later, and a partition column, whose value is NULL where a task says none.
pyiceberg takes `x != 5`, and what stands under NOT, for true of such a file, but for false of NULL in any other.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from metaindex.expressions import ColumnRef, Constant, Predicate, normalize
from metaindex.serve.filters import LACKING_MATCHES, Filter, Term

_NULL_MATCHES = frozenset({"is-null", "not-in"})


def may_match_lacking(asked: Filter, lacked: Collection[ColumnRef]) -> bool | None:
    """Return whether rows of a file without these columns may match; None where pyiceberg may find others, too."""
    terms = {leaf: term for leaf, term in asked.terms.items() if term.column in lacked and not term.transform}

    def left(holds: Callable[[Term], bool]) -> Predicate:
        """Return what is left of the filter where these terms are constants."""
        return normalize(asked.tree.transform(lambda leaf: Constant(holds(terms[leaf])) if leaf in terms else leaf))

    meant = left(lambda term: term.op in _NULL_MATCHES)
    if meant == Constant(False):
        return False
    doubtful = bool(lacked) and any(turned or op in LACKING_MATCHES - _NULL_MATCHES for op, turned in asked.unread)
    return None if doubtful or meant != left(lambda term: term.op == "is-null" or term.finds_lacking) else True
