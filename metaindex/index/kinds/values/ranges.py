"""Finds the keys of many ranges together: each range is two places among the sorted keys, with its units between them.

Narrow ranges are listed, row by row. Wide ones have more rows together than there are: for each of them is looked up
where every unit stands first at or behind its beginning, which is told from the last range to the first in one go.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metaindex.core import Vector
from metaindex.index.kinds.keyed import Units

from .asked import Key, KeyRange, Keys

Places = npt.NDArray[np.int64]

_LISTED: Final = 8
"""A row that is listed, and sorted, costs about as much as so many units looked at."""
_MOST_LISTED: Final = 1 << 22
_MOST_LOOKED_AT: Final = 1 << 27
_MOST_OBJECTS: Final = 64
"""Keys that are bytes, for each range, up to which all of them are made objects to be compared."""
_TOGETHER: Final = 1 << 22
"""Units looked at together: four bytes each."""


def holding_some(least: Keys, greatest: Keys, ranges: Sequence[KeyRange]) -> Places:
    """Return those sorted by key that may hold a key of some range."""
    first = _places(greatest, [range_.low for range_ in ranges], "left", 0)
    last = _places(least, [range_.high for range_ in ranges], "right", len(least))
    return covered(first, last, len(least))


def rows_of_each(keys: pa.Array, ranges: Sequence[KeyRange]) -> tuple[Places, Places] | None:
    """The first row of each range and the one behind its last: of sorted keys with NULL first. None: it is cheaper to
    look at one after the other."""
    nulls: int = keys.null_count
    if keys.type == pa.int64():
        held: Keys = Vector(keys).numbers[nulls:]
    elif len(keys) > _MOST_OBJECTS * len(ranges):
        return None
    else:
        held = np.array(keys[nulls:].to_pylist(), object)
    first = _places(held, [range_.low for range_ in ranges], "left", 0)
    last = _places(held, [range_.high for range_ in ranges], "right", len(held))
    return first + nulls, np.maximum(first, last) + nulls


def _places(held: Keys, ends: Sequence[Key | None], side: Literal["left", "right"], without: int) -> Places:
    """Return the places of keys among the sorted ones held; `without`: for a missing key."""
    out = np.full(len(ends), without, np.int64)
    there = [place for place, end in enumerate(ends) if end is not None]
    out[there] = held.searchsorted(np.array([ends[place] for place in there], held.dtype), side)
    return out


def units_of_each(units: Units, first: Places, last: Places) -> list[Units] | None:
    """The units from a row to another, of many: sorted, each once. None: it is cheaper to look at one after the
    other."""
    rows = int((last - first).sum())
    distinct, which = Vector.numbered(units)
    looked_at = len(first) * len(distinct)
    if rows * _LISTED <= looked_at and rows <= _MOST_LISTED:
        owners = np.repeat(np.arange(len(first)), last - first)
        return by_owner([units[spans(first, last)].astype(np.int64)], [owners], len(first))
    if looked_at > _MOST_LOOKED_AT:
        return None
    return _looked_at(distinct.astype(np.int64), which, first, last)


def _looked_at(distinct: Units, which: Places, first: Places, last: Places) -> list[Units]:
    """Return the units of each wide range. `which`: each row's place of its unit among the distinct ones."""
    units: list[Units] = [distinct[:0]] * len(first)
    order = np.argsort(first, kind="stable")
    step = max(1, _TOGETHER // max(1, len(distinct)))
    end = len(which)
    behind = np.full(len(distinct), end, np.int32)  # where each unit stands first, of the rows from `end` on
    for at in reversed(range(0, len(order), step)):
        here = order[at : at + step]
        starts, of_start = Vector.numbered(first[here])
        rows = np.arange(int(starts[0]), end)[::-1]  # backwards, so that the first of a unit stays
        where = np.full((len(starts), len(distinct)), len(which), np.int32)
        where[starts.searchsorted(rows, "right") - 1, which[rows]] = rows
        where[-1] = np.minimum(where[-1], behind)
        where = np.minimum.accumulate(where[::-1])[::-1]
        owners, places = np.nonzero(where[of_start] < last[here, None])
        bounds = owners.searchsorted(np.arange(len(here) + 1)).tolist()
        some = distinct[places]
        for owner, (start, stop) in zip(here.tolist(), pairwise(bounds), strict=True):
            units[owner] = some[start:stop]
        behind, end = where[0], int(starts[0])
    return units


# Ranges [first, last) of places in sorted things, many at once ---------------------------------------------------


def covered(first: Places, last: Places, count: int) -> Places:
    """Return every number below `count` that is in one of the ranges."""
    steps = np.zeros(count + 1, np.int64)
    some = first < last
    np.add.at(steps, first[some], 1)
    np.add.at(steps, last[some], -1)
    return np.flatnonzero(np.cumsum(steps[:-1]))


def spans(start: Places, end: Places) -> npt.NDArray[np.int64]:
    """Return every position of the ranges, one range after the other."""
    lengths = end - start
    total = int(lengths.sum())
    offsets = np.repeat(start - (np.cumsum(lengths) - lengths), lengths)
    return offsets + np.arange(total, dtype=np.int64)


def by_owner(units: Sequence[Places], owners: Sequence[Places], count: int) -> list[npt.NDArray[np.int64]]:
    """Units that were found in pieces, each with its owner's number below `count`, as those of each owner: sorted, each
    once."""
    every = np.concatenate([np.empty(0, np.int64), *units])
    if count == 1:
        return [Vector.distinct(every)]
    owner = np.concatenate([np.empty(0, np.int64), *owners])
    order = np.lexsort((every, owner))
    every, owner = every[order], owner[order]
    new = np.ones(len(every), np.bool_)
    new[1:] = (every[1:] != every[:-1]) | (owner[1:] != owner[:-1])
    every, owner = every[new], owner[new]
    bounds = owner.searchsorted(np.arange(count + 1)).tolist()
    return [every[start:end] for start, end in pairwise(bounds)]


def spread(places: Places, asked: Places, owners: Places) -> tuple[Places, Places]:
    """Return the place and the owner of each match: `places` are those of what was found, `asked` the sorted places
    that `owners` asked for, each as often as it was asked."""
    first, last = places.searchsorted(asked), places.searchsorted(asked, "right")
    return spans(first, last), np.repeat(owners, last - first)
