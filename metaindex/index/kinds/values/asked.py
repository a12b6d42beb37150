"""Literals as the keys that equal them, and intervals as ranges of keys (`encoding`). Of `value_keys` and
`value_lists`."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import xxhash

from metaindex.core import dataclass
from metaindex.expressions import (
    Family,
    Interval,
    Literal,
    PhysicalInterval,
    physical_type,
)
from metaindex.index.kinds.canonical import NO_VALUE, Absent, plain_type

from .encoding import CUT, KEPT, ordered

NAN = b"\xff" * 8
_INT64_MIN, _INT64_MAX = -(2**63), 2**63 - 1
_MICROS_PER_DAY = 86_400_000_000

Key = int | bytes
"""An integer where the key is of one column whose physical domain that is."""

Keys = npt.NDArray[Any]
"""int64, or Python's bytes as objects."""


@dataclass(frozen=True, slots=True)
class KeyRange:
    """Keys from `low` to `high`, both inclusive (None: no bound). NULL and NaN are in none."""

    low: Key | None
    high: Key | None


def encode_each_list(
    lists: Sequence[Sequence[Sequence[Literal]]], stored: Sequence[pa.DataType], now: Sequence[pa.DataType]
) -> tuple[list[Key], list[int], frozenset[int]]:
    """Encode the values of many lists, each with its list's number, without those that have no value; and return the
    lists with an unknown one."""
    flat = [(number, value) for number, values in enumerate(lists) for value in values]
    if len(stored) == 1:
        fast = _plain_keys([literal.value for _, (literal,) in flat], plain_type(stored[0]), plain_type(now[0]))
        if fast is not None:
            told = [(key, number) for key, (number, _) in zip(fast, flat, strict=True) if key is not None]
            return [key for key, _ in told], [number for _, number in told], frozenset()
    keys, owners, unsaid = [], [], set()
    for number, value in flat:
        key = encode_literals(value, stored, now)
        if key is None:
            unsaid.add(number)
        elif not isinstance(key, Absent):
            keys.append(key)
            owners.append(number)
    return keys, owners, frozenset(unsaid)


def _plain_keys(values: list[object], stored: pa.DataType, now: pa.DataType) -> list[Key | None] | None:
    """Encode integers for integer columns, or texts for text columns, which are their own physical values: None for an
    integer out of range. None altogether: other types."""
    kinds, is_ = set(map(type, values)), pa.types
    if kinds == {int} and all(is_.is_integer(t) and not is_.is_uint64(t) for t in (stored, now)):
        return [v if isinstance(v, int) and _INT64_MIN <= v <= _INT64_MAX else None for v in values]
    if kinds == {str} and all(is_.is_string(t) or is_.is_large_string(t) for t in (stored, now)):
        try:
            return [_cut_one(str(value).encode()) for value in values]
        except UnicodeEncodeError:
            return None
    return None


def in_order(keys: Iterable[Key], type_: pa.DataType) -> Keys:
    """Keys as a vector, ascending, each once."""
    return np.array(sorted(set(keys)), np.int64 if type_ == pa.int64() else object)


def encode_literals(
    literals: Sequence[Literal], stored: Sequence[pa.DataType], now: Sequence[pa.DataType]
) -> Key | Absent | None:
    """Return the key that equals the literals, which are of the columns' current types. NO_VALUE if there is none; None
    if that is unknown."""
    parts: list[Key] = []
    doubt = False
    for literal, old, new in zip(literals, stored, now, strict=True):
        key = encode_literal(literal, old, new)
        if isinstance(key, Absent):
            return NO_VALUE
        if key is not None:
            parts.append(key)
        else:
            doubt = True
    if doubt:
        return None
    if len(parts) == 1:
        return parts[0]
    pieces = [struct.pack(">Q", part + (1 << 63)) if isinstance(part, int) else part for part in parts]
    return _cut_one(b"".join(len(piece).to_bytes(2, "big") + piece for piece in pieces))


def encode_literal(literal: Literal, stored: pa.DataType, now: pa.DataType) -> Key | Absent | None:
    """Encode one literal; see `encode_literals`."""
    if literal.is_nan and pa.types.is_floating(plain_type(now)):
        return NAN if pa.types.is_floating(plain_type(stored)) else NO_VALUE
    physical = PhysicalInterval.of(Interval(literal, literal), now)
    if physical is None:
        return None
    within = _in_stored(physical, plain_type(stored), plain_type(now))
    if within is None or within.empty:
        return NO_VALUE if within is not None else None
    if within.low is None or within.low != within.high:
        return None
    key = _key_of(within.low)
    return _cut_one(key) if isinstance(key, bytes) else key


def encode_each_interval(
    intervals: Sequence[Interval], stored: pa.DataType, now: pa.DataType
) -> list[KeyRange | Absent | None]:
    """The keys of non-null, non-NaN values inside each interval, and perhaps a few more. NO_VALUE where none can be;
    None where it cannot be compared."""
    old, new = plain_type(stored), plain_type(now)
    alike, nan = _alike(old, new), may_be_nan(stored)

    def encoded(physical: PhysicalInterval | None) -> KeyRange | Absent | None:
        within = physical if physical is None or alike else _in_stored(physical, old, new)
        return None if within is None else NO_VALUE if within.empty else _range_of(within, nan)

    return [encoded(interval) for interval in PhysicalInterval.of_each(intervals, now)]


def _range_of(within: PhysicalInterval, nan: bool) -> KeyRange | Absent:
    """`nan`: a key may be that of NaN, which is greater than all others."""
    low = None if within.low is None else _key_of(within.low)
    high = None if within.high is None else _key_of(within.high)
    if not isinstance(low, bytes) and not isinstance(high, bytes) and not nan:
        return _integers(low, high, within)
    if high is None and nan:
        high = _key_of(math.inf)
    assert not isinstance(low, int)
    assert not isinstance(high, int)
    return _bytes(low, high, within)


def _integers(low: int | None, high: int | None, within: PhysicalInterval) -> KeyRange | Absent:
    """A range of integers is exact."""
    low = low + 1 if low is not None and within.low_open else low
    high = high - 1 if high is not None and within.high_open else high
    least, greatest = _INT64_MIN if low is None else low, _INT64_MAX if high is None else high
    return KeyRange(low, high) if max(least, _INT64_MIN) <= min(greatest, _INT64_MAX) else NO_VALUE


def _bytes(low: bytes | None, high: bytes | None, within: PhysicalInterval) -> KeyRange | Absent:
    """Keys from KEPT bytes on may be of values on either side of the bound; an open bound on a shorter one is exact."""
    if low is not None:
        low = low[:KEPT] if len(low) >= KEPT else low + b"\0" if within.low_open else low
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


def _key_of(value: int | float | bytes) -> Key:
    """Return the key, not cut."""
    if isinstance(value, float):
        return struct.pack(">Q", int(ordered(np.array([value], np.float64))[0]))
    return value


def _cut_one(value: bytes) -> bytes:
    return value if len(value) < CUT else value[:KEPT] + xxhash.xxh64_digest(value)


# An interval of the type that a column has now, as one of the type that it had
# ------------------------------------------


def _in_stored(physical: PhysicalInterval, stored: pa.DataType, now: pa.DataType) -> PhysicalInterval | None:
    """Stored values are those of the present type exactly (`canonical.answers_for`), but numbers in another domain,
    unit or scale."""
    if physical.empty or _alike(stored, now):
        return physical
    low = None if physical.low is None else _number(physical.low, now)
    high = None if physical.high is None else _number(physical.high, now)
    if physical_type(stored) == pa.float64() or physical_type(stored) is None:
        return None
    low_at = None if low is None else _place(low, stored, upwards=True, beyond=physical.low_open)
    high_at = None if high is None else _place(high, stored, upwards=False, beyond=physical.high_open)
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


def _number(value: int | float | bytes, t: pa.DataType) -> Fraction | float:
    if isinstance(value, float):
        return value if math.isinf(value) else Fraction(value)
    whole = Family.whole(value)
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
    family = Family.of(t)
    return at if family is None else family.held(at)


def may_be_nan(t: pa.DataType) -> bool:
    """Return whether keys of this type may be NaN."""
    return bool(pa.types.is_floating(plain_type(t)))
