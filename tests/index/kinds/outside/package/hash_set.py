"""An index kind in one module: of every row group the set of the first 12 bits of its values' hashes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from metaindex.core import Mask
from metaindex.expressions import Literal
from metaindex.index.kinds.canonical import hash_key, hash_literals
from metaindex.index.kinds.checks import Mismatch
from metaindex.index.kinds.keyed import EqualityReader, Gathered, Hits, KeyPlan, Spill, unit
from metaindex.index.kinds.kind import KeyRows, LayoutRule, Merged, MergeInto, WholeKind, keys_of
from metaindex.index.kinds.stored_rows import check_ordinals, stored_rows
from metaindex.index.log.entry import CoveredKey, KindSpec
from metaindex.index.store.layout import PartInfo
from metaindex.index.store.reader import RunReader
from metaindex.index.store.writer import RunSink

GROUP_BITS = 6
SET_BYTES = 512  # 4,096 bits
HELD_BYTES = SET_BYTES + 200  # an object in a dictionary
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
        return cls(*cls.said_keys(said))

    def collector(self, plan: KeyPlan, sink: RunSink, spill: Spill, files: int) -> "Collector":
        return Collector(plan, sink, spill, files)

    def finisher(
        self, plan: KeyPlan, sink: RunSink, spill: Spill, files: int, gathered: Sequence[Gathered]
    ) -> "Finisher":
        return Finisher(plan, sink, spill, files, tuple(gathered))

    @classmethod
    def reader(cls, run: RunReader, key: CoveredKey, types: Sequence[pa.DataType]) -> "Reader":
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
    columns = [[key_id] * len(units), units, [sets[place] for place in units]]
    table = pa.table([pa.array(column, f.type) for column, f in zip(columns, ROWS, strict=True)], schema=ROWS)
    return [sink.write("hash_set", table, number)] if units else []


class Collector:
    """See `KeyCollector`. Sets of whole files are held packed, and put away where they are more than it may hold."""

    def __init__(self, plan: KeyPlan, sink: RunSink, spill: Spill, files: int) -> None:
        self._plan, self._sink, self._spill, self._files = plan, sink, spill, files
        self._open: dict[int, np.ndarray[Any, np.dtype[np.bool_]]] = {}  # of the file under way
        self._held: dict[int, bytes] = {}
        self._away: list[str] = []
        self._unkeyed: list[int] = []
        self._entries, self._ordinal, self._groups = 0, -1, 1

    def begin(self, ordinal: int, groups: int) -> None:
        self._ordinal, self._groups = ordinal, groups

    def add(self, group: int, values: Sequence[pa.Array]) -> None:
        hashes, valid = hash_key(values)
        place = unit(self._ordinal, group, self._groups, GROUP_BITS)
        bits = self._open.setdefault(place, np.zeros(SET_BYTES * 8, np.bool_))
        bits[(hashes if valid is None else hashes[valid]) >> np.uint64(52)] = True

    def end(self) -> None:
        full = {place: np.packbits(bits).tobytes() for place, bits in self._open.items() if bits.any()}
        self._held.update(full)
        self._entries += len(full)
        self._open.clear()
        if len(self._held) * HELD_BYTES > self._spill.limit_bytes:
            self._put_away()

    def fail(self) -> None:
        self._unkeyed.append(self._ordinal)
        self._open.clear()

    def close(self) -> tuple[CoveredKey, list[PartInfo], np.ndarray[Any, np.dtype[np.int64]]]:
        finisher = Finisher(self._plan, self._sink, self._spill, self._files, (self.hand_over(),))
        parts = [part for number in range(finisher.ranges) for part in finisher.write(number)]
        for path in self._away:
            self._spill.storage.delete(path)
        key, unkeyed = finisher.covered()
        return key, parts, unkeyed

    def hand_over(self) -> Gathered:
        if self._held:
            self._put_away()
        return Gathered(tuple(self._away), self._entries, tuple(self._unkeyed))

    def _put_away(self) -> None:
        self._away.append(self._spill.fresh("sets"))
        records = [place.to_bytes(8, "little") + self._held[place] for place in sorted(self._held)]
        self._spill.storage.put(self._away[-1], b"".join(records))
        self._held.clear()


@dataclass(frozen=True)
class Finisher:
    """See `KeyFinisher`. A range is of some of the files, whose sets are not more than a collector may hold."""

    plan: KeyPlan
    sink: RunSink
    spill: Spill
    files: int
    gathered: tuple[Gathered, ...]

    @property
    def ranges(self) -> int:
        size = sum(one.entries for one in self.gathered) * HELD_BYTES
        return max(1, min(self.files, -(-size // self.spill.limit_bytes)))

    def write(self, number: int) -> list[PartInfo]:
        first, last = (self.files * edge // self.ranges << GROUP_BITS for edge in (number, number + 1))
        sets: dict[int, bytes] = {}
        for path in (path for one in self.gathered for path in one.spills):
            records = memoryview(self.spill.storage.read(path))
            for at in range(0, len(records), 8 + SET_BYTES):
                place = int.from_bytes(records[at : at + 8], "little")
                if first <= place < last:
                    sets[place] = bytes(records[at + 8 : at + 8 + SET_BYTES])
        return written(self.plan.key_id, sets, self.sink, self.plan.number(number))

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
            place for place, held in zip(units, bits, strict=True) if any(held[p >> 3] & 128 >> (p & 7) for p in places)
        ]
        return Hits(units=np.array(found, np.int64), group_bits=GROUP_BITS)

    def _read(self) -> tuple[list[int], list[bytes]]:
        tables = list(stored_rows(self._run, self._key))
        table = pa.concat_tables(tables) if tables else ROWS.empty_table()
        assert pc.all(pc.equal(table.column("key_id"), self._key.key_id), min_count=0).as_py()
        return table.column("unit").to_pylist(), table.column("bits").to_pylist()
