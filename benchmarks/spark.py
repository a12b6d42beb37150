"""The Spark of a benchmark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@contextmanager
def quiet_session(name: str, conf: Mapping[str, str]) -> Iterator[SparkSession]:
    """Two cores, quiet, in UTC, with partitions as few as they are; stopped behind."""
    from metaindex.spark import spark_session

    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "8",
        "spark.databricks.delta.snapshotPartitions": "2",
    }
    spark = spark_session(name, master="local[2]", conf={**settings, **conf})
    try:
        yield spark
    finally:
        spark.stop()
