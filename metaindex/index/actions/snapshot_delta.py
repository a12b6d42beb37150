"""Compares the files of a recorded version with those of another: which are known, new, or gone.

Two ways to see the table, one way through them:

    changes    the log names the files that something happened to; those that left are found by their paths
    snapshot   all files are there; what was live at the base and is not among them left

Everything is sets of ordinals inside runs, so that a commit can be replayed on whatever content is latest.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyroaring import BitMap

from metaindex.core import Vector
from metaindex.formats import Changes, FileTable, Snapshot
from metaindex.index.keys import FileIdentities, path_ids
from metaindex.index.log.entry import RunRef, VersionRecord
from metaindex.index.log.versions import LiveFiles, Recorded, to_text
from metaindex.index.open_index import OpenIndex

Mask = npt.NDArray[np.bool_]
Ordinals = npt.NDArray[np.int64]


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
    for number, run in enumerate(runs if count else ()):
        at = index.locate(run, files)
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
