"""What a refresh looks at and leaves: the log and not the table; nothing for files that left; limits; quick ones; two
at once."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import pyarrow as pa
import pytest

import metaindex as mi
from metaindex.core import UnknownColumnError, VersionNotFoundError
from metaindex.formats import At, Snapshot, TableRef
from metaindex.formats.delta.table import DeltaFormat
from metaindex.formats.iceberg.table import IcebergFormat
from metaindex.index.actions.action import Outcome
from metaindex.index.open_index import OpenIndex
from metaindex.index.store.cache import StoreCache
from metaindex.table import Table, handle_of
from tests.index.actions.delta_history import DeltaHistory, checksum
from tests.index.actions.scenes import Disturbed
from tests.tables import iceberg_lake, settled

LOADED: list[str] = []


class Counting(DeltaFormat):
    """Delta that counts how often all files of a version are loaded."""

    def snapshot(self, ref: TableRef, at: At) -> Snapshot:
        LOADED.append(str(at))
        return DeltaFormat.snapshot(self, ref, at)


def opened(lake: DeltaHistory) -> Table:
    LOADED.clear()
    table = mi.open_table(str(lake.root))
    return Table(replace(handle_of(table), table_format=Counting()))


@pytest.fixture
def lake(tmp_path: Path) -> DeltaHistory:
    lake = DeltaHistory(tmp_path / "lake")
    for _ in range(4):
        lake.append(3)
    opened(lake).create_index("stats", mi.ColumnStats(), builder="local")
    return lake


def refresh(lake: DeltaHistory, **how: object) -> Outcome:
    return opened(lake).refresh_index("stats", builder="local", **how)  # type: ignore[arg-type]


def number_in(lake: DeltaHistory) -> int:
    """A number that the file appended last holds."""
    return max(f.first for f in lake.live.values()) + 3


def test_a_refresh_after_commits_does_not_load_the_table(lake: DeltaHistory) -> None:
    lake.append(2)
    lake.remove(0)
    lake.append(1)
    outcome = refresh(lake)
    assert (outcome.changed, LOADED) == (True, [])
    assert outcome.entry.content.runs[-1].files == 3
    assert outcome.entry.content.versions[-1].files == len(lake.live)
    assert opened(lake).prune(f"id = {number_in(lake)}").kept_files == 1
    assert LOADED == []


def test_what_left_or_lost_rows_costs_no_run(lake: DeltaHistory) -> None:
    runs = len(refresh(lake).entry.content.runs)
    lake.drop_partition(1)
    lake.delete_rows(0)
    outcome = refresh(lake)
    record = outcome.entry.content.versions[-1]
    assert (len(outcome.entry.content.runs), LOADED) == (runs, [])
    assert len(record.removed) == len(record.with_deletes) == 1
    assert len(next(iter(record.removed.values()))) < 40  # a partition is one stretch of ordinals
    assert opened(lake).prune("id >= 0").total_files == len(lake.live)


def test_nothing_to_do_writes_nothing(lake: DeltaHistory) -> None:
    before = refresh(lake).entry.id
    outcome = refresh(lake)
    assert (outcome.changed, outcome.entry.id, LOADED) == (False, before, [])


@pytest.mark.parametrize("spoil", [DeltaHistory.clean, lambda lake: checksum(lake, 1)], ids=["cleaned", "added up"])
def test_a_log_that_cannot_be_followed_is_followed_by_snapshot(
    lake: DeltaHistory, spoil: Callable[[DeltaHistory], object]
) -> None:
    lake.append(2)
    spoil(lake)
    assert refresh(lake).entry.content.versions[-1].files == len(lake.live)
    assert len(LOADED) == 1


def test_an_older_version_is_recorded_from_the_nearest_below(lake: DeltaHistory) -> None:
    for _ in range(3):
        lake.append(1)
    last = len(lake.versions) - 1
    refresh(lake)
    outcome = refresh(lake, version=last - 1)
    assert outcome.entry.content.versions[-1].version.id == str(last - 1)
    assert (len(outcome.entry.content.runs), LOADED) == (2, [])  # its files were covered by then
    assert opened(lake).prune("id >= 0", version=last - 1).total_files == len(lake.versions[last - 1])
    assert LOADED == []


def test_a_quick_refresh_names_files_and_reads_none(lake: DeltaHistory) -> None:
    lake.append(2)
    for file in list(lake.live.values())[-2:]:
        (lake.root / file.path).write_bytes(b"\0" * file.size)
    asked = "id = 15"
    assert opened(lake).prune(asked).total_files == len(lake.live)
    assert len(LOADED) == 1  # not recorded: the table's log is replayed for a query
    outcome = refresh(lake, mode="quick")
    assert LOADED == []
    result = opened(lake).prune(asked)
    assert outcome.entry.content.versions[-1].unknown == 2
    wanted = {p for p, f in lake.live.items() if f.may_hold(15)} | set(list(lake.live)[-2:])
    assert set(result.files.paths.to_pylist()) == wanted
    assert result.total_files == len(lake.live)


def test_what_was_named_is_covered_by_the_next_refresh(lake: DeltaHistory) -> None:
    lake.append(2)
    refresh(lake, mode="quick")
    lake.append(1)
    quick = refresh(lake, mode="quick").entry.content
    assert [run.files for run in quick.runs[1:]] == [2, 1]
    content = refresh(lake).entry.content
    assert content.runs[-1].files == 3
    assert (content.versions[-1].unknown, LOADED) == (0, [])
    assert len([v for v in content.versions if v.version == content.versions[-1].version]) == 1
    assert opened(lake).prune(f"id = {number_in(lake)}").kept_files == 1
    assert not refresh(lake, mode="quick").changed


@pytest.mark.parametrize("how", [{"where": "p = 1"}, {"under": "p=1"}, {"where": mi.col("p") == 1}])
def test_a_limited_refresh_covers_some_files_and_records_nothing(lake: DeltaHistory, how: dict[str, object]) -> None:
    lake.append(5)
    new = list(lake.live)[-5:]
    mine = [p for p in new if p.startswith("p=1/")]
    content = refresh(lake, **how).entry.content
    assert LOADED == []
    assert (content.runs[-1].files, len(content.versions)) == (len(mine), 1)
    result = opened(lake).prune("id = -1")
    assert set(result.files.paths.to_pylist()) == set(new) - set(mine)
    again = refresh(lake).entry.content
    assert (again.runs[-1].files, again.versions[-1].files) == (5 - len(mine), len(lake.live))
    assert opened(lake).prune("id = -1").kept_files == 0


@pytest.mark.parametrize(
    ("how", "error", "says"),
    [
        ({"where": "id = 1"}, UnknownColumnError, "partition columns: p"),
        ({"where": "p = 1", "under": "p=1"}, ValueError, "not by both"),
        ({"under": "/p=1"}, ValueError, "below the table"),
        ({"under": "p=1", "mode": "full"}, ValueError, "is incremental"),
        ({"version": 99}, VersionNotFoundError, "99"),
    ],
)
def test_a_limit_that_cannot_be_meant_is_refused(
    lake: DeltaHistory, how: dict[str, object], error: type[Exception], says: str
) -> None:
    lake.append(1)
    with pytest.raises(error, match=says):
        refresh(lake, **how)


def test_refreshes_at_once_all_count_and_no_file_counts_twice(lake: DeltaHistory) -> None:
    lake.append(2)
    lake.append(2)
    last = len(lake.versions) - 1
    barrier = threading.Barrier(3)

    def one(version: int) -> None:
        builder = Disturbed(first=lambda: barrier.wait(30))
        mi.open_table(str(lake.root)).refresh_index("stats", builder=builder, version=version)

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(one, (last - 1, last, last)))
    content = handle_of(opened(lake)).indexes().log("stats").latest().content  # type: ignore[union-attr]
    assert sorted(r.version.id for r in content.versions) == [str(v) for v in (last - 2, last - 1, last)]
    for version in (last - 1, last):
        result = opened(lake).prune(f"id >= {number_in(lake)}", version=version)
        assert (result.total_files, LOADED) == (len(lake.versions[version]), [])
        assert len(set(result.paths)) == len(result.paths)
    lake.remove(len(lake.live) - 1)
    assert refresh(lake).entry.content.versions[-1].files == len(lake.live)
    assert opened(lake).prune("id >= 0").total_files == len(lake.live)


@pytest.mark.slow
def test_older_versions_move_out_of_the_entry_and_are_found(lake: DeltaHistory) -> None:
    with patch.multiple("metaindex.index.log.history", MAX_INLINE=5, KEPT_INLINE=2, MAX_VERSIONS=9):
        for step in range(18):
            if step % 3:
                lake.delete_rows(step)
            else:
                lake.append(1)
            refresh(lake)
            entry = handle_of(opened(lake)).indexes().log("stats").latest()
            assert len(entry.content.versions) <= 6
    assert 2 <= len(entry.content.segments) <= 4
    recorded = 0
    storage, ref = handle_of(opened(lake)).indexes().log("stats").storage, handle_of(mi.open_table(str(lake.root))).ref
    for version in range(len(lake.versions)):
        index = OpenIndex("stats", entry, storage, StoreCache())
        found = index.versions.find(DeltaFormat().resolve(ref, At(version=version)))
        assert index.count.reads <= 1
        if found is not None:
            recorded += 1
            result = opened(lake).prune("id = 15", version=version)
            assert (result.total_files, LOADED) == (len(lake.versions[version]), [])
    assert 6 <= recorded <= 12


class CountingIceberg(IcebergFormat):
    def snapshot(self, ref: TableRef, at: At) -> Snapshot:
        LOADED.append(str(at))
        return IcebergFormat.snapshot(self, ref, at)


def test_iceberg_commits_are_followed(tmp_path: Path) -> None:
    lake = iceberg_lake(tmp_path)
    for start in (0, 10, 20):
        lake.append(pa.table({"id": range(start, start + 10)}))
    table = Table(replace(handle_of(lake.open()), table_format=CountingIceberg()))
    table.create_index("stats", mi.ColumnStats(), builder="local")
    LOADED.clear()
    for start in (30, 40):
        lake.append(pa.table({"id": range(start, start + 10)}))
    outcome = table.refresh_index("stats", builder="local")
    assert (outcome.entry.content.runs[-1].files, outcome.entry.content.versions[-1].files, LOADED) == (2, 5, [])
    for version, files in zip(table.versions()[2:], (3, 4, 5), strict=True):
        table.refresh_index("stats", builder="local", version=version.id)
        result = table.prune("id >= 25", version=version.id)
        assert (result.total_files, result.kept_files) == (files, files - 2)
    assert LOADED == []


def test_a_limited_refresh_of_a_plain_folder(tmp_path: Path) -> None:
    root = tmp_path / "lake"

    def write(name: str, first: int) -> None:
        settled(root, {name: pa.table({"id": range(first, first + 10)})})

    for day in range(3):
        write(f"day={day}/a.parquet", day * 10)
    table = mi.open_table(str(root))
    table.create_index("stats", mi.ColumnStats(), builder="local")
    for day in range(3):
        write(f"day={day}/b.parquet", 100 + day * 10)
    content = table.refresh_index("stats", where="day >= 1 AND day < 2", builder="local").entry.content
    assert (content.runs[-1].files, len(content.versions)) == (1, 1)
    assert set(table.prune("id = -1").files.paths.to_pylist()) == {"day=0/b.parquet", "day=2/b.parquet"}
    assert table.refresh_index("stats", builder="local").entry.content.runs[-1].files == 2
    assert not table.refresh_index("stats", under="day=1", builder="local").changed


@pytest.mark.slow
def test_named_files_are_covered_in_the_end_whatever_is_merged_between(lake: DeltaHistory) -> None:
    for _ in range(9):
        lake.append(1)
        refresh(lake, mode="quick")
    opened(lake).optimize_index("stats", "full")
    assert opened(lake).prune("id = -1").kept_files == 9
    refresh(lake)
    assert opened(lake).prune("id = -1").kept_files == 0
    assert opened(lake).prune(f"id = {number_in(lake)}").kept_files == 1


@pytest.mark.slow
def test_lost_version_objects_cost_the_log_and_no_more(lake: DeltaHistory, caplog: pytest.LogCaptureFixture) -> None:
    with (
        patch("metaindex.index.actions.records.MAX_BITS", 0),
        patch.multiple("metaindex.index.log.history", MAX_INLINE=4, KEPT_INLINE=2, MAX_VERSIONS=50),
    ):
        for step in range(8):
            lake.delete_rows(step)
            refresh(lake)
        lost = list((lake.root / "_metaindex" / "stats" / "_versions").rglob("*.json"))
        assert len(lost) > 8
        for path in lost:
            path.unlink()
        lake.append(1)
        outcome = refresh(lake)
    assert outcome.entry.content.versions[-1].files == len(lake.live)
    assert opened(lake).prune(f"id = {number_in(lake)}").kept_files == 1
    for version in lake.readable[1:]:
        assert opened(lake).prune("id >= 0", version=version).total_files == len(lake.versions[version])
    assert "counts as not recorded" in caplog.text
