"""Queries that Spark plans by the rule are told as others are."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import metaindex as mi

from .test_telemetry import Watching
from .test_telemetry import watching as watching

pytestmark = [pytest.mark.spark]


def test_plans_of_spark_are_told(spark: SparkSession, tmp_path: Path, watching: Watching) -> None:
    path = str(tmp_path / "t")
    spark.range(0, 100, 1, 5).write.parquet(path)
    mi.open_table(path).create_index("i", mi.Values("id"), builder="local")
    mi.enable(spark)
    try:
        assert spark.read.parquet(path).where("id = 42").count() == 1
        assert spark.read.parquet(path).where("id = 43").collect() == [(43,)]
        mi.explain(spark.read.parquet(path).where("id = 44"))  # asks, and is no query
    finally:
        mi.disable(spark)
    heard = watching.numbers()
    assert heard["metaindex.query.files", "spark", "True", "read"] == heard["metaindex.queries", "spark", "True"]
    assert (
        heard["metaindex.query.files", "spark", "True", "left_out"] == 4 * heard["metaindex.queries", "spark", "True"]
    )
    assert heard["metaindex.queries", "spark", "True"] == heard["metaindex.spark.queries", "answered"] == 2
