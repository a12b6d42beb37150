"""The canonical form of a value, and its hash: the same number or text hashes alike whatever the type it was written
with.

    value                                                   form                                             bytes
    boolean, integer, and decimal and float of such value   the integer, where int64 holds it                8
    integer and decimal of whole value beyond int64         the integer, two's complement                    16
    other decimals                                          unscaled without trailing zeros, then the scale  16 + 1
    other floats, infinities                                the double (narrower ones widened)               8
    NaN, whatever its bits                                  the double 0x7FF8000000000000                    8
    date                                                    microseconds since 1970-01-01 at midnight        8
    timestamp (with zone: UTC), time                        microseconds                                     8
    text, binary (any kind)                                 UTF-8, the bytes                                 as many

Little-endian; the hash is xxHash64, seed 0. -0.0 is 0 and so the integer 0. NULL has no form. Dates far outside of the
calendar wrap round 2^64, which only makes two of them alike. A key of several columns is the xxHash64 of its parts'
hashes, 8 bytes each, one behind the other; a row with a NULL part has no key, as no equality of all parts can be TRUE
for it.

A value that is finer than the form (nanoseconds with a fraction of a microsecond, a date64 within a day), or beyond it,
has none: `UnkeyedValuesError`, and its file is unkeyed.

Decimals in canonical form, many at once: 128-bit numbers as four words of 32 bits, so that division by a power of
ten below 2^32 never overflows; as one word of 64 bits where that holds all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, auto
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import xxhash

from metaindex.core import Mask, MetaIndexError, Vector
from metaindex.expressions import (
    ColumnBounds,
    Family,
    Interval,
    Literal,
    PhysicalInterval,
    convert_bounds,
    physical_type,
)

from .xxhash64 import Hashes, byte_slices, hash_slices, hash_words

_NAN: Final = 0x7FF8000000000000
_MICROS_PER_DAY: Final = 86_400_000_000
_MICROS = {"s": 1_000_000, "ms": 1_000, "us": 1}
_INT64_MIN, _INT64_MAX = -(2**63), 2**63 - 1
_AT_ONCE: Final = 1 << 16


class UnkeyedValuesError(MetaIndexError):
    """A value has no canonical form, so that no key can name it."""


class Absent(Enum):
    """Result for a literal that is no value."""

    NO_VALUE = auto()  # no value of the column's type equals it


NO_VALUE: Final = Absent.NO_VALUE


def answers_for(stored: pa.DataType, now: pa.DataType) -> bool:
    """Return whether keys of one type may answer for a column that now has another: only if every reader shows each old
    value as the same value of the new type."""
    if stored == now:
        return physical_type(now) is not None
    if convert_bounds(ColumnBounds(stored, None, None), now) is None:
        return False
    is_, old, new = pa.types, plain_type(stored), plain_type(now)
    if is_.is_integer(old) and is_.is_floating(new):
        return bool(old.bit_width <= 32)  # doubles beyond 2^53 are not those integers
    if (is_.is_timestamp(old) and is_.is_timestamp(new)) or (is_.is_time(old) and is_.is_time(new)):
        return _MICROS[new.unit] <= _MICROS.get(old.unit, 1) if new.unit != "ns" else True  # a coarser unit cuts values
    return True


# Values -----------------------------------------------------------------------------------------------------------


def hash_key(columns: Sequence[pa.Array]) -> tuple[Hashes, Mask | None]:
    """The hash of each row's key, and where there is one (None: everywhere). What stands where there is none is
    arbitrary."""
    if len(columns) == 1:
        return hash_values(columns[0])
    hashes = np.empty((len(columns[0]), len(columns)), np.uint64)
    valid: Mask | None = None
    for at, values in enumerate(columns):
        hashes[:, at], there = hash_values(values)
        if there is not None:
            valid = there if valid is None else valid & there
    return hash_words(hashes), valid


def hash_values(values: pa.Array) -> tuple[Hashes, Mask | None]:
    """The hash of each value, and where there is one (None: everywhere). What stands under a NULL is arbitrary.
    UnkeyedValuesError where a value has no canonical form; TypeError for nested types and others without values to
    compare."""
    t, is_ = values.type, pa.types
    if is_.is_dictionary(t):
        return _hash_dictionary(values)
    if is_.is_string(t) or is_.is_binary(t) or is_.is_large_string(t) or is_.is_large_binary(t):
        return _hash_bytes(values), Vector(values).valid
    if is_.is_string_view(t) or is_.is_binary_view(t):
        return _hash_bytes(values.cast(pa.large_binary())), Vector(values).valid
    if is_.is_fixed_size_binary(t):
        return _hash_fixed(values), Vector(values).valid
    if is_.is_decimal(t):
        return hash_decimals(values), Vector(values).valid
    if is_.is_uint64(t):
        return _hash_uint64(values), Vector(values).valid
    if is_.is_floating(t):
        return _hash_floats(values), Vector(values).valid
    if (integers := _integers(values)) is not None:
        return hash_words(integers.view(np.uint64)), Vector(values).valid
    raise TypeError(f"keys are made of columns whose values compare; got {t}; choose another column")


def check_form(values: pa.Array) -> None:
    """UnkeyedValuesError where a value has no canonical form."""
    t, is_ = values.type, pa.types
    if is_.is_date64(t) or is_.is_timestamp(t) or is_.is_time(t):
        _integers(values)


def _integers(values: pa.Array) -> npt.NDArray[np.int64] | None:
    """The values whose form is an integer of 8 bytes; None where the type is another's."""
    t, is_ = values.type, pa.types
    if is_.is_boolean(t):
        return Vector(values).truths(null=False).astype(np.int64)
    if is_.is_integer(t):
        return Vector(values).items(t.to_pandas_dtype()).astype(np.int64, copy=False)
    if is_.is_date32(t):
        return Vector(values).items(np.int32).astype(np.int64) * _MICROS_PER_DAY
    if is_.is_date64(t):
        return _whole(values, Vector(values).items(np.int64), 86_400_000) * _MICROS_PER_DAY
    if is_.is_timestamp(t) or is_.is_time(t):
        raw = Vector(values).items(np.int32 if t.bit_width == 32 else np.int64).astype(np.int64, copy=False)
        if t.unit == "ns":
            return _whole(values, raw, 1_000)
        factor = _MICROS[t.unit]
        _refuse(values, np.abs(raw + (raw == _INT64_MIN)) > _INT64_MAX // factor if factor > 1 else None)
        return raw * factor
    return None


def _whole(values: pa.Array, raw: npt.NDArray[np.int64], by: int) -> npt.NDArray[np.int64]:
    whole = raw // by
    _refuse(values, whole * by != raw)
    return whole


def _refuse(values: pa.Array, bad: Mask | None) -> None:
    if bad is None or not bad.any():
        return
    valid = Vector(values).valid
    if valid is None or bool((bad & valid).any()):
        raise UnkeyedValuesError(
            f"times are keyed by whole microseconds and dates by whole days; a {values.type} here is finer, or beyond"
            " them; its file is always read"
        )


def _hash_floats(values: pa.Array) -> Hashes:
    dtype = {16: np.float16, 32: np.float32, 64: np.float64}[values.type.bit_width]
    doubles = Vector(values).items(dtype).astype(np.float64)
    out = np.empty(len(doubles), np.uint64)
    for start in range(0, len(doubles), _AT_ONCE):
        some = doubles[start : start + _AT_ONCE]
        out[start : start + _AT_ONCE] = hash_words(double_words(some))
    return out


def double_words(doubles: npt.NDArray[np.float64]) -> npt.NDArray[np.uint64]:
    """The canonical form of doubles as words."""
    words = doubles.view(np.uint64)
    with np.errstate(invalid="ignore"):
        whole = (np.floor(doubles) == doubles) & (doubles >= -(2.0**63)) & (doubles < 2.0**63)
        integers = np.where(whole, doubles, 0.0).astype(np.int64).view(np.uint64)
    words = np.where(whole, integers, words)
    return np.where(np.isnan(doubles), np.uint64(_NAN), words)


def _hash_uint64(values: pa.Array) -> Hashes:
    words = Vector(values).items(np.uint64)
    hashes = hash_words(words)
    large = np.flatnonzero(words >> np.uint64(63))
    if len(large):
        pairs = np.zeros((len(large), 2), np.uint64)
        pairs[:, 0] = words[large]
        hashes[large] = hash_words(pairs)
    return hashes


def _hash_bytes(values: pa.Array) -> Hashes:
    held, offsets = byte_slices(values)
    return hash_slices(held, offsets[:-1], np.diff(offsets))


def _hash_fixed(values: pa.Array) -> Hashes:
    width, count = values.type.byte_width, len(values)
    data = Vector(values).items(np.uint8, width)
    return hash_slices(data, np.arange(count, dtype=np.int64) * width, np.full(count, width, np.int64))


def _hash_dictionary(values: pa.Array) -> tuple[Hashes, Mask | None]:
    """A value is hashed once however often it stands."""
    hashes, there = hash_values(values.dictionary)
    indices = values.indices
    valid = Vector(indices).valid
    at = Vector(indices).items(indices.type.to_pandas_dtype())
    if valid is not None:
        at = np.where(valid, at, 0)
    if not len(hashes):
        return np.zeros(len(at), np.uint64), valid
    if there is not None:
        valid = there[at] if valid is None else valid & there[at]
    return hashes[at], valid


# Literals ---------------------------------------------------------------------------------------------------------


def hash_literal(literal: Literal, column_type: pa.DataType) -> int | Absent | None:
    """The hash of the values of a column of this type that equal the literal; NO_VALUE where none can; None where that
    cannot be said, and every file is kept."""
    if literal.is_nan and pa.types.is_floating(plain_type(column_type)):
        return _hash_int(_NAN)
    stored = PhysicalInterval.of(Interval(literal, literal), column_type)
    if stored is None:
        return None
    if stored.empty:
        return NO_VALUE
    if stored.low is None or stored.low != stored.high:
        return None
    return _hash_physical(stored.low, plain_type(column_type))


def hash_literals(literals: Sequence[Literal], types: Sequence[pa.DataType]) -> int | Absent | None:
    """The hash of the keys that equal the literals column by column. NO_VALUE as soon as one part has no value: no row
    can equal it."""
    hashes = [hash_literal(literal, t) for literal, t in zip(literals, types, strict=True)]
    if len(hashes) == 1:
        return hashes[0]
    if NO_VALUE in hashes:
        return NO_VALUE
    if None in hashes:
        return None
    return xxhash.xxh64_intdigest(
        b"".join(hashed.to_bytes(8, "little") for hashed in hashes if isinstance(hashed, int))
    )


def hash_each_list(
    lists: Sequence[Sequence[Sequence[Literal]]], types: Sequence[pa.DataType]
) -> tuple[Hashes, npt.NDArray[np.intp], frozenset[int]]:
    """Return the hashes of the values of many lists, each with its list's number, without those that have no value; and
    the lists with an unknown one. Plain integers or texts are hashed as columns."""
    flat = [(number, value) for number, values in enumerate(lists) for value in values]
    if len(types) == 1:
        fast = _hash_plain([literal.value for _, (literal,) in flat], plain_type(types[0]))
        if fast is not None:
            return fast, np.array([number for number, _ in flat], np.intp), frozenset()
    hashes, owners, unsaid = [], [], set()
    for number, value in flat:
        hashed = hash_literals(value, types)
        if hashed is None:
            unsaid.add(number)
        elif isinstance(hashed, int):
            hashes.append(hashed)
            owners.append(number)
    return np.array(hashes, np.uint64), np.array(owners, np.intp), frozenset(unsaid)


def _hash_plain(values: list[object], t: pa.DataType) -> Hashes | None:
    """Hash integers for an integer column, or texts for a text column, which are their own physical values. None for
    others."""
    kinds, is_ = set(map(type, values)), pa.types
    if kinds == {int} and is_.is_integer(t) and not is_.is_uint64(t):
        try:
            integers = np.array(values, np.int64)
        except OverflowError:
            return None
        return hash_words(integers.view(np.uint64))  # what the type does not hold is in no file
    if kinds == {str} and (is_.is_string(t) or is_.is_large_string(t)):
        try:
            texts = [str(value).encode() for value in values]
        except UnicodeEncodeError:
            return None
        return np.fromiter(map(xxhash.xxh64_intdigest, texts), np.uint64, len(texts))
    return None


def _hash_physical(value: int | float | bytes, t: pa.DataType) -> int:
    is_ = pa.types
    if is_.is_decimal(t):
        return _hash_decimal(int(value) if isinstance(value, float) else Family.whole(value), t.scale)
    if is_.is_uint64(t) and isinstance(value, bytes):
        return _hash_int(Family.whole(value))
    if isinstance(value, bytes):
        return xxhash.xxh64_intdigest(value)
    if isinstance(value, float):
        return int(hash_words(double_words(np.array([value], np.float64)))[0])
    return _hash_int(value * _MICROS_PER_DAY if is_.is_date(t) else value)


def _hash_int(value: int) -> int:
    width = 8 if _INT64_MIN <= value <= _INT64_MAX else 16
    return xxhash.xxh64_intdigest(value.to_bytes(width, "little", signed=True))


def _hash_decimal(unscaled: int, scale: int) -> int:
    while scale and unscaled % 10 == 0:
        unscaled, scale = unscaled // 10, scale - 1
    if not scale:
        return _hash_int(unscaled)
    return xxhash.xxh64_intdigest(unscaled.to_bytes(16, "little", signed=True) + bytes([scale]))


def plain_type(t: pa.DataType) -> pa.DataType:
    """The type of the values: of a dictionary, its values'."""
    return plain_type(t.value_type) if pa.types.is_dictionary(t) else t


_Words = npt.NDArray[np.uint64]
_STEPS = (8, 8, 8, 8, 4, 2, 1)
"""Zeros stripped at a time, where so many stand at the end: together any number of them."""


def hash_decimals(values: pa.Array) -> Hashes:
    """The hash of each decimal's canonical form (`canonical` has the table). What stands under a NULL is arbitrary."""
    t = values.type
    if not pa.types.is_decimal128(t):
        values = values.cast(pa.decimal128(t.precision, t.scale))
    raw = Vector(values).items("<u8", 2).reshape(-1, 2)
    limbs, negative = _magnitudes(raw)
    scales = np.full(len(raw), t.scale, np.uint8)
    _strip(limbs, scales)
    low, high = _signed(limbs, negative)
    short = (scales == 0) & (high == np.where(low >> np.uint64(63), np.uint64(2**64 - 1), np.uint64(0)))
    hashes = hash_words(low)
    if (rows := np.flatnonzero((scales == 0) & ~short)).size:
        hashes[rows] = hash_words(np.stack([low[rows], high[rows]], axis=1))
    if (rows := np.flatnonzero(scales)).size:
        form = np.empty((len(rows), 17), np.uint8)
        form[:, :16] = np.stack([low[rows], high[rows]], axis=1).astype("<u8").view(np.uint8).reshape(-1, 16)
        form[:, 16] = scales[rows]
        starts = np.arange(len(rows), dtype=np.int64) * 17
        hashes[rows] = hash_slices(form.reshape(-1), starts, np.full(len(rows), 17, np.int64))
    return hashes


def _magnitudes(raw: _Words) -> tuple[_Words, npt.NDArray[np.bool_]]:
    """Two's complement words as limbs of the absolute value, the highest first: a row of the matrix each."""
    negative = (raw[:, 1] >> np.uint64(63)).astype(np.bool_)
    low = np.where(negative, ~raw[:, 0] + np.uint64(1), raw[:, 0])
    carry = negative & (low == 0)
    high = np.where(negative, ~raw[:, 1] + carry.astype(np.uint64), raw[:, 1])
    if not high.any():
        return low[np.newaxis], negative
    half, mask = np.uint64(32), np.uint64(2**32 - 1)
    return np.stack([high >> half, high & mask, low >> half, low & mask]), negative


def _strip(limbs: _Words, scales: npt.NDArray[np.uint8]) -> None:
    """Takes zeros from the end, as many as the scale has. Zero itself has scale 0."""
    scales[~limbs.any(axis=0)] = 0
    for step in _STEPS:
        rows = np.flatnonzero(scales >= step)
        if not len(rows):
            continue
        quotient, rest = _divided(limbs[:, rows], 10**step)
        even = rest == 0
        limbs[:, rows[even]] = quotient[:, even]
        scales[rows[even]] -= step


def _divided(limbs: _Words, by: int) -> tuple[_Words, _Words]:
    divisor, half = np.uint64(by), np.uint64(32)
    quotient = np.empty_like(limbs)
    rest = np.zeros(limbs.shape[1], np.uint64)
    for limb, into in zip(limbs, quotient, strict=True):
        part = (rest << half) | limb
        into[:] = part // divisor
        rest = part - into * divisor
    return quotient, rest


def _signed(limbs: _Words, negative: npt.NDArray[np.bool_]) -> tuple[_Words, _Words]:
    half, low, high = np.uint64(32), limbs[-1], np.zeros_like(limbs[-1])
    if len(limbs) > 1:
        low, high = (limbs[2] << half) | low, (limbs[0] << half) | limbs[1]
    minus_low = ~low + np.uint64(1)
    minus_high = ~high + (minus_low == 0).astype(np.uint64)
    return np.where(negative, minus_low, low), np.where(negative, minus_high, high)
