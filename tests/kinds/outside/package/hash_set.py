"""An index kind in one module: of every row group the set of the first 12 bits of its values' hashes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from metaindex.expressions.literals import Literal
from metaindex.expressions.statistics import Mask
from metaindex.kinds.canonical import hash_key, hash_literals
from metaindex.kinds.keyed import EqualityReader, Gathered, Hits, KeyPlan, Spill
from metaindex.kinds.kind import KeyRows, LayoutRule, Merged, MergeInto, Mismatch, WholeKind, keys_of
from metaindex.kinds.stored_rows import check_ordinals, stored_rows
from metaindex.log.entry import CoveredKey, KindSpec
from metaindex.store.layout import PartInfo
from metaindex.store.reader import RunReader
from metaindex.store.writer import RunSink

GROUP_BITS = 6
SET_BYTES = 512  # 4,096 bits
ROWS = pa.schema([("key_id", pa.int64()), ("unit", pa.int64()), ("bits", pa.binary(SET_BYTES))])


@dataclass(frozen=True, init=False)
class HashSet(WholeKind):
    """The first 12 bits of the hash of every value of a row group. Small, for columns with few values in a file."""

    keys: tuple[tuple[str, ...], ...]
    name = "hash_set"
    layout = LayoutRule(frozenset({"group_bits"}), {"group_bits": (GROUP_BITS,)}, {"group_bits": GROUP_BITS})

    def __init__(self, *keys: str | Sequence[str]) -> None:
        object.__setattr__(self, "keys", keys_of("HashSet", keys))

    def spec(self) -> KindSpec:
        return KindSpec(self.name, self.version, {"keys": [list(key) for key in self.keys]})

    @classmethod
    def of(cls, said: Mapping[str, Any]) -> Self:
        return cls(*said["keys"])

    def collector(self, plan: KeyPlan, sink: RunSink, spill: Spill, files: int) -> Collector:
        return Collector(plan, sink)

    def finisher(
        self, plan: KeyPlan, sink: RunSink, spill: Spill, files: int, gathered: Sequence[Gathered]
    ) -> Finisher:
        return Finisher(plan, sink, tuple(gathered))

    @classmethod
    def reader(cls, run: RunReader, key: CoveredKey, types: Sequence[pa.DataType]) -> Reader:
        return Reader(run, key, types)

    @classmethod
    def merge(cls, key: CoveredKey, some: Sequence[KeyRows], into: MergeInto) -> Merged:
        sets: dict[int, bytes] = {}
        for run, old, places in some:
            for table in stored_rows(run, old):
                units = table.column("unit").to_numpy()
                new = places[units >> GROUP_BITS]
                kept = ((new << GROUP_BITS) | (units & (1 << GROUP_BITS) - 1))[new >= 0]
                bits = table.column("bits").filter(pa.array(new >= 0)).to_pylist()
                sets.update(zip(kept.tolist(), bits, strict=True))
        return {"group_bits": GROUP_BITS}, written(key.key_id, sets, into.sink, into.number(0))

    @classmethod
    def check(cls, reader: RunReader, key: CoveredKey, unkeyed: Mask, records: pa.ChunkedArray) -> None:
        last = -1
        for table in stored_rows(reader, key):
            units = table.column("unit").to_numpy()
            if len(units) and (units[0] <= last or (np.diff(units) <= 0).any()):
                raise Mismatch("the units of a hash set do not ascend", key.kind)
            check_ordinals(units >> GROUP_BITS, key, unkeyed)
            last = int(units[-1]) if len(units) else last


def written(key_id: int, sets: Mapping[int, bytes], sink: RunSink, number: int) -> list[PartInfo]:
    units = sorted(sets)
    columns = [[key_id] * len(units), units, [sets[unit] for unit in units]]
    table = pa.table([pa.array(column, f.type) for column, f in zip(columns, ROWS, strict=True)], schema=ROWS)
    return [sink.write("hash_set", table, number)] if units else []


class Collector:
    """See `KeyCollector`."""

    def __init__(self, plan: KeyPlan, sink: RunSink) -> None:
        self._plan, self._sink = plan, sink
        self._sets: dict[int, np.ndarray[Any, np.dtype[np.bool_]]] = {}
        self._unkeyed: list[int] = []
        self._ordinal, self._groups = -1, 1

    def begin(self, ordinal: int, groups: int) -> None:
        self._ordinal, self._groups = ordinal, groups

    def add(self, group: int, values: Sequence[pa.Array]) -> None:
        hashes, valid = hash_key(values)
        most = 1 << GROUP_BITS
        unit = self._ordinal << GROUP_BITS | (group if self._groups <= most else group * most // self._groups)
        bits = self._sets.setdefault(unit, np.zeros(SET_BYTES * 8, np.bool_))
        bits[(hashes if valid is None else hashes[valid]) >> np.uint64(52)] = True

    def end(self) -> None:
        pass

    def fail(self) -> None:
        self._unkeyed.append(self._ordinal)
        for unit in [unit for unit in self._sets if unit >> GROUP_BITS == self._ordinal]:
            del self._sets[unit]

    def close(self) -> tuple[CoveredKey, list[PartInfo], np.ndarray[Any, np.dtype[np.int64]]]:
        finisher = Finisher(self._plan, self._sink, (self.hand_over(),))
        parts = [part for number in range(finisher.ranges) for part in finisher.write(number)]
        key, unkeyed = finisher.covered()
        return key, parts, unkeyed

    def hand_over(self) -> Gathered:
        sets = {unit: np.packbits(bits).tobytes() for unit, bits in self._sets.items() if bits.any()}
        return Gathered((), len(sets), tuple(self._unkeyed), {"sets": sets})


@dataclass(frozen=True)
class Finisher:
    """See `KeyFinisher`."""

    plan: KeyPlan
    sink: RunSink
    gathered: tuple[Gathered, ...]
    ranges: int = field(default=1)

    def write(self, number: int) -> list[PartInfo]:
        sets: dict[int, bytes] = {}
        for one in self.gathered:
            sets.update(one.details["sets"])  # type: ignore[call-overload]
        return written(self.plan.key_id, sets, self.sink, self.plan.number(0))

    def covered(self) -> tuple[CoveredKey, np.ndarray[Any, np.dtype[np.int64]]]:
        unkeyed = np.array(sorted(ordinal for one in self.gathered for ordinal in one.unkeyed), np.int64)
        return self.plan.covered({"group_bits": GROUP_BITS}, len(unkeyed)), unkeyed


class Reader(EqualityReader):
    """See `KeyReader`: it answers whether a value is equal, and nothing else."""

    def __init__(self, run: RunReader, key: CoveredKey, types: Sequence[pa.DataType]) -> None:
        self._run, self._key, self._types = run, key, types

    def among(self, values: Sequence[Sequence[Literal]]) -> Hits | None:
        hashes = [hash_literals(literals, self._types) for literals in values]
        if None in hashes:
            return None
        places = {one >> 52 for one in hashes if isinstance(one, int)}
        units, bits = self._run.derived(f"hash_set {self._key.key_id}", self._read)
        found = [
            unit for unit, held in zip(units, bits, strict=True) if any(held[p >> 3] & 128 >> (p & 7) for p in places)
        ]
        return Hits(units=np.array(found, np.int64), group_bits=GROUP_BITS)

    def _read(self) -> tuple[list[int], list[bytes]]:
        tables = list(stored_rows(self._run, self._key))
        table = pa.concat_tables(tables) if tables else ROWS.empty_table()
        assert pc.all(pc.equal(table.column("key_id"), self._key.key_id), min_count=0).as_py()
        return table.column("unit").to_pylist(), table.column("bits").to_pylist()
