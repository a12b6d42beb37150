"""What keys cost by arithmetic: size, build, look-up. docs/scale.md derives it and says what it gives for tables that nobody here can build; `scale` checks it against tables that can.

Of n entries (distinct values of row groups), K distinct values, in F files:

    entry         hash_bits + unit_bits (`kinds.values.rows.hash_layout`), sorted, delta-coded: in every miniblock of 32 the width of its largest gap, for which log2 of the mean gap + 3.1 was measured
    repeats       r = n / K entries of a value stand close together; zstd takes back 65% of what their small gaps leave empty
    a part        16,384 entries a row group, 2^20 a part; a footer has 218 bytes a row group, a manifest 307 a part
    a filter      `kinds.bloom.sizing`
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from metaindex.kinds.bloom.sizing import blocks_for
from metaindex.kinds.rows import PART_ROWS, ROW_GROUP_ROWS
from metaindex.kinds.values.rows import Layout, hash_layout

FOOTER_BYTES, MANIFEST_BYTES = 218, 307
"""Of a row group; of a part."""

_DELTA_BITS = 3.1
_REPACKED = 0.65


@dataclass(frozen=True, slots=True)
class HashedKey:
    """A key of a run, by hash."""

    files: int
    groups: int  # row groups of a file
    entries: int
    values: int  # distinct ones

    @property
    def layout(self) -> Layout:
        return hash_layout(self.files, self.entries, self.groups)

    @property
    def entry_bytes(self) -> float:
        """On storage."""
        layout = self.layout
        between = layout.hash_bits + layout.unit_bits - math.log2(self.values) + _DELTA_BITS
        repeats = 1 - self.values / self.entries
        return (between - _REPACKED * repeats * (between - layout.unit_bits)) / 8

    @property
    def size_bytes(self) -> float:
        return self.entries * self.entry_bytes

    @property
    def parts(self) -> int:
        return -(-self.entries // PART_ROWS)

    @property
    def manifest_bytes(self) -> float:
        return self.parts * MANIFEST_BYTES

    @property
    def footer_bytes(self) -> float:
        return min(self.entries, PART_ROWS) / ROW_GROUP_ROWS * FOOTER_BYTES

    @property
    def group_bytes(self) -> float:
        return min(self.entries, ROW_GROUP_ROWS) * self.entry_bytes

    @property
    def in_vain(self) -> float:
        """Units that a value which is not there finds: its hash meets another's."""
        return self.values / 2**self.layout.hash_bits * self.entries / self.values


def filter_bits(values: int, fpp: float) -> float:
    """Of a file of so many distinct values, for each of them."""
    return blocks_for(values, fpp) * 256 / values


def filter_read_bytes(files: int) -> float:
    """What a look-up reads of the filters of one size class: eight vectors with their checks."""
    return 8 * (files / 8 + 8)
