"""What keys cost by arithmetic: size, build, look-up. docs/scale.md derives it and says what it gives for tables that
nobody here can build; `scale` checks it against tables that can.

Of n entries (distinct values of row groups), K distinct values, in F files:

    entry         hash_bits + unit_bits (`kinds.values.rows.hash_layout`), sorted, delta-coded: in every miniblock of 32
                  the width of its largest gap, for which log2 of the mean gap + 3.1 was measured
    repeats       r = n / K entries of a value stand close together; zstd takes back 65% of what their small gaps leave
                  empty
    a part        16,384 entries a row group, `kinds.values.by_hash.part_rows` a part; a footer has 218 bytes a row
                  group, a manifest 307 a part
    a filter      `kinds.bloom.sizing`
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from metaindex.index.kinds.bloom.sizing import blocks_for
from metaindex.index.kinds.values.by_hash import part_rows
from metaindex.index.kinds.values.rows import Layout, hash_layout
from metaindex.index.store.rows import ROW_GROUP_ROWS

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
        return -(-self.entries // part_rows(self.entries))

    @property
    def manifest_bytes(self) -> float:
        return self.parts * MANIFEST_BYTES

    @property
    def footer_bytes(self) -> float:
        return min(self.entries, part_rows(self.entries)) / ROW_GROUP_ROWS * FOOTER_BYTES

    @property
    def group_bytes(self) -> float:
        return min(self.entries, ROW_GROUP_ROWS) * self.entry_bytes

    @property
    def in_vain(self) -> float:
        """Units that a value which is not there finds: its hash meets another's."""
        return self.entries / 2**self.layout.hash_bits


def filter_bits(values: int, fpp: float) -> float:
    """Of a file of so many distinct values, for each of them."""
    return blocks_for(values, fpp) * 256 / values


def filter_read_bytes(files: int) -> float:
    """What a look-up reads of the filters of one size class: eight vectors with their checks."""
    return 8 * (files / 8 + 8)


@dataclass(frozen=True, slots=True)
class SparkBuild:
    """How Spark's tasks exchange the entries of one key (`build.spark_keys`)."""

    entries: int
    data_bytes: int
    files: int

    @property
    def held_bytes(self) -> int:
        """What a task may hold."""
        return max(128 << 20, min(1 << 30, self.data_bytes // 4_000))

    @property
    def readers(self) -> int:
        """Tasks that read files."""
        by_size = min(self.files, -(-self.data_bytes // (128 << 20)))
        return max(1, min(2_000, max(-(-self.files // 500), by_size)))

    @property
    def spills(self) -> int:
        """Sorted objects that they leave: 8 bytes an entry, of which a third of what may be held is held."""
        return self.readers * max(1, math.ceil(self.entries / self.readers * 24 / self.held_bytes))

    @property
    def ranges(self) -> int:
        return 1 << (self.entries * 40 // self.held_bytes).bit_length()
