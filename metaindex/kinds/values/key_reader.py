"""Looks up values, ranges and NULL in `value_keys` and `value_lists`, whose rows are sorted by key: parts are found by the manifest, row groups by the footer.

A question that most rows would have to be read for (a wide range, `!=` over a large index) is not answered: other sources are cheaper there.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow._compute import SetLookupOptions

from expressions.literals import Literal
from expressions.records import dataclass
from expressions.statistics import Interval
from expressions.vectors import compute, from_bytes, numbers, one_array, truths, valid_mask
from metaindex.errors import DamagedIndexError
from metaindex.kinds.keyed import Hits, Units
from metaindex.kinds.rows import ROW_GROUP_ROWS
from metaindex.log.entry import CoveredKey
from metaindex.log.types import type_from_text
from metaindex.store.layout import PartInfo
from metaindex.store.reader import Footer, RunReader

from .encoding import CUT, KeyRange, encode_all_literals, encode_interval, encode_literal, may_be_nan
from .rows import Layout

_FEW_GROUPS = 16
"""Row groups of a look-up up to which they are kept in the cache."""
_MOST_GROUPS = 128
"""Row groups that one question may read: two million rows, of which a range reads the units only."""
_MOST_WHOLE = {"value_lists": 128, "value_keys": 16}
"""Row groups of a key of which all are read, keys and units, for what stands in most files anyway (`!=`, a value at all): lists of few values can say more of it."""
_NONE = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class _Parts:
    """The parts of a key, with the least and greatest key of each; NULL is the empty key."""

    parts: tuple[PartInfo, ...]
    least: list[bytes]
    greatest: list[bytes]


@dataclass(frozen=True, slots=True)
class _Groups:
    """The row groups of a part that have keys: the first `start` have nothing but NULL."""

    start: int
    least: list[bytes]
    greatest: list[bytes]
    with_null: list[int]


class KeyValueReader:
    """See `keyed.KeyReader`."""

    def __init__(self, run: RunReader, key: CoveredKey, types: Sequence[pa.DataType]) -> None:
        self._run, self._key, self._now = run, key, list(types)
        self._stored = [_type(column.type_text) for column in key.columns]
        self._bits = Layout.of(key.layout).group_bits
        self._single = len(types) == 1

    def among(self, values: Sequence[Sequence[Literal]]) -> Hits | None:
        asked = encode_all_literals(values, self._stored, self._now)
        return None if asked is None else self._hits(self._equal(sorted(asked)))

    def between(self, interval: Interval) -> Hits | None:
        if not self._single:
            return None
        found = encode_interval(interval, self._stored[0], self._now[0])
        if found is None:
            return None
        return self._hits([]) if not isinstance(found, KeyRange) else self._inside(found)

    def other(self, values: Sequence[Literal]) -> Hits | None:
        if not self._single:
            return None
        asked = [encode_literal(literal, self._stored[0], self._now[0]) for literal in values]
        if None in asked:
            return None
        return self._every([one for one in asked if isinstance(one, bytes)])

    def null(self) -> Hits | None:
        if not self._single:
            return None
        found = []
        for part in self._parts().parts:
            if part.least != "":
                break
            groups = self._groups(part).with_null
            if len(groups) > _MOST_GROUPS:
                return None
            for keys, units in self._read(part, groups):
                valid = valid_mask(keys)
                found.append(_NONE if valid is None else units[~valid])
        return self._hits(found)

    def value(self) -> Hits | None:
        return self._every([]) if self._single else None

    def nan(self) -> Hits | None:
        if not self._single:
            return None
        return self.among([(Literal(float("nan")),)]) if may_be_nan(self._now[0]) else self._hits([])

    # -- finding ---------------------------------------------------------------------------------------------------

    def _equal(self, asked: list[bytes]) -> list[Units]:
        """The units of keys that are among some, which are sorted."""
        parts, found = self._parts(), []
        for at, part in enumerate(parts.parts):
            here = asked[bisect_left(asked, parts.least[at]) : bisect_right(asked, parts.greatest[at])]
            if not here:
                continue
            groups = self._groups(part)
            wanted: set[int] = set()
            for key in here:
                wanted.update(range(bisect_left(groups.greatest, key), bisect_right(groups.least, key)))
            for keys, units in self._read(part, sorted(groups.start + group for group in wanted)):
                found.append(_of_one(keys, units, here[0]) if len(here) == 1 else units[_among(keys, here)])
        return found

    def _inside(self, range_: KeyRange) -> Hits | None:
        parts, low, high = self._parts(), range_.low, range_.high
        found: list[Units] = []
        read = 0
        for at, part in enumerate(parts.parts):
            if (low is not None and parts.greatest[at] < low) or (high is not None and parts.least[at] > high):
                continue
            groups = self._groups(part)
            first = 0 if low is None else bisect_left(groups.greatest, low)
            last = len(groups.least) if high is None else bisect_right(groups.least, high)
            read += last - first
            if read > _MOST_GROUPS:
                return None
            # Keys are looked at only where some lie outside.
            edges = [g for g in range(first, last) if not _within(groups, g, low, high)]
            whole = sorted(set(range(first, last)) - set(edges))
            for keys, units in self._read(part, [groups.start + g for g in edges]):
                found.append(units[_between(keys, low, high)])
            if whole:
                found.append(self._units(part, [groups.start + g for g in whole]))
        return self._hits(found)

    def _every(self, but: list[bytes]) -> Hits | None:
        """Where a key is that equals none of some; of a cut key that is not known."""
        parts = self._parts().parts
        if sum(-(-part.rows // ROW_GROUP_ROWS) for part in parts) > _MOST_WHOLE[self._key.kind]:
            return None
        found = []
        for part in parts:
            for keys, units in self._read(part, list(range(len(self._run.footer(part).rows)))):
                valid = valid_mask(keys)
                mask = np.ones(len(units), np.bool_) if valid is None else valid.copy()
                if but:
                    cut = numbers(compute("binary_length", keys)) >= CUT
                    mask &= ~_among(keys, but) | cut
                found.append(units[mask])
        return self._hits(found)

    def _hits(self, found: list[Units]) -> Hits:
        units = np.unique(np.concatenate(found)) if found else _NONE
        return Hits(units=units.astype(np.int64, copy=False), group_bits=self._bits)

    # -- reading ---------------------------------------------------------------------------------------------------

    def _read(self, part: PartInfo, groups: list[int]) -> list[tuple[pa.Array, Units]]:
        if not groups:
            return []
        table = self._run.read(part, groups, ["key", "unit"], keep=len(groups) <= _FEW_GROUPS)
        return [(one_array(table.column("key")), numbers(table.column("unit")))]

    def _units(self, part: PartInfo, groups: list[int]) -> Units:
        return numbers(self._run.read(part, groups, ["unit"], keep=len(groups) <= _FEW_GROUPS).column("unit"))

    def _parts(self) -> _Parts:
        def load() -> _Parts:
            parts = tuple(p for p in self._run.parts(self._key.kind) if p.first_key == self._key.key_id and p.rows)
            bounds = (
                [bytes.fromhex(str(text)) for text in texts]
                for texts in ([p.least for p in parts], [p.greatest for p in parts])
            )
            return _Parts(parts, *bounds)

        found: _Parts = self._run.derived(f"{self._key.kind} {self._key.key_id}", load)
        return found

    def _groups(self, part: PartInfo) -> _Groups:
        footer = self._run.footer(part)
        found: _Groups | None = footer.derived.get("key")
        if found is None:
            found = footer.derived["key"] = _groups_of(footer, part)
        return found


def _groups_of(footer: Footer, part: PartInfo) -> _Groups:
    said = footer.range("key")
    if not said.known.all():
        raise DamagedIndexError(
            f"the footer of {part.path} bounds the keys of its row groups; it does not; refresh the index with mode='full'"
        )
    start = next((at for at, least in enumerate(said.least) if least is not None), len(said.least))
    return _Groups(start, said.least[start:], said.greatest[start:], np.flatnonzero(said.nulls).tolist())


def _type(text: str) -> pa.DataType:
    found = type_from_text(text)
    assert found is not None  # `registry.reader` has looked
    return found


def _within(groups: _Groups, group: int, low: bytes | None, high: bytes | None) -> bool:
    if group == 0 and groups.with_null:  # NULLs stand before the first keys
        return False
    return (low is None or groups.least[group] >= low) and (high is None or groups.greatest[group] <= high)


def _of_one(keys: pa.Array, units: Units, key: bytes) -> Units:
    """Of sorted keys."""
    nulls = keys.null_count
    start = _bisect(keys, key, nulls, right=False)
    return units[start : _bisect(keys, key, start, right=True)]


def _bisect(keys: pa.Array, key: bytes, low: int, *, right: bool) -> int:
    high = len(keys)
    while low < high:
        middle = (low + high) // 2
        here = keys[middle].as_py()
        if here < key or (right and here == key):
            low = middle + 1
        else:
            high = middle
    return low


def _among(keys: pa.Array, asked: list[bytes]) -> npt.NDArray[np.bool_]:
    return truths(compute("is_in", keys, options=SetLookupOptions(from_bytes(asked), skip_nulls=True)), null=False)


def _between(keys: pa.Array, low: bytes | None, high: bytes | None) -> npt.NDArray[np.bool_]:
    start = keys.null_count
    first = start if low is None else _bisect(keys, low, start, right=False)
    last = len(keys) if high is None else _bisect(keys, high, start, right=True)
    mask = np.zeros(len(keys), np.bool_)
    mask[first:last] = True
    return mask
