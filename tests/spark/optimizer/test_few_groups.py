"""A covering index is not read bucket by bucket where that saves nothing: groups by few keys (what scans that Spark
reads once for several places cost: `test_ranking`)."""

import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import metaindex as mi
import metaindex.spark as rule
from metaindex.core import SparkDriver
from metaindex.index.kinds.covering.spec import BUCKETS
from metaindex.spark.optimizer.placing import SORTED_BUCKETS, _strategy
from metaindex.table import handle_of
from tests.compiling import uncompiled
from tests.spark.optimizer.changing_lakes import asked


def test_few_keys_and_many(sorting: SparkSession, tmp_path: Path) -> None:
    spark, path = sorting, str(tmp_path / "t")
    frame = spark.range(0, 20_000, 1, 4).selectExpr(
        "id", "CAST(id % 2 AS int) AS c", "CAST(id * 7919 % 15000 AS int) AS k", "CAST(id AS double) / 7 AS d"
    )
    frame.write.format("delta").save(path)
    table = mi.open_table(path, spark=spark)
    table.create_index("few", mi.Covering(["c"], ["d"], buckets=16))
    table.create_index("many", mi.Covering(["k"], ["d"]))
    (key,) = (
        next(one for one in handle_of(table).open_indexes(None)[0] if one.name == "many").entry.content.runs[0].keys
    )
    assert key.layout["buckets"] == BUCKETS[0], "which follows from the table's size"
    asked(spark, f"SELECT c, count(*) AS n, round(sum(d)) AS s FROM delta.`{path}` GROUP BY c", by=None)
    plan = asked(
        spark, f"SELECT k, count(*) AS n, round(sum(d)) AS s FROM delta.`{path}` GROUP BY k", by="many: covering"
    )
    assert "Exchange hashpartitioning" not in plan


def test_buckets_without_rows_are_no_tasks(sorting: SparkSession, tmp_path: Path) -> None:
    """Those that a filter leaves out are none either; rows of one key still meet in one task."""
    spark, path = sorting, str(tmp_path / "t")
    frame = spark.range(0, 4_000, 1, 4).selectExpr("id AS k", "CAST(id % 11 AS bigint) AS v")
    frame.write.format("delta").save(path)
    mi.open_table(path, spark=spark).create_index("by_k", mi.Covering(["k"], ["v"], buckets=32))
    text = f"SELECT k, count(*) AS n, sum(v) AS s FROM delta.`{path}` WHERE {{}} GROUP BY k"
    for where, tasks in (("k = 77", 1), ("k IN (5, 77, 1234)", 4)):
        assert f"(Coalesced to {tasks})" in asked(spark, text.format(where), by="by_k: covering")
    for where in ("k IS NULL", "k IN (7) AND k > 9", "k < 5", "k = 77 OR k IS NULL"):
        asked(spark, text.format(where), by="")
    asked(spark, f"SELECT count(DISTINCT k) AS n FROM delta.`{path}` WHERE k IN (5, 77, 1234)", by="")
    plan = asked(spark, f"SELECT k, sum(v) AS s FROM delta.`{path}` GROUP BY k", by="by_k: covering")
    assert "Coalesced" not in plan, "each bucket has rows"
    spark.range(0, 40, 1, 2).selectExpr("id % 4 AS k", "id AS v").write.format("delta").save(path + "few")
    mi.open_table(path + "few", spark=spark).create_index("by_k", mi.Covering(["k"], ["v"], buckets=32))
    with SparkDriver(spark).setting("spark.metaindex.filterRule.useBucketSpec", "true"):
        for other in (
            f"SELECT k, count(*) AS n, sum(v) AS s FROM delta.`{path}few` WHERE k < 3 GROUP BY k",
            f"SELECT a.k, count(*) AS n FROM delta.`{path}few` a JOIN delta.`{path}` b ON a.k = b.k WHERE a.k < 3"
            " GROUP BY a.k",
        ):
            asked(spark, other, by="")
    assert rule.counts(spark).failed == 0, rule.counts(spark).last_error


def _facts_and_names(spark: SparkSession, folder: Path) -> tuple[str, str]:
    """Where the two tables are, but for their names; a join of them, but for its kind and its condition."""
    path = str(folder / "t")
    for name, keys in (("facts", 4_000), ("names", 40)):
        frame = spark.range(0, 4_000, 1, 4).selectExpr(f"id % {keys} AS k", "id AS v", "id % 7 AS other")
        with uncompiled(spark):
            frame.write.format("delta").save(path + name)
            mi.open_table(path + name, spark=spark).create_index("by_k", mi.Covering(["k"], ["v"], buckets=32))
    return path, (
        f"SELECT a.k, count(*) AS n, sum(a.v + b.v) AS s FROM delta.`{path}facts` a {{}} JOIN delta.`{path}names` b"
        " ON a.k = b.k WHERE {} GROUP BY a.k"
    )


def test_both_sides_of_a_join_leave_out_buckets_alike(sorting: SparkSession, tmp_path: Path) -> None:
    """Where few are left on either side, no side is exchanged, and no task is made for the others."""
    spark = sorting
    path, join = _facts_and_names(spark, tmp_path)
    for where, tasks in (("a.k = 7", 1), ("a.k IN (5, 7, 1234)", 4)):
        plan = asked(spark, join.format("", where), by="by_k: covering")
        assert plan.count(f"(Coalesced to {tasks})") == 2, plan
        assert "Exchange hashpartitioning" not in plan, plan
    three = (
        f"SELECT count(*) AS n FROM delta.`{path}facts` a JOIN delta.`{path}names` b ON a.k = b.k JOIN"
        f" delta.`{path}facts` c ON b.k = c.k"
    )
    for where in ("a.k = 7", "a.other = 3 AND a.k = 7", "c.v = 7", "a.k = 7 AND c.v < 9"):
        asked(spark, f"{three} WHERE {where}", by="")
    assert rule.counts(spark).failed == 0, rule.counts(spark).last_error


@pytest.mark.parametrize("kind", ["LEFT", "RIGHT", "FULL"])
def test_a_side_without_a_partner_keeps_its_rows(sorting: SparkSession, tmp_path: Path, kind: str) -> None:
    """Whatever is asked of either side, and whichever buckets that leaves out."""
    _, join = _facts_and_names(sorting, tmp_path)
    for where in ("a.k = 7", "b.k IN (5, 7, 1234)", "a.k = 7 OR b.k = 9", "b.v = 9"):
        asked(sorting, join.format(kind, where), by="")
    assert rule.counts(sorting).failed == 0, rule.counts(sorting).last_error


def test_a_bucket_is_found_without_compiling(sorting: SparkSession, tmp_path: Path) -> None:
    """For each value that a filter names, Spark generates a class that tells its bucket: one source for all values of a
    type and a number of buckets, which nothing else here has."""
    spark, path = sorting, str(tmp_path / "t")
    spark.range(0, 4_000, 1, 4).selectExpr("id AS k", "id % 11 AS v").write.parquet(path)
    mi.open_table(path, spark=spark).create_index("by_k", mi.Covering(["k"], ["v"], buckets=37))
    compiled = spark._jvm.org.apache.spark.metrics.source.CodegenMetrics.METRIC_COMPILATION_TIME()
    for group in ("", " GROUP BY v", " GROUP BY k, v"):
        plan = spark.sql(f"SELECT v FROM parquet.`{path}` WHERE k IN (100, 107){group}")._jdf.queryExecution()
        plan.optimizedPlan()
        before = compiled.getCount()
        assert "CoveringFiles" in plan.executedPlan().toString()
        assert compiled.getCount() == before, group


# Groups in an order ---------------------------------------------------------------------------------------------------


KEYS = {
    "int": "CAST(n * 17 - 4000 AS int)",
    "bigint": "n * 4000000000 - 200",
    "string": "concat(repeat('x', CAST(n % 3 AS int)), n)",
    "decimal": "CAST((n * 17 - 3000) / 3 AS decimal(20, 3))",
    "date": "date_add(DATE'1960-12-01', CAST(n * 3 AS int))",
    "timestamp": "timestamp_seconds(n * 100000 - 1000)",
    "binary": "CAST(concat('b', n) AS binary)",
}
"""By type: of the number of the group."""
GROUPED = [
    "SELECT k, count(*), sum(v), min(name) FROM {t} GROUP BY k",
    "SELECT max(c) FROM (SELECT k AS other, count(v) AS c FROM {t} WHERE v > 20 GROUP BY k HAVING sum(v) > 30)",
    "SELECT DISTINCT k FROM {t}",
    "SELECT k, sum(v) FILTER (WHERE v % 2 = 0), avg(v) + 1, count(*) FROM {t} WHERE k IS NOT NULL GROUP BY k",
    "SELECT renamed, collect_set(v % 2) FROM (SELECT k AS renamed, v FROM {t}) GROUP BY renamed",
]
JOINED = (
    "SELECT a.id, b.c FROM {t} a JOIN (SELECT k, count(*) AS c, avg(v) AS v FROM {t} GROUP BY k) b ON a.k = b.k AND a.v"
    " < b.v"
)


def _table(spark: SparkSession, path: Path, rows_of_key: int, key: str = KEYS["bigint"], indexed: str = "k") -> str:
    """Groups of so many rows, all over the files."""
    rows = (
        f"SELECT id, id % {2100 // rows_of_key} AS n, id * 7 % 500 AS v, repeat('p', 300) AS pad FROM range(0, 2100, 1,"
        " 3)"
    )
    text = (
        "SELECT id, v, pad, concat('name', v % 9) AS name, CAST(v / 50 AS int) AS w, CASE WHEN n % 31 = 0 THEN NULL"
        f" ELSE {key} END AS k FROM ({rows})"
    )
    with uncompiled(spark):
        spark.sql(text).write.format("delta").option("delta.enableDeletionVectors", "true").save(str(path))
    names = indexed.split(",")
    kind = mi.Covering(
        indexed=names, included=[one for one in ("id", "v", "name", "k", "w") if one not in names], buckets=4
    )
    with uncompiled(spark):
        mi.open_table(str(path), spark=spark).create_index("cov", kind)
    return f"delta.`{path}`"


def _keys_of(plan: str, kind: str) -> int:
    return plan.count(f"{kind}(keys=[k") + plan.count(f"{kind}(key=[k") + plan.count(f"{kind}(key=[renamed")


@pytest.mark.parametrize("type_", KEYS)
def test_small_groups_are_counted_as_they_come(sorting: SparkSession, tmp_path: Path, type_: str) -> None:
    table = _table(sorting, tmp_path / "t", 3, KEYS[type_])
    for text in GROUPED if type_ == "bigint" else GROUPED[:2]:
        plan = asked(sorting, text.format(t=table))
        assert "SortAggregate(key=[" in plan, plan
        assert "Sort [" not in plan, plan
        assert "Exchange hashpartitioning" not in plan, plan
        assert _keys_of(plan, "HashAggregate") == 0, plan


@pytest.mark.parametrize(
    "settings",
    [
        {"adaptive.enabled": "false"},
        {"codegen.wholeStage": "false", "codegen.factoryMode": "NO_CODEGEN"},
        {"ansi.enabled": "false", "shuffle.partitions": "1"},
        {"parquet.enableVectorizedReader": "false", "session.timeZone": "America/New_York"},
        {"sources.bucketing.autoBucketedScan.enabled": "false", "files.maxPartitionBytes": "100"},
        {"execution.replaceHashWithSortAgg": "true"},
        {"bucketing.coalesceBucketsInJoin.enabled": "true", "requireAllClusterKeysForDistribution": "true"},
    ],
    ids=str,
)
def test_groups_are_the_same_under_every_setting(
    sorting: SparkSession, tmp_path: Path, settings: dict[str, str]
) -> None:
    table = _table(sorting, tmp_path / "t", 3)
    with ExitStack() as every:
        for name, value in settings.items():
            every.enter_context(SparkDriver(sorting).setting(f"spark.sql.{name}", value))
        for text in (*GROUPED, JOINED):
            plan = asked(sorting, text.format(t=table))
            assert "SortAggregate(key=[" in plan, plan
            assert "Sort [" not in plan, plan
        kept = sorting.sql(GROUPED[0].format(t=table)).cache()
        assert sorted(map(repr, kept.collect())) == sorted(map(repr, sorting.sql(GROUPED[0].format(t=table)).collect()))
        kept.unpersist()


def test_large_groups_are_hashed_but_where_a_join_would_sort_them(sorting: SparkSession, tmp_path: Path) -> None:
    middle, large = _table(sorting, tmp_path / "middle", 20), _table(sorting, tmp_path / "large", 100)
    for table in (middle, large):
        assert "SortAggregate" not in asked(sorting, f"SELECT k, count(*), sum(v) FROM {table} GROUP BY k")
    plan = asked(sorting, JOINED.format(t=middle))
    assert "SortAggregate(key=[k" in plan, plan
    assert "Sort [" not in plan, plan
    plan = asked(sorting, JOINED.format(t=large))
    assert "SortAggregate" not in plan, plan
    assert plan.count("Sort [") == 1, plan
    renamed = (
        "SELECT a.id FROM {t} a LEFT SEMI JOIN (SELECT k * 3 AS made, k AS other, max(v) AS v FROM {t} GROUP BY k) b ON"
        " a.k = b.other"
    )
    assert "SortAggregate(key=[k" in asked(sorting, renamed.format(t=middle))
    assert "SortAggregate" not in asked(sorting, renamed.replace("b.other", "b.made").format(t=middle), by="")
    with SparkDriver(sorting).setting(
        "spark.sql.autoBroadcastJoinThreshold", "10000000"
    ):  # the groups are sent to every task
        assert "SortAggregate" not in asked(sorting, JOINED.format(t=middle), by="")


def test_what_is_in_no_order_is_hashed(sorting: SparkSession, tmp_path: Path) -> None:
    table = _table(sorting, tmp_path / "t", 3)
    count = f"SELECT k, count(*), sum(v) FROM {table} GROUP BY k"
    assert "SortAggregate" in asked(sorting, count)
    for text in (
        "SELECT k, count(DISTINCT v) FROM {t} GROUP BY k",
        "SELECT k + 1, count(*) FROM {t} GROUP BY k + 1",
        "SELECT k, v, count(*) FROM {t} GROUP BY k, v",
        "SELECT v, count(*) FROM {t} WHERE k > 0 GROUP BY v",
    ):
        assert _keys_of(asked(sorting, text.format(t=table), by=""), "SortAggregate") == 0
    for name, value in (
        ("spark.sql.sources.bucketing.enabled", "false"),
        (SORTED_BUCKETS, "false"),
    ):
        with SparkDriver(sorting).setting(name, value):
            plan = asked(sorting, count, by="")
            assert "SortAggregate(key=[k" not in plan, plan
    sorting.sql(f"INSERT INTO {table} SELECT * FROM {table} WHERE id < 100")
    assert "SortAggregate(key=[k" not in asked(sorting, count, by="cov: covering, and files that it lacks")
    mi.open_table(str(tmp_path / "t"), spark=sorting).refresh_index("cov")
    assert "SortAggregate(key=[k" not in asked(sorting, count)  # two runs
    mi.open_table(str(tmp_path / "t"), spark=sorting).optimize_index("cov", mode="full")
    assert "SortAggregate(key=[k" in asked(sorting, count)
    sorting.sql(f"DELETE FROM {table} WHERE v < 20")
    assert "SortAggregate(key=[k" in asked(sorting, count)  # a mask takes the deleted rows away, which keeps the order


def test_two_keys_are_in_their_own_order(sorting: SparkSession, tmp_path: Path) -> None:
    table = _table(sorting, tmp_path / "t", 30, indexed="k,w")
    both = "SELECT k, w, count(*), sum(v) FROM {t} GROUP BY {by}"
    assert "SortAggregate(key=[k" in asked(sorting, both.format(t=table, by="k, w"))
    assert "SortAggregate" not in asked(sorting, both.format(t=table, by="w, k"), by="")
    assert "SortAggregate" not in asked(sorting, f"SELECT k, count(*) FROM {table} GROUP BY k", by="")


def test_a_spark_with_other_insides_hashes(spark: SparkSession) -> None:
    sources = SparkDriver(spark).sources("metaindex.spark.optimizer")
    broken = sources["GroupStrategy"].replace("last.toSortAggregate()", "last.toOtherAggregate()")
    assert broken != sources["GroupStrategy"]
    state = spark._jsparkSession.sessionState()
    arguments = (state.planner().Aggregation(), SORTED_BUCKETS)
    for texts, fits in ((sources, True), ({**sources, "GroupStrategy": broken}, False)):
        classes = SparkDriver(spark).compiled(texts)
        limit = classes.new("Limit", state.conf(), 1.0)
        assert (_strategy(spark, classes, "GroupStrategy", limit, *arguments) is not None) == fits


# Tables in an order ---------------------------------------------------------------------------------------------------


JOIN = "SELECT a.k, a.id, b.id FROM claimed a JOIN claimed b ON a.k = b.k"


@pytest.fixture
def session(spark: SparkSession, tmp_path: Path) -> Iterator[SparkSession]:
    """One bucket of a file whose rows are not in the order that the catalog says: somebody has put it there."""
    session = spark.newSession()
    session.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    session.sql("DROP TABLE IF EXISTS claimed")
    rows = session.range(0, 200, 1, 1).selectExpr("id", "id * 37 % 50 AS k")
    place = tmp_path / "claimed"
    rows.write.bucketBy(1, "k").sortBy("k").option("path", str(place)).saveAsTable("claimed")
    rows.write.parquet(str(tmp_path / "unsorted"))
    (target,), (source,) = place.glob("*.parquet"), (tmp_path / "unsorted").glob("*.parquet")
    target.with_name(f".{target.name}.crc").unlink()
    shutil.copy(source, target)
    session.catalog.refreshTable("claimed")
    yield session
    mi.disable(session)
    session.sql("DROP TABLE claimed")


@pytest.mark.parametrize("setting", [None, "false"])
def test_a_table_said_to_be_sorted_is_sorted_all_the_same(session: SparkSession, setting: str | None) -> None:
    expected = sorted(map(tuple, session.sql(JOIN).collect()))
    assert len(expected) == 800
    mi.enable(session)
    if setting is not None:
        session.conf.set("spark.metaindex.enabled", setting)
    query = session.sql(JOIN)
    assert sorted(map(tuple, query.collect())) == expected
    assert str(query._jdf.queryExecution().executedPlan()).count("Sort [k") >= 2


def test_a_session_that_believes_it_goes_on_to(session: SparkSession) -> None:
    with SparkDriver(session).setting(SORTED_BUCKETS, "true"):
        before = str(session.sql(JOIN)._jdf.queryExecution().executedPlan()).count("Sort [k")
        mi.enable(session)
        assert str(session.sql(JOIN)._jdf.queryExecution().executedPlan()).count("Sort [k") == before == 0
