"""Looks up values in `values`: the top bits of a value's hash are a range of entries, found by the ranges of parts
(manifest) and of row groups (footer).

One value reads one row group, or two where it lies across their border. Many values are looked up together: their row
groups are read once each, and searched as vectors.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from metaindex.core import Vector
from metaindex.expressions import Literal
from metaindex.index.kinds.canonical import hash_each_list
from metaindex.index.kinds.keyed import EqualityReader, Hits, Units
from metaindex.index.kinds.xxhash64 import Hashes
from metaindex.index.log.entry import CoveredKey
from metaindex.index.store.layout import PartInfo
from metaindex.index.store.reader import RunReader

from .ranges import by_owner, covered, spans, spread
from .rows import Layout
from .stored import SortedRows

_FEW_GROUPS = 16
"""Row groups of a look-up up to which they are kept in the cache: it is for look-ups of few values, and not for one of
all."""
_NONE = np.empty(0, np.int64)


class HashReader(EqualityReader):
    """Looks up hashes; see `keyed.KeyReader`."""

    def __init__(self, run: RunReader, key: CoveredKey, types: Sequence[pa.DataType]) -> None:
        self._run, self._key, self._types = run, key, types
        self._layout, self._rows = Layout.of(key.layout), SortedRows(run, key, "entry", integers=True)

    def among(self, values: Sequence[Sequence[Literal]]) -> Hits | None:
        return self.among_each([values])[0]

    def among_each(self, lists: Sequence[Sequence[Sequence[Literal]]]) -> list[Hits | None]:
        """Look up many lists; see `keyed.SupportsBatchReads`."""
        hashes, owners, unsaid = hash_each_list(lists, self._types)
        layout = self._layout
        tops, asked = Vector.numbered(hashes >> np.uint64(64 - layout.hash_bits))
        units: list[Units] = []
        whose: list[Units] = []
        for entries in self._entries(tops):
            top_of = np.searchsorted(tops, entries.view(np.uint64) >> np.uint64(layout.unit_bits))
            places, who = spread(top_of, asked, owners)
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

    def _entries(self, tops: Hashes) -> list[Units]:
        """The entries of hashes that begin so (ascending, each once), part by part."""
        layout = self._layout
        lows = (tops << np.uint64(layout.unit_bits)).view(np.int64)
        highs = lows + ((1 << layout.unit_bits) - 1)
        parts = self._rows.parts()
        first = np.searchsorted(parts.greatest, lows, side="left")
        last = np.searchsorted(parts.least, highs, side="right")
        some = []
        for at in covered(first, last, len(parts.parts)).tolist():
            mine = (first <= at) & (at < last)
            some.append((parts.parts[at], lows[mine], highs[mine]))
        return self._run.each(some, self._in_part)

    def _in_part(self, part_and_bounds: tuple[PartInfo, Units, Units]) -> Units:
        """The entries of a part within any of the ranges, which are sorted and apart."""
        part, lows, highs = part_and_bounds
        groups = self._rows.groups(part)
        least, greatest = groups.least, groups.greatest
        first = np.searchsorted(greatest, lows, side="left")
        last = np.searchsorted(least, highs, side="right")
        wanted = covered(first, last, len(least))
        if not len(wanted):
            return _NONE
        keep = len(wanted) <= _FEW_GROUPS
        entries = self._rows.numbers(part, wanted.tolist(), "entry", keep=keep)
        start, end = np.searchsorted(entries, lows, side="left"), np.searchsorted(entries, highs, side="right")
        return entries[int(start[0]) : int(end[0])] if len(lows) == 1 else entries[spans(start, end)]
