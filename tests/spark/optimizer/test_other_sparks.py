"""A Spark with other insides than those that the rule is built upon: refused in one line, or planned without a
strategy, which the explanation says."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import metaindex as mi
import metaindex.spark as rule
from metaindex.core import SparkDriver, UnsupportedFeatureError
from metaindex.core.jvm.classes import ROOMS
from metaindex.spark.optimizer import enabling, placing
from tests.spark.optimizer.lakes import ruled

pytestmark = pytest.mark.spark
RULE = "metaindex.spark.optimizer"


@contextmanager
def other_insides(spark: SparkSession, name: str, known: str) -> Iterator[None]:
    """In which a class does not compile any more: what it names is not there."""
    sources = SparkDriver(spark).sources(RULE)
    assert known in sources[name]
    broken = {**sources, name: sources[name].replace(known, f"{known}OfAnotherSpark")}
    rooms = ROOMS.setdefault(SparkDriver(spark).gateway, {})
    before = rooms.get(RULE)
    rooms[RULE] = SparkDriver(spark).compiled(broken)
    try:
        yield
    finally:
        rooms.pop(RULE) if before is None else rooms.__setitem__(RULE, before)


def test_enabling_says_in_a_line_why_not_and_leaves_the_session_as_it_was(spark: SparkSession) -> None:
    optimizations = spark._jsparkSession.experimental().extraOptimizations().size()
    with other_insides(spark, "Scans", ".rootPaths"):
        with pytest.raises(
            UnsupportedFeatureError, match=r"Scala 2\.1\d\) has something else: .*Scans.*table\.scan"
        ) as why:
            mi.enable(spark)
        assert "\n" not in str(why.value)
        assert len(str(why.value)) < 800
        assert not rule.is_enabled(spark)
        assert spark._jsparkSession.experimental().extraOptimizations().size() == optimizations
        assert spark.conf.get(placing.SORTED_BUCKETS, None) is None
        assert spark.range(3).count() == 3
    mi.enable(spark)
    assert rule.is_enabled(spark)
    mi.disable(spark)


@pytest.mark.parametrize(
    ("name", "known", "without"),
    [
        ("MergeSortedExec", ".zipPartitionsWithEvaluator", "joins sort the rows of an index again"),
        ("GroupStrategy", ".toSortAggregate", "are hashed"),
        ("BucketStrategy", ".optionalBucketSet", "a task is made for each bucket"),
        ("PhysicalVersions", "scan.disableBucketedScan", "a task is made for each bucket"),
    ],
)
def test_without_a_strategy_the_rule_is_there_and_the_explanation_says_so(
    spark: SparkSession, tmp_path: Path, name: str, known: str, without: str
) -> None:
    spark.range(0, 100, 1, 4).write.parquet(str(tmp_path / "t"))
    mi.open_table(str(tmp_path / "t")).create_index("stats", mi.ColumnStats(), builder="local")
    query = spark.read.parquet(str(tmp_path / "t")).where("id = 7")
    with other_insides(spark, name, known), ruled(spark, rule=mi.RuleConfig(timeout_seconds=600.0)):
        # Not explained here: py4j remembers the methods of a class by its name, and this one is another.
        assert any(without in line for line in enabling.rule_of(spark).missing)
        assert [row.id for row in query.collect()] == [7]
        assert rule.counts(spark).rewritten
    with ruled(spark):
        told = mi.explain(query)
        assert (told.missing, "Not to be had" in str(told)) == ((), False)
        lacking = replace(told, missing=(without,))
        assert f"Not to be had in this Spark:\n  {without}" in str(lacking)
        assert lacking.to_json()["missing"] == [without]
