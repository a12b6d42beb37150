"""The files that a table had before its index was made: indexed as far as they can still be read, so that older
versions are pruned as the newest one is.

The versions are gone through from the newest back. One whose files the next one all has needs nothing; what the log
says of the step between two tells which, where it can. No version is recorded: the files are known by what they are,
and the version that the index was made of stays the one that was recorded last.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from metaindex.core import MetaIndexError, Progress, Vector, counted
from metaindex.formats import At, Base, Snapshot, Version
from metaindex.index.build.protocol import Builder
from metaindex.index.log.operation_log import OperationLog
from metaindex.index.open_index import OpenIndex
from metaindex.index.store.layout import new_run_id
from metaindex.index.store.reader import StoreCache
from metaindex.index.store.writer import RunSink

from .action import execute
from .erase import files_there
from .refresh import Refresh, Seen, follow, newest_complete
from .target import Limit, Target, racy

logger = logging.getLogger("metaindex")


@dataclass(slots=True)
class Backfill:
    """Indexes the files of older versions by an index that is there. `target`: what it was created of."""

    name: str
    target: Target
    log: OperationLog
    builder: Builder
    cache: StoreCache
    progress: Progress | None = None
    versions: int = 0
    files: int = 0
    gone: set[str] = field(default_factory=set)
    unread: list[str] = field(default_factory=list)

    def index(self) -> tuple[str, ...]:
        """Index the versions, and return notes. Unreadable versions are skipped and noted; what the index has stays."""
        for version in self._older():
            try:
                self._index(version)
            except MetaIndexError as error:
                logger.warning("version %s is left out of index %r: %s", version, self.name, error)
                self.unread.append(f"version {version} is left out: {error}")
        return self._notes()

    def _older(self) -> Iterator[Version]:
        """Versions with files that the next one has not, from the newest back."""
        every, of = list(self.target.format.versions(self.target.ref)), self.target.snapshot().version
        at = next((place for place, known in enumerate(every) if known.id == of.id), len(every))
        line = [*every[:at], of]
        for version, then in list(pairwise(line))[::-1]:
            if self._lost_some(version, then):
                yield version

    def _lost_some(self, version: Version, then: Version) -> bool:
        try:
            base = Base(version, self.target.snapshot().schema, self.target.snapshot().partition_columns)
            changes = self.target.format.changes(self.target.ref, [base], At.of(then))
        except MetaIndexError:
            return True
        return changes is None or len(changes.gone) > 0

    def _index(self, version: Version) -> None:
        snapshot = self.target.format.snapshot(self.target.ref, At.of(version))
        fresh = self._fresh(snapshot)
        if not len(fresh):
            return
        there = files_there(self.target.ref.storage, by_time=not self.target.format.has_log)
        present = there(snapshot.files.table.select(["path", "size_bytes", "modified_ms"]).take(pa.array(fresh)))
        missing = snapshot.files.paths.take(pa.array(fresh[~present])).to_pylist()
        self.gone.update(missing)
        if not present.any():
            return
        execute(self.log, self._action(version, snapshot, _without(missing)))
        self.versions += 1
        self.files += int(present.sum())

    def _fresh(self, snapshot: Snapshot) -> npt.NDArray[np.int64]:
        """Return the files of the version that the current index lacks."""
        entry = self.log.latest()
        assert entry is not None
        index = OpenIndex(self.name, entry, self.log.storage, self.cache)
        fresh = follow(index, Seen(newest_complete(index), snapshot), listed=False).fresh
        return fresh[~racy(snapshot)[fresh]]

    def _action(self, version: Version, snapshot: Snapshot, limit: Limit) -> Refresh:
        entry = self.log.latest()
        assert entry is not None
        settled = not racy(snapshot).any()
        target = Target(self.target.format, self.target.ref, At.of(version), snapshot.version, settled, snapshot, limit)
        sink = RunSink(self.log.storage, new_run_id())
        return Refresh(
            self.name,
            target,
            entry.kinds,
            self.builder,
            sink,
            progress=self.progress,
            cache=self.cache,
        )

    def _notes(self) -> tuple[str, ...]:
        if not self.versions:
            notes = ["no older version has files of its own that can be read"]
        else:
            of = "of an older version" if self.versions == 1 else f"of {self.versions:,} older versions"
            notes = [f"{counted(self.files, 'file')} {of} indexed, too"]
        if self.gone:
            notes.append(f"not there any more: {counted(len(self.gone), 'file')} of older versions")
        return (*notes, *self.unread[:3])


def _without(missing: Sequence[str]) -> Limit:
    gone = pa.array(missing, pa.string())

    def there(snapshot: Snapshot) -> npt.NDArray[np.bool_]:
        return ~Vector(pc.is_in(snapshot.files.paths.combine_chunks(), value_set=gone)).truths(null=False)

    return there
