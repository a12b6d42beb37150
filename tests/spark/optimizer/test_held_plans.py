"""What was proved when a plan was made holds when it runs: a DataFrame keeps its plan. Plain files replaced under it
give the rows that they give without an index, by whatever action, and however late the plan runs."""

import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

import metaindex as mi
import metaindex.spark as rule
from metaindex.spark.optimizer.executed import leaves
from tests.examples import few
from tests.spark.optimizer.lakes import ruled
from tests.spark.optimizer.test_text_scans import read_files

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore:.*copy keyword")]
FILES, ROWS = 6, 200
THEN = 1_700_000_000
ONE_TASK = "spark.sql.optimizer.singleTaskExecution.enabled"
Frame = Callable[[SparkSession, str], DataFrame]


def write(path: Path, number: int, first: int, rows: int = ROWS) -> None:
    """A file whose id are some ten thousands above those of the others."""
    ids = range(first, first + rows)
    table = pa.table({"id": pa.array(ids, pa.int64()), "v": pa.array([i % 7 for i in ids], pa.int32())})
    # Of a file that has grown Spark reads what lies in as many bytes as it had: whole row groups, all or none here.
    size = 50 if rows == ROWS else rows
    pq.write_table(table, path / f"{number}.parquet", row_group_size=size, compression="none", use_dictionary=False)
    os.utime(path / f"{number}.parquet", (THEN, THEN))


def folder(tmp_path: Path) -> Path:
    path = tmp_path / "t"
    path.mkdir()
    for number in range(FILES):
        write(path, number, 10_000 * (number + 1))
    return path


def joined(spark: SparkSession, path: str) -> DataFrame:
    keys = spark.sql("SELECT * FROM VALUES (30050L), (90050L), (10050L) AS few(id)").hint("broadcast")
    return spark.read.parquet(path).join(keys, "id")


FRAMES: dict[str, Frame] = {
    "filter": lambda spark, path: spark.read.parquet(path).where("id IN (90050, 30050)"),
    "row groups": lambda spark, path: spark.read.parquet(path).where("id IN (30050, 90120, 90150)"),
    "no file": lambda spark, path: spark.read.parquet(path).where("id = 90050"),
    "first rows": lambda spark, path: spark.read.parquet(path).orderBy("id", ascending=False).limit(3),
    "some rows": lambda spark, path: spark.read.parquet(path).where("id > 85000").limit(300),
    "join": joined,
    "join and filter": lambda spark, path: joined(spark, path).where("id > 25000"),
    "all": lambda spark, path: spark.read.parquet(path).where("id BETWEEN 10050 AND 90050"),
    "count": lambda spark, path: spark.read.parquet(path).where("id >= 10000").selectExpr("count(*) n", "max(id) m"),
    "group": lambda spark, path: spark.read.parquet(path).where("id > 85000 OR v = 3").groupBy("v").count(),
    "group by buckets": lambda spark, path: spark.read.parquet(path).groupBy("id").max("v"),
    "join by buckets": lambda spark, path: (
        spark.read.parquet(path).where("id > 25000").join(spark.read.parquet(path).select("id"), "id")
    ),
}
ACTIONS: dict[str, Callable[[DataFrame], list[Any]]] = {
    "collect": lambda frame: [tuple(row) for row in frame.collect()],
    "toPandas": lambda frame: list(frame.toPandas().itertuples(index=False, name=None)),
    "toLocalIterator": lambda frame: [tuple(row) for row in frame.toLocalIterator()],
    "rdd": lambda frame: [tuple(row) for row in frame.rdd.collect()],
    "foreach": lambda frame: [frame._jdf.queryExecution().toRdd().count()],
}


@pytest.fixture
def session(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Iterator[SparkSession]:
    monkeypatch.setattr("metaindex.query.readers.row_groups.SMALL_BYTES", 0)
    found = spark.newSession()
    found.conf.set("spark.sql.execution.arrow.pyspark.enabled", "true")
    with ruled(found, rule=mi.RuleConfig(join_scan_bytes=0, max_appended_ratio=1.0, max_deleted_ratio=1.0)):
        yield found


def given(frame: DataFrame) -> dict[str, int]:
    """Rows that each scan gave which looks at its facts, by its list."""
    plan = frame._jdf.queryExecution().executedPlan()
    adaptive = plan.getClass().getSimpleName() == "AdaptiveSparkPlanExec"
    leaves = (plan.finalPhysicalPlan() if adaptive else plan).collectLeaves()
    scans = [leaves.apply(at) for at in range(leaves.size())]
    return {
        str(scan.relation().location().getClass().getSimpleName()): int(scan.metrics().apply("numOutputRows").value())
        for scan in scans
        if scan.getClass().getSimpleName() == "CheckedScan"
    }


def plan_of(frame: DataFrame) -> str:
    return str(frame._jdf.queryExecution().executedPlan())


def planned(session: SparkSession, path: Path, *, indexed: bool) -> dict[str, DataFrame]:
    session.conf.set("spark.metaindex.enabled", str(indexed).lower())
    frames = {name: ask(session, str(path)) for name, ask in FRAMES.items()}
    for frame in frames.values():
        plan_of(frame)
    session.conf.unset("spark.metaindex.enabled")
    return frames


def compared(
    on: dict[str, DataFrame], off: dict[str, DataFrame], new: dict[str, DataFrame], actions: list[str]
) -> None:
    """Where Spark's own plan exchanges rows, it keeps those of its first run; one without exchange reads anew."""
    for name in on:
        for action in actions:
            do = ACTIONS[action]
            found, held = sorted(do(on[name])), sorted(do(off[name]))
            assert found == held or found == sorted(do(new[name])), (name, action, found, held)


@pytest.mark.parametrize("adaptive", ["true", "false"])
@pytest.mark.parametrize("covered", ["", "one run", "two runs and a file"], ids=lambda covered: covered or "skipping")
def test_a_plan_that_is_held_reads_what_was_replaced(
    session: SparkSession, tmp_path: Path, adaptive: str, covered: str
) -> None:
    session.conf.set("spark.sql.adaptive.enabled", adaptive)
    session.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    path = folder(tmp_path)
    table = mi.open_table(path, spark=session)
    kinds = [mi.Covering(["id"], ["v"], buckets=4)] if covered else [mi.ColumnStats(), mi.Values("id")]
    table.create_index("x", *kinds)
    if covered.startswith("two"):
        write(path, FILES, 10_000 * (FILES + 1))
        mi.open_table(path, spark=session).refresh_index("x")
        write(path, FILES + 1, 10_000 * (FILES + 2))
    first = [planned(session, path, indexed=indexed) for indexed in (True, False)]
    ran = [planned(session, path, indexed=indexed) for indexed in (True, False)]
    kept = [{name: frame.rdd for name, frame in planned(session, path, indexed=on).items()} for on in (True, False)]
    buckets = [name for name, frame in ran[0].items() if "CheckedBuckets" in plan_of(frame)]
    assert buckets == (["group by buckets", "join by buckets"] if covered else [])
    compared(*ran, ran[1], ["collect", "toPandas", "rdd", "foreach"])
    assert rule.counts(session).rewritten > 0
    counted = session.conf.get(ONE_TASK, "false") != "true"  # else Spark says of no scan how many files it reads
    for name, files in {} if covered or not counted else {"filter": 1, "no file": 0, "first rows": 1}.items():
        frame = FRAMES[name](session, str(path))
        frame.collect()
        assert read_files(frame) == files, name
    for again, rows in enumerate((3 * ROWS, ROWS)[: few(1, 2)]):
        write(path, 2, 90_000 + again, rows)
        compared(*ran, planned(session, path, indexed=False), list(ACTIONS))
    for name, rows in kept[0].items():
        found = sorted(map(tuple, rows.collect()))
        # Spark's own adaptive plan has run what it exchanges when the RDD was made, the index has not.
        assert found in [sorted(map(tuple, one.collect())) for one in (kept[1][name], first[1][name])], name
    compared(*first, planned(session, path, indexed=False), list(ACTIONS))
    assert rule.counts(session).failed == 0, rule.counts(session).last_error


@pytest.mark.parametrize("covered", ["", "two runs and a file"], ids=lambda covered: covered or "skipping")
def test_a_small_scan_that_is_one_task_reads_what_was_replaced(
    session: SparkSession, tmp_path: Path, covered: str
) -> None:
    make_one_task(session)
    test_a_plan_that_is_held_reads_what_was_replaced(session, tmp_path, "true", covered)


def test_groups_of_the_one_file_that_is_left_are_one_task_when_others_come_back(
    session: SparkSession, tmp_path: Path
) -> None:
    """Spark lists the files as it plans, and exchanges nothing above a scan of one: no other plan would be right."""
    make_one_task(session)
    path = folder(tmp_path)
    mi.open_table(path).create_index("x", mi.ColumnStats(), builder="local")
    groups = session.read.parquet(str(path)).where("id IN (30050, 90050)").groupBy("v").count()
    assert "Exchange" not in plan_of(groups)
    (scan,) = leaves(groups._jdf.queryExecution().executedPlan())
    assert scan.getClass().getSimpleName() == "CheckedScan"
    assert ACTIONS["collect"](groups) == [(30050 % 7, 1)]
    write(path, 1, 30_000)
    write(path, 4, 90_000)
    assert sorted(ACTIONS["collect"](groups)) == [(90050 % 7, 1), (30050 % 7, 2)]


def make_one_task(session: SparkSession) -> None:
    """Small scans are one task, where Spark has that."""
    if not session.conf.isModifiable(ONE_TASK):
        pytest.skip("no scan is made one task before Spark 4.3")
    session.conf.set(ONE_TASK, "true")


def test_rows_that_are_fetched_little_by_little_are_of_one_state(session: SparkSession, tmp_path: Path) -> None:
    """An index that has given some rows of a file gives all of them, in all jobs of a run."""
    path = folder(tmp_path)
    mi.open_table(path, spark=session).create_index("x", mi.Covering(["id"], ["v"]))
    frame = FRAMES["all"](session, str(path))
    expected = sorted(ACTIONS["collect"](frame))
    assert rule.counts(session).rewritten > 0
    assert given(frame) == {"CoveringFiles": FILES * ROWS, "KeptFiles": 0}
    rows = frame._jdf.toLocalIterator()
    found = [rows.next()]
    write(path, 2, 90_000)
    while rows.hasNext():
        found.append(rows.next())
    assert sorted((row.getLong(0), row.getInt(1)) for row in found) == expected
    assert len(list(frame.toLocalIterator())) == len(expected) - ROWS + 51
    kept = frame.rdd
    for again in range(2):
        session.conf.set("spark.metaindex.enabled", "false")
        expected = sorted(ACTIONS["collect"](FRAMES["all"](session, str(path))))
        session.conf.unset("spark.metaindex.enabled")
        assert sorted(map(tuple, kept.collect())) == sorted(ACTIONS["collect"](frame)) == expected
        write(path, 2, 90_100 + again)


def test_a_plan_of_which_nobody_looks_reads_the_files(session: SparkSession, tmp_path: Path) -> None:
    """What plans scans that look was taken away once the plan was made."""
    path = folder(tmp_path)
    mi.open_table(path, spark=session).create_index("x", mi.Covering(["id"], ["v"]), mi.ColumnStats())
    frames = {name: ask(session, str(path)) for name, ask in FRAMES.items()}
    for frame in frames.values():
        frame._jdf.queryExecution().optimizedPlan()
    assert rule.counts(session).rewritten > len(FRAMES) // 2
    mi.disable(session)
    for name, frame in frames.items():
        assert sorted(ACTIONS["collect"](frame)) == sorted(ACTIONS["collect"](FRAMES[name](session, str(path)))), name


def test_a_file_that_is_gone_fails_alike(session: SparkSession, tmp_path: Path) -> None:
    path = folder(tmp_path)
    mi.open_table(path).create_index("x", mi.ColumnStats(), builder="local")
    frame = session.read.parquet(str(path)).where("id = 30050")
    assert len(frame.collect()) == 1
    (path / "0.parquet").unlink()
    with pytest.raises(Exception, match=r"FILE_NOT_EXIST|does not exist"):
        frame.collect()
    session.conf.set("spark.sql.files.ignoreMissingFiles", "true")
    assert len(session.read.parquet(str(path)).where("id = 30050").collect()) == 1


@pytest.mark.parametrize("adaptive", ["true", "false"])
@pytest.mark.parametrize("changed", ["overwritten", "same bytes"])
@pytest.mark.parametrize("again", ["lost block", "other jobs"])
def test_what_is_computed_again_in_part_is_of_one_state(
    session: SparkSession, tmp_path: Path, adaptive: str, changed: str, again: str
) -> None:
    """Of blocks that are kept one is lost, or jobs take some partitions each: others have what they had."""
    session.conf.set("spark.sql.adaptive.enabled", adaptive)
    path = folder(tmp_path)
    mi.open_table(path, spark=session).create_index("x", mi.Covering(["id"], ["v"], buckets=4))
    frame = FRAMES["all"](session, str(path))
    context, jvm = session.sparkContext, session._jvm
    assert jvm is not None
    if again == "lost block":
        before = {int(one) for one in context._jsc.getPersistentRDDs()}  # of other tests
        first = frame.cache().count()
        (kept,) = {int(one) for one in context._jsc.getPersistentRDDs()} - before
    else:
        rows = frame.rdd
        first = FILES * ROWS - 50
        rows.first()
    assert rule.counts(session).rewritten > 0
    write(path, 2, 90_000) if changed == "overwritten" else (path / "2.parquet").chmod(0o600)
    if again == "lost block":
        # By its field: Spark 4.3 has a method whose types come with a jar of their own, and is not asked for methods.
        field = jvm.java.lang.Class.forName("org.apache.spark.SparkEnv").getDeclaredField("blockManager")
        field.setAccessible(True)
        field.get(context._jsc.sc().env()).removeBlock(jvm.org.apache.spark.storage.RDDBlockId(kept, 1), True)
        found = frame.collect()
        frame.unpersist(True)
    else:
        parts = range(rows.getNumPartitions())
        found = [row for some in (list(parts)[1:], [0]) for row in context.runJob(rows, list, some)]
    ids = [row.id for row in found]
    assert len(ids) == len(set(ids)) == first


@contextmanager
def busy(session: SparkSession, until: Path) -> Iterator[None]:
    """In which stages are sent, and none of their tasks: others have all of the room."""

    def wait(_: Any) -> None:
        while not until.exists():
            time.sleep(0.02)

    context = session.sparkContext
    before = set(context.statusTracker().getActiveStageIds())
    with ThreadPoolExecutor(1) as other:
        taken = other.submit(lambda: context.parallelize(range(8), 8).foreach(wait))
        try:
            while set(context.statusTracker().getActiveStageIds()) <= before:
                assert not taken.done()
            yield
        finally:
            until.touch()
    taken.result()


def test_runs_of_one_plan_have_rows_of_their_own_state(session: SparkSession, tmp_path: Path) -> None:
    """An iterator goes on as it began, whatever runs in between. What would need other rows than a run that is not done
    fails."""
    path = folder(tmp_path)
    mi.open_table(path, spark=session).create_index("x", mi.Covering(["id"], ["v"]))
    frames = [FRAMES["all"](session, str(path)) for _ in range(2)]
    first = {row.id for row in frames[1].collect()}
    rows = frames[0].toLocalIterator()
    found = [next(rows).id]
    assert rule.counts(session).rewritten == 2
    active = session.sparkContext.statusTracker().getActiveStageIds
    with ThreadPoolExecutor(2) as others:
        with busy(session, tmp_path / "done"):
            before = set(active())
            one = others.submit(frames[1].collect)
            while len(set(active()) - before) < 1:
                assert not one.done()
            write(path, 2, 90_000)
            other = others.submit(frames[1].collect)
            while len(set(active()) - before) < 2 and not other.done():
                assert not one.done()
        assert {row.id for row in one.result()} == first
        with pytest.raises(Exception, match="run this one again"):
            other.result()
    now = first - set(range(30_000, 30_200)) | set(range(90_000, 90_051))
    assert [{row.id for row in frame.collect()} for frame in frames] == [now, now]
    found += [row.id for row in rows]
    assert set(found) == first
    assert len(found) == len(first)
