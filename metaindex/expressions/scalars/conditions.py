"""A boolean expression as a predicate: what can be said of columns becomes nodes, by which files are proved out; the
rest is Opaque, to be applied to rows, with what must hold of columns beside it.

    exact             the predicate alone
    necessary         AND (what must hold, Opaque): TRUE only where both are, and NULL where the expression is, as what
                      must hold is NULL only there
"""

from __future__ import annotations

from itertools import takewhile
from typing import Final

from metaindex.expressions.engines.sql_values import pattern_parts
from metaindex.expressions.literals import Literal
from metaindex.expressions.tree import And, ColumnRef, Comparison, Constant, Not, Op, Opaque, Or, Predicate, StartsWith

from .cases import beginnings
from .nodes import ColumnValue, Fixed, FunctionCall, Scalar
from .preimages import Solved, is_null, solved
from .types import STRING

_OPS: Final = {op.value: op for op in Op}
_MOST_VALUES: Final = 200  # of a list whose values become ranges


def condition_of_scalar(scalar: Scalar, text: str, columns: tuple[ColumnRef, ...]) -> Predicate:
    """`text`: as people read it."""
    opaque = Opaque(text, columns, scalar)
    match scalar:
        case Fixed():
            return Constant(None if scalar.value.is_null else bool(scalar.value.value))
        case ColumnValue():
            return Comparison(scalar.column, Op.EQ, Literal(True))
        case FunctionCall("not", (inner,)):
            return Not(condition_of_scalar(inner, text, columns))
        case FunctionCall("and", parts):
            return And(tuple(condition_of_scalar(part, text, columns) for part in parts))
        case FunctionCall("or", parts):
            return Or(tuple(condition_of_scalar(part, text, columns) for part in parts))
        case FunctionCall("is null", (inner,)):
            null = is_null(inner)
            return opaque if null is None else null
        case FunctionCall("in", (asked, *values)):
            return _joined(_among(asked, values), opaque)
        case FunctionCall("startswith", (ColumnValue() as asked, Fixed(value))) if isinstance(value.value, str):
            return StartsWith(asked.column, value.value)
        case FunctionCall("like", (ColumnValue() as asked, Fixed(pattern), Fixed(escape))):
            return _begins((_beginning(str(pattern.value), str(escape.value)),), asked, opaque)
        case FunctionCall(
            "like", (FunctionCall("lower" | "upper" as case, (ColumnValue() as asked,)), Fixed(pattern), Fixed(escape))
        ):
            beginning = _beginning(str(pattern.value), str(escape.value))
            return _begins(beginnings(beginning, upper=case == "upper"), asked, opaque)
        case FunctionCall(name, (left, right)) if name in _OPS:
            return _joined(_compared(_OPS[name], left, right), opaque)
        case _:
            return opaque


def _joined(known: Solved | None, opaque: Opaque) -> Predicate:
    if known is None:
        return opaque
    return known.predicate if known.exact else And((known.predicate, opaque))


def _compared(op: Op, left: Scalar, right: Scalar) -> Solved | None:
    if isinstance(right, Fixed):
        return solved(op, left, right)
    return solved(op.mirrored, right, left) if isinstance(left, Fixed) else None


def _among(asked: Scalar, values: list[Scalar]) -> Solved | None:
    if len(values) > _MOST_VALUES:
        return None
    parts: list[Predicate] = []
    exact = True
    for value in values:
        if not isinstance(value, Fixed):
            return None
        if value.value.is_null:
            parts.append(Constant(None))
            continue
        equal = solved(Op.EQ, asked, value)
        if equal is None:
            return None
        parts.append(equal.predicate)
        exact = exact and equal.exact
    return Solved(Or(tuple(parts)), exact)


def _beginning(pattern: str, escape: str) -> str:
    """Return the pattern's text before the first wildcard."""
    return "".join(text for text, _ in takewhile(lambda part: not part[1], pattern_parts(pattern, escape)))


def _begins(texts: tuple[str, ...], asked: ColumnValue, opaque: Opaque) -> Predicate:
    """Add the prefix conditions that a match of the pattern implies."""
    if asked.type != STRING or not all(texts) or not texts:
        return opaque
    starts = tuple(StartsWith(asked.column, text) for text in texts)
    return And((starts[0] if len(starts) == 1 else Or(starts), opaque))
