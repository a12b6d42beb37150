"""What a user's driver does on a cluster: builds an index, then queries with the rule off and on. Prints one line of JSON.

`python -m tests.spark.cluster_job MASTER TABLE FORMAT`; storage options come from the environment.
"""

from __future__ import annotations

import json
import sys

import metaindex as mi
from metaindex.build.spark import SparkBuilder
from metaindex.spark.session import spark_session

KINDS = (mi.ColumnStats(), mi.Values("user"))
QUERY = "SELECT count(*) AS rows, sum(amount) AS amount FROM events WHERE user = 'user-00700'"


def main(master: str, path: str, table_format: str) -> None:
    spark = spark_session(
        "metaindex on a cluster",
        master=master,
        delta=table_format == "delta",
        iceberg=False,
        conf={
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.memory": "768m",
            "spark.executor.memory": "512m",
            "spark.executor.cores": "1",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.log.level": "ERROR",
            "spark.sql.shuffle.partitions": "4",
            "spark.sql.session.timeZone": "UTC",
            "spark.databricks.delta.snapshotPartitions": "2",
        },
    )
    mi.open_table(path, spark=spark).create_index("find", *KINDS, builder=SparkBuilder(spark, files_per_task=1))
    found: dict[str, object] = {"master": spark.sparkContext.master}
    if "://" not in path:  # the rule leaves files out of Spark's own scan, which needs a connector to read a store
        spark.read.format(table_format).load(path).createOrReplaceTempView("events")
        found["plain"] = spark.sql(QUERY).first().asDict()  # type: ignore[union-attr]
        mi.enable(spark)
        query = spark.sql(QUERY)
        found["indexed"] = query.first().asDict()  # type: ignore[union-attr]
        found["plan"] = query._jdf.queryExecution().executedPlan().toString()
        found["explained"] = str(mi.explain(query)).splitlines()[1]
    sys.stdout.write(json.dumps(found) + "\n")
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
