"""Decimals in canonical form, many at once: 128-bit numbers as four words of 32 bits, so that division by a power of
ten below 2^32 never overflows."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metaindex.core import Vector

from .xxhash64 import Hashes, hash_slices, hash_words

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
    scales = np.full(len(limbs), t.scale, np.uint8)
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
    """Two's complement words as limbs of the absolute value, the highest first."""
    negative = (raw[:, 1] >> np.uint64(63)).astype(np.bool_)
    low = np.where(negative, ~raw[:, 0] + np.uint64(1), raw[:, 0])
    carry = negative & (low == 0)
    high = np.where(negative, ~raw[:, 1] + carry.astype(np.uint64), raw[:, 1])
    half, mask = np.uint64(32), np.uint64(2**32 - 1)
    return np.stack([high >> half, high & mask, low >> half, low & mask], axis=1), negative


def _strip(limbs: _Words, scales: npt.NDArray[np.uint8]) -> None:
    """Takes zeros from the end, as many as the scale has. Zero itself has scale 0."""
    scales[~limbs.any(axis=1)] = 0
    for step in _STEPS:
        rows = np.flatnonzero(scales >= step)
        if not len(rows):
            continue
        quotient, rest = _divided(limbs[rows], 10**step)
        even = rest == 0
        limbs[rows[even]] = quotient[even]
        scales[rows[even]] -= step


def _divided(limbs: _Words, by: int) -> tuple[_Words, _Words]:
    divisor, half = np.uint64(by), np.uint64(32)
    quotient = np.empty_like(limbs)
    rest = np.zeros(len(limbs), np.uint64)
    for at in range(4):
        part = (rest << half) | limbs[:, at]
        quotient[:, at] = part // divisor
        rest = part - quotient[:, at] * divisor
    return quotient, rest


def _signed(limbs: _Words, negative: npt.NDArray[np.bool_]) -> tuple[_Words, _Words]:
    half = np.uint64(32)
    low, high = (limbs[:, 2] << half) | limbs[:, 3], (limbs[:, 0] << half) | limbs[:, 1]
    minus_low = ~low + np.uint64(1)
    minus_high = ~high + (minus_low == 0).astype(np.uint64)
    return np.where(negative, minus_low, low), np.where(negative, minus_high, high)
