"""Finding a few paths among a million: sixteen bits of each, sorted when a snapshot is made, so that the difference to
its neighbour does not read every path again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metaindex.expressions.vectors import truths

from .columns import Rows, among, rows_array, strings, take, where

_BACK, _WIDTH = 30, 8
"""Which bytes count, from a path's end: there stands the random part of the names that writers give."""
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_FEW = 5_000  # among these the paths themselves are found as fast

_Bits = npt.NDArray[np.uint16]


@dataclass(frozen=True, slots=True)
class PathIndex:
    """The bits of every path in ascending order, and whose they are."""

    bits: _Bits
    rows: npt.NDArray[np.int64]

    def near(self, paths: pa.Array) -> Rows:
        """Rows, ascending, among which all of `paths` are; there may be others."""
        wanted = _bits(paths)
        assert wanted is not None
        firsts, lasts = (np.searchsorted(self.bits, np.unique(wanted), side) for side in ("left", "right"))
        found = [self.rows[first:last] for first, last in zip(firsts, lasts, strict=True)]
        return np.sort(np.concatenate(found)) if found else np.zeros(0, np.int64)


def path_index(paths: pa.ChunkedArray) -> PathIndex | None:
    """None where paths are few or one is too short."""
    if len(paths) < _FEW:
        return None
    found: list[_Bits] = []
    for chunk in paths.chunks:
        bits = _bits(chunk)
        if bits is None:
            return None
        found.append(bits)
    bits = np.concatenate(found)
    rows = np.argsort(bits, kind="stable")
    return PathIndex(bits[rows], rows)


def find(paths: pa.ChunkedArray, index: PathIndex | None, wanted: Sequence[str]) -> Rows:
    """The rows where one of `wanted` stands, ascending."""
    names = strings(wanted)
    if index is None:
        return where(among(paths, names)) if len(wanted) else np.zeros(0, np.int64)
    near = index.near(
        strings([path for path in wanted if len(path.encode()) >= _BACK])
    )  # shorter ones are not among them
    out = [np.zeros(0, np.int64)]
    first = 0
    for chunk in paths.chunks:
        low, high = np.searchsorted(near, [first, first + len(chunk)])
        rows = near[low:high]
        if len(rows):
            out.append(rows[truths(among(take(chunk, rows_array(rows - first)), names), null=False)])
        first += len(chunk)
    return np.concatenate(out)


def _bits(paths: pa.Array) -> _Bits | None:
    if len(paths) == 0:
        return np.zeros(0, np.uint16)
    offsets = np.frombuffer(paths.buffers()[1], np.int32, len(paths) + 1, paths.offset * 4).astype(np.int64)
    if int(np.diff(offsets).min()) < _BACK:
        return None
    windows = np.lib.stride_tricks.sliding_window_view(np.frombuffer(paths.buffers()[2], np.uint8), _WIDTH)
    words = windows[offsets[1:] - _BACK].view("<u8")[:, 0]
    bits: _Bits = ((words * _SPREAD) >> np.uint64(48)).astype(np.uint16)
    return bits
