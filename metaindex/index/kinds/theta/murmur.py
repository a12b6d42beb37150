"""The hash by which Apache DataSketches knows values: the first half of MurmurHash3 x64 128 (Appleby, public domain),
shifted right by one bit, of many byte strings at once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metaindex.core import Vector
from metaindex.index.kinds.xxhash64 import byte_slices

Hashes = npt.NDArray[np.uint64]
Bytes = npt.NDArray[np.uint8]

SEED = 9001
"""That of DataSketches, and of Iceberg's sketches."""
_C1, _C2 = np.uint64(0x87C37B91114253D5), np.uint64(0x4CF5AD432745937F)
_AT_ONCE = 4 << 20  # bytes


def hash_rows(rows: Bytes) -> Hashes:
    """The hash of each row of a matrix of bytes."""
    count, width = rows.shape
    h1 = np.full(count, SEED, np.uint64)
    h2 = h1.copy()
    with np.errstate(over="ignore"):
        for start in range(0, width - 15, 16):
            words = np.ascontiguousarray(rows[:, start : start + 16]).view("<u8")
            h1 ^= _rotated(words[:, 0] * _C1, 31) * _C2
            h1 = (_rotated(h1, 27) + h2) * np.uint64(5) + np.uint64(0x52DCE729)
            h2 ^= _rotated(words[:, 1] * _C2, 33) * _C1
            h2 = (_rotated(h2, 31) + h1) * np.uint64(5) + np.uint64(0x38495AB5)
        if width % 16:
            tail = np.zeros((count, 16), np.uint8)
            tail[:, : width % 16] = rows[:, width - width % 16 :]
            words = tail.view("<u8")
            if width % 16 > 8:
                h2 ^= _rotated(words[:, 1] * _C2, 33) * _C1
            h1 ^= _rotated(words[:, 0] * _C1, 31) * _C2
        h1 ^= np.uint64(width)
        h2 ^= np.uint64(width)
        h1 += h2
        h2 += h1
        h1, h2 = _mixed(h1), _mixed(h2)
        h1 += h2
    return h1 >> np.uint64(1)


def hash_texts(values: pa.Array) -> Hashes:
    """The hash of each text or byte string, none of which is NULL; 0 of an empty one, which has none."""
    all_bytes, offsets = byte_slices(values)
    lengths, hashes = np.diff(offsets), np.zeros(len(values), np.uint64)
    for length in np.unique(lengths[lengths > 0]).tolist():
        places = np.flatnonzero(lengths == length)
        step = max(1, _AT_ONCE // length)
        for first in range(0, len(places), step):
            some = places[first : first + step]
            hashes[some] = hash_rows(all_bytes[offsets[some][:, None] + np.arange(length)])
    return hashes


def hash_words(words: npt.NDArray[np.generic]) -> Hashes:
    """Hash numbers, or rows of them, by their bytes in memory, little-endian."""
    plain = np.ascontiguousarray(words)
    return hash_rows(plain.view(np.uint8).reshape(len(plain), -1)) if len(plain) else _none()


def murmur_hashes(values: pa.Array) -> Hashes:
    """The hash of each value, none of which is NULL, as Iceberg's single-value serialization has it (its specification,
    appendix D); 0 of an empty text. The two zeros of floats are one, and so are all NaNs. TypeError for types without
    such values."""
    t, is_ = values.type, pa.types
    if is_.is_string(t) or is_.is_binary(t) or is_.is_large_string(t) or is_.is_large_binary(t):
        return hash_texts(values) if len(values) else _none()
    if is_.is_fixed_size_binary(t):
        return hash_rows(Vector(values).items(np.uint8, t.byte_width).reshape(len(values), t.byte_width))
    if is_.is_decimal(t):
        return _hash_decimals(Vector(values.cast(pa.decimal128(38, t.scale))).items(np.uint64, 2).reshape(-1, 2))
    if is_.is_boolean(t):
        return hash_words(Vector(values.cast(pa.uint8())).items(np.uint8))
    if is_.is_floating(t):
        double = is_.is_float64(t)
        wide = Vector(values.cast(pa.float64() if double else pa.float32()))
        floats = wide.items(np.float64 if double else np.float32)
        return hash_words(np.where(np.isnan(floats), np.nan, floats + 0.0).astype(floats.dtype))  # -0.0 + 0.0 is 0.0
    if is_.is_date(t):
        return hash_words(Vector(values.cast(pa.date32())).items(np.int32))
    if is_.is_timestamp(t):
        return _hash_times(Vector(values).items(np.int64), {"s": 1_000_000, "ms": 1_000}.get(t.unit, 1))
    if is_.is_time(t):
        return hash_words(Vector(values.cast(pa.time64("us"))).items(np.int64))
    if is_.is_uint64(t):
        return hash_words(Vector(values).items(np.uint64))
    if is_.is_integer(t):
        long = t.bit_width == 64 or is_.is_uint32(t)
        return hash_words(Vector(values.cast(pa.int64() if long else pa.int32())).items(np.int64 if long else np.int32))
    raise TypeError(f"values of type {t} are not counted by sketches")


def _hash_times(times: npt.NDArray[np.int64], factor: int) -> Hashes:
    """Hash moments as microseconds; those out of range by their own unit."""
    held = np.abs(times.astype(np.float64)) < float(2**63 // factor) - 2048
    hashes = np.zeros(len(times), np.uint64)
    hashes[held] = hash_words(times[held] * np.int64(factor))
    beyond = times[~held]
    hashes[~held] = hash_words(np.stack([beyond, np.full(len(beyond), factor)], axis=1))
    return hashes


def _hash_decimals(words: Hashes) -> Hashes:
    """Unscaled, as few bytes as hold them, big-endian."""
    rows = np.ascontiguousarray(words.view(np.uint8).reshape(-1, 16)[:, ::-1])
    sign = np.where(rows[:, 0] >> 7, 0xFF, 0).astype(np.uint8)
    spare = np.zeros(len(rows), np.int64)
    going = np.ones(len(rows), np.bool_)
    for at in range(15):  # a byte is spare where all bits up to the next byte's first are the sign
        going &= (rows[:, at] == sign) & ((rows[:, at + 1] >> 7) == (sign >> 7))
        spare += going
    hashes = np.zeros(len(rows), np.uint64)
    for bytes_ in np.unique(spare).tolist():
        hashes[spare == bytes_] = hash_rows(rows[spare == bytes_][:, bytes_:])
    return hashes


def _rotated(words: Hashes, bits: int) -> Hashes:
    return (words << np.uint64(bits)) | (words >> np.uint64(64 - bits))


def _mixed(words: Hashes) -> Hashes:
    words = words ^ (words >> np.uint64(33))
    words = words * np.uint64(0xFF51AFD7ED558CCD)
    words = words ^ (words >> np.uint64(33))
    words = words * np.uint64(0xC4CEB9FE1A85EC53)
    return words ^ (words >> np.uint64(33))


def _none() -> Hashes:
    return np.zeros(0, np.uint64)
