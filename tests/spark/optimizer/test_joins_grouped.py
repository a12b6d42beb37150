"""Iceberg tables that Spark joins partition by partition, without an exchange, leave files out by a third table's keys:
their rows and their grouping stay, whatever is left of the partitions."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import metaindex as mi
from metaindex.core import SparkDriver
from tests.spark.optimizer.joined_lakes import ROWS, same
from tests.spark.optimizer.lakes import location_of

pytestmark = [pytest.mark.spark, pytest.mark.uncompiled, pytest.mark.usefixtures("narrowing")]

PARTS, FILES, KEYS = 4, 5, 10  # partitions, files of each, keys of each
GROUPED = {
    "spark.sql.sources.v2.bucketing.enabled": "true",
    "spark.sql.iceberg.planning.preserve-data-grouping": "true",
    "spark.sql.requireAllClusterKeysForCoPartition": "false",
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.adaptive.enabled": "false",
}
PUSHED = "spark.sql.sources.v2.bucketing.pushPartValues.enabled"
SPLIT = "spark.sql.sources.v2.bucketing.partiallyClusteredDistribution.enabled"
JOIN = (
    "SELECT /*+ BROADCAST(d) */ f.id, g.v FROM {0}.f JOIN {0}.g ON f.part = g.part JOIN dim d ON f.k = d.k"
    " WHERE d.w {1}"
)
ONE_EACH = "IN (50, 60, 70, 80, 90)"
ASKED = {"IN (60, 100)": 2, "= 199": 1, "< 0": 0, ONE_EACH: FILES}  # in how many files they are


@pytest.fixture
def grouped(narrowing: SparkSession, tmp_path: Path) -> Iterator[str]:
    """The name of a namespace: `f`, whose k lies in order over its files, and `g`, which lacks a partition of f's and
    has one of its own."""
    spark, name = narrowing, f"iceberg.grouped{abs(hash(str(tmp_path))) % 10**9}"
    for table, first, rows in (("f", 0, ROWS), ("g", 1, KEYS)):
        spark.sql(
            f"CREATE TABLE {name}.{table} (id bigint, k int, v string, part int) USING iceberg PARTITIONED BY (part)"
            " TBLPROPERTIES ('write.distribution-mode'='none', 'write.metadata.metrics.default'='none')"
        )
        spark.range(0, PARTS * FILES * rows, 1, PARTS * FILES).selectExpr(
            "id",
            f"CAST(id DIV {rows // KEYS} AS int) AS k",
            "repeat('v', 5) AS v",
            f"CAST(id DIV {FILES * rows} AS int) + {first} AS part",
        ).writeTo(f"{name}.{table}").append()
    mi.open_table(location_of(spark, f"{name}.f")).create_index("find", mi.Values("k"), builder="local")
    with ExitStack() as stack:
        for key, value in GROUPED.items():
            stack.enter_context(SparkDriver(spark).setting(key, value))
        yield name


def exchanges(spark: SparkSession, text: str) -> int:
    return str(spark.sql(text)._jdf.queryExecution().executedPlan().toString()).count("Exchange hashpartitioning")


@pytest.mark.parametrize("pushed", ["true", "false"])
def test_partitions_stay_groups_whatever_is_left_of_them(spark: SparkSession, grouped: str, pushed: str) -> None:
    with SparkDriver(spark).setting(PUSHED, pushed):
        if pushed == "true":  # else Spark wants both sides to have the same partitions
            assert exchanges(spark, JOIN.format(grouped, "IN (60, 100)")) == 0
        alike = JOIN.replace("{0}.g ON", "{0}.f g ON")
        for keys, files in ASKED.items():
            _, read = same(spark, JOIN.format(grouped, keys))
            assert read == [files]
            assert exchanges(spark, alike.format(grouped, keys)) == 0
            same(spark, alike.format(grouped, keys))


def test_where_splits_are_counted_the_plan_is_as_it_was(spark: SparkSession, grouped: str) -> None:
    """Of what is left Iceberg would make more splits than Spark counted: the small files of a partition, which lay in
    one as long as there was a large one elsewhere, lie in two."""
    spark.sql(f"ALTER TABLE {grouped}.f SET TBLPROPERTIES ('write.parquet.compression-codec'='uncompressed')")
    spark.range(1).selectExpr(
        "-id AS id", "CAST(-1 AS int) AS k", "repeat('x', 60000000) AS v", "CAST(2 AS int) AS part"
    ).writeTo(f"{grouped}.f").append()
    mi.open_table(location_of(spark, f"{grouped}.f")).refresh_index("find", builder="local")
    text = JOIN.format(grouped, ONE_EACH)
    with SparkDriver(spark).setting(PUSHED, "true"), SparkDriver(spark).setting(SPLIT, "true"):
        assert exchanges(spark, text) == 0
        assert same(spark, text)[1] == []
