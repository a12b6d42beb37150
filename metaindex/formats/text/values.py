"""Texts of CSV and JSON files -> typed values, by the rules of Spark's readers: a text that is no value of its column's
type is NULL.

Texts in regular form are cast together by Arrow; each distinct one of the others is read by the rules below. A text on
which Spark's answer is not certain (a zone by name, a time without a date) is refused.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from contextlib import suppress
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
_REGULAR_DAY = (
    r"(?:\d{4}-(?:(?:0[13-9]|1[0-2])-(?:0[1-9]|[12]\d|30)|02-(?:0[1-9]|1\d|2[0-8])|(?:0[13578]|1[02])-31)"
    r"|(?:\d\d(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29)"
)  # of a calendar that has it
_REGULAR_CLOCK = r"[ T](?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,6})?"
_REGULAR_ZONE = r"(?:Z|[+-](?:0\d|1[0-7]):[0-5]\d)"
_LEAST_DIGITS = {8: 2, 16: 4, 32: 9, 64: 18}
"""Of an integer of so many bits: as many as always fit."""


class Uncertain(Exception):
    """Raised if Spark's reading of the text is not known here."""


Doubts = dict[tuple[str, ...], int | str]
"""What is behind the NULLs of columns, by the names from the column down to a field: how many values are none of its
type, and by the column's own name why it is refused. Who asks for it gets NULLs of a refused column, and who does not
an error."""


def count_lost(lost: Doubts, path: tuple[str, ...], count: int) -> None:
    """Add to the values that are none of their type."""
    before = lost.get(path, 0)
    if count and isinstance(before, int):
        lost[path] = before + count


def add_lost(doubts: Doubts | None, lost: Doubts) -> None:
    """Add all that `count_lost` has counted."""
    if doubts is not None:
        for path, count in lost.items():
            count_lost(doubts, path, int(count))


def certain(field: Field, rows: int, doubts: Doubts | None, read: Callable[[Field], pa.Array]) -> pa.Array:
    """Read a column, or note why it is refused."""
    if doubts is None:
        return read(field)
    if not isinstance(doubts.get((field.name,)), str):
        try:
            return read(field)
        except ScanError as error:
            doubts[field.name,] = str(error)
    return pa.nulls(rows, field.type)


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
        values, left = self._regular(texts, t)
        if values is not None and left.null_count == len(left):
            return values
        coded = left.dictionary_encode()
        try:
            others = [None if text is None else read(text) for text in coded.dictionary.to_pylist()]
        except Uncertain as error:
            raise ScanError.for_spark(
                f"a text file is read as Spark reads it, or refused; {where} holds {error} in column {field.name!r} of"
                f" type {t}"
            ) from None
        by_hand = typed(others, t).take(coded.indices)
        return by_hand if values is None else pc.coalesce(values, by_hand)

    def _regular(self, texts: pa.Array, t: pa.DataType) -> tuple[pa.Array | None, pa.Array]:
        """The values of the texts in a form for which Arrow and Spark agree, if there are some, and the other texts."""
        values, left = None, texts
        for form, as_ in self._forms(t):
            if values is None and pa.types.is_timestamp(t) and _are_clocks(texts, as_):
                with suppress(pa.ArrowInvalid):
                    return texts.cast(as_).cast(t), pa.nulls(len(texts), texts.type)
            fits = pc.match_substring_regex(left, f"^{form}$")
            if pa.types.is_floating(t):  # -9999 may be said to mean NaN
                fits = pc.and_not(fits, pc.is_in(left, pa.array([self.nan, self.positive_inf, self.negative_inf])))
            every = pc.all(fits).as_py() is not False
            if not every and not pc.any(fits).as_py():
                continue
            try:
                some = (left if every else pc.if_else(fits, left, None)).cast(as_).cast(t)
            except pa.ArrowInvalid:
                continue  # a number too large
            values = some if values is None else pc.coalesce(values, some)
            left = pa.nulls(len(left), left.type) if every else pc.if_else(fits, None, left)
            if every:
                break
        return values, left

    def _forms(self, t: pa.DataType) -> list[tuple[str, pa.DataType]]:
        """Return forms of text (each where none before it fits) with the type to which Arrow casts them."""
        is_ = pa.types
        if is_.is_signed_integer(t):
            return [(f"-?[0-9]{{1,{_LEAST_DIGITS[t.bit_width]}}}", t), ("-?[0-9]+", t)]
        if is_.is_floating(t) and t.bit_width >= 32:
            return [(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,2})?", t)]
        if is_.is_decimal(t):
            room = t.precision - t.scale  # of more digits, Arrow's product may wrap around
            digits = f"-?[0-9]{{1,{room}}}" if room > 0 else "-?0"
            return [(rf"{digits}(\.[0-9]{{1,{t.scale}}})?" if t.scale else digits, t)]
        if is_.is_date32(t) and self.date_pattern is None:
            return [(_REGULAR_DAY, t)]
        if is_.is_timestamp(t) and t.unit == "us":
            if t.tz is None:
                return [(_REGULAR_DAY + _REGULAR_CLOCK, t)] if self.local_pattern is None else []
            if self.timestamp_pattern is None:
                zoned = (_REGULAR_DAY + _REGULAR_CLOCK + _REGULAR_ZONE, pa.timestamp("us", "UTC"))
                local = (_REGULAR_DAY + _REGULAR_CLOCK, pa.timestamp("us"))
                return [zoned, local] if self.zone == "UTC" else [zoned]
        return []

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


def _are_clocks(texts: pa.Array, as_: pa.TimestampType) -> bool:
    """Return whether those of the texts that Arrow casts are regular days with clocks to the second: it knows no
    others of so many characters that end so, and with a zone none that is cast to a time without one."""
    least, zoned = pc.min(pc.binary_length(texts)).as_py(), as_.tz is not None
    return least is not None and least >= 19 + zoned and (not zoned or pc.all(pc.ends_with(texts, "Z")).as_py())


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
    return None if unscaled is None else Decimal(f"{unscaled}E{-t.scale}")  # exact: in no context


def _integer(s: str, limit: int) -> int | None:
    if not _INTEGER.fullmatch(s) or len(s) > 4000 or _TWO_CHARACTERS.search(s):
        return None
    number = int(s)
    return number if -limit <= number < limit else None


def _float(double: float | None, s: str) -> float | None:
    return None if double is None else nearest_float(double, s.strip(BLANKS))
