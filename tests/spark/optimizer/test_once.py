"""What is asked once is not asked again, and what reads alike is read once."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import metaindex as mi
import metaindex.spark as rule


@pytest.fixture
def enabled(spark: SparkSession) -> Iterator[SparkSession]:
    rule.enable(spark)
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    yield spark
    spark.conf.unset("spark.sql.adaptive.enabled")
    rule.disable(spark)


def test_a_plan_is_asked_about_once_and_equal_scans_are_read_once(enabled: SparkSession, tmp_path: Path) -> None:
    spark, path = enabled, str(tmp_path / "t")
    spark.range(0, 400, 1, 4).selectExpr("id", "id % 7 AS k").write.format("delta").option(
        "delta.dataSkippingNumIndexedCols", "0"
    ).save(path)
    mi.open_table(path).create_index("stats", mi.ColumnStats(), builder="local")
    few = f"SELECT k, count(*) AS n FROM delta.`{path}` WHERE id BETWEEN 210 AND 215 GROUP BY k"
    before = rule.counts(spark)
    query = spark.sql(f"{few} UNION ALL {few}")
    assert sorted(row["n"] for row in query.collect()) == [1] * 12
    after = rule.counts(spark)
    assert (after.asked - before.asked, after.rewritten - before.rewritten) == (1, 2), after
    assert "ReusedExchange" in query._jdf.queryExecution().executedPlan().toString()

    mixed = f"{few} UNION ALL SELECT k, id FROM delta.`{path}` WHERE id >= 0 AND k < 1"
    before = rule.counts(spark)
    assert spark.sql(mixed).count() == 6 + 58
    assert rule.counts(spark).asked - before.asked == 1
    assert rule.counts(spark).failed == 0, rule.counts(spark).last_error


def test_an_explanation_leaves_the_rule_as_it_is(enabled: SparkSession, tmp_path: Path) -> None:
    spark, path = enabled, str(tmp_path / "t")
    spark.range(0, 400, 1, 4).write.parquet(path)
    mi.open_table(path).create_index("stats", mi.ColumnStats(), builder="local")
    query = spark.sql(f"SELECT id FROM parquet.`{path}` WHERE id = 210")
    told = mi.explain(query)
    assert "metaindex" in told.with_indexes
    assert "<metaindex" not in told.without_indexes
    before = rule.counts(spark).rewritten
    assert query.count() == 1
    assert rule.counts(spark).rewritten == before + 1
