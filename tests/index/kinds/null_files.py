"""A kind that knows nothing of `=`: of a column it keeps in which files there is a NULL."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pyarrow as pa

from metaindex.core import Mask
from metaindex.expressions import Literal
from metaindex.index.kinds.checks import KeyCheck, Mismatch
from metaindex.index.kinds.keyed import EqualityReader, Gathered, Hits, KeyPlan, Spill, Units
from metaindex.index.kinds.kind import KeyRows, Merged, MergeInto, WholeKind, keys_of
from metaindex.index.kinds.stored_rows import check_ordinals, stored_rows
from metaindex.index.log.entry import CoveredKey, KindSpec
from metaindex.index.store.layout import PartInfo
from metaindex.index.store.reader import RunReader
from metaindex.index.store.writer import RunSink

ROWS = pa.schema([("key_id", pa.int64()), ("ordinal", pa.int32())])


@dataclass(frozen=True, init=False)
class NullFiles(WholeKind):
    """The files in which a column is NULL somewhere."""

    keys: tuple[tuple[str, ...], ...]
    name = "null_files"

    def __init__(self, *keys: str | Sequence[str]) -> None:
        object.__setattr__(self, "keys", keys_of("NullFiles", keys))

    def spec(self) -> KindSpec:
        return KindSpec(self.name, self.version, {"keys": [list(key) for key in self.keys]})

    @classmethod
    def of(cls, said: Mapping[str, Any]) -> Self:
        return cls(*said["keys"])

    def collector(self, plan: KeyPlan, sink: RunSink, spill: Spill, files: int) -> "Collector":
        return Collector(plan, sink)

    def finisher(
        self, plan: KeyPlan, sink: RunSink, spill: Spill, files: int, gathered: Sequence[Gathered]
    ) -> "Finisher":
        return Finisher(plan, sink, tuple(gathered))

    @classmethod
    def reader(cls, run: RunReader, key: CoveredKey, types: Sequence[pa.DataType]) -> "Reader":
        return Reader(run, key)

    @classmethod
    def merge(cls, key: CoveredKey, some: Sequence[KeyRows], into: MergeInto) -> Merged:
        new = np.concatenate([np.zeros(0, np.int64), *(places[named(run, old)] for run, old, places in some)])
        return {}, written(key.key_id, new[new >= 0], into.sink, into.number(0))

    @classmethod
    def check(cls, reader: RunReader, key: CoveredKey, unkeyed: Mask, records: pa.ChunkedArray) -> None:
        ordinals = named(reader, key)
        if (np.diff(ordinals) <= 0).any():
            raise Mismatch("files with NULL do not ascend", key.kind)
        check_ordinals(ordinals, key, unkeyed)

    @classmethod
    def compared(
        cls, reader: RunReader, key: CoveredKey, plan: KeyPlan, ordinals: np.typing.NDArray[np.intp], spill: Spill
    ) -> KeyCheck:
        return Compared(frozenset(named(reader, key).tolist()))


def named(run: RunReader, key: CoveredKey) -> Units:
    tables = [ROWS.empty_table(), *stored_rows(run, key)]
    return np.concatenate([table.column("ordinal").to_numpy() for table in tables]).astype(np.int64)


def written(key_id: int, ordinals: Units, sink: RunSink, number: int) -> list[PartInfo]:
    ids = pa.array(np.full(len(ordinals), key_id), pa.int64())
    table = pa.table([ids, pa.array(np.sort(ordinals), pa.int32())], schema=ROWS)
    return [sink.write(NullFiles.partition, table, number)] if len(ordinals) else []


class Takes:
    """See `keyed.TakesRows`."""

    def __init__(self) -> None:
        self.with_null: set[int] = set()
        self.failed: list[int] = []
        self._ordinal = -1

    def begin(self, ordinal: int, groups: int) -> None:
        self._ordinal = ordinal

    def add(self, group: int, values: Sequence[pa.Array]) -> None:
        if values[0].null_count:
            self.with_null.add(self._ordinal)

    def end(self) -> None:
        pass

    def fail(self) -> None:
        self.failed.append(self._ordinal)
        self.with_null.discard(self._ordinal)


class Collector(Takes):
    """See `keyed.KeyCollector`."""

    def __init__(self, plan: KeyPlan, sink: RunSink) -> None:
        super().__init__()
        self._plan, self._sink = plan, sink

    def close(self) -> tuple[CoveredKey, list[PartInfo], Units]:
        finisher = Finisher(self._plan, self._sink, (self.hand_over(),))
        return finisher.covered()[0], finisher.write(0), finisher.covered()[1]

    def hand_over(self) -> Gathered:
        return Gathered((), len(self.with_null), tuple(self.failed), {"files": sorted(self.with_null)})


@dataclass(frozen=True)
class Finisher:
    """See `keyed.KeyFinisher`."""

    plan: KeyPlan
    sink: RunSink
    gathered: tuple[Gathered, ...]
    ranges: int = 1

    def write(self, number: int) -> list[PartInfo]:
        files = [ordinal for one in self.gathered for ordinal in one.details["files"]]  # type: ignore[attr-defined]
        return written(self.plan.key_id, np.array(files, np.int64), self.sink, self.plan.number(0))

    def covered(self) -> tuple[CoveredKey, Units]:
        unkeyed = np.array(sorted(ordinal for one in self.gathered for ordinal in one.unkeyed), np.int64)
        return self.plan.covered({}, len(unkeyed)), unkeyed


class Reader(EqualityReader):
    """See `keyed.KeyReader`."""

    def __init__(self, run: RunReader, key: CoveredKey) -> None:
        self._run, self._key = run, key

    def among(self, values: Sequence[Sequence[Literal]]) -> Hits | None:
        return None

    def null(self) -> Hits | None:
        return Hits(units=named(self._run, self._key))


class Compared(Takes):
    """See `kind.KeyCheck`."""

    def __init__(self, named: frozenset[int]) -> None:
        super().__init__()
        self._named = named

    def wrong(self, ordinals: Sequence[int]) -> Iterator[tuple[int, str]]:
        for ordinal in ordinals:
            if (ordinal in self._named) != (ordinal in self.with_null):
                yield ordinal, "it has NULL where the index says that it has none, or the other way round"
