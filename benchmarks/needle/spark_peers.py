"""Who finds needles through Spark: its scan of Parquet, of Parquet with native bloom filters, of Delta and of Iceberg,
the oracle that is told the files, and metaindex."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

import metaindex as mi
from benchmarks.spark import quiet_session

from .lake import Lake, Needle
from .timing import Find, Peer

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ENGINE = "Spark"


def session() -> AbstractContextManager[SparkSession]:
    """See `quiet_session`."""
    return quiet_session("needle", {"spark.driver.memory": "3g"})


def spark_peers(lake: Lake, spark: SparkSession) -> list[Peer]:
    """All rows of all columns, collected. Tables are opened once, and their files listed then; the oracle opens its few
    files for each query, as an index has to."""
    parquet = spark.read.parquet(str(lake.parquet))
    schema = parquet.schema
    paths = [f"file://{path}" for path in lake.paths(lake.parquet)]

    def oracle(needle: Needle) -> int:
        if not needle.places:
            return 0
        frame = spark.read.schema(schema).parquet(*(paths[file] for file, _ in needle.places))
        return len(frame.where(needle.sql).collect())

    return [
        Peer("oracle: right files, Spark", ENGINE, oracle, 3, oracle=True),
        Peer("Spark scan", ENGINE, _scan(parquet)),
        Peer("Spark, native bloom filters", ENGINE, _scan(spark.read.parquet(str(lake.with_bloom)))),
        Peer("Spark scan of Delta", ENGINE, _scan(spark.read.format("delta").load(str(lake.delta)))),
        Peer("Spark scan of Iceberg", ENGINE, _scan(spark.read.format("iceberg").load(lake.iceberg_metadata()))),
    ]


def our_spark_peers(lake: Lake, spark: SparkSession) -> list[Peer]:
    def through(path: str, **options: object) -> Find:
        table = mi.open_table(path, spark=spark, **options)
        return lambda needle: len(table.scan(needle.sql).to_spark(spark).collect())

    return [
        Peer("metaindex through Spark", ENGINE, through(str(lake.parquet)), 3),
        Peer("metaindex through Spark on Delta", ENGINE, through(str(lake.delta)), 3),
        Peer("metaindex through Spark on Iceberg", ENGINE, through(str(lake.iceberg)), 3),
    ]


def _scan(frame: DataFrame) -> Find:
    return lambda needle: len(frame.where(needle.sql).collect())
