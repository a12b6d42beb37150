"""Which files make a version: gaps, cleaned logs, checkpoints of every kind, hints that lie."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from metaindex.core import CorruptTableError, NotATableError, VersionNotFoundError
from metaindex.formats.format import At, TableRef
from tests.formats.delta.hand import (
    DELTA,
    add,
    checkpoint,
    commit,
    leaf,
    metadata,
    paths,
    protocol,
    ref,
    remove,
    snapshot,
)
from tests.storage.counting import CountingStorage

UUID = "80a083e8-7026-4e79-81be-64bd76c43a11"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    commit(tmp_path, 0, protocol(), metadata(), add("a"))
    commit(tmp_path, 1, add("b"))
    commit(tmp_path, 2, remove("a"), add("c"))
    return tmp_path


def test_every_version_replays_from_the_commits(table: Path) -> None:
    assert DELTA.detect(ref(table))
    assert [paths(snapshot(table, v)) for v in range(3)] == [["a"], ["a", "b"], ["b", "c"]]
    assert list(DELTA.versions(ref(table))) == [snapshot(table, v).version for v in range(3)]
    assert snapshot(table).version.id == "2"
    for version in (None, 0, 1, "2"):
        assert DELTA.resolve(ref(table), At(version=version)) == snapshot(table, version).version


def test_resolving_a_number_lists_nothing(table: Path) -> None:
    counted = CountingStorage(ref(table).storage)
    DELTA.resolve(TableRef(counted, str(table)), At(version=1))
    assert counted.calls == {"read": 1}


def test_a_table_made_anew_at_the_same_path_is_another_version(table: Path) -> None:
    before = DELTA.resolve(ref(table), At(version=1))
    commit(table, 1, add("other"))
    assert DELTA.resolve(ref(table), At(version=1)) != before


@pytest.mark.parametrize("version", [3, -1, "abc", "main", 10**30])
def test_a_version_that_is_not_there_is_said(table: Path, version: object) -> None:
    with pytest.raises(VersionNotFoundError):
        DELTA.snapshot(ref(table), At(version=version))
    with pytest.raises(VersionNotFoundError):
        DELTA.resolve(ref(table), At(version=version))


def test_a_folder_without_a_log_is_no_table(tmp_path: Path) -> None:
    assert not DELTA.detect(ref(tmp_path))
    (tmp_path / "_delta_log").mkdir()
    assert not DELTA.detect(ref(tmp_path))
    with pytest.raises(NotATableError, match="_delta_log"):
        snapshot(tmp_path)
    with pytest.raises(NotATableError):
        DELTA.versions(ref(tmp_path))


def test_a_gap_in_the_log_names_the_missing_version(table: Path) -> None:
    commit(table, 4, add("e"))
    with pytest.raises(CorruptTableError, match="lacks version 3"):
        snapshot(table)
    assert paths(snapshot(table, 2)) == ["b", "c"]
    assert [v.id for v in DELTA.versions(ref(table))] == ["0", "1", "2"]


def test_a_file_of_the_checkpoint_that_is_added_again_is_live_once(cleaned: Path) -> None:
    """As writers do that give a file new statistics or tags."""
    commit(cleaned, 5, add("b", stats={"numRecords": 7}))
    found = snapshot(cleaned)
    assert paths(found) == ["b", "d"]
    (again,) = (one for one in found.files.entries() if one.path == "b")
    assert again.record_count == 7


def test_log_compaction_files_are_ignored(table: Path) -> None:
    commit(table, 3, add("d"))
    log = table / "_delta_log"
    (log / f"{0:020d}.{3:020d}.compacted.json").write_text(json.dumps(add("ghost")) + "\n")
    assert paths(snapshot(table)) == ["b", "c", "d"]


@pytest.fixture
def cleaned(table: Path) -> Path:
    """A checkpoint at 2; commits 0 to 2 are gone; 3 and 4 stand."""
    checkpoint(table, 2, protocol(), metadata(), add("b"), add("c"), remove("a"))
    for version in range(3):
        (table / "_delta_log" / f"{version:020d}.json").unlink()
    commit(table, 3, add("d"))
    commit(table, 4, remove("c"))
    return table


def test_a_checkpoint_and_the_commits_behind_it_make_a_version(cleaned: Path) -> None:
    assert paths(snapshot(cleaned)) == ["b", "d"]
    assert paths(snapshot(cleaned, 3)) == ["b", "c", "d"]


def test_a_version_whose_commit_is_gone_is_read_from_its_checkpoint(cleaned: Path) -> None:
    found = snapshot(cleaned, 2)
    assert paths(found) == ["b", "c"]
    assert found.version.fingerprint.startswith("checkpoint-")
    assert DELTA.resolve(ref(cleaned), At(version=2)) == found.version


def test_a_cleaned_version_is_not_found(cleaned: Path) -> None:
    with pytest.raises(VersionNotFoundError, match="oldest readable version is 2"):
        snapshot(cleaned, 1)
    assert [v.id for v in DELTA.versions(ref(cleaned))] == ["2", "3", "4"]


@pytest.mark.parametrize(
    "hint",
    [
        "not json",
        "{}",
        "[1]",
        '{"version": 99}',
        '{"version": 1}',
        '{"version": "2"}',
        '{"version": -1}',
        '{"version":2}',
    ],
)
def test_a_last_checkpoint_that_lies_changes_nothing(cleaned: Path, hint: str) -> None:
    (cleaned / "_delta_log" / "_last_checkpoint").write_text(hint)
    assert paths(snapshot(cleaned)) == ["b", "d"]
    assert paths(snapshot(cleaned, 2)) == ["b", "c"]


def test_multi_part_checkpoints_count_only_when_whole(cleaned: Path) -> None:
    parts = [[protocol(), metadata(), add("x")], [add("y")], [add("z")]]
    made = [
        checkpoint(cleaned, f"{4:020d}.checkpoint.{n:010d}.{3:010d}.parquet", *part) for n, part in enumerate(parts, 1)
    ]
    assert paths(snapshot(cleaned)) == ["x", "y", "z"]
    made[1].unlink()
    assert paths(snapshot(cleaned)) == ["b", "d"]


@pytest.mark.parametrize(
    "name", ["checkpoint.parquet", f"checkpoint.{UUID}.json", "checkpoint.0000000001.0000000001.parquet"]
)
def test_an_empty_checkpoint_is_passed_over(table: Path, name: str) -> None:
    (table / "_delta_log" / f"{2:020d}.{name}").write_bytes(b"")
    assert paths(snapshot(table)) == ["b", "c"]


@pytest.mark.parametrize(
    "name",
    [
        "1.json",
        f"{3:020d}.crc",
        f"{3:020d}.json.tmp",
        f".{3:020d}.json.crc",
        f"{3:020d}.checkpoint.parquet.crc",
        "_trash",
    ],
)
def test_other_files_of_the_log_say_nothing(table: Path, name: str) -> None:
    (table / "_delta_log" / name).write_text("garbage")
    (table / "_delta_log" / "_staged_commits").mkdir()
    (table / "_delta_log" / "_staged_commits" / f"{3:020d}.{UUID}.json").write_text("garbage")
    assert paths(snapshot(table)) == ["b", "c"]


@pytest.mark.parametrize("top", ["json", "parquet"])
def test_v2_checkpoints_read_their_sidecars(table: Path, top: str) -> None:
    checkpoint(table, "_sidecars/one.parquet", add("s1"), add("s2"))
    checkpoint(table, "_sidecars/two.parquet", add("s3"))
    sidecars = [{"sidecar": {"path": f"{n}.parquet", "sizeInBytes": 1, "modificationTime": 1}} for n in ("one", "two")]
    actions = [{"checkpointMetadata": {"version": 3}}, protocol(3, ["v2Checkpoint"]), metadata(), *sidecars]
    if top == "json":
        path = table / "_delta_log" / f"{3:020d}.checkpoint.{UUID}.json"
        path.write_text("\n".join(map(json.dumps, [*actions, add("top")])))
    else:
        checkpoint(table, f"{3:020d}.checkpoint.{UUID}.parquet", *actions, add("top"))
    commit(table, 4, remove("s2"), add("later"))
    assert paths(snapshot(table)) == ["later", "s1", "s3", "top"]


def test_a_sidecar_that_is_missing_is_named(table: Path) -> None:
    sidecar = {"sidecar": {"path": "gone.parquet", "sizeInBytes": 1, "modificationTime": 1}}
    checkpoint(table, 3, protocol(3, ["v2Checkpoint"]), metadata(), sidecar)
    with pytest.raises(CorruptTableError, match=r"version 3.*gone\.parquet"):
        snapshot(table)


def test_a_large_commit_has_the_same_fingerprint_read_whole_and_by_its_ends(tmp_path: Path) -> None:
    for count in (90, 100, 120, 500):
        table = tmp_path / str(count)
        commit(table, 0, protocol(), metadata(), *(add(f"f{n}", stats={"numRecords": n}) for n in range(count)))
        assert DELTA.resolve(ref(table), At()) == snapshot(table).version == DELTA.resolve(ref(table), At(version=0))


def test_a_checkpoint_of_many_row_groups_is_read_in_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [
        protocol(),
        metadata(),
        *(add(f"f{n:03}", stats={"numRecords": n, "minValues": {"id": n}}) for n in range(40)),
    ]
    path = checkpoint(tmp_path, 0, *rows)
    pq.write_table(pq.read_table(path), path, row_group_size=7)
    commit(tmp_path, 1, remove("f020"))
    whole = snapshot(tmp_path)
    monkeypatch.setattr("metaindex.formats.delta.parquet_part._BATCH_BYTES", 1)
    found = snapshot(tmp_path)
    assert found.files.table.equals(whole.files.table)
    bounds = found.details.log_bounds(leaf(found, "id"))
    assert (
        bounds.lower.to_pylist()
        == found.files.table.column("record_count").to_pylist()
        == [n for n in range(40) if n != 20]
    )


def test_the_newest_version_is_found_from_a_known_one_without_a_listing(table: Path) -> None:
    counting = CountingStorage(ref(table).storage)
    counted = TableRef(counting, str(table))
    versions = list(DELTA.versions(ref(table)))
    now = DELTA.resolve(ref(table), At())
    for known in (versions[:1], versions[:2], versions):
        assert DELTA.newest(counted, known) == now
    assert counting.calls["list"] == 0
    commit(table, 3, add("d"))
    assert DELTA.newest(counted, versions) == DELTA.resolve(ref(table), At())
    assert counting.calls["list"] == 0
    assert DELTA.newest(counted, []) == DELTA.resolve(ref(table), At())


def test_a_log_that_began_anew_is_not_followed(table: Path) -> None:
    known = list(DELTA.versions(ref(table)))
    for number in range(3):
        (table / "_delta_log" / f"{number:020d}.json").unlink()
    commit(table, 0, protocol(), metadata(), add("other"))
    commit(table, 1, add("another"))
    assert DELTA.newest(ref(table), known) == DELTA.resolve(ref(table), At())
    commit(table, 2, add("one more"))
    assert DELTA.newest(ref(table), known) == DELTA.resolve(ref(table), At())


def test_a_gap_that_a_cleaning_left_is_not_taken_for_the_end(table: Path) -> None:
    known = list(DELTA.versions(ref(table)))[:1]
    checkpoint(table, 2, protocol(), metadata(), add("b"), add("c"))
    (table / "_delta_log" / "_last_checkpoint").write_text(json.dumps({"version": 2, "size": 4}))
    (table / "_delta_log" / f"{1:020d}.json").unlink()
    assert DELTA.newest(ref(table), known) == DELTA.resolve(ref(table), At())
