"""Texts as values of a column's type, as Spark's cast without ANSI reads them: that is what it shows of a partition's
text.

    text                                    value
    "" of string, binary                    itself (of any other type: NULL)
    " 5", "+5", "5.9" of int                5            "x", "1e2", "99999999999" of int    NULL
    "t", "YES", "1" of boolean              true
    "1.545" of decimal(5,2)                 1.55         "1000" of decimal(5,2)              NULL
    "2020", "2020-1-1", "2020-01-01 x"      a day, from any of its forms; of years beyond four digits too
    "2020-01-01 12" of timestamp            a moment in some zone, which whoever asks has to name

Promise: the value that Spark shows, NULL where Spark shows NULL, and `UNKNOWN` where its answer is not certain here.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from enum import Enum

import numpy as np
import pyarrow as pa

from metaindex.expressions.physical import encode_wide


class Unknown(Enum):
    """No answer, which is not NULL."""

    UNKNOWN = "unknown"


UNKNOWN = Unknown.UNKNOWN


@dataclass(frozen=True, slots=True)
class LocalMicros:
    """A moment on the clock of a zone that the text does not name: microseconds since 1970-01-01 of that clock."""

    micros: int

    def instant(self, zone: str) -> int | Unknown:
        """Microseconds since 1970-01-01 UTC; the earlier one where the clock shows it twice."""
        if zone in _UTC:
            return self.micros
        offset = _offset(zone, self.micros)
        return UNKNOWN if offset is None else self.micros - offset


Cast = int | float | bytes | LocalMicros | Unknown | None
"""A value in the physical domain of its type (`metaindex.expressions.physical`), NULL, or no answer."""

_BLANKS = "".join(map(chr, range(33)))
_UTC = ("Z", "UTC", "GMT")
_WHOLE = re.compile(r"([+-]?)(?:([0-9]+)(?:\.[0-9]*)?|\.[0-9]+)")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_HEX = re.compile(r"([+-]?0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+)[fFdD]?")
_SPECIAL = {"nan": math.nan, "inf": math.inf, "infinity": math.inf}
_DATE = re.compile(r"([+-]?)([0-9]{4,7})(?:-([0-9]{1,2})(?:-([0-9]{1,2})(?:[ T].*)?)?)?", re.DOTALL)
_MOMENT = re.compile(
    r"([+-]?)([0-9]{4,6})(?:-([0-9]{1,2})(?:-([0-9]{1,2})(?:[ T]([0-9]{1,2})(?::([0-9]{1,2})(?::([0-9]{1,2})(?:\.([0-9]{0,9}))?)?)?(.*))?)?)?",
    re.DOTALL,
)
_ZONE = re.compile(r"[+-][0-9]{1,2}(?::?[0-9]{2})?")
_LONGEST = 400  # of a number; longer ones are nothing a writer makes
_EXACT = Context(prec=2000)
_EPOCH = dt.datetime(1970, 1, 1)
_MICROS_PER_DAY = 86_400_000_000
_TRUE, _FALSE = frozenset({"t", "true", "y", "yes", "1"}), frozenset({"f", "false", "n", "no", "0"})


def cast(text: str, type_: pa.DataType) -> Cast:
    """The value of a text; types without a physical domain are UNKNOWN."""
    is_ = pa.types
    if is_.is_string(type_) or is_.is_binary(type_):
        return text.encode()
    if not text.isascii() or "\x7f" in text:
        return UNKNOWN if any(c.isspace() or not c.isprintable() for c in text) else None
    text = text.strip(_BLANKS)
    if len(text) > _LONGEST:
        return UNKNOWN
    if is_.is_boolean(type_):
        folded = text.lower()
        return 1 if folded in _TRUE else 0 if folded in _FALSE else None
    if is_.is_signed_integer(type_):
        return _whole(text, 1 << (type_.bit_width - 1))
    if is_.is_floating(type_):
        return _double(text) if is_.is_float64(type_) else _float(text)
    if is_.is_decimal(type_):
        return _decimal(text, type_)
    if is_.is_date32(type_):
        return _day(text)
    if is_.is_timestamp(type_) and type_.unit == "us":
        return _moment(text, zoned=type_.tz is not None)
    return UNKNOWN


def _whole(text: str, limit: int) -> int | Unknown | None:
    """An integer; digits behind a point say nothing."""
    found = _WHOLE.fullmatch(text)
    if found is None:
        return UNKNOWN if text in ("+", "-", ".", "+.", "-.") else None
    number = int(found[1] + (found[2] or "0"))
    return number if -limit <= number < limit else None


def _double(text: str) -> float | None:
    bare = text[1:] if text[:1] in ("+", "-") else text
    if bare.lower() in _SPECIAL and (bare.lower() != "nan" or bare == text or bare == "NaN"):
        return math.copysign(_SPECIAL[bare.lower()], -1.0 if text[0] == "-" else 1.0)
    if hexadecimal := _HEX.fullmatch(text):
        try:
            return float.fromhex(hexadecimal[1])
        except OverflowError:
            return math.inf if text[0] != "-" else -math.inf
    number = text[:-1] if text[-1:] in "fFdD" else text
    return float(number) if text and _NUMBER.fullmatch(number) else None


def _float(text: str) -> float | None:
    """The nearest 32-bit float of the text: by way of a double it could be rounded twice."""
    double = _double(text)
    if double is None or not math.isfinite(double):
        return double
    with np.errstate(over="ignore"):
        near = np.float32(double)
    number = text[:-1] if text[-1:] in "fFdD" else text
    if float(near) == double or not np.isfinite(near) or not _NUMBER.fullmatch(number):
        return float(near)
    exact = Decimal(number)
    other = np.nextafter(near, np.float32(np.inf if Decimal(float(near)) < exact else -np.inf))
    gap, gap_other = (abs(_EXACT.subtract(Decimal(float(f)), exact)) for f in (near, other))
    return float(other if gap_other < gap else near)


def _decimal(text: str, type_: pa.DataType) -> int | bytes | None:
    """Rounded half up to the type's scale; NULL where it does not fit."""
    if not _NUMBER.fullmatch(text):
        return None
    try:
        number = Decimal(text)
        if number and number.adjusted() > type_.precision:
            return None
        unscaled = int(number.scaleb(type_.scale, _EXACT).to_integral_value(ROUND_HALF_UP, _EXACT))
    except (InvalidOperation, OverflowError):
        return None
    if abs(unscaled) >= 10**type_.precision:
        return None
    return unscaled if type_.precision <= 18 else encode_wide(unscaled)


def _day(text: str) -> int | None:
    found = _DATE.fullmatch(text)
    day = None if found is None else _days(found[1], found[2], found[3], found[4])
    return day if day is not None and -(2**31) <= day < 2**31 else None


def _moment(text: str, zoned: bool) -> int | LocalMicros | Unknown | None:
    found = _MOMENT.fullmatch(text)
    if found is None:
        # A time without its day is one of today, where an instant is asked for.
        return UNKNOWN if zoned and re.match(r"T?[0-9]{1,2}:", text) else None
    sign, year, month, day, *clock, fraction, rest = found.groups()
    days = _days(sign, year, month, day)
    hour, minute, second = (int(part or 0) for part in clock)
    if days is None or hour > 23 or minute > 59 or second > 59:
        return None
    micros = days * _MICROS_PER_DAY + (hour * 3600 + minute * 60 + second) * 1_000_000
    micros += int((fraction or "").ljust(9, "0")[:6])
    zone = (rest or "").strip(_BLANKS)
    if not -(2**63) <= micros < 2**63:
        return None
    if not zone:
        return LocalMicros(micros) if zoned else micros
    offset = _offset(zone, micros)
    if offset is None:
        return UNKNOWN
    return micros - offset if zoned else micros  # what has no zone keeps its clock


def _offset(zone: str, local_micros: int) -> int | None:
    """Microseconds by which the zone's clock is ahead of UTC; None: not known here."""
    if zone in _UTC:
        return 0
    if _ZONE.fullmatch(zone):
        digits = zone[1:].replace(":", "")
        hours, minutes = (int(digits), 0) if len(digits) <= 2 else (int(digits[:-2]), int(digits[-2:]))
        if minutes > 59 or hours * 60 + minutes > 18 * 60:
            return None
        return (-1 if zone[0] == "-" else 1) * (hours * 60 + minutes) * 60_000_000
    import zoneinfo  # seldom needed, and it loads much

    try:
        known = zoneinfo.ZoneInfo(zone)
        offset = (_EPOCH + dt.timedelta(microseconds=local_micros)).replace(tzinfo=known).utcoffset()
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OverflowError, OSError):
        return None
    return None if offset is None else offset // dt.timedelta(microseconds=1)


def _days(sign: str, year: str, month: str | None, day: str | None) -> int | None:
    """Days since 1970-01-01 in the Gregorian calendar, extended both ways; None where there is no such day."""
    y, m, d = int(sign + year), int(month or 1), int(day or 1)
    leap = y % 4 == 0 and (y % 100 != 0 or y % 400 == 0)
    lengths = (31, 29 if leap else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
    if not 1 <= m <= 12 or not 1 <= d <= lengths[m - 1]:
        return None
    y -= m <= 2
    era, of_era = divmod(y, 400)
    of_year = (153 * (m + (-3 if m > 2 else 9)) + 2) // 5 + d - 1
    return era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468
