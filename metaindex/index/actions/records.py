"""Version records as an action writes them: bitmaps that are too large for an entry go into an object of their own,
older records into segments."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from metaindex.formats import Schema, Version
from metaindex.index.actions.change import Renumbering, Replacement
from metaindex.index.log.entry import Content, ObjectRef, SegmentRef, VersionRecord, version_tag
from metaindex.index.log.history import MAX_BITS, RollOver, characters, roll_over
from metaindex.index.log.record_codec import BITS, decode_bits, decode_segment, encode_bits, encode_segment, object_ref
from metaindex.index.log.versions import Versions, rooted
from metaindex.storage import Storage

FOLDER = "_versions"


@dataclass(slots=True)
class RecordWriter:
    """Writes the version objects of one action into a folder of their own, `_versions/<run>/`: what no entry names
    there is garbage, as with the run itself."""

    storage: Storage
    run: str
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    def fitting(self, record: VersionRecord) -> VersionRecord:
        """The record as an entry can hold it."""
        return outside(record, self._put("bits", encode_bits(record))) if is_large(record) else record

    def rolled_over(self, content: Content, versions: Versions) -> RollOver | None:
        """The roll-over that the content is due for, its objects written; or None."""

        def root(version: Version) -> VersionRecord:
            recorded = versions.resolve(version)
            assert recorded is not None  # it is one of the content's
            return self.fitting(rooted(recorded))

        def segment(records: Sequence[VersionRecord], schemas: Sequence[Schema]) -> SegmentRef:
            runs = dict.fromkeys(
                run for r in records if (recorded := versions.resolve(r.version)) for run in recorded.live.dead
            )
            tags = "".join(version_tag(r.version) for r in records)
            return SegmentRef(self._put("segment", encode_segment(records, schemas)), tags, tuple(runs))

        return roll_over(content.versions, content, root, segment)

    def _put(self, what: str, data: bytes) -> ObjectRef:
        path = f"{FOLDER}/{self.run}/{what}-{next(self._numbers):05d}.json"
        self.storage.put(path, data)
        return object_ref(path, data)


def is_large(record: VersionRecord) -> bool:
    """Return whether its bitmaps are too large for an entry."""
    return characters(record) > MAX_BITS


def outside(record: VersionRecord, bits: ObjectRef) -> VersionRecord:
    """The record, its bitmaps in an object of their own."""
    empty: dict[str, dict[str, str]] = {name: {} for name in BITS}
    return replace(record, bits=bits, **empty)  # type: ignore[arg-type]


class ObjectWriter:
    """Writes what a replacement needs, each object once, however often the content it is for changes."""

    def __init__(self, storage: Storage, run: str, renumberings: tuple[Renumbering, ...]) -> None:
        self._storage, self._run, self._renumberings = storage, run, renumberings
        self._old = frozenset(run for renumbering in renumberings for run in renumbering.ordinals)
        self._segments: dict[str, SegmentRef] = {}
        self._objects: dict[str, ObjectRef] = {}
        self._large: dict[Version, tuple[VersionRecord, VersionRecord]] = {}
        self._numbers = itertools.count()

    def replacement(self, content: Content) -> Replacement:
        """The replacement, prepared for this content."""
        for segment in content.segments:
            if segment.object.path not in self._segments and not self._old.isdisjoint(segment.runs):
                self._segments[segment.object.path] = self._segment(segment)
        for record in content.versions:
            self._prepare(record)
        return self._so_far()

    def _so_far(self) -> Replacement:
        return Replacement(self._renumberings, dict(self._segments), dict(self._objects), dict(self._large))

    def _prepare(self, record: VersionRecord) -> None:
        if record.bits is None:
            self._prepare_inside(record)
            return
        if record.bits.path in self._objects:
            return
        bits: Any = decode_bits(self._storage.read(record.bits.path), record.bits)
        if self._old.isdisjoint({*record.added, *(run for name in BITS for run in bits[name])}):
            self._objects[record.bits.path] = record.bits
            return
        added = record.added
        for renumbering in self._renumberings:
            added, bits = renumbering.bits(added, bits, is_root=False)
        self._objects[record.bits.path] = self._put("bits", encode_bits(replace(record, bits=None, **bits)))

    def _prepare_inside(self, record: VersionRecord) -> None:
        """The files that a run had at a version are scattered over the merged one: bitmaps that were small may not fit
        an entry any more."""
        if record.version in self._large and self._large[record.version][0] == record:
            return
        renumbered = record
        for renumbering in self._renumberings:
            renumbered = renumbering.record(renumbered)
        if is_large(renumbered) and renumbered != record:
            self._large[record.version] = record, outside(renumbered, self._put("bits", encode_bits(renumbered)))

    def _segment(self, ref: SegmentRef) -> SegmentRef:
        segment = decode_segment(self._storage.read(ref.object.path), ref.object)
        for record in segment.versions:
            self._prepare(record)
        change = self._so_far()
        records = [change.record(record) for record in segment.versions]
        runs = {run for run in ref.runs if run not in self._old}
        runs |= {
            renumbering.run.run
            for renumbering in self._renumberings
            if not renumbering.ordinals.keys().isdisjoint(ref.runs)
        }
        data = encode_segment(records, segment.schemas)
        return SegmentRef(self._put("segment", data), ref.tags, tuple(sorted(runs)))

    def _put(self, name: str, data: bytes) -> ObjectRef:
        path = f"{FOLDER}/{self._run}/{name}{next(self._numbers)}.json"
        self._storage.put(path, data)
        return object_ref(path, data)
