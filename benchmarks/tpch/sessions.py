"""Sessions of one Spark: as it is, and beside it one with the rule."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import metaindex as mi
from benchmarks.spark import quiet_session
from metaindex.core import SparkDriver
from metaindex.spark.optimizer.placing import SORTED_BUCKETS
from metaindex.spark.session import ICEBERG_CATALOG

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def session(folder: Path) -> AbstractContextManager[SparkSession]:
    """See `quiet_session`; tables that are made by hand are kept in the folder. Bytes that other threads read for a
    task (vectored reads) are in no metric of Spark's, so tasks read themselves."""
    conf = {
        "spark.driver.memory": "6g",
        "spark.driver.extraJavaOptions": "-XX:-UseDynamicNumberOfCompilerThreads",  # see `compiler_seconds`
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.hadoop.parquet.hadoop.vectored.io.enabled": "false",
        "spark.sql.catalog.iceberg": ICEBERG_CATALOG,
        "spark.sql.catalog.iceberg.type": "hadoop",
        "spark.sql.catalog.iceberg.warehouse": str(folder / "iceberg"),
    }
    return quiet_session("tpch", conf)


@contextmanager
def beside(spark: SparkSession) -> Iterator[SparkSession]:
    """Another session of the same Spark, with the rule for as long as it lasts, as a user has it. No query may go wrong
    in it."""
    session = spark.newSession()
    mi.enable(session)
    try:
        yield session
        counts = mi.spark.counts(session)
        assert not counts.failed, counts.last_error
    finally:
        mi.disable(session)


@contextmanager
def sorting(*sessions: SparkSession) -> Iterator[None]:
    """Joins by sorting, whatever the size of their sides."""
    with ExitStack() as every:
        for one in sessions:
            every.enter_context(SparkDriver(one).setting("spark.sql.autoBroadcastJoinThreshold", "-1"))
        yield


def ordered(spark: SparkSession) -> AbstractContextManager[None]:
    """Tables made by hand are known to be sorted too."""
    return SparkDriver(spark).setting(SORTED_BUCKETS, "true")
