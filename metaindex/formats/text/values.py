"""Texts of CSV and JSON files -> typed values, by the rules of Spark's readers: a text that is no value of its column's
type is NULL.

Columns in regular form are cast as a whole by Arrow; in any other column each distinct text is read by the rules below.
A text on which Spark's answer is not certain (a zone by name, a time without a date) is refused.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

from metaindex.core import ScanError
from metaindex.expressions import Family
from metaindex.formats.files.time_patterns import TimePattern
from metaindex.formats.model import Field
from metaindex.formats.spark_texts import (
    BLANKS,
    DAY,
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

_INTEGER = re.compile(r"[+-]?\d+")
_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_TWO_CHARACTERS = re.compile("[\U00010000-\U0010ffff]")  # to Java, and neither is a digit
_TIMESTAMP = re.compile(
    r"([+-]?)([0-9]{4,6})(?:-([0-9]{1,2})(?:-([0-9]{1,2})(?:["
    r" T]([0-9]{1,2})(?::([0-9]{1,2})(?::([0-9]{1,2})(?:\.([0-9]{0,9}))?"
    r"[\x00-\x20]*(Z|UTC|GMT|[+-][0-9]{1,2}(?::?[0-9]{2})?)?)?)?)?)?)?"
)  # a zone only behind seconds
_OTHER_ZONE = re.compile(r"[+-]?\d{4,6}-\d{1,2}-\d{1,2}[ T]\d{1,2}:\d{1,2}:.*[A-Za-z+-]", re.DOTALL)
_REGULAR_DATE = r"^\d{4}-\d{2}-\d{2}$"
_REGULAR_TIMESTAMP = r"^\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}:\d{2}(\.\d{1,6})?$"


class Uncertain(Exception):
    """Raised if Spark's reading of the text is not known here."""


@dataclass(frozen=True, slots=True)
class ValueRules:
    """The options that say how texts become values; `json`: by the JSON reader's rules where they differ."""

    json: bool = False
    zone: str = "UTC"
    nan: str = "NaN"
    positive_inf: str = "Inf"
    negative_inf: str = "-Inf"
    date_pattern: TimePattern | None = None  # None: texts as Spark reads them without dateFormat
    timestamp_pattern: TimePattern | None = None  # of instants; times without a zone have their own
    local_pattern: TimePattern | None = None

    def column(self, texts: pa.Array, field: Field, where: str) -> pa.Array:
        """Convert one column of tokens to values of the field's type."""
        t = field.type
        if Family.of(t) is Family.TEXT:
            return texts.cast(t)
        if pa.types.is_binary(t) or pa.types.is_large_binary(t):
            return texts.cast(pa.binary()).cast(t)
        read = self.reader(t, field.name)
        whole = _whole(texts, t, self)
        if whole is not None:
            return whole
        coded = texts.dictionary_encode()
        try:
            values = [None if text is None else read(text) for text in coded.dictionary.to_pylist()]
        except Uncertain as error:
            raise ScanError.for_spark(
                f"a text file is read as Spark reads it, or refused; {where} holds {error} in column {field.name!r} of"
                f" type {t}"
            ) from None
        return typed(values, t).take(coded.indices)

    def reader(self, t: pa.DataType, name: str) -> Callable[[str], object]:
        """The function from a text to a value as `typed` takes it (days, microseconds, unscaled numbers stay plain)."""
        is_ = pa.types
        if is_.is_boolean(t):
            return lambda s: {"true": True, "false": False}.get(s.lower())
        if is_.is_signed_integer(t):
            limit = 1 << (t.bit_width - 1)
            return lambda s: _integer(s, limit)
        if is_.is_floating(t) and t.bit_width >= 32:
            return self._double if t.bit_width == 64 else lambda s: _float(self._double(s), s)
        if is_.is_decimal(t):
            return lambda s: decimal_value(s.replace(",", ""), t)
        if is_.is_date32(t):
            return self._day
        if is_.is_timestamp(t) and t.unit == "us":
            zoned = t.tz is not None
            return lambda s: self._micros(s, zoned)
        raise ScanError.for_spark(
            f"column {name!r} is of type {t}; text files are read here for booleans, integers, floats, decimals, texts,"
            " dates and timestamps"
        )

    def _double(self, s: str) -> float | None:
        special = {self.nan: math.nan, self.negative_inf: -math.inf, self.positive_inf: math.inf}
        if s in special:
            return special[s]
        text = s.strip(BLANKS)
        bare = text.lstrip("+-") if text[:2] not in ("++", "--", "+-", "-+") else ""
        if bare in ("NaN", "Infinity"):
            return float(text.replace("Infinity", "inf"))
        return java_double(text)

    def _day(self, s: str) -> int | None:
        if self.date_pattern is not None:
            parts = _fit(self.date_pattern, s)
            return None if parts is None else day_of(parts["year"], parts["month"], parts["day"])
        text = s.strip(BLANKS)
        parts = DAY.fullmatch(text)
        if parts is None:
            if (self.json and _INTEGER.fullmatch(text)) or "GMT" in text:
                raise Uncertain(repr(s))  # a day's number, or a form of old
            return None
        sign, year, month, day = parts.groups()
        return day_of(sign + year, month, day)

    def _micros(self, s: str, zoned: bool) -> int | None:
        pattern = self.timestamp_pattern if zoned else self.local_pattern
        if pattern is not None:
            return self._by_pattern(pattern, s, zoned)
        text = s.strip(BLANKS)
        parts = _TIMESTAMP.fullmatch(text)
        if parts is None:
            if _OTHER_ZONE.match(text) or "GMT" in text or re.match(r"T?\d{1,2}:", text):
                raise Uncertain(repr(s))  # a zone by name or with seconds, or a time of today
            if self.json and _INTEGER.fullmatch(text):
                raise Uncertain(repr(s))
            return None
        sign, year, month, day, hour, minute, second, fraction, zone = parts.groups()
        if zone is not None and not zoned:
            return None
        local = clock_micros(day_of(sign + year, month, day), (hour, minute, second), fraction)
        if local is None:
            return None
        return held(local - self._offset(local, zone, s) if zoned else local)

    def _by_pattern(self, pattern: TimePattern, s: str, zoned: bool) -> int | None:
        match = _fit(pattern, s)
        if match is None:
            return None
        parts = match.groupdict()
        clock = (parts.get("hour"), parts.get("minute"), parts.get("second"))
        days = day_of(match["year"], match["month"], match["day"])
        local = clock_micros(days, clock, parts.get("fraction"))
        zone = parts.get("zone")
        if zone is not None and not zoned:
            raise Uncertain(f"{s!r} with a zone, for a time without one")
        if local is None or not zoned:
            return local
        if zone is not None and zone not in "Zz" and (int(zone[1:3]) * 60 + int(zone[4:]) > 18 * 60 or zone[4:] > "59"):
            return None
        return local - self._offset(local, "Z" if zone == "z" else zone, s)

    def _offset(self, local: int, zone: str | None, s: str) -> int:
        """Microseconds that the local clock is ahead of UTC."""
        named = zone is None or zone in UTC_NAMES
        offset = named_offset(zone or self.zone, local) if named else fixed_offset(zone or "")
        if offset is None:
            raise Uncertain(repr(s) if zone else f"{s!r} in zone {self.zone}")
        return offset


def _fit(pattern: TimePattern, s: str) -> re.Match[str] | None:
    match = pattern.form.fullmatch(s)
    if match is None and pattern.signed.fullmatch(s):
        raise Uncertain(repr(s))
    return match


def typed(values: list[object], t: pa.DataType) -> pa.Array:
    """Build an array from the readers' results: days and microseconds by number, beyond any calendar's limit."""
    if pa.types.is_date32(t):
        return pa.array(values, pa.int32()).cast(t)
    if pa.types.is_timestamp(t):
        return pa.array(values, pa.int64()).cast(pa.timestamp("us")).cast(t)
    return pa.array(values, t)


def decimal_value(text: str, t: pa.DataType) -> Decimal | None:
    """Rounded half up to the type's scale; NULL where it does not fit."""
    number = _DECIMAL.fullmatch(text) and not _TWO_CHARACTERS.search(text)
    unscaled = unscaled_decimal(text, t) if number else None
    return None if unscaled is None else Decimal(unscaled).scaleb(-t.scale)


def _integer(s: str, limit: int) -> int | None:
    if not _INTEGER.fullmatch(s) or len(s) > 4000 or _TWO_CHARACTERS.search(s):
        return None
    number = int(s)
    return number if -limit <= number < limit else None


def _float(double: float | None, s: str) -> float | None:
    return None if double is None else nearest_float(double, s.strip(BLANKS))


def _whole(texts: pa.Array, t: pa.DataType, values: ValueRules) -> pa.Array | None:
    """The column cast by Arrow, where every text has the regular form for which both agree; None otherwise."""
    is_ = pa.types
    if is_.is_signed_integer(t):
        form = r"^-?[0-9]+$"
    elif is_.is_floating(t) and t.bit_width >= 32:
        form = r"^-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,2})?$"
    elif is_.is_decimal(t):
        form = rf"^-?[0-9]+(\.[0-9]{{1,{t.scale}}})?$" if t.scale else r"^-?[0-9]+$"
    elif is_.is_date32(t) and values.date_pattern is None:
        form = _REGULAR_DATE
    elif (
        is_.is_timestamp(t)
        and t.unit == "us"
        and (t.tz is None or values.zone == "UTC")
        and (values.local_pattern if t.tz is None else values.timestamp_pattern) is None
    ):
        form = _REGULAR_TIMESTAMP
    else:
        return None
    if pc.all(pc.match_substring_regex(texts, form)).as_py() is False:
        return None
    special = [word for word in (values.nan, values.positive_inf, values.negative_inf) if re.match(form, word)]
    if special and is_.is_floating(t) and pc.any(pc.is_in(texts, pa.array(special))).as_py():
        return None  # -9999 may be said to mean NaN
    try:
        if is_.is_timestamp(t):
            return texts.cast(pa.timestamp("us")).cast(t)
        return texts.cast(t)
    except pa.ArrowInvalid:
        return None  # a number too large, a day that is none
