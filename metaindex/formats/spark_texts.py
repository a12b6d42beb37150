"""Spark's parsing of texts, as far as all of its readers agree: partition values, fields of CSV and of JSON files. What
each of them takes for a number, a day or a moment is its own; what the parts of one mean is said here.

Digits are those of ASCII wherever Spark reads bytes (days, moments, zones, doubles), and those of every script where it
reads characters (integers and decimals of its text readers).
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Mapping
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from typing import Final

import numpy as np
import pyarrow as pa

BLANKS: Final = "".join(map(chr, range(33)))
"""What Spark trims."""
UTC_NAMES: Final = ("Z", "UTC", "GMT")
MICROS_PER_DAY: Final = 86_400_000_000

DAY: Final = re.compile(r"([+-]?)([0-9]{4,7})(?:-([0-9]{1,2})(?:-([0-9]{1,2})(?:[ T].*)?)?)?", re.DOTALL)
"""A day from any of its forms: sign, year, month, day."""

NUMBER: Final = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
"""A number in decimal digits."""
TRUTHS: Final[Mapping[str, bool]] = {
    **dict.fromkeys(("t", "true", "y", "yes", "1"), True),
    **dict.fromkeys(("f", "false", "n", "no", "0"), False),
}
"""What a cast to boolean takes, in lower case. Readers of text files take the two long words alone."""

_DAYS, _MICROS = range(-(2**31), 2**31), range(-(2**63), 2**63)

_HEX_NUMBER = re.compile(r"[+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+")
_EXACT = Context(prec=2000)
_LARGEST_FLOAT, _BEYOND_FLOATS = 2.0**128 - 2.0**104, 2**128 - 2**103  # what is smaller than this is none of infinity
_EPOCH = dt.datetime(1970, 1, 1)


def day_number(year: int, month: int, day: int) -> int | None:
    """Days since 1970-01-01 in the Gregorian calendar, extended both ways; None where there is no such day."""
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    lengths = (31, 29 if leap else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
    if not 1 <= month <= 12 or not 1 <= day <= lengths[month - 1]:
        return None
    years = year - (month <= 2)
    era, of_era = divmod(years, 400)
    of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468


def day_of(year: str, month: str | None, day: str | None) -> int | None:
    """Like `day_number`, from texts; missing parts are the first. The year may have a sign. None too for a day that
    Spark has no number for."""
    number = day_number(int(year), int(month or 1), int(day or 1))
    return number if number is not None and number in _DAYS else None


def clock_micros(
    days: int | None, clock: tuple[str | None, str | None, str | None], fraction: str | None
) -> int | None:
    """Microseconds since 1970 on the clock that shows it; None where there is no such day or time. What is finer than a
    microsecond is cut. See `held`."""
    hour, minute, second = (int(part or 0) for part in clock)
    if days is None or hour > 23 or minute > 59 or second > 59:
        return None
    whole = days * MICROS_PER_DAY + (hour * 3600 + minute * 60 + second) * 1_000_000
    return whole + int((fraction or "0").ljust(9, "0")[:6])


def held(micros: int) -> int | None:
    """The moment; None for one that Spark has no number for."""
    return micros if micros in _MICROS else None


def fixed_offset(zone: str) -> int | None:
    """Microseconds that `+2`, `-0230` or `+02:00` is ahead of UTC; None beyond 18 hours, which Spark refuses."""
    digits = zone[1:].replace(":", "")
    hours, minutes = (int(digits), 0) if len(digits) <= 2 else (int(digits[:-2]), int(digits[-2:]))
    if minutes > 59 or hours * 60 + minutes > 18 * 60:
        return None
    return (-1 if zone[0] == "-" else 1) * (hours * 60 + minutes) * 60_000_000


def named_offset(zone: str, local_micros: int) -> int | None:
    """Microseconds that the zone's clock is ahead of UTC when it shows this, the earlier time where it shows it twice;
    None: the zone, or the time, is not known here."""
    if zone in UTC_NAMES:
        return 0
    import zoneinfo  # seldom needed, and it loads much

    try:
        known = zoneinfo.ZoneInfo(zone)
        offset = (_EPOCH + dt.timedelta(microseconds=local_micros)).replace(tzinfo=known).utcoffset()
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OverflowError, OSError):
        return None
    return None if offset is None else offset // dt.timedelta(microseconds=1)


def java_double(text: str) -> float | None:
    """The value of a number as Java reads doubles: decimal or hexadecimal, with a letter for its type or without. None
    for all else; of NaN and infinity each reader takes other names."""
    number = _number_of(text)
    if NUMBER.fullmatch(number):
        return float(number)
    if not _HEX_NUMBER.fullmatch(number):
        return None
    try:
        return float.fromhex(number)
    except OverflowError:
        return -math.inf if number[0] == "-" else math.inf


def nearest_float(double: float, text: str) -> float:
    """The 32-bit float nearest to the value of a text, `double` being the nearest double: by way of it alone a decimal
    number could be rounded twice."""
    if not np.isfinite(double):
        return double
    with np.errstate(over="ignore"):
        near = np.float32(double)
    number = _number_of(text)
    if float(near) == double or not NUMBER.fullmatch(number):
        return float(near)
    exact = Decimal(number)
    if not np.isfinite(near):
        return float(near) if exact.copy_abs() >= _BEYOND_FLOATS else math.copysign(_LARGEST_FLOAT, double)
    other = np.nextafter(near, np.float32(np.inf if Decimal(float(near)) < exact else -np.inf))
    gap, gap_other = (abs(_EXACT.subtract(Decimal(float(f)), exact)) for f in (near, other))
    return float(other if gap_other < gap else near)


def unscaled_decimal(number: str, type_: pa.DataType) -> int | None:
    """The value of a number's text times 10^scale, rounded half up; None where it does not fit."""
    try:
        exact = Decimal(number)
        if not exact:
            return 0
        if exact.adjusted() > type_.precision - type_.scale:
            return None
        rounded = exact.quantize(Decimal(1).scaleb(-type_.scale), ROUND_HALF_UP, _EXACT)
        unscaled = int(rounded.scaleb(type_.scale, _EXACT))
    except (InvalidOperation, OverflowError):
        return None
    return unscaled if abs(unscaled) < 10**type_.precision else None


def _number_of(text: str) -> str:
    """Remove the suffix that marks a number's type in Java."""
    return text[:-1] if text.endswith(("f", "F", "d", "D")) else text
