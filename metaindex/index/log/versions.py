"""The recorded versions of an index: which of its runs' files are live at each, and which of those have deletes.

A version is the chain of records from one without a parent down to its own, applied in that order (docs/decisions/0003
and 0006). The newest records are in the entry; older ones are in segments, of which one is read when a version in it is
asked.
"""

from __future__ import annotations

import base64
import logging
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from functools import cached_property
from typing import Any

import numpy as np
from pyroaring import BitMap

from metaindex.core import DamagedIndexError, Mask, dataclass
from metaindex.formats import Schema, Version

from .entry import Content, ObjectRef, RunRef, SegmentRef, VersionRecord
from .record_codec import BITS, Segment, decode_bits, decode_segment
from .schema_codec import schema_from_json, schema_to_json

logger = logging.getLogger("metaindex")

ReadObject = Callable[[ObjectRef], bytes]
_Bits = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class LiveFiles:
    """Files of every run with live files at a version: those that are dead, and those that have deletes. Runs missing
    in `dead` have no live files."""

    dead: Mapping[str, BitMap]
    deletes: Mapping[str, BitMap] = field(default_factory=dict)

    def mask(self, run: RunRef) -> Mask:
        """True for each file of the run that is live."""
        dead = self.dead.get(run.run)
        return np.zeros(run.files, np.bool_) if dead is None else ~_mask(dead, run.files)

    def with_deletes(self, run: RunRef) -> Mask:
        """True for each file of the run that has deletes, live or not."""
        return _mask(self.deletes.get(run.run, BitMap()), run.files)


@dataclass(frozen=True, slots=True)
class Recorded:
    """A recorded version: its record, the schema that it is read with, its files."""

    record: VersionRecord
    schema: Schema
    live: LiveFiles

    def other_columns(self, own: Schema) -> str:
        """Describe how the recorded columns differ from the table's; empty if they do not."""
        own = schema_from_json(schema_to_json(own))  # as it would have been recorded
        known = {own_field.name: own_field for own_field in own}
        for column in self.schema:
            if column.name not in known:
                return f"a column {column.name!r}, which the table has not"
            if column != known[column.name]:
                type_ = known[column.name].type
                told = type_ if type_ != column.type else f"another {type_}"
                return f"column {column.name!r} as {column.type}, which in the table is {told}"
        missing = known.keys() - {column_.name for column_ in self.schema}
        return f"no column {min(missing)!r}, which the table has" if missing else ""


class Versions:
    """The recorded versions of one entry. `read` gives the bytes of an object that the entry names; `cache` keeps what
    is decoded, by the object's path."""

    def __init__(self, content: Content, read: ReadObject, cache: dict[tuple[str, str], object] | None = None) -> None:
        self._content = content
        self._read = read
        self._cache: dict[tuple[str, str], object] = {} if cache is None else cache
        self._found: dict[Version, Recorded | None] = {}

    def find(self, version: Version) -> Recorded | None:
        """Exactly this version, or None: not recorded, or what records it is damaged (which is logged: the version's
        files are then asked of the table)."""
        if version not in self._found:
            try:
                self._found[version] = self.resolve(version)
            except Exception as error:  # noqa: BLE001 - whatever is stored: the table is asked then
                logger.warning("version %s counts as not recorded: %s", version, error)
                self._found[version] = None
        return self._found[version]

    def resolve(self, version: Version) -> Recorded | None:
        """Like `find`, but raises DamagedIndexError if what records the version is damaged."""
        first = self._record(version)
        if first is None:
            return None
        chain = [first[0]]
        seen = {version}
        while (above := chain[-1].parent) is not None:
            parent = self._record(above)
            if parent is None or above in seen:
                raise DamagedIndexError.for_repair(
                    f"a recorded version names a recorded parent; version {chain[-1].version} does not"
                )
            seen.add(above)
            chain.append(parent[0])
        return Recorded(*first, self._live(chain))

    def newest(self) -> VersionRecord | None:
        """The record that was made last."""
        return self._content.versions[-1] if self._content.versions else None

    def all(self) -> list[tuple[VersionRecord, Schema]]:
        """Every recorded version, in the order of recording. Reads all segments; DamagedIndexError."""
        older = [(r, s.schemas[r.schema]) for s in map(self._segment, self._content.segments) for r in s.versions]
        return older + [(r, self._content.schemas[r.schema]) for r in self._content.versions]

    @cached_property
    def _inline(self) -> dict[Version, VersionRecord]:
        return {r.version: r for r in self._content.versions}

    def _record(self, version: Version) -> tuple[VersionRecord, Schema] | None:
        held = self._inline.get(version)
        if held is not None:
            return held, self._content.schemas[held.schema]
        for ref in reversed(self._content.segments):
            if ref.may_hold(version):
                segment = self._segment(ref)
                for record in segment.versions:
                    if record.version == version:
                        return record, segment.schemas[record.schema]
        return None

    def _segment(self, ref: SegmentRef) -> Segment:
        key = (ref.object.path, "segment")
        segment = self._cache.get(key)
        if segment is None:
            segment = self._cache[key] = decode_segment(self._read(ref.object), ref.object)
        assert isinstance(segment, Segment)
        return segment

    def _bits(self, record: VersionRecord) -> _Bits:
        if record.bits is None:
            return {name: getattr(record, name) for name in BITS}
        key = (record.bits.path, "bits")
        bits = self._cache.get(key)
        if bits is None:
            bits = self._cache[key] = decode_bits(self._read(record.bits), record.bits)
        assert isinstance(bits, dict)
        return bits

    def _live(self, chain: list[VersionRecord]) -> LiveFiles:
        known = {run.run: run.files for run in self._content.runs}
        dead: dict[str, BitMap] = {}
        deletes: dict[str, BitMap] = {}
        for link in reversed(chain):
            bits = self._bits(link)
            for run in link.added:
                dead.setdefault(run, BitMap())
            for run, text in bits["removed"].items():
                if run in dead:
                    dead[run] |= from_text(text)
            for run, text in bits["restored"].items():
                if run not in dead:
                    dead[run] = BitMap(range(known.get(run, 0)))
                dead[run] -= from_text(text)
            for run, text in bits["with_deletes"].items():
                deletes[run] = deletes.get(run, BitMap()) | from_text(text)
            for run, text in bits["without_deletes"].items():
                deletes[run] = deletes.get(run, BitMap()) - from_text(text)
        if not dead.keys() <= known.keys():
            raise DamagedIndexError.for_repair("a recorded version names runs of its index; one does not")
        for run, named in (*dead.items(), *deletes.items()):
            if named and run in known and named.max() >= known[run]:
                raise DamagedIndexError.for_repair(
                    f"a recorded version names files of its runs; one names file {named.max():,} of {known[run]:,}"
                )
        return LiveFiles(dead, deletes)


def difference(before: LiveFiles, now: LiveFiles, runs: Mapping[str, int]) -> dict[str, Any]:
    """The fields of a record by which the files of `now` follow from those of `before`. `runs`: how many files each run
    has."""
    added: list[str] = []
    changed: dict[str, dict[str, str]] = {name: {} for name in BITS}
    for run, count in runs.items():
        dead = now.dead.get(run)
        was = before.dead.get(run)
        if was is None and dead is not None and not dead:
            added.append(run)
        else:
            everything = BitMap(range(count))
            live_then = everything - was if was is not None else BitMap()
            live_now = everything - dead if dead is not None else BitMap()
            _put(changed["removed"], run, live_then - live_now)
            _put(changed["restored"], run, live_now - live_then)
        marked, marks = before.deletes.get(run, BitMap()), now.deletes.get(run, BitMap())
        _put(changed["with_deletes"], run, marks - marked)
        _put(changed["without_deletes"], run, marked - marks)
    return {"added": tuple(added), **changed}


def _put(changed: dict[str, str], run: str, bits: BitMap) -> None:
    if bits:
        changed[run] = to_text(bits)


def rooted(recorded: Recorded) -> VersionRecord:
    """The record of the same version that needs no parent: all its files at once."""
    live = recorded.live
    return replace(
        recorded.record,
        parent=None,
        added=tuple(live.dead),
        removed={run: to_text(bits) for run, bits in live.dead.items() if bits},
        restored={},
        with_deletes={run: to_text(bits) for run, bits in live.deletes.items() if bits and run in live.dead},
        without_deletes={},
        bits=None,
    )


def to_text(bits: BitMap) -> str:
    """A bitmap as a record holds it. The files of a partition are one range of ordinals: as a run it takes some
    bytes."""
    packed = BitMap(bits)
    packed.run_optimize()
    return base64.b64encode(packed.serialize()).decode()


def from_text(text: str) -> BitMap:
    """DamagedIndexError where it is no bitmap."""
    try:
        return BitMap.deserialize(base64.b64decode(text, validate=True))
    except (ValueError, TypeError, IndexError) as error:  # nothing at all is the last
        raise DamagedIndexError.for_repair(
            f"a recorded version has portable roaring bitmaps in base64; one is none ({error})"
        ) from error


def _mask(bits: BitMap, count: int) -> Mask:
    out = np.zeros(count, np.bool_)
    if bits:
        out[np.frombuffer(bits.to_array(), np.uint32)] = True
    return out
