"""create: index every file of the table's version."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc
from pyroaring import BitMap

from metaindex.core import counted
from metaindex.formats import Snapshot
from metaindex.index.build.protocol import Builder, Progress
from metaindex.index.kinds.registry import KINDS
from metaindex.index.kinds.renames import with_ids
from metaindex.index.log.entry import IndexLogEntry, KindSpec, RunRef, TableInfo, VersionRecord
from metaindex.index.log.states import Operation, State
from metaindex.index.log.versions import to_text
from metaindex.index.store.writer import RunSink

from .action import Action, Change
from .records import RecordWriter
from .runs import BuiltRun, build_run
from .target import Target, racy


@dataclass(slots=True)
class Create(Action):
    """`target` is made ready before the action begins, so that a table that cannot be read leaves no trace in the
    log."""

    operation = Operation.CREATE
    rebases = False

    name: str
    target: Target
    kinds: Sequence[KindSpec]
    builder: Builder
    sink: RunSink
    options: dict[str, object] = field(default_factory=dict)
    progress: Progress | None = None
    records: RecordWriter = field(init=False)
    _uuid: str = field(default_factory=lambda: uuid.uuid4().hex)

    def __post_init__(self) -> None:
        self.records = RecordWriter(self.sink.storage, self.sink.run)

    def first_entry(self, base: IndexLogEntry | None) -> IndexLogEntry:
        snapshot = self.target.snapshot()
        return IndexLogEntry(
            id=(base.id if base is not None else 0) + 1,
            name=self.name,
            index_uuid=self._uuid,
            nonce="",
            stable=State.DOESNOTEXIST,
            table=TableInfo(
                snapshot.table,
                snapshot.format,
                snapshot.table_uuid,
                self.options,
            ),
            kinds=tuple(with_ids(kind, snapshot.schema) for kind in self.kinds),
        )

    def runs(self) -> tuple[str, ...]:
        return (self.sink.run,)

    def build(
        self,
        snapshot: Snapshot,
        rows: npt.NDArray[np.int64],
        builder: Builder | None,
        without_nan: frozenset[str] = frozenset(),
        others: Sequence[RunRef] = (),
    ) -> BuiltRun:
        """Build the run of these files; see `build_run`."""
        ref, sink = self.target.ref, self.sink
        return build_run(ref, snapshot, rows, self.kinds, builder, sink, self.progress, without_nan, others)

    def run(self, begun: IndexLogEntry) -> Change:
        return index_all(self, self.target.snapshot(), frozenset())


def index_all(action: Create, snapshot: Snapshot, drop_runs: frozenset[str]) -> Change:
    """Build one run of all files, and record the version."""
    rows = np.flatnonzero(~racy(snapshot))
    built = action.build(snapshot, rows, action.builder)
    record = None
    if action.target.settled:
        record = record_of(built, snapshot)
        record = action.records.fitting(record)
    return Change((built.ref,), drop_runs, record, snapshot.schema, notes=notes_of(built, action.target.settled))


def record_of(built: BuiltRun, snapshot: Snapshot) -> VersionRecord:
    """The version as the first record of an index whose only run has all its files."""
    deletes = BitMap(np.flatnonzero(pc.is_valid(snapshot.files.table.column("deletes")).to_numpy()[built.order]))
    return VersionRecord(
        version=snapshot.version,
        timestamp_ms=snapshot.timestamp_ms,
        schema=0,
        parent=None,
        added=(built.ref.run,),
        with_deletes={built.ref.run: to_text(deletes)} if deletes else {},
        files=len(snapshot.files),
        size_bytes=snapshot.files.size_bytes,
        partition_columns=snapshot.partition_columns,
    )


def notes_of(built: BuiltRun, settled: bool) -> tuple[str, ...]:
    """Return the notes on a build for the user."""
    files, unread = built.ref.files, built.report.uncovered_files
    counts = [f"{files - unread:,} of {counted(files, 'file')}" if unread else counted(files, "file")]
    if built.ref.columns or not built.ref.keys:
        counts.append(counted(len(built.ref.columns), "column"))
    keys = len(KINDS.keyed(built.ref))
    copies = len(built.ref.keys) - keys
    if keys:
        counts.append(counted(keys, "key"))
    if copies:
        counts.append(counted(copies, "covering index"))
    notes = [f"{', '.join(counts[:-1])} and {counts[-1]} indexed by the {built.ref.builder} builder"]
    if unread:
        path, why = built.report.uncovered[0]
        them = "it" if unread == 1 else "them"
        first = why if repr(path) in why else f"{path}: {why}"
        notes.append(
            f"{counted(unread, 'file')} could not be read, and no query leaves {them} out: scan and count end with such"
            f" an error until what it names is done, and Spark reads {them} as it does; the first: {first}"
        )
    for key in built.ref.keys:
        if key.unkeyed_files > built.report.uncovered_files:
            names = ", ".join(column.name for column in key.columns)
            why = KINDS.rows_of(key).unkeyed_because
            notes.append(
                f"the {key.kind} of {names} leave out files with {why}: {key.unkeyed_files:,}, which every query of it"
                " reads"
            )
    if not settled:
        notes.append(
            "files were being changed while they were listed: those are read by every query until the next refresh"
        )
    return tuple(notes)
