"""xxHash64 of many values at once (https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md, seed 0): equal to
the `xxhash` package value by value, at a few nanoseconds a value instead of a Python call each. All arithmetic is
modulo 2^64, as NumPy's is on unsigned words.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import xxhash

Hashes = npt.NDArray[np.uint64]
_Ints = npt.NDArray[np.int64]
_Bytes = npt.NDArray[np.uint8]

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
    if length < _LONG and (lengths == length).all() and (np.diff(starts) == length).all():
        return _hash_even(data, starts, length)
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


def _hash_even(data: _Bytes, starts: _Ints, length: int) -> Hashes:
    """Hash adjacent slices of one length, as ids are: their words are columns of a matrix, and nothing is gathered."""
    out = np.empty(len(starts), np.uint64)
    for start in range(0, len(starts), _AT_ONCE):
        some = out[start : start + _AT_ONCE]
        _Even(data, int(starts[start]), length, some).hash()
    return out


class _Even:
    """Hashes into `out` as many values of `length` bytes, from `start` on."""

    def __init__(self, data: _Bytes, start: int, length: int, out: Hashes) -> None:
        self._data, self._start, self._length, self._out = data, start, length, out
        self._spare, self._other = np.empty_like(out), np.empty_like(out)

    def hash(self) -> None:
        out = self._out
        out[:] = _P5
        first = self._stripes() if self._length >= 32 else 0
        out += np.uint64(self._length)
        for at in range(first, self._length - 7, 8):
            self._mix(self._column(at, np.dtype("<u8")))
            self._rotate(out, 27)
            out *= _P1
            out += _P4
        at = self._length & ~7
        if self._length & 4:
            np.multiply(self._column(at, np.dtype("<u4")), _P1, out=self._spare, dtype=np.uint64)
            out ^= self._spare
            self._rotate(out, 23)
            out *= _P2
            out += _P3
            at += 4
        for last in range(at, self._length):
            np.multiply(self._column(last, np.dtype(np.uint8)), _P5, out=self._spare, dtype=np.uint64)
            out ^= self._spare
            self._rotate(out, 11)
            out *= _P1
        _finished(out)

    def _stripes(self) -> int:
        sums = [np.full(len(self._out), start, np.uint64) for start in _STARTS]
        whole = self._length & ~31
        for stripe in range(0, whole, 32):
            for lane, total in enumerate(sums):
                np.multiply(self._column(stripe + 8 * lane, np.dtype("<u8")), _P2, out=self._spare)
                total += self._spare
                self._rotate(total, 31)
                total *= _P1
        out = self._out
        out[:] = 0
        for total, by in zip(sums, (1, 7, 12, 18), strict=True):
            np.left_shift(total, np.uint64(by), out=self._spare)
            np.right_shift(total, np.uint64(64 - by), out=self._other)
            self._spare |= self._other
            out += self._spare
        for total in sums:
            self._mix(total)
            out *= _P1
            out += _P4
        return whole

    def _mix(self, word: npt.NDArray[np.unsignedinteger]) -> None:
        """The round of an empty sum and a word, into `out`."""
        np.multiply(word, _P2, out=self._spare)
        np.left_shift(self._spare, np.uint64(31), out=self._other)
        self._spare >>= np.uint64(33)
        self._spare |= self._other
        self._spare *= _P1
        self._out ^= self._spare

    def _rotate(self, words: Hashes, by: int) -> None:
        np.left_shift(words, np.uint64(by), out=self._other)
        words >>= np.uint64(64 - by)
        words |= self._other

    def _column(self, at: int, item: np.dtype[np.unsignedinteger]) -> npt.NDArray[np.unsignedinteger]:
        """The word at this place of every value: a view."""
        return np.ndarray((len(self._out),), item, self._data, self._start + at, (self._length,))


def _hash_short(data: _Bytes, starts: _Ints, lengths: _Ints) -> Hashes:
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
    starts: _Ints,
    lengths: _Ints,
) -> Hashes:
    hashes = np.full(len(starts), _P5, np.uint64)
    stripes = lengths >> 5
    if stripes.any():
        _take_stripes(hashes, words, starts, stripes)
    hashes += lengths.view(np.uint64)
    at = starts + (stripes << 5)
    left = lengths & 31
    for turn in range(3):
        rows = _rows(left >= 8 * (turn + 1))
        if rows is None:
            break
        some = hashes[rows]
        _take_word(some, words[at[rows] + 8 * turn])
        hashes[rows] = some
    at += left & 24
    left &= 7
    if (rows := _rows(left >= 4)) is not None:
        some = hashes[rows]
        some ^= halves[at[rows]].astype(np.uint64) * _P1
        hashes[rows] = _rotated(some, 23) * _P2 + _P3
    at += left & 4
    left &= 3
    for turn in range(3):
        rows = _rows(left > turn)
        if rows is None:
            break
        some = hashes[rows]
        some ^= data[at[rows] + turn].astype(np.uint64) * _P5
        hashes[rows] = _rotated(some, 11) * _P1
    return _finished(hashes)


def _rows(mask: npt.NDArray[np.bool_]) -> slice | _Ints | None:
    """The rows that a step is for; None where there is none."""
    if mask.all():
        return slice(None)
    rows = np.flatnonzero(mask)
    return rows if len(rows) else None


def _take_stripes(hashes: Hashes, words: npt.NDArray[np.unsignedinteger], starts: _Ints, stripes: _Ints) -> None:
    """Stripes of 32 bytes: the values that still have one are a prefix of those with many first."""
    most = int(stripes.max())
    order = None
    if int(stripes.min()) < most:
        order = np.argsort(stripes.astype(np.uint8), kind="stable")[::-1][: int(np.count_nonzero(stripes))]
        starts, stripes = starts[order], stripes[order]
    sums = [np.full(len(starts), start, np.uint64) for start in _STARTS]
    for turn in range(most):
        live = int(np.count_nonzero(stripes > turn))
        at = starts[:live] + 32 * turn
        for lane, total in enumerate(sums):
            _add_round(total[:live], words[at + 8 * lane])
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
