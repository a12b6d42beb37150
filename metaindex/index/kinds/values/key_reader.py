"""Looks up values, ranges and NULL in `value_keys` and `value_lists`, whose rows are sorted by key (`stored`).

A question that most rows would have to be read for (a wide range, `!=` over a large index) is not answered: other
sources are cheaper there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow._compute import SetLookupOptions

from metaindex.core import Vector, compute
from metaindex.expressions import Interval, Literal
from metaindex.index.kinds.canonical import Absent
from metaindex.index.kinds.keyed import Hits, Units
from metaindex.index.log.entry import CoveredKey
from metaindex.index.store.layout import PartInfo
from metaindex.index.store.reader import RunReader
from metaindex.index.store.rows import ROW_GROUP_ROWS

from .asked import (
    Key,
    KeyRange,
    Keys,
    encode_each_interval,
    encode_each_list,
    encode_literal,
    in_order,
    may_be_nan,
)
from .encoding import CUT
from .ranges import by_owner, covered, holding_some, rows_of_each, spans, spread, units_of_each
from .rows import Layout
from .stored import KeyGroups, StoredKeys

_FEW_GROUPS = 16
"""Row groups of a look-up up to which they are kept in the cache."""
_MOST_GROUPS = 128
"""Row groups that one question may read: two million rows, of which a range reads the units only."""
_MOST_WHOLE = {"value_lists": 128, "value_keys": 16}
"""Row groups of a key of which all are read, keys and units, for what stands in most files anyway (`!=`, a value at
all): lists of few values can say more of it."""
_NONE = np.empty(0, np.int64)
_R = TypeVar("_R")


class KeyValueReader:
    """Looks up values; see `keyed.KeyReader`."""

    def __init__(self, run: RunReader, key: CoveredKey, types: Sequence[pa.DataType]) -> None:
        self._run, self._kind, self._now = run, key.kind, list(types)
        self._bits = Layout.of(key.layout).group_bits
        self._single = len(types) == 1
        self._keys = StoredKeys(run, key)
        self._stored = self._keys.types

    def among(self, values: Sequence[Sequence[Literal]]) -> Hits | None:
        return self.among_each([values])[0]

    def among_each(self, lists: Sequence[Sequence[Sequence[Literal]]]) -> list[Hits | None]:
        """Look up many lists; see `keyed.SupportsBatchReads`."""
        keys, owners, unsaid = encode_each_list(lists, self._stored, self._now)
        asked = in_order(keys, self._keys.type)
        place = {key: at for at, key in enumerate(asked.tolist())}
        rows = [row for some in self._each_part(asked, self._equal_each_in) for row in some]
        who = np.array(owners, np.int64)
        wants = np.array([place[key] for key in keys], np.int64)
        spread_ = [(units, *spread(which, wants, who)) for units, which in rows]
        each = by_owner([units[places] for units, places, _ in spread_], [o for _, _, o in spread_], len(lists))
        return [
            None if number in unsaid else Hits(units=holders, group_bits=self._bits)
            for number, holders in enumerate(each)
        ]

    def between(self, interval: Interval) -> Hits | None:
        if not self._single:
            return None
        (keys,) = encode_each_interval([interval], self._stored[0], self._now[0])
        if keys is None:
            return None
        return self._hits([]) if isinstance(keys, Absent) else self._inside(keys)

    def between_each(self, intervals: Sequence[Interval]) -> list[Hits | None] | None:
        """Look up many intervals; see `keyed.ReadsRanges`."""
        if not self._single:
            return [None] * len(intervals)
        asked = encode_each_interval(intervals, self._stored[0], self._now[0])
        ranges = [key_range for key_range in asked if isinstance(key_range, KeyRange)]
        held = self._rows_inside(ranges)
        rows = None if held is None else rows_of_each(held[0], ranges)
        units = None if held is None or rows is None else units_of_each(held[1], *rows)
        if units is None:
            return None
        told = iter(units)
        return [
            None
            if interval_ is None
            else Hits(units=_NONE if isinstance(interval_, Absent) else next(told), group_bits=self._bits)
            for interval_ in asked
        ]

    def other(self, values: Sequence[Literal]) -> Hits | None:
        if not self._single:
            return None
        asked = [encode_literal(literal, self._stored[0], self._now[0]) for literal in values]
        if None in asked:
            return None
        keys = (key for key in asked if key is not None and not isinstance(key, Absent))
        return self._every(in_order(keys, self._keys.type))

    def null(self) -> Hits | None:
        if not self._single:
            return None
        null_units = []
        for part in self._keys.parts().parts:
            if part.least != "":
                break
            groups = self._keys.groups(part).with_null
            if len(groups) > _MOST_GROUPS:
                return None
            for keys, units in self._read(part, groups):
                null_units.append(units[~Vector(keys).present])
        return self._hits(null_units)

    def value(self) -> Hits | None:
        return self._every(in_order([], self._keys.type)) if self._single else None

    def nan(self) -> Hits | None:
        if not self._single:
            return None
        return self.among([(Literal(float("nan")),)]) if may_be_nan(self._now[0]) else self._hits([])

    # -- finding ---------------------------------------------------------------------------------------------------

    def _each_part(self, asked: Keys, work: Callable[[tuple[PartInfo, Keys, int]], _R]) -> list[_R]:
        """Parts that may hold some of the keys, each with those and the place of the first of them. They are looked
        through side by side."""
        parts = self._keys.parts()
        first = np.searchsorted(asked, parts.least) if len(asked) else np.zeros(len(parts.parts), np.int64)
        last = np.searchsorted(asked, parts.greatest, side="right") if len(asked) else first
        pieces = zip(parts.parts, first.tolist(), last.tolist(), strict=True)
        return self._run.each([(part, asked[start:end], start) for part, start, end in pieces if start < end], work)

    def _equal_each_in(self, wanted: tuple[PartInfo, Keys, int]) -> list[tuple[Units, Units]]:
        """Units, and the place of the key that each is of, ascending."""
        part, asked, first = wanted
        out = []
        for keys, units in self._read(part, self._holding(part, asked)):
            rows, which = _rows_of_each(keys, asked)
            out.append((units[rows], which + first))
        return out

    def _holding(self, part: PartInfo, asked: Keys) -> Sequence[int]:
        """The row groups of a part that may hold some of the keys."""
        groups = self._keys.groups(part)
        if len(asked) == 1:
            here = groups.between(asked[0], asked[0])
            return range(groups.start + here.start, groups.start + here.stop)
        first = groups.greatest.searchsorted(asked)
        last = groups.least.searchsorted(asked, "right")
        wanted: list[int] = (covered(first, last, len(groups.least)) + groups.start).tolist()
        return wanted

    def _inside(self, range_: KeyRange) -> Hits | None:
        parts, low, high = self._keys.parts(), range_.low, range_.high
        matching: list[Units] = []
        read = 0
        for at, part in enumerate(parts.parts):
            if (low is not None and parts.greatest[at] < low) or (high is not None and parts.least[at] > high):
                continue
            groups = self._keys.groups(part)
            here = groups.between(low, high)
            read += len(here)
            if read > _MOST_GROUPS:
                return None
            # Keys are looked at only where some lie outside.
            edges = [g for g in here if not _within(groups, g, low, high)]
            whole = sorted(set(here) - set(edges))
            for keys, units in self._read(part, [groups.start + g for g in edges]):
                matching.append(units[_between(keys, low, high)])
            if whole:
                matching.append(
                    self._keys.numbers(part, [groups.start + g for g in whole], "unit", keep=len(whole) <= _FEW_GROUPS)
                )
        return self._hits(matching)

    def _rows_inside(self, ranges: Sequence[KeyRange]) -> tuple[pa.Array, Units] | None:
        """The keys and units of the row groups in which some key of the ranges may be, in order. None: too many."""
        parts = self._keys.parts()
        wanted: list[tuple[PartInfo, list[int]]] = []
        for part in (parts.parts[at] for at in holding_some(parts.least, parts.greatest, ranges).tolist()):
            groups = self._keys.groups(part)
            inside = holding_some(groups.least, groups.greatest, ranges) + groups.start
            wanted.append((part, inside.tolist()))
        if sum(len(groups) for _, groups in wanted) > _MOST_GROUPS:
            return None
        matching = [rows for part, groups in wanted for rows in self._read(part, groups)]
        if not matching:
            return pa.nulls(0, self._keys.type), _NONE
        return pa.concat_arrays([keys for keys, _ in matching]), np.concatenate([units for _, units in matching])

    def _every(self, but: Keys) -> Hits | None:
        """Find all keys except some; a cut key counts as another."""
        parts = self._keys.parts().parts
        if sum(-(-part.rows // ROW_GROUP_ROWS) for part in parts) > _MOST_WHOLE[self._kind]:
            return None
        matching = []
        for part in parts:
            for keys, units in self._read(part, self._keys.row_groups(part)):
                mask = Vector(keys).present.copy()
                if len(but):
                    same = np.zeros(len(units), np.bool_)
                    same[_rows_of_each(keys, but)[0]] = True
                    if keys.type != pa.int64():
                        same &= Vector(compute("binary_length", keys)).numbers < CUT
                    mask &= ~same
                matching.append(units[mask])
        return self._hits(matching)

    def _hits(self, matching: list[Units]) -> Hits:
        units = _each_once(np.concatenate(matching)) if matching else _NONE
        return Hits(units=units.astype(np.int64, copy=False), group_bits=self._bits)

    def _read(self, part: PartInfo, groups: Sequence[int]) -> Iterator[tuple[pa.Array, Units]]:
        return self._keys.read(part, groups, keep=len(groups) <= _FEW_GROUPS)


def _each_once(units: Units) -> Units:
    """Sorted, each once. Where many of the numbers up to the greatest may be there, they are ticked off: no sort."""
    if not len(units) or (most := int(units.max())) > 16 * len(units) or int(units.min()) < 0:
        return Vector.distinct(units)
    seen = np.zeros(most + 1, np.bool_)
    seen[units] = True
    return np.flatnonzero(seen)


def _within(groups: KeyGroups, group: int, low: Key | None, high: Key | None) -> bool:
    if group == 0 and groups.with_null:  # NULLs stand before the first keys
        return False
    return bool((low is None or groups.least[group] >= low) and (high is None or groups.greatest[group] <= high))


# Rows, which are sorted with NULL first ---------------------------------------------------------------------------


def _rows_of_each(keys: pa.Array, asked: Keys) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The rows whose key is among some, which are sorted, with the place of each row's key, ascending."""
    if len(asked) == 1:
        rows = np.arange(position(keys, asked[0]), position(keys, asked[0], right=True))
        return rows, np.zeros_like(rows)
    if keys.type == pa.int64():
        nulls: int = keys.null_count
        held: Units = Vector(keys).numbers[nulls:]
        first, last = held.searchsorted(asked), held.searchsorted(asked, "right")
        return spans(first, last) + nulls, np.repeat(np.arange(len(asked)), last - first)
    places = compute("index_in", keys, options=SetLookupOptions(Vector.arrow(asked.tolist()), skip_nulls=True))
    rows = np.flatnonzero(Vector(places).present)
    return rows, Vector(places).numbers[rows].astype(np.int64)


def _between(keys: pa.Array, low: Key | None, high: Key | None) -> slice:
    first = keys.null_count if low is None else position(keys, low)
    return slice(first, len(keys) if high is None else position(keys, high, right=True))


def position(keys: pa.Array, key: Key, *, right: bool = False) -> int:
    """The first row, NULLs aside, that is not less than a key; `right`: that is greater."""
    low: int = keys.null_count
    high = len(keys)
    if keys.type == pa.int64():
        return low + int(Vector(keys).numbers[low:].searchsorted(key, "right" if right else "left"))
    while low < high:
        middle = (low + high) // 2
        here = keys[middle].as_py()
        if here < key or (right and here == key):
            low = middle + 1
        else:
            high = middle
    return low
