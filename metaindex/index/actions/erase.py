"""erase: take out of every run what no retained version of the table holds, and remove the old runs at once.

A file's rows stay where the table as it is now has the file, or a recorded version that the table can still read, and
the file is there. Rows that are deleted in a file (deletion vectors, delete files) may still stand in its bounds: where
every retained version has the file with deletes, nothing is said of its values any more, and queries read it. Versions
that are not retained are forgotten: asked again, they are answered through the table's log.

A kind takes part by being merged: `merge_runs` leaves files out and blanks the values of others, for optimize and erase
alike. Runs with a kind that cannot be merged are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyroaring import BitMap

from metaindex.core import ConcurrentWriteError, IndexStateError, Mask, Progress, counted, dataclass
from metaindex.formats import FileTable, Snapshot, Version
from metaindex.index.build.merging import merge_runs, unmerged
from metaindex.index.build.protocol import Builder, pieces_written_by
from metaindex.index.keys import FileIdentities, file_ids
from metaindex.index.log.entry import Content, IndexLogEntry, RunRef, VersionRecord
from metaindex.index.log.states import Operation
from metaindex.index.log.versions import LiveFiles, Recorded, difference
from metaindex.index.open_index import OpenIndex
from metaindex.index.store.layout import new_run_id
from metaindex.index.store.reader import RunReader, StoreCache
from metaindex.index.store.writer import RunSink
from metaindex.storage import Storage

from .action import RUNS, Action, Change, NothingToDo, missing
from .change import Renumbering, Replacement
from .optimize import mergeable
from .records import RecordWriter

_KEPT_VERSIONS = 32


@dataclass(slots=True)
class Erase(Action):
    """`snapshot` is the table now; `retained` tells whether the table can still read a version; `there` which of some
    files are in the lake (`files` rows). `builder`: as in `Optimize`."""

    operation = Operation.OPTIMIZE
    verb = "erase"

    name: str
    storage: Storage
    snapshot: Snapshot
    retained: Callable[[Version], bool]
    there: Callable[[pa.Table], Mask]
    cache: StoreCache = field(default_factory=StoreCache)
    builder: Builder | None = None
    progress: Progress | None = None
    _sinks: list[str] = field(default_factory=list)
    _used: int = 0

    def first_entry(self, base: IndexLogEntry | None) -> IndexLogEntry:
        if base is None:
            raise missing("erase", self.name)
        if base.under_way:
            raise IndexStateError(
                f"erase needs that nothing is under way, as that may hold what is to be erased; index {self.name!r} is"
                f" {base.state.value}: {base.under_way[0]}; wait for it, or cancel it if its writer is dead"
            )
        self._sinks = [new_run_id() for _ in range((len(mergeable(base.content.runs)) + 1) * RUNS)]
        return base.following()

    def runs(self) -> tuple[str, ...]:
        return tuple(self._sinks)

    def run(self, begun: IndexLogEntry) -> Change:
        index = OpenIndex(self.name, begun, self.storage, self.cache)
        holdings = _Holdings(index, self.snapshot, self.retained, self.there)
        affected = [run for run in begun.content.runs if holdings.touched(run)]
        forgotten = len(index.versions.all()) - len(holdings.versions)
        if not affected and not forgotten:
            raise NothingToDo("every value in it is of a retained version")
        renumberings = [self._rewritten(index, group, holdings) for group in mergeable(affected)]
        replacement = Replacement(tuple(renumberings))
        versions = self._records(begun.content, holdings.versions[-_KEPT_VERSIONS:], renumberings)
        files = sum(int((~holdings.keep[run.run]).sum()) for run in affected)
        blank = sum(int(holdings.blank[run.run].sum()) for run in affected)
        notes = (
            (
                f"{counted(files, 'file')} taken out of {counted(len(affected), 'run')},"
                f" the values of {blank:,} with deleted rows blanked, {counted(forgotten, 'version')} forgotten"
            ),
        )
        schemas = tuple(recorded.schema for recorded in holdings.versions[-_KEPT_VERSIONS:])
        return Change(replacement=replacement, history=(versions, schemas), notes=notes)

    def _sink(self) -> RunSink:
        """Return a new folder each time: objects for content that others changed meanwhile must not be beside those in
        use."""
        if self._used == len(self._sinks):
            raise ConcurrentWriteError(
                f"erase needs an index that stands still; {self.name!r} is busy; try again later"
            )
        self._used += 1
        return RunSink(self.storage, self._sinks[self._used - 1])

    def _rewritten(self, index: OpenIndex, group: Sequence[RunRef], holdings: _Holdings) -> Renumbering:
        readers: list[RunReader] = [index.reader(run) for run in group]
        if unknown := {kind for reader in readers for kind in unmerged(reader)}:
            raise IndexStateError(
                f"erase rewrites what it knows; index {self.name!r} has {', '.join(sorted(unknown))}; install the"
                " package that brings it, or delete and vacuum the index, and create it anew"
            )
        write = pieces_written_by(self.builder, self.progress)
        merged = merge_runs(readers, self._sink(), holdings.keep, holdings.blank, write)
        return Renumbering(merged.run, merged.ordinals)

    def _records(
        self, content: Content, kept: Sequence[Recorded], moved: Sequence[Renumbering]
    ) -> tuple[VersionRecord, ...]:
        """The retained versions as one chain, in the new ordinals."""
        old = {run for renumbering in moved for run in renumbering.ordinals}
        counts = {run.run: run.files for run in content.runs if run.run not in old} | {
            renumbering.run.run: renumbering.run.files for renumbering in moved
        }
        writer = RecordWriter(self.storage, self._sinks[-1])
        before, parent, out = LiveFiles({}), None, []
        for place, version in enumerate(kept):
            now = _moved(version.live, moved)
            record = replace(version.record, parent=parent, schema=place, bits=None, **difference(before, now, counts))
            out.append(writer.fitting(record))
            before, parent = now, record.version
        return tuple(out)


class _Holdings:
    """Contents of every run: the files that stay, and those whose values are blanked; and the versions that stay."""

    def __init__(
        self,
        index: OpenIndex,
        snapshot: Snapshot,
        retained: Callable[[Version], bool],
        there: Callable[[pa.Table], Mask],
    ) -> None:
        recorded = [
            resolved
            for record, _ in index.versions.all()
            if retained(record.version) and (resolved := index.versions.find(record.version))
        ]
        files = FileIdentities.of(snapshot)
        deletes = np.asarray(snapshot.files.table.column("deletes").is_valid().to_numpy(), np.bool_)
        runs = index.entry.content.runs
        places = {run.run: index.locate(run, files) for run in runs}
        gone = {run.run: _replaced(index, run, files, places[run.run]) for run in runs}
        for run in runs:
            old = _held(run, recorded) & ~_marked(run, places[run.run]) & ~gone[run.run]
            gone[run.run] |= _absent(index, run, old, there)
        # A version that lost one file cannot be read: for its sake nothing of its other files stays.
        self.versions = [
            kept_version
            for kept_version in recorded
            if not any((kept_version.live.mask(r) & gone[r.run]).any() for r in runs)
        ]
        self.keep: dict[str, Mask] = {}
        self.blank: dict[str, Mask] = {}
        for run in runs:
            at = places[run.run]
            whole = _marked(run, at[~deletes])
            for version in self.versions:
                whole |= version.live.mask(run) & ~version.live.with_deletes(run)
            self.keep[run.run] = _marked(run, at) | _held(run, self.versions)
            self.blank[run.run] = self.keep[run.run] & ~whole

    def touched(self, run: RunRef) -> bool:
        return bool((~self.keep[run.run]).any() or self.blank[run.run].any())


def _marked(run: RunRef, places: npt.NDArray[np.integer]) -> Mask:
    """The files of the run at these places; -1: it has not that file."""
    mask = np.zeros(run.files, np.bool_)
    mask[places[places >= 0]] = True
    return mask


def _held(run: RunRef, versions: Sequence[Recorded]) -> Mask:
    """The files of the run that some of the versions have."""
    mask = np.zeros(run.files, np.bool_)
    for version in versions:
        mask |= version.live.mask(run)
    return mask


def _replaced(index: OpenIndex, run: RunRef, now: FileIdentities, places: npt.NDArray[np.integer]) -> Mask:
    """The files of the run under whose paths the table has others now: their bytes are gone, whatever its older
    versions say."""
    _, ordinals = index.locate_paths(run, FileIdentities(run.table_uuid, now.ids))
    return _marked(run, ordinals) & ~_marked(run, places)


def _absent(index: OpenIndex, run: RunRef, old: Mask, there: Callable[[pa.Table], Mask]) -> Mask:
    absent = np.zeros(run.files, np.bool_)
    ordinals = np.flatnonzero(old)
    if len(ordinals):
        absent[ordinals] = ~there(index.rows(run, "files", ordinals, ["path", "size_bytes", "modified_ms"]))
    return absent


def _moved(live: LiveFiles, moved: Sequence[Renumbering]) -> LiveFiles:
    """Return the live files in the new ordinals."""
    dead, deletes = dict(live.dead), dict(live.deletes)
    for renumbering in moved:
        lives, marks = BitMap(), BitMap()
        for run, ordinals in renumbering.ordinals.items():
            here, marked = dead.pop(run, None), deletes.pop(run, BitMap())
            if here is not None:
                lives |= Renumbering.moved(ordinals, BitMap(range(len(ordinals))) - here)
                marks |= Renumbering.moved(ordinals, marked - here)
        if lives:
            dead[renumbering.run.run] = BitMap(range(renumbering.run.files)) - lives
            deletes[renumbering.run.run] = marks
    return LiveFiles(dead, deletes)


def files_there(storage: Storage, *, by_time: bool) -> Callable[[pa.Table], Mask]:
    """Return a check of files in the lake: each exists, has that size, and (plain files) that time."""

    def there(files: pa.Table) -> Mask:
        return np.array([_is_there(storage, row, by_time=by_time) for row in files.to_pylist()], np.bool_)

    return there


def all_there(there: Callable[[pa.Table], Mask], snapshot: Snapshot) -> Callable[[FileTable], bool]:
    """Return a test whether all files of a listing exist. Those of the snapshot do."""
    known = file_ids(snapshot.files)

    def whole(files: FileTable) -> bool:
        others = pc.invert(pc.is_in(file_ids(files), value_set=known))
        return bool(there(files.table.filter(others).select(["path", "size_bytes", "modified_ms"])).all())

    return whole


def _is_there(storage: Storage, row: Mapping[str, object], *, by_time: bool) -> bool:
    try:
        info = storage.head(str(row["path"]))
    except FileNotFoundError:
        return False
    return info.size_bytes == row["size_bytes"] and not (
        by_time and info.modified_ns // 1_000_000 != row["modified_ms"]
    )
