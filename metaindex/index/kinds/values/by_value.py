"""Builds `value_keys` and `value_lists`: the values themselves, in order, and the units where they stand.

Held in memory: the keys of the values of each row group (of a value list: the distinct ones of each file). Beyond the
spill's limit they are sorted and put aside; at the end sampled keys cut their range evenly, and each range is sorted
and written by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from metaindex.core import Vector, dataclass
from metaindex.index.kinds.keyed import Gathered, KeyPlan, Spill, Units
from metaindex.index.store.layout import PartInfo
from metaindex.index.store.writer import RunSink

from .asked import Key
from .by_hash import part_rows
from .collecting import Finisher, GroupCollector, most_groups, read_spill, torn_of, write_spill
from .encoding import encode_key, key_type
from .ordering import sort_keys
from .rows import VALUE_INTEGERS, VALUE_KEYS, Layout, key_layout, units_of

_RANGE_BYTES = 6
"""Bytes at the peak for each byte of a range that is read back."""
_PARTS_A_RANGE = 1000
_SAMPLES = 256
"""Keys sampled of each spill."""
_PROBE = 1024
"""Rows of a row group that are looked at to tell whether its values repeat."""


class ValueCollector(GroupCollector[pa.Array]):
    """Collects values; see `keyed.KeyCollector`."""

    held = 5

    def __init__(self, plan: KeyPlan, sink: RunSink, spill: Spill, files: int) -> None:
        super().__init__(plan, sink, spill, files)
        self._types = [leaf.type for leaf in plan.leaves]
        self._key_type = key_type(self._types)
        self._samples: list[Key] = []
        self._total_bytes = 0

    def _finisher(self, gathered: Sequence[Gathered]) -> ValueFinisher:
        return ValueFinisher(self._plan, self._sink, self._spill, self._files, gathered)

    def _written(self, layout: Layout, pieces: list[pa.Array], raw: Units) -> list[PartInfo]:
        return write_keys(self._plan, self._sink, layout, joined(pieces, self._key_type), raw, 0, self._entries)

    def add_groups(self, groups: Sequence[tuple[int, int]], values: Sequence[pa.Array]) -> None:
        """Add row groups; see `keyed.AddsGroups`."""
        keys, start = encode_key(values, self._types), 0
        for group, rows in groups:
            self._keep(group, self._keyed(keys.slice(start, rows)))
            start += rows

    def _made(self, values: Sequence[pa.Array]) -> pa.Array:
        return self._keyed(encode_key(values, self._types))

    def _keyed(self, keys: pa.Array) -> pa.Array:
        """Drop rows without a key: of several columns those with a NULL; of one column NULL is kept, once."""
        return keys if len(self._types) == 1 else keys.drop_null()

    def _distinct(self, pieces: list[pa.Array]) -> pa.Array:
        if len(pieces) > 1 or pieces[0].null_count or _repeats(pieces[0]):
            return pc.unique(pa.chunked_array(pieces))
        return pieces[0]

    def _details(self) -> Mapping[str, object]:
        return {**super()._details(), "samples": self._samples, "bytes": self._total_bytes}

    def _put_aside(self) -> None:
        if not self._done:
            return
        pieces, raw = self._taken()
        keys, raw = by_key(joined(pieces, self._key_type), raw)
        self._total_bytes += int(keys.nbytes) + raw.nbytes
        step = -(-len(keys) // _SAMPLES)
        self._samples += [key for key in keys[::step].to_pylist() if key is not None] if step > 1 else []
        self._spills.append(
            write_spill(self._spill, pa.table([keys, Vector.arrow(raw, None, pa.int64())], names=["key", "raw"]))
        )


class ListCollector(ValueCollector):
    """Collects `value_lists`: no row groups, and no file with more values than the limit."""

    def __init__(self, plan: KeyPlan, sink: RunSink, spill: Spill, files: int, limit: int) -> None:
        super().__init__(plan, sink, spill, files)
        self._limit = limit
        self._found: pa.Array | None = None
        self._over = False

    def begin(self, ordinal: int, groups: int) -> None:
        super().begin(ordinal, 1)
        self._found, self._over = None, False

    def add_groups(self, groups: Sequence[tuple[int, int]], values: Sequence[pa.Array]) -> None:
        self.add(0, values)

    def add(self, group: int, values: Sequence[pa.Array]) -> None:
        if self._over:
            return
        keys = pc.unique(self._made(values))
        self._found = keys if self._found is None else pc.unique(pa.chunked_array([self._found, keys]))
        self._over = len(self._found) - self._found.null_count > self._limit

    def end(self) -> None:
        if self._over:
            self.fail()
            return
        if self._found is not None and len(self._found):
            self._pending = [self._found]
        super().end()

    def _distinct(self, pieces: list[pa.Array]) -> pa.Array:
        return pieces[0]


def _repeats(keys: pa.Array) -> bool:
    """Return whether values repeat so much that deduplication pays."""
    some = keys.slice(0, _PROBE)
    return len(keys) > _PROBE and 4 * int(pc.count_distinct(some).as_py()) < 3 * len(some)


def joined(pieces: list[pa.Array], type_: pa.DataType) -> pa.Array:
    """Concatenate keys."""
    return pa.concat_arrays(pieces) if pieces else pa.nulls(0, type_)


def by_key(keys: pa.Array, units: Units) -> tuple[pa.Array, Units]:
    """Rows by key, NULL first; those of one key in any order."""
    if not keys.null_count:
        ordered, order = sort_keys(keys)
        return ordered, units[order]
    valid = Vector(pc.is_valid(keys)).truths(null=False)
    ordered, order = sort_keys(keys.drop_null())
    nulls = units[~valid]
    return pa.concat_arrays([pa.nulls(len(nulls), keys.type), ordered]), np.concatenate([nulls, units[valid][order]])


def in_order(keys: pa.Array, units: Units, unit_bits: int) -> tuple[pa.Array, Units]:
    """Rows by key with NULL first, then by unit, each once. Keys that are the same are one number, which beside the
    unit is one word, and words are sorted as vectors."""
    keys, units = by_key(keys, units)
    if not len(keys):
        return keys, units
    same = Vector(pc.fill_null(pc.equal(keys[1:], keys[:-1]), False)).truths(null=False)
    same[: max(0, keys.null_count - 1)] = True
    number = np.zeros(len(units), np.int64)
    np.cumsum(~same, out=number[1:])
    if int(number[-1]).bit_length() + unit_bits > 63:
        order = np.lexsort((units, number))
        units, again = units[order], same & (np.diff(units[order]) == 0)
    else:
        words = number << unit_bits | units
        words.sort()
        units, again = words & ((1 << unit_bits) - 1), words[1:] == words[:-1]
    if again.any():
        kept = np.concatenate([[True], ~again])
        keys, units = keys.filter(Vector.arrow(kept)), units[kept]
    return keys, units


@dataclass(frozen=True, slots=True)
class ValueFinisher(Finisher):
    """Writes values; see `keyed.KeyFinisher`."""

    @property
    def layout(self) -> Layout:
        """The bits of the units."""
        return key_layout(self.files, most_groups(self.gathered), self._key_type == pa.int64())

    @property
    def _key_type(self) -> pa.DataType:
        return key_type([leaf.type for leaf in self.plan.leaves])

    @property
    def ranges(self) -> int:
        return len(self._cuts()) + 1 if any(share.spills for share in self.gathered) else 0

    def _cuts(self) -> list[Any]:
        """The first key of each range but the first."""
        size = sum(int(str(share.details["bytes"])) for share in self.gathered)
        wanted = size * _RANGE_BYTES // self.spill.limit_bytes
        samples = sorted(key for share in self.gathered for key in _samples(share))
        picked = [samples[len(samples) * at // (wanted + 1)] for at in range(1, wanted + 1)] if samples else []
        return sorted(set(picked))

    def write(self, number: int) -> list[PartInfo]:
        cuts = self._cuts()
        low, high = (cuts[number - 1] if number else None), (cuts[number] if number < len(cuts) else None)
        torn = torn_of(self.gathered)
        keys, raw = [], []
        for path in (path for share in self.gathered for path in share.spills):
            for table in read_spill(self.spill, path, low, high):
                table = table.filter(_inside(table.column("key"), low, high)).combine_chunks()
                units = Vector(table.column("raw")).numbers
                if len(torn):
                    kept = ~np.isin(units >> 32, torn)
                    table, units = table.filter(pa.array(kept)), units[kept]
                keys.append(table.column("key").combine_chunks())
                raw.append(units)
        units = np.concatenate([np.empty(0, np.int64), *raw])
        every = joined(keys, self._key_type)
        return write_keys(self.plan, self.sink, self.layout, every, units, number * _PARTS_A_RANGE, self.entries)


def _samples(share: Gathered) -> list[Any]:
    """Integers, or bytes."""
    samples = share.details["samples"]
    assert isinstance(samples, list)
    return samples


def _inside(keys: pa.ChunkedArray, low: Key | None, high: Key | None) -> pa.ChunkedArray:
    """The rows of a range. NULL is in the first."""
    mask = pc.greater_equal(keys, low) if low is not None else pa.chunked_array([pa.repeat(True, len(keys))])
    if high is not None:
        mask = pc.and_kleene(mask, pc.less(keys, high))
    return pc.fill_null(mask, low is None)


def write_keys(
    plan: KeyPlan, sink: RunSink, layout: Layout, keys: pa.Array, raw: Units, first: int, total: int
) -> list[PartInfo]:
    """Keys with raw units as sorted parts. `first`: number of the first of them; `total`: entries of the whole key, by
    which parts are sized."""
    keys, units = in_order(keys, units_of(raw, layout.group_bits), layout.unit_bits)
    parts, rows = [], part_rows(total)
    for number, start in enumerate(range(0, len(units), rows)):
        table = key_rows(plan.key_id, keys.slice(start, rows), units[start : start + rows])
        parts.append(sink.write(plan.partition, table, plan.number(first + number), layout.columns))
    return parts


def key_rows(key_id: int, keys: pa.Array, units: Units) -> pa.Table:
    """Rows of VALUE_KEYS, or of VALUE_INTEGERS."""
    ids = Vector.arrow(np.full(len(units), key_id, np.int64), None, pa.int64())
    schema = VALUE_INTEGERS if keys.type == pa.int64() else VALUE_KEYS
    return pa.Table.from_arrays([ids, keys, Vector.arrow(units, None, pa.int64())], schema=schema)
