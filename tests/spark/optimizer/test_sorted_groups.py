"""Groups of a covering index's keys: counted from rows in their order where groups are small, or where a join wants
them sorted; hashed elsewhere."""

from contextlib import ExitStack
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import metaindex as mi
from metaindex.core import SparkDriver
from metaindex.spark.optimizer.placing import SORTED_BUCKETS, _strategy
from tests.compiling import uncompiled
from tests.spark.optimizer.changing_lakes import asked

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
    made = renamed.replace("b.other", "b.made")
    assert "SortAggregate" not in asked(sorting, made.format(t=middle), by="")
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
