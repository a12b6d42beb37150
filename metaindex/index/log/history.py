"""Changes to the recorded versions of an entry: recorded, dropped with their runs, moved into segments. Functions of a
content, so that a commit applies them to whatever is latest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from metaindex.core import ConcurrentWriteError
from metaindex.formats import Schema, Version

from .entry import Content, SegmentRef, VersionRecord
from .record_codec import BITS

MAX_INLINE = 48
"""Records in an entry before the older ones are moved out."""

KEPT_INLINE = 16
"""Records that stay in the entry then."""

MAX_INLINE_BITS = 24 * 1024
"""Characters of bitmaps that the records of an entry may have together before the older ones are moved out, however few
they are. Half of it stays."""

MAX_SEGMENTS = 64
"""Segments that an entry names. Of records with small bitmaps MAX_VERSIONS need half as many."""

MAX_VERSIONS = 1024
"""Recorded versions of an index: beyond, the oldest segments are dropped. A version that is not recorded is merely
answered through the table's log."""

MAX_BITS = 4096
"""Characters of bitmaps that a record may have inside an entry: larger ones are in an object of their own."""


@dataclass(frozen=True, slots=True)
class RollOver:
    """Older records move into a segment. `rooted`: records that stay and whose parent moves, as records without one.
    `dropped`: paths of segments beyond MAX_VERSIONS."""

    segment: SegmentRef
    moved: tuple[VersionRecord, ...]
    rooted: tuple[VersionRecord, ...]
    dropped: frozenset[str] = frozenset()


def with_record(content: Content, record: VersionRecord, schema: Schema) -> Content:
    """The content with one more recorded version. ConcurrentWriteError where another writer took out the version that
    it builds on."""
    if record.parent is not None and not may_hold(content, record.parent):
        raise ConcurrentWriteError(
            f"a refresh builds on a recorded version; {record.parent} was taken out by another writer; refresh again"
        )
    schemas = content.schemas if schema in content.schemas else (*content.schemas, schema)
    others = tuple(v for v in content.versions if v.version != record.version)
    return replace(content, versions=(*others, replace(record, schema=schemas.index(schema))), schemas=schemas)


def may_hold(content: Content, version: Version) -> bool:
    """Return whether the version is recorded in the entry, or may be in a segment."""
    return content.record(version) is not None or any(s.may_hold(version) for s in content.segments)


def without_runs(content: Content, runs: frozenset[str]) -> Content:
    """The content without these runs, and without the versions that need one of them."""
    kept = tuple(r for r in content.runs if r.run not in runs)
    live = {r.run for r in kept}
    versions: list[VersionRecord] = []
    sound: set[Version] = set()
    for record in content.versions:  # parents come first
        names = {*record.added, *record.removed, *record.restored}
        if names <= live and (record.parent is None or record.parent in sound) and record.bits is None:
            versions.append(record)
            sound.add(record.version)
    segments = tuple(s for s in content.segments if runs.isdisjoint(s.runs))
    return _tidy(replace(content, runs=kept, versions=tuple(versions), segments=segments))


def rolled_over(content: Content, roll: RollOver) -> Content:
    """Return the content with records moved out; unchanged if another writer changed what the roll-over was made from
    (the next one will do it)."""
    moved = {r.version for r in roll.moved}
    rooted = {r.version: r for r in roll.rooted}
    held = {r.version: r for r in content.versions}
    known = {s.object.path for s in content.segments}
    untouched = (
        all(held.get(r.version) == r for r in roll.moved) and roll.dropped <= known and rooted.keys() <= held.keys()
    )
    followed = any(r.parent in moved and r.version not in moved | rooted.keys() for r in content.versions)
    if not untouched or followed:
        return content
    versions = tuple(
        replace(rooted.get(r.version, r), schema=r.schema) for r in content.versions if r.version not in moved
    )
    segments = tuple(s for s in content.segments if s.object.path not in roll.dropped)
    return _tidy(replace(content, versions=versions, segments=(*segments, roll.segment)))


def _tidy(content: Content) -> Content:
    """Drop schemas that no record in the entry names."""
    used = sorted({r.schema for r in content.versions})
    place = {old: new for new, old in enumerate(used)}
    return replace(
        content,
        schemas=tuple(content.schemas[old] for old in used),
        versions=tuple(replace(r, schema=place[r.schema]) for r in content.versions),
    )


def roll_over(
    versions: Sequence[VersionRecord],
    content: Content,
    root: Callable[[Version], VersionRecord],
    write_segment: Callable[[Sequence[VersionRecord], Sequence[Schema]], SegmentRef],
) -> RollOver | None:
    """The roll-over that the content is due for, or None. `root` gives the record of a version without a parent,
    `write_segment` writes the object of a segment."""
    if len(versions) < MAX_INLINE and (len(versions) < 2 or sum(map(characters, versions)) < MAX_INLINE_BITS):
        return None
    stay = _how_many_stay(versions)
    moved, kept = versions[:-stay], versions[-stay:]
    gone = {r.version for r in moved}
    inside = {r.version: r for r in moved}
    # A segment needs nothing outside itself: who has a parent elsewhere gets all its files said.
    whole = [root(r.version) if r.parent is not None and r.parent not in inside else r for r in moved]
    segment = write_segment(whole, content.schemas)
    segments = list(content.segments)
    count = len(kept) + segment.count + sum(s.count for s in segments)
    dropped = []
    while segments and (count > MAX_VERSIONS or len(segments) >= MAX_SEGMENTS):
        oldest = segments.pop(0)
        count -= oldest.count
        dropped.append(oldest.object.path)
    rooted = tuple(root(r.version) for r in kept if r.parent is not None and r.parent in gone)
    return RollOver(segment, tuple(moved), rooted, frozenset(dropped))


def _how_many_stay(versions: Sequence[VersionRecord]) -> int:
    """The newest records that an entry keeps: one at least, and not all of them."""
    stay, held = 1, characters(versions[-1])
    for record in reversed(versions[-min(KEPT_INLINE, len(versions) - 1) : -1]):
        held += characters(record)
        if held > MAX_INLINE_BITS // 2:
            break
        stay += 1
    return stay


def characters(record: VersionRecord) -> int:
    """Return the size of a record's bitmaps in an entry."""
    return sum(len(text) for name in BITS for text in getattr(record, name).values())
