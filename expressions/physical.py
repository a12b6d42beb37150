"""Physical domains: three Arrow types in which the bounds of all columns of all files are kept and compared.

    column type                                            physical   how
    bool, signed and unsigned integers up to 32 bit, int64  int64      the number
    date32, date64                                         int64      days since 1970-01-01
    time32, time64                                         int64      microseconds since midnight
    timestamp, any unit, with or without zone              int64      microseconds since 1970-01-01 (with zone: UTC)
    decimal, precision up to 18                            int64      unscaled, at the type's scale
    float16, float32, float64                              double     the number; NaN is no bound
    uint64; decimal, precision 19 to 38                    binary     16 bytes: big-endian two's complement, sign bit flipped
    string, large_string, string_view                      binary     UTF-8
    binary, large, view and fixed-size                     binary     the bytes
    dictionary                                             that of its values
    everything else (nested, null, duration, extension)    none       no bounds

Promise: `a <= b` for two values of a type exactly when their physical values are so. Where the domain is coarser
(nanoseconds), lower bounds are rounded down and upper bounds up, and an interval around a literal is widened, never
narrowed.
"""  # noqa: W505

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from decimal import ROUND_FLOOR, Context, Decimal
from enum import Enum, auto
from typing import Any
from uuid import UUID

import numpy as np
import pyarrow as pa

from .arrow_types import is_bytes, is_text
from .literals import Literal
from .records import dataclass
from .statistics import Interval
from .vectors import from_rows, from_vector, one_array, valid_mask, vector

PhysicalValue = int | float | bytes

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1
_EXACT_INTEGERS = 2**53  # beyond it neighbouring integers are one double
_EPOCH = dt.datetime(1970, 1, 1)
_EPOCH_UTC = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_EPOCH_DAY = dt.date(1970, 1, 1).toordinal()
_MICROSECOND = dt.timedelta(microseconds=1)
_MICROS_PER_DAY = 86_400_000_000
_MICROS_PER_UNIT = {"s": 1_000_000, "ms": 1_000, "us": 1}
_WIDE = Context(prec=2000)  # scaling a literal never rounds


class _Family(Enum):
    """Which way a type's values go into their physical domain."""

    BOOL = auto()
    INTEGER = auto()
    UINT64 = auto()
    DATE = auto()
    TIME = auto()
    TIMESTAMP = auto()
    DECIMAL = auto()
    WIDE_DECIMAL = auto()
    FLOAT = auto()
    TEXT = auto()
    BYTES = auto()


_IN_INT64 = frozenset({_Family.BOOL, _Family.INTEGER, _Family.DATE, _Family.TIME, _Family.TIMESTAMP, _Family.DECIMAL})


def _family(t: pa.DataType) -> _Family | None:
    is_ = pa.types
    if is_.is_boolean(t):
        return _Family.BOOL
    if is_.is_uint64(t):
        return _Family.UINT64
    if is_.is_integer(t):
        return _Family.INTEGER
    if is_.is_floating(t):
        return _Family.FLOAT
    if is_text(t):
        return _Family.TEXT
    if is_bytes(t):
        return _Family.BYTES
    if is_.is_timestamp(t):
        return _Family.TIMESTAMP
    if is_.is_date(t):
        return _Family.DATE
    if is_.is_time(t):
        return _Family.TIME
    if is_.is_decimal(t):
        # A negative scale has no place in the formats; refusing it keeps the arithmetic plain.
        if t.precision > 38 or t.scale < 0:
            return None
        return _Family.DECIMAL if t.precision <= 18 else _Family.WIDE_DECIMAL
    if is_.is_dictionary(t):
        return _family(t.value_type)
    return None


def _plain(t: pa.DataType) -> pa.DataType:
    return _plain(t.value_type) if pa.types.is_dictionary(t) else t


def physical_type(t: pa.DataType) -> pa.DataType | None:
    """int64, double or binary; None for a type without bounds."""
    family = _family(t)
    if family is None:
        return None
    if family in _IN_INT64:
        return pa.int64()
    return pa.float64() if family is _Family.FLOAT else pa.binary()


def column_domain_has_nan(t: pa.DataType) -> bool:
    """Can a value of this type be NaN? True for types that are not understood."""
    return _family(t) in (_Family.FLOAT, None) and not pa.types.is_null(t)


# Values of a column, to bounds ------------------------------------------------------------------------------------


def to_physical(values: pa.Array | pa.ChunkedArray, t: pa.DataType, *, upper: bool) -> pa.Array:
    """Values of a column of type `t` as bounds: lower bounds, or upper ones. Null where there is no value, where it is
    NaN and where it overflows."""
    family, t = _family(t), _plain(t)
    if family is None:
        raise TypeError(f"bounds are kept of primitive columns; got {t}; ask physical_type first")
    values = one_array(values)
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    match family:
        case _Family.BOOL | _Family.INTEGER:
            return values.cast(pa.int64())
        case _Family.FLOAT:
            return _doubles(values, upper)
        case _Family.DATE:
            return _days(values, upper)
        case _Family.TIME | _Family.TIMESTAMP:
            return _micros(values, upper)
        case _Family.DECIMAL:
            return _unscaled(values.cast(pa.decimal128(t.precision, t.scale)))
        case _Family.WIDE_DECIMAL:
            return _wide_decimals(values.cast(pa.decimal128(t.precision, t.scale)))
        case _Family.UINT64:
            return _wide_integers(values.cast(pa.uint64()))
        case _Family.TEXT | _Family.BYTES:
            return values.cast(pa.binary())


def _doubles(values: pa.Array, upper: bool) -> pa.Array:
    values = values.cast(pa.float64())
    doubles, valid = vector(values, np.float64), valid_mask(values)
    nan = np.isnan(doubles)
    # Zero has two signs that are equal: a reader that tells them apart must find both inside the bounds.
    doubles = np.where(doubles == 0, 0.0 if upper else -0.0, doubles)
    if nan.any():
        valid = ~nan if valid is None else valid & ~nan
    return from_vector(doubles, valid, pa.float64())


def _days(values: pa.Array, upper: bool) -> pa.Array:
    if pa.types.is_date32(values.type):
        days = vector(values, np.int32).astype(np.int64)
    else:
        days = _divided(vector(values, np.int64), 86_400_000, upper)
    return from_vector(days, valid_mask(values), pa.int64())


def _micros(values: pa.Array, upper: bool) -> pa.Array:
    unit = values.type.unit
    raw = vector(values, np.int32 if values.type.bit_width == 32 else np.int64).astype(np.int64, copy=False)
    valid = valid_mask(values)
    if unit == "ns":
        return from_vector(_divided(raw, 1_000, upper), valid, pa.int64())
    factor = _MICROS_PER_UNIT[unit]
    limit = INT64_MAX // factor
    fits = (raw >= -limit) & (raw <= limit)
    if not fits.all():
        valid = fits if valid is None else valid & fits
    with np.errstate(over="ignore"):
        return from_vector(raw * factor, valid, pa.int64())


def _divided(raw: np.ndarray[Any, Any], by: int, upper: bool) -> np.ndarray[Any, Any]:
    down = raw // by
    return down + (raw - down * by != 0) if upper else down


def _unscaled(values: pa.Array) -> pa.Array:
    low_words = vector(values, "<i8", 2)[::2]  # precision 18 fits the low word, whose sign is then that of the whole
    return from_vector(low_words.astype(np.int64), valid_mask(values), pa.int64())


def _wide_decimals(values: pa.Array) -> pa.Array:
    little_endian = vector(values, np.uint8, 16).reshape(-1, 16)
    rows = np.ascontiguousarray(little_endian[:, ::-1])
    rows[:, 0] ^= 0x80
    return from_rows(rows, valid_mask(values))


def _wide_integers(values: pa.Array) -> pa.Array:
    rows = np.zeros((len(values), 16), np.uint8)
    rows[:, 8:] = vector(values, np.uint64).astype(">u8").view(np.uint8).reshape(-1, 8)
    rows[:, 0] = 0x80
    return from_rows(rows, valid_mask(values))


def encode_wide(unscaled: int) -> bytes:
    """An integer of up to 128 bits in 16 bytes whose order is the numbers' order."""
    return (unscaled + 2**127).to_bytes(16, "big")


def decode_wide(data: bytes) -> int:
    return int.from_bytes(data, "big") - 2**127


# Bounds, to what people read --------------------------------------------------------------------------------------


def from_physical(value: PhysicalValue | None, t: pa.DataType) -> object:
    """A bound as a Python value; as text where Python's calendar ends (years beyond 1 to 9999)."""
    if value is None:
        return None
    family, t = _family(t), _plain(t)
    match family, value:
        case _Family.BOOL, int():
            return bool(value)
        case _Family.DATE, int():
            in_range = 1 <= value + _EPOCH_DAY <= dt.date.max.toordinal()
            return dt.date.fromordinal(value + _EPOCH_DAY) if in_range else str(np.datetime64(value, "D"))
        case _Family.TIME, int():
            return (_EPOCH + dt.timedelta(microseconds=value)).time() if 0 <= value < _MICROS_PER_DAY else value
        case _Family.TIMESTAMP, int():
            try:
                return (_EPOCH if t.tz is None else _EPOCH_UTC) + dt.timedelta(microseconds=value)
            except OverflowError:
                return str(np.datetime64(value, "us")) + ("" if t.tz is None else "Z")
        case _Family.DECIMAL, int():
            return _WIDE.scaleb(Decimal(value), -t.scale)
        case _Family.WIDE_DECIMAL, bytes():
            return _WIDE.scaleb(Decimal(decode_wide(value)), -t.scale)
        case _Family.UINT64, bytes():
            return decode_wide(value)
        case _Family.TEXT, bytes():
            return value.decode("utf-8", "backslashreplace")
        case _:
            return value


# Literals, to places among a type's values ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PhysicalInterval:
    """An interval in a physical domain; None is unbounded. `empty`: no value of the type lies inside. Integer intervals
    are always closed."""

    low: PhysicalValue | None
    high: PhysicalValue | None
    low_open: bool = False
    high_open: bool = False
    empty: bool = False


@dataclass(frozen=True, slots=True)
class _At:
    """The literal is this value, or, when not exact, lies strictly between it and the next one that the type has."""

    value: Any
    exact: bool = True


class _Outside(Enum):
    BELOW = auto()  # less than every value
    ABOVE = auto()


EMPTY = PhysicalInterval(None, None, empty=True)


def physical_value(lit: Literal, t: pa.DataType) -> PhysicalValue | None:
    """The literal in the physical domain of `t`; None when it is no value of the type, or cannot be compared
    (`physical_interval` tells which)."""
    place = _locate(lit, t)
    return place.value if isinstance(place, _At) and place.exact else None


def physical_interval(interval: Interval, t: pa.DataType) -> PhysicalInterval | None:
    """The same interval over values of `t`, by loss-free coercion: `> 3.5` over integers is `>= 4`, `< 1000` over
    anything smaller is unbounded. None: it cannot be compared, so nothing may be concluded."""
    low = high = None
    low_open = high_open = empty = False
    if interval.low is not None:
        place = _locate(interval.low, t)
        if place is None:
            return None
        if isinstance(place, _At):
            low, low_open = place.value, interval.low_open or not place.exact
        else:
            empty = place is _Outside.ABOVE
    if interval.high is not None:
        place = _locate(interval.high, t)
        if place is None:
            return None
        if isinstance(place, _At):
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


def physical_points(literals: Sequence[Literal], t: pa.DataType) -> list[PhysicalValue | None] | None:
    """`physical_value` of many literals, as most lists have them: integers for integers, or texts for texts, which are
    told at a glance. None as a whole where one of them cannot be compared."""
    values = [literal.value for literal in literals]
    kinds, family = set(map(type, values)), _family(t)
    if kinds == {int} and family is _Family.INTEGER:
        return [value if INT64_MIN <= value <= INT64_MAX else None for value in values]  # type: ignore[operator, misc]
    if kinds == {str} and family is _Family.TEXT and all(map(str.isascii, values)):  # type: ignore[arg-type]
        return [value.encode() for value in values]  # type: ignore[union-attr]
    found: list[PhysicalValue | None] = []
    for literal in literals:
        at = physical_interval(Interval(literal, literal), t)
        if at is None:
            return None
        found.append(None if at.empty else at.low)
    return found


def physical_intervals(intervals: Sequence[Interval], t: pa.DataType) -> list[PhysicalInterval | None]:
    """`physical_interval` of many: integers for integers and texts for texts are told at a glance."""
    family = _family(t)
    glance = {_Family.INTEGER: _of_integers, _Family.TEXT: _of_texts}.get(family) if family is not None else None
    if glance is None:
        return [physical_interval(one, t) for one in intervals]
    return [glance(one) or physical_interval(one, t) for one in intervals]


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


def _locate(lit: Literal, t: pa.DataType) -> _At | _Outside | None:
    value, family, t = lit.value, _family(t), _plain(t)
    match family, value:
        case (None, _) | (_, None):
            return None
        case _Family.BOOL, bool():
            return _At(int(value))
        case (_, bool()):
            return None
        case _Family.INTEGER, int() | float() | Decimal():
            return _in_int64(_floor(value, inexact_beyond=t.bit_width == 64))
        case _Family.UINT64, int() | float() | Decimal():
            return _in_range(_floor(value, inexact_beyond=True), 0, 2**64 - 1)
        case _Family.DECIMAL, int() | Decimal():
            return _in_int64(_floor(_scaled(value, t.scale)))
        case _Family.WIDE_DECIMAL, int() | Decimal():
            return _in_range(_floor(_scaled(value, t.scale)), -(2**127), 2**127 - 1)
        case _Family.FLOAT, float():
            return None if math.isnan(value) else _At(value)
        case _Family.FLOAT, int() | Decimal():
            return _as_double(value)
        case _Family.DATE, dt.datetime():
            if value.utcoffset() is not None:
                return None
            return _At(value.toordinal() - _EPOCH_DAY, exact=value.time() == dt.time(0))
        case _Family.DATE, dt.date():
            return _At(value.toordinal() - _EPOCH_DAY)
        case _Family.TIMESTAMP, dt.datetime():
            if (value.utcoffset() is None) != (t.tz is None):
                return None
            return _At((value - (_EPOCH if t.tz is None else _EPOCH_UTC)) // _MICROSECOND)
        case _Family.TIMESTAMP, dt.date():
            return _At((value.toordinal() - _EPOCH_DAY) * _MICROS_PER_DAY) if t.tz is None else None
        case _Family.TIME, dt.time():
            return _At((dt.datetime.combine(_EPOCH, value) - _EPOCH) // _MICROSECOND)
        case _Family.BYTES, UUID():
            return _At(value.bytes)
        case ((_Family.TEXT | _Family.BYTES), bytes()):
            return _At(value)
        case ((_Family.TEXT | _Family.BYTES), str()):
            try:
                return _At(value.encode())
            except UnicodeEncodeError:
                return None  # a lone surrogate: no column can hold it, and no two engines agree on it
        case _:
            return None


def _scaled(value: int | Decimal, scale: int) -> Decimal:
    number = Decimal(value)
    return number if number.adjusted() > 100 else _WIDE.scaleb(number, scale)  # out of every range as it is


def _floor(value: float | Decimal, *, inexact_beyond: bool = True) -> _At | _Outside | None:
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
    return _At(whole, exact=whole == value)


def _in_int64(place: _At | _Outside | None) -> _At | _Outside | None:
    return _in_range(place, INT64_MIN, INT64_MAX, wide=False)


def _in_range(place: _At | _Outside | None, low: int, high: int, *, wide: bool = True) -> _At | _Outside | None:
    if not isinstance(place, _At):
        return place
    if place.value < low:
        return _Outside.BELOW
    if place.value > high:
        return _Outside.ABOVE
    return _At(encode_wide(place.value), place.exact) if wide else place


def _as_double(value: int | Decimal) -> _At | None:
    try:
        double = float(value)
    except OverflowError:
        return None
    # An inexact one is None: engines round the literal (`= 0.1` matches the double 0.1), which `bind` has done where it
    # may be done.
    return _At(double) if math.isfinite(double) and Decimal(double) == value else None


# Prefixes ---------------------------------------------------------------------------------------------------------


def prefix_interval(prefix: str) -> Interval:
    """All texts with the prefix, and of valid UTF-8 no other: from it to its successor, the shortest next text by code
    points, which never is a surrogate. Unbounded above where there is none (an empty prefix, or U+10FFFF
    throughout)."""
    low = Literal(prefix) if prefix else None
    points = [ord(c) for c in prefix]
    while points and points[-1] == 0x10FFFF:
        points.pop()
    if not points:
        return Interval(low, None)
    points[-1] = 0xE000 if points[-1] == 0xD7FF else points[-1] + 1
    return Interval(low, Literal("".join(map(chr, points))), high_open=True)
