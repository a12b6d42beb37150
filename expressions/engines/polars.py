"""Polars expressions, in and out. Polars orders NaN as the tree does; `is_nan` and `is_in` answer NULL elsewhere, which is spelt out here."""

from __future__ import annotations

import datetime as dt
import json
import math
import operator
from collections.abc import Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, assert_never

import pyarrow as pa

from expressions.errors import ExpressionError
from expressions.literals import Literal, LiteralValue
from expressions.tree import (
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
    fold,
)

from .casts import field_type, is_bytes
from .sql_values import NotReadable

if TYPE_CHECKING:
    import polars as pl


def to_polars(predicate: Predicate, schema: pa.Schema | None = None) -> pl.Expr:
    """An expression with the reference semantics, in all three values. Bind the predicate first; Opaque raises ExpressionError.

    Polars refuses `is_nan` on a column without NaN: with a `schema` it is written as the constant that it is.
    """
    import polars as pl

    def column(ref: ColumnRef) -> pl.Expr:
        found = pl.col(ref.parts[0])
        for part in ref.parts[1:]:
            found = found.struct.field(part)
        return found

    def value(literal: Literal) -> pl.Expr:
        # Polars rounds a bare number to the column's type; a double that is said to be one is compared as a double.
        return pl.lit(literal.value, dtype=pl.Float64 if isinstance(literal.value, float) else None)

    def is_nan(ref: ColumnRef) -> pl.Expr:
        known = None if schema is None else field_type(schema, ref)
        if known is not None and not pa.types.is_floating(known):
            return pl.lit(False)
        return column(ref).is_nan().fill_null(False)

    def leaf(node: Leaf) -> pl.Expr:
        match node:
            case Comparison(ref, op, literal):
                found: pl.Expr = _COMPARE[op](column(ref), value(literal))
                return found
            case In(ref, values):
                return _any(pl, [column(ref) == value(literal) for literal in values])
            case IsNull(ref):
                return column(ref).is_null()
            case IsNan(ref):
                return is_nan(ref)
            case StartsWith(ref, prefix):
                known = None if schema is None else field_type(schema, ref)
                if known is not None and is_bytes(known):
                    return column(ref).bin.starts_with(prefix.encode())
                return column(ref).str.starts_with(prefix)
            case Constant(truth):
                return pl.lit(truth, dtype=pl.Boolean)
            case Opaque(text):
                raise ExpressionError(
                    f"{text!r} was not understood and cannot be written for Polars; apply it in the engine it came from"
                )
            case _:
                assert_never(node)

    return fold(predicate, leaf, _inverted, lambda parts: _all(pl, parts), lambda parts: _any(pl, parts))


_COMPARE: Final[Mapping[Op, Any]] = {
    Op.EQ: operator.eq,
    Op.NE: operator.ne,
    Op.LT: operator.lt,
    Op.LE: operator.le,
    Op.GT: operator.gt,
    Op.GE: operator.ge,
    Op.NULL_SAFE_EQ: lambda column, value: column.eq_missing(value),
}


def _inverted(child: pl.Expr) -> pl.Expr:
    return ~child


def _all(pl: Any, parts: list[pl.Expr]) -> pl.Expr:
    """Halves, not a chain: Polars walks its trees by recursion."""
    if len(parts) < 2:
        return parts[0] if parts else pl.lit(True)
    return _all(pl, parts[: len(parts) // 2]) & _all(pl, parts[len(parts) // 2 :])


def _any(pl: Any, parts: list[pl.Expr]) -> pl.Expr:
    if len(parts) < 2:
        return parts[0] if parts else pl.lit(False)
    return _any(pl, parts[: len(parts) // 2]) | _any(pl, parts[len(parts) // 2 :])


def from_polars(expression: pl.Expr, schema: pa.Schema | None = None) -> Predicate:
    """The predicate that passes the rows that Polars' filter passes; what cannot be read (casts, functions, NaN literals) is Opaque."""
    text = " ".join(str(expression).split())
    columns = tuple(ColumnRef((name,)) for name in dict.fromkeys(expression.meta.root_names()))
    try:
        tree = json.loads(expression.meta.serialize(format="json"))
    except Exception:  # noqa: BLE001 - a Python function inside cannot be written as JSON, and Polars says so in many ways
        return Opaque(text, columns)
    return _predicate(tree, columns)


def _predicate(node: Any, columns: tuple[ColumnRef, ...]) -> Predicate:
    """The JSON form is not promised between versions of Polars: any shape that is not known exactly is Opaque."""
    try:
        return _read(node, columns)
    except (NotReadable, RecursionError):
        return Opaque(json.dumps(node)[:500], columns)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, pa.ArrowException):
        return Opaque(json.dumps(node)[:500], columns)


def _read(node: Any, columns: tuple[ColumnRef, ...]) -> Predicate:
    ((kind, body),) = node.items()
    match kind:
        case "BinaryExpr" if set(body) == {"left", "op", "right"}:
            return _binary(body["left"], body["op"], body["right"], columns)
        case "Function" if set(body) == {"input", "function"}:
            return _function(body["input"], body["function"], columns)
        case "Alias":
            return _predicate(body[0], columns)
        case "Literal":
            value = _value(node)
            if value is None or isinstance(value, bool):
                return Constant(value)
            raise NotReadable
        case "Column":
            return Comparison(_column(node), Op.EQ, Literal(True))
        case _:
            raise NotReadable


def _binary(left: Any, op: str, right: Any, columns: tuple[ColumnRef, ...]) -> Predicate:
    if op in {"And", "LogicalAnd", "Or", "LogicalOr"}:
        parts = (_predicate(left, columns), _predicate(right, columns))
        return And(parts) if op.endswith("And") else Or(parts)
    if op == "NotEqValidity":
        return Not(_binary(left, "EqValidity", right, columns))
    found = _OPS.get(op)
    if found is None:
        raise NotReadable
    if "Literal" in left:
        left, right, found = right, left, _MIRRORED.get(found, found)
    return Comparison(_column(left), found, Literal(_value(right)))


def _function(arguments: list[Any], function: Any, columns: tuple[ColumnRef, ...]) -> Predicate:
    match function, arguments:
        case {"Boolean": "Not"}, [child]:
            return Not(_predicate(child, columns))
        case {"Boolean": "IsNull"}, [child]:
            return IsNull(_column(child))
        case {"Boolean": "IsNotNull"}, [child]:
            return Not(IsNull(_column(child)))
        case {"Boolean": "IsNan"}, [child]:
            return Comparison(_column(child), Op.EQ, Literal(math.nan))
        case {"Boolean": "IsNotNan"}, [child]:
            return Comparison(_column(child), Op.NE, Literal(math.nan))
        case {"Boolean": {"IsBetween": {"closed": closed, **rest}}}, [child, low, high] if not rest:
            column = _column(child)
            above = {"Both": Op.GE, "Left": Op.GE, "Right": Op.GT, "None": Op.GT}[closed]
            below = {"Both": Op.LE, "Right": Op.LE, "Left": Op.LT, "None": Op.LT}[closed]
            bounds = Comparison(column, above, Literal(_value(low))), Comparison(column, below, Literal(_value(high)))
            return And(bounds)
        case {"Boolean": {"IsIn": {"nulls_equal": bool() as nulls_equal, **rest}}}, [child, values] if not rest:
            return _is_in(_column(child), _members(values), nulls_equal)
        case {"StringExpr": "StartsWith"}, [child, prefix]:
            text = _value(prefix)
            if isinstance(text, str):
                return StartsWith(_column(child), text)
    raise NotReadable


def _is_in(column: ColumnRef, members: list[LiteralValue], nulls_equal: bool) -> Predicate:
    """A miss is false, also with NULL in the list; NULL in the column is NULL, or, when nulls are equal, found or not."""
    found: Predicate = In(column, tuple(Literal(value) for value in members if value is not None))
    if not nulls_equal:
        # IN () is false for NULL too, where Polars says NULL.
        return And((found, Comparison(column, Op.EQ, Literal(None)))) if not members else found
    return Or((found, IsNull(column))) if None in members else And((found, Not(IsNull(column))))


def _column(node: Any) -> ColumnRef:
    match node:
        case {"Column": str() as name}:
            return ColumnRef((name,))
        case {"Function": {"input": [child], "function": {"StructExpr": {"FieldByName": str() as name}}}}:
            return ColumnRef((*_column(child).parts, name))
        case _:
            raise NotReadable


def _value(node: Any) -> LiteralValue:
    match node:
        case {"Literal": {"Dyn": {"Int": int() as value}}}:
            return value
        case {"Literal": {"Dyn": {"Float": float() as value}}}:
            return value  # NaN and the infinities are null here
        case {"Literal": {"Scalar": {"Null": "Null"}}}:
            return None
        case {"Literal": {"Scalar": scalar}}:
            ((kind, value),) = scalar.items()
            return _scalar(kind, value)
        case _:
            raise NotReadable


def _scalar(kind: str, value: Any) -> LiteralValue:
    match kind, value:
        case "Boolean", bool():
            return value
        case (("Int8" | "Int16" | "Int32" | "Int64" | "Int128" | "UInt8" | "UInt16" | "UInt32" | "UInt64"), int()):
            return value
        case (("Float32" | "Float64"), float()):
            return value
        case (("String" | "StringOwned"), str()):
            return value
        case (("Binary" | "BinaryOwned"), list()):
            return bytes(value)
        case "Date", int():
            return dt.date(1970, 1, 1) + dt.timedelta(days=value)
        case "Decimal", [int() as unscaled, int(), int() as scale]:
            return Decimal(unscaled).scaleb(-scale)
        case (("Datetime" | "DatetimeOwned"), [int() as ticks, str() as unit, zone]):
            ticks *= {"Milliseconds": 1000, "Microseconds": 1}[unit]
            moment = dt.datetime(1970, 1, 1, tzinfo=None if zone is None else dt.UTC)
            return moment + dt.timedelta(microseconds=ticks)
        case _:
            raise NotReadable


def _members(node: Any) -> list[LiteralValue]:
    """A list or a Series within an expression is an Arrow stream of one column."""
    match node:
        case {"Literal": {"Scalar": {"List": list() as octets}}} | {"Literal": {"Series": list() as octets}}:
            table = pa.ipc.open_stream(bytes(octets)).read_all()
        case _:
            raise NotReadable
    if table.num_columns != 1:
        raise NotReadable
    values = table.column(0).to_pylist()
    if pa.types.is_list(table.schema.types[0]) or pa.types.is_large_list(table.schema.types[0]):
        (values,) = values  # a Series of one list
    return [_plain(value) for value in values]


def _plain(value: Any) -> LiteralValue:
    if isinstance(value, dt.datetime):
        if type(value) is not dt.datetime:
            raise NotReadable
        return value if value.tzinfo is None else value.astimezone(dt.UTC)
    if value is None or isinstance(value, bool | int | float | Decimal | str | bytes | dt.date):
        return value
    raise NotReadable


_OPS: Final = {
    "Eq": Op.EQ,
    "NotEq": Op.NE,
    "Lt": Op.LT,
    "LtEq": Op.LE,
    "Gt": Op.GT,
    "GtEq": Op.GE,
    "EqValidity": Op.NULL_SAFE_EQ,
}
_MIRRORED: Final = {Op.LT: Op.GT, Op.LE: Op.GE, Op.GT: Op.LT, Op.GE: Op.LE}
