"""Predicates as pyiceberg's boolean expressions; `iceberg_reading` is the way back.

Iceberg's readers differ on what `!=`, NOT IN and NOT STARTS WITH say of NULL: each is joined with IS NOT NULL, which
all agree on. So is a range whose end is beyond 32 bits: where a file has the column as an integer, from before it was
widened, pyiceberg takes that for true of all its rows, NULL too. What cannot be said exactly is handed back as a
residual.
"""

from __future__ import annotations

import datetime as dt
import math
from decimal import Context, Decimal
from typing import TYPE_CHECKING, Any, assert_never
from uuid import UUID

import pyarrow as pa

from metaindex.expressions.literals import LiteralValue, NotReadable
from metaindex.expressions.normal_form import normalize
from metaindex.expressions.physical import Family
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

from .grid import on_grid

if TYPE_CHECKING:
    from pyiceberg.expressions import BooleanExpression

_EXACT = Context(prec=60)


def to_iceberg(predicate: Predicate, schema: pa.Schema | None = None) -> tuple[BooleanExpression, Predicate]:
    """(expression, residual): rows that match pass the expression, and of the rows that pass it those match that match
    the residual.

    The residual is `Constant(True)` where all was said. Without a `schema` any column compared with a number may hold
    NaN, of which pyiceberg's readers think differently, so such comparisons go to the residual.
    """
    from pyiceberg import expressions as iceberg

    normal = normalize(predicate)
    said: list[Any] = []
    left: list[Predicate] = []
    for conjunct in normal.parts if isinstance(normal, And) else (normal,):
        try:
            said.append(_IcebergWriter(schema, iceberg).write(conjunct))
        except (NotReadable, RecursionError):
            left.append(conjunct)
    expression = iceberg.And(*said) if len(said) > 1 else said[0] if said else iceberg.AlwaysTrue()
    residual: Predicate = And(tuple(left)) if len(left) > 1 else left[0] if left else Constant(True)
    return expression, residual


class _IcebergWriter:
    """Writes a normal form, in which only leaves are negated, as an expression of pyiceberg."""

    def __init__(self, schema: pa.Schema | None, iceberg: Any) -> None:
        self.schema, self.iceberg = schema, iceberg

    def write(self, p: Predicate) -> Any:
        ice = self.iceberg
        match p:
            case And(parts):
                return ice.And(*map(self.write, parts)) if len(parts) > 1 else self.write(parts[0])
            case Or(parts):
                return ice.Or(*map(self.write, parts)) if len(parts) > 1 else self.write(parts[0])
            case Constant(truth):
                return ice.AlwaysTrue() if truth else ice.AlwaysFalse()
            case Comparison(column, op, literal):
                return self._comparison(column, op, literal.value)
            case In(column, values):
                members = self._values(column, [value.value for value in values if value.value is not None])
                return ice.In(self._name(column), set(members)) if members else ice.AlwaysFalse()
            case IsNull(column):
                return ice.IsNull(self._name(column))
            case IsNan(column):
                return ice.IsNaN(self._name(column)) if self._is_float(column) else ice.AlwaysFalse()
            case StartsWith(column, prefix):
                return ice.StartsWith(self._text(column), prefix)
            case Not(child):
                return self._not(child)
            case Opaque():
                raise NotReadable
            case _:
                assert_never(p)

    def _not(self, p: Predicate) -> Any:
        ice = self.iceberg
        match p:
            case IsNull(column):
                return ice.NotNull(self._name(column))
            case In(column, values):
                if any(value.value is None for value in values):
                    return ice.AlwaysFalse()
                name = self._name(column)
                among = set(self._values(column, [value.value for value in values]))
                return ice.And(ice.NotIn(name, among), ice.NotNull(name))
            case StartsWith(column, prefix):
                name = self._text(column)
                return ice.And(ice.NotStartsWith(name, prefix), ice.NotNull(name))
            case Comparison(column, Op.NULL_SAFE_EQ, literal):
                name = self._name(column)
                return ice.Or(ice.NotEqualTo(name, self._value(column, literal.value)), ice.IsNull(name))
            case _:
                raise NotReadable

    def _comparison(self, column: ColumnRef, op: Op, value: LiteralValue) -> Any:
        ice = self.iceberg
        name, literal = self._name(column), self._value(column, value)
        match op:
            case Op.EQ | Op.NULL_SAFE_EQ:
                return ice.EqualTo(name, literal)
            case Op.NE:
                return ice.And(ice.NotEqualTo(name, literal), ice.NotNull(name))
            case Op.LT | Op.LE:
                below = ice.LessThan(name, literal) if op is Op.LT else ice.LessThanOrEqual(name, literal)
                return ice.And(below, ice.NotNull(name)) if _is_long(literal) else below
            case Op.GT | Op.GE:
                above = ice.GreaterThan(name, literal) if op is Op.GT else ice.GreaterThanOrEqual(name, literal)
                above = ice.And(above, ice.NotNull(name)) if _is_long(literal) else above
                number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
                return ice.Or(above, ice.IsNaN(name)) if number and self._is_float(column) else above
            case _:
                assert_never(op)

    def _is_float(self, column: ColumnRef) -> bool:
        known = column.type_in(self.schema)
        if known is None:
            raise NotReadable
        return bool(pa.types.is_floating(known))

    def _text(self, column: ColumnRef) -> str:
        """The name of a column that may begin with a text: pyiceberg refuses that of bytes."""
        known = column.type_in(self.schema)
        if known is not None and Family.of(known) is Family.BYTES:
            raise NotReadable
        return self._name(column)

    def _name(self, column: ColumnRef) -> str:
        if any("." in part for part in column.parts):
            raise NotReadable  # a dot is the only separator that Iceberg's names have
        known = column.type_in(self.schema)
        if known is not None and isinstance(known, pa.UuidType):
            raise NotReadable  # pyiceberg's reader hands such a filter to pyarrow, which compares no UUIDs
        if known is not None and pa.types.is_nested(known):
            raise NotReadable  # pyiceberg binds names of values alone
        return ".".join(column.parts)

    def _values(self, column: ColumnRef, values: list[LiteralValue]) -> list[Any]:
        literals = [self._value(column, value) for value in values]
        if len(set(literals)) > 1 and any(isinstance(value, int | float) and value == 0 for value in literals):
            known = column.type_in(self.schema)
            if known is None or pa.types.is_floating(known):
                raise NotReadable  # in lists pyiceberg's readers tell -0.0 from 0.0
        if len(set(literals)) > 1 and any(map(_is_long, literals)):
            raise NotReadable  # in a file of integers pyiceberg takes a longer one for the nearest that they have
        return literals

    def _value(self, column: ColumnRef, value: LiteralValue) -> Any:
        known = column.type_in(self.schema)
        if known is not None and on_grid(known, value) is not None:
            raise NotReadable  # pyiceberg would refuse or round a literal that the column cannot hold
        if known is not None and pa.types.is_floating(known) and not _is_held(known, value):
            raise NotReadable  # pyiceberg would round it, and find rows that hold what came of that
        if known is not None and _other_kind_of_time(known, value):
            raise NotReadable
        if value is None or (isinstance(value, float) and not math.isfinite(value)):
            raise NotReadable
        if isinstance(value, UUID):
            raise NotReadable
        fixed = known is not None and pa.types.is_fixed_size_binary(known)
        if known is not None and fixed and not (isinstance(value, bytes) and len(value) == known.byte_width):
            raise NotReadable  # pyiceberg takes no other length there
        if isinstance(value, int) and not isinstance(value, bool) and not -(1 << 63) <= value < 1 << 63:
            raise NotReadable
        if known is not None and pa.types.is_decimal(known) and not isinstance(value, bool | str | bytes):
            return _at_scale(known, value)
        return value


def _is_long(value: object) -> bool:
    return isinstance(value, int) and not -(1 << 31) <= value < 1 << 31


def _is_held(known: pa.DataType, value: LiteralValue) -> bool:
    """Return whether a float column holds the number exactly. True for what is no number, and not rounded."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return True
    try:
        return bool(pa.scalar(float(value), known).as_py() == value)
    except OverflowError:
        return False


def _at_scale(known: pa.DataType, value: LiteralValue) -> Any:
    """Return the decimal at the column's scale, which pyiceberg requires; `on_grid` knows that nothing is lost."""
    if not isinstance(value, int | float | Decimal):
        raise NotReadable
    return Decimal(value).quantize(Decimal(1).scaleb(-known.scale), context=_EXACT)


def _other_kind_of_time(known: pa.DataType, value: LiteralValue) -> bool:
    if pa.types.is_date(known):
        return isinstance(value, dt.datetime)
    if pa.types.is_timestamp(known):
        return not isinstance(value, dt.datetime) or (value.tzinfo is None) != (known.tz is None)
    return False
