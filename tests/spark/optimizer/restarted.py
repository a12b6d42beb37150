"""`python -m tests.spark.optimizer.restarted FOLDER`: a program that stops its Spark session and starts another one in
the same JVM; `enable` is for one session."""

import sys
import threading
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import metaindex as mi
import metaindex.spark as rule
from metaindex.spark.session import spark_session


def started() -> SparkSession:
    conf = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "1", "spark.driver.memory": "1g"}
    return spark_session("restarted", master="local[1]", delta=False, iceberg=False, conf=conf)


def asked(spark: SparkSession, path: str) -> int:
    """How many scans were rewritten for a query whose rows are the right ones."""
    rows = spark.read.parquet(path).where("k = 7").select("id").collect()
    assert sorted(row.id for row in rows) == [7, 27, 47, 67, 87]
    assert not rule.is_enabled(spark) or rule.counts(spark).failed == 0, rule.counts(spark).last_error
    return rule.counts(spark).rewritten if rule.is_enabled(spark) else 0


def main(folder: Path) -> None:
    path = str(folder / "t")
    spark = started()
    spark.range(0, 100, 1, 4).selectExpr("id", "id % 20 AS k", "repeat('p', 500) AS pad").write.parquet(path)
    mi.open_table(path, spark=spark).create_index("cov", mi.Covering("k", "id", buckets=4), builder="spark")
    mi.enable(spark)
    assert asked(spark, path) == 1
    answering = [thread for thread in threading.enumerate() if thread.name.startswith("metaindex-rule")]
    assert answering
    spark.stop()
    table = mi.open_table(path, spark=spark)
    for verb in (
        lambda: mi.enable(spark),
        lambda: table.scan("k = 7").to_spark(spark),
        lambda: table.refresh_index("cov", "full"),
        lambda: mi.hooks.enable(spark),
    ):
        with pytest.raises(mi.ArgumentError, match="was stopped; give a new one"):
            verb()

    again = started()
    assert not mi.is_enabled(again), "another session is enabled on its own"
    assert asked(again, path) == 0
    mi.enable(again)
    for thread in answering:
        thread.join(600)
        assert not thread.is_alive(), "nobody asks it any more"
    assert asked(again, path) == 1
    mi.disable(spark)  # the stopped one
    assert asked(again, path) == 2
    assert not mi.is_enabled(again.newSession())
    mi.disable(again)
    assert asked(again, path) == 0
    again.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
