"""What every format promises, of Hudi's tables."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import metaindex as mi
from metaindex.core import UnsupportedFeatureError, VersionNotFoundError
from metaindex.formats import At, Diff
from tests.contract.format_contract import FormatContract, MadeTable
from tests.formats.hudi.written import HUDI, HudiTable, rows

VERSIONS = (6, 8)


def made(folder: Path, version: int, partitions: tuple[str, ...] = ("day",)) -> MadeTable:
    table = HudiTable(folder / "t", version, partitions)
    table.commit([(table.partition("a"), None, rows(0)), (table.partition("b"), None, rows(10, day="b"))])
    return MadeTable(HUDI, table.ref, lambda: _append(table), 6)


def _append(table: HudiTable) -> None:
    table.commit([(table.partition("a"), None, rows(20))])


class TestTimelineOfFiles(FormatContract):
    @pytest.fixture
    def made(self, tmp_path: Path) -> MadeTable:
        return made(tmp_path, 6)


class TestTimelineWithCompletionTimes(FormatContract):
    @pytest.fixture
    def made(self, tmp_path: Path) -> MadeTable:
        return made(tmp_path, 8)


class TestWithoutPartitions(FormatContract):
    @pytest.fixture
    def made(self, tmp_path: Path) -> MadeTable:
        return made(tmp_path, 6, ())


@pytest.fixture(params=VERSIONS)
def table(request: pytest.FixtureRequest, tmp_path: Path) -> HudiTable:
    return HudiTable(tmp_path / "t", request.param)


def ids(table: HudiTable, version: str | None = None, where: str | None = None) -> list[int]:
    scan = mi.open_table(table.root).scan(where, version=version)
    return sorted(scan.to_arrow().column("id").to_pylist())


def test_each_version_has_its_rows_and_files(table: HudiTable) -> None:
    first = table.commit([("day=a", "g-0", rows(0)), ("day=b", "h-0", rows(10, day="b"))])
    second = table.commit([("day=a", "g-0", rows(0, 5))])
    third = table.commit([("day=a", None, rows(40))], [("day=a", "g-0")], operation="INSERT_OVERWRITE")
    assert [version.id for version in HUDI.versions(table.ref)] == [first, second, third]
    assert ids(table, first) == [0, 1, 2, 10, 11, 12]
    assert ids(table, second) == [0, 1, 2, 3, 4, 10, 11, 12]
    assert ids(table) == ids(table, third) == [10, 11, 12, 40, 41, 42]
    diff = Diff.between(table.snapshot(first), table.snapshot(third))
    assert (len(diff.appended), len(diff.deleted)) == (1, 1)


def test_an_index_answers_over_versions(table: HudiTable) -> None:
    table.commit([("day=a", "g-0", rows(0)), ("day=b", None, rows(10, day="b"))])
    opened = mi.open_table(table.root)
    opened.create_index("words", mi.Values("word"), builder="local")
    assert ids(table, where="word = 'w11'") == [11]
    table.commit([("day=a", "g-0", rows(2, 9)), ("day=c", None, rows(100, day="c"))])
    assert ids(table, where="word IN ('w1', 'w10', 'w101')") == [10, 10, 101]
    opened = mi.open_table(table.root)
    opened.refresh_index("words", builder="local")
    assert ids(table, where="word IN ('w1', 'w10', 'w101')") == [10, 10, 101]
    assert mi.open_table(table.root).prune("word = 'w101'").kept_files == 1


def test_partition_columns_are_read_from_paths_and_prune(table: HudiTable) -> None:
    """As Spark does: a row that was moved to another value of the column without its file shows the path's."""
    table.commit([("day=a", None, rows(0, day="a")), ("day=b", None, rows(10, day="other"))])
    assert ids(table, where="day = 'b'") == [10, 11, 12]
    assert ids(table, where="day = 'other'") == []
    assert mi.open_table(table.root).prune("day = 'b'").kept_files == 1
    assert table.snapshot().partition_columns == ("day",)
    assert sorted(table.snapshot().files.table.column("partition").to_pylist()) == ["day=a", "day=b"]


def test_a_time_is_an_instant_where_the_timeline_is_in_utc(table: HudiTable) -> None:
    first = table.commit([("day=a", None, rows(0))])
    second = table.commit([("day=a", None, rows(10))])
    when = [table.snapshot(id_).timestamp_ms for id_ in (first, second)]
    assert when == sorted(when)
    for at, id_ in ((when[0], first), (when[1] - 1, first), (when[1], second), (when[1] + 10**9, second)):
        assert HUDI.resolve(table.ref, At(timestamp_ms=at)).id == id_
    with pytest.raises(VersionNotFoundError):
        HUDI.resolve(table.ref, At(timestamp_ms=when[0] - 1))


def test_a_time_is_that_of_the_file_where_nobody_wrote_down_the_zone(table: HudiTable) -> None:
    table.properties(**{"hoodie.table.timeline.timezone": "LOCAL"})
    first = table.commit([("day=a", None, rows(0))])
    modified = table.completed(first).stat().st_mtime_ns // 1_000_000
    assert table.snapshot().timestamp_ms == modified


def test_a_column_that_was_added_is_null_in_older_files(table: HudiTable) -> None:
    table.commit([("day=a", None, rows(0))])
    wider = rows(10).append_column("more", pa.array([1, 2, 3], pa.int64()))
    table.commit([("day=a", None, wider)], schema=wider.schema)
    read = mi.open_table(table.root).scan().to_arrow().sort_by("id")
    assert read.column("more").to_pylist() == [None, None, None, 1, 2, 3]


def test_a_clustering_says_no_columns(table: HudiTable) -> None:
    """It writes rows that were there, and knows the columns of when it was planned."""
    table.commit([("day=a", "g-0", rows(0))])
    wider = rows(10).append_column("more", pa.array([1, 2, 3], pa.int64()))
    table.commit([("day=b", None, wider)], schema=wider.schema)
    table.commit([("day=a", None, rows(0))], [("day=a", "g-0")], operation="CLUSTER")
    assert table.snapshot().schema.names == ["id", "word", "more", "day"]


def test_columns_that_two_instants_say_otherwise(tmp_path: Path) -> None:
    table = HudiTable(tmp_path / "t", 8)
    table.commit([("day=a", None, rows(0))])
    late = table.begin()
    table.commit([("day=b", None, rows(10, day="b"))])
    wider = rows(20).append_column("more", pa.array([1, 2, 3], pa.int64()))
    del table.live[max(table.live)]
    table.commit([("day=c", None, wider)], instant=late, schema=wider.schema)
    with pytest.raises(UnsupportedFeatureError, match="completed last"):
        table.snapshot()


def test_instants_are_applied_in_the_order_of_their_completion(tmp_path: Path) -> None:
    table = HudiTable(tmp_path / "t", 8)
    late = table.begin("replacecommit")
    newest = table.commit([("day=a", "g-0", rows(0))])
    live = table.live.pop(newest)
    table.live[""] = live  # as the late one finds it
    table.commit([("day=a", "n-0", rows(50))], [("day=a", "g-0")], instant=late, operation="INSERT_OVERWRITE")
    assert ids(table) == [50, 51, 52]
    assert HUDI.resolve(table.ref, At()).id == newest


def test_what_is_pending_is_no_part_of_a_version(table: HudiTable) -> None:
    table.commit([("day=a", "g-0", rows(0))])
    pending = table.begin()
    table.base_file("day=a", "p-0", pending, rows(50))
    table.commit([("day=b", None, rows(10, day="b"))])
    assert ids(table) == [0, 1, 2, 10, 11, 12]


def test_a_table_without_an_instant_has_no_version(table: HudiTable) -> None:
    assert list(HUDI.versions(table.ref)) == []
    with pytest.raises(VersionNotFoundError, match="completed instant"):
        table.snapshot()


def test_an_instant_that_is_completed_late_changes_the_fingerprint(table: HudiTable) -> None:
    """A version is the table as of an instant: what was begun before it belongs to it once it is completed."""
    first = table.commit([("day=a", "g-0", rows(0))])
    late = table.begin("replacecommit")
    newest = table.commit([("day=b", None, rows(10, day="b"))])
    before = HUDI.resolve(table.ref, At())
    assert before.id == newest
    assert ids(table) == [0, 1, 2, 10, 11, 12]
    live = table.live.pop(newest)
    table.commit([("day=a", "n-0", rows(0))], [("day=a", "g-0")], instant=late, operation="CLUSTER")
    del live["day=a", "g-0"]
    table.live[newest] = live | {("day=a", "n-0"): table.live[late]["day=a", "n-0"]}
    after = HUDI.resolve(table.ref, At())
    assert after.id == newest
    assert after != before
    assert ids(table) == [0, 1, 2, 10, 11, 12]
    assert table.paths() == sorted(table.live[newest].values())
    assert HUDI.versions(table.ref)[0].id == first
