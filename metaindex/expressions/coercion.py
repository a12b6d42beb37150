"""Coercion of one literal to one column type, as Spark's comparison does it, or a refusal. `TABLE` lists which kinds of
literals a type takes; all others are refused."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable, Mapping
from decimal import Context, Decimal
from enum import Enum, auto
from typing import Any, Final
from uuid import UUID

import numpy as np
import pyarrow as pa

from .clock_texts import day_in, is_like_moment, is_like_time, moment_in, time_in
from .literals import Literal
from .physical import Family
from .zones import fixed_offset, zone_of


class Coerced(Enum):
    """UNKNOWN: Spark compares in another type, so that bounds of this one prove nothing."""

    UNKNOWN = auto()


Answer = Literal | Coerced | str
"""The literal to compare with; or unknown; or, as text, the cure for nonsense."""

_INTEGER = re.compile(r"[+-]?[0-9]{1,38}")
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
_UUID_TEXT = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_SPECIAL = {"nan": math.nan, "inf": math.inf, "+inf": math.inf, "-inf": -math.inf}
_SPECIAL |= {"infinity": math.inf, "+infinity": math.inf, "-infinity": -math.inf}
_DOUBLE_DIGITS = 15  # decimals of so many digits are told apart by doubles
_EXACT = Context(prec=2000)  # Python's own context rounds to 28 digits


def coerce(lit: Literal, t: pa.DataType, time_zone: str) -> Answer:
    """The literal as a value that compares with a column of type `t` exactly as Spark compares the two."""
    if lit.is_null:
        return lit
    if pa.types.is_dictionary(t):
        return coerce(lit, t.value_type, time_zone)
    family_of_column = family(t)
    if family_of_column is None:
        return Coerced.UNKNOWN
    rule = TABLE[family_of_column].get(lit.kind)
    return _CURES[family_of_column](lit.value) if rule is None else rule(lit.value, t, time_zone)


def family(t: pa.DataType) -> str | None:
    """The row of the table that a column's type is in; None for a type without order."""
    if isinstance(t, pa.UuidType):
        return "uuid"
    if pa.types.is_timestamp(t):
        return "timestamp_ntz" if t.tz is None else "timestamp"
    known = None if pa.types.is_dictionary(t) else Family.of(t)
    return None if known is None else _ROWS[known]


_ROWS: Final = {
    Family.BOOL: "boolean",
    Family.INTEGER: "integer",
    Family.UINT64: "integer",
    Family.FLOAT: "float",
    Family.DECIMAL: "decimal",
    Family.WIDE_DECIMAL: "decimal",
    Family.DATE: "date",
    Family.TIME: "time",
    Family.TEXT: "string",
    Family.BYTES: "binary",
}

Rule = Callable[[Any, pa.DataType, str], Answer]
"""Of a literal's value, the column's type and the session's time zone."""


def _same(value: Any, _t: pa.DataType, _zone: str) -> Answer:
    return Literal(value)


def _unknown(_value: Any, _t: pa.DataType, _zone: str) -> Answer:
    return Coerced.UNKNOWN


def _truth(text: str, _t: pa.DataType, _zone: str) -> Answer:
    plain = text.strip().lower()
    return Literal(plain == "true") if plain in ("true", "false") else _CURES["boolean"](text)


def _integer_of_int(value: int, _t: pa.DataType, _zone: str) -> Answer:
    return Literal(value) if abs(value) < 10**38 else Coerced.UNKNOWN


def _integer_of_float(value: float, t: pa.DataType, _zone: str) -> Answer:
    if not math.isfinite(value):
        return Literal(value)  # beyond every integer: compared as such
    if t.bit_width == 64 and abs(value) >= 2**53:
        return Coerced.UNKNOWN  # Spark casts the long to double there
    return Literal(int(value)) if value.is_integer() else Literal(value)


def _integer_of_decimal(value: Decimal, t: pa.DataType, _zone: str) -> Answer:
    # Spark's common type has room for 20 digits before the point and 38 in all; then it rounds.
    if not _fits(value, 18 if t.bit_width == 64 else 28):
        return Coerced.UNKNOWN
    return Literal(int(value)) if value == value.to_integral_value() else Literal(value)


def _integer_of_text(text: str, t: pa.DataType, _zone: str) -> Answer:
    text = _stripped(text)
    if not _INTEGER.fullmatch(text):
        return "write a whole number, or cast the column"
    # One beyond the column's type is an error, NULL or a wider comparison, as Spark is configured.
    return Literal(int(text)) if _holds(t, int(text)) else Coerced.UNKNOWN


def _float_of_int(value: int, t: pa.DataType, _zone: str) -> Answer:
    double = _double(value)
    # For a float column Spark's common type with an integer is float or double, as it is configured.
    return Literal(double) if double is not None and _in_every_float(double, value, t) else Coerced.UNKNOWN


def _float_of_decimal(value: Decimal, _t: pa.DataType, _zone: str) -> Answer:
    double = _double(value)
    return Coerced.UNKNOWN if double is None else Literal(double)


def _float_of_text(text: str, t: pa.DataType, _zone: str) -> Answer:
    text = _stripped(text)
    if text.lower() in _SPECIAL:
        return Literal(_SPECIAL[text.lower()])
    if not _NUMBER.fullmatch(text):
        return "write a number, or cast the column"
    double = _double(Decimal(text))
    return Literal(double) if double is not None and _in_every_float(double, double, t) else Coerced.UNKNOWN


def _decimal_of_int(value: int, t: pa.DataType, _zone: str) -> Answer:
    return Literal(value) if _fits(Decimal(value), 38 - t.scale) and t.precision <= 38 else Coerced.UNKNOWN


def _decimal_of_decimal(value: Decimal, t: pa.DataType, _zone: str) -> Answer:
    # Beyond 38 digits in all Spark's common type loses some.
    whole = max(t.precision - t.scale, _whole_digits(value))
    return Literal(value) if whole + max(t.scale, _scale(value)) <= 38 else Coerced.UNKNOWN


def _decimal_of_float(value: float, t: pa.DataType, _zone: str) -> Answer:
    return _as_doubles(Decimal(repr(value)) if math.isfinite(value) else None, t)


def _decimal_of_text(text: str, t: pa.DataType, _zone: str) -> Answer:
    text = _stripped(text)
    return _as_doubles(Decimal(text), t) if _NUMBER.fullmatch(text) else "write a number, or cast the column"


def _as_doubles(value: Decimal | None, t: pa.DataType) -> Answer:
    """Spark compares both as doubles: the same as exactly, while neither has more digits than doubles tell apart."""
    if value is None or t.precision > _DOUBLE_DIGITS or len(value.normalize(_EXACT).as_tuple().digits) > _DOUBLE_DIGITS:
        return Coerced.UNKNOWN
    return Literal(value) if abs(value.adjusted()) < 100 or not value else Coerced.UNKNOWN


def _date_of_moment(value: dt.datetime, _t: pa.DataType, _zone: str) -> Answer:
    return Literal(value.date()) if value.time() == dt.time(0) else Literal(value)


def _date_of_text(text: str, _t: pa.DataType, _zone: str) -> Answer:
    text = _stripped(text)
    day = day_in(text)
    if day is not None:
        return Literal(day)
    return Coerced.UNKNOWN if is_like_moment(text) else "write a day as 'YYYY-MM-DD'"


def _time_of_text(text: str, _t: pa.DataType, _zone: str) -> Answer:
    text = _stripped(text)
    clock = time_in(text)
    if clock is not None:
        return Literal(clock)
    return "write a time from '00:00:00' to '23:59:59.999999'" if is_like_time(text) else "write a time as 'HH:MM:SS'"


def _moment_of_moment(value: dt.datetime, t: pa.DataType, zone: str) -> Answer:
    return _moment(value, t.tz is None, zone)


def _moment_of_day(value: dt.date, t: pa.DataType, zone: str) -> Answer:
    return _moment(dt.datetime(value.year, value.month, value.day), t.tz is None, zone)


def _moment_of_text(text: str, t: pa.DataType, zone: str) -> Answer:
    text = _stripped(text)
    day = day_in(text)
    if day is not None:
        return _moment_of_day(day, t, zone)
    moment = moment_in(text)
    if moment is None:
        return "write a timestamp as 'YYYY-MM-DD HH:MM:SS'"
    if t.tz is None and moment.utcoffset() is not None:
        return Coerced.UNKNOWN  # Spark's cast to a time without zone passes over the zone of the text
    return _moment(moment, t.tz is None, zone)


def _moment(value: dt.datetime, naive: bool, time_zone: str) -> Answer:
    """A time without zone and an instant are compared as instants, the time read in the session's zone, as Spark does.
    Where clocks never change, the instant as a time in that zone compares alike; elsewhere the hours that come twice or
    never make the order of times another one than that of instants."""
    if naive and value.utcoffset() is None:
        return Literal(value)
    zone = zone_of(time_zone)
    if zone is None:
        return Coerced.UNKNOWN
    try:
        if naive:
            fixed = fixed_offset(time_zone) is not None or time_zone.startswith("Etc/")
            return Literal(value.astimezone(zone).replace(tzinfo=None)) if fixed else Coerced.UNKNOWN
        return Literal((value if value.utcoffset() is not None else value.replace(tzinfo=zone)).astimezone(dt.UTC))
    except (ValueError, OverflowError):
        return Coerced.UNKNOWN


def _text_of_text(value: str, _t: pa.DataType, _zone: str) -> Answer:
    return Literal(value) if _utf8(value) is not None else Coerced.UNKNOWN


def _text_of_bytes(value: bytes, _t: pa.DataType, _zone: str) -> Answer:
    try:
        return Literal(value.decode())
    except UnicodeDecodeError:
        return Coerced.UNKNOWN


def _bytes_of_text(value: str, _t: pa.DataType, _zone: str) -> Answer:
    encoded = _utf8(value)
    return Coerced.UNKNOWN if encoded is None else Literal(encoded)


def _uuid_of_text(text: str, _t: pa.DataType, _zone: str) -> Answer:
    """A UUID is a text to Spark: 36 characters in lower case, in whose order the bytes are, too. Any other text is
    compared with those, which bounds of bytes say nothing of."""
    return Literal(UUID(text)) if _UUID_TEXT.fullmatch(text) else Coerced.UNKNOWN


_OF_MOMENTS: Final[Mapping[str, Rule]] = {
    "string": _moment_of_text,
    "date": _moment_of_day,
    "timestamp_ntz": _moment_of_moment,
    "timestamp": _moment_of_moment,
}
TABLE: Final[Mapping[str, Mapping[str, Rule]]] = {
    "boolean": {"bool": _same, "string": _truth},
    "integer": {
        "int": _integer_of_int,
        "float": _integer_of_float,
        "decimal": _integer_of_decimal,
        "string": _integer_of_text,
    },
    "float": {"int": _float_of_int, "float": _same, "decimal": _float_of_decimal, "string": _float_of_text},
    "decimal": {
        "int": _decimal_of_int,
        "float": _decimal_of_float,
        "decimal": _decimal_of_decimal,
        "string": _decimal_of_text,
    },
    "date": {
        "string": _date_of_text,
        "date": _same,
        "timestamp_ntz": _date_of_moment,
        "timestamp": _unknown,  # the day's midnight depends on the session's zone
    },
    "time": {"string": _time_of_text, "time": _same},
    "timestamp_ntz": _OF_MOMENTS,
    "timestamp": _OF_MOMENTS,
    "string": {
        "string": _text_of_text,
        "binary": _text_of_bytes,
        "date": _unknown,  # Spark casts the column
        "timestamp_ntz": _unknown,
        "timestamp": _unknown,
    },
    "binary": {"string": _bytes_of_text, "binary": _same},
    "uuid": {"string": _uuid_of_text, "uuid": _same},
}
"""Of each column's type the kinds of literals (`literals.kind`) that it takes, and what becomes of them. What does not
stand here is refused by name; docs/literals.md shows the same to people."""

_MOMENTS = "compare a timestamp column with a datetime, a date, or text 'YYYY-MM-DD HH:MM:SS'"
_CURES: Final[Mapping[str, Callable[[Any], str]]] = {
    "boolean": lambda _: "compare a boolean column with True or False",
    "integer": lambda v: f"compare a number column with a number{', 1 instead of True' * isinstance(v, bool)}",
    "float": lambda v: f"compare a number column with a number{', 1.0 instead of True' * isinstance(v, bool)}",
    "decimal": lambda v: f"compare a decimal column with a number{', 1 instead of True' * isinstance(v, bool)}",
    "date": lambda _: "compare a date column with a date, or text 'YYYY-MM-DD'",
    "time": lambda _: "compare a time column with a datetime.time, or text such as '10:30:00'",
    "timestamp_ntz": lambda _: _MOMENTS,
    "timestamp": lambda _: _MOMENTS,
    "string": lambda v: f"write {str(v)!r}, or cast the column",
    "binary": lambda _: "compare a binary column with bytes",
    "uuid": lambda v: (
        f"compare a UUID column with a uuid.UUID, or its text{', as in uuid.UUID(bytes=...)' * isinstance(v, bytes)}"
    ),
}


def _utf8(text: str) -> bytes | None:
    try:
        return text.encode()
    except UnicodeEncodeError:
        return None


def _stripped(text: str) -> str:
    return text.strip(" \t\r\n")


def _holds(t: pa.DataType, value: int) -> bool:
    bits = t.bit_width
    if pa.types.is_unsigned_integer(t):
        return bool(0 <= value < 2**bits)
    return bool(-(2 ** (bits - 1)) <= value < 2 ** (bits - 1))


def _double(value: int | Decimal) -> float | None:
    """The nearest double, as Spark's cast gives; None beyond all doubles."""
    try:
        double = float(value)
    except OverflowError:
        return None
    return double if math.isfinite(double) else None


def _in_every_float(double: float, value: float, t: pa.DataType) -> bool:
    """Return whether comparing as float or as double is the same in Spark."""
    if t.bit_width == 64:
        return True
    with np.errstate(over="ignore"):
        return float(np.float32(double)) == value  # NumPy itself would compare as float32


def _scale(value: Decimal) -> int:
    exponent = value.normalize(_EXACT).as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def _whole_digits(value: Decimal) -> int:
    return max(0, value.adjusted() + 1) if value else 0


def _fits(value: Decimal, digits: int) -> bool:
    return _scale(value) <= digits and _whole_digits(value) <= digits
