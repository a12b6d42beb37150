"""Sorts byte strings and integers as vectors: by as many of their first bits as fit beside a row number in one word,
and those that are alike so far by Arrow's comparison."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from metaindex.core import Vector
from metaindex.index.kinds.xxhash64 import byte_slices

_Ints = npt.NDArray[np.int64]


def sort_keys(keys: pa.Array) -> tuple[pa.Array, _Ints]:
    """A binary or int64 array without nulls in ascending order, and the row of each. Equal keys keep their order."""
    count = len(keys)
    if count < 2:
        return keys, np.arange(count, dtype=np.int64)
    row_bits = np.uint64((count - 1).bit_length())
    words = (_integer_words(keys) if keys.type == pa.int64() else _words(keys)) >> row_bits << row_bits
    words |= np.arange(count, dtype=np.uint64)
    words.sort()
    order = (words & np.uint64((1 << int(row_bits)) - 1)).view(np.int64)
    ordered = keys.take(Vector.arrow(order, None, pa.int64()))
    alike = (words[1:] >> row_bits) == (words[:-1] >> row_bits)
    if alike.any():
        # Neighbours that are the same are in order already.
        differ = alike & ~pc.equal(ordered[1:], ordered[:-1]).to_numpy(zero_copy_only=False)
        if differ.any():
            ordered, order = _refined(ordered, order, alike, differ)
    return ordered, order


def _refined(
    ordered: pa.Array, order: _Ints, alike: npt.NDArray[np.bool_], differ: npt.NDArray[np.bool_]
) -> tuple[pa.Array, _Ints]:
    """Sort the groups of rows that are equal so far and not all the same: they do not overlap, so one sort of all of
    them sorts each."""
    group = np.concatenate(([0], np.cumsum(~alike)))
    unsorted = np.zeros(int(group[-1]) + 1, np.bool_)
    unsorted[group[1:][differ]] = True
    rows = np.flatnonzero(unsorted[group])
    some = ordered.take(Vector.arrow(rows.astype(np.int64), None, pa.int64()))
    inner = pc.sort_indices(some)
    within = Vector(inner).items(np.uint64).astype(np.int64)
    places = np.arange(len(ordered), dtype=np.int64)
    places[rows] = rows[within]
    return ordered.take(Vector.arrow(places, None, pa.int64())), order[places]


def shared_bytes(least: bytes, greatest: bytes) -> int:
    """Return the length of the prefix common to all keys between the two."""
    for at, (byte, other) in enumerate(zip(least, greatest, strict=False)):
        if byte != other:
            return at
    return min(len(least), len(greatest))


def _integer_words(keys: pa.Array) -> npt.NDArray[np.uint64]:
    """The bits in which the keys differ, from the top of the word on."""
    words: npt.NDArray[np.uint64] = Vector(keys).items(np.int64).view(np.uint64) ^ np.uint64(1 << 63)
    words -= words.min()
    words <<= np.uint64(64 - max(1, int(words.max()).bit_length()))
    return words


def _words(keys: pa.Array) -> npt.NDArray[np.uint64]:
    """The first eight bytes in which the keys differ, big-endian; zeros where a key is shorter."""
    ends = pc.min_max(keys)
    return words_behind(keys, shared_bytes(ends["min"].as_py(), ends["max"].as_py()))


def words_behind(keys: pa.Array, skip: int) -> npt.NDArray[np.uint64]:
    """Eight bytes of each key behind so many, big-endian; zeros where a key is shorter."""
    held, offsets = byte_slices(keys)
    data = np.concatenate([held, np.zeros(8, np.uint8)])
    every = np.ndarray((len(data) - 7,), ">u8", data, strides=(1,))
    starts = np.minimum(offsets[:-1] + skip, offsets[1:])
    words: npt.NDArray[np.uint64] = every[starts].astype(np.uint64)
    missing = 8 - np.minimum(offsets[1:] - starts, 8)
    cut = (missing.astype(np.uint64) * np.uint64(8)) & np.uint64(63)
    words = words >> cut << cut
    words[missing == 8] = 0
    return words
