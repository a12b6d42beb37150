"""Values as bytes whose order is the values' order, and literals as bytes or ranges of bytes. Of `value_keys` and `value_lists`.

    column type (at the build)                         bytes
    boolean, integer, date, time, timestamp,           the physical int64 (`expressions.physical`), big-endian, sign bit flipped
    decimal of up to 18 digits
    floats                                             the double, big-endian; sign bit flipped where it is positive, all bits where negative; -0.0 is 0.0; NaN is 8 bytes of 0xFF
    uint64, wider decimals                             the physical 16 bytes
    text, binary                                       the bytes; of values longer than 255: their first 248, then the big-endian xxHash64 of the whole: 256 bytes, as no other has
    several columns                                    of each part two bytes of length, big-endian, and its bytes; cut as texts are. Their order means nothing

Cut values are in order up to their first 248 bytes, and two that differ may (hardly) be the same 256 bytes: ranges err wide around them, and nothing is concluded from equality of cut bytes
but that a file may hold the value.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import xxhash

from expressions.literals import Literal
from expressions.physical import (
    PhysicalInterval,
    PhysicalValue,
    decode_wide,
    encode_wide,
    physical_interval,
    physical_type,
    to_physical,
)
from expressions.records import dataclass
from expressions.statistics import Interval
from expressions.vectors import from_rows, from_vector, valid_mask, vector
from metaindex.kinds.canonical import NO_VALUE, Absent, check_form, plain_type
from metaindex.kinds.xxhash64 import hash_slices

CUT = 256
"""Bytes of a cut value. Fewer: the value is whole."""
KEPT = 248
NAN = b"\xff" * 8
_MANY = 8
_MANY = 8
_MICROS_PER_DAY = 86_400_000_000
_INT64_MIN, _INT64_MAX = -(2**63), 2**63 - 1


# Values -----------------------------------------------------------------------------------------------------------


def encode_key(columns: Sequence[pa.Array], types: Sequence[pa.DataType]) -> pa.Array:
    """The bytes of each row's key, null where a part is NULL. `types`: of the table's columns. UnkeyedValuesError as in `canonical.hash_values`; ArrowInvalid for what a type does not hold."""
    parts = [encode_values(values, t) for values, t in zip(columns, types, strict=True)]
    if len(parts) == 1:
        return parts[0]
    import pyarrow.compute as pc

    pieces = []
    for part in parts:
        lengths = np.diff(_offsets(part)).astype(">u2").view(np.uint8).reshape(-1, 2)
        pieces += [from_rows(np.ascontiguousarray(lengths), None), part]
    return _cut(pc.binary_join_element_wise(*pieces, b""))


def encode_values(values: pa.Array, t: pa.DataType) -> pa.Array:
    """The bytes of each value, null where it is NULL."""
    t = plain_type(t)
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    domain = physical_type(t)
    if domain is None or physical_type(values.type) is None:
        raise TypeError(f"keys are made of columns whose values compare; got {t}; choose another column")
    if domain == pa.binary() and not pa.types.is_decimal(t) and not pa.types.is_uint64(t):
        return _cut(values)
    check_form(values)
    if values.type != t:
        values = values.cast(t)
    if domain == pa.float64():
        return from_rows(_words(_ordered(vector(values.cast(pa.float64()), np.float64))), valid_mask(values))
    if domain == pa.int64():
        physical = to_physical(values, t, upper=False)
        words = vector(physical, np.int64).view(np.uint64) ^ np.uint64(1 << 63)
        return from_rows(_words(words), valid_mask(values))
    return to_physical(values, t, upper=False)


def _ordered(doubles: npt.NDArray[np.float64]) -> npt.NDArray[np.uint64]:
    bits = (doubles + 0.0).view(np.uint64)  # -0.0 + 0.0 is 0.0
    negative = (bits >> np.uint64(63)).astype(np.bool_)
    flipped = np.where(negative, ~bits, bits | np.uint64(1 << 63))
    return np.where(np.isnan(doubles), np.uint64(2**64 - 1), flipped)


def _words(words: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint8]:
    return words.astype(">u8").view(np.uint8).reshape(-1, 8)


def _cut(values: pa.Array) -> pa.Array:
    """As binary; long values cut."""
    lengths = _lengths(values)
    long = np.flatnonzero(lengths >= CUT)
    if not len(long):
        return values.cast(pa.binary())
    import pyarrow.compute as pc

    rows = from_vector(long.astype(np.int64), None, pa.int64())
    some = values.take(rows).cast(pa.large_binary())
    offsets = _offsets(some)
    hashes = hash_slices(
        np.frombuffer(some.buffers()[2], np.uint8), offsets[:-1].astype(np.int64), np.diff(offsets).astype(np.int64)
    )
    ends = from_rows(_words(hashes), None).cast(pa.large_binary())
    short = pc.binary_join_element_wise(pc.binary_slice(some, 0, KEPT), ends, pa.scalar(b"", pa.large_binary()))
    mask = np.zeros(len(values), np.bool_)
    mask[long] = True
    # Long values are gone before the rest becomes one array of short offsets.
    held = pc.if_else(pa.array(mask), None, values.cast(pa.large_binary()))
    return pc.replace_with_mask(held, pa.array(mask), short).cast(pa.binary())


def _lengths(values: pa.Array) -> npt.NDArray[np.int64]:
    """Bytes of each value; 0 for NULL."""
    if pa.types.is_fixed_size_binary(values.type):
        return np.full(len(values), values.type.byte_width, np.int64)
    if pa.types.is_string_view(values.type) or pa.types.is_binary_view(values.type):
        values = values.cast(pa.large_binary())
    lengths = np.diff(_offsets(values)).astype(np.int64)
    valid = valid_mask(values)
    return lengths if valid is None else np.where(valid, lengths, 0)


def _offsets(values: pa.Array) -> npt.NDArray[np.signedinteger]:
    wide = pa.types.is_large_binary(values.type) or pa.types.is_large_string(values.type)
    kind = np.dtype(np.int64 if wide else np.int32)
    data = values.buffers()[1]
    if data is None or not data.size:
        return np.zeros(len(values) + 1, kind)
    return np.frombuffer(data, kind, len(values) + 1, values.offset * kind.itemsize)


# Literals ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class KeyRange:
    """Keys from `low` to `high`, both inclusive (None: no bound). NULL and NaN are in none."""

    low: bytes | None
    high: bytes | None


def encode_all_literals(
    values: Sequence[Sequence[Literal]], stored: Sequence[pa.DataType], now: Sequence[pa.DataType]
) -> set[bytes] | None:
    """The bytes of many keys, those without a value left out; None where one of them cannot be said."""
    if len(stored) == 1 and len(values) >= _MANY:
        found = _encode_plain([literal.value for (literal,) in values], plain_type(stored[0]), plain_type(now[0]))
        if found is not None:
            return found
    keys = set()
    for literals in values:
        key = encode_literals(literals, stored, now)
        if key is None:
            return None
        if isinstance(key, bytes):
            keys.add(key)
    return keys


def _encode_plain(values: list[object], stored: pa.DataType, now: pa.DataType) -> set[bytes] | None:
    """Of integers for integers, or texts for texts: kinds of which every one is its own physical value. None: not so."""
    kinds, is_ = set(map(type, values)), pa.types
    if kinds == {int} and all(is_.is_integer(t) and not is_.is_uint64(t) for t in (stored, now)):
        inside = (value for value in values if isinstance(value, int) and _INT64_MIN <= value <= _INT64_MAX)
        return {struct.pack(">Q", value + (1 << 63)) for value in inside}
    if kinds == {str} and all(is_.is_string(t) or is_.is_large_string(t) for t in (stored, now)):
        try:
            return {_cut_one(str(value).encode()) for value in values}
        except UnicodeEncodeError:
            return None
    return None


def encode_literals(
    literals: Sequence[Literal], stored: Sequence[pa.DataType], now: Sequence[pa.DataType]
) -> bytes | Absent | None:
    """The bytes of the keys that equal the literals, which are of the types that the columns have now. NO_VALUE where none can; None where that cannot be said."""
    parts: list[bytes] = []
    doubt = False
    for literal, old, new in zip(literals, stored, now, strict=True):
        found = encode_literal(literal, old, new)
        if found is NO_VALUE:
            return NO_VALUE
        if isinstance(found, bytes):
            parts.append(found)
        else:
            doubt = True
    if doubt:
        return None
    if len(parts) == 1:
        return parts[0]
    return _cut_one(b"".join(len(part).to_bytes(2, "big") + part for part in parts))


def encode_literal(literal: Literal, stored: pa.DataType, now: pa.DataType) -> bytes | Absent | None:
    """See `encode_literals`."""
    if literal.is_nan and pa.types.is_floating(plain_type(now)):
        return NAN if pa.types.is_floating(plain_type(stored)) else NO_VALUE
    found = physical_interval(Interval(literal, literal), now)
    if found is None:
        return None
    within = _in_stored(found, plain_type(stored), plain_type(now))
    if within is None or within.empty:
        return NO_VALUE if within is not None else None
    if within.low is None or within.low != within.high:
        return None
    return _encode_physical(within.low, cut=True)


def encode_interval(interval: Interval, stored: pa.DataType, now: pa.DataType) -> KeyRange | Absent | None:
    """The keys of non-null, non-NaN values inside the interval, and perhaps a few more. NO_VALUE where none can be; None where it cannot be compared."""
    found = physical_interval(interval, now)
    if found is None:
        return None
    within = _in_stored(found, plain_type(stored), plain_type(now))
    if within is None:
        return None
    if within.empty:
        return NO_VALUE
    low = None if within.low is None else _encode_physical(within.low, cut=False)
    high = None if within.high is None else _encode_physical(within.high, cut=False)
    # Keys from KEPT bytes on may be of values on either side of the bound; an open bound on a shorter one is exact.
    if low is not None:
        low = low[:KEPT] if len(low) >= KEPT else low + b"\0" if within.low_open else low
    if high is None and may_be_nan(stored):
        high = _encode_physical(math.inf, cut=False)
    if high is not None and len(high) >= KEPT:
        high = high[:KEPT] + b"\xff" * (CUT - KEPT + 1)
    elif high is not None and within.high_open:
        high = _before(high)
        if high is None:
            return NO_VALUE
    return KeyRange(low, high)


def _before(key: bytes) -> bytes | None:
    """The greatest key of up to CUT bytes below: None where there is none."""
    if not key:
        return None
    if key[-1] == 0:
        return key[:-1]
    return key[:-1] + bytes([key[-1] - 1]) + b"\xff" * (CUT - len(key))


def _encode_physical(value: PhysicalValue, *, cut: bool) -> bytes:
    if isinstance(value, bytes):
        return _cut_one(value) if cut else value
    if isinstance(value, float):
        return struct.pack(">Q", int(_ordered(np.array([value], np.float64))[0]))
    return struct.pack(">Q", value + (1 << 63))


def _cut_one(value: bytes) -> bytes:
    return value if len(value) < CUT else value[:KEPT] + xxhash.xxh64_digest(value)


# An interval of the type that a column has now, as one of the type that it had ------------------------------------------


def _in_stored(found: PhysicalInterval, stored: pa.DataType, now: pa.DataType) -> PhysicalInterval | None:
    """Stored values are those of the present type exactly (`canonical.answers_for`), but numbers in another domain, unit or scale."""
    if found.empty or _alike(stored, now):
        return found
    low = None if found.low is None else _number(found.low, now)
    high = None if found.high is None else _number(found.high, now)
    if physical_type(stored) == pa.float64() or physical_type(stored) is None:
        return None
    low_at = None if low is None else _place(low, stored, upwards=True, beyond=found.low_open)
    high_at = None if high is None else _place(high, stored, upwards=False, beyond=found.high_open)
    least, greatest = _limits(stored)
    empty = (low_at is not None and low_at > greatest) or (high_at is not None and high_at < least)
    empty = empty or (low_at is not None and high_at is not None and low_at > high_at)
    if empty:
        return PhysicalInterval(None, None, empty=True)
    return PhysicalInterval(_physical(low_at, stored, least), _physical(high_at, stored, greatest))


def _alike(stored: pa.DataType, now: pa.DataType) -> bool:
    is_ = pa.types
    if physical_type(stored) != physical_type(now):
        return False
    if is_.is_decimal(stored) or is_.is_decimal(now):
        return bool(is_.is_decimal(stored) and is_.is_decimal(now) and stored.scale == now.scale)
    return bool(is_.is_date(stored) == is_.is_date(now))


def _number(value: PhysicalValue, t: pa.DataType) -> Fraction | float:
    if isinstance(value, float):
        return value if math.isinf(value) else Fraction(value)
    whole = decode_wide(value) if isinstance(value, bytes) else value
    if pa.types.is_decimal(t):
        return Fraction(whole, 10**t.scale)
    return Fraction(whole * _MICROS_PER_DAY if pa.types.is_date(t) else whole)


def _place(number: Fraction | float, t: pa.DataType, *, upwards: bool, beyond: bool) -> int:
    """The least stored integer at or above a number (or the greatest at or below); `beyond`: not at it."""
    if isinstance(number, float):
        return 2**200 if number > 0 else -(2**200)
    if pa.types.is_decimal(t):
        number *= 10**t.scale
    elif pa.types.is_date(t):
        number /= _MICROS_PER_DAY
    whole = math.ceil(number) if upwards else math.floor(number)
    if beyond and whole == number:
        whole += 1 if upwards else -1
    return whole


def _limits(t: pa.DataType) -> tuple[int, int]:
    return (_INT64_MIN, _INT64_MAX) if physical_type(t) == pa.int64() else (-(2**127), 2**127 - 1)


def _physical(at: int | None, t: pa.DataType, limit: int) -> int | bytes | None:
    if at is None:
        return None
    at = max(at, limit) if limit < 0 else min(at, limit)
    return at if physical_type(t) == pa.int64() else encode_wide(at)


def may_be_nan(t: pa.DataType) -> bool:
    """Do keys of this type have a NaN?"""
    return bool(pa.types.is_floating(plain_type(t)))
