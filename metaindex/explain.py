"""A pruning answer explained to a person."""

from __future__ import annotations

from expressions.references import conjuncts, leaves
from expressions.tree import Opaque

from .pruning.result import PruneResult


def explain_result(result: PruneResult) -> str:
    """The predicate as understood, conjunct by conjunct, then what each index did."""
    lines = ["Predicate, as understood:"]
    for part in conjuncts(result.predicate):
        opaque = any(isinstance(leaf, Opaque) for leaf in leaves(part))
        lines.append(f"  {describe(part)}" + ("   (keeps every file: not understood)" if opaque else ""))
    lines.append("")
    lines.append(str(result))
    return "\n".join(lines)


def describe(part: object) -> str:
    """SQL text where the predicate has one, else its own form."""
    from expressions.engines.sql import to_sql
    from expressions.errors import ExpressionError

    if isinstance(part, Opaque):
        return part.text
    try:
        return to_sql(part)  # type: ignore[arg-type]
    except ExpressionError:
        return str(part)
