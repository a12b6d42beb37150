"""refresh: bring an index to a version of the table.

    incremental  index the files that no run covers; files that left keep their rows and are named as removed
    quick        name the files that no run knows, without reading any: the version is recorded, those files are read by
                 every query
    full         index every file again; the runs before are dropped
    identity     as incremental; of files that no run knows, those with the bytes of some that a run knew by their paths
                 are taken over without being indexed (`identity`)

The files are followed from a recorded version on: by what the log says changed since, so that the cost is that of the
change; by the whole snapshot where the log cannot say. What is known is decided by full identity, so a file that came
back is restored and not indexed twice; where another table was made at this place, an incremental refresh is a full
one. A refresh limited to some files indexes those of them that no run covers and records no version: the next one
without a limit finds them known.

Everything is sets of ordinals inside runs, so that a commit can be replayed on whatever content is latest.

What the writer of a commit knows of its rows spares the next refresh to read them (RFC-27: metadata prepared with the
data commit): no log counts NaN, and without their count an index on floats answers little.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyroaring import BitMap

from metaindex.core import Cure, DamagedIndexError, Mask, Vector, compute, counted
from metaindex.expressions import ColumnRef
from metaindex.formats import Base, Changes, FileTable, Format, Schema, Snapshot, Version
from metaindex.index.actions.action import Action, Change, NothingToDo
from metaindex.index.actions.create import Create, index_all, notes_of
from metaindex.index.actions.identity import TakenOver, renewed, taken_over
from metaindex.index.actions.target import Target, racy, retains
from metaindex.index.keys import FileIdentities, path_ids
from metaindex.index.kinds.registry import KINDS
from metaindex.index.lacking import Lacking
from metaindex.index.log.entry import Content, IndexLogEntry, RunRef, VersionRecord
from metaindex.index.log.history import RollOver
from metaindex.index.log.states import Operation
from metaindex.index.log.versions import LiveFiles, Recorded, difference, to_text
from metaindex.index.open_index import OpenIndex
from metaindex.index.store.layout import new_run_id
from metaindex.index.store.reader import StoreCache
from metaindex.index.store.writer import RunSink
from metaindex.storage import both_at, each_at

logger = logging.getLogger("metaindex")

Mode = Literal["incremental", "quick", "full", "identity"]


@dataclass(slots=True)
class Refresh(Create):
    """Refreshes an index as `mode` says; built like `Create`. `options`: of the reader, which the index keeps from then
    on; None keeps those that it has."""

    operation = Operation.REFRESH
    rebases = True

    mode: Mode = "incremental"
    cache: StoreCache = field(default_factory=StoreCache)
    written: Written | None = None
    remember: Callable[[], object] | None = None
    _ahead: _LookedAhead | None = None
    _renewed: dict[str, str] = field(default_factory=dict)  # by run, the one that may take its place

    def first_entry(self, base: IndexLogEntry | None) -> IndexLogEntry:
        entry = Action.first_entry(self, base)
        if self.mode == "identity":
            self._renewed = {run.run: new_run_id() for run in entry.content.runs}
        return replace(entry, table=replace(entry.table, options=self.options)) if self.options else entry

    def runs(self) -> tuple[str, ...]:
        return (self.sink.run, *self._renewed.values())

    def look_ahead(self, base: IndexLogEntry) -> None:
        index = OpenIndex(self.name, base, self.sink.storage, self.cache)

        def follow_() -> tuple[Seen, SnapshotDelta] | None:
            try:
                return None if self.mode == "full" else seen_from(index, self.target, listed=self.mode == "quick")
            except Exception:  # noqa: BLE001 - met again by `run`
                return None

        def kept() -> Exception | None:
            try:
                if self.remember is not None:
                    self.remember()
            except Exception as error:  # noqa: BLE001 - raised by `run`
                return error
            return None

        unkept, followed = both_at(self.sink.storage.root, kept, follow_)
        self._ahead = _LookedAhead(base.content, followed, unkept)
        if followed is not None and self.mode != "quick" and self._reads(followed[0].snapshot):
            paths = followed[0].snapshot.files.paths.take(pa.array(followed[1].fresh[:_OPENED_AHEAD])).to_pylist()
            each_at(self.target.ref.storage.root, paths, self._open)

    def _reads(self, snapshot: Snapshot) -> bool:
        """Return whether the ends of Parquet files will be read here."""
        kinds = map(KINDS.of, self.kinds)
        if self.builder.name != "local" or any(getattr(kind, "trust_log", False) for kind in kinds):
            return False
        return snapshot.details.read_options()["file_format"] == "parquet"

    def _open(self, path: str) -> None:
        with suppress(Exception), self.target.reading.storage.open_input(path):
            pass

    def run(self, begun: IndexLogEntry) -> Change:
        if self._ahead is not None and self._ahead.unkept is not None:
            raise self._ahead.unkept
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
        ahead, self._ahead = self._ahead, None
        if ahead is not None and ahead.followed is not None and ahead.content == index.entry.content:
            seen, followed = ahead.followed
        else:
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
        taken = TakenOver()
        if self.mode == "identity":
            taken = taken_over(index, self.target.reading.storage, seen.snapshot, fresh, self.progress)
            taken.rows = {run: rows for run, rows in taken.rows.items() if run in self._renewed}
            fresh = np.setdiff1d(fresh, [row for rows in taken.rows.values() for row in rows.values()])
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
            if self.mode == "incremental" and (touched := _touched(index, seen.snapshot, fresh)):
                notes += (Lacking(self.name, len(fresh), followed.files, touched).read_anew,)
        notes = (*filter(None, [another]), *taken.notes, *notes)
        runs = () if added is None else (added,)
        if taken.rows:
            return self._taken(index, seen, followed, taken, runs, order, notes)
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

    def _taken(
        self,
        index: OpenIndex,
        seen: Seen,
        followed: SnapshotDelta,
        taken: TakenOver,
        added: tuple[RunRef, ...],
        order: Ordinals,
        notes: tuple[str, ...],
    ) -> Change:
        """The change by which runs that knew files under other identities give way to ones that know them as they are
        now. `added`: the run of the files that were read, if any."""
        storage, renewed_runs, live, counts = self.sink.storage, [], {}, {}
        for run in index.entry.content.runs:
            dead = seen.live.dead.get(run.run)
            now = BitMap() if dead is None else BitMap(range(run.files)) - dead
            now = (now - followed.removed.get(run.run, BitMap())) | followed.restored.get(run.run, BitMap())
            ref, rows = run, taken.rows.get(run.run)
            if rows is not None:
                ref = renewed(index, run, seen.snapshot, rows, RunSink(storage, self._renewed[run.run]))
                renewed_runs.append(ref)
                now |= BitMap(rows)
            live[ref.run], counts[ref.run] = now, run.files
        for ref in added:
            live[ref.run], counts[ref.run] = BitMap(range(ref.files)), ref.files
        record = None
        if self.target.settled:
            out = {run: BitMap(range(counts[run])) - now for run, now in live.items() if now}
            record = followed.record(seen, added[0].run if added else None, order)
            whole = difference(LiveFiles({}), LiveFiles(out), counts)
            record = self.records.fitting(replace(record, parent=None, **whole))
        return Change((*renewed_runs, *added), frozenset(taken.rows), record, seen.snapshot.schema, notes=notes)

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
    """Files and bytes at a version that the index does not cover (every query reads them), and of files
    that it still counts and that are gone (they cost nothing). `touched_files`: see `Lacking`."""

    new_files: int = 0
    new_bytes: int = 0
    gone_files: int = 0
    gone_bytes: int = 0
    touched_files: int = 0

    @classmethod
    def of(cls, index: OpenIndex, target: Target) -> Staleness:
        """Return what `IndexFolder.staleness` promises."""
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
        touched = _touched(index, seen.snapshot, followed.fresh)
        return cls(len(followed.fresh), int(sizes.sum()), gone_files, gone_bytes, touched)


def _touched(index: OpenIndex, snapshot: Snapshot, fresh: Ordinals) -> int:
    """Count the new files that are so by inode and time of change alone; a log's files are not told by those."""
    has_log = Format.named(snapshot.format).has_log
    return 0 if has_log else index.touched(snapshot.files.take(pa.array(fresh)))


Ordinals = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _LookedAhead:
    """Answers read while the begin was written: what became of the files since the `content`, and why the version was
    not remembered."""

    content: Content
    followed: tuple[Seen, SnapshotDelta] | None
    unkept: Exception | None


_OPENED_AHEAD = 64
"""New files whose ends are read so."""


@dataclass(frozen=True, slots=True)
class Seen:
    """The table at the version asked, seen from a recorded one. `gone` is None where `snapshot` has all files."""

    base: Recorded | None
    snapshot: Snapshot
    gone: FileTable | None = None
    files: int | None = None  # that there must be, where the log says so

    @classmethod
    def of(cls, base: Recorded, changes: Changes) -> Seen:
        return cls(base, changes.touched, changes.gone, changes.files)

    @property
    def live(self) -> LiveFiles:
        return self.base.live if self.base is not None else LiveFiles({})


@dataclass(slots=True)
class SnapshotDelta:
    """Changes of the files since the base. `fresh`: rows of the snapshot that no run knows. `removed` and
    `restored`: ordinals, by run."""

    fresh: Ordinals
    removed: dict[str, BitMap]
    restored: dict[str, BitMap]
    with_deletes: dict[str, BitMap]
    without_deletes: dict[str, BitMap]
    files: int
    size_bytes: int
    listed: int  # files that only a run without statistics knows

    def record(self, seen: Seen, added: str | None, order: Ordinals) -> VersionRecord:
        """The record of the version; `added` is the run of the fresh files, `order` the row of each of its ordinals."""
        marks = dict(self.with_deletes)
        if added is not None and (new := BitMap(np.flatnonzero(_attached(seen.snapshot)[order]))):
            marks[added] = new
        snapshot = seen.snapshot
        return VersionRecord(
            version=snapshot.version,
            timestamp_ms=snapshot.timestamp_ms,
            schema=0,
            parent=seen.base.record.version if seen.base is not None else None,
            added=() if added is None else (added,),
            removed=_texts(self.removed),
            restored=_texts(self.restored),
            with_deletes=_texts(marks),
            without_deletes=_texts(self.without_deletes),
            files=self.files,
            size_bytes=self.size_bytes,
            unknown=self.listed,
            partition_columns=snapshot.partition_columns,
        )


class UnverifiedFiles(Exception):
    """Raised if the log contradicts the files of the base. `level`: the log level of the message."""

    def __init__(self, why: str, level: int = logging.WARNING) -> None:
        super().__init__(why)
        self.level = level


def follow(index: OpenIndex, seen: Seen, *, listed: bool) -> SnapshotDelta:
    """Compare the files. `listed`: runs without statistics (of a quick refresh) count as knowing their files. Raises
    Unproved, DamagedIndexError."""
    runs = [run for run in index.entry.content.runs if listed or not run.listed_only]
    snapshot, live = seen.snapshot, seen.live
    files = FileIdentities.of(snapshot)
    count = len(snapshot.files)
    home, place, was = np.full(count, -1), np.full(count, -1, np.int64), np.zeros(count, np.bool_)
    located = each_at(index.storage.root, runs if count else (), lambda run: index.locate(run, files))
    for number, (run, at) in enumerate(zip(runs if count else (), located, strict=True)):
        known = np.flatnonzero(at >= 0)
        now = _holds(live.dead, run, at[known], inverted=True)
        better = (home[known] < 0) | (now & ~was[known])  # a file that two runs know counts once, where it is live
        rows = known[better]
        home[rows], place[rows], was[rows] = number, at[rows], now[better]
    attached = _attached(snapshot)
    out = SnapshotDelta(np.flatnonzero(home < 0), {}, {}, {}, {}, 0, 0, 0)
    for number, run in enumerate(runs):
        mine = np.flatnonzero(home == number)
        if len(mine):
            marked = _holds(live.deletes, run, place[mine])
            _put(out.restored, run, place[mine[~was[mine]]])
            _put(out.with_deletes, run, place[mine[attached[mine] & ~marked]])
            _put(out.without_deletes, run, place[mine[~attached[mine] & marked]])
            out.listed += len(mine) if run.listed_only else 0
    if seen.gone is None:
        _left_snapshot(out, runs, live, home, place)
        out.files, out.size_bytes = count, snapshot.files.size_bytes
    else:
        entering = snapshot.files.table.column("size_bytes").to_numpy()[(home < 0) | ~was]
        left = _left_log(out, index, seen, files, {run.run: place[(home == n) & was] for n, run in enumerate(runs)})
        assert seen.base is not None
        out.files = seen.base.record.files + len(entering) - len(left)
        out.size_bytes = seen.base.record.size_bytes + int(entering.sum()) - int(left.sum())
        if seen.files is not None and seen.files != out.files:
            raise UnverifiedFiles(f"the log counts {seen.files} files, its changes make {out.files}")
    return out


def _left_snapshot(
    out: SnapshotDelta, runs: Sequence[RunRef], live: LiveFiles, home: Ordinals, place: Ordinals
) -> None:
    for number, run in enumerate(runs):
        if run.run in live.dead:
            before = BitMap(range(run.files)) - live.dead[run.run]
            if gone := before - BitMap(place[home == number]):
                out.removed[run.run] = gone


def _left_log(
    out: SnapshotDelta, index: OpenIndex, seen: Seen, touched: FileIdentities, stay: Mapping[str, Ordinals]
) -> npt.NDArray[np.int64]:
    """The sizes of the files that left: of each path that the log names, what was live at the base, but for the touched
    files that `stay` as they are (ordinals, by run). A file that the log takes out with deletes and that had none at
    the base (or the other way round) is not the one it means."""
    assert seen.base is not None
    assert seen.gone is not None
    gone = seen.gone
    named = pa.concat_arrays([path_ids(gone.paths), touched.ids])
    said = gone.table.column("deletes") if "deletes" in gone.table.column_names else None
    attached = None if said is None else np.asarray(said.is_valid().to_numpy(), np.bool_)
    sizes: list[npt.NDArray[np.int64]] = [np.zeros(0, np.int64)]
    for run in index.entry.content.runs if len(named) else ():
        if run.run not in seen.live.dead:
            continue
        rows, at = index.locate_paths(run, FileIdentities(run.table_uuid, named))
        live = _holds(seen.live.dead, run, at, inverted=True) & ~np.isin(at, stay.get(run.run, ()))
        rows, at = rows[live], at[live]
        if attached is not None:
            mine = rows < len(gone)
            if (_holds(seen.live.deletes, run, at[mine]) != attached[rows[mine]]).any():
                # As of a file that lost some rows first, and was rewritten then: nothing is wrong with the log.
                raise UnverifiedFiles("the log takes a file out with other deletes than it had", logging.INFO)
        left = np.unique(at)
        _put(out.removed, run, left)
        sizes.append(Vector(index.rows(run, "files", left, ["size_bytes"]).column("size_bytes")).numbers)
    return np.concatenate(sizes)


def _holds(bits: object, run: RunRef, ordinals: Ordinals, *, inverted: bool = False) -> Mask:
    """Mask of the ordinals in the run's bitmap; with `inverted`, of those not in it, and none if the run has no
    bitmap."""
    assert isinstance(bits, dict)
    held = bits.get(run.run)
    if held is None:
        return np.zeros(len(ordinals), np.bool_)
    if len(ordinals) > 1000:
        mask = np.zeros(run.files, np.bool_)
        mask[np.frombuffer(held.to_array(), np.uint32)] = True
        inside = mask[ordinals]
    else:
        inside = np.fromiter((ordinal in held for ordinal in ordinals.tolist()), np.bool_, len(ordinals))
    return ~inside if inverted else inside


def _attached(snapshot: Snapshot) -> Mask:
    """Files with deletes at the version."""
    return np.asarray(pc.is_valid(snapshot.files.table.column("deletes")).to_numpy(), np.bool_)


def _put(bits: dict[str, BitMap], run: RunRef, ordinals: Ordinals) -> None:
    if len(ordinals):
        bits[run.run] = BitMap(ordinals.astype(np.uint32))


def _texts(bits: dict[str, BitMap]) -> dict[str, str]:
    return {run: to_text(marks) for run, marks in bits.items()}


@dataclass(frozen=True, slots=True)
class Written:
    """A commit: it made `version` of `before`, and its added files hold only the writer's `rows` rows. `without_nan`:
    top-level float columns of these rows in which no value is NaN."""

    before: str
    version: str
    rows: int
    without_nan: frozenset[str]

    @classmethod
    def of(cls, before: str, version: str, data: pa.Table | pa.RecordBatch) -> Written:
        """Return the statistics of a commit of exactly these rows."""
        names = [name for name in data.column_names if data.column_names.count(name) == 1]
        clean = frozenset(name for name in names if without_nan(data.column(name)))
        return cls(before, version, data.num_rows, clean)

    def told(self, seen: Seen) -> frozenset[str]:
        """Columns without NaN in every file that is new since the base: all of `without_nan` where this commit is the
        whole way from there, else none."""
        alone = seen.base is not None and seen.base.record.version.id == self.before
        if not alone or seen.gone is None or seen.snapshot.version.id != self.version:
            return frozenset()
        counts = seen.snapshot.files.table.column("record_count")
        whole = counts.null_count == 0 and sum(counts.to_pylist()) == self.rows
        return self.without_nan if whole else frozenset()


def without_nan(values: pa.Array | pa.ChunkedArray) -> bool:
    """Return whether the column has floats and no NaN. A sum is NaN if a value is; where it is NaN for another reason
    (two infinities), the answer is False."""
    if not (pa.types.is_float32(values.type) or pa.types.is_float64(values.type)):
        return False
    total = compute("sum", values).as_py()
    return total is None or not math.isnan(total)
