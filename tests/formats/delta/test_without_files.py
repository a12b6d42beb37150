"""The newest versions, each without its files, are what the snapshots of those versions say."""

from collections.abc import Sequence
from pathlib import Path

from metaindex.formats.model import Snapshot
from tests.formats.delta.hand import DELTA, add, checkpoint, column, commit, metadata, protocol, ref, snapshot
from tests.formats.delta.test_history import stamped, touch


def newest(table: Path, most: int) -> Sequence[Snapshot]:
    found = DELTA.without_files(ref(table), snapshot(table), most)
    assert [len(each.files) for each in found] == [0] * len(found)
    return found


def like_snapshots(table: Path, found: Sequence[Snapshot]) -> bool:
    whole = [snapshot(table, int(each.version.id)) for each in found]
    return [said(each) for each in found] == [said(each) for each in whole]


def said(of: Snapshot) -> tuple[object, ...]:
    return of.version, of.version.table_uuid, of.timestamp_ms, of.schema, of.partition_columns, of.properties


def test_columns_and_times_of_each_version(tmp_path: Path) -> None:
    columns = [metadata(), metadata(column("id"), column("b", "string"), partitions=["b"])]
    for version, ms in enumerate([1000, 1000, 400, 5000, 6000]):
        actions = [protocol(), columns[0]] if version == 0 else [columns[1]] if version == 3 else []
        touch(commit(tmp_path, version, *actions, add(f"f{version}")), ms)
    found = newest(tmp_path, 4)
    assert [each.version.id for each in found] == ["1", "2", "3", "4"]
    assert [len(each.schema.fields) for each in found] == [1, 1, 2, 2]
    assert [each.timestamp_ms for each in found] == [1001, 1002, 5000, 6000]
    assert like_snapshots(tmp_path, found)
    assert [each.version.id for each in newest(tmp_path, 20)] == ["0", "1", "2", "3", "4"]
    assert [each.version.id for each in newest(tmp_path, 1)] == ["4"]


def test_times_inside_of_commits(tmp_path: Path) -> None:
    on = metadata(configuration={"delta.enableInCommitTimestamps": "true"})
    for version in range(4):
        commit(tmp_path, version, stamped(10 + 10 * version), *([protocol(), metadata()] if version == 0 else []))
    commit(tmp_path, 4, stamped(70), on)
    commit(tmp_path, 5, stamped(80))
    found = newest(tmp_path, 3)
    assert [each.timestamp_ms for each in found[1:]] == [70, 80]
    assert like_snapshots(tmp_path, found)


def test_no_version_is_offered_whose_log_was_cleaned(tmp_path: Path) -> None:
    commit(tmp_path, 0, protocol(), metadata())
    for version in range(1, 6):
        commit(tmp_path, version, add(f"f{version}"))
    checkpoint(tmp_path, 3, protocol(), metadata(), add("f1"), add("f2"), add("f3"))
    for gone in range(3):
        (tmp_path / "_delta_log" / f"{gone:020d}.json").unlink()
    found = newest(tmp_path, 20)
    assert [each.version.id for each in found] == ["3", "4", "5"]
    assert like_snapshots(tmp_path, found)


def test_a_damaged_commit_leaves_the_newest_version(tmp_path: Path) -> None:
    commit(tmp_path, 0, protocol(), metadata())
    checkpoint(tmp_path, 2, protocol(), metadata(), add("f1"))
    commit(tmp_path, 1, "{no json")
    for version in (2, 3):
        commit(tmp_path, version, add(f"g{version}"))
    assert [each.version.id for each in newest(tmp_path, 20)] == ["3"]
    assert [each.version.id for each in newest(tmp_path, 2)] == ["2", "3"]
