"""create: index every file of the table's version."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from pyroaring import BitMap

from formats.model import Snapshot
from formats.protocol import TableRef
from metaindex.build.protocol import Builder, Progress
from metaindex.kinds.specs import Kind
from metaindex.log.entry import IndexLogEntry, TableInfo, VersionRecord
from metaindex.log.states import Operation, State
from metaindex.pruning.versions import to_text
from metaindex.store.writer import RunSink

from .action import Change
from .runs import BuiltRun, build_run, remove_run


@dataclass(slots=True)
class Create:
    """`snapshot` is loaded before the action begins, so that a table that cannot be read leaves no trace in the log."""

    name: str
    ref: TableRef
    snapshot: Snapshot
    kinds: Sequence[Kind]
    builder: Builder
    sink: RunSink
    stable_files: bool = True  # False: some file may still change under its identity, the version is not recorded
    options: dict[str, object] = field(default_factory=dict)
    progress: Progress | None = None
    operation: Operation = Operation.CREATE
    forward_only: bool = False
    rebases: bool = False
    _uuid: str = field(default_factory=lambda: uuid.uuid4().hex)

    def first_entry(self, base: IndexLogEntry | None) -> IndexLogEntry:
        return IndexLogEntry(
            id=(base.id if base is not None else 0) + 1,
            name=self.name,
            index_uuid=self._uuid,
            nonce="",
            stable=State.DOESNOTEXIST,
            table=TableInfo(
                self.snapshot.table,
                self.snapshot.format,
                self.snapshot.properties.get("table_uuid", ""),
                self.options,
            ),
            kinds=tuple(kind.spec() for kind in self.kinds),
        )

    def runs(self) -> tuple[str, ...]:
        return (self.sink.run,)

    def run(self, begun: IndexLogEntry) -> Change:
        return index_all(self, frozenset())

    def undo(self) -> None:
        remove_run(self.sink.storage, self.sink.run)


def index_all(action: Create, drop_runs: frozenset[str]) -> Change:
    """One run of all files, and the version as its record."""
    snapshot = action.snapshot
    rows = np.flatnonzero(~racy(snapshot)) if not action.stable_files else np.arange(len(snapshot.files))
    built = build_run(action.ref, snapshot, rows, action.kinds, action.builder, action.sink, action.progress)
    record = None
    if action.stable_files:
        record = VersionRecord(
            version=snapshot.version,
            timestamp_ms=snapshot.timestamp_ms,
            schema=0,
            parent=None,
            added=(built.ref.run,),
            with_deletes=deletes_by_run(snapshot, {built.ref.run: built.order}),
            files=len(snapshot.files),
            size_bytes=snapshot.files.size_bytes,
        )
    return Change((built.ref,), drop_runs, record, snapshot.schema, notes=notes_of(built, action.stable_files))


def notes_of(built: BuiltRun, stable_files: bool) -> tuple[str, ...]:
    """What a user should know of a build."""
    notes = [
        f"{built.ref.files:,} files and {len(built.ref.columns)} columns indexed by the {built.ref.builder} builder"
    ]
    if built.report.uncovered_files:
        path, why = built.report.uncovered[0]
        notes.append(
            f"{built.report.uncovered_files:,} files are left uncovered and always read, the first {path}: {why}"
        )
    if not stable_files:
        notes.append(
            "files were being changed while they were listed: those are read by every query until the next refresh"
        )
    return tuple(notes)


def racy(snapshot: Snapshot) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Files that may still change under the same identity (plain files changed within two seconds of the listing)."""
    if "files_racy" not in snapshot.files.table.column_names:
        return np.zeros(len(snapshot.files), np.bool_)
    return np.asarray(snapshot.files.table.column("files_racy").to_numpy(), np.bool_)


def deletes_by_run(
    snapshot: Snapshot, rows_by_run: dict[str, np.ndarray[tuple[int], np.dtype[np.int64]]]
) -> dict[str, str]:
    """For each run, the ordinals (positions in its rows, -1: not live) of files with deletes at this version."""
    attached = np.asarray(snapshot.files.table.column("deletes").is_valid().to_numpy(), np.bool_)
    out = {}
    for run, rows in rows_by_run.items():
        with_deletes = np.flatnonzero((rows >= 0) & attached[np.maximum(rows, 0)]) if len(attached) else rows[:0]
        if len(with_deletes):
            out[run] = to_text(BitMap(with_deletes))
    return out
