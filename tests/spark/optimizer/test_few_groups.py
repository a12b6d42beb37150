"""A covering index is not read bucket by bucket where that saves nothing: groups by few keys (what scans that Spark
reads once for several places cost: `test_ranking`)."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import metaindex as mi
import metaindex.spark as rule
from metaindex.core import SparkDriver
from metaindex.index.kinds.covering.spec import BUCKETS
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
    table = mi.open_table(path, spark=spark)
    table.create_index("by_k", mi.Covering(["k"], ["v"], buckets=32))
    text = f"SELECT k, count(*) AS n, sum(v) AS s FROM delta.`{path}` WHERE {{}} GROUP BY k"
    for where, tasks in (("k = 77", 1), ("k IN (5, 77, 1234)", 4)):
        assert f"(Coalesced to {tasks})" in asked(spark, text.format(where), by="by_k: covering")
    for where in ("k IS NULL", "k IN (7) AND k > 9", "k < 5", "k = 77 OR k IS NULL"):
        asked(spark, text.format(where), by="")
    asked(spark, f"SELECT count(DISTINCT k) AS n FROM delta.`{path}` WHERE k IN (5, 77, 1234)", by="")
    plan = asked(spark, f"SELECT k, sum(v) AS s FROM delta.`{path}` GROUP BY k", by="by_k: covering")
    assert "Coalesced" not in plan, "each bucket has rows"
    few = spark.range(0, 40, 1, 2).selectExpr("id % 4 AS k", "id AS v")
    few.write.format("delta").save(path + "few")
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
