"""Version records as an action writes them: bitmaps that are too large for an entry go into an object of their own,
older records into segments."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from metaindex.formats import Schema, Version
from metaindex.index.log.entry import Content, ObjectRef, SegmentRef, VersionRecord, version_tag
from metaindex.index.log.history import MAX_BITS, RollOver, characters, roll_over
from metaindex.index.log.record_codec import BITS, encode_bits, encode_segment, object_ref
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
