"""The session of the tests with the rule, as most of them want it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import metaindex as mi
import metaindex.spark as rule
from metaindex.core import SparkDriver
from tests.spark.optimizer.joined_lakes import dims
from tests.spark.optimizer.lakes import ruled


@pytest.fixture
def enabled(spark: SparkSession) -> Iterator[SparkSession]:
    with ruled(spark):
        yield spark


@pytest.fixture
def sql(enabled: SparkSession) -> SparkSession:
    """As tests of statements call it."""
    return enabled


@pytest.fixture
def sorting(spark: SparkSession) -> Iterator[SparkSession]:
    """Joins by sorting, and hybrid scans however much was appended or deleted."""
    any_age = mi.RuleConfig(max_appended_ratio=1.0, max_deleted_ratio=1.0)
    with SparkDriver(spark).setting("spark.sql.autoBroadcastJoinThreshold", "-1"), ruled(spark, rule=any_age):
        yield spark


@pytest.fixture
def narrowing(spark: SparkSession, tmp_path: Path) -> Iterator[SparkSession]:
    """Joins leave files out, however small the scan, and their keys are waited for."""
    rule.enable(spark, rule=mi.RuleConfig(join_queries=True, join_scan_bytes=0, join_seconds=600.0))
    dims(spark, tmp_path)
    yield spark
    rule.disable(spark)
