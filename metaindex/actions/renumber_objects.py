"""Segments and bitmap objects in the ordinals of merged runs: written anew before the commit that names them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from formats.storage import Storage
from metaindex.log.entry import Content, ObjectRef, SegmentRef, VersionRecord
from metaindex.log.record_codec import BITS, decode_bits, decode_segment, encode_bits, encode_segment, object_ref

from .records import FOLDER
from .renumber import Renumbering, Replacement


class ObjectWriter:
    """Writes what a replacement needs, each object once, however often the content it is for changes."""

    def __init__(self, storage: Storage, run: str, renumberings: tuple[Renumbering, ...]) -> None:
        self._storage, self._run, self._renumberings = storage, run, renumberings
        self._old = frozenset(run for one in renumberings for run in one.ordinals)
        self._segments: dict[str, SegmentRef] = {}
        self._objects: dict[str, ObjectRef] = {}

    def replacement(self, content: Content) -> Replacement:
        """The replacement, prepared for this content."""
        for segment in content.segments:
            if segment.object.path not in self._segments and not self._old.isdisjoint(segment.runs):
                self._segments[segment.object.path] = self._segment(segment)
        for record in content.versions:
            self._prepare(record)
        return Replacement(self._renumberings, dict(self._segments), dict(self._objects))

    def _prepare(self, record: VersionRecord) -> None:
        if record.bits is None or record.bits.path in self._objects:
            return
        bits: Any = decode_bits(self._storage.read(record.bits.path), record.bits)
        if self._old.isdisjoint({*record.added, *(run for name in BITS for run in bits[name])}):
            self._objects[record.bits.path] = record.bits
            return
        added = record.added
        for one in self._renumberings:
            added, bits = one.bits(added, bits, is_root=False)
        self._objects[record.bits.path] = self._put(
            f"bits{len(self._objects)}", encode_bits(replace(record, bits=None, **bits))
        )

    def _segment(self, ref: SegmentRef) -> SegmentRef:
        segment = decode_segment(self._storage.read(ref.object.path), ref.object)
        for record in segment.versions:
            self._prepare(record)
        change = Replacement(self._renumberings, {}, self._objects)
        records = [change.record(record) for record in segment.versions]
        runs = {run for run in ref.runs if run not in self._old}
        runs |= {one.run.run for one in self._renumberings if not one.ordinals.keys().isdisjoint(ref.runs)}
        data = encode_segment(records, segment.schemas)
        return SegmentRef(self._put(f"segment{len(self._segments)}", data), ref.tags, tuple(sorted(runs)))

    def _put(self, name: str, data: bytes) -> ObjectRef:
        path = f"{FOLDER}/{self._run}/{name}.json"
        self._storage.put(path, data)
        return object_ref(path, data)
