"""Literals as places among the values of a type, in its physical domain: `> 3.5` over integers is `>= 4`.

A literal is a value of the type, or lies strictly between two neighbours, or outside of all; or it cannot be compared,
and nothing may be concluded. Where the domain is coarser than the type an interval is widened, never narrowed.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from decimal import ROUND_FLOOR, Decimal
from enum import Enum, auto
from typing import Any
from uuid import UUID

import pyarrow as pa

from metaindex.core import dataclass

from .literals import Literal
from .physical import (
    EPOCH,
    EPOCH_DAY,
    EPOCH_UTC,
    INT64_MAX,
    INT64_MIN,
    MICROS_PER_DAY,
    MICROSECOND,
    WIDE,
    Family,
    PhysicalValue,
    plain,
)
from .statistics import Interval

_EXACT_INTEGERS = 2**53  # beyond it neighbouring integers are one double


@dataclass(frozen=True, slots=True)
class PhysicalInterval:
    """An interval in a physical domain; None is unbounded. `empty`: it contains no value of the type. Integer intervals
    are always closed."""

    low: PhysicalValue | None
    high: PhysicalValue | None
    low_open: bool = False
    high_open: bool = False
    empty: bool = False

    @staticmethod
    def of(interval: Interval, t: pa.DataType) -> PhysicalInterval | None:
        """Convert an interval to values of `t` without loss: `> 3.5` over integers is `>= 4`, `< 1000` over anything
        smaller is unbounded. None: it cannot be compared, so nothing may be concluded."""
        low = high = None
        low_open = high_open = empty = False
        if interval.low is not None:
            place = _locate(interval.low, t)
            if place is None:
                return None
            if isinstance(place, _AtValue):
                low, low_open = place.value, interval.low_open or not place.exact
            else:
                empty = place is _Outside.ABOVE
        if interval.high is not None:
            place = _locate(interval.high, t)
            if place is None:
                return None
            if isinstance(place, _AtValue):
                high, high_open = place.value, interval.high_open and place.exact
            else:
                empty = empty or place is _Outside.BELOW
        if isinstance(low, int) and low_open:
            low, low_open, empty = min(low + 1, INT64_MAX), False, empty or low == INT64_MAX
        if isinstance(high, int) and high_open:
            high, high_open, empty = max(high - 1, INT64_MIN), False, empty or high == INT64_MIN
        if low is not None and high is not None:
            empty = empty or low > high or (low == high and (low_open or high_open))
        return EMPTY if empty else PhysicalInterval(low, high, low_open, high_open)

    @staticmethod
    def of_each(intervals: Sequence[Interval], t: pa.DataType) -> list[PhysicalInterval | None]:
        """Convert many as `of` does: integers for integers and texts for texts are told at a glance."""
        family = Family.of(t)
        glance = {Family.INTEGER: _of_integers, Family.TEXT: _of_texts}.get(family) if family is not None else None
        if glance is None:
            return [PhysicalInterval.of(interval, t) for interval in intervals]
        return [glance(interval) or PhysicalInterval.of(interval, t) for interval in intervals]


@dataclass(frozen=True, slots=True)
class _AtValue:
    """The literal is this value, or, when not exact, strictly between it and the next one of the type."""

    value: Any
    exact: bool = True


class _Outside(Enum):
    BELOW = auto()  # less than every value
    ABOVE = auto()


EMPTY = PhysicalInterval(None, None, empty=True)


def physical_points(literals: Sequence[Literal], t: pa.DataType) -> list[PhysicalValue | None] | None:
    """Return each literal in the physical domain of `t`, None for one that is no value of the type; None altogether if
    a literal cannot be compared. Lists of integers for integers, or of texts for texts, take a shortcut."""
    values = [literal.value for literal in literals]
    kinds, family = set(map(type, values)), Family.of(t)
    if kinds == {int} and family is Family.INTEGER:
        return [value if INT64_MIN <= value <= INT64_MAX else None for value in values]  # type: ignore[operator, misc]
    if kinds == {str} and family is Family.TEXT and all(map(str.isascii, values)):  # type: ignore[arg-type]
        return [value.encode() for value in values]  # type: ignore[union-attr]
    points: list[PhysicalValue | None] = []
    for literal in literals:
        at = PhysicalInterval.of(Interval(literal, literal), t)
        if at is None:
            return None
        points.append(None if at.empty else at.low)
    return points


def _of_integers(interval: Interval) -> PhysicalInterval | None:
    """None where it needs a closer look."""
    low = None if interval.low is None else interval.low.value
    high = None if interval.high is None else interval.high.value
    if low is not None:
        if type(low) is not int or not INT64_MIN < low < INT64_MAX:
            return None
        low = low + interval.low_open
    if high is not None:
        if type(high) is not int or not INT64_MIN < high < INT64_MAX:
            return None
        high = high - interval.high_open
    return EMPTY if low is not None and high is not None and low > high else PhysicalInterval(low, high)


def _of_texts(interval: Interval) -> PhysicalInterval | None:
    """None where it needs a closer look."""
    low = high = None
    if interval.low is not None:
        if not isinstance(text := interval.low.value, str) or not text.isascii():
            return None
        low = text.encode()
    if interval.high is not None:
        if not isinstance(text := interval.high.value, str) or not text.isascii():
            return None
        high = text.encode()
    is_open = interval.low_open or interval.high_open
    if low is not None and high is not None and (low > high or (low == high and is_open)):
        return EMPTY
    return PhysicalInterval(low, high, low is not None and interval.low_open, high is not None and interval.high_open)


def _locate(lit: Literal, t: pa.DataType) -> _AtValue | _Outside | None:
    value, family, t = lit.value, Family.of(t), plain(t)
    match family, value:
        case (None, _) | (_, None):
            return None
        case Family.BOOL, bool():
            return _AtValue(int(value))
        case (_, bool()):
            return None
        case Family.INTEGER, int() | float() | Decimal():
            return _held(family, _floor(value, inexact_beyond=t.bit_width == 64), INT64_MIN, INT64_MAX)
        case Family.UINT64, int() | float() | Decimal():
            return _held(family, _floor(value), 0, 2**64 - 1)
        case Family.DECIMAL, int() | Decimal():
            return _held(family, _floor(_scaled(value, t.scale)), INT64_MIN, INT64_MAX)
        case Family.WIDE_DECIMAL, int() | Decimal():
            return _held(family, _floor(_scaled(value, t.scale)), -(2**127), 2**127 - 1)
        case Family.FLOAT, float():
            return None if math.isnan(value) else _AtValue(value)
        case Family.FLOAT, int() | Decimal():
            return _as_double(value)
        case Family.DATE, dt.datetime():
            if value.utcoffset() is not None:
                return None
            return _AtValue(value.toordinal() - EPOCH_DAY, exact=value.time() == dt.time(0))
        case Family.DATE, dt.date():
            return _AtValue(value.toordinal() - EPOCH_DAY)
        case Family.TIMESTAMP, dt.datetime():
            if (value.utcoffset() is None) != (t.tz is None):
                return None
            return _AtValue((value - (EPOCH if t.tz is None else EPOCH_UTC)) // MICROSECOND)
        case Family.TIMESTAMP, dt.date():
            return _AtValue((value.toordinal() - EPOCH_DAY) * MICROS_PER_DAY) if t.tz is None else None
        case Family.TIME, dt.time():
            return _AtValue((dt.datetime.combine(EPOCH, value) - EPOCH) // MICROSECOND)
        case Family.BYTES, UUID():
            return _AtValue(value.bytes)
        case ((Family.TEXT | Family.BYTES), bytes()):
            return _AtValue(value)
        case ((Family.TEXT | Family.BYTES), str()):
            try:
                return _AtValue(value.encode())
            except UnicodeEncodeError:
                return None  # a lone surrogate: no column can hold it, and no two engines agree on it
        case _:
            return None


def _scaled(value: int | Decimal, scale: int) -> Decimal:
    number = Decimal(value)
    return number if number.adjusted() > 100 else WIDE.scaleb(number, scale)  # out of every range as it is


def _floor(value: float | Decimal, *, inexact_beyond: bool = True) -> _AtValue | _Outside | None:
    """The integer at or below a number. Doubles at 2^53 and beyond are not comparable with 64-bit integers: engines
    compare as doubles there."""
    if isinstance(value, float):
        if math.isnan(value):
            return None
        if math.isinf(value):
            return _Outside.ABOVE if value > 0 else _Outside.BELOW
        if inexact_beyond and abs(value) >= _EXACT_INTEGERS:
            return None
    if isinstance(value, Decimal):
        if value.adjusted() > 100:  # far outside of every type; and no number of a thousand digits is made
            return _Outside.BELOW if value.is_signed() else _Outside.ABOVE
        whole = int(value.to_integral_value(ROUND_FLOOR))
    else:
        whole = math.floor(value)
    return _AtValue(whole, exact=whole == value)


def _held(family: Family, place: _AtValue | _Outside | None, low: int, high: int) -> _AtValue | _Outside | None:
    if not isinstance(place, _AtValue):
        return place
    if place.value < low:
        return _Outside.BELOW
    if place.value > high:
        return _Outside.ABOVE
    return _AtValue(family.held(place.value), place.exact)


def _as_double(value: int | Decimal) -> _AtValue | None:
    try:
        double = float(value)
    except OverflowError:
        return None
    # An inexact one is None: engines round the literal (`= 0.1` matches the double 0.1), which `bind` has done where it
    # may be done.
    return _AtValue(double) if math.isfinite(double) and Decimal(double) == value else None


def prefix_interval(prefix: str) -> Interval:
    """Return the interval of all texts with the prefix, and of valid UTF-8 no others: from it to its successor, the
    shortest next text by code points, which never is a surrogate. Unbounded above if there is none (an empty prefix, or
    U+10FFFF throughout)."""
    low = Literal(prefix) if prefix else None
    points = [ord(c) for c in prefix]
    while points and points[-1] == 0x10FFFF:
        points.pop()
    if not points:
        return Interval(low, None)
    points[-1] = 0xE000 if points[-1] == 0xD7FF else points[-1] + 1
    return Interval(low, Literal("".join(map(chr, points))), high_open=True)
