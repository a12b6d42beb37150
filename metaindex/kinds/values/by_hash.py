"""Builds `values`: of every value a hash, and the units where it stands.

Held in memory: 8 bytes for each distinct value of each row group. Beyond the spill's limit they are sorted by hash and put aside; at the end the range of hashes is cut evenly
(hashes are as good as random) and each range is packed, sorted and written by itself.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from expressions.records import dataclass
from expressions.vectors import from_vector, numbers
from metaindex.kinds.canonical import hash_key
from metaindex.kinds.keyed import Gathered, KeyPlan, Spill, Units
from metaindex.kinds.rows import PART_ROWS
from metaindex.kinds.xxhash64 import Hashes
from metaindex.log.entry import CoveredKey
from metaindex.store.layout import PartInfo
from metaindex.store.writer import RunSink

from .rows import VALUES, Layout, distinct, hash_layout, packed, raw_unit, units_of
from .spills import read_spill, remove_spills, unsigned, write_spill

_HELD = 3
"""Bytes at the peak for each byte held: units and entries are made beside the hashes."""
_RANGE_BYTES = 40
"""Bytes at the peak for an entry of a range that is read back."""
_PARTS_A_RANGE = 1000


class HashCollector:
    """See `keyed.KeyCollector`."""

    def __init__(self, plan: KeyPlan, sink: RunSink, spill: Spill, files: int) -> None:
        self._plan, self._sink, self._spill, self._files = plan, sink, spill, files
        self._done: list[tuple[Hashes, int]] = []  # with raw units
        self._pending: list[Hashes] = []  # of the row group that is being read
        self._ordinal, self._groups_here, self._group = -1, 1, 0
        self._mark, self._entries_before, self._spills_before = 0, 0, 0  # of the file that is being read
        self._groups, self._entries, self._bytes, self._pending_bytes = 1, 0, 0, 0
        self._spills: list[str] = []
        self._unkeyed: list[int] = []
        self._torn = False

    def begin(self, ordinal: int, groups: int) -> None:
        self._ordinal, self._groups_here, self._group = ordinal, groups, 0
        self._mark, self._entries_before, self._spills_before = len(self._done), self._entries, len(self._spills)

    def add(self, group: int, values: Sequence[pa.Array]) -> None:
        hashes, valid = hash_key(values)
        if valid is not None:
            hashes = hashes[valid]
        if group != self._group or (self._pending_bytes + hashes.nbytes) * _HELD > self._spill.limit_bytes:
            self._take_group()
            self._group = group
        if len(hashes):
            self._pending.append(hashes)
            self._pending_bytes += hashes.nbytes

    def end(self) -> None:
        self._take_group()
        self._groups = max(self._groups, self._groups_here)

    def fail(self) -> None:
        self._pending, self._pending_bytes = [], 0
        if len(self._spills) > self._spills_before:
            self._torn, self._mark = True, 0  # what was put aside of the file is left out when it is read back
        self._bytes -= sum(hashes.nbytes for hashes, _ in self._done[self._mark :])
        del self._done[self._mark :]
        self._entries = self._entries_before
        self._unkeyed.append(self._ordinal)

    def _take_group(self) -> None:
        """What was read of a row group, each value once."""
        pending, self._pending, self._pending_bytes = self._pending, [], 0
        if pending:
            found = _distinct(pending)
            self._done.append((found, raw_unit(self._ordinal, self._group, self._groups_here)))
            self._entries += len(found)
            self._bytes += found.nbytes
            if self._bytes * _HELD > self._spill.limit_bytes:
                self._put_aside()

    def close(self) -> tuple[CoveredKey, list[PartInfo], Units]:
        if self._spills:
            finisher = HashFinisher(self._plan, self._sink, self._spill, self._files, [self.hand_over()])
            parts = [part for number in range(finisher.ranges) for part in finisher.write(number)]
            remove_spills(self._spill, tuple(self._spills))
            key, unkeyed = finisher.covered()
            return key, parts, unkeyed
        layout = hash_layout(self._files, self._entries, self._groups)
        hashes, raw = self._taken()
        entries = distinct(packed(hashes, units_of(raw, layout.group_bits), layout))
        parts = write_entries(self._plan, self._sink, entries, 0)
        unkeyed = np.array(sorted(self._unkeyed), np.int64)
        return self._plan.covered(layout.as_mapping("hash"), len(unkeyed)), parts, unkeyed

    def hand_over(self) -> Gathered:
        self._put_aside()
        return Gathered(
            tuple(self._spills), self._entries, tuple(self._unkeyed), {"groups": self._groups, "torn": self._torn}
        )

    def _taken(self) -> tuple[Hashes, Units]:
        """All that is held, which is let go."""
        done, self._done, self._bytes = self._done, [], 0
        lengths = [len(hashes) for hashes, _ in done]
        raw = np.repeat(np.array([unit for _, unit in done], np.int64), lengths)
        hashes = np.concatenate([hashes for hashes, _ in done]) if done else np.empty(0, np.uint64)
        return hashes, raw

    def _put_aside(self) -> None:
        if not self._done:
            return
        hashes, raw = self._taken()
        order = np.argsort(hashes)
        # As signed numbers in the order of the unsigned ones.
        flipped = (hashes[order] ^ np.uint64(1 << 63)).view(np.int64)
        columns = [from_vector(flipped, None, pa.int64()), from_vector(raw[order], None, pa.int64())]
        self._spills.append(write_spill(self._spill, pa.table(columns, names=["hash", "raw"])))


@dataclass(frozen=True, slots=True)
class HashFinisher:
    """See `keyed.KeyFinisher`."""

    plan: KeyPlan
    sink: RunSink
    spill: Spill
    files: int
    gathered: Sequence[Gathered]

    @property
    def layout(self) -> Layout:
        groups = max((int(str(one.details["groups"])) for one in self.gathered), default=1)
        return hash_layout(self.files, self._entries, groups)

    @property
    def ranges(self) -> int:
        return 1 << (self._entries * _RANGE_BYTES // self.spill.limit_bytes).bit_length() if self._entries else 0

    @property
    def _entries(self) -> int:
        return sum(one.entries for one in self.gathered)

    def write(self, number: int) -> list[PartInfo]:
        width = (1 << 64) // self.ranges
        low, high = number * width - (1 << 63), (number + 1) * width - (1 << 63)
        layout, found = self.layout, [np.empty(0, np.int64)]
        torn = self._unkeyed if any(one.details["torn"] for one in self.gathered) else ()
        for path in (path for one in self.gathered for path in one.spills):
            for table in read_spill(self.spill, path, low, high):
                signed = numbers(table.column("hash"))
                start, end = np.searchsorted(signed, low), np.searchsorted(signed, high - 1, side="right")
                hashes = unsigned(table.column("hash"))[start:end] ^ np.uint64(1 << 63)
                raw = numbers(table.column("raw"))[start:end]
                if len(torn):
                    kept = ~np.isin(raw >> 32, torn)
                    hashes, raw = hashes[kept], raw[kept]
                found.append(packed(hashes, units_of(raw, layout.group_bits), layout))
        return write_entries(self.plan, self.sink, distinct(np.concatenate(found)), number * _PARTS_A_RANGE)

    def covered(self) -> tuple[CoveredKey, Units]:
        unkeyed = self._unkeyed
        return self.plan.covered(self.layout.as_mapping("hash"), len(unkeyed)), unkeyed

    @property
    def _unkeyed(self) -> Units:
        return np.array(sorted(ordinal for one in self.gathered for ordinal in one.unkeyed), np.int64)


def _distinct(pieces: list[Hashes]) -> Hashes:
    """Sorted, each once."""
    hashes = pieces[0].copy() if len(pieces) == 1 else np.concatenate(pieces)
    return distinct(hashes.view(np.int64)).view(np.uint64)


def write_entries(plan: KeyPlan, sink: RunSink, entries: Units, first: int) -> list[PartInfo]:
    """Sorted entries as parts; `first`: number of the first."""
    parts = []
    for number, start in enumerate(range(0, len(entries), PART_ROWS)):
        some = entries[start : start + PART_ROWS]
        ids = from_vector(np.full(len(some), plan.key_id, np.int64), None, pa.int64())
        table = pa.Table.from_arrays([ids, from_vector(some, None, pa.int64())], schema=VALUES)
        parts.append(sink.write(plan.partition, table, plan.number(first + number)))
    return parts
