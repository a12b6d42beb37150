"""refresh: bring an index to the table's version.

    incremental  index the files that no run knows; files that left keep their rows and are named as removed
    full         index every file again; the runs before are dropped

What is known is decided by full identity, so a file that came back is restored and not indexed twice.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from pyroaring import BitMap

from formats.model import Snapshot
from metaindex.errors import ConcurrentWriteError, DamagedIndexError
from metaindex.keys import file_ids
from metaindex.log.entry import Content, IndexLogEntry, VersionRecord
from metaindex.log.states import Operation
from metaindex.pruning.open_index import OpenIndex
from metaindex.pruning.versions import LiveFiles, difference, live_files
from metaindex.store.reader import StoreCache

from .action import Change, NothingToDo
from .create import Create, index_all, notes_of, racy
from .runs import build_run

Mode = Literal["incremental", "full"]


@dataclass(slots=True)
class Refresh(Create):
    """Built like `Create`; `mode` says how."""

    mode: Mode = "incremental"
    cache: StoreCache = field(default_factory=StoreCache)
    operation: Operation = Operation.REFRESH
    rebases: bool = True

    def first_entry(self, base: IndexLogEntry | None) -> IndexLogEntry:
        if base is None:
            return Create.first_entry(self, base)  # refused by validation: there is no such index
        return base.following(nonce="", timestamp_ms=0, written_by="")

    def run(self, begun: IndexLogEntry) -> Change:
        content = begun.content
        if self.mode == "full":
            return index_all(self, frozenset(run.run for run in content.runs))
        if content.record(self.snapshot.version) is not None:
            raise NothingToDo(f"version {self.snapshot.version} is recorded")
        try:
            return self._incremental(begun)
        except DamagedIndexError as error:
            raise DamagedIndexError(f"an incremental refresh reads the runs it builds on; {error}") from error

    def _incremental(self, begun: IndexLogEntry) -> Change:
        index = OpenIndex(self.name, begun, self.sink.storage, self.cache)
        snapshot, content = self.snapshot, begun.content
        ids = file_ids(snapshot.files, snapshot.format)
        etags = snapshot.files.table.column("etag") if snapshot.format == "files" else None
        unknown = np.ones(len(snapshot.files), np.bool_)
        rows_by_run: dict[str, np.ndarray[tuple[int], np.dtype[np.int64]]] = {}
        for run in content.runs:
            at = index.locate(run, ids, etags)
            mine = np.flatnonzero((at >= 0) & unknown)  # a file that two runs know counts once
            rows = np.full(run.files, -1, np.int64)
            rows[at[mine]] = mine
            rows_by_run[run.run] = rows
            unknown[mine] = False
        fresh = np.flatnonzero(unknown & ~racy(snapshot)) if not self.stable_files else np.flatnonzero(unknown)
        added = []
        notes: tuple[str, ...] = ()
        if len(fresh):
            built = build_run(self.ref, snapshot, fresh, self.kinds, self.builder, self.sink, self.progress)
            added = [built.ref]
            rows_by_run[built.ref.run] = built.order
            notes = notes_of(built, self.stable_files)
        if not self.stable_files:
            if not added:
                raise NothingToDo("files are being changed; no file is safe to index yet")
            return Change(tuple(added), notes=notes)
        record = self._record(content, rows_by_run)
        return Change(tuple(added), frozenset(), record, snapshot.schema, notes=notes)

    def _record(
        self,
        content: Content,
        rows_by_run: dict[str, np.ndarray[tuple[int], np.dtype[np.int64]]],
    ) -> VersionRecord:
        parent = content.versions[-1] if content.versions else None
        before = live_files(content, parent) if parent is not None else LiveFiles({})
        dead, deletes = {}, {}
        attached = np.asarray(self.snapshot.files.table.column("deletes").is_valid().to_numpy(), np.bool_)
        for run, rows in rows_by_run.items():
            live = np.flatnonzero(rows >= 0)
            if len(live):
                dead[run] = BitMap(np.flatnonzero(rows < 0))
                deletes[run] = BitMap(live[attached[rows[live]]])
        counts = {run: len(rows) for run, rows in rows_by_run.items()}
        return VersionRecord(
            version=self.snapshot.version,
            timestamp_ms=self.snapshot.timestamp_ms,
            schema=0,
            parent=parent.version if parent is not None else None,
            files=len(self.snapshot.files),
            size_bytes=self.snapshot.files.size_bytes,
            **difference(before, LiveFiles(dead, deletes), counts),
        )


def check_same_table(entry: IndexLogEntry, snapshot: Snapshot) -> None:
    """An index of another table is never refreshed from this one."""
    stored = entry.table
    if stored.format != snapshot.format:
        raise ConcurrentWriteError(
            f"an index is refreshed from the table it was built on; {entry.name!r} is of a {stored.format} table and this is {snapshot.format}; delete it and create it anew"
        )
