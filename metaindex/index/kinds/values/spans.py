"""Ranges [first, last) of places in sorted things, many at once."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

_Places = npt.NDArray[np.intp]


def covered(first: _Places, last: _Places, count: int) -> _Places:
    """Return every number below `count` that is in one of the ranges."""
    steps = np.zeros(count + 1, np.int64)
    some = first < last
    np.add.at(steps, first[some], 1)
    np.add.at(steps, last[some], -1)
    return np.flatnonzero(np.cumsum(steps[:-1]))


def spans(start: _Places, end: _Places) -> npt.NDArray[np.int64]:
    """Return every position of the ranges, one range after the other."""
    lengths = end - start
    total = int(lengths.sum())
    offsets = np.repeat(start - (np.cumsum(lengths) - lengths), lengths)
    return offsets + np.arange(total, dtype=np.int64)


def by_owner(units: Sequence[_Places], owners: Sequence[_Places], count: int) -> list[npt.NDArray[np.int64]]:
    """Units that were found in pieces, each with its owner's number below `count`, as those of each owner: sorted, each
    once."""
    every = np.concatenate([np.empty(0, np.int64), *units])
    owner = np.concatenate([np.empty(0, np.int64), *owners])
    order = np.lexsort((every, owner))
    every, owner = every[order], owner[order]
    new = np.ones(len(every), np.bool_)
    new[1:] = (every[1:] != every[:-1]) | (owner[1:] != owner[:-1])
    every, owner = every[new], owner[new]
    bounds = owner.searchsorted(np.arange(count + 1)).tolist()
    return [every[start:end] for start, end in pairwise(bounds)]


def spread(places: _Places, asked: _Places, owners: _Places) -> tuple[_Places, _Places]:
    """Return the place and the owner of each match: `places` are those of what was found, `asked` the sorted places
    that `owners` asked for, each as often as it was asked."""
    first, last = places.searchsorted(asked), places.searchsorted(asked, "right")
    return spans(first, last), np.repeat(owners, last - first)
