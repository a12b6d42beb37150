"""Trials: a candidate, built over some files of a table into a temporary folder, as an index that is behind its table;
and its cost: bytes by metadata partition, and processor time."""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from metaindex.core import Mask, Vector, dataclass
from metaindex.expressions import Predicate
from metaindex.formats import ReadOptions, Snapshot, TableRef
from metaindex.index import (
    BuiltRun,
    Change,
    Content,
    IndexLogEntry,
    Kind,
    KindSpec,
    LocalBuilder,
    OpenIndex,
    RunSink,
    State,
    StoreCache,
    TableInfo,
    build_run,
    merged,
    record_of,
    with_ids,
)
from metaindex.query import NeedsSnapshot, Pruner, PruneResult, TableQuestion, each_over_snapshot
from metaindex.storage import LocalStorage

Rows = npt.NDArray[np.int64]

_RUN = f"r{'0' * 16}"
"""Of a trial's run, which has a folder of its own: random names would make equal trials differ by some bytes."""


@dataclass(frozen=True, slots=True)
class Sandbox:
    """The place of trials: the table at a version, and a folder of the process's own."""

    ref: TableRef
    snapshot: Snapshot
    folder: str


@dataclass(frozen=True, slots=True)
class Trial:
    """`part_bytes`: by metadata partition, without footers; `footer_bytes` is all of these and the manifest.
    `unread_files`: those whose data was not read although a build reads it."""

    index: OpenIndex
    part_bytes: dict[str, int]
    footer_bytes: int
    cpu_seconds: float
    notes: tuple[str, ...] = ()
    unread_files: int = 0

    @property
    def size_bytes(self) -> int:
        return sum(self.part_bytes.values()) + self.footer_bytes


def tried(
    bench: Sandbox,
    name: str,
    kinds: Sequence[Kind],
    rows: Rows,
    *,
    scans: bool = True,
    without_nan: frozenset[str] = frozenset(),
) -> Trial:
    """Build the kinds over the files in these rows. `scans`: may data be read, or footers alone? `without_nan`: float
    columns that are taken to have none. Over all files it is as if the index had been created. Raises what a build
    raises."""
    snapshot = bench.snapshot
    total = snapshot.files.size_bytes
    specs = [with_ids(kind.sized(snapshot.schema, total).spec(), snapshot.schema) for kind in kinds]
    sink = RunSink(LocalStorage(f"{bench.folder}/{uuid.uuid4().hex}"), _RUN)
    started = time.process_time()
    built = build_run(bench.ref, snapshot, rows, specs, LocalBuilder(scans=scans), sink, without_nan=without_nan)
    seconds = time.process_time() - started
    entry = _entry(bench, name, specs, built)
    index = OpenIndex.of(name, entry, sink.storage, StoreCache())
    parts: dict[str, int] = {}
    footers = built.ref.manifest_bytes
    reader = index.reader(built.ref)
    for part in (part for kind in sorted(reader.kinds()) for part in reader.parts(kind)):
        parts[part.kind] = parts.get(part.kind, 0) + part.size_bytes - part.footer_bytes
        footers += part.footer_bytes
    notes = tuple(f"{path}: {why}" for path, why in built.report.uncovered[:3])
    unread = built.report.files_scanned if not scans else 0
    return Trial(index, parts, footers, seconds, notes, unread)


def narrowed_to(index: OpenIndex, name: str, stables: Collection[str]) -> OpenIndex:
    """Return a trial index narrowed to the statistics of these columns, by their stable names."""
    content = index.entry.content
    runs = [replace(run, columns=tuple(held for held in run.columns if held.stable in stables)) for run in content.runs]
    identity = " ".join((index.entry.index_uuid, *sorted(stables)))
    entry = replace(index.entry, name=name, index_uuid=identity, content=replace(content, runs=tuple(runs)))
    return OpenIndex.of(name, entry, index.storage, index.cache)


def _entry(bench: Sandbox, name: str, specs: Sequence[KindSpec], built: BuiltRun) -> IndexLogEntry:
    """Make the log entry that an index would have. The version is recorded if all of its files were built."""
    snapshot = bench.snapshot
    whole = built.ref.files == len(snapshot.files)
    change = Change((built.ref,), record=record_of(built, snapshot) if whole else None, schema=snapshot.schema)
    file_format = snapshot.details.read_options().get("file_format", "")
    options = {**ReadOptions.of(bench.ref.options).said, "file_format": file_format}
    entry = IndexLogEntry(
        id=1,
        name=name,
        index_uuid=uuid.uuid4().hex,
        nonce="",
        stable=State.ACTIVE,
        table=TableInfo(snapshot.table, snapshot.format, snapshot.table_uuid, options),
        kinds=tuple(specs),
    )
    return replace(entry, content=merged(Content(), change, Content()))


logger = logging.getLogger("metaindex")


@dataclass(frozen=True, slots=True)
class Baseline:
    """The table at a version, and the indexes that a query of it may use."""

    snapshot: Snapshot
    indexes: tuple[OpenIndex, ...] = ()

    def with_more(self, *indexes: OpenIndex) -> Baseline:
        return Baseline(self.snapshot, (*self.indexes, *indexes))

    def answer(self, tree: Predicate) -> PruneResult:
        """Prune by a bound predicate, as `Table.prune` does."""
        snapshot = self.snapshot
        pruner = Pruner(self.indexes)
        question = TableQuestion(snapshot.table, snapshot.format, snapshot.version, tree)
        answer = pruner.by_record(question)
        return pruner.by_snapshot(question, snapshot) if isinstance(answer, NeedsSnapshot) else answer

    def kept_each(self, trees: Sequence[Predicate]) -> list[Mask]:
        """Return for each bound predicate a mask of the files that may match, by the table and all indexes."""
        try:
            return each_over_snapshot(trees, self.indexes, self.snapshot)
        except Exception as error:  # noqa: BLE001 - an index that fails is taken out where one is asked
            logger.warning("predicates are asked one by one: %s", error)
            return [self.kept(self.answer(tree)) for tree in trees]

    def kept(self, result: PruneResult) -> Mask:
        """Return a mask of the snapshot's files that an answer keeps."""
        files = self.snapshot.files
        if result.kept_files == len(files):
            return np.ones(len(files), np.bool_)
        kept = pc.is_in(files.paths, value_set=result.files.paths.combine_chunks())
        return Vector(kept).truths(null=False)
