"""Types of scalar expressions, and the type in which Spark compares or adds two of them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

import pyarrow as pa

BOOLEAN: Final = pa.bool_()
INT: Final = pa.int32()
BIGINT: Final = pa.int64()
DOUBLE: Final = pa.float64()
STRING: Final = pa.string()
DATE: Final = pa.date32()
CLOCK: Final = pa.timestamp("us")
"""A date and a time of day without a zone."""
INSTANT: Final = pa.timestamp("us", tz="UTC")
NULL: Final = pa.null()

_INTEGERS: Final = (pa.int8(), pa.int16(), pa.int32(), pa.int64())
_DIGITS: Final = {pa.int8(): 3, pa.int16(): 5, pa.int32(): 10, pa.int64(): 20}
_NAMES: Final = {
    pa.bool_(): ("BOOLEAN", "BOOLEAN"),
    pa.int8(): ("TINYINT", "TINYINT"),
    pa.int16(): ("SMALLINT", "SMALLINT"),
    pa.int32(): ("INTEGER", "INT"),
    pa.int64(): ("BIGINT", "BIGINT"),
    pa.float32(): ("FLOAT", "FLOAT"),
    pa.float64(): ("DOUBLE", "DOUBLE"),
    pa.string(): ("VARCHAR", "STRING"),
    pa.date32(): ("DATE", "DATE"),
    CLOCK: ("TIMESTAMP", "TIMESTAMP_NTZ"),
    INSTANT: ("TIMESTAMP", "TIMESTAMP"),
}
"""As DuckDB and as Spark name them. DuckDB is given instants as clocks in UTC."""
_BY_SPARK_NAME: Final = {spark: t for t, (_, spark) in _NAMES.items()} | {"TIMESTAMP_LTZ": INSTANT}
_DECIMAL: Final = re.compile(r"DECIMAL(?:\(([0-9]{1,2})(?:,(-?[0-9]{1,2}))?\))?")
MOST_DIGITS: Final = 38
_EXACT_DOUBLE_DIGITS: Final = 15


def known_type(t: pa.DataType) -> pa.DataType | None:
    """The type of a column as expressions have it; None for one of which nothing is known here."""
    if pa.types.is_large_string(t) or pa.types.is_string_view(t):
        return STRING
    if pa.types.is_timestamp(t) and t.unit == "us":
        return CLOCK if t.tz is None else INSTANT
    if t in _NAMES or (pa.types.is_decimal128(t) and 0 <= t.scale <= t.precision):
        return t
    if is_list(t):
        return t if _held_alike(t.value_type) else None
    if pa.types.is_map(t):
        return t if _held_alike(t.item_type) and t.key_type in (*_INTEGERS, STRING) else None
    return t if pa.types.is_struct(t) and _held_alike(t) else None


def _held_alike(t: pa.DataType) -> bool:
    """Return whether DuckDB and Spark show a value in a list, map or struct alike; not supported for instants."""
    if pa.types.is_struct(t):
        return all(_held_alike(t.field(i).type) for i in range(t.num_fields))
    known = known_type(t)
    return known is not None and known != INSTANT


def is_integer(t: pa.DataType) -> bool:
    return t in _INTEGERS


def is_number(t: pa.DataType) -> bool:
    return bool(is_integer(t) or pa.types.is_decimal(t) or t == DOUBLE)


def is_nested(t: pa.DataType) -> bool:
    return bool(pa.types.is_nested(t))


def is_map(t: pa.DataType) -> bool:
    return bool(pa.types.is_map(t))


def is_list(t: pa.DataType) -> bool:
    return bool(pa.types.is_list(t) or pa.types.is_large_list(t))


def as_decimal(t: pa.DataType) -> pa.Decimal128Type | None:
    """The decimals that hold every value of a type."""
    if pa.types.is_decimal(t):
        return t
    digits = _DIGITS.get(t)
    return None if digits is None else pa.decimal128(digits, 0)


def common_type(types: Iterable[pa.DataType]) -> pa.DataType | None:
    """The type in which Spark compares values of these types, and in which none of them changes; None where there is
    none, or it is not known here."""
    common: pa.DataType = NULL
    for t in types:
        joined = _common(common, t)
        if joined is None:
            return None
        common = joined
    return common


def _common(a: pa.DataType, b: pa.DataType) -> pa.DataType | None:
    if a == b or b == NULL:
        return a
    if a == NULL:
        return b
    if is_integer(a) and is_integer(b):
        return a if a.bit_width >= b.bit_width else b
    if DOUBLE in (a, b):
        other = b if a == DOUBLE else a
        return DOUBLE if is_integer(other) or other == pa.float32() or _is_exact_in_double(other) else None
    if {a, b} <= {DATE, CLOCK}:
        return CLOCK
    if {a, b} <= {DATE, INSTANT}:
        return INSTANT
    return _common_decimal(a, b)


def _common_decimal(a: pa.DataType, b: pa.DataType) -> pa.DataType | None:
    one, two = as_decimal(a), as_decimal(b)
    if one is None or two is None:
        return None
    scale = max(one.scale, two.scale)
    precision = max(one.precision - one.scale, two.precision - two.scale) + scale
    return pa.decimal128(precision, scale) if precision <= MOST_DIGITS else None


def _is_exact_in_double(t: pa.DataType) -> bool:
    """DuckDB divides by a power of ten, which rounds once where the digits are exact in a double."""
    return bool(pa.types.is_decimal(t) and t.precision <= _EXACT_DOUBLE_DIGITS)


def casts(source: pa.DataType, target: pa.DataType) -> bool:
    """Return whether the cast, as `written` writes it, gives the same value in both engines, or an error in both."""
    if source in (target, NULL):
        return True
    if is_integer(source):
        return is_integer(target) or target in (DOUBLE, STRING) or pa.types.is_decimal(target)
    if source == pa.bool_():
        return is_integer(target) or target == STRING
    if source == DOUBLE:
        return is_integer(target)
    if source == pa.float32():
        return bool(target == DOUBLE)
    if pa.types.is_decimal(source):
        wider = pa.types.is_decimal(target) and _common_decimal(source, target) == target
        return bool(is_integer(target) or wider or (target == DOUBLE and _is_exact_in_double(source)))
    return source in (DATE, CLOCK, INSTANT) and target in (DATE, CLOCK, INSTANT)


def duckdb_name(t: pa.DataType) -> str:
    """Return DuckDB's name of a type, for a cast."""
    return f"DECIMAL({t.precision},{t.scale})" if pa.types.is_decimal(t) else _NAMES[t][0]


def spark_name(t: pa.DataType) -> str:
    return f"DECIMAL({t.precision},{t.scale})" if pa.types.is_decimal(t) else _NAMES[t][1]


def type_of_name(name: str) -> pa.DataType | None:
    """A type as Spark writes it."""
    name = name.upper().replace(" ", "")
    if decimal := _DECIMAL.fullmatch(name):
        precision, scale = int(decimal[1] or 10), int(decimal[2] or 0)
        return pa.decimal128(precision, scale) if 0 <= scale <= precision <= MOST_DIGITS and precision else None
    return _BY_SPARK_NAME.get(name)
