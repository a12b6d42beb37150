"""Of a plan that is twice as large the rule's Java has twice the work."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import metaindex as mi
import metaindex.spark as rule
from metaindex.spark.optimizer.enabling import rule_of
from tests.compiling import uncompiled
from tests.spark.optimizer import changing_lakes
from tests.spark.optimizer.changing_lakes import Make, covered, rows_of
from tests.spark.optimizer.lakes import ruled


def ors(size: int) -> str:
    return "SELECT id FROM big WHERE " + " OR ".join(f"(id = {i} AND name = 'n{i}')" for i in range(size))


def unions(size: int) -> str:
    return " UNION ALL ".join(f"SELECT id FROM big WHERE k = {i % 7} AND id = {i}" for i in range(size))


def subqueries(size: int) -> str:
    query = "SELECT max(id) AS id FROM big WHERE k = 0"
    for i in range(size):
        query = f"SELECT max(id) AS id FROM big WHERE k = {i % 7} AND id <= ({query})"
    return query


def filters(size: int) -> str:
    query = "big"
    for i in range(size):
        query = f"(SELECT * FROM {query} WHERE id + {i} <> 5)"
    return f"SELECT id FROM {query} WHERE k = 3"


def members(size: int) -> str:
    return f"SELECT id FROM big WHERE id IN ({', '.join(str(2 * i) for i in range(size * 50))})"


def joins(size: int) -> str:
    others = " ".join(f"JOIN few f{i} ON f0.k = f{i}.k AND f{i}.id = f0.id" for i in range(1, size))
    return f"WITH few AS (SELECT id, k FROM big WHERE k = 3 AND id < 90) SELECT f0.id FROM few f0 {others}"


SHAPES: dict[Callable[[int], str], int] = {ors: 400, unions: 64, subqueries: 16, filters: 40, members: 600, joins: 10}
"""Of each, how large a plan is."""
TOO_MANY = 2_001  # fiftieths of members that are not told


@pytest.mark.spark
@pytest.mark.parametrize("kind", [changing_lakes.INDEXED, mi.ColumnStats()], ids=["covering", "stats"])
@pytest.mark.parametrize("make", changing_lakes.MAKERS)
def test_work_grows_as_the_plan_does(sorting: SparkSession, tmp_path: Path, make: Make, kind: Any) -> None:
    """By the turns of the loops of the rule's Java, which are the same on every machine. The index is behind its
    table, so that scans are kept beside a covering one."""
    spark, lake = sorting, covered(make(sorting, tmp_path), kind)
    lake.append(rows_of(spark, 600, 40, 1))
    spark.sql(f"SELECT * FROM {lake.name}").createOrReplaceTempView("big")
    with uncompiled(spark):
        for shape, size in SHAPES.items():
            small, large = (_turns(spark, shape(some)) for some in (size // 2, size))
            assert 0 < large < 2.5 * small, (shape.__name__, small, large)
        assert _turns(spark, members(TOO_MANY)) < _turns(spark, members(SHAPES[members]))
    counts = rule.counts(spark)
    assert (counts.failed, counts.timed_out) == (0, 0), counts.last_error


def _turns(spark: SparkSession, text: str) -> int:
    """Of planning a query."""
    before = _all_turns(spark)
    spark.sql(text)._jdf.queryExecution().executedPlan()
    return _all_turns(spark) - before


def _all_turns(spark: SparkSession) -> int:
    added = rule_of(spark).rule
    return int(added.getClass().getField("turns").get(added))


@pytest.mark.spark
def test_a_long_request_is_asked_as_it_was_said(spark: SparkSession, tmp_path: Path) -> None:
    """It goes to Python in pieces: of characters of two units, which no piece may end amid."""
    from pyspark.sql.functions import col

    names = [f"{'x' * (i % 5)}\U0001f600\\\\\U0001f680{i}" for i in range(3_000)]
    path = str(tmp_path / "emoji")
    spark.createDataFrame([(name,) for name in names], "name string").coalesce(1).sortWithinPartitions(
        "name"
    ).write.parquet(path)
    spark.createDataFrame([("other",)], "name string").coalesce(1).write.mode("append").parquet(path)
    mi.open_table(path).create_index("find", mi.Values("name"), builder="local")
    with ruled(spark):
        spark.read.parquet(path).createOrReplaceTempView("emoji")
        frame = spark.table("emoji").where(col("name").isin(names))
        (scan,) = rule.explain(frame).scans
        assert scan.result.kept_files == 1
        assert frame.count() == len(names)
        assert rule.counts(spark).failed == 0
