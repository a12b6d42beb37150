"""Merges the rows of a key of several runs (algorithm 2 of the EDBT paper): the ranges of their values are gone through
window by window, so that no more than a window is in memory; parts by value that would come out as they are go over
byte for byte.

Units are numbered anew; rows of files that are not taken from a source are left out, so that nothing of their values
remains. No data file is read.

Selects parts of a key's sources that go into the merged run unchanged: algorithm 2 of the EDBT paper, as far as
files keep their numbers (docs/decisions/0014).

A part is carried over where no other source has a row in its range, every unit in it is what it would be written as,
and it is not so small that carrying it again and again would leave a run of small parts. Whether another source has
rows in a range is told by the bounds of its row groups, whether units stay by looking at each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metaindex.core import dataclass
from metaindex.index.kinds.keyed import Units
from metaindex.index.kinds.kind import KeyRows
from metaindex.index.log.entry import CoveredKey
from metaindex.index.store.layout import PartInfo
from metaindex.index.store.reader import RunReader
from metaindex.index.store.rows import ROW_GROUP_ROWS, Columns
from metaindex.index.store.writer import RunSink

from .asked import Key
from .by_hash import entry_rows, part_rows
from .by_value import in_order, joined, key_rows
from .key_reader import position
from .rows import Layout, distinct, merged_layout
from .stored import SortedRows, StoredKeys

WINDOW_ROWS = 4 << 20
"""Rows of all sources that are merged at a time, or a little more."""


def merge_entries(
    key: CoveredKey,
    some: Sequence[KeyRows],
    sink: RunSink,
    number: Callable[[int], int],
    window_rows: int = WINDOW_ROWS,
) -> tuple[dict[str, int | str], list[PartInfo]]:
    """Merge `values`; see `StoredKind.merge`."""
    layout, total = _layout(some)
    out = _PartsWriter(key, sink, number, total, layout.columns)
    windows = (total // window_rows).bit_length()  # so many halvings of the range of hashes
    for window in range(1 << windows):
        in_window = [np.empty(0, np.int64)]
        for run, source, places in some:
            bits = Layout.of(source.layout)
            low, high = (at << (bits.hash_bits - windows + bits.unit_bits) for at in (window, window + 1))
            for entries in _entries(SortedRows(run, source, "entry", integers=True), low, high - 1):
                top = entries >> (bits.unit_bits + bits.hash_bits - layout.hash_bits) << layout.unit_bits
                units, kept = _renumbered(entries & ((1 << bits.unit_bits) - 1), bits, layout, places)
                in_window.append((top | units)[kept])
        out.add(entry_rows(key.key_id, distinct(np.concatenate(in_window))))
    return layout.as_mapping(), out.close()


def merge_values(
    key: CoveredKey,
    some: Sequence[KeyRows],
    sink: RunSink,
    number: Callable[[int], int],
    window_rows: int = WINDOW_ROWS,
    least_carried: int | None = None,
) -> tuple[dict[str, int | str], list[PartInfo]]:
    """Merge `value_keys` and `value_lists`; see `StoredKind.merge`. Parts that would come out as they are go over
    byte for byte (`carrying`). `least_carried`: rows of a part below which it is merged (None: half of those of
    a new part)."""
    layout, total = _layout(some)
    sources = [(StoredKeys(run, source), Layout.of(source.layout), places) for run, source, places in some]
    type_ = sources[0][0].type
    stays = [(stored, partial(_stay, bits, layout, places)) for stored, bits, places in sources]
    least_rows = part_rows(total) // 2 if least_carried is None else least_carried
    carried = carried_parts(stays, least_rows)
    left = [_left(stored, carried) for stored, _, _ in sources]
    cuts = _cuts([part for parts in left for part in parts], window_rows)
    out = _PartsWriter(key, sink, number, total, layout.columns)
    low: Key | None = None
    for high in [*sorted({*cuts, *(carried_part.least for carried_part in carried)}), None]:
        keys, units = [], []
        for (_, bits, places), parts in zip(sources, left, strict=True):
            for some_keys, old in _keys(parts, low, high):
                new, kept = _renumbered(old, bits, layout, places)
                keys.append(some_keys if kept.all() else some_keys.filter(pa.array(kept)))
                units.append(new[kept])
        every = np.concatenate([np.empty(0, np.int64), *units])
        out.add(key_rows(key.key_id, *in_order(joined(keys, type_), every, layout.unit_bits)))
        while carried and carried[0].least == high:
            out.carry(carried.pop(0))
        low = high
    return layout.as_mapping(), out.close()


def _layout(some: Sequence[KeyRows]) -> tuple[Layout, int]:
    """The bits of the merged key, and the rows of all sources."""
    total = sum(part.rows for run, source, _ in some for part in _parts(run, source))
    files = max((int(places.max(initial=-1)) + 1 for _, _, places in some), default=0)
    return merged_layout([Layout.of(source.layout) for _, source, _ in some], files, total), total


def _renumbered(
    units: Units, old: Layout, new: Layout, places: npt.NDArray[np.int64]
) -> tuple[Units, npt.NDArray[np.bool_]]:
    """The units by their new numbers, and which of them are kept; the others' numbers mean nothing."""
    ordinals = places[units >> old.group_bits]
    kept = ordinals >= 0
    groups = units & ((1 << old.group_bits) - 1) if new.group_bits else 0
    return np.where(kept, ordinals, 0) << new.group_bits | groups, kept


def _stay(old: Layout, new: Layout, places: npt.NDArray[np.int64], units: Units) -> bool:
    """Return whether renumbering changes no unit and drops no file."""
    renumbered, kept = _renumbered(units, old, new, places)
    return bool(kept.all() and (renumbered == units).all())


def _parts(run: RunReader, key: CoveredKey) -> list[PartInfo]:
    return [part for part in run.parts(key.kind) if part.first_key == key.key_id and part.rows]


# Entries ----------------------------------------------------------------------------------------------------------


def _entries(rows: SortedRows, low: int, high: int) -> Iterator[Units]:
    """The entries of a source from `low` to `high`, which is one of them."""
    parts = rows.parts()
    first, last = parts.greatest.searchsorted(low), parts.least.searchsorted(high, "right")
    for part in parts.parts[int(first) : int(last)]:
        if groups := rows.groups(part).between(low, high):
            entries = rows.numbers(part, groups, "entry", keep=False)
            yield entries[entries.searchsorted(low) : entries.searchsorted(high, "right")]


# Keys -------------------------------------------------------------------------------------------------------------


_Left = list[tuple[StoredKeys, PartInfo, Key, Key]]
"""Parts of a source that are merged, each with its least and greatest key."""


def _left(stored: StoredKeys, carried: Sequence[Carried]) -> _Left:
    """The parts of a source that are not carried over."""
    over = {carried_part.part.path for carried_part in carried if carried_part.stored is stored}
    parts = stored.parts()
    every = zip(parts.parts, parts.least, parts.greatest, strict=True)
    return [(stored, part, least, greatest) for part, least, greatest in every if part.path not in over]


def _cuts(left: _Left, window_rows: int) -> list[Any]:
    """First keys of windows: the least keys of row groups are evenly spread over the rows."""
    least = sorted(key_ for stored, part, _, _ in left for key_ in stored.groups(part).least)
    step = max(1, window_rows // ROW_GROUP_ROWS)
    return sorted(set(least[step::step]))


def _keys(left: _Left, low: Any, high: Any) -> Iterator[tuple[pa.Array, Units]]:
    """The rows from `low` on and below `high`; NULLs in the first window."""
    for stored, part, least, greatest in left:
        nulls = low is None and part.least == ""
        if (low is not None and greatest < low) or (high is not None and least >= high and not nulls):
            continue
        groups = stored.groups(part)
        wanted = {groups.start + group for group in groups.between(low, high, beyond=True)}
        for keys, units in stored.read(part, sorted(wanted.union(groups.with_null if nulls else ())), keep=False):
            first = 0 if low is None else position(keys, low)
            last = len(keys) if high is None else position(keys, high)
            yield keys.slice(first, last - first), units[first:last]


class _PartsWriter:
    """Takes rows in order and writes a part whenever enough have come together."""

    def __init__(
        self, key: CoveredKey, sink: RunSink, number: Callable[[int], int], total: int, columns: Columns
    ) -> None:
        self._kind, self._sink, self._number, self._columns = key.kind, sink, number, columns
        self._rows = part_rows(total)
        self._waiting: list[pa.Table] = []
        self.written: list[PartInfo] = []

    def add(self, table: pa.Table) -> None:
        self._waiting.append(table)
        while sum(waiting.num_rows for waiting in self._waiting) >= self._rows:
            whole = pa.concat_tables(self._waiting)
            self._write(whole.slice(0, self._rows))
            self._waiting = [whole.slice(self._rows)]

    def carry(self, carried: Carried) -> None:
        """Add a part unchanged, after all rows so far."""
        self.close()
        self.written.append(
            self._sink.copy(carried.part, carried.stored.whole(carried.part), self._number(len(self.written)))
        )

    def close(self) -> list[PartInfo]:
        rest, self._waiting = [table for table in self._waiting if table.num_rows], []
        if rest:
            self._write(pa.concat_tables(rest))
        return self.written

    def _write(self, table: pa.Table) -> None:
        number = self._number(len(self.written))
        self.written.append(self._sink.write(self._kind, table.combine_chunks(), number, self._columns))


Stays = Callable[[Units], bool]
"""Are these units of a source, all of them, those of the merged run?"""


@dataclass(frozen=True, slots=True)
class Carried:
    """A source's part that is carried over whole, and its least key: its bounds enclose no other row."""

    stored: StoredKeys
    part: PartInfo
    least: Key


def carried_parts(sources: Sequence[tuple[StoredKeys, Stays]], least_rows: int) -> list[Carried]:
    """Return the carried parts in the order of their keys. `least_rows`: smaller ones are merged again."""
    out = []
    for at, (stored, stays) in enumerate(sources):
        others = [other for number, (other, _) in enumerate(sources) if number != at]
        parts = stored.parts()
        alone = [
            part.rows >= least_rows
            and not any(_reaches(other, part, low, high) for other in others)
            and stays(stored.numbers(part, stored.row_groups(part), "unit", keep=False))
            for part, low, high in zip(parts.parts, parts.least, parts.greatest, strict=True)
        ]
        _keep_apart(alone, [bool(parts.greatest[i] == parts.least[i + 1]) for i in range(len(parts.parts) - 1)])
        out += [
            Carried(stored, part, low) for part, low, mine in zip(parts.parts, parts.least, alone, strict=True) if mine
        ]
    # Those of one key that fills several parts stay in their order: such parts are of one source.
    return sorted(out, key=lambda carried: carried.least)


def _reaches(other: StoredKeys, part: PartInfo, low: Key, high: Key) -> bool:
    """Return whether a source may have rows between the bounds of a part."""
    parts = other.parts()
    first, last = np.searchsorted(parts.greatest, low), np.searchsorted(parts.least, high, side="right")
    for neighbour in parts.parts[int(first) : int(last)]:
        nulls = part.least == "" and neighbour.least == ""  # both begin with NULL, or with the empty text
        if nulls or len(other.groups(neighbour).between(low, high)):
            return True
    return False


def _keep_apart(alone: list[bool], shares: Sequence[bool]) -> None:
    """Carry both or neither of two neighbours that share a key: its rows are in the order of their units."""
    for order in (range(len(shares)), reversed(range(len(shares)))):
        for at in order:
            if shares[at] and not (alone[at] and alone[at + 1]):
                alone[at] = alone[at + 1] = False
