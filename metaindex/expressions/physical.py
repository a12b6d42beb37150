"""Physical domains: three Arrow types in which the bounds of all columns of all files are kept and compared.

    column type                                            physical   how
    bool, signed and unsigned integers up to 32 bit, int64  int64      the number
    date32, date64                                         int64      days since 1970-01-01
    time32, time64                                         int64      microseconds since midnight
    timestamp, any unit, with or without zone              int64      microseconds since 1970-01-01 (with zone: UTC)
    decimal, precision up to 18                            int64      unscaled, at the type's scale
    float16, float32, float64                              double     the number; NaN is no bound
    uint64; decimal, precision 19 to 38                    binary     16 bytes: big-endian two's complement, sign bit
                                                                      flipped
    string, large_string, string_view                      binary     UTF-8
    binary, large, view and fixed-size                     binary     the bytes
    dictionary                                             that of its values
    everything else (nested, null, duration, extension)    none       no bounds

Promise: `a <= b` for two values of a type exactly when their physical values are so. Where the domain is coarser
(nanoseconds), lower bounds are rounded down and upper bounds up. Where a literal stands among them, `places` says.
"""

from __future__ import annotations

import datetime as dt
from decimal import Context, Decimal
from enum import Enum, auto
from typing import Any

import numpy as np
import pyarrow as pa

from metaindex.core import Vector

PhysicalValue = int | float | bytes

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1
EPOCH = dt.datetime(1970, 1, 1)
EPOCH_UTC = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
EPOCH_DAY = dt.date(1970, 1, 1).toordinal()
MICROSECOND = dt.timedelta(microseconds=1)
MICROS_PER_DAY = 86_400_000_000
_MICROS_PER_UNIT = {"s": 1_000_000, "ms": 1_000, "us": 1}
WIDE = Context(prec=2000)  # scaling a literal never rounds


class Family(Enum):
    """Families of types by how their values map to the physical domain."""

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

    @staticmethod
    def of(t: pa.DataType) -> Family | None:
        """Return the family of a type; None for a type without bounds."""
        is_ = pa.types
        if is_.is_boolean(t):
            return Family.BOOL
        if is_.is_uint64(t):
            return Family.UINT64
        if is_.is_integer(t):
            return Family.INTEGER
        if is_.is_floating(t):
            return Family.FLOAT
        if is_.is_string(t) or is_.is_large_string(t) or is_.is_string_view(t):
            return Family.TEXT
        if is_.is_binary(t) or is_.is_large_binary(t) or is_.is_binary_view(t) or is_.is_fixed_size_binary(t):
            return Family.BYTES
        if is_.is_timestamp(t):
            return Family.TIMESTAMP
        if is_.is_date(t):
            return Family.DATE
        if is_.is_time(t):
            return Family.TIME
        if is_.is_decimal(t):
            # A negative scale has no place in the formats; refusing it keeps the arithmetic plain.
            if t.precision > 38 or t.scale < 0:
                return None
            return Family.DECIMAL if t.precision <= 18 else Family.WIDE_DECIMAL
        if is_.is_dictionary(t):
            return Family.of(t.value_type)
        return None

    @staticmethod
    def may_be_nan(t: pa.DataType) -> bool:
        """Return whether a value of this type can be NaN. True for unknown types."""
        return Family.of(t) in (Family.FLOAT, None) and not pa.types.is_null(t)

    def held(self, whole: int) -> int | bytes:
        """Return a whole number as values of this family hold it: as it is, or in 16 bytes of the same order."""
        return whole if self in _IN_INT64 else (whole + 2**127).to_bytes(16, "big")

    @staticmethod
    def whole(held: int | bytes) -> int:
        """Return the whole number that a value holds."""
        return held if isinstance(held, int) else int.from_bytes(held, "big") - 2**127


_IN_INT64 = frozenset({Family.BOOL, Family.INTEGER, Family.DATE, Family.TIME, Family.TIMESTAMP, Family.DECIMAL})


def plain(t: pa.DataType) -> pa.DataType:
    return plain(t.value_type) if pa.types.is_dictionary(t) else t


def physical_type(t: pa.DataType) -> pa.DataType | None:
    """Return int64, double or binary; None for a type without bounds."""
    family = Family.of(t)
    if family is None:
        return None
    if family in _IN_INT64:
        return pa.int64()
    return pa.float64() if family is Family.FLOAT else pa.binary()


# Values of a column, to bounds ------------------------------------------------------------------------------------


def to_physical(values: pa.Array | pa.ChunkedArray, t: pa.DataType, *, upper: bool) -> pa.Array:
    """Values of a column of type `t` as bounds: lower bounds, or upper ones. Null where there is no value, where it is
    NaN and where it overflows."""
    family, t = Family.of(t), plain(t)
    if family is None:
        raise TypeError(f"bounds are kept of primitive columns; got {t}; ask physical_type first")
    values = Vector(values).array
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    match family:
        case Family.BOOL | Family.INTEGER:
            return values.cast(pa.int64())
        case Family.FLOAT:
            return _doubles(values, upper)
        case Family.DATE:
            return _days(values, upper)
        case Family.TIME | Family.TIMESTAMP:
            return _micros(values, upper)
        case Family.DECIMAL:
            return _unscaled(values.cast(pa.decimal128(t.precision, t.scale)))
        case Family.WIDE_DECIMAL:
            return _wide_decimals(values.cast(pa.decimal128(t.precision, t.scale)))
        case Family.UINT64:
            return _wide_integers(values.cast(pa.uint64()))
        case Family.TEXT | Family.BYTES:
            return values.cast(pa.binary())


def _doubles(values: pa.Array, upper: bool) -> pa.Array:
    values = values.cast(pa.float64())
    doubles, valid = Vector(values).items(np.float64), Vector(values).valid
    nan = np.isnan(doubles)
    # Zero has two signs that are equal: a reader that tells them apart must find both inside the bounds.
    doubles = np.where(doubles == 0, 0.0 if upper else -0.0, doubles)
    if nan.any():
        valid = ~nan if valid is None else valid & ~nan
    return Vector.arrow(doubles, valid, pa.float64())


def _days(values: pa.Array, upper: bool) -> pa.Array:
    if pa.types.is_date32(values.type):
        days = Vector(values).items(np.int32).astype(np.int64)
    else:
        days = _divided(Vector(values).items(np.int64), 86_400_000, upper)
    return Vector.arrow(days, Vector(values).valid, pa.int64())


def _micros(values: pa.Array, upper: bool) -> pa.Array:
    unit = values.type.unit
    raw = Vector(values).items(np.int32 if values.type.bit_width == 32 else np.int64).astype(np.int64, copy=False)
    valid = Vector(values).valid
    if unit == "ns":
        return Vector.arrow(_divided(raw, 1_000, upper), valid, pa.int64())
    factor = _MICROS_PER_UNIT[unit]
    limit = INT64_MAX // factor
    fits = (raw >= -limit) & (raw <= limit)
    if not fits.all():
        valid = fits if valid is None else valid & fits
    with np.errstate(over="ignore"):
        return Vector.arrow(raw * factor, valid, pa.int64())


def _divided(raw: np.ndarray[Any, Any], by: int, upper: bool) -> np.ndarray[Any, Any]:
    down = raw // by
    return down + (raw - down * by != 0) if upper else down


def _unscaled(values: pa.Array) -> pa.Array:
    # Precision 18 fits the low word, whose sign is then that of the whole.
    low_words = Vector(values).items("<i8", 2)[::2]
    return Vector.arrow(low_words.astype(np.int64), Vector(values).valid, pa.int64())


def _wide_decimals(values: pa.Array) -> pa.Array:
    little_endian = Vector(values).items(np.uint8, 16).reshape(-1, 16)
    rows = np.ascontiguousarray(little_endian[:, ::-1])
    rows[:, 0] ^= 0x80
    return Vector.arrow(rows, Vector(values).valid)


def _wide_integers(values: pa.Array) -> pa.Array:
    rows = np.zeros((len(values), 16), np.uint8)
    rows[:, 8:] = Vector(values).items(np.uint64).astype(">u8").view(np.uint8).reshape(-1, 8)
    rows[:, 0] = 0x80
    return Vector.arrow(rows, Vector(values).valid)


# Bounds, to what people read --------------------------------------------------------------------------------------


def from_physical(value: PhysicalValue | None, t: pa.DataType) -> object:
    """A bound as a Python value; as text where Python's calendar ends (years beyond 1 to 9999)."""
    if value is None:
        return None
    family, t = Family.of(t), plain(t)
    match family, value:
        case Family.BOOL, int():
            return bool(value)
        case Family.DATE, int():
            in_range = 1 <= value + EPOCH_DAY <= dt.date.max.toordinal()
            return dt.date.fromordinal(value + EPOCH_DAY) if in_range else str(np.datetime64(value, "D"))
        case Family.TIME, int():
            return (EPOCH + dt.timedelta(microseconds=value)).time() if 0 <= value < MICROS_PER_DAY else value
        case Family.TIMESTAMP, int():
            try:
                return (EPOCH if t.tz is None else EPOCH_UTC) + dt.timedelta(microseconds=value)
            except OverflowError:
                return str(np.datetime64(value, "us")) + ("" if t.tz is None else "Z")
        case Family.DECIMAL, int():
            return WIDE.scaleb(Decimal(value), -t.scale)
        case Family.WIDE_DECIMAL, bytes():
            return WIDE.scaleb(Decimal(Family.whole(value)), -t.scale)
        case Family.UINT64, bytes():
            return Family.whole(value)
        case Family.TEXT, bytes():
            return value.decode("utf-8", "backslashreplace")
        case _:
            return value
