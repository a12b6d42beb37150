"""A user's driver on a cluster, for as long as the tests want it: one command a line on stdin, one answer a line on
stdout, both JSON.

`python -m tests.spark.cluster_job MASTER [s3]`; storage options come from the environment.
"""

import json
import os
import sys
import traceback
from typing import Any

from pyspark.sql import SparkSession

import metaindex as mi
import metaindex.spark as rule
from metaindex.index import Kind
from metaindex.index.build.spark import SparkBuilder
from metaindex.spark.session import spark_session

BUCKETS = 16
KINDS: dict[str, tuple[Kind, ...]] = {
    "find": (mi.ColumnStats(), mi.Values("user")),
    "rows": (mi.Covering(["user"], ["amount"], buckets=BUCKETS),),
}
"""By the index's name."""
QUERIES = {
    "filter": "SELECT count(*) AS rows, sum(amount) AS amount FROM events WHERE user = 'user-00700'",
    "group": (
        "SELECT count(*) AS users, max(rows) AS most, sum(amount) AS amount FROM (SELECT user, count(*) AS rows,"
        " sum(amount) AS amount FROM events GROUP BY user)"
    ),
    "join": (
        "SELECT count(*) AS users, max(pairs) AS most, sum(amount) AS amount FROM (SELECT a.user, count(*) AS pairs,"
        " sum(b.amount) AS amount FROM events a JOIN events b ON a.user = b.user GROUP BY a.user)"
    ),
}


class Driver:
    """The session, and what it is told to do."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._builder = SparkBuilder(spark, files_per_task=1)

    def create(self, path: str, name: str) -> list[str]:
        return self._told(mi.open_table(path, spark=self._spark).create_index, name, *KINDS[name])

    def refresh(self, path: str, name: str) -> list[str]:
        return self._told(mi.open_table(path, spark=self._spark).refresh_index, name)

    def optimize(self, path: str, name: str) -> list[str]:
        return self._told(mi.open_table(path, spark=self._spark).optimize_index, name, "full")

    def ask(self, path: str, form: str, name: str, query: str) -> dict[str, object]:
        """The query without the rule and with it, where it may use this index."""
        spark = self._spark
        spark.read.format(form).load(path).createOrReplaceTempView("events")
        plain = spark.sql(QUERIES[query]).first()
        rule.enable(spark, rule=mi.RuleConfig(indexes=(name,), max_appended_ratio=1.0))
        spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")  # joins are by sorting
        try:
            frame = spark.sql(QUERIES[query])
            indexed = frame.first()
            counts = rule.counts(spark)
            plan = str(frame._jdf.queryExecution().executedPlan().toString()).split("== Initial Plan")[0]
            explained = str(mi.explain(frame)).splitlines()[1]
        finally:
            rule.disable(spark)
        assert counts.failed == 0, counts.last_error
        return {"plain": plain.asDict(), "indexed": indexed.asDict(), "plan": plan, "explained": explained}

    def executors(self) -> int:
        """That are alive."""
        return int(self._spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size()) - 1

    def _told(self, verb: Any, *arguments: Any) -> list[str]:
        """The progress that the verb told of, and its notes."""
        said: list[str] = []
        outcome = verb(
            *arguments,
            builder=self._builder,
            progress=lambda what, done, total: said.append(f"{what}: {done} of {total}"),
        )
        return [*said, *outcome.notes]


def main(master: str, store: str = "") -> None:
    spark = spark_session(
        "metaindex on a cluster",
        master=master,
        iceberg=False,
        s3=store == "s3",
        conf={
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.memory": "768m",
            "spark.executor.memory": "512m",
            "spark.executor.cores": "1",
            "spark.executor.extraJavaOptions": os.environ.get("SPARK_SUBMIT_OPTS", ""),
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.log.level": "ERROR",
            "spark.sql.shuffle.partitions": "4",
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
            "spark.databricks.delta.snapshotPartitions": "2",
            "spark.metaindex.timeoutSeconds": "600",
            # What a lost worker wrote is asked for three times before it is made anew.
            "spark.shuffle.io.retryWait": "500ms",
        },
    )
    driver = Driver(spark)
    _say({"master": spark.sparkContext.master})
    for line in sys.stdin:
        command, *arguments = json.loads(line)
        try:
            _say({"done": getattr(driver, command)(*arguments)})
        except Exception:  # noqa: BLE001 - the test says what it is
            _say({"failed": traceback.format_exc()})
    spark.stop()


def _say(answer: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
