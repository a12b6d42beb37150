"""Cut points of a column: quantiles of a sample of its values, by which each value has a rank, and rows a place in the
grid of a curve, and on it.

A value's *word* is eight bytes of its key (`values.encoding`) behind those that the cut points begin with, as a number;
of a key that begins in another way the least word or the greatest; NULL, which comes first, has the least. So words are
in the order of the values, but for values that have the same. A value's rank is how many cut points are its word or
below it: between two neighbours is about the same share of the rows, and a value that many rows have takes as many
ranks as its share.

A cut point is no value of the table: it has as many of the first bits as tell a value from the one before it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metaindex.core import Vector, dataclass
from metaindex.index.kinds.values.encoding import KEPT, encode_values, ordered

Words = npt.NDArray[np.uint64]
Places = npt.NDArray[np.uint16]

MOST_BITS = 63
"""Of a number on the curve, which is stored as a signed one."""

_ONE = np.uint16(1)
_BLOCK = 1 << 14
"""Cells whose places and numbers stay in a core's cache."""

BITS = {2: 8, 3: 7, 4: 6, 5: 6, 6: 6, 7: 6, 8: 6}
"""Of a rank, by the number of columns of a curve."""

assert all(columns * bits <= MOST_BITS for columns, bits in BITS.items())

_SIGN = np.uint64(1 << 63)
_LEAST, _GREATEST = np.uint64(0), np.uint64((1 << 64) - 1)
_DIGITS = 16
_TEXT = re.compile(rf"([0-9a-f]{{2}}){{0,{KEPT}}}:[0-9a-f]{{1,{_DIGITS}}}(,[0-9a-f]{{0,{_DIGITS}}})*")


@dataclass(frozen=True, slots=True)
class CutPoints:
    """Cut points of one column, ascending: `(1 << bits) - 1` words of keys that begin with `common`."""

    common: bytes
    words: Words

    def ranks(self, values: pa.Array) -> Places:
        """The rank of each value, below `1 << bits`."""
        return np.searchsorted(self.words, _words(values, self.common), side="right").astype(np.uint16)

    def text(self) -> str:
        """Return the text in a layout: hexadecimal digits without zeros at the end; empty for a repeated word."""
        points = [f"{word:0{_DIGITS}x}".rstrip("0") or "0" for word in self.words.tolist()]
        said = ["" if at and point == points[at - 1] else point for at, point in enumerate(points)]
        return f"{self.common.hex()}:{','.join(said)}"


@lru_cache(64)
def cut_points(text: str, bits: int) -> CutPoints:
    """Parse cut points in a layout. Raises ValueError unless they are the result of `text`."""
    if not _TEXT.fullmatch(text) or text.count(",") != (1 << bits) - 2:
        raise ValueError(f"cut points are not {(1 << bits) - 1} words")
    common, _, said = text.partition(":")
    words = np.zeros((1 << bits) - 1, np.uint64)
    for at, point in enumerate(said.split(",")):
        words[at] = int(point.ljust(_DIGITS, "0"), 16) if point else words[at - 1]
    if (words[1:] < words[:-1]).any():
        raise ValueError("cut points do not ascend")
    words.flags.writeable = False
    return CutPoints(bytes.fromhex(common), words)


def no_curve(curve: tuple[int, tuple[str, ...]], columns: int) -> str | None:
    """Return why bits and cut points in a layout define no curve through so many columns, or None."""
    bits, cuts = curve
    if bits != BITS.get(columns):
        return f"a curve of {bits} bits through {columns} columns"
    try:
        for text in cuts:
            cut_points(text, bits)
    except ValueError as error:
        return f"a curve whose {error}"
    return None


def cut_by(values: pa.Array, bits: int) -> CutPoints:
    """Quantiles of a sample."""
    common = _common(values, bits)
    words = np.sort(_words(values, common))
    if not len(words):
        return CutPoints(b"", np.zeros((1 << bits) - 1, np.uint64))
    above = words[(np.arange(1, 1 << bits) * len(words)) >> bits]
    first = np.searchsorted(words, above)  # of the rows that have the same word
    below = words[np.maximum(first, 1) - 1]
    points = above & ~(_filled(above ^ below) >> np.uint64(1))
    points[first == 0] = _LEAST
    return CutPoints(common, points)


def _filled(words: Words) -> Words:
    """Set all bits below the highest set one."""
    out = words.copy()
    for shift in (1, 2, 4, 8, 16, 32):
        out |= out >> np.uint64(shift)
    return out


def _common(values: pa.Array, bits: int) -> bytes:
    """Return the common prefix of the keys between the outermost quantiles."""
    from metaindex.index.kinds.values.ordering import shared_bytes

    keys = _keys(values)
    if not len(keys):
        return b""
    if isinstance(keys, pa.Array):
        import pyarrow.compute as pc

        keys = pc.fill_null(keys, b"")
        order = pc.sort_indices(keys)
        ends = [keys[order[at].as_py()].as_py() for at in _outer(len(keys), bits)]
    else:
        ends = [int(np.sort(keys)[at]).to_bytes(8, "big") for at in _outer(len(keys), bits)]
    if ends[0] == ends[1]:  # hardly a second value: what they begin with would be a value
        return b""
    return bytes(ends[0][: min(shared_bytes(*ends), KEPT)])


def _outer(count: int, bits: int) -> tuple[int, int]:
    return count >> bits, count - 1 - (count >> bits)


def _words(values: pa.Array, common: bytes) -> Words:
    keys = _keys(values)
    skip = len(common)
    if isinstance(keys, pa.Array):
        import pyarrow.compute as pc

        from metaindex.index.kinds.values.ordering import words_behind

        words = words_behind(keys, skip)
        inside = Vector(pc.starts_with(keys, common)).truths(False)
        words = np.where(inside, words, np.where(Vector(pc.less(keys, common)).truths(False), _LEAST, _GREATEST))
    elif skip:
        start = np.uint64(int.from_bytes(common, "big") << (64 - 8 * skip))
        mask = _GREATEST << np.uint64(64 - 8 * skip)
        inside = (keys & mask) == start
        words = np.where(inside, keys << np.uint64(8 * skip), np.where(keys < start, _LEAST, _GREATEST))
    else:
        words = keys
    return np.where(Vector(values).present, words, _LEAST)


def _keys(values: pa.Array) -> Words | pa.Array:
    """Return the keys of the values: words if keys of the type have eight bytes, else bytes."""
    if pa.types.is_floating(values.type):
        return ordered(Vector(values.cast(pa.float64())).items(np.float64))
    keys = encode_values(values, values.type)
    return Vector(keys).items(np.int64).view(np.uint64) ^ _SIGN if keys.type == pa.int64() else keys


# Hilbert's curve through a grid: neighbours on it are neighbours in the grid, so that a stretch of it is a small box in
# every dimension (J. Skilling, Programming the Hilbert curve, AIP 707, 2004). A cell is its place in each of n
# dimensions, numbers of b bits; its number on the curve has n * b bits. ---------------------------------------------


def numbers_of(places: Sequence[Places], bits: int) -> Words:
    """The number on the curve of each cell. `places`: of all cells by dimension, below `1 << bits`, which are 16 bits
    at most; bits times dimensions is `MOST_BITS` at most."""
    count = len(places[0])
    out = np.zeros(count, np.uint64)
    for start in range(0, count, _BLOCK):
        out[start : start + _BLOCK] = _numbers([place[start : start + _BLOCK].copy() for place in places], bits)
    return out


def _numbers(axes: list[Places], bits: int) -> Words:
    for level in range(bits - 1, 0, -1):
        _turned(axes, level)
    for this, before in zip(axes[1:], axes, strict=False):
        this ^= before
    flips = np.zeros_like(axes[0])
    for level in range(bits - 1, 0, -1):
        flips ^= _bit(axes[-1], level) * np.uint16((1 << level) - 1)
    for axis in axes:
        axis ^= flips
    return woven(axes, bits)


def _turned(axes: Sequence[Places], level: int) -> None:
    """Transform below a bit: if it is set, flip the first axis, else swap the first axis with this one."""
    low = np.uint16((1 << level) - 1)
    for axis in axes:
        is_set = _bit(axis, level)
        swapped = (axes[0] ^ axis) & low & (is_set - _ONE)  # all bits where it is not set, none where it is
        axes[0] ^= (is_set * low) | swapped
        if axis is not axes[0]:
            axis ^= swapped


def _bit(axis: Places, level: int) -> Places:
    return (axis >> np.uint16(level)) & _ONE


def woven(axes: Sequence[Places], bits: int) -> Words:
    """The bits of all dimensions in turn, the first one's first."""
    out = np.zeros(len(axes[0]), np.uint64)
    for level in range(bits - 1, -1, -1):
        for axis in axes:
            out <<= np.uint64(1)
            out |= _bit(axis, level)
    return out
