"""Parts of a predicate, for people."""

from __future__ import annotations

from metaindex.expressions import In, Opaque

_SHOWN = 1_000
"""Values of an IN that are written out."""


def describe(part: object) -> str:
    """SQL text where the predicate has one, else its own form."""
    from metaindex.core import ExpressionError
    from metaindex.expressions import to_sql

    if isinstance(part, Opaque):
        return part.text
    if isinstance(part, In) and len(part.values) > _SHOWN:
        shown = describe(In(part.column, part.values[:3]))
        return f"{shown} and {len(part.values) - 3:,} more values"
    try:
        return to_sql(part)  # type: ignore[arg-type]
    except ExpressionError:
        return str(part)
