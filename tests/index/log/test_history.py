"""The entry stays small, however many versions were recorded."""

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa
import pytest
from pyroaring import BitMap

from metaindex.formats import Field, Schema, Version
from metaindex.index.actions.records import outside
from metaindex.index.keys import column_id
from metaindex.index.log import codec
from metaindex.index.log.entry import (
    Content,
    CoveredColumn,
    IndexLogEntry,
    KindSpec,
    ObjectRef,
    RunRef,
    SegmentRef,
    TableInfo,
    VersionRecord,
    version_tag,
)
from metaindex.index.log.history import MAX_BITS, MAX_VERSIONS, characters, roll_over, rolled_over, with_record
from metaindex.index.log.record_codec import encode_bits, encode_segment, object_ref
from metaindex.index.log.states import State
from metaindex.index.log.versions import Versions, rooted, to_text

SCHEMA = Schema(tuple(Field(f"column_{i:02d}", pa.string()) for i in range(50)))
COLUMNS = tuple(CoveredColumn(f.name, column_id(f.name), f.name, "string") for f in SCHEMA)


def version(number: int) -> Version:
    return Version("", str(number), f"{number:016x}")


def run(number: int) -> RunRef:
    return RunRef(f"{number:016x}", 1000, 10, 10**6, 2000, "0" * 32, "0" * 32, COLUMNS, 1_700_000_000_000, "local")


@pytest.mark.parametrize(("commits", "removed"), [(1500, 2), (1500, 1400)])
@pytest.mark.slow
def test_an_entry_stays_small_over_many_versions(commits: int, removed: int) -> None:
    """Commits that take out many files that lie apart have bitmaps of 3 to 4 KB each, just below what a record may
    hold."""
    objects: dict[str, bytes] = {}

    def write(records: Sequence[VersionRecord], schemas: Sequence[Schema]) -> SegmentRef:
        data = encode_segment(records, schemas)
        path = f"_versions/{len(objects):016x}/segment-00000.json"
        objects[path] = data
        return SegmentRef(object_ref(path, data), "".join(version_tag(r.version) for r in records), (runs[0].run,))

    def read(ref: ObjectRef) -> bytes:
        return objects[ref.path]

    def root(one: Version) -> VersionRecord:
        found = Versions(content, read).resolve(one)
        assert found is not None
        record = rooted(found)
        if characters(record) <= MAX_BITS:
            return record
        path, data = f"_versions/{len(objects):016x}/bits-00000.json", encode_bits(record)
        objects[path] = data
        return outside(record, object_ref(path, data))

    of_run = 2 * removed * commits // 20
    runs = [replace(run(i), files=of_run) for i in range(20)]
    content = with_record(
        Content(tuple(runs)),
        VersionRecord(version(0), 0, 0, None, tuple(r.run for r in runs), files=20 * of_run),
        SCHEMA,
    )
    largest = 0
    for number in range(1, commits):
        gone = BitMap(range(number // 20, removed * (commits // 20), commits // 20))
        assert len(gone) == removed
        record = VersionRecord(
            version(number),
            number,
            0,
            version(number - 1),
            (),
            {runs[number % 20].run: to_text(gone)},
            files=20 * of_run - removed * number,
        )
        moved = roll_over(content.versions, content, root, write)
        content = with_record(content, record, SCHEMA)
        if moved is not None:
            content = rolled_over(content, moved)
        entry = IndexLogEntry(
            number,
            "stats",
            "u" * 32,
            "n",
            State.ACTIVE,
            TableInfo("/lake/t", "delta"),
            (KindSpec("column_stats", 1),),
            content,
        )
        if number % 7 == 0:
            largest = max(largest, len(codec.encode(entry)))
    assert largest < 64 * 1024
    held = len(content.versions) + sum(s.count for s in content.segments)
    assert (MAX_VERSIONS - 100 if removed < 100 else 300) <= held <= MAX_VERSIONS + 48
    recorded = Versions(content, read)
    for back in (1, 20, 100, 300, 700):
        if back < held:
            found = recorded.resolve(version(commits - back))
            assert sum(r.files - len(found.live.dead[r.run]) for r in runs) == found.record.files
    assert recorded.resolve(version(3)) is None


def test_a_roll_over_that_others_overtook_changes_nothing() -> None:
    chain = [VersionRecord(version(n), n, 0, version(n - 1) if n else None, ()) for n in range(60)]
    content = Content((), tuple(chain), (SCHEMA,))

    def write(records: Sequence[VersionRecord], schemas: Sequence[Schema]) -> SegmentRef:
        return SegmentRef(ObjectRef("x", 1, ""), "".join(version_tag(r.version) for r in records), ())

    moved = roll_over(content.versions, content, lambda v: replace(chain[int(v.id)], parent=None), write)
    assert moved is not None
    late = replace(content, versions=(*chain, VersionRecord(version(99), 0, 0, version(3), ())))
    assert len(rolled_over(content, moved).versions) == 16
    assert rolled_over(late, moved) == late  # a record came that stands on one that would move
    assert rolled_over(replace(content, versions=tuple(chain[5:])), moved).segments == ()
