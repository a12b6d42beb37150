"""Finding a few paths among a million: sixteen bits of each, made when a snapshot is, so that the difference to its neighbour does not read every path again."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from expressions.vectors import truths

from .columns import Rows, among, kept, one, strings, where

_BACK, _WIDTH = 30, 8
"""Which bytes count, from a path's end: there stands the random part of the names that writers give."""
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_FEW = 5_000  # among these the paths themselves are found as fast

Bits = npt.NDArray[np.uint16]


def path_bits(paths: pa.ChunkedArray) -> Bits | None:
    """Sixteen bits of every path; None where paths are few or one is too short."""
    if len(paths) < _FEW:
        return None
    found = [_bits(chunk) for chunk in paths.chunks]
    return None if any(one is None for one in found) else np.concatenate(found)  # type: ignore[arg-type]


def find(paths: pa.ChunkedArray, bits: Bits | None, wanted: Sequence[str]) -> Rows:
    """The rows where one of `wanted` stands, ascending."""
    if bits is None:
        return where(among(paths, strings(wanted))) if len(wanted) else np.zeros(0, np.int64)
    own = _bits(strings([path for path in wanted if len(path.encode()) >= _BACK]))  # shorter ones are not among them
    assert own is not None
    marked = np.zeros(1 << 16, np.bool_)
    marked[own] = True
    near = marked[bits]
    rows = np.flatnonzero(near)
    same = among(one(kept(paths, near)), strings(wanted))
    return rows[truths(same, null=False)].astype(np.int64)


def _bits(paths: pa.Array) -> Bits | None:
    if len(paths) == 0:
        return np.zeros(0, np.uint16)
    offsets = np.frombuffer(paths.buffers()[1], np.int32, len(paths) + 1, paths.offset * 4).astype(np.int64)
    if int(np.diff(offsets).min()) < _BACK:
        return None
    windows = np.lib.stride_tricks.sliding_window_view(np.frombuffer(paths.buffers()[2], np.uint8), _WIDTH)
    words = windows[offsets[1:] - _BACK].view("<u8")[:, 0]
    bits: Bits = ((words * _SPREAD) >> np.uint64(48)).astype(np.uint16)
    return bits
