"""Polars expressions as predicates: read exactly, or Opaque. The other direction is `polars`.

Polars brings a bare literal to the column's type before it compares (`== 0.1` on Float32 finds the float nearest to
0.1; a moment is cut to the column's unit), so the `schema` decides what such a literal is. Without one, a number that
Float32 would change is Opaque.
"""

from __future__ import annotations

import datetime as dt
import json
import math
from decimal import Context, Decimal
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from metaindex.core import LiteralTypeError
from metaindex.expressions.literals import Literal, LiteralValue, NotReadable
from metaindex.expressions.tree import (
    And,
    ColumnRef,
    Comparison,
    Constant,
    In,
    IsNull,
    Not,
    Op,
    Opaque,
    Or,
    Predicate,
    StartsWith,
)

from .casts import keeps_values
from .nullness import are_plain, coalesced, is_plain, null_of

if TYPE_CHECKING:
    import polars as pl


def from_polars(expression: pl.Expr, schema: pa.Schema | None = None) -> Predicate:
    """The predicate that passes the rows that Polars' filter passes; what cannot be read (most casts, functions, NaN
    literals) is Opaque."""
    text = " ".join(str(expression).split())
    columns = tuple(ColumnRef((name,)) for name in dict.fromkeys(expression.meta.root_names()))
    try:
        tree = json.loads(expression.meta.serialize(format="json"))
    except Exception:  # noqa: BLE001 - a Python function inside cannot be written as JSON, and Polars says so in many ways
        return Opaque(text, columns)
    return _PolarsReader(schema, columns).predicate(tree)


class _PolarsReader:
    def __init__(self, schema: pa.Schema | None, columns: tuple[ColumnRef, ...]) -> None:
        self.schema, self.columns = schema, columns
        self._pairs: dict[Opaque, tuple[ColumnRef, ColumnRef]] = {}

    def predicate(self, node: Any) -> Predicate:
        """The JSON form is not promised between versions of Polars: any shape that is not known exactly is Opaque."""
        try:
            return self._read(node)
        except (NotReadable, RecursionError):
            pass
        except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError, pa.ArrowException):
            pass
        opaque = Opaque(json.dumps(node)[:500], self.columns)
        match node:
            case {"BinaryExpr": {"left": left, "op": str() as op, "right": right}} if op in _OPS and op != "EqValidity":
                if (pair := self._pair(left, right)) is not None:
                    self._pairs[opaque] = pair
        return opaque

    def _pair(self, left: Any, right: Any) -> tuple[ColumnRef, ColumnRef] | None:
        """Two columns of which a comparison is NULL where one of them is, and nowhere else."""
        try:
            column, other = self._column(left), self._column(right)
        except NotReadable:
            return None
        return (column, other) if are_plain(column.type_in(self.schema), other.type_in(self.schema)) else None

    def _read(self, node: Any) -> Predicate:
        ((kind, body),) = node.items()
        match kind:
            case "BinaryExpr" if set(body) == {"left", "op", "right"}:
                return self._binary(body["left"], body["op"], body["right"])
            case "Function" if set(body) == {"input", "function"}:
                return self._function(body["input"], body["function"])
            case "Alias":
                return self.predicate(body[0])
            case "Literal":
                value = _value(node)
                if value is None or isinstance(value, bool):
                    return Constant(value)
                raise NotReadable
            case "Column":
                return Comparison(self._column(node), Op.EQ, Literal(True))
            case _:
                raise NotReadable

    def _binary(self, left: Any, op: str, right: Any) -> Predicate:
        if op in {"And", "LogicalAnd", "Or", "LogicalOr"}:
            parts = (self.predicate(left), self.predicate(right))
            return And(parts) if op.endswith("And") else Or(parts)
        if op == "NotEqValidity":
            return Not(self._binary(left, "EqValidity", right))
        op_asked = _OPS.get(op)
        if op_asked is None:
            raise NotReadable
        if "Literal" in left:
            left, right, op_asked = right, left, op_asked.mirrored
        return self._comparison(left, op_asked, right)

    def _comparison(self, column: Any, op: Op, literal: Any) -> Predicate:
        if "Cast" in column:
            return Comparison(self._cast(column["Cast"]), op, Literal(_value(literal)))
        ref = self._column(column)
        value = self._as_compared(literal, ref)
        if isinstance(value, dt.datetime) and (step := self._step(literal, ref)) is not None:
            return _of_cut(ref, op, value, value + step)
        return Comparison(ref, op, Literal(value))

    def _as_compared(self, literal: Any, column: ColumnRef) -> LiteralValue:
        """The literal's value once Polars has brought it to the column's type."""
        value = _value(literal)
        known = column.type_in(self.schema)
        bare = "Dyn" in literal["Literal"]
        short = known is not None and pa.types.is_float16(known)
        if bare and isinstance(value, int | float) and (known is None or short or pa.types.is_float32(known)):
            with np.errstate(over="ignore"):
                rounded = float(np.float16(value) if short else np.float32(value))
            if known is None and rounded != value:
                raise NotReadable
            return rounded if known is not None else value
        if isinstance(value, dt.datetime) and known is not None and pa.types.is_timestamp(known):
            return _cut(value, known.unit)
        return value

    def _step(self, literal: Any, column: ColumnRef) -> dt.timedelta | None:
        """The literal's unit, where the column's is finer: Polars then cuts the column to it."""
        unit = _unit(literal)
        known = column.type_in(self.schema)
        if unit is None or (known is not None and not pa.types.is_timestamp(known)):
            return None  # a day is never cut
        if known is None and unit != "us":
            raise NotReadable
        finer = known is not None and _FINENESS[known.unit] > _FINENESS[unit]
        return {"ms": dt.timedelta(milliseconds=1), "us": dt.timedelta(microseconds=1)}.get(unit) if finer else None

    def _cast(self, body: Any) -> ColumnRef:
        """A cast that changes neither equality nor order."""
        match body:
            case {"expr": child, "dtype": {"Literal": str() as name}, **rest} if set(rest) <= {"options"}:
                column = self._column(child)
                if self.schema is not None and name in _WIDER and keeps_values(self.schema, column, _WIDER[name]):
                    return column
        raise NotReadable

    def _function(self, arguments: list[Any], function: Any) -> Predicate:
        match function, arguments:
            case {"Boolean": "Not"}, [child]:
                return Not(self.predicate(child))
            case {"Boolean": "IsNull"}, [child]:
                return self._is_null(child)
            case {"Boolean": "IsNotNull"}, [child]:
                return Not(self._is_null(child))
            case "FillNull" | "Coalesce", [child, otherwise]:
                return coalesced(self.predicate(child), self._is_null(child), self._read(otherwise))
            case {"Boolean": "IsNan"}, [child]:
                return Comparison(self._column(child), Op.EQ, Literal(math.nan))
            case {"Boolean": "IsNotNan"}, [child]:
                return Comparison(self._column(child), Op.NE, Literal(math.nan))
            case {"Boolean": {"IsBetween": {"closed": closed, **rest}}}, [child, low, high] if not rest:
                above = {"Both": Op.GE, "Left": Op.GE, "Right": Op.GT, "None": Op.GT}[closed]
                below = {"Both": Op.LE, "Right": Op.LE, "Left": Op.LT, "None": Op.LT}[closed]
                if _unit(low) != _unit(high) and {"ms", "ns"} & {_unit(low), _unit(high)}:
                    raise NotReadable  # all three are brought to the coarsest
                return And((self._comparison(child, above, low), self._comparison(child, below, high)))
            case {"Boolean": {"IsIn": {"nulls_equal": bool() as nulls_equal, **rest}}}, [child, values] if not rest:
                return _is_in(self._column(child), _members(values), nulls_equal)
            case {"StringExpr": "StartsWith"}, [child, prefix]:
                text = _value(prefix)
                if isinstance(text, str):
                    return StartsWith(self._column(child), text)
        raise NotReadable

    def _is_null(self, node: Any) -> Predicate:
        """Read IS NULL of a column, or of a condition, in which NaN is a value like any other."""
        try:
            return IsNull(self._column(node))
        except NotReadable:
            plain = lambda column, value: is_plain(value, column.type_in(self.schema), "UTC")  # noqa: E731
            return null_of(self.predicate(node), self._pairs, plain)

    def _column(self, node: Any) -> ColumnRef:
        match node:
            case {"Column": str() as name}:
                return ColumnRef((name,))
            case {"Function": {"input": [child], "function": {"StructExpr": {"FieldByName": str() as name}}}}:
                return ColumnRef((*self._column(child).parts, name))
            case _:
                raise NotReadable


def _is_in(column: ColumnRef, members: list[LiteralValue], nulls_equal: bool) -> Predicate:
    """A miss is false, also with NULL in the list; NULL in the column is NULL, or, when nulls are equal, found or
    not."""
    values = tuple(Literal(value) for value in members if value is not None)
    among: Predicate = In(column, values)
    if not nulls_equal:
        # IN () is false for NULL too, where Polars says NULL.
        return among if values else And((IsNull(column), Constant(None)))
    return Or((among, IsNull(column))) if None in members else And((among, Not(IsNull(column))))


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


def _cut(moment: dt.datetime, unit: str) -> dt.datetime:
    """Towards the past, as Polars cuts a moment to a coarser unit; one of seconds is one of milliseconds there."""
    return moment if unit in {"us", "ns"} else moment.replace(microsecond=moment.microsecond // 1000 * 1000)


def _unit(node: Any) -> str | None:
    """The unit of a literal that is a moment."""
    match node:
        case {"Literal": {"Scalar": {"Datetime": [_, str() as unit, _]} | {"DatetimeOwned": [_, str() as unit, _]}}}:
            return {"Milliseconds": "ms", "Microseconds": "us", "Nanoseconds": "ns"}[unit]
        case _:
            return None


def _of_cut(column: ColumnRef, op: Op, start: dt.datetime, end: dt.datetime) -> Predicate:
    """Return the predicate of a comparison with a column truncated to a unit. The literal covers the values from
    `start` to before `end`."""
    from_start = Comparison(column, Op.GE, Literal(start))
    before_start, before_end = Comparison(column, Op.LT, Literal(start)), Comparison(column, Op.LT, Literal(end))
    from_end = Comparison(column, Op.GE, Literal(end))
    inside, outside = And((from_start, before_end)), Or((before_start, from_end))
    conditions: dict[Op, Predicate] = {
        Op.EQ: inside,
        Op.NE: outside,
        Op.LT: before_start,
        Op.LE: before_end,
        Op.GT: from_end,
        Op.GE: from_start,
        Op.NULL_SAFE_EQ: And((inside, Not(IsNull(column)))),
    }
    return conditions[op]


def _scalar(kind: str, value: Any) -> LiteralValue:
    match kind, value:
        case "Boolean", bool():
            return value
        case (("Int8" | "Int16" | "Int32" | "Int64" | "Int128" | "UInt8" | "UInt16" | "UInt32" | "UInt64"), int()):
            return value
        case "Float64", float():
            return value
        case "Float32", float():
            return float(np.float32(value))  # written with the fewest digits that name it among its kind
        case (("String" | "StringOwned"), str()):
            return value
        case (("Binary" | "BinaryOwned"), list()):
            return bytes(value)
        case "Date", int():
            return dt.date(1970, 1, 1) + dt.timedelta(days=value)
        case "Time", int() if value % 1000 == 0:
            return (dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=value // 1000)).time()
        case "Decimal", [int() as unscaled, int(), int() as scale]:
            return Decimal(unscaled).scaleb(-scale, _EXACT)
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
    of = table.schema.types[0]
    if pa.types.is_time64(getattr(of, "value_type", of)):
        raise NotReadable  # of nanoseconds, which Python's times cut
    try:
        values = table.column(0).to_pylist()
        if pa.types.is_list(of) or pa.types.is_large_list(of):
            (values,) = values  # a Series of one list
        return [Literal.of(value).value for value in values]
    except (LiteralTypeError, ValueError, OverflowError):
        raise NotReadable from None  # finer than Python's times, of a year that it has not, or no value


_OPS: Final = {
    "Eq": Op.EQ,
    "NotEq": Op.NE,
    "Lt": Op.LT,
    "LtEq": Op.LE,
    "Gt": Op.GT,
    "GtEq": Op.GE,
    "EqValidity": Op.NULL_SAFE_EQ,
}
_FINENESS: Final = {"s": 0, "ms": 0, "us": 1, "ns": 2}  # to Polars, which has no seconds
_EXACT: Final = Context(prec=60)  # Python's own context rounds to 28 digits
_WIDER: Final = {"Int16": pa.int16(), "Int32": pa.int32(), "Int64": pa.int64(), "Float64": pa.float64()}
