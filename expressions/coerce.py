"""One literal against one column type: what Spark's comparison makes of it, or that this cannot be said."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable
from decimal import Context, Decimal, InvalidOperation
from enum import Enum, auto
from typing import TypeVar

import numpy as np
import pyarrow as pa

from .arrow_types import is_text
from .literals import Literal
from .physical import physical_type

V = TypeVar("V")


class Coerced(Enum):
    """UNKNOWN: Spark compares in another type, so that bounds of this one prove nothing."""

    UNKNOWN = auto()


Answer = Literal | Coerced | str
"""The literal to compare with; or unknown; or, as text, the cure for nonsense."""

_INTEGER = re.compile(r"[+-]?[0-9]{1,38}")
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
_DATE = re.compile(r"([0-9]{4})(?:-([0-9]{1,2})(?:-([0-9]{1,2}))?)?")
_TIMESTAMP = re.compile(
    r"([0-9]{4}-[0-9]{1,2}-[0-9]{1,2})[ T]([0-9]{1,2}):([0-9]{1,2})(?::([0-9]{1,2})(?:\.([0-9]{1,6}))?)?(Z|[+-][0-9]{2}:[0-9]{2})?"
)
_SPECIAL = {"nan": math.nan, "inf": math.inf, "+inf": math.inf, "-inf": -math.inf}
_SPECIAL |= {"infinity": math.inf, "+infinity": math.inf, "-infinity": -math.inf}
_DOUBLE_DIGITS = 15  # decimals of so many digits are told apart by doubles
_EXACT = Context(prec=2000)  # Python's own context rounds to 28 digits


def coerce(lit: Literal, t: pa.DataType, time_zone: str) -> Answer:
    """The literal as a value that compares with a column of type `t` exactly as Spark compares the two."""
    if lit.is_null:
        return lit
    is_ = pa.types
    if is_.is_dictionary(t):
        return coerce(lit, t.value_type, time_zone)
    if physical_type(t) is None:
        return Coerced.UNKNOWN
    if is_.is_boolean(t):
        return _for_bool(lit)
    if is_.is_integer(t):
        return _for_integer(lit, t)
    if is_.is_floating(t):
        return _for_float(lit, t)
    if is_.is_decimal(t):
        return _for_decimal(lit, t)
    if is_.is_date(t):
        return _for_date(lit)
    if is_.is_timestamp(t):
        return _for_timestamp(lit, t.tz is None, time_zone)
    if is_.is_time(t):
        return Coerced.UNKNOWN if isinstance(lit.value, str) else "write the time as text, '10:30:00'"
    if is_text(t):
        return _for_text(lit)
    return _for_binary(lit)


def _for_bool(lit: Literal) -> Answer:
    match lit.value:
        case bool():
            return lit
        case str() as text if text.strip().lower() in ("true", "false"):
            return Literal(text.strip().lower() == "true")
        case _:
            return "compare a boolean column with True or False"


def _for_integer(lit: Literal, t: pa.DataType) -> Answer:
    match lit.value:
        case bool():
            return "compare a number column with a number, 1 instead of True"
        case int() as value:
            return lit if abs(value) < 10**38 else Coerced.UNKNOWN
        case float() as value:
            if not math.isfinite(value):
                return lit  # beyond every integer: compared as such
            if t.bit_width == 64 and abs(value) >= 2**53:
                return Coerced.UNKNOWN  # Spark casts the long to double there
            return Literal(int(value)) if value.is_integer() else lit
        case Decimal() as value:
            # Spark's common type has room for 20 digits before the point and 38 in all; then it rounds.
            if not _fits(value, 18 if t.bit_width == 64 else 28):
                return Coerced.UNKNOWN
            return Literal(int(value)) if value == value.to_integral_value() else lit
        case str() as text:
            text = _stripped(text)
            if not _INTEGER.fullmatch(text):
                return "write a whole number, or cast the column"
            # One beyond the column's type is an error, NULL or a wider comparison, as Spark is configured.
            return Literal(int(text)) if _holds(t, int(text)) else Coerced.UNKNOWN
        case _:
            return "compare a number column with a number"


def _for_float(lit: Literal, t: pa.DataType) -> Answer:
    match lit.value:
        case bool():
            return "compare a number column with a number, 1.0 instead of True"
        case float():
            return lit
        case int() as value:
            double = _double(value)
            # For a float column Spark's common type with an integer is float or double, as it is configured.
            return Literal(double) if double is not None and _in_every_float(double, value, t) else Coerced.UNKNOWN
        case Decimal() as value:
            double = _double(value)
            return Coerced.UNKNOWN if double is None else Literal(double)
        case str() as text:
            text = _stripped(text)
            if text.lower() in _SPECIAL:
                return Literal(_SPECIAL[text.lower()])
            if not _NUMBER.fullmatch(text):
                return "write a number, or cast the column"
            double = _double(Decimal(text))
            return Literal(double) if double is not None and _in_every_float(double, double, t) else Coerced.UNKNOWN
        case _:
            return "compare a number column with a number"


def _for_decimal(lit: Literal, t: pa.DataType) -> Answer:
    match lit.value:
        case bool():
            return "compare a decimal column with a number, 1 instead of True"
        case int() as value:
            return lit if _fits(Decimal(value), 38 - t.scale) and t.precision <= 38 else Coerced.UNKNOWN
        case Decimal() as value:
            # Beyond 38 digits in all Spark's common type loses some.
            whole = max(t.precision - t.scale, _whole_digits(value))
            return lit if whole + max(t.scale, _scale(value)) <= 38 else Coerced.UNKNOWN
        case float() as value:
            return _as_doubles(Decimal(repr(value)) if math.isfinite(value) else None, t)
        case str() as text:
            text = _stripped(text)
            if not _NUMBER.fullmatch(text):
                return "write a number, or cast the column"
            return _as_doubles(Decimal(text), t)
        case _:
            return "compare a decimal column with a number"


def _as_doubles(value: Decimal | None, t: pa.DataType) -> Answer:
    """Spark compares both as doubles: the same as exactly, while neither has more digits than doubles tell apart."""
    if value is None or t.precision > _DOUBLE_DIGITS or len(value.normalize(_EXACT).as_tuple().digits) > _DOUBLE_DIGITS:
        return Coerced.UNKNOWN
    return Literal(value) if abs(value.adjusted()) < 100 or not value else Coerced.UNKNOWN


def _for_date(lit: Literal) -> Answer:
    match lit.value:
        case dt.datetime() as value:
            if value.utcoffset() is not None:
                return Coerced.UNKNOWN  # the day's midnight depends on the session's zone
            return Literal(value.date()) if value.time() == dt.time(0) else lit
        case dt.date():
            return lit
        case str() as text:
            day = _parsed_date(_stripped(text))
            if day is not None:
                return Literal(day)
            return Coerced.UNKNOWN if _TIMESTAMP.fullmatch(_stripped(text)) else "write a day as 'YYYY-MM-DD'"
        case _:
            return "compare a date column with a date, or text 'YYYY-MM-DD'"


def _for_timestamp(lit: Literal, naive: bool, time_zone: str) -> Answer:
    """`naive`: the column is without zone."""
    match lit.value:
        case dt.datetime() as value:
            return _moment(value, naive, time_zone)
        case dt.date() as value:
            return _moment(dt.datetime(value.year, value.month, value.day), naive, time_zone)
        case str() as text:
            text = _stripped(text)
            day = _parsed_date(text)
            if day is not None:
                return _moment(dt.datetime(day.year, day.month, day.day), naive, time_zone)
            found = _TIMESTAMP.fullmatch(text)
            moment = None if found is None else _parsed_moment(found)
            if moment is None:
                return "write a timestamp as 'YYYY-MM-DD HH:MM:SS'"
            if naive and moment.utcoffset() is not None:
                return Coerced.UNKNOWN  # Spark's cast to a time without zone passes over the zone of the text
            return _moment(moment, naive, time_zone)
        case _:
            return "compare a timestamp column with a datetime, a date, or text 'YYYY-MM-DD HH:MM:SS'"


def _moment(value: dt.datetime, naive: bool, time_zone: str) -> Answer:
    """A time without zone and an instant are compared as instants, the time read in the session's zone, as Spark does. Where clocks never change, the instant as a
    time in that zone compares alike; elsewhere the hours that come twice or never make the order of times another one than that of instants."""
    if naive and value.utcoffset() is None:
        return Literal(value)
    import zoneinfo

    try:
        if naive:
            fixed = time_zone in ("UTC", "GMT") or time_zone.startswith("Etc/")
            local = value.astimezone(zoneinfo.ZoneInfo(time_zone)).replace(tzinfo=None)
            return Literal(local) if fixed else Coerced.UNKNOWN
        if value.utcoffset() is None:
            value = value.replace(tzinfo=zoneinfo.ZoneInfo(time_zone), fold=0)
        return Literal(value.astimezone(dt.UTC))
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OverflowError):
        return Coerced.UNKNOWN


def _for_text(lit: Literal) -> Answer:
    match lit.value:
        case str() as value:
            return lit if _utf8(value) is not None else Coerced.UNKNOWN
        case bytes() as value:
            try:
                return Literal(value.decode())
            except UnicodeDecodeError:
                return Coerced.UNKNOWN
        case dt.date():
            return Coerced.UNKNOWN  # Spark casts the column
        case bool() | int() | float() | Decimal() as value:
            return f"write {str(value)!r}, or cast the column"
        case _:
            return "compare a text column with text"


def _for_binary(lit: Literal) -> Answer:
    match lit.value:
        case bytes():
            return lit
        case str() as value:
            encoded = _utf8(value)
            return Coerced.UNKNOWN if encoded is None else Literal(encoded)
        case _:
            return "compare a binary column with bytes"


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
    """Does it matter whether Spark compares as float or as double?"""
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


def _parsed_date(text: str) -> dt.date | None:
    found = _DATE.fullmatch(text)
    if found is None:
        return None
    year, month, day = found.groups()
    return _made(lambda: dt.date(int(year), int(month or 1), int(day or 1)))


def _parsed_moment(found: re.Match[str]) -> dt.datetime | None:
    day_text, hour, minute, second, fraction, zone = found.groups()
    day = _parsed_date(day_text)
    if day is None:
        return None
    micros = int((fraction or "0").ljust(6, "0"))

    def make() -> dt.datetime:
        tz = None
        if zone == "Z":
            tz = dt.UTC
        elif zone is not None:
            offset = dt.timedelta(hours=int(zone[1:3]), minutes=int(zone[4:6]))
            tz = dt.timezone(-offset if zone[0] == "-" else offset)
        return dt.datetime(day.year, day.month, day.day, int(hour), int(minute), int(second or 0), micros, tz)

    return _made(make)


def _made(make: Callable[[], V]) -> V | None:
    try:
        return make()
    except (ValueError, InvalidOperation):
        return None
