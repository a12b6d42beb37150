"""The rows of the metadata partitions `values`, `value_keys` and `value_lists`, and the units they name (`kinds.keyed`
says what a unit is).

values                     one number a (value, unit): hash_top << unit_bits | unit, where hash_top is the top
                           `hash_bits` bits of the value's hash; never negative
value_keys, value_lists    the value's key (`values.encoding`) and the unit; a NULL row is a NULL of the column (keys of
                           one column only). Keys that are integers stand in `key_int`
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metaindex.core import dataclass
from metaindex.index.kinds.keyed import Units
from metaindex.index.store.layout import INTEGERS
from metaindex.index.store.rows import Columns

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

VALUE_INTEGERS = pa.schema([VALUE_KEYS.field(0), pa.field("key_int", pa.int64()), VALUE_KEYS.field(2)])
"""The same of keys that are integers."""

HASH_COLUMNS = Columns(ascending=frozenset({"entry"}), ranged=frozenset({"key_id", "entry"}), found_by="entry")
VALUE_COLUMNS = Columns(
    ascending=frozenset({"unit"}), texts=frozenset({"key"}), ranged=frozenset({"key_id", "key"}), found_by="key"
)
INTEGER_COLUMNS = Columns(
    ascending=frozenset({"key_int", "unit"}),
    ranged=frozenset({"key_id", "key_int"}),
    found_by="key_int",
    folder=INTEGERS,
)
"""How rows of VALUES, VALUE_KEYS and VALUE_INTEGERS are written."""

MOST_GROUPS = 1 << 16
"""Row groups of a file that are told apart while its key is built; neighbours of more share a number."""

_INTEGERS = "int64"
"""What a layout says of keys that are integers; of bytes it says nothing."""

_LEAST_HASH_BITS = 40
_SPARE_BITS = 14
"""Hash bits beyond the binary logarithm of the entries: an absent value finds something once in 2^14 look-ups."""

_LEAST_SPARE_BITS = 6
"""The same for a run that is merged of others, before the numbers of row groups are given up for it."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The bits of a unit, and of an entry (0 hash bits: rows by value). `groups`: row groups of the file that has most;
    where the bits of a group do not hold so many, some files' row groups share numbers, and only whole files can be
    told apart in a run that is merged of this one. `integers`: rows are VALUE_INTEGERS."""

    hash_bits: int
    unit_bits: int
    group_bits: int
    groups: int
    integers: bool = False

    @classmethod
    def of(cls, layout: Mapping[str, int | str]) -> Layout:
        hash_, unit, group, groups = (int(layout.get(n, 0)) for n in ("hash_bits", "unit_bits", "group_bits", "groups"))
        return cls(hash_, unit, group, groups, layout.get("key") == _INTEGERS)

    def as_mapping(self) -> dict[str, int | str]:
        """Return the layout as the log entry stores it."""
        said: dict[str, int | str] = {"by": "hash", "hash_bits": self.hash_bits} if self.hash_bits else {"by": "value"}
        if self.integers:
            said["key"] = _INTEGERS
        return said | {"unit_bits": self.unit_bits, "group_bits": self.group_bits, "groups": self.groups}

    @property
    def columns(self) -> Columns:
        """Return how its rows are written."""
        return HASH_COLUMNS if self.hash_bits else INTEGER_COLUMNS if self.integers else VALUE_COLUMNS

    @property
    def shared(self) -> bool:
        """True if row groups of a file share numbers."""
        return self.groups > 1 << self.group_bits


def hash_layout(files: int, entries: int, groups: int) -> Layout:
    """The bits for a run of so many files, the largest of so many row groups. Row groups share numbers before the hash
    becomes so short that values collide."""
    ordinal_bits = bits_of_ordinals(files)
    hash_bits = max(_LEAST_HASH_BITS, entries.bit_length() + _SPARE_BITS)
    group_bits = max(0, min(_bits_of_groups(groups), 63 - ordinal_bits - hash_bits))
    return Layout(min(hash_bits, 63 - ordinal_bits - group_bits), ordinal_bits + group_bits, group_bits, groups)


def key_layout(files: int, groups: int, integers: bool = False) -> Layout:
    """The bits of units of rows by value."""
    ordinal_bits = bits_of_ordinals(files)
    group_bits = min(_bits_of_groups(groups), 63 - ordinal_bits)
    return Layout(0, ordinal_bits + group_bits, group_bits, groups, integers)


def merged_layout(sources: Sequence[Layout], files: int, entries: int) -> Layout:
    """The bits of a run merged of others: hashes as short as the shortest. Row groups keep their numbers where these
    mean the same in all sources and there is room for them."""
    ordinal_bits, by_hash = bits_of_ordinals(files), min(layout.hash_bits for layout in sources)
    groups, group_bits = max(layout.groups for layout in sources), max(layout.group_bits for layout in sources)
    needed = entries.bit_length() + _LEAST_SPARE_BITS if by_hash else 0
    room = 63 - ordinal_bits - group_bits >= needed
    if not room or any(layout.shared and layout.group_bits != group_bits for layout in sources):
        group_bits = 0
    hash_bits, integers = min(by_hash, 63 - ordinal_bits - group_bits), all(layout.integers for layout in sources)
    return Layout(hash_bits, ordinal_bits + group_bits, group_bits, groups, integers)


def bits_of_ordinals(files: int) -> int:
    return max(1, (files - 1).bit_length())


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
    if (more := groups > most).any():
        group = np.where(more, group * most // groups, group)
    units = raw >> 32 << group_bits
    units |= group
    return units


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
