"""Rewrites IS NULL of a condition as a condition on its columns, so that files can be skipped. `(a > 5) IS NULL` is
`a IS NULL`, and the rest follows from SQL's three values.

    (p AND q) IS NULL     no part is FALSE, some part is NULL
    (p OR q) IS NULL      no part is TRUE, some part is NULL
    (NOT p) IS NULL       p IS NULL
    (p IS NULL) IS NULL   never; nor are <=> and isnan

A comparison is NULL exactly where its column is, while nothing is cast that a cast could make NULL: `s > 5` of a text
is NULL for 'x' where Spark is not in ANSI mode. Which comparisons those are, the reader of each language knows. The
rest is Opaque, in its own place: what stands beside it still proves.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Final, assert_never

import pyarrow as pa

from metaindex.expressions.coercion import coerce
from metaindex.expressions.literals import Literal, NotReadable
from metaindex.expressions.physical import Family, physical_type
from metaindex.expressions.scalars.nodes import FunctionCall
from metaindex.expressions.scalars.types import BOOLEAN
from metaindex.expressions.tree import (
    And,
    ColumnRef,
    Comparison,
    Constant,
    In,
    IsNan,
    IsNull,
    Leaf,
    Not,
    Op,
    Opaque,
    Or,
    Predicate,
    StartsWith,
)

Pairs = Mapping[Opaque, tuple[ColumnRef, ColumnRef]]
"""Comparisons of two columns, which the tree has no node for, and their columns."""

_MOST_LEAVES: Final = 1000  # what stands in k groups is written 2^k times
_NEVER: Final = Constant(False)
_DECIMAL_DIGITS: Final = 38


def null_of(p: Predicate, pairs: Pairs, plain: Callable[[ColumnRef, Literal], bool]) -> Predicate:
    """`p IS NULL`. `plain(column, value)`: does comparing the two give NULL only where the column is NULL? NotReadable
    where it would be too long."""

    def leaf(node: Leaf) -> _Known:
        return _Known(node, _leaf(node, pairs, plain), 1)

    return p.fold(leaf, _Known.negated, lambda parts: _joined(parts, And), lambda parts: _joined(parts, Or)).null


def coalesced(said: Predicate, null: Predicate, otherwise: Predicate) -> Predicate:
    """`coalesce(said, TRUE)` or `coalesce(said, FALSE)`, where `null` is where it is NULL."""
    match otherwise:
        case Constant(True):
            return Or((said, null))
        case Constant(False):
            return And((said, Not(null)))
        case _:
            raise NotReadable


class _Known:
    """A condition and where it is NULL; `leaves` of both, about."""

    __slots__ = ("leaves", "null", "said")

    def __init__(self, said: Predicate, null: Predicate, leaves: int) -> None:
        self.said, self.null, self.leaves = said, null, leaves
        if leaves > _MOST_LEAVES:
            raise NotReadable

    def negated(self) -> _Known:
        return _Known(Not(self.said), self.null, self.leaves)


def _joined(parts: list[_Known], join: type[And | Or]) -> _Known:
    said, leaves = join(tuple(part.said for part in parts)), sum(part.leaves for part in parts)
    nulls = tuple(part.null for part in parts if part.null != _NEVER)
    if not nulls:
        return _Known(said, _NEVER, leaves)
    not_ruling = [Or((part.said if join is And else Not(part.said), part.null)) for part in parts]
    return _Known(said, And((*not_ruling, Or(nulls))), 3 * leaves)


def _leaf(leaf: Leaf, pairs: Pairs, plain: Callable[[ColumnRef, Literal], bool]) -> Predicate:
    match leaf:
        case Constant():
            return Constant(leaf.value is None)
        case IsNull() | IsNan() | Comparison(op=Op.NULL_SAFE_EQ):
            return Constant(False)
        case Comparison():
            if leaf.value.is_null:
                return Constant(True)
            return IsNull(leaf.column) if plain(leaf.column, leaf.value) else _unknown(leaf.column)
        case In():
            values = tuple(value for value in leaf.values if not value.is_null)
            if not all(plain(leaf.column, value) for value in values):
                return _unknown(leaf.column)
            if len(values) == len(leaf.values):
                return IsNull(leaf.column) if values else Constant(False)
            return Or((IsNull(leaf.column), Not(In(leaf.column, values)))) if values else Constant(True)
        case StartsWith():
            return IsNull(leaf.column) if plain(leaf.column, Literal(leaf.prefix)) else _unknown(leaf.column)
        case Opaque():
            if leaf in pairs:
                return Or(tuple(IsNull(column) for column in pairs[leaf]))
            null = None if leaf.scalar is None else FunctionCall("is null", (leaf.scalar,), BOOLEAN)
            return Opaque(f"({leaf.text}) IS NULL", leaf.columns, null, leaf.why)
        case _:
            assert_never(leaf)


def _unknown(column: ColumnRef) -> Opaque:
    return Opaque(f"a comparison of {column} IS NULL", (column,))


def is_plain(value: Literal, known: pa.DataType | None, timezone: str) -> bool:
    """Return whether Spark, in any mode, compares a column of this type with the value without a cast that can give
    NULL."""
    if known is None or not isinstance(coerce(value, known, timezone), Literal):
        return False
    is_ = pa.types
    match value.value:
        case bool():
            return bool(is_.is_boolean(known))
        case int() | Decimal() if is_.is_integer(known) or is_.is_decimal(known):
            return _fits_in_all(Decimal(value.value), known)
        case int() | Decimal():
            return bool(is_.is_floating(known))
        case float():
            return bool(is_.is_integer(known) or is_.is_floating(known) or is_.is_decimal(known))
        case str():
            texts = Family.of(known) in (Family.TEXT, Family.DATE, Family.TIMESTAMP)
            return texts or isinstance(known, pa.UuidType)
        case bytes():
            return Family.of(known) is Family.BYTES
        case dt.datetime():
            return bool(is_.is_timestamp(known))
        case dt.date():
            return bool(is_.is_date(known) or is_.is_timestamp(known))
        case dt.time():
            return bool(is_.is_time(known))
        case _:
            return False


def are_plain(first: pa.DataType | None, other: pa.DataType | None) -> bool:
    """Like `is_plain`, for a comparison of two columns."""
    if first is None or other is None or (physical_type(first) is None and not isinstance(first, pa.UuidType)):
        return False
    if all(pa.types.is_integer(t) or pa.types.is_floating(t) for t in (first, other)):
        return True
    return bool(first == other)


def _fits_in_all(value: Decimal, known: pa.DataType) -> bool:
    """Return whether Spark's common type keeps all digits of the column. With 38 digits it may not."""
    _sign, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        return False
    scale = max(0, -exponent, known.scale if pa.types.is_decimal(known) else 0)
    whole = max(len(digits) + exponent, known.precision - known.scale if pa.types.is_decimal(known) else 20)
    return whole + scale <= _DECIMAL_DIGITS
