"""Casts of a column that change neither equality nor order, so that `CAST(a AS t) op v` says what `a op v` says.

An allow-list: int to a wider int, float to double, an integer to a decimal that holds it, a decimal to a wider one, a
type to itself. A narrowing cast, a cast from or to text and a cast that asks the session's zone never are.
"""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa

from metaindex.expressions.literals import LiteralValue
from metaindex.expressions.physical import Family
from metaindex.expressions.scalars.types import is_integer, type_of_name
from metaindex.expressions.tree import ColumnRef


def loses_nothing(source: pa.DataType | None, target: pa.DataType | None) -> bool:
    """Return whether the cast preserves every value; False for a type that is not known."""
    if source is None or target is None:
        return False
    is_ = pa.types
    alike = Family.of(source)
    if alike in (Family.TEXT, Family.BYTES):
        return alike is Family.of(target) and (source == target or not is_.is_fixed_size_binary(target))
    if source == target:
        return alike not in (Family.TIME, Family.TIMESTAMP, None)
    if is_.is_floating(target):  # a double is exact in 53 bits, a float in 24
        exact = source.bit_width if is_.is_floating(source) else 2 * source.bit_width if is_integer(source) else None
        return exact is not None and exact <= target.bit_width
    if is_integer(source) and is_integer(target):
        return bool(source.bit_width <= target.bit_width)
    if not is_.is_decimal(target) or not (is_integer(source) or is_.is_decimal(source)):
        return False
    digits, scale = (len(str(1 << source.bit_width - 1)), 0) if is_integer(source) else (source.precision, source.scale)
    return bool(target.scale >= scale and target.precision - target.scale >= digits - scale)


def keeps_values(schema: pa.Schema, column: ColumnRef, target: str | pa.DataType) -> bool:
    """Return whether casting the column of this schema to the type, or Spark's type of this name, loses nothing; False
    without the column."""
    if isinstance(target, str):
        target = pa.binary() if target.upper() == "BINARY" else type_of_name(target)
    return loses_nothing(column.type_in(schema), target)


def may_hold_nan(schema: pa.Schema | None, column: ColumnRef, value: LiteralValue) -> bool:
    """Return whether a column that is compared with the value may hold NaN: by its type, or, where that is not known,
    by the value."""
    known = column.type_in(schema)
    if known is not None:
        return bool(pa.types.is_floating(known))
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def type_by_any_case(schema: pa.Schema, path: tuple[str, ...]) -> pa.DataType | None:
    """The type of the column that the name fits when case is ignored; None where none or several do."""
    exact = ColumnRef(path).type_in(schema)
    if exact is not None:
        return exact
    fields = list(schema)
    for n, part in enumerate(path):
        fitting = [field.type for field in fields if field.name.lower() == part.lower()]
        if len(fitting) != 1:
            return None
        if n + 1 == len(path):
            return fitting[0]
        fields = list(fitting[0]) if pa.types.is_struct(fitting[0]) else []
    return None
