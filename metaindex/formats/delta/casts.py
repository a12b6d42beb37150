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

import math
import re
from dataclasses import dataclass
from enum import Enum

import pyarrow as pa

from metaindex.expressions import Family
from metaindex.formats.spark_texts import (
    BLANKS,
    DAY,
    NUMBER,
    TRUTHS,
    UTC_NAMES,
    clock_micros,
    day_of,
    fixed_offset,
    held,
    java_double,
    named_offset,
    nearest_float,
    unscaled_decimal,
)


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
        if zone in UTC_NAMES:
            return self.micros
        offset = _offset(zone, self.micros)
        return UNKNOWN if offset is None else self.micros - offset


Cast = int | float | bytes | LocalMicros | Unknown | None
"""A value in the physical domain of its type (`metaindex.expressions.physical`), NULL, or no answer."""

_WHOLE = re.compile(r"([+-]?)(?:([0-9]+)(?:\.[0-9]*)?|\.[0-9]+)")
_SPECIAL = {"nan": math.nan, "inf": math.inf, "infinity": math.inf}
_MOMENT = re.compile(
    r"([+-]?)([0-9]{4,6})(?:-([0-9]{1,2})(?:-([0-9]{1,2})(?:["
    r" T]([0-9]{1,2})(?::([0-9]{1,2})(?::([0-9]{1,2})(?:\.([0-9]{0,9}))?(.*))?)?)?)?)?",
    re.DOTALL,
)  # a zone only behind seconds
_ZONE = re.compile(r"[+-][0-9]{1,2}(?::?[0-9]{2})?")
_LONGEST = 400  # of a number; longer ones are nothing a writer makes


def cast(text: str, type_: pa.DataType) -> Cast:
    """The value of a text; types without a physical domain are UNKNOWN."""
    is_ = pa.types
    if is_.is_string(type_) or is_.is_binary(type_):
        return text.encode()
    if not text.isascii() or "\x7f" in text:
        return UNKNOWN if any(c.isspace() or not c.isprintable() for c in text) else None
    text = text.strip(BLANKS)
    if len(text) > _LONGEST:
        return UNKNOWN
    if is_.is_boolean(type_):
        truth = TRUTHS.get(text.lower())
        return None if truth is None else int(truth)
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
    number_text = _WHOLE.fullmatch(text)
    if number_text is None:
        return UNKNOWN if text in ("+", "-", ".", "+.", "-.") else None
    number = int(number_text[1] + (number_text[2] or "0"))
    return number if -limit <= number < limit else None


def _double(text: str) -> float | None:
    bare = text[1:] if text[:1] in ("+", "-") else text
    if bare.lower() in _SPECIAL and (bare.lower() != "nan" or bare == text or bare == "NaN"):
        return math.copysign(_SPECIAL[bare.lower()], -1.0 if text[0] == "-" else 1.0)
    return java_double(text)


def _float(text: str) -> float | None:
    double = _double(text)
    return None if double is None else nearest_float(double, text)


def _decimal(text: str, type_: pa.DataType) -> int | bytes | None:
    """Rounded half up to the type's scale; NULL where it does not fit."""
    unscaled = unscaled_decimal(text, type_) if NUMBER.fullmatch(text) else None
    family = Family.of(type_)
    return None if unscaled is None or family is None else family.held(unscaled)


def _day(text: str) -> int | None:
    day_text = DAY.fullmatch(text)
    return None if day_text is None else day_of(day_text[1] + day_text[2], day_text[3], day_text[4])


def _moment(text: str, zoned: bool) -> int | LocalMicros | Unknown | None:
    moment_text = _MOMENT.fullmatch(text)
    if moment_text is None:
        # A time without its day is one of today, where an instant is asked for.
        return UNKNOWN if zoned and re.match(r"T?[0-9]{1,2}:", text) else None
    sign, year, month, day, *clock, fraction, rest = moment_text.groups()
    micros = clock_micros(day_of(sign + year, month, day), (clock[0], clock[1], clock[2]), fraction)
    zone = (rest or "").strip(BLANKS)
    if micros is None:
        return None
    if not zone and held(micros) is None:
        return None
    if not zone:
        return LocalMicros(micros) if zoned else micros
    offset = _offset(zone, micros)
    if offset is None:
        return UNKNOWN
    return held(micros - offset if zoned else micros)  # what has no zone keeps its clock


def _offset(zone: str, local_micros: int) -> int | None:
    """Microseconds by which the zone's clock is ahead of UTC; None: not known here."""
    return fixed_offset(zone) if _ZONE.fullmatch(zone) else named_offset(zone, local_micros)
