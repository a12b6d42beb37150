"""Reads pyiceberg's boolean expressions as predicates. The other direction is `iceberg`.

Iceberg's readers differ on what `!=`, NOT IN and NOT STARTS WITH say of NULL. Where files are chosen such rows pass (a
wider predicate, so a file is dropped only where no reader finds a row); where rows are, it is pyiceberg's own filter of
rows in hand: `!=`, NOT STARTS WITH and IS NOT NAN are not true of NULL, NOT IN of several is, and comparisons with NaN
are false. pyiceberg brings a literal to its column's type before it compares (0.1 to the nearest float, 3.249 to a
decimal's 3.25, a text to a day), so with a `schema` its own conversion is asked.
"""

from __future__ import annotations

import datetime as dt
import math
from typing import TYPE_CHECKING, Any
from uuid import UUID

import numpy as np
import pyarrow as pa

from metaindex.expressions.literals import Literal, NotReadable
from metaindex.expressions.tree import (
    And,
    ColumnRef,
    Comparison,
    Constant,
    In,
    IsNan,
    IsNull,
    Not,
    Op,
    Opaque,
    Or,
    Predicate,
    StartsWith,
)

from .casts import may_hold_nan

if TYPE_CHECKING:
    from pyiceberg.expressions import BooleanExpression


def from_iceberg(expression: BooleanExpression, schema: pa.Schema | None = None, *, of_rows: bool = False) -> Predicate:
    """A predicate that passes every row that any of Iceberg's readers passes, or with `of_rows` those that pyiceberg's
    filter of rows passes; what cannot be read is Opaque."""
    from pyiceberg.expressions.visitors import rewrite_not

    try:
        if of_rows:
            return _RowReader(schema, had_not=False).read(expression)
        positive = rewrite_not(expression)
        had_not, narrow = positive != expression, None if schema is None else _narrowed(schema)
        before = None if narrow is None or narrow == schema else _IcebergReader(narrow, had_not=had_not)
        return _IcebergReader(schema, had_not=had_not, before=before).read(positive)
    except (NotReadable, RecursionError, NotImplementedError, TypeError, ValueError):
        return Opaque(str(expression))


def _narrowed(schema: pa.Schema) -> pa.Schema:
    """Return the schema with the types that columns may have had before they were widened."""

    def narrow(known: pa.DataType) -> pa.DataType:
        if pa.types.is_struct(known):
            return pa.struct([each.with_type(narrow(each.type)) for each in known])
        return _BEFORE.get(known, known)

    return pa.schema([each.with_type(narrow(each.type)) for each in schema])


_BEFORE = {pa.int64(): pa.int32(), pa.float64(): pa.float32()}


class _IcebergReader:
    """Wide: of expressions without NOT, so that a wider leaf is a wider whole. `before`: reads leaves for files from
    before columns were widened, where some may have been."""

    def __init__(self, schema: pa.Schema | None, *, had_not: bool, before: _IcebergReader | None = None) -> None:
        self.schema, self.had_not, self.before = schema, had_not, before

    def read(self, expression: Any) -> Predicate:
        from pyiceberg import expressions as ice

        match expression:
            case ice.AlwaysTrue():
                return Constant(True)
            case ice.AlwaysFalse():
                return Constant(False)
            case ice.And():
                return And((self.read(expression.left), self.read(expression.right)))
            case ice.Or():
                return Or((self.read(expression.left), self.read(expression.right)))
            case ice.Not():
                return Not(self.read(expression.child))
            case _:
                try:
                    leaf = self._leaf(expression)
                    return leaf if self.before is None else self._also_before(leaf, expression)
                except (NotReadable, AttributeError, TypeError, ValueError):
                    return Opaque(str(expression))

    def _also_before(self, leaf: Predicate, expression: Any) -> Predicate:
        """Add the meaning of the leaf in older files: pyiceberg casts a literal to the column's type in each file."""
        assert self.before is not None
        other = self.before._leaf(expression)
        column = self._column(expression)
        if other == Constant(True) and not may_hold_nan(self.schema, column, None):
            other = IsNull(column)  # of values a range beyond 32 bits is as true of more bits
        return leaf if other in (leaf, Constant(False)) else Or((leaf, other))

    def _leaf(self, expression: Any) -> Predicate:
        column = self._column(expression)
        match type(expression).__name__:
            case "IsNull":
                return IsNull(column)
            case "NotNull":
                return Not(IsNull(column))
            case "IsNaN":
                return IsNan(column)
            case "NotNaN":
                return Not(IsNan(column))
            case "In" | "NotIn" as kind:
                typed = [self._typed(literal, column) for literal in expression.literals]
                if kind == "In":
                    # pyiceberg takes one beyond all values for the nearest of them; others for itself.
                    ends = tuple(Literal(literal.value) for literal in expression.literals if _is_infinite(literal))
                    return In(column, tuple(self._nearest(literal, column) for literal in typed) + ends)
                values = [self._literal(literal, column) for literal in typed if not _beyond(literal)]
                among = In(column, tuple(value for value in values if not _is_zero(value)))
                return self._other(among, column)
            case "StartsWith" | "NotStartsWith" as kind:
                prefix = self._literal(expression.literal, column).value
                if not isinstance(prefix, str):
                    raise NotReadable
                starts = StartsWith(column, prefix)
                return starts if kind == "StartsWith" else self._other(starts, column)
            case kind if kind in _OPS:
                op, typed = _OPS[kind], self._typed(expression.literal, column)
                if beyond := _beyond(typed):
                    return Constant(op is Op.NE or op in beyond)  # true for NULL too, as pyiceberg has it
                return self._compared(column, op, self._literal(typed, column))
            case _:
                raise NotReadable

    def _other(self, leaf: Predicate, column: ColumnRef) -> Predicate:
        """Negate a leaf."""
        return Or((Not(leaf), IsNull(column)))

    def _compared(self, column: ColumnRef, op: Op, value: Literal) -> Predicate:
        if op is Op.NE:
            return Constant(True) if _is_zero(value) else Or((Comparison(column, op, value), IsNull(column)))
        compared = Comparison(column, _WIDE.get(op, op) if _is_zero(value) else op, value)
        # Some readers take NOT (a > 5) as it stands, and NaN is not greater to them.
        nan_too = self.had_not and compared.op in {Op.LT, Op.LE} and may_hold_nan(self.schema, column, value.value)
        return Or((compared, IsNan(column))) if nan_too else compared

    def _column(self, expression: Any) -> ColumnRef:
        term = expression.term
        if type(term).__name__ != "Reference":
            raise NotReadable
        name = str(term.name)
        if self.schema is not None and name in self.schema.names:
            return ColumnRef((name,))
        return ColumnRef(tuple(name.split(".")))

    def _typed(self, literal: Any, column: ColumnRef) -> Any:
        """The literal as pyiceberg compares it with the column."""
        known = column.type_in(self.schema)
        wanted = None if known is None else _iceberg_type(known)
        return literal if wanted is None else literal.to(wanted)

    def _nearest(self, literal: Any, column: ColumnRef) -> Literal:
        """Read a literal of a list; one out of range becomes the type's limit, for floats as Arrow rounds."""
        if _beyond(literal):
            single = type(literal).__name__.startswith("Float")
            return Literal(float(np.float32(literal.value)) if single else literal.value)
        return self._literal(literal, column)

    def _literal(self, literal: Any, column: ColumnRef) -> Literal:
        value = literal.value
        match type(literal).__name__:
            case "BooleanLiteral" | "LongLiteral" | "DoubleLiteral" | "StringLiteral" | "BinaryLiteral":
                return Literal(value)
            case "FloatLiteral":
                return Literal(float(np.float32(value)))
            case "DecimalLiteral":
                return Literal(value)
            case "DateLiteral":
                return Literal(dt.date(1970, 1, 1) + dt.timedelta(days=value))
            case "TimestampLiteral":
                return Literal(self._moment(value, column))
            case "TimeLiteral":
                return Literal((dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=value)).time())
            case "UUIDLiteral":
                return Literal(value if isinstance(value, UUID) else UUID(bytes=value))
            case _:
                raise NotReadable

    def _moment(self, micros: int, column: ColumnRef) -> dt.datetime:
        """Return the moment with the column's zone, if any, which pyiceberg's timestamp literal forgets."""
        known = column.type_in(self.schema)
        if known is None or not pa.types.is_timestamp(known):
            raise NotReadable
        return dt.datetime(1970, 1, 1, tzinfo=None if known.tz is None else dt.UTC) + dt.timedelta(microseconds=micros)


class _RowReader(_IcebergReader):
    """Reads the exact meaning, in three values, of a pyiceberg row filter, which pyarrow applies as it is."""

    def _leaf(self, expression: Any) -> Predicate:
        column = self._column(expression)
        match type(expression).__name__:
            case "IsNaN" | "NotNaN" as kind:
                if not may_hold_nan(self.schema, column, 0.0):
                    return Constant(kind == "NotNaN")
                is_nan: Predicate = Comparison(column, Op.EQ, Literal(math.nan))  # NULL of NULL
                return is_nan if kind == "IsNaN" else Not(is_nan)
            case "In" | "NotIn" as kind:
                typed = {self._typed(literal, column) for literal in expression.literals}
                values = tuple(self._nearest(literal, column) for literal in typed)
                if len(values) == 1:  # pyiceberg compares with what several became, which is not the same of NULL
                    return self._compared(column, Op.EQ if kind == "In" else Op.NE, values[0])
                if any(isinstance(literal.value, float) and literal.value == 0.0 for literal in values):
                    raise NotReadable  # it tells -0.0 from 0.0, the tree does not
                among = And((In(column, values), Not(IsNull(column))))  # never NULL
                return among if kind == "In" else Not(among)
            case _:
                return super()._leaf(expression)

    def _other(self, leaf: Predicate, column: ColumnRef) -> Predicate:
        return Not(leaf)

    def _compared(self, column: ColumnRef, op: Op, value: Literal) -> Predicate:
        if value.is_nan:
            # Never true, save for !=, which is always: <= NaN is true of every value, > NaN of none.
            return Comparison(column, Op.LE if op is Op.NE else Op.GT, value)
        compared = Comparison(column, op, value)
        if op in {Op.GT, Op.GE} and may_hold_nan(self.schema, column, value.value):
            return And((compared, Not(IsNan(column))))
        return compared


_OPS = {
    "EqualTo": Op.EQ,
    "NotEqualTo": Op.NE,
    "LessThan": Op.LT,
    "LessThanOrEqual": Op.LE,
    "GreaterThan": Op.GT,
    "GreaterThanOrEqual": Op.GE,
}
_WIDE = {Op.LT: Op.LE, Op.GT: Op.GE}


def _is_zero(value: Literal) -> bool:
    """Return whether the value is a float zero. Some readers, and pyiceberg in lists, order -0.0 before 0.0."""
    return isinstance(value.value, float) and value.value == 0.0


def _is_infinite(literal: Any) -> bool:
    return isinstance(literal.value, float) and math.isinf(literal.value)


def _beyond(literal: Any) -> frozenset[Op] | None:
    """Return the comparisons that hold for every value of the column's type, if the literal is above or below all of
    them; None otherwise."""
    match type(literal).__name__:
        case "IntAboveMax" | "LongAboveMax" | "FloatAboveMax":
            return frozenset({Op.LT, Op.LE})
        case "IntBelowMin" | "LongBelowMin" | "FloatBelowMin":
            return frozenset({Op.GT, Op.GE})
        case _:
            return None


def _iceberg_type(known: pa.DataType) -> Any:
    """Return pyiceberg's type of the same values; None if there is none."""
    from pyiceberg import types as ice

    if pa.types.is_decimal128(known) and known.scale >= 0:
        return ice.DecimalType(known.precision, known.scale)
    if pa.types.is_timestamp(known):
        return ice.TimestampType() if known.tz is None else ice.TimestamptzType()
    if isinstance(known, pa.UuidType):
        return ice.UUIDType()
    if pa.types.is_fixed_size_binary(known):
        return ice.FixedType(known.byte_width)
    make = {
        pa.bool_(): ice.BooleanType,
        pa.int32(): ice.IntegerType,
        pa.int64(): ice.LongType,
        pa.float32(): ice.FloatType,
        pa.float64(): ice.DoubleType,
        pa.date32(): ice.DateType,
        pa.time64("us"): ice.TimeType,
        pa.string(): ice.StringType,
        pa.large_string(): ice.StringType,
        pa.binary(): ice.BinaryType,
        pa.large_binary(): ice.BinaryType,
    }.get(known)
    return None if make is None else make()
