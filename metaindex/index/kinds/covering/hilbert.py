"""Hilbert's curve through a grid, in numpy: neighbours on it are neighbours in the grid, so that a stretch of it is a
small box in every dimension (J. Skilling, Programming the Hilbert curve, AIP 707, 2004).

A cell is its place in each of n dimensions, numbers of b bits; its number on the curve has n * b bits.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint64]
Places = npt.NDArray[np.uint16]

MOST_BITS = 63
"""Of a number on the curve, which is stored as a signed one."""

_ONE = np.uint16(1)
_BLOCK = 1 << 14
"""Cells whose places and numbers stay in a core's cache."""


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


def places_of(numbers: Words, dimensions: int, bits: int) -> list[Places]:
    """The place of each cell in each dimension, by its number on the curve."""
    axes = _unwoven(numbers, dimensions, bits)
    last = axes[-1] >> _ONE
    for this, before in zip(reversed(axes[1:]), reversed(axes[:-1]), strict=True):
        this ^= before
    axes[0] ^= last
    for level in range(1, bits):
        _turned(axes, level, back=True)
    return axes


def _turned(axes: Sequence[Places], level: int, *, back: bool = False) -> None:
    """Transform below a bit: if it is set, flip the first axis, else swap the first axis with this one."""
    low = np.uint16((1 << level) - 1)
    for axis in reversed(axes) if back else axes:
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


def _unwoven(numbers: Words, dimensions: int, bits: int) -> list[Places]:
    axes = [np.zeros(len(numbers), np.uint16) for _ in range(dimensions)]
    for level in range(bits):
        for place, axis in enumerate(reversed(axes)):
            bit = (numbers >> np.uint64(level * dimensions + place)) & np.uint64(1)
            axis |= bit.astype(np.uint16) << np.uint16(level)
    return axes
