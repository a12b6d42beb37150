"""Segments and bitmap objects in the ordinals of merged runs: written anew before the commit that names them."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

from metaindex.formats import Version
from metaindex.index.log.entry import Content, ObjectRef, SegmentRef, VersionRecord
from metaindex.index.log.record_codec import BITS, decode_bits, decode_segment, encode_bits, encode_segment, object_ref
from metaindex.storage import Storage

from .records import FOLDER, is_large, outside
from .renumber import Renumbering, Replacement


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
