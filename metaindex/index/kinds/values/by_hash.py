"""Builds `values`: of every value a hash, and the units where it stands.

Held in memory: 8 bytes for each distinct value of each row group. Beyond the spill's limit they are sorted by hash and
put aside; at the end the range of hashes is cut evenly (hashes are as good as random) and each range is packed, sorted
and written by itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from metaindex.core import Vector, dataclass
from metaindex.index.kinds.canonical import hash_key
from metaindex.index.kinds.keyed import Gathered, KeyPlan, Units
from metaindex.index.kinds.xxhash64 import Hashes
from metaindex.index.store.layout import PartInfo
from metaindex.index.store.rows import PART_ROWS, ROW_GROUP_ROWS
from metaindex.index.store.writer import RunSink

from .collecting import Finisher, GroupCollector, most_groups, read_spill, torn_of, unsigned, write_spill
from .rows import HASH_COLUMNS, VALUES, Layout, distinct, hash_layout, packed, units_of

_RANGE_BYTES = 40
"""Bytes at the peak for an entry of a range that is read back."""
_PARTS_A_RANGE = 1000
_SIGN = np.uint64(1 << 63)


class HashCollector(GroupCollector[Hashes]):
    """Collects hashes; see `keyed.KeyCollector`."""

    held = 3  # units and entries are made beside the hashes

    def _finisher(self, gathered: Sequence[Gathered]) -> HashFinisher:
        return HashFinisher(self._plan, self._sink, self._spill, self._files, gathered)

    def _written(self, layout: Layout, pieces: list[Hashes], raw: Units) -> list[PartInfo]:
        hashes = _joined(pieces)
        pieces.clear()
        entries = distinct(packed(hashes, units_of(raw, layout.group_bits), layout))
        return write_entries(self._plan, self._sink, entries, 0, self._entries)

    def add_groups(self, groups: Sequence[tuple[int, int]], values: Sequence[pa.Array]) -> None:
        """Add row groups; see `keyed.AddsGroups`."""
        hashes, valid = hash_key(values)
        start = 0
        for group, rows in groups:
            some = hashes[start : start + rows]
            self._keep(group, some if valid is None else some[valid[start : start + rows]])
            start += rows

    def _made(self, values: Sequence[pa.Array]) -> Hashes:
        hashes, valid = hash_key(values)
        return hashes if valid is None else hashes[valid]

    def _distinct(self, pieces: list[Hashes]) -> Hashes:
        hashes = pieces[0].copy() if len(pieces) == 1 else np.concatenate(pieces)
        return distinct(hashes.view(np.int64)).view(np.uint64)

    def _put_aside(self) -> None:
        if not self._done:
            return
        pieces, raw = self._taken()
        hashes = _joined(pieces)
        order = np.argsort(hashes)
        # As signed numbers in the order of the unsigned ones.
        flipped = (hashes[order] ^ _SIGN).view(np.int64)
        columns = [Vector.arrow(flipped, None, pa.int64()), Vector.arrow(raw[order], None, pa.int64())]
        self._spills.append(write_spill(self._spill, pa.table(columns, names=["hash", "raw"])))


def _joined(pieces: list[Hashes]) -> Hashes:
    return np.concatenate(pieces) if pieces else np.empty(0, np.uint64)


@dataclass(frozen=True, slots=True)
class HashFinisher(Finisher):
    """Writes hashes; see `keyed.KeyFinisher`."""

    @property
    def layout(self) -> Layout:
        """The bits of the entries."""
        return hash_layout(self.files, self.entries, most_groups(self.gathered))

    @property
    def ranges(self) -> int:
        return 1 << (self.entries * _RANGE_BYTES // self.spill.limit_bytes).bit_length() if self.entries else 0

    def write(self, number: int) -> list[PartInfo]:
        width = (1 << 64) // self.ranges
        low, high = number * width - (1 << 63), (number + 1) * width - (1 << 63)
        layout, torn, in_range = self.layout, torn_of(self.gathered), [np.empty(0, np.int64)]
        for path in (path for share in self.gathered for path in share.spills):
            for table in read_spill(self.spill, path, low, high):
                signed = Vector(table.column("hash")).numbers
                start, end = np.searchsorted(signed, low), np.searchsorted(signed, high - 1, side="right")
                hashes = unsigned(table.column("hash"))[start:end] ^ _SIGN
                raw = Vector(table.column("raw")).numbers[start:end]
                if len(torn):
                    kept = ~np.isin(raw >> 32, torn)
                    hashes, raw = hashes[kept], raw[kept]
                in_range.append(packed(hashes, units_of(raw, layout.group_bits), layout))
        entries = distinct(np.concatenate(in_range))
        return write_entries(self.plan, self.sink, entries, number * _PARTS_A_RANGE, self.entries)


def part_rows(entries: int) -> int:
    """Rows of a part of a key of so many: a cold look-up reads the manifest (some 330 bytes a part) and a footer (some
    110 bytes a row group), and their sum is least so."""
    best = math.isqrt(3 * ROW_GROUP_ROWS * entries)
    return max(PART_ROWS, best // ROW_GROUP_ROWS * ROW_GROUP_ROWS)


def write_entries(plan: KeyPlan, sink: RunSink, entries: Units, first: int, total: int) -> list[PartInfo]:
    """Sorted entries as parts. `first`: number of the first of them; `total`: entries of the whole key, by which parts
    are sized."""
    parts, rows = [], part_rows(total)
    for number, start in enumerate(range(0, len(entries), rows)):
        some = entries[start : start + rows]
        table = entry_rows(plan.key_id, some)
        parts.append(sink.write(plan.partition, table, plan.number(first + number), HASH_COLUMNS))
    return parts


def entry_rows(key_id: int, entries: Units) -> pa.Table:
    """Rows of VALUES."""
    ids = Vector.arrow(np.full(len(entries), key_id, np.int64), None, pa.int64())
    return pa.Table.from_arrays([ids, Vector.arrow(entries, None, pa.int64())], schema=VALUES)
