"""Predicates as pyarrow expressions, with each side's own meaning kept; `arrow_reading` is the way back.

pyarrow calls every comparison with NaN false, `is_in` never NULL; the tree orders NaN above all numbers and equal to
itself, as Spark does. Both directions spell the difference out, so a row passes on one side exactly where it passes
on the other.

Trap: pyarrow's *dataset* scan drops row groups by footer bounds that know nothing of NaN (bounds 1.0 to 1.0 over rows
1.0, NaN: `is_nan` finds no row). Apply `to_arrow` to rows in hand (`Table.filter`, `RecordBatch.filter`), not as a
scan filter over float columns.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Sequence
from decimal import Decimal
from typing import Final, assert_never
from uuid import UUID

import pyarrow as pa
import pyarrow.compute as pc

from metaindex.core import ExpressionError
from metaindex.expressions.literals import LiteralValue
from metaindex.expressions.normal_form import NEGATED, fold_signed
from metaindex.expressions.tree import (
    ColumnRef,
    Comparison,
    Constant,
    In,
    IsNan,
    IsNull,
    Leaf,
    Op,
    Opaque,
    Predicate,
    StartsWith,
)

from .casts import may_hold_nan
from .grid import GridPlace, on_grid


def to_arrow(predicate: Predicate, schema: pa.Schema | None = None) -> pc.Expression:
    """An expression that is true exactly for the rows that match (false or NULL for the others).

    With a `schema` literals take their column's type; bind the predicate to it first. Opaque raises ExpressionError.
    """
    return fold_signed(predicate, False, _ArrowWriter(schema).leaf, _append, _joined)


class _ArrowWriter:
    """Leaves only: NOT is carried down to them, so each says for which rows it is true, or for which false (NULL is
    neither)."""

    def __init__(self, schema: pa.Schema | None) -> None:
        self.schema = schema

    def leaf(self, p: Leaf, negated: bool) -> pc.Expression:
        wanted = not negated
        match p:
            case Comparison(column, Op.NULL_SAFE_EQ, value):
                return self._null_safe_eq(column, value.value, wanted)
            case Comparison(column, op, value):
                return self._comparison(column, op if wanted else NEGATED[op], value.value)
            case In(column, values):
                return self._in(column, [value.value for value in values], wanted)
            case IsNull(column):
                field = self._field(column)
                return field.is_null() if wanted else field.is_valid()
            case IsNan(column):
                return self._is_nan(column, wanted)
            case StartsWith(column, prefix):
                starts = pc.starts_with(self._field(column), prefix)
                return starts if wanted else ~starts
            case Constant(truth):
                return pc.scalar(truth is wanted)
            case Opaque(text):
                raise ExpressionError(
                    f"{text!r} was not understood and cannot be written for pyarrow; apply it in the engine it came"
                    " from"
                )
            case _:
                assert_never(p)

    def _comparison(self, column: ColumnRef, op: Op, value: LiteralValue) -> pc.Expression:
        field = self._field(column)
        if value is None:
            return pc.scalar(False)
        if isinstance(value, float) and math.isnan(value):
            match op:
                case Op.EQ | Op.GE:
                    return pc.is_nan(field)
                case Op.NE | Op.LT:
                    return ~pc.is_nan(field)
                case Op.LE:
                    return field.is_valid()
                case _:
                    return pc.scalar(False)
        known = column.type_in(self.schema)
        place = None if known is None else on_grid(known, value)
        if place is not None:
            return self._between_values(field, op, place, known)
        compared: pc.Expression = op.holds(field, self._scalar(column, value))
        nan_too = op in {Op.GT, Op.GE} and may_hold_nan(self.schema, column, value)
        return compared | pc.is_nan(field) if nan_too else compared

    def _between_values(self, field: pc.Expression, op: Op, place: GridPlace, known: pa.DataType) -> pc.Expression:
        """The literal is none of the type's values: the comparison is with its neighbour below, or the same for every
        value."""
        if op in {Op.EQ, Op.NE}:
            return pc.scalar(False) if op is Op.EQ else field.is_valid()
        less = op in {Op.LT, Op.LE}
        if place.floor is None:
            return field.is_valid() if less == place.above else pc.scalar(False)
        floor = pa.scalar(place.floor, known)
        return field <= floor if less else field > floor

    def _null_safe_eq(self, column: ColumnRef, value: LiteralValue, wanted: bool) -> pc.Expression:
        field = self._field(column)
        if value is None:
            return field.is_null() if wanted else field.is_valid()
        if wanted:
            return self._comparison(column, Op.EQ, value)
        return self._comparison(column, Op.NE, value) | field.is_null()

    def _in(self, column: ColumnRef, values: Sequence[LiteralValue], wanted: bool) -> pc.Expression:
        field = self._field(column)
        if not values:
            return pc.scalar(not wanted)  # IN () is false, for NULL too
        if not wanted and None in values:
            return pc.scalar(False)
        known = column.type_in(self.schema)
        plain = [value for value in values if value is not None and value == value]
        plain = [value for value in plain if known is None or on_grid(known, value) is None]
        # is_in tells -0.0 from 0.0
        plain += [-value for value in plain if isinstance(value, float) and value == 0.0]
        among = pc.scalar(False)
        if plain:
            scalars = [self._scalar(column, value) for value in plain]
            common = scalars[0].type
            # is_in brings the values to the column's type: a double would be rounded to a float, an instant to its day.
            # One by one both are widened.
            rounds = known is not None and common != _with_kernels(known)
            if rounds or any(scalar.type != common for scalar in scalars):
                among = _joined(False, [field == scalar for scalar in scalars])
            else:
                among = field.isin(pa.array([scalar.as_py() for scalar in scalars], common))
        if any(value is not None and value != value for value in values):
            among = among | pc.is_nan(field)
        return among if wanted else ~among & field.is_valid()

    def _is_nan(self, column: ColumnRef, wanted: bool) -> pc.Expression:
        if not may_hold_nan(self.schema, column, 0.0):
            return pc.scalar(not wanted)
        field = self._field(column)
        return pc.is_nan(field) if wanted else ~pc.is_nan(field) | field.is_null()

    def _field(self, column: ColumnRef) -> pc.Expression:
        field = pc.field(column.parts if len(column.parts) > 1 else column.parts[0])
        known = column.type_in(self.schema)
        plain = None if known is None else _with_kernels(known)
        return field if plain == known else field.cast(plain)

    def _scalar(self, column: ColumnRef, value: LiteralValue) -> pa.Scalar:
        known = column.type_in(self.schema)
        if isinstance(value, UUID):
            value = value.bytes  # as columns of UUIDs hold them
        if known is not None:
            wanted = _with_kernels(known)
            try:
                typed = pa.scalar(value, wanted)
            except (pa.ArrowException, OverflowError, TypeError, ValueError):
                typed = None
            if typed is not None and typed.as_py() == value:
                return typed
        if isinstance(value, int) and not isinstance(value, bool) and not -(1 << 63) <= value < 1 << 63:
            return pa.scalar(Decimal(value))
        return pa.scalar(value)


def _with_kernels(known: pa.DataType) -> pa.DataType:
    """The type of the same values for which pyarrow has every function that is used here."""
    if pa.types.is_dictionary(known):
        return _with_kernels(known.value_type)
    if pa.types.is_string_view(known):
        return pa.string()
    if isinstance(known, pa.UuidType) or pa.types.is_binary_view(known) or pa.types.is_fixed_size_binary(known):
        return pa.binary()
    if pa.types.is_float16(known):
        return pa.float32()
    return known


def _append(every: bool, so_far: list[pc.Expression] | None, part: pc.Expression) -> list[pc.Expression]:
    parts = [] if so_far is None else so_far
    parts.append(part)
    return parts


_LONGEST_CHAIN: Final = 256


def _joined(every: bool, parts: list[pc.Expression] | None) -> pc.Expression:
    """Join parts by AND (or OR). pyarrow flattens nested ones and walks the chain by recursion, which crashes at
    thousands: `coalesce` ends a chain."""
    if not parts:
        return pc.scalar(every)
    while len(parts) > 1:
        chains = [parts[i : i + _LONGEST_CHAIN] for i in range(0, len(parts), _LONGEST_CHAIN)]
        combine = operator.and_ if every else operator.or_
        joined = [functools.reduce(combine, chain) for chain in chains]
        parts = joined if len(joined) == 1 else [pc.coalesce(part, pc.scalar(False)) for part in joined]
    return parts[0]
