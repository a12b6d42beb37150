"""refresh: bring an index to a version of the table.

    incremental  index the files that no run covers; files that left keep their rows and are named as removed
    quick        name the files that no run knows, without reading any: the version is recorded, those files are read by
                 every query
    full         index every file again; the runs before are dropped

The files are followed from a recorded version on: by what the log says changed since, so that the cost is that of the
change; by the whole snapshot where the log cannot say. What is known is decided by full identity, so a file that came
back is restored and not indexed twice; where another table was made at this place, an incremental refresh is a full
one. A refresh limited to some files indexes those of them that no run covers and records no version: the next one
without a limit finds them known.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from metaindex.core import Cure, DamagedIndexError, counted
from metaindex.expressions import ColumnRef
from metaindex.formats import Base, Schema, Version
from metaindex.index.kinds.registry import KINDS
from metaindex.index.log.entry import IndexLogEntry, RunRef, VersionRecord
from metaindex.index.log.history import RollOver
from metaindex.index.log.states import Operation
from metaindex.index.log.versions import Recorded
from metaindex.index.open_index import OpenIndex
from metaindex.index.store.reader import StoreCache

from .action import Action, Change, NothingToDo
from .create import Create, index_all, notes_of
from .snapshot_delta import Seen, SnapshotDelta, UnverifiedFiles, follow
from .target import Target, Written, racy, retains

logger = logging.getLogger("metaindex")

Mode = Literal["incremental", "quick", "full"]


@dataclass(slots=True)
class Refresh(Create):
    """Refreshes an index as `mode` says; built like `Create`. `options`: of the reader, which the index keeps from then
    on; None keeps those that it has."""

    operation = Operation.REFRESH
    rebases = True

    mode: Mode = "incremental"
    cache: StoreCache = field(default_factory=StoreCache)
    written: Written | None = None

    def first_entry(self, base: IndexLogEntry | None) -> IndexLogEntry:
        entry = Action.first_entry(self, base)
        return replace(entry, table=replace(entry.table, options=self.options)) if self.options else entry

    def run(self, begun: IndexLogEntry) -> Change:
        if self.mode == "full":
            return index_all(self, self.target.snapshot(), frozenset(run.run for run in begun.content.runs))
        try:
            return self._follow(OpenIndex(self.name, begun, self.sink.storage, self.cache))
        except DamagedIndexError as error:
            raise DamagedIndexError(f"a refresh reads the runs it builds on; {error}") from error

    def _follow(self, index: OpenIndex) -> Change:
        if self.target.limit is None and (note := recorded_already(index, self.target.version, self.mode)):
            raise NothingToDo(note)
        quick = self.mode == "quick"
        seen, followed = seen_from(index, self.target, listed=quick)
        another = _another_table(index, seen, self.target)
        if another is not None and not quick and self.target.limit is None:
            older = frozenset(run.run for run in index.entry.content.runs)
            change = index_all(self, self.target.snapshot(), older)
            return replace(change, notes=(f"{another}; all of it was indexed anew", *change.notes))
        if self.target.limit is None and (note := recorded_already(index, seen.snapshot.version, self.mode)):
            raise NothingToDo(note)  # the table went on, to a version that is recorded, since the action was made ready
        wanted = ~racy(seen.snapshot)
        if self.target.limit is not None:
            wanted &= self.target.limit(seen.snapshot)
        fresh = followed.fresh[wanted[followed.fresh]]
        added, order = None, fresh
        notes: tuple[str, ...] = ()
        if len(fresh):
            builder = None if quick else self.builder
            told = self.written.told(seen) if self.written is not None else frozenset()
            others = index.entry.content.runs
            built = self.build(seen.snapshot, fresh, builder, told, others)
            added, order = built.ref, built.order
            notes = _named(len(fresh)) if quick else notes_of(built, self.target.settled)
            notes += _new_columns(others, built.ref, seen, followed)
        if another is not None:
            notes = (another, *notes)
        runs = () if added is None else (added,)
        if self.target.limit is not None or not self.target.settled:
            if not runs:
                raise NothingToDo(
                    "every file asked is indexed"
                    if self.target.settled
                    else "files are being changed; no file is safe to index yet"
                )
            return Change(runs, notes=notes)
        followed.listed += len(fresh) if quick else 0
        record = self.records.fitting(followed.record(seen, added.run if added else None, order))
        roll_over = self._roll_over(index)
        return Change(runs, frozenset(), record, seen.snapshot.schema, roll_over=roll_over, notes=notes)

    def _roll_over(self, index: OpenIndex) -> RollOver | None:
        try:
            return self.records.rolled_over(index.entry.content, index.versions)
        except DamagedIndexError as error:
            logger.warning("older versions of index %r stay in its entry: %s", self.name, error)
            return None


def recorded_already(index: OpenIndex, version: Version, mode: Mode) -> str | None:
    """Why there is nothing to do at the version, or None."""
    recorded = index.versions.find(version)
    if recorded is None or (recorded.record.unknown and mode != "quick"):
        return None
    return f"version {version} is recorded"


def _another_table(index: OpenIndex, seen: Seen, target: Target) -> str | None:
    """A table that was made anew where another one was shares nothing with what is indexed. One that its own log gave
    another id (CREATE OR REPLACE) is followed."""
    another = index.of_another_table(seen.snapshot.table_uuid) if seen.gone is None else None
    if another is None:
        return None
    retained = retains(target.format, target.ref)
    return None if any(retained(record.version) for record in index.entry.content.versions) else another


def seen_from(index: OpenIndex, target: Target, *, listed: bool) -> tuple[Seen, SnapshotDelta]:
    """Return what became of the table's files since a recorded version: from its log if that suffices, else from its
    whole snapshot. `listed`: see `follow`."""
    seen = _seen_by_log(index, target)
    if seen is not None:
        try:
            return seen, follow(index, seen, listed=listed)
        except UnverifiedFiles as unproved:
            logger.log(unproved.level, "index %r is compared with the table's whole snapshot: %s", index.name, unproved)
    seen = Seen(newest_complete(index), target.snapshot())
    return seen, follow(index, seen, listed=listed)


def _seen_by_log(index: OpenIndex, target: Target) -> Seen | None:
    content = index.entry.content
    recent = [(record, content.schemas[record.schema]) for record in content.versions]
    changes = target.changes(_bases(recent))
    if changes is None and content.segments:
        try:
            changes = target.changes(_bases(index.versions.all()))
        except DamagedIndexError as error:
            logger.warning("older versions of index %r are no bases: %s", index.name, error)
    base = index.versions.find(changes.base) if changes is not None else None
    return Seen.of(base, changes) if base is not None and changes is not None else None


def _bases(records: list[tuple[VersionRecord, Schema]]) -> list[Base]:
    """Versions of which every file is covered: a diff from one of them names every file that is not."""
    return [Base(r.version, schema, r.partition_columns) for r, schema in records if not r.unknown]


def newest_complete(index: OpenIndex) -> Recorded | None:
    """The last of the recorded versions of which every file is covered."""
    for record in reversed(index.entry.content.versions):
        if not record.unknown and (recorded := index.versions.find(record.version)) is not None:
            return recorded
    return None


def _new_columns(runs: Sequence[RunRef], added: RunRef, seen: Seen, followed: SnapshotDelta) -> tuple[str, ...]:
    """Columns that the table got since older files were read: what those say of them is not looked for again."""
    missing: dict[str, int] = {}
    new = {
        leaf.stable: ColumnRef(leaf.parts).name
        for leaf in seen.snapshot.schema.leaves()
        if leaf.stable in KINDS.covered_columns(added)
    }
    for run in runs:
        dead = seen.live.dead.get(run.run)
        live = 0 if dead is None else run.files - len(dead) - len(followed.removed.get(run.run, ()))
        live += len(followed.restored.get(run.run, ()))
        for stable in () if run.listed_only or not live else new.keys() - KINDS.covered_columns(run):
            missing[new[stable]] = missing.get(new[stable], 0) + live
    if not missing:
        return ()
    named = [repr(name) for name in sorted(missing)]
    told = ", ".join(named[:_NAMED]) + (f" and {len(named) - _NAMED:,} more" if len(named) > _NAMED else "")
    are, them = ("is", "it") if len(named) == 1 else ("are", "them")
    files = counted(max(missing.values()), "older file")
    return (f"{told} {are} not covered in {files}; {Cure('argument', 'mode', 'full')} covers {them}",)


_NAMED = 5
"""Columns, of a note."""


def _named(count: int) -> tuple[str, ...]:
    return (f"named and not indexed: {counted(count, 'file')}, which every query reads until an incremental refresh",)


@dataclass(frozen=True, slots=True)
class Staleness:
    """Files and bytes at a version that the index does not cover (every query reads them), and of files that it still
    counts and that are gone (they cost nothing)."""

    new_files: int = 0
    new_bytes: int = 0
    gone_files: int = 0
    gone_bytes: int = 0

    @classmethod
    def of(cls, index: OpenIndex, target: Target) -> Staleness:
        """Return how far an index is behind. Costs what a refresh costs before it reads a data file. Raises
        MetaIndexError where the table or the index cannot be read."""
        recorded = index.versions.find(target.version)
        if recorded is not None and not recorded.record.unknown:
            return cls()
        seen, followed = seen_from(index, target, listed=False)
        sizes = seen.snapshot.files.table.column("size_bytes").to_numpy()[followed.fresh]
        gone_files = gone_bytes = 0
        for run in index.entry.content.runs:
            if removed := followed.removed.get(run.run):
                gone = np.frombuffer(removed.to_array(), np.uint32).astype(np.int64)
                gone_files += len(gone)
                gone_bytes += int(index.rows(run, "files", gone, ["size_bytes"]).column("size_bytes").to_numpy().sum())
        return cls(len(followed.fresh), int(sizes.sum()), gone_files, gone_bytes)
