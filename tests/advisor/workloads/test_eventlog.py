"""Event logs of Spark: real ones of Spark 4.1, those of other versions by what differs, cut and damaged ones.

`data/` holds the events of SQL queries of two real applications, without their stack traces, metrics and paths.
"""

import gzip
import json
import random
import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import metaindex as mi
from metaindex.advisor.workloads.eventlog import events
from metaindex.advisor.workloads.eventlog.events import MOST_BYTES
from metaindex.advisor.workloads.template import shown_predicate
from metaindex.advisor.workloads.text_files import read_pieces
from metaindex.cli import main
from metaindex.expressions import TableRead
from tests.advisor.workloads.packing import lz4, snappy

DATA = Path(__file__).parent / "data"
REAL = DATA / "spark-4.1.zstd"
SOURCES_V2 = DATA / "spark-4.1-sources-v2.zstd"
PACKED: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".zstd": lambda text: pa.compress(text, "zstd", asbytes=True),
    ".lz4": lz4,
    ".snappy": snappy,
    ".gz": gzip.compress,
    ".zstd.inprogress": lambda text: pa.compress(text, "zstd", asbytes=True),
}
CALL_SITE = "collect at job.py:1"
SQL = "org.apache.spark.sql.execution.ui.SparkListenerSQL"


def text_of(path: Path) -> bytes:
    return b"".join(read_pieces(path))


def told(workload: mi.Workload) -> list[tuple[str, str]]:
    return [(read.table, shown_predicate(read.predicate)) for each in workload.templates for read in each.tables]


def scan(table: str, filters: str, columns: str = "a:bigint,b:string", **facts: str) -> dict[str, Any]:
    return {
        "nodeName": "Scan parquet ",
        "simpleString": "FileScan parquet [a#1L,b#2]",
        "children": [],
        "metadata": {
            "Location": f"InMemoryFileIndex(1 paths)[{table}]",
            "DataFilters": filters,
            "PartitionFilters": "[]",
            "ReadSchema": f"struct<{columns}>",
            **facts,
        },
    }


def node(name: str, text: str, *children: Mapping[str, Any]) -> dict[str, Any]:
    return {"nodeName": name, "simpleString": text, "children": [*children], "metrics": []}


def start(
    number: int, plan: Mapping[str, Any], description: str = "collect at job.py:1", **more: object
) -> dict[str, Any]:
    named = {"executionId": number, "description": description, "sparkPlanInfo": plan, "time": 1_000, **more}
    return {"Event": f"{SQL}ExecutionStart", **named}


def update(number: int, plan: Mapping[str, Any]) -> dict[str, Any]:
    return {"Event": f"{SQL}AdaptiveExecutionUpdate", "executionId": number, "sparkPlanInfo": plan}


def end(number: int, time: int = 3_500) -> dict[str, Any]:
    return {"Event": f"{SQL}ExecutionEnd", "executionId": number, "time": time}


def written(path: Path, events: Sequence[object]) -> Path:
    lines = [event if isinstance(event, str) else json.dumps(event) for event in events]
    path.write_text("\n".join([json.dumps({"Event": "SparkListenerLogStart", "Spark Version": "4.1.0"}), *lines, ""]))
    return path


# -- what Spark wrote --------------------------------------------------------------------------------------------------


def test_what_a_real_log_tells() -> None:
    found = mi.workload(REAL)
    assert told(found) == [
        ("file:/lake/p", "name = 'n5' AND id > 100"),
        ("file:/lake/pp", "k = '3' AND metaindex_unread(name)"),
        ("file:/lake/p", "d >= DATE '2024-01-05' AND ts < TIMESTAMP '2024-01-03 10:00:00.000000+00:00'"),
        ("file:/lake/p", "k = 2 AND NOT (id IS NULL)"),
        ("file:/lake/delta", "startswith(name, 'n1') AND dc > 3.50BD AND NOT (id IS NULL)"),
        ("iceberg.db.ice", "name = 'n5' AND id IN (1, 2, 3)"),
        ("file:/lake/p", "(s.b = 'z' AND upper(name) = 'N1') OR f != TRUE"),
        ("file:/lake/p", f"id IN ({', '.join(map(str, range(100, 400, 3)))})"),
        ("file:/lake/p", "name = 'O\\'Hare (NY) AND more, x' AND x IS NULL"),
        ("file:/lake/cat_t", "k = 3"),
        ("file:/lake/cat_t", "id = 3"),
        ("file:/lake/p", "isnan(x) OR x > 10000000000.0D"),
        ("file:/lake/delta", "id = 999"),
    ]
    assert all(template.seconds is not None and template.seconds > 0 for template in found.templates)
    assert [problem.seen for problem in found.problems] == [2, 1]  # of the cache, and a list of texts with commas
    assert "cached" in found.problems[0].reason


def test_keys_orders_limits_and_columns_of_a_real_log() -> None:
    templates = {shown_predicate(each.tables[0].predicate): each for each in mi.workload(REAL).templates}
    grouped = templates["d >= DATE '2024-01-05' AND ts < TIMESTAMP '2024-01-03 10:00:00.000000+00:00'"]
    assert (grouped.tables[0].group_keys, grouped.tables[0].order, grouped.limit) == (("k",), ("k DESC",), 5)
    assert grouped.tables[0].columns == ("k", "d", "ts")
    joined = templates["k = 2 AND NOT (id IS NULL)"]
    assert [(join.left_table, join.left, join.right_table, join.right) for join in joined.joins] == [
        ("file:/lake/p", "id", "file:/lake/delta", "id")
    ]
    assert (templates["k = 3"].tables[0].order, templates["k = 3"].limit) == (("id",), 2)
    assert "s.b" in templates["(s.b = 'z' AND upper(name) = 'N1') OR f != TRUE"].tables[0].columns
    assert templates["isnan(x) OR x > 10000000000.0D"].tables[0].group_keys == ("k",)  # of a window


def test_readers_that_cut_what_they_say_are_read_by_the_filters_above() -> None:
    found = mi.workload(SOURCES_V2)
    assert (
        "file:/lake/p",
        "name = 'n5' AND id > 100 AND d > DATE '2024-01-02' AND x IN (1.5D, 2.5D) AND dc = 3.00BD",
    ) in told(found)
    assert ("iceberg.db.ip", "k IN (1, 2) OR (name = 'q' AND f != TRUE)") in told(found)
    assert {problem.reason.split(";")[0] for problem in found.problems} == {
        "a condition is told in one way",
        "a number is told with its type",
    }


@pytest.mark.parametrize("suffix", PACKED)
def test_packed_as_spark_packs(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"application_1_0001{suffix}"
    path.write_bytes(PACKED[suffix](text_of(REAL)))
    assert mi.workload(path) == mi.workload(str(path)) == mi.workload(REAL)


def test_rolling_logs_in_their_order(tmp_path: Path) -> None:
    lines = text_of(REAL).splitlines(keepends=True)
    folder = tmp_path / "eventlog_v2_app_1"
    folder.mkdir()
    (folder / "appstatus_app_1.inprogress").touch()
    for number in range(12):
        part = b"".join(lines[number * len(lines) // 12 : (number + 1) * len(lines) // 12])
        (folder / f"events_{number + 1}_app_1.lz4").write_bytes(lz4(part))
    (folder / ".events_3_app_1.crc").write_bytes(b"no event")
    expected = mi.workload(REAL)
    assert mi.workload(folder) == mi.workload(str(folder)) == mi.workload(tmp_path) == expected
    # What is compacted stands for what came before it, whether that is still there or not.
    seven = b"".join(text_of(folder / f"events_{number}_app_1.lz4") for number in range(1, 8))
    (folder / "events_7_app_1.zstd.compact").write_bytes(pa.compress(seven, "zstd", asbytes=True))
    assert mi.workload(folder) == expected
    (folder / "events_2_app_1.lz4").unlink()
    assert mi.workload(folder) == expected
    (folder / "events_9_app_1.lz4").unlink()
    assert "1 are missing" in str(mi.workload(folder).problems)


def test_several_applications_in_a_folder(tmp_path: Path) -> None:
    for name in ("application_1", "application_2"):
        written(tmp_path / name, [start(0, scan("/lake/t", "[(a#1L = 1)]")), end(0)])
    (tmp_path / "part-1.parquet").write_bytes((tmp_path / "application_1").read_bytes())  # no name of a log
    (tmp_path / "link").symlink_to(tmp_path / "application_1")
    assert [template.seen for template in mi.workload(tmp_path).templates] == [2]
    (tmp_path / "empty").mkdir()
    with pytest.raises(mi.ArgumentError):
        mi.workload(tmp_path / "empty")


def test_what_if_of_a_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "t" / "p=1").mkdir(parents=True)
    rows = pa.table({"a": range(100), "b": ["x"] * 100, "i": pa.array(range(100), pa.int32())})
    pq.write_table(rows, tmp_path / "t/p=1/f.parquet")
    plans = [scan(f"file:{tmp_path}/t", f"[(a#1L = {number})]") for number in range(3)]
    plans += [scan("file:/elsewhere/t", "[(a#1L = 1)]")]
    iceberg = node("BatchScan x.t", "BatchScan x.t[i#3] IcebergScan(table=x.t, filters=, groupedBy=)")
    plans += [node("Filter", "Filter (i#3 = 5)", iceberg)]
    log = written(tmp_path / "log", [event for at, plan in enumerate(plans) for event in (start(at, plan), end(at))])
    answer = mi.open_table(tmp_path / "t").what_if(log, mi.ColumnStats())
    asked = [(query.query, query.weight) for query in answer.queries]
    assert asked == [("a = 0", 1), ("a = 1", 1), ("a = 2", 1), ("i = '5'", 1)]
    assert any("1 of 5 queries are of other tables" in note for note in answer.notes)
    assert all(query.now.files.expected == 1 for query in answer.queries)
    assert main(["whatif", str(tmp_path / "t"), "--queries", str(log), "--stats"]) == 0
    assert "a = 0" in capsys.readouterr().out


# -- versions, and what Spark says otherwise ---------------------------------------------------------------------------


def test_older_versions(tmp_path: Path) -> None:
    """Spark 3.0: no number of paths, no root of an execution, no adaptive plan; an application whose zone is its
    machine's."""
    old = scan(
        "x", "[(a#1L = 1), (t#3 = 2024-01-01 00:00:00)]", "a:bigint,t:timestamp", Location="InMemoryFileIndex[file:/t]"
    )
    zone = {"Event": "SparkListenerEnvironmentUpdate", "System Properties": {"user.timezone": "Asia/Tokyo"}}
    found = mi.workload(written(tmp_path / "log", [zone, start(0, old), end(0)]))
    assert told(found) == [("file:/t", "a = 1 AND t = TIMESTAMP '2023-12-31 15:00:00.000000+00:00'")]
    assert found.templates[0].seconds == 2.5


def test_an_adaptive_plan_stands_in_the_place_of_the_one_before_and_counts_once(tmp_path: Path) -> None:
    first, then = scan("/t", "[(a#1L = 1)]"), scan("/t", "[(a#1L = 1), (b#2 = x)]")
    nothing = node("LocalTableScan", "LocalTableScan <empty>")
    events = [
        start(0, node("AdaptiveSparkPlan", "", first)),
        update(0, then),
        update(0, nothing),
        update(9, then),
        end(0),
    ]
    found = mi.workload(written(tmp_path / "log", events))
    assert told(found) == [("/t", "a = 1 AND b = 'x'")]
    assert found.seen == 1


def test_what_a_command_runs_is_one_query(tmp_path: Path) -> None:
    batch = scan("/t", "[]", Location="TahoeBatchFileIndex(1 paths)[file:/t]")
    log = scan("/t", "[]", Location="DeltaLogFileIndex(1 paths)[file:/t/_delta_log/0.json]")
    reading = scan("/t", "[(a#1L = 7)]", Location="TahoeBatchFileIndex(1 paths)[file:/t]")
    events = [
        start(3, log, rootExecutionId=2),  # before the command itself is told
        start(2, node("Execute DeleteCommand", ""), "DELETE FROM t WHERE a = 7", rootExecutionId=2, time=500),
        start(4, reading, rootExecutionId=2),
        start(5, batch, rootExecutionId=2),
        end(4),
        end(3),
        end(2),
    ]
    found = mi.workload(written(tmp_path / "log", events))
    assert told(found) == [("file:/t", "a = 7")]
    assert (found.seen, found.templates[0].text, found.templates[0].seconds) == (1, "DELETE FROM t WHERE a = 7", 3.0)
    assert found.problems == ()


def test_a_text_of_sql_stands_in_for_what_a_plan_cuts(tmp_path: Path) -> None:
    cut = scan("/lake/t", "[isnotnull(b#2), (b#2 = xxxxxxx...")
    sql = "SELECT a FROM t WHERE b = 'xxxxxxxxyyy'"
    found = mi.workload(written(tmp_path / "log", [start(0, cut, sql), end(0), start(1, cut), end(1)]))
    assert told(found) == [("t", "b = 'xxxxxxxxyyy'"), ("/lake/t", "NOT (b IS NULL) AND metaindex_unread(b)")]
    assert [(problem.seen, problem.example) for problem in found.problems] == [(1, "collect at job.py:1")]
    assert "cuts it" in found.problems[0].reason


def test_texts_alone_where_the_plan_tells_no_table(tmp_path: Path) -> None:
    other = node("Scan JDBCRelation(t) ", "Scan JDBCRelation(t) [a#1]")
    events = [
        start(0, other, "SELECT a FROM t WHERE a = 1"),
        end(0),
        start(1, other),
        start(2, {}, "SET x = 1"),
        end(2),
    ]
    found = mi.workload(written(tmp_path / "log", events))
    assert told(found) == [("t", "a = 1")]
    assert ["another source" in problem.reason for problem in found.problems] == [True]


def test_partitions_that_the_catalog_lists_are_their_table(tmp_path: Path) -> None:
    listed = "InMemoryFileIndex(2 paths)[s3a://b/t/p=1/q=x, s3a://b/t/p=2/q=y]"
    other = "InMemoryFileIndex(2 paths)[/a/t, /b/t]"
    plan = node("Union", "Union", scan("x", "[(a#1L = 1)]", Location=listed), scan("x", "[]", Location=other))
    named = scan("x", "[(a#1L = 2)]", Location=other) | {"nodeName": "Scan parquet spark_catalog.db.t"}
    found = mi.workload(written(tmp_path / "log", [start(0, plan), start(1, named)]))
    assert told(found) == [("s3a://b/t", "a = 1"), ("spark_catalog.db.t", "a = 2")]


def test_joins_by_other_names(tmp_path: Path) -> None:
    right = scan("/u", "[]") | {"simpleString": "FileScan parquet [a#11L,b#12]"}
    plan = node(
        "SortMergeJoin",
        "SortMergeJoin [x#21L, cast(b#2 as int)], [a#11L, b#12], Inner",
        node("Project", "Project [a#1L AS x#21L, b#2]", scan("/t", "[]")),
        node("Sort", "Sort [a#11L ASC NULLS FIRST], false, 0", right),
    )
    plan = node("Sort", "Sort [x#21L DESC NULLS LAST, b#12 ASC NULLS FIRST], true, 0", plan)
    (template,) = mi.workload(written(tmp_path / "log", [start(0, plan)])).templates
    assert [(join.left_table, join.left, join.right_table, join.right) for join in template.joins] == [
        ("/t", "a", "/u", "a"),
        ("", "", "/u", "b"),
    ]
    assert [read.order for read in template.tables] == [("a DESC",), ()]
    top = "TakeOrderedAndProject(limit=3, orderBy=[b#2 ASC NULLS FIRST,a#1L DESC NULLS LAST], output=[a#1L])"
    plan = node("TakeOrderedAndProject", top, scan("/t", "[]"))
    (template,) = mi.workload(written(tmp_path / "log", [start(0, plan)])).templates
    assert (template.tables[0].order, template.limit) == (("b", "a DESC"), 3)


# -- what is wrong -----------------------------------------------------------------------------------------------------


def read(path: Path) -> mi.Workload | None:
    """None where not even the beginning can be unpacked, which is told by an error. A file that does not begin as a log
    does is one of statements."""
    try:
        return mi.workload(path)
    except mi.StorageError:
        return None


@pytest.mark.slow
def test_a_small_log_cut_at_every_byte(tmp_path: Path) -> None:
    events = [start(0, scan("/t", "[(a#1L = 1)]")), end(0), start(1, scan("/t", "[(b#2 = x)]"), "SELECT 1"), end(1)]
    text = written(tmp_path / "log", events).read_bytes()
    for suffix in ("", ".zstd", ".lz4", ".snappy", ".gz"):
        packed = PACKED[suffix](text)
        path = tmp_path / f"cut{suffix}"
        for cut in range(len(packed)):
            path.write_bytes(packed[:cut])
            found = read(path)
            assert found is None or found.seen <= 2
            reads = [each for template in found.templates for each in template.tables] if found is not None else []
            assert all(each.columns == ("a", "b") for each in reads if each.table == "/t")


@pytest.mark.slow
def test_a_log_with_bytes_that_are_others(tmp_path: Path) -> None:
    chance = random.Random(5)
    text = text_of(SOURCES_V2)
    for suffix in ("", ".zstd", ".lz4", ".snappy", ".gz"):
        packed = PACKED[suffix](text)
        path = tmp_path / f"app{suffix}"
        for _ in range(25):
            damaged = bytearray(packed)
            for _ in range(chance.choice([1, 3, 20])):
                damaged[chance.randrange(60, len(damaged))] = chance.randrange(256)
            path.write_bytes(damaged)
            found = read(path)
            assert found is None or all(len(str(problem)) < 1_000 for problem in found.problems)


HOSTILE: tuple[object, ...] = (
    "no event",
    '{"Event":"' + SQL + 'ExecutionStart"',
    '{"Event":"' + SQL + 'ExecutionStart","sparkPlanInfo":' + "[" * 100_000,
    '{"Event":"' + SQL + 'ExecutionStart"} behind',
    {"Event": f"{SQL}ExecutionStart"},
    {"Event": "of.another.Listener", "executionId": 1},
    {"executionId": 1},
    start(-1, {}),
    start(True, {}),
    start(1 << 70, {}),
    start(1, {}) | {"executionId": "1"},
    start(2, {"nodeName": 3, "children": {"a": 1}, "metadata": []}),
    start(3, {"nodeName": "Scan parquet ", "simpleString": None, "children": [3]}),
    start(4, scan("/t", "[" + "(" * 10_000)),
    start(5, scan("/t", "[(a#1L = 99999999999999999999999999)]")),
    start(6, scan("/t", "[(b#2 = \ud800\0)]")),
    start(7, scan("/t", "[]", ReadSchema="struct<" * 5_000)),
    start(8, scan("/t", "[]", Location="InMemoryFileIndex(1 paths)[" + "/a=1" * 5_000)),
    start(9, node("SortMergeJoin", "SortMergeJoin " + "[], " * 20_000)),
    start(10, node("Window", "Window " + "], [" * 20_000)),
    start(11, scan("/t", "[" + "a" * 500_000 + "]")),
    start(12, node("BatchScan x.y", "BatchScan x.y[] Iceberg filters=" + "'" * 100_000 + ", groupedBy=")),
    start(13, node("BatchScan x.y", "filters=" * 50_000)),
    start(14, {}, time=-5, modifiedConfigs=["spark.sql.session.timeZone"]),
    start(
        15,
        scan("/t", "[(t#3 = 2024-01-01 00:00:00)]", "t:timestamp"),
        modifiedConfigs={"spark.sql.session.timeZone": "No/Where"},
    ),
    update(1, {"children": None}),
    end(1, time=-3),
    end(99),
    {"Event": "SparkListenerEnvironmentUpdate", "Spark Properties": 3, "System Properties": {"user.timezone": 4}},
    "[" * 200_000,
    "null",
    "\ufeff{}",
)


@pytest.mark.parametrize("event", HOSTILE, ids=range(len(HOSTILE)))
def test_any_event_is_read_or_told_and_the_rest_goes_on(tmp_path: Path, event: object) -> None:
    good = [start(100, scan("/good", "[(a#1L = 1)]")), end(100)]
    found = mi.workload(written(tmp_path / "log", [event, *good]))
    assert ("/good", "a = 1") in told(found)
    str(found), found._repr_html_(), json.dumps(found.to_json())


@pytest.mark.slow
def test_deep_plans_and_large_ones_are_told(tmp_path: Path) -> None:
    deep: dict[str, Any] = scan("/t", "[]")
    for _ in range(400):
        deep = node("Project", "Project", deep)
    wide = node("Union", "Union", *[node("Union", "Union")] * 100_001)
    for plan in (deep, wide):
        found = mi.workload(written(tmp_path / "log", [start(0, plan), end(0)]))
        assert (found.seen, len(found.problems)) == (0, 1)
    shallow = deep
    for _ in range(150):
        shallow = shallow["children"][0]
    assert mi.workload(written(tmp_path / "log", [start(0, shallow), end(0)])).seen == 1


def test_a_log_without_queries_is_told(tmp_path: Path) -> None:
    (problem,) = mi.workload(written(tmp_path / "log", [{"Event": "SparkListenerApplicationEnd"}])).problems
    assert "this one has none" in problem.reason


@pytest.mark.slow
def test_a_line_that_is_too_long_is_passed_over(tmp_path: Path) -> None:
    long = '{"Event":"SparkListenerTaskEnd","x":"' + "x" * (3 * MOST_BYTES) + '"}'
    found = mi.workload(written(tmp_path / "log", [long, start(0, scan("/t", "[(a#1L = 1)]"))]))
    assert told(found) == [("/t", "a = 1")]
    assert [problem.seen for problem in found.problems] == [1]


@pytest.mark.slow
def test_a_bomb_is_not_unpacked(tmp_path: Path) -> None:
    head = json.dumps(start(0, scan("/t", "[(a#1L = 1)]"))).encode() + b"\n"
    path = tmp_path / "app.zstd"
    with pa.output_stream(str(path), compression="zstd") as packed:
        packed.write(head)
        for _ in range(128):
            packed.write(b"\0" * (1 << 20))
    assert path.stat().st_size < 100_000
    found = mi.workload(path)
    assert told(found) == [("/t", "a = 1")]
    assert any("unpacks to more" in problem.reason for problem in found.problems)


@pytest.mark.slow
def test_many_events_are_streamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whose ends never come, too."""
    monkeypatch.setattr(events, "MOST_HELD", 1_000_000)
    task = json.dumps({"Event": "SparkListenerTaskEnd", "Task Metrics": {"x": "y" * 300}})
    with (tmp_path / "log").open("w") as file:
        file.write(task + "\n")
        for number in range(600):
            plan = scan("/t", f"[(a#1L = {number}), (b#2 = {'n' * 5_000}{number})]")
            file.write(json.dumps(start(number, plan)) + "\n")
            file.write((task + "\n") * 20)
    mi.workload(REAL)
    tracemalloc.start()
    found = mi.workload(tmp_path / "log")
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [template.seen for template in found.templates] == [600]
    assert most < 4_000_000 < (tmp_path / "log").stat().st_size


def test_reads_are_values(tmp_path: Path) -> None:
    log = written(tmp_path / "log", [start(0, scan("/t", "[(a#1L = 1)]"))])
    assert mi.workload(log).templates[0].tables == (TableRead("/t", mi.col("a") == 1, ("a", "b")),)


def test_a_log_that_is_packed_by_lzf_is_told_with_a_cure(tmp_path: Path) -> None:
    packed = b"ZV\x00\x00\x05hello"
    (tmp_path / "app-1.lzf").write_bytes(packed)
    (tmp_path / "eventlog_v2_app-2").mkdir()
    (tmp_path / "eventlog_v2_app-2" / "events_1_app-2.lzf").write_bytes(packed)
    for path in (tmp_path, tmp_path / "app-1.lzf", tmp_path / "eventlog_v2_app-2"):
        found = mi.workload(path)
        assert found.seen == 0
        assert any("spark.eventLog.compression.codec=zstd" in problem.reason for problem in found.problems)


@pytest.mark.parametrize("place", ["s3://bucket/spark-events", "s3a://b/eventlog_v2_app-1", "gs://b/q.sql"])
def test_a_workload_on_a_store_is_refused_with_a_cure(place: str) -> None:
    for told in (place, Path(place)):
        with pytest.raises(mi.UnsupportedFeatureError, match=f"{place} is on a store; copy it here first"):
            mi.workload(told)
    assert mi.workload("x = 's3://bucket/x'").seen == 1


SECRET = "WJa/lrX+Ut:n"


def test_credentials_of_a_place_are_never_told(tmp_path: Path) -> None:
    place = f"s3a://AKIA:{SECRET}@lake/t"
    events = [start(0, scan(place, "[(a#1L = 1)]")), start(1, scan(place, "[(a#1L = 1"))]
    log = mi.workload(written(tmp_path / "log", events))
    texts = mi.workload([f"SELECT a FROM parquet.`{place}` WHERE a = 1", f"SELECT a FROM parquet.`{place}` WHERE a ="])
    assert {template.tables[0].table for template in log.templates} == {"s3a://lake/t"}
    assert [len(texts.templates), len(texts.problems)] == [1, 1]
    told = []
    for found in (log, texts):
        told += [str(found), found._repr_html_(), json.dumps(found.to_json()), repr(found.templates)]
    for refused in (place, f"s3://lake/t?X-Amz-Signature={SECRET}"):
        with pytest.raises(mi.UnsupportedFeatureError) as error:
            mi.workload(refused)
        told.append(str(error.value))
    assert not [text for text in told if SECRET in text]


def test_ports_and_signs_of_a_path_stay(tmp_path: Path) -> None:
    for place in ("hdfs://node:8020/a:b@c/t", "abfss://lake@account.dfs.core.windows.net/t", "s3://lake/a:b@c/t"):
        (template,) = mi.workload(written(tmp_path / "log", [start(0, scan(place, "[(a#1L = 1)]"))])).templates
        assert template.tables[0].table == place


def test_a_file_by_its_url(tmp_path: Path) -> None:
    (tmp_path / "q.sql").write_text("SELECT a FROM t WHERE a = 1;")
    assert mi.workload(f"file://{tmp_path}/q.sql").seen == mi.workload(f"file:{tmp_path}/q.sql").seen == 1
