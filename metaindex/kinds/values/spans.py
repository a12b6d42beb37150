"""Ranges [first, last) of places in sorted things, many at once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

_Places = npt.NDArray[np.intp]


def covered(first: _Places, last: _Places, count: int) -> _Places:
    """Every number below `count` that lies in one of the ranges."""
    steps = np.zeros(count + 1, np.int64)
    some = first < last
    np.add.at(steps, first[some], 1)
    np.add.at(steps, last[some], -1)
    return np.flatnonzero(np.cumsum(steps[:-1]))


def spans(start: _Places, end: _Places) -> npt.NDArray[np.int64]:
    """Every position of the ranges, one range behind the other."""
    lengths = end - start
    total = int(lengths.sum())
    offsets = np.repeat(start - (np.cumsum(lengths) - lengths), lengths)
    return offsets + np.arange(total, dtype=np.int64)
