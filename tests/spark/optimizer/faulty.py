"""`python -m tests.spark.optimizer.faulty FOLDER`: the rule's Java with mistakes put into its sources, each of which a
setting of the session brings about: loops without an end and errors, wherever it works. Queries end, with their
rows."""

import sys
from itertools import product
from pathlib import Path

from pyspark.sql import SparkSession

import metaindex as mi
import metaindex.spark as rule
from metaindex.core import SparkDriver
from metaindex.core.jvm.classes import ROOMS
from metaindex.spark.optimizer.reasons import Reason
from tests.spark.optimizer.restarted import started

FAULT = "tests.fault"
AT = {
    "walk": ("PlanScans", "  private Map collect(LogicalPlan plan, List filters, Set needed) {\n"),
    "partitions": ("RelationScan", "  private static boolean ofPartitions(Expression filter, FileIndex list) {\n"),
    "cover": ("Covering", "  LogicalPlan plan(PlanScans survey, List later) {\n"),
    "substitution": ("Substitution", "  public Object applyOrElse(Object node, scala.Function1 other) {\n"),
    "group": ("GroupStrategy", "  SparkPlan physical(LogicalPlan plan) {\n"),
    "bucket": ("BucketStrategy", "  SparkPlan physical(LogicalPlan plan) {\n"),
    "merge": ("MergeStrategy", "  SparkPlan physical(LogicalPlan plan) {\n"),
}
"""Of each place, the class and the line behind which the mistake is put."""
STRATEGIES = ("group", "bucket", "merge")  # which share their time, and are not asked any more once it is spent
MISTAKES = {
    "endless": "while (true) { Deadline.look(); }",
    "deep": "Fault.deep(0);",
    "linkage": 'Fault.fail(new NoClassDefFoundError("gone"));',
    "null": "Object none = null; none.hashCode();",
}
CLASS = """package metaindex;

class Fault {
  static boolean is(String name) {
    return name.equals(org.apache.spark.sql.internal.SQLConf.get().getConfString("tests.fault", ""));
  }

  static int deep(int level) {
    return deep(level + 1) + deep(level + 2);
  }

  static void fail(Error error) {
    throw error;
  }
}
"""
QUERIES = (
    "SELECT id, v FROM parted WHERE k = 7 OR (v = 5 AND p = 1)",
    "SELECT id FROM whole WHERE k = 7",
)
"""By files that are left out, and by an index in place of its table."""


def sources(spark: SparkSession) -> dict[str, str]:
    texts = SparkDriver(spark).sources("metaindex.spark.optimizer") | {"Fault": CLASS}
    for place, (name, line) in AT.items():
        assert texts[name].count(line) == 1, line
        faults = "".join(f'if (Fault.is("{place} {mistake}")) {{ {text} }} ' for mistake, text in MISTAKES.items())
        texts[name] = texts[name].replace(line, f"{line}{faults}\n")
    return texts


def asked(spark: SparkSession) -> list[list[tuple[object, ...]]]:
    return [sorted(tuple(row) for row in spark.sql(query).collect()) for query in QUERIES]


def main(folder: Path) -> None:
    path = str(folder / "t")
    spark = started()
    rows = spark.range(0, 400, 1, 2).selectExpr("id", "id DIV 20 AS k", "id % 11 AS v", "id % 2 AS p")
    rows.write.partitionBy("p").parquet(path)
    mi.open_table(path, spark=spark).create_index("stats", mi.ColumnStats())
    spark.read.parquet(path).createOrReplaceTempView("parted")
    whole = str(folder / "whole")
    spark.range(0, 100, 1, 4).selectExpr("id", "id % 20 AS k", "repeat('p', 500) AS pad").write.parquet(whole)
    mi.open_table(whole, spark=spark).create_index("cov", mi.Covering("k", "id", buckets=4), builder="spark")
    spark.read.parquet(whole).createOrReplaceTempView("whole")
    right = asked(spark)
    assert all(right)

    ROOMS.setdefault(SparkDriver(spark).gateway, {})["metaindex.spark.optimizer"] = SparkDriver(spark).compiled(
        sources(spark)
    )
    mi.enable(spark, rule=mi.RuleConfig(timeout_seconds=600.0))
    assert asked(spark) == right
    counts = rule.counts(spark)
    assert (counts.failed, counts.timed_out) == (0, 0), counts.last_error
    assert (counts.asked, counts.rewritten) == (2, 2)
    for place, mistake in product(AT, MISTAKES):
        late = mistake == "endless"
        before = rule.counts(spark)
        spark.conf.set("spark.metaindex.timeoutSeconds", "0.5" if late else "600")
        spark.conf.set(FAULT, f"{place} {mistake}")
        assert asked(spark) == right, (place, mistake)
        after = rule.counts(spark)
        if late and place not in STRATEGIES:
            assert after.timed_out > before.timed_out, place
        if not late:
            assert after.failed > before.failed, (place, mistake)
        if place in ("walk", "partitions"):
            told = mi.explain(spark.sql(QUERIES[0]))
            assert [scan.reason for scan in told.scans] == [Reason.TOO_LATE if late else Reason.FAILED], (place, told)
    spark.conf.unset(FAULT)
    spark.conf.unset("spark.metaindex.timeoutSeconds")
    before = rule.counts(spark)
    assert asked(spark) == right
    assert rule.counts(spark).timed_out == before.timed_out
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
