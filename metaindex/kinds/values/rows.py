"""The rows of the metadata partitions `values`, `value_keys` and `value_lists`, and the units they name (`kinds.keyed` says what a unit is).

values                     one number a (value, unit): hash_top << unit_bits | unit, where hash_top is the top `hash_bits` bits of the value's hash; never negative
value_keys, value_lists    the value's bytes (`values.encoding`) and the unit; a NULL row is a NULL of the column (keys of one column only)
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from expressions.records import dataclass
from metaindex.kinds.keyed import Units

VALUES = pa.schema([pa.field("key_id", pa.int64(), nullable=False), pa.field("entry", pa.int64(), nullable=False)])
"""Sorted by (key_id, entry), each once. Of `values`."""

VALUE_KEYS = pa.schema(
    [
        pa.field("key_id", pa.int64(), nullable=False),
        pa.field("key", pa.binary()),
        pa.field("unit", pa.int64(), nullable=False),
    ]
)
"""Sorted by (key_id, key with NULL first, unit), each once. Of `value_keys` and `value_lists`."""

MOST_GROUPS = 1 << 16
"""Row groups of a file that are told apart while its key is built; neighbours of more share a number."""

_LEAST_HASH_BITS = 40
_SPARE_BITS = 14
"""Hash bits beyond the binary logarithm of the entries: an absent value finds something once in 2^14 look-ups."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The bits of a unit, and of an entry."""

    hash_bits: int
    unit_bits: int
    group_bits: int

    @classmethod
    def of(cls, layout: Mapping[str, int | str]) -> Layout:
        return cls(*(int(layout.get(name, 0)) for name in ("hash_bits", "unit_bits", "group_bits")))

    def as_mapping(self, by: str) -> dict[str, int | str]:
        said: dict[str, int | str] = {"by": by, "unit_bits": self.unit_bits, "group_bits": self.group_bits}
        return said | ({"hash_bits": self.hash_bits} if self.hash_bits else {})


def hash_layout(files: int, entries: int, groups: int) -> Layout:
    """The bits for a run of so many files, the largest of so many row groups. Row groups share bits before the hash becomes so short that values collide."""
    ordinal_bits = max(1, (files - 1).bit_length())
    hash_bits = max(_LEAST_HASH_BITS, entries.bit_length() + _SPARE_BITS)
    group_bits = max(0, min(_bits_of_groups(groups), 63 - ordinal_bits - hash_bits))
    return Layout(min(hash_bits, 63 - ordinal_bits - group_bits), ordinal_bits + group_bits, group_bits)


def key_layout(files: int, groups: int) -> Layout:
    """The bits of units of rows by value."""
    ordinal_bits = max(1, (files - 1).bit_length())
    group_bits = min(_bits_of_groups(groups), 63 - ordinal_bits)
    return Layout(0, ordinal_bits + group_bits, group_bits)


def _bits_of_groups(groups: int) -> int:
    return (min(groups, MOST_GROUPS) - 1).bit_length() if groups > 1 else 0


# Raw units: ordinal, row groups less one, row group, while it is not known how many bits a group will get -------------


def raw_unit(ordinal: int, group: int, groups: int) -> int:
    """A row group of a file of so many as one number."""
    if groups > MOST_GROUPS:
        group, groups = group * MOST_GROUPS // groups, MOST_GROUPS
    return ordinal << 32 | (groups - 1) << 16 | group


def units_of(raw: Units, group_bits: int) -> Units:
    """Raw units as units."""
    if not group_bits:
        return raw >> 32
    group, groups, most = raw & 0xFFFF, ((raw >> 16) & 0xFFFF) + 1, 1 << group_bits
    return (raw >> 32) << group_bits | np.where(groups > most, group * most // groups, group)


def packed(hashes: npt.NDArray[np.uint64], units: Units, layout: Layout) -> Units:
    """Entries, not sorted yet."""
    top = (hashes >> np.uint64(64 - layout.hash_bits)) << np.uint64(layout.unit_bits)
    return (top | units.view(np.uint64)).view(np.int64)


def distinct(values: Units) -> Units:
    """Sorted, each once; the array given is sorted in place."""
    values.sort()
    if not len(values):
        return values
    keep = np.empty(len(values), np.bool_)
    keep[0] = True
    np.not_equal(values[1:], values[:-1], out=keep[1:])
    return values if keep.all() else values[keep]
