"""Looks up values in `values`: the top bits of a value's hash are a range of entries, found by the ranges of parts
(manifest) and of row groups (footer).

One value reads one row group, or two where it lies across their border. Many values are looked up together: their row
groups are read once each, and searched as vectors.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from metaindex.core import Vector, dataclass
from metaindex.expressions import Literal
from metaindex.index.kinds.canonical import hash_all_literals, hash_each_list
from metaindex.index.kinds.keyed import EqualityReader, Hits, Units
from metaindex.index.kinds.xxhash64 import Hashes
from metaindex.index.log.entry import CoveredKey
from metaindex.index.store.layout import PartInfo, bound_number
from metaindex.index.store.reader import RunReader

from .rows import Layout
from .spans import by_owner, covered, spans, spread

_FEW_GROUPS = 16
"""Row groups of a look-up up to which they are kept in the cache: it is for look-ups of few values, and not for one of
all."""
_NONE = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True)
class _PartBounds:
    """The parts of a key, with the least and greatest entry of each."""

    parts: tuple[PartInfo, ...]
    least: Units
    greatest: Units


class HashReader(EqualityReader):
    """Looks up hashes; see `keyed.KeyReader`."""

    def __init__(self, run: RunReader, key: CoveredKey, types: Sequence[pa.DataType]) -> None:
        self._run, self._key, self._types = run, key, types
        self._layout = Layout.of(key.layout)

    def among(self, values: Sequence[Sequence[Literal]]) -> Hits | None:
        hashes = hash_all_literals(values, self._types)
        if hashes is None:
            return None
        return self._holding_one(int(hashes[0])) if len(hashes) == 1 else self.holding(hashes)

    def among_each(self, lists: Sequence[Sequence[Sequence[Literal]]]) -> list[Hits | None]:
        """Look up many lists; see `keyed.SupportsBatchReads`."""
        hashes, owners, unsaid = hash_each_list(lists, self._types)
        layout = self._layout
        tops, asked = np.unique(hashes >> np.uint64(64 - layout.hash_bits), return_inverse=True)
        units: list[Units] = []
        whose: list[Units] = []
        for entries in self._entries(tops):
            top_of = np.searchsorted(tops, entries.view(np.uint64) >> np.uint64(layout.unit_bits))
            places, who = spread(top_of, asked.reshape(-1), owners)
            units.append(entries[places] & ((1 << layout.unit_bits) - 1))
            whose.append(who)
        by_list = by_owner(units, whose, len(lists))
        return [
            None if number in unsaid else Hits(units=holders, group_bits=layout.group_bits)
            for number, holders in enumerate(by_list)
        ]

    def nan(self) -> Hits | None:
        if len(self._types) > 1:
            return None
        if not pa.types.is_floating(self._types[0]):
            return Hits(units=_NONE, group_bits=self._layout.group_bits)
        return self.among([(Literal(float("nan")),)])

    def holding(self, hashes: Hashes) -> Hits:
        """The units of any of the hashes."""
        layout = self._layout
        shift = np.uint64(64 - layout.hash_bits)
        tops = np.unique(hashes >> shift) if len(hashes) > 1 else hashes >> shift
        matching = self._entries(tops)
        if not matching:
            return Hits(units=_NONE, group_bits=layout.group_bits)
        entries = matching[0] if len(matching) == 1 else np.concatenate(matching)
        units = entries & ((1 << layout.unit_bits) - 1)
        return Hits(units=units if len(tops) == 1 else np.unique(units), group_bits=layout.group_bits)

    def _entries(self, tops: Hashes) -> list[Units]:
        """The entries of hashes that begin so (ascending, each once), part by part."""
        layout = self._layout
        lows = (tops << np.uint64(layout.unit_bits)).view(np.int64)
        highs = lows + ((1 << layout.unit_bits) - 1)
        parts = self._parts()
        first = np.searchsorted(parts.greatest, lows, side="left")
        last = np.searchsorted(parts.least, highs, side="right")
        some = []
        for at in covered(first, last, len(parts.parts)).tolist():
            mine = (first <= at) & (at < last)
            some.append((parts.parts[at], lows[mine], highs[mine]))
        return self._run.each(some, self._in_part)

    def _holding_one(self, value: int) -> Hits:
        """Look up one hash, with numbers instead of vectors, which are slow to set up."""
        layout = self._layout
        low = value >> 64 - layout.hash_bits << layout.unit_bits
        high = low + (1 << layout.unit_bits) - 1
        parts = self._parts()
        matching: list[Units] = []
        for at in range(int(parts.greatest.searchsorted(low)), int(parts.least.searchsorted(high, "right"))):
            part = parts.parts[at]
            least, greatest = self._bounds(part)
            groups = list(range(int(greatest.searchsorted(low)), int(least.searchsorted(high, "right"))))
            if groups:
                entries = Vector(self._run.read(part, groups, ["entry"]).column("entry")).numbers
                matching.append(entries[entries.searchsorted(low) : entries.searchsorted(high, "right")])
        units = matching[0] if len(matching) == 1 else np.concatenate(matching) if matching else _NONE
        return Hits(units=units & ((1 << layout.unit_bits) - 1), group_bits=layout.group_bits)

    def _bounds(self, part: PartInfo) -> tuple[Units, Units]:
        """Least and greatest entry of each row group of a part."""
        footer = self._run.footer(part)
        bounds: tuple[Units, Units] | None = footer.derived.get("entry")
        if bounds is None:
            said = footer.range("entry")
            bounds = footer.derived["entry"] = (np.array(said.least, np.int64), np.array(said.greatest, np.int64))
        return bounds

    def _in_part(self, part_and_bounds: tuple[PartInfo, Units, Units]) -> Units:
        """The entries of a part within any of the ranges, which are sorted and apart."""
        part, lows, highs = part_and_bounds
        least, greatest = self._bounds(part)
        first = np.searchsorted(greatest, lows, side="left")
        last = np.searchsorted(least, highs, side="right")
        wanted = covered(first, last, len(least))
        if not len(wanted):
            return _NONE
        keep = len(wanted) <= _FEW_GROUPS
        entries = Vector(self._run.read(part, wanted.tolist(), ["entry"], keep=keep).column("entry")).numbers
        start, end = np.searchsorted(entries, lows, side="left"), np.searchsorted(entries, highs, side="right")
        return entries[int(start[0]) : int(end[0])] if len(lows) == 1 else entries[spans(start, end)]

    def _parts(self) -> _PartBounds:
        def load() -> _PartBounds:
            parts = tuple(
                part for part in self._run.parts(self._key.kind) if part.first_key == self._key.key_id and part.rows
            )
            bounds = [
                np.array([bound_number(p, text) for p, text in zip(parts, texts, strict=True)], np.int64)
                for texts in ([p.least for p in parts], [p.greatest for p in parts])
            ]
            return _PartBounds(parts, *bounds)

        loaded: _PartBounds = self._run.derived(f"{self._key.kind} {self._key.key_id}", load)
        return loaded
