"""The difference that an action makes, and how it is applied to whatever content is latest at its commit.

Runs are added, dropped, or replaced by one that holds the same files under other ordinals; a version is recorded. A
difference that speaks of runs or versions that others took away meanwhile is `Overtaken`: the action computes it anew,
or has lost the race.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from pyroaring import BitMap

from metaindex.formats import Schema, Version
from metaindex.index.log.entry import Content, ObjectRef, RunRef, SegmentRef, VersionRecord
from metaindex.index.log.history import RollOver, may_hold, rolled_over, with_record, without_runs
from metaindex.index.log.record_codec import BITS
from metaindex.index.log.versions import from_text, to_text


@dataclass(frozen=True, slots=True)
class Change:
    """The difference that an action makes. In this order: runs dropped, replaced, added, a version recorded, older
    versions moved out of the entry."""

    add_runs: tuple[RunRef, ...] = ()
    drop_runs: frozenset[str] = frozenset()
    record: VersionRecord | None = None  # its `schema` is taken from here
    schema: Schema | None = None
    roll_over: RollOver | None = None
    replacement: Replacement | None = None
    history: tuple[tuple[VersionRecord, ...], tuple[Schema, ...]] | None = None  # all recorded versions from now on
    empty: bool = False  # nothing of the content is left
    notes: tuple[str, ...] = field(default=())


def merged(content: Content, change: Change, base: Content) -> Content:
    """The content with the change, which was computed on `base`. Overtaken where it cannot be applied to this
    content."""
    if change.empty:
        return Content()
    if change.record is not None and not change.drop_runs and change.history is None:
        held = content.record(change.record.version)
        if held is not None and (not held.unknown or change.record.unknown):
            return content  # somebody indexed the same version meanwhile: a file indexed twice counts once
    same = (content.versions, content.segments, content.runs) == (base.versions, base.segments, base.runs)
    if change.history is not None and not same:
        raise Overtaken("the index has changed since")
    if change.drop_runs:
        _need(content, change.drop_runs)
        content = without_runs(content, change.drop_runs)
    if change.history is not None:
        content = replace(content, versions=(), segments=(), schemas=())
    if change.replacement is not None:
        content = with_replacement(content, change.replacement)
    if change.history is not None:
        for older, schema in zip(*change.history, strict=True):
            content = with_record(content, older, schema)
    content = replace(content, runs=content.runs + change.add_runs)
    record = change.record
    if record is not None and change.schema is not None:
        if record.parent is not None and not may_hold(content, record.parent):
            raise Overtaken(f"version {record.parent}, on which it builds, is not recorded any more")
        _need(
            content, {*record.added, *record.removed, *record.restored, *record.with_deletes, *record.without_deletes}
        )
        if record.bits is not None:  # which runs it names is not said in it
            _need(content, (run.run for run in base.runs))
        content = with_record(content, record, change.schema)
    if change.roll_over is not None and {run.run for run in base.runs} <= {run.run for run in content.runs}:
        content = rolled_over(content, change.roll_over)
    return content


def _need(content: Content, runs: Iterable[str]) -> None:
    if gone := set(runs) - {run.run for run in content.runs}:
        raise Overtaken(f"{len(gone)} runs, on which it builds, are not there any more")


Ordinals = npt.NDArray[np.int32]
_Bits = Mapping[str, Mapping[str, str]]


class Overtaken(Exception):
    """The change speaks of runs or versions that another writer took away, or added to, since it was computed."""


@dataclass(frozen=True, slots=True)
class Renumbering:
    """The new ordinal of each file of each old run (-1: the file is in no run any more), in one new run."""

    run: RunRef
    ordinals: Mapping[str, Ordinals]

    def bits(self, added: tuple[str, ...], bits: _Bits, *, is_root: bool) -> tuple[tuple[str, ...], dict[str, Any]]:
        """`added` and the four bitmaps of a record. What the record does to a file is done to its new ordinal; where
        the file is in two old runs, being live wins."""
        old: dict[str, dict[str, BitMap]] = {
            name: {run: from_text(text) for run, text in bits[name].items() if run in self.ordinals} for name in BITS
        }
        out = {name: {run: text for run, text in bits[name].items() if run not in self.ordinals} for name in BITS}
        live, dead, marked, unmarked = BitMap(), BitMap(), BitMap(), BitMap()
        said = {*added, *(run for runs in old.values() for run in runs)}
        for run, ordinals in self.ordinals.items():
            if run not in said:
                continue
            removed, restored = (old[name].get(run, BitMap()) for name in ("removed", "restored"))
            came = BitMap(range(len(ordinals))) - removed if run in added else BitMap()
            live |= self.moved(ordinals, came | restored)
            dead |= self.moved(ordinals, removed - restored)
            marked |= self.moved(ordinals, old["with_deletes"].get(run, BitMap()))
            unmarked |= self.moved(ordinals, old["without_deletes"].get(run, BitMap()))
        kept = tuple(run for run in added if run not in self.ordinals)
        # A root may name the run and those of its files that are not live, or those that are: the fewer.
        by_run = is_root and bool(live) and 2 * len(live) >= self.run.files
        gone = BitMap(range(self.run.files)) - live if by_run else BitMap() if is_root else dead - live
        new = {
            "removed": gone,
            "restored": BitMap() if by_run else live,
            "with_deletes": marked,
            "without_deletes": unmarked - marked,
        }
        for name, moved in new.items():
            if moved:
                out[name][self.run.run] = to_text(moved)
        return ((*kept, self.run.run) if by_run else kept), out

    def record(self, record: VersionRecord) -> VersionRecord:
        """A record whose bitmaps are inside it."""
        bits: dict[str, Any] = {name: getattr(record, name) for name in BITS}
        added, changed = self.bits(record.added, bits, is_root=record.parent is None)
        return replace(record, added=added, **changed)

    @staticmethod
    def moved(ordinals: Ordinals, bits: BitMap) -> BitMap:
        if not bits:
            return BitMap()
        places = ordinals[np.frombuffer(bits.to_array(), np.uint32)]
        return BitMap(places[places >= 0])


@dataclass(frozen=True, slots=True)
class Replacement:
    """Renumberings, and the objects that were written for them: by the path of the segment, of the bitmaps, that they
    take the place of; by the version for a record."""

    renumberings: tuple[Renumbering, ...]
    segments: Mapping[str, SegmentRef] = field(default_factory=dict)
    objects: Mapping[str, ObjectRef] = field(default_factory=dict)
    large: Mapping[Version, tuple[VersionRecord, VersionRecord]] = field(default_factory=dict)
    """Records whose bitmaps grow too large for an entry, as they were and as they are to be: their bitmaps are in
    objects by now."""

    @property
    def old(self) -> frozenset[str]:
        return frozenset(run for renumbering in self.renumberings for run in renumbering.ordinals)

    def record(self, record: VersionRecord) -> VersionRecord:
        """Return a record in the new ordinals. Overtaken if its bitmaps are in an object not renumbered."""
        if record.bits is not None:
            if record.bits.path not in self.objects:
                raise Overtaken("a version was recorded meanwhile")
            record = replace(record, bits=self.objects[record.bits.path])
            # `added` may name old runs only where the object says the rest: it was written to fit.
            return replace(record, added=tuple(run for run in record.added if run not in self.old))
        before, after = self.large.get(record.version, (None, record))
        if before == record:
            return after
        for renumbering in self.renumberings:
            record = renumbering.record(record)
        return record


def with_replacement(content: Content, change: Replacement) -> Content:
    """The content with the new runs in the places of the old ones. Overtaken where it does not fit this content."""
    old = change.old
    if not old <= {run.run for run in content.runs}:
        raise Overtaken("runs that were merged are not there any more")
    runs = list(content.runs)
    for renumbering in change.renumberings:
        at = next(i for i, run in enumerate(runs) if run.run in renumbering.ordinals)
        runs[at] = renumbering.run
    segments = []
    for segment in content.segments:
        if old.isdisjoint(segment.runs):
            segments.append(segment)
        elif segment.object.path in change.segments:
            segments.append(change.segments[segment.object.path])
        else:
            raise Overtaken("older versions were moved meanwhile")
    return replace(
        content,
        runs=tuple(run for run in runs if run.run not in old),
        versions=tuple(change.record(record) for record in content.versions),
        segments=tuple(segments),
    )
