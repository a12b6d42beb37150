"""Sessions of one Spark: as it is, and beside it one with the rule."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import metaindex as mi

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@contextmanager
def session(folder: Path) -> Iterator[SparkSession]:
    """Two cores, quiet; joins of any size by sorting, so that exchanges tell something at scale factor 1."""
    from metaindex.spark import spark_session

    conf = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.driver.memory": "6g",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "8",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.databricks.delta.snapshotPartitions": "2",
    }
    spark = spark_session("tpch", master="local[2]", conf=conf)
    try:
        yield spark
    finally:
        spark.stop()


@contextmanager
def beside(spark: SparkSession) -> Iterator[SparkSession]:
    """Another session of the same Spark, with the rule for as long as it lasts, as a user has it. No query may go wrong in it."""
    session = spark.newSession()
    mi.enable(session)
    try:
        yield session
        counts = mi.rule.counts(session)
        assert not counts.failed, counts.last_error
    finally:
        mi.disable(session)


@contextmanager
def sorting(*sessions: SparkSession) -> Iterator[None]:
    """Joins by sorting, whatever the size of their sides."""
    name = "spark.sql.autoBroadcastJoinThreshold"
    for one in sessions:
        one.conf.set(name, "-1")
    try:
        yield
    finally:
        for one in sessions:
            one.conf.unset(name)


@contextmanager
def ordered(spark: SparkSession) -> Iterator[None]:
    """Tables made by hand are known to be sorted too."""
    name = "spark.sql.legacy.bucketedTableScan.outputOrdering"
    spark.conf.set(name, "true")
    try:
        yield
    finally:
        spark.conf.unset(name)
