"""Changes from commits: with the base's files they make the target's, between any two snapshots of real histories; what
commits cannot say is left to snapshots."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from metaindex.formats.diff import Changes
from metaindex.formats.format import At, TableRef
from metaindex.formats.iceberg.table import IcebergFormat
from metaindex.formats.model import Base
from metaindex.storage import storage_for
from tests.formats.iceberg.handmade import HandManifest, HandTable, entry, table_ref
from tests.tables import catalog_in

ICEBERG = IcebergFormat()


def base(ref: TableRef, version: object) -> Base:
    found = ICEBERG.snapshot(ref, At(version=version))
    return Base(found.version, found.schema, found.partition_columns)


def files(rows: pa.Table) -> set[tuple[str, int]]:
    return set(zip(rows.column("path").to_pylist(), rows.column("size_bytes").to_pylist(), strict=True))


def proved(ref: TableRef, found: Changes | None, first: object, second: object) -> None:
    before, after = (ICEBERG.snapshot(ref, At(version=v)) for v in (first, second))
    assert found.base == before.version
    assert found.touched.version == after.version
    assert found.touched.schema == after.schema
    assert found.touched.partition_columns == after.partition_columns
    assert found.files == len(after.files)
    touched = found.touched.files.table
    assert (files(before.files.table) - files(found.gone.table)) | files(touched) == files(after.files.table)
    whole = {row["path"]: row for row in after.files.table.to_pylist()}
    assert all(whole[row["path"]] == row for row in touched.to_pylist())
    for leaf in found.touched.schema.leaves():
        ours, theirs = (s.details.partition_bounds(leaf) for s in (found.touched, after))
        assert (ours is None) == (theirs is None) or not len(touched)
        if len(touched) and (stated := after.details.log_bounds(leaf)) is not None:
            at = {path: row for row, path in enumerate(after.files.paths.to_pylist())}
            rows = pa.array([at[path] for path in found.touched.files.paths.to_pylist()])
            mine = found.touched.details.log_bounds(leaf)
            assert (stated.lower is None) == (mine.lower is None)
            assert stated.lower is None or mine.lower.equals(stated.lower.take(rows))


@pytest.mark.exhaustive(but="True")
@pytest.mark.slow
@pytest.mark.parametrize("partitioned", [False, True])
def test_any_two_snapshots_of_a_history(tmp_path: Path, partitioned: bool) -> None:
    catalog = catalog_in(tmp_path)
    schema = pa.schema([pa.field("id", pa.int64()), pa.field("day", pa.string())])
    table = catalog.create_table("db.lake", schema)
    if partitioned:
        with table.update_spec() as update:
            update.add_identity("day")

    def rows(start: int) -> pa.Table:
        return pa.table({"id": range(start, start + 6), "day": ["a", "b", "c"] * 2}, schema)

    steps: list[Any] = [
        lambda: table.append(rows(0)),
        lambda: table.append(rows(10)),
        lambda: table.delete("id = 3"),
        lambda: table.append(rows(20)),
        lambda: table.overwrite(rows(30), overwrite_filter="id >= 20"),
        lambda: table.delete("day = 'a'"),
        lambda: table.append(rows(40)),
    ]
    for step in steps:
        step()
    storage, root = storage_for(f"{tmp_path}/warehouse/db/lake")
    ref = TableRef(storage, root)
    ids = [one.id for one in ICEBERG.versions(ref)]
    assert len(ids) >= len(steps)
    bases = [base(ref, one) for one in ids]
    for i in range(len(ids)):
        for j in range(i, len(ids)):
            proved(ref, ICEBERG.changes(ref, [bases[i]], At(version=ids[j])), ids[i], ids[j])
            if i < j:
                assert ICEBERG.changes(ref, [bases[j]], At(version=ids[i])) is None
    nearest = ICEBERG.changes(ref, bases, At(version=ids[-2]))
    assert (nearest.base, len(nearest.touched.files), len(nearest.gone)) == (bases[-2].version, 0, 0)


@pytest.fixture
def hand(tmp_path: Path) -> HandTable:
    return HandTable(tmp_path / "t")


def test_another_branch_is_no_base(hand: HandTable) -> None:
    first = hand.commit([HandManifest([entry(hand.path("data/a"))], sequence=1, added_snapshot=1)])
    old = HandManifest([entry(hand.path("data/a"))], sequence=1, added_snapshot=1)
    second = hand.commit([old, HandManifest([entry(hand.path("data/b"))], sequence=2, added_snapshot=2)], parent=first)
    third = hand.commit([old, HandManifest([entry(hand.path("data/c"))], sequence=3, added_snapshot=3)], parent=first)
    ref = table_ref(hand.write())

    assert ICEBERG.changes(ref, [base(ref, second)], At(version=third)) is None
    proved(ref, ICEBERG.changes(ref, [base(ref, second), base(ref, first)], At(version=third)), first, third)


def test_rows_deleted_meanwhile_are_left_to_snapshots(hand: HandTable) -> None:
    kept = HandManifest([entry(hand.path("data/a"))], sequence=1, added_snapshot=1)
    first = hand.commit([kept])
    deletes = HandManifest([entry(hand.path("data/d"), content=1)], sequence=2, added_snapshot=2, content=1)
    second = hand.commit([kept, deletes], parent=first)
    ref = table_ref(hand.write())

    assert ICEBERG.changes(ref, [base(ref, first)], At(version=second)) is None


def test_a_deletion_under_the_id_of_the_commit_that_added_the_file(hand: HandTable) -> None:
    """As PyIceberg before 0.10 writes it. One of the commit adds a file, so that the numbers of files are alike."""
    kept = HandManifest([entry(hand.path("data/a")), entry(hand.path("data/b"))], sequence=1, added_snapshot=1)
    first = hand.commit([kept])
    left = HandManifest(
        [
            entry(hand.path("data/a"), status=2, sequence=1, snapshot=1),
            entry(hand.path("data/b"), status=0, sequence=1, snapshot=1),
        ],
        sequence=2,
        added_snapshot=2,
    )
    new = HandManifest([entry(hand.path("data/c"))], sequence=2, added_snapshot=2)
    second = hand.commit([new, left], parent=first)
    ref = table_ref(hand.write())

    found = ICEBERG.changes(ref, [base(ref, first)], At(version=second))
    proved(ref, found, first, second)
    assert found.gone.paths.to_pylist() == ["data/a"]
    diff = ICEBERG.diff(ref, ICEBERG.snapshot(ref, At(version=first)), At(version=second))
    assert [diff.deleted.paths.to_pylist(), diff.appended.paths.to_pylist()] == [["data/a"], ["data/c"]]


def test_deletions_that_no_commit_names_are_left_to_snapshots(hand: HandTable) -> None:
    first = hand.commit([HandManifest([entry(hand.path("data/a"))], sequence=1, added_snapshot=1)])
    second = hand.commit([HandManifest([entry(hand.path("data/b"))], sequence=2, added_snapshot=2)], parent=first)
    ref = table_ref(hand.write())

    assert ICEBERG.changes(ref, [base(ref, first)], At(version=second)) is None
