"""xxHash64 of many values at once (https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md, seed 0): equal to
the `xxhash` package value by value, at a few nanoseconds a value instead of a Python call each. All arithmetic is
modulo 2^64, as NumPy's is on unsigned words.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import xxhash

Hashes = npt.NDArray[np.uint64]
_Ints = npt.NDArray[np.int64]
_Bytes = npt.NDArray[np.uint8]
_Places = _Ints | range
"""Where values, or their words, begin; a range where they are apart by one step."""

_P1, _P2, _P3, _P4, _P5 = (
    np.uint64(prime)
    for prime in (
        0x9E3779B185EBCA87,
        0xC2B2AE3D27D4EB4F,
        0x165667B19E3779F9,
        0x85EBCA77C2B2AE63,
        0x27D4EB2F165667C5,
    )
)
_M = (1 << 64) - 1
_STARTS = tuple(np.uint64(start & _M) for start in (int(_P1) + int(_P2), int(_P2), 0, -int(_P1)))
_AT_ONCE = 16_384
"""Values that are hashed together: their words stay in the processor's cache."""
_LONG = 224
"""Bytes from which on a call of the package costs less than steps over arrays."""


def byte_slices(values: pa.Array) -> tuple[_Bytes, _Ints]:
    """The buffer of an array of texts or bytes, and where each value begins in it, with the last one's end."""
    large = pa.types.is_large_binary(values.type) or pa.types.is_large_string(values.type)
    kind, (_, places, data) = np.dtype(np.int64 if large else np.int32), values.buffers()
    held = np.frombuffer(data, np.uint8) if data is not None and data.size else np.empty(0, np.uint8)
    if places is None or not places.size:
        return held, np.zeros(len(values) + 1, np.int64)
    return held, np.frombuffer(places, kind, len(values) + 1, values.offset * kind.itemsize).astype(np.int64)


def hash_words(words: npt.NDArray[np.uint64]) -> Hashes:
    """Hash values of one 8-byte word each (little-endian), or of several: a row of the matrix is a value."""
    if words.ndim == 2 and words.shape[1] >= 4:
        rows = np.ascontiguousarray(words).view(np.uint8)
        starts = np.arange(len(rows), dtype=np.int64) * rows.shape[1]
        return hash_slices(rows.reshape(-1), starts, np.full(len(rows), rows.shape[1], np.int64))
    matrix = words if words.ndim == 2 else words[:, np.newaxis]
    out = np.empty(len(words), np.uint64)
    for start in range(0, len(words), _AT_ONCE):
        some = matrix[start : start + _AT_ONCE]
        hashes = np.full(len(some), (int(_P5) + 8 * matrix.shape[1]) & _M, np.uint64)
        for at in range(matrix.shape[1]):
            _take_word(hashes, some[:, at].copy())
        out[start : start + _AT_ONCE] = _finished(hashes)
    return out


def hash_slices(data: _Bytes, starts: _Ints, lengths: _Ints) -> Hashes:
    """Hash slices of one buffer: value i is `data[starts[i] : starts[i] + lengths[i]]`."""
    out = np.empty(len(starts), np.uint64)
    length = int(lengths[0]) if len(lengths) else _LONG
    if 0 < length < _LONG and (lengths == length).all() and (np.diff(starts) == length).all():
        # Adjacent slices of one length, as ids are: their words are views, and nothing is gathered.
        return _hash_short(data, range(int(starts[0]), int(starts[-1]) + 1, length), lengths)
    long = lengths >= _LONG
    if long.any():
        short = np.flatnonzero(~long)
        view = np.ascontiguousarray(data).data
        rows = np.flatnonzero(long)
        spans = zip(starts[rows].tolist(), (starts[rows] + lengths[rows]).tolist(), strict=True)
        out[rows] = np.fromiter((xxhash.xxh64_intdigest(view[low:high]) for low, high in spans), np.uint64, len(rows))
        out[short] = _hash_short(data, starts[short], lengths[short])
        return out
    return _hash_short(data, starts, lengths)


def _hash_short(data: _Bytes, starts: _Places, lengths: _Ints) -> Hashes:
    out = np.empty(len(starts), np.uint64)
    words, halves = _unaligned(data, np.dtype("<u8")), _unaligned(data, np.dtype("<u4"))
    for start in range(0, len(starts), _AT_ONCE):
        some = slice(start, start + _AT_ONCE)
        out[some] = _hash_some(data, words, halves, starts[some], lengths[some])
    return out


def _unaligned(data: _Bytes, item: np.dtype[np.uint64] | np.dtype[np.uint32]) -> npt.NDArray[np.unsignedinteger]:
    """The word that begins at each byte: a view."""
    count = max(0, data.size - item.itemsize + 1)
    return np.ndarray((count,), item, data if count else np.empty(0, np.uint8), strides=(1,))


def _hash_some(
    data: _Bytes,
    words: npt.NDArray[np.unsignedinteger],
    halves: npt.NDArray[np.unsignedinteger],
    starts: _Places,
    lengths: _Ints,
) -> Hashes:
    hashes = np.full(len(starts), _P5, np.uint64)
    stripes = lengths >> 5
    if stripes.any():
        _take_stripes(hashes, words, starts, stripes)
    hashes += lengths.view(np.uint64)
    at = _moved(starts, stripes << 5)
    left = lengths & 31
    for turn in range(3):
        rows = _rows(left >= 8 * (turn + 1))
        if rows is None:
            break
        some = hashes[rows]
        _take_word(some, words[_index(at, rows, 8 * turn)])
        hashes[rows] = some
    at = _moved(at, left & 24)
    left &= 7
    if (rows := _rows(left >= 4)) is not None:
        some = hashes[rows]
        some ^= halves[_index(at, rows)].astype(np.uint64) * _P1
        hashes[rows] = _rotated(some, 23) * _P2 + _P3
    at = _moved(at, left & 4)
    left &= 3
    for turn in range(3):
        rows = _rows(left > turn)
        if rows is None:
            break
        some = hashes[rows]
        some ^= data[_index(at, rows, turn)].astype(np.uint64) * _P5
        hashes[rows] = _rotated(some, 11) * _P1
    return _finished(hashes)


def _moved(places: _Places, by: _Ints) -> _Places:
    """Places further on: of those that are apart by one step all go as far."""
    if not isinstance(places, range):
        return places + by
    return range(places.start + int(by[0]), places.stop + int(by[0]), places.step)


def _index(places: _Places, rows: slice | _Ints, by: int = 0) -> slice | _Ints:
    """Some of the places, moved; of those that are apart by one step it is always all."""
    if not isinstance(places, range):
        return places[rows] + by
    return slice(places.start + by, places.stop + by, places.step)


def _rows(mask: npt.NDArray[np.bool_]) -> slice | _Ints | None:
    """The rows that a step is for; None where there is none."""
    if mask.all():
        return slice(None)
    rows = np.flatnonzero(mask)
    return rows if len(rows) else None


def _take_stripes(hashes: Hashes, words: npt.NDArray[np.unsignedinteger], starts: _Places, stripes: _Ints) -> None:
    """Stripes of 32 bytes: the values that still have one are a prefix of those with many first."""
    most = int(stripes.max())
    order = None
    if int(stripes.min()) < most:
        order = np.argsort(stripes.astype(np.uint8), kind="stable")[::-1][: int(np.count_nonzero(stripes))]
        starts, stripes = np.asarray(starts)[order], stripes[order]
    sums = [np.full(len(starts), start, np.uint64) for start in _STARTS]
    for turn in range(most):
        live = int(np.count_nonzero(stripes > turn))
        for lane, total in enumerate(sums):
            _add_round(total[:live], words[_index(starts, slice(live), 32 * turn + 8 * lane)])
    whole = _rotated(sums[0], 1) + _rotated(sums[1], 7) + _rotated(sums[2], 12) + _rotated(sums[3], 18)
    for total in sums:
        mixed = np.zeros(len(total), np.uint64)
        _add_round(mixed, total)
        whole ^= mixed
        whole *= _P1
        whole += _P4
    if order is None:
        hashes[:] = whole
    else:
        hashes[order] = whole


def _add_round(total: Hashes, word: npt.NDArray[np.unsignedinteger]) -> None:
    total += word * _P2
    total[:] = _rotated(total, 31)
    total *= _P1


def _take_word(hashes: Hashes, word: npt.NDArray[np.unsignedinteger]) -> None:
    mixed = word * _P2
    mixed = _rotated(mixed, 31)
    mixed *= _P1
    hashes ^= mixed
    hashes[:] = _rotated(hashes, 27)
    hashes *= _P1
    hashes += _P4


def _rotated(words: npt.NDArray[np.unsignedinteger], by: int) -> Hashes:
    out: Hashes = words << np.uint64(by)
    out |= words >> np.uint64(64 - by)
    return out


def _finished(hashes: Hashes) -> Hashes:
    hashes ^= hashes >> np.uint64(33)
    hashes *= _P2
    hashes ^= hashes >> np.uint64(29)
    hashes *= _P3
    hashes ^= hashes >> np.uint64(32)
    return hashes
