"""Spark's `hash` (Murmur3, x86 32 bits, seed 42) of rows, in numpy: which bucket a row belongs to, without a JVM.

    boolean, 8 to 32 bit integer, date     one word
    long, timestamp, decimal to 18 digits  two words (the unscaled value)
    float, double                          their bits, as one or two words; -0.0 is 0.0, NaN is one
    string, binary                         words of four bytes, little-endian, then each byte that is left, signed, as a
                                           word of its own; mixed with the length
    wider decimals                         as binary: the unscaled value, big-endian, as short as two's complement
                                           allows

A column's hash is the seed of the next one's; NULL leaves the seed as it is.
`org.apache.spark.unsafe.hash.Murmur3_x86_32` and `HashExpression` are the source.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metaindex.core import Vector
from metaindex.index.kinds.xxhash64 import byte_slices

Words = npt.NDArray[np.uint32]

SEED = 42
_C1, _C2 = np.uint32(0xCC9E2D51), np.uint32(0x1B873593)


def buckets_of(columns: Sequence[pa.Array], count: int) -> npt.NDArray[np.int32]:
    """The bucket of each row, of so many, by the indexed columns."""
    seeds = np.full(len(columns[0]), SEED, np.uint32)
    for column in columns:
        seeds = hashed(column, seeds)
    return np.mod(seeds.view(np.int32), np.int32(count))  # of the sign of the divisor, as pmod


def keys_of(count: int) -> npt.NDArray[np.int32]:
    """Return for each bucket a 32 bit integer that hashes to it."""
    tried = 16 * count
    while True:
        numbers = np.arange(tried, dtype=np.int32)
        buckets, first = np.unique(buckets_of([pa.array(numbers)], count), return_index=True)
        if len(buckets) == count:
            return numbers[first]
        tried *= 2


def hashed(column: pa.Array, seeds: Words) -> Words:
    """The hash of each value, of a type that may be indexed, with a seed of its own."""
    return np.where(Vector(column).present, _hash(column, seeds), seeds)


def _hash(column: pa.Array, seeds: Words) -> Words:
    t = column.type
    if pa.types.is_boolean(t):
        return _of_ints(Vector(column).truths(False).astype(np.int32), seeds)
    if pa.types.is_integer(t) and t.bit_width <= 32:
        return _of_ints(Vector(column).items(t.to_pandas_dtype()).astype(np.int32), seeds)
    if pa.types.is_int64(t):
        return _of_longs(Vector(column).items(np.int64), seeds)
    if pa.types.is_date32(t):
        return _of_ints(Vector(column.view(pa.int32())).items(np.int32), seeds)
    if pa.types.is_timestamp(t):
        return _of_longs(Vector(column.view(pa.int64())).items(np.int64), seeds)
    if pa.types.is_float32(t):
        return _of_ints(_plain(Vector(column).items(np.float32)).view(np.int32), seeds)
    if pa.types.is_float64(t):
        return _of_longs(_plain(Vector(column).items(np.float64)).view(np.int64), seeds)
    if pa.types.is_decimal(t):
        return _of_decimals(column, seeds)
    return _of_bytes(column, seeds)


def _plain(values: npt.NDArray[np.floating]) -> npt.NDArray[np.floating]:
    values = values + values.dtype.type(0)  # -0.0 is 0.0
    values[np.isnan(values)] = np.nan
    return values


def _of_decimals(column: pa.Array, seeds: Words) -> Words:
    unscaled = np.frombuffer(column.buffers()[1], np.int64, 2 * len(column), 16 * column.offset)
    if column.type.precision <= 18:
        return _of_longs(unscaled[::2].copy(), seeds)
    texts = [_shortest((high << 64) | (low & _LOW)) for low, high in unscaled.reshape(-1, 2).tolist()]
    return _of_bytes(pa.array(texts, pa.binary()), seeds)


_LOW = (1 << 64) - 1


def _shortest(number: int) -> bytes:
    """Encode the number as Java's `BigInteger.toByteArray` does."""
    return number.to_bytes((number if number >= 0 else ~number).bit_length() // 8 + 1, "big", signed=True)


def _of_ints(values: npt.NDArray[np.int32], seeds: Words) -> Words:
    return _end(_mixed(seeds, values.view(np.uint32)), np.uint32(4))


def _of_longs(values: npt.NDArray[np.int64], seeds: Words) -> Words:
    words = np.ascontiguousarray(values, "<i8").view(np.uint32).reshape(-1, 2)
    return _end(_mixed(_mixed(seeds, words[:, 0]), words[:, 1]), np.uint32(8))


def _of_bytes(column: pa.Array, seeds: Words) -> Words:
    held, ends = byte_slices(column.cast(pa.large_binary()))
    starts, lengths = ends[:-1], np.diff(ends)
    held = np.concatenate([held, np.zeros(5, np.uint8)])
    out = seeds.copy()
    for word in range(int(lengths.max(initial=0)) // 4):
        rows = np.flatnonzero(lengths >= 4 * word + 4)
        at = starts[rows] + 4 * word
        four = held[at[:, None] + np.arange(4)]
        out[rows] = _mixed(out[rows], np.ascontiguousarray(four).view("<u4").ravel().astype(np.uint32))
    whole = lengths // 4 * 4
    for place in range(3):
        rows = np.flatnonzero(lengths > whole + place)
        byte = held[starts[rows] + whole[rows] + place].view(np.int8).astype(np.int32)
        out[rows] = _mixed(out[rows], byte.view(np.uint32))
    return _end(out, lengths.astype(np.uint32))


def _mixed(h: Words, k: Words) -> Words:
    with np.errstate(over="ignore"):
        k = _rotated(k * _C1, 15) * _C2
        return np.asarray(_rotated(h ^ k, 13) * np.uint32(5) + np.uint32(0xE6546B64), np.uint32)


def _end(h: Words, length: Words | np.uint32) -> Words:
    with np.errstate(over="ignore"):
        h = h ^ length
        h = (h ^ (h >> np.uint32(16))) * np.uint32(0x85EBCA6B)
        h = (h ^ (h >> np.uint32(13))) * np.uint32(0xC2B2AE35)
        return np.asarray(h ^ (h >> np.uint32(16)), np.uint32)


def _rotated(words: Words, by: int) -> Words:
    return np.asarray((words << np.uint32(by)) | (words >> np.uint32(32 - by)), np.uint32)
