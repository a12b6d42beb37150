"""The meaning of a predicate: its answer for one row, in SQL's three values and Spark's order. What the package says of
files, and writes for engines, is measured against it.

    expression          row                answer
    x < 5               x NULL             NULL
    x = NaN             x NaN              TRUE   (NaN equals NaN)
    x > 5               x NaN              TRUE   (NaN is greater than every number)
    x = 0.0             x -0.0             TRUE
    x <=> NULL          x NULL             TRUE
    isnan(x)            x NULL             FALSE
    x IN (1, NULL)      x 2                NULL
    x IN ()             x NULL             FALSE
    NULL AND FALSE                         FALSE
    NULL OR TRUE                           TRUE

Text compares by UTF-8 bytes. Literals are compared as they are: `bind` first, so that they are what the column's type
makes of them.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import assert_never
from uuid import UUID

from metaindex.core import ExpressionError, LiteralTypeError, UnknownColumnError
from metaindex.expressions import (
    ColumnRef,
    Comparison,
    Constant,
    In,
    IsNan,
    IsNull,
    Leaf,
    Literal,
    Op,
    Opaque,
    Predicate,
    StartsWith,
)

Row = Mapping[str, object]


def matches(p: Predicate, row: Row) -> bool | None:
    """TRUE, FALSE or NULL (None) for the row, a mapping from names to Python values, structs as mappings; a filter
    keeps rows that answer TRUE."""
    return p.fold(lambda leaf: _leaf(leaf, row), _not, _and, _or)


def _not(answer: bool | None) -> bool | None:
    return None if answer is None else not answer


def _and(answers: Sequence[bool | None]) -> bool | None:
    if False in answers:
        return False
    return None if None in answers else True


def _or(answers: Sequence[bool | None]) -> bool | None:
    if True in answers:
        return True
    return None if None in answers else False


def _leaf(leaf: Leaf, row: Row) -> bool | None:
    match leaf:
        case Constant():
            return leaf.value
        case Opaque():
            raise ExpressionError(
                f"only an engine can answer what was not understood: {leaf.text}; read all files and filter there"
            )
        case Comparison():
            return _compare(_value(row, leaf.column), leaf.op, leaf.value)
        case In():
            return _in(_value(row, leaf.column), leaf.values)
        case IsNull():
            return _value(row, leaf.column) is None
        case IsNan():
            value = _value(row, leaf.column)
            return isinstance(value, float) and math.isnan(value)
        case StartsWith():
            value = _value(row, leaf.column)
            return None if value is None else _encoded(value).startswith(_encoded(leaf.prefix))
        case _:
            assert_never(leaf)


def _compare(value: object, op: Op, lit: Literal) -> bool | None:
    if op is Op.NULL_SAFE_EQ:
        if value is None or lit.is_null:
            return value is None and lit.is_null
        return compare_values(value, lit.value) == 0
    if value is None or lit.is_null:
        return None
    return op.holds(compare_values(value, lit.value), 0)


def _in(value: object, values: Sequence[Literal]) -> bool | None:
    if not values:
        return False
    if value is None:
        return None
    return _or([None if lit.is_null else compare_values(value, lit.value) == 0 for lit in values])


def _value(row: Row, column: ColumnRef) -> object:
    value: object = row
    for part in column.parts:
        if value is None:
            return None
        if not isinstance(value, Mapping) or part not in value:
            raise UnknownColumnError(
                f"a row holds every column of its predicate; got no {column}; bind to the row's schema first"
            )
        value = value[part]
    return value


def _encoded(value: object) -> bytes:
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    if isinstance(value, bytes):
        return value
    raise ExpressionError(f"only text and binary have prefixes; got {type(value).__name__}; bind the predicate first")


def compare_values(left: object, right: object) -> int:
    """-1, 0 or 1 in Spark's order; neither side is None. Numbers of different kinds compare by exact value; kinds that
    have no common order are refused."""
    match left, right:
        case bool(), bool():
            return _sign(int(left), int(right))
        case (bool(), _) | (_, bool()):
            pass
        case ((int() | float() | Decimal()), (int() | float() | Decimal())):
            return _compare_numbers(left, right)
        case ((str() | bytes()), (str() | bytes())):
            return _sign(_bytes(left), _bytes(right))
        case (UUID(), UUID() | bytes()) | (bytes(), UUID()):
            return _sign(_bytes(left), _bytes(right))  # columns of UUIDs hold their 16 bytes
        case dt.datetime(), dt.datetime():
            if (left.utcoffset() is None) == (right.utcoffset() is None):
                return _sign(left, right)
        case dt.datetime(), dt.date():
            if left.utcoffset() is None:
                return _sign(left, dt.datetime(right.year, right.month, right.day))
        case dt.date(), dt.datetime():
            return -compare_values(right, left)
        case dt.date(), dt.date():
            return _sign(left, right)
        case dt.time(), dt.time():
            return _sign(left, right)
        case _:
            pass
    raise LiteralTypeError(
        f"only values of one kind compare; got {_kind_name(left)} and {_kind_name(right)}; bind the predicate to the"
        " schema first"
    )


def _kind_name(value: object) -> str:
    if isinstance(value, dt.datetime):
        return f"datetime {'without' if value.utcoffset() is None else 'with'} zone"
    return type(value).__name__


def _compare_numbers(left: int | float | Decimal, right: int | float | Decimal) -> int:
    left_nan, right_nan = left != left, right != right
    if left_nan or right_nan:
        return int(left_nan) - int(right_nan)
    return _sign(left, right)


def _sign(left: object, right: object) -> int:
    return int(left > right) - int(left < right)  # type: ignore[operator]


def _bytes(value: object) -> bytes:
    if isinstance(value, UUID):
        return value.bytes
    assert isinstance(value, str | bytes)
    # surrogatepass: a lone surrogate has no UTF-8, yet an order is wanted for every str
    return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value
