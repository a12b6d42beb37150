"""Bounds of decimals that may have passed through a double, made wide enough to hold the values again.

delta-rs writes a decimal's bound as the double nearest to unscaled / 10^scale, takes the next double nearer to zero
where the whole digits seem too many (a minus counts as one), and prints the shortest text of it; whole numbers are cast
to 64 bits, and saturate. Half a unit in the last place for each of the number itself, the power of ten (two for powers
beyond 10^22), the quotient and the text, one for the step: below 4 units of 2^-52. Nothing in a log says which texts
were made so (an added file may be another writer's than its commit), so every bound of that many digits is widened.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metaindex.core import Vector, arrow_array

SURE_DIGITS = 15
"""Decimals of up to so many digits are one double each, whose shortest text is the decimal again."""

_SURE = 10 ** (SURE_DIGITS - 1)  # a digit less: below it even the next doubles are within half an unscaled unit
_SHIFT = 50  # widened by size / 2^50, and one unscaled unit
_END = 2**63
_END_REST = 2**14  # 2^63 - 1 is some double near 2^63 once it was read as one

Mask = npt.NDArray[np.bool_]
Words = tuple[npt.NDArray[np.int64], npt.NDArray[np.uint64]]
"""The high and the low words of 128-bit integers in two's complement."""


def loosened(lower: pa.Array, upper: pa.Array, type_: pa.DataType) -> tuple[pa.Array, pa.Array]:
    """Bounds (physical) of a decimal column that hold whatever was rounded into them; unknown where nothing does."""
    if type_.precision <= SURE_DIGITS:
        return lower, upper
    if type_.precision <= 18:
        return _narrow(lower, -1), _narrow(upper, 1)
    return _wide(lower, -1, type_.scale == 0), _wide(upper, 1, type_.scale == 0)


def _narrow(bounds: pa.Array, sign: int) -> pa.Array:
    numbers = Vector(bounds).items(np.int64)
    size = np.abs(numbers)
    return arrow_array(
        np.where(size < _SURE, numbers, numbers + sign * ((size >> _SHIFT) + 1)), Vector(bounds).valid, pa.int64()
    )


def _wide(bounds: pa.Array, sign: int, whole: bool) -> pa.Array:
    valid = Vector(bounds).valid
    words = _words(bounds, valid)
    high, low = size = _absolute(words)
    small = (high == 0) & (low < np.uint64(_SURE))
    by: Words = (high >> _SHIFT, (high.astype(np.uint64) << np.uint64(64 - _SHIFT)) | (low >> np.uint64(_SHIFT)))
    by = _sum(by, (np.zeros_like(high), np.ones_like(low)))
    moved = _sum(words, by if sign > 0 else _negated(by))
    if whole:
        ended = _at_the_end(size) & ((words[0] < 0) == (sign < 0))
        valid = ~ended if valid is None else valid & ~ended
    return _bounds((np.where(small, words[0], moved[0]), np.where(small, words[1], moved[1])), valid)


def _at_the_end(size: Words) -> Mask:
    high, low = size
    mask: Mask = (high == 0) & (low >= np.uint64(_END - _END_REST)) & (low <= np.uint64(_END + _END_REST))
    return mask


def _words(bounds: pa.Array, valid: Mask | None) -> Words:
    """Return 16-byte bounds as pairs of 64-bit words; 0 under a null."""
    offsets = np.frombuffer(bounds.buffers()[1], np.int32, len(bounds) + 1, bounds.offset * 4)
    there = np.ones(len(bounds), np.bool_) if valid is None else valid
    words = np.zeros((len(bounds), 2), np.uint64)
    data = bounds.buffers()[2]
    if there.any() and data is not None:
        stored = np.frombuffer(data, np.uint8)
        rows = np.lib.stride_tricks.sliding_window_view(stored, 16)[offsets[:-1][there]]
        words[there] = np.ascontiguousarray(rows).view(">u8").astype(np.uint64)
        words[there, 0] ^= np.uint64(2**63)
    return words[:, 0].copy().view(np.int64), words[:, 1]


def _bounds(words: Words, valid: Mask | None) -> pa.Array:
    rows = np.empty((len(words[0]), 2), ">u8")
    rows[:, 0] = words[0].view(np.uint64) ^ np.uint64(2**63)
    rows[:, 1] = words[1]
    return arrow_array(rows.view(np.uint8).reshape(-1, 16), valid)


def _sum(words: Words, other: Words) -> Words:
    low = words[1] + other[1]
    return words[0] + other[0] + (low < words[1]), low


def _negated(words: Words) -> Words:
    return _sum((~words[0], ~words[1]), (np.zeros_like(words[0]), np.ones_like(words[1])))


def _absolute(words: Words) -> Words:
    negative, minus = words[0] < 0, _negated(words)
    return np.where(negative, minus[0], words[0]), np.where(negative, minus[1], words[1])
