"""Keys of a run that are built from values alone: by the collectors of their kinds, row group by row group, without any
data file; and merged."""

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from metaindex.formats import Field, Leaf
from metaindex.index import KINDS
from metaindex.index.kinds.keyed import Gathered, KeyCollector, KeyReader, Spill, add_groups
from metaindex.index.kinds.kind import KeyKind, KeyRows, MergeInto, PlannedKey
from metaindex.index.log.entry import CoveredKey, RunRef
from metaindex.index.log.sealed import digest
from metaindex.index.store.cache import StoreCache
from metaindex.index.store.layout import PartInfo, manifest_bytes, manifest_path
from metaindex.index.store.reader import ReadCount, RunReader
from metaindex.index.store.writer import RunSink
from metaindex.storage import LocalStorage, Storage

File = list[list[tuple[object, ...]]]
"""Row groups of rows; a row has a value for every column."""
MANY, TINY = 256 << 20, 64


@dataclass(frozen=True)
class Built:
    """A key of a run on disk."""

    storage: Storage
    run: RunRef
    key: CoveredKey
    unkeyed: list[int]
    parts: list[PartInfo]

    def reader(self, types: Sequence[pa.DataType], count: ReadCount | None = None) -> KeyReader:
        found = KINDS.key_reader(self.run_reader(count), self.key, types)
        assert found is not None
        return found

    def run_reader(self, count: ReadCount | None = None) -> RunReader:
        return RunReader(self.storage, self.run, StoreCache(), count or ReadCount())

    def rows(self) -> list[pa.Table]:
        """What is stored in the partition that the key's kind is called by, without the key's id."""
        reader = self.run_reader()
        parts = sorted(reader.parts(self.key.kind), key=lambda part: (part.first_key, part.path))
        tables = [reader.open(part).read_all() for part in parts]
        return [pa.concat_tables(tables).combine_chunks() if tables else pa.table({})]


def plan_of(kind: KeyKind, types: Sequence[pa.DataType], first: int = 0) -> PlannedKey:
    """Of the columns from the one with the number `first` on, which is that of the key in its run, too."""
    return PlannedKey.of(kind, tuple(Leaf((Field(f"c{i}", t),)) for i, t in enumerate(types, first)), first)


def feed(collector: KeyCollector, ordinal: int, file: File, types: Sequence[pa.DataType], pieces: int = 1) -> None:
    collector.begin(ordinal, max(1, len(file)))
    if not pieces:
        every = [row for rows in file for row in rows]
        arrays = [pa.array([row[i] for row in every], t) for i, t in enumerate(types)]
        add_groups(collector, [(group, len(rows)) for group, rows in enumerate(file)], arrays)
        collector.end()
        return
    for group, rows in enumerate(file):
        step = -(-len(rows) // pieces) or 1
        for start in range(0, len(rows), step):
            some = rows[start : start + step]
            collector.add(group, [pa.array([row[i] for row in some], t) for i, t in enumerate(types)])
    collector.end()


@contextmanager
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def written(
    root: Path,
    kind: KeyKind,
    files: Sequence[File],
    types: Sequence[pa.DataType],
    *,
    limit: int = MANY,
    shares: int = 0,
    pieces: int = 1,
) -> Built:
    """Builds a key. `limit`: of the spill. `shares`: of the files, each collected by itself and handed over (0: one
    collector that closes). They share the folder of the spill, as Spark's tasks do."""
    storage = LocalStorage(str(root))
    sink, plan = RunSink(storage, "run"), plan_of(kind, types)
    if not shares:
        one = plan.kind.collector(plan, sink, Spill(storage, "spill", limit), len(files))
        for ordinal, file in enumerate(files):
            feed(one, ordinal, file, types, pieces)
        key, parts, unkeyed = one.close()
    else:
        gathered: list[Gathered] = []
        for share in range(shares):
            one = plan.kind.collector(plan, sink, Spill(storage, "spill", limit), len(files))
            for ordinal in range(share, len(files), shares):
                feed(one, ordinal, files[ordinal], types, pieces)
            gathered.append(one.hand_over())
        finisher = plan.kind.finisher(plan, sink, Spill(storage, "spill", limit), len(files), gathered)
        parts = [part for number in range(finisher.ranges) for part in finisher.write(number)]
        key, unkeyed = finisher.covered()
    return on_disk(storage, sink.run, key, parts, unkeyed.tolist(), len(files))


def written_apart(root: Path, kind: KeyKind, files: Sequence[File], types: Sequence[pa.DataType]) -> list[Built]:
    """Builds a key of each column, one after the other, into one run."""
    storage = LocalStorage(str(root))
    sink, built = RunSink(storage, "run"), []
    for place, t in enumerate(types):
        plan = plan_of(kind, [t], first=place)
        one = plan.kind.collector(plan, sink, Spill(storage, "spill"), len(files))
        for ordinal, file in enumerate(files):
            feed(one, ordinal, [[(row[place],) for row in rows] for rows in file], [t])
        built.append(one.close())
    every = [part for _, parts, _ in built for part in parts]
    return [
        replace(on_disk(storage, sink.run, key, every, unkeyed.tolist(), len(files)), parts=parts)
        for key, parts, unkeyed in built
    ]


def on_disk(
    storage: Storage, run: str, key: CoveredKey, parts: Sequence[PartInfo], unkeyed: list[int], files: int
) -> Built:
    manifest = manifest_bytes(parts)
    storage.put(manifest_path(run), manifest)
    ref = RunRef(run, files, 1, 0, len(manifest), digest(manifest), "", (), 0, "local", 0, (key,))
    return Built(storage, ref, key, unkeyed, list(parts))


Merge = Callable[[CoveredKey, Sequence[KeyRows], RunSink, Callable[[int], int]], Any]


def as_its_kind(key: CoveredKey, rows: Sequence[KeyRows], sink: RunSink, number: Callable[[int], int]) -> Any:
    return KINDS.rows_of(key).merge(key, rows, MergeInto(sink, number))


def merged(root: Path, some: Sequence[tuple[Built, Sequence[int]]], files: int, merge: Merge = as_its_kind) -> Built:
    """`some`: each with the new ordinals of its files, -1 where a file is left out."""
    storage, rows, unkeyed = LocalStorage(str(root)), [], []
    for one, places in some:
        new = np.array(places, np.int64)
        unkeyed += [ordinal for ordinal in new[one.unkeyed].tolist() if ordinal >= 0] if one.unkeyed else []
        new[one.unkeyed] = -1
        rows.append((one.run_reader(), one.key, new))
    key = some[0][0].key
    layout, parts = merge(key, rows, RunSink(storage, "merged"), lambda number: number)
    return on_disk(storage, "merged", replace(key, layout=layout, unkeyed_files=len(unkeyed)), parts, unkeyed, files)


def merged_of_two(
    root: Path, kind: KeyKind, files: Sequence[File], types: Sequence[pa.DataType], order: Sequence[int], cut: int
) -> Built:
    """One run has the files that come first in this order, the other the rest."""
    halves = (order[:cut], order[cut:])
    some = [written(root / str(n), kind, [files[i] for i in which], types) for n, which in enumerate(halves)]
    return merged(root / "merged", list(zip(some, halves, strict=True)), len(files))


def written_but_one(root: Path, kind: KeyKind, files: Sequence[File], limit: int, *added: pa.Array) -> Built:
    """Builds a key of a column; the third file fails once these values of it were added."""
    storage, run, types = LocalStorage(str(root)), f"run{limit}", [added[0].type]
    plan = plan_of(kind, types)
    one = plan.kind.collector(plan, RunSink(storage, run), Spill(storage, "spill", limit), len(files))
    for ordinal, file in enumerate(files):
        if ordinal != 2:
            feed(one, ordinal, file, types)
            continue
        one.begin(ordinal, 3)
        for group, values in enumerate(added):
            one.add(group, [values])
        one.fail()
    key, parts, unkeyed = one.close()
    assert [p.path for p in storage.list("spill")] == []
    return on_disk(storage, run, key, parts, unkeyed.tolist(), len(files))
