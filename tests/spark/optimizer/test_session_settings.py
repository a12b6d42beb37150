"""Whatever a session is told of buckets, shuffles, readers and time: a covering index with files that it lacks, and
with deleted rows, gives the rows of the table."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import metaindex as mi
import metaindex.spark as rule
from tests.figures import count
from tests.spark.optimizer.changing_lakes import (
    Lake,
    Make,
    delete_rows,
    make_delta,
    make_iceberg,
    make_parquet,
    rows_of,
    without_the_rule,
)
from tests.spark.optimizer.queries import batch

SOAK = bool(os.environ.get("METAINDEX_SOAK"))
IN_SOAK = bool(os.environ.get("METAINDEX_FIGURES"))  # `make soak`, its quick form too
pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.skipif(not IN_SOAK, reason="compiles every query once a setting, which takes minutes; make soak"),
]
SQL = "spark.sql."
FEW: list[dict[str, str]] = [
    {"sources.bucketing.enabled": "false", "files.maxPartitionBytes": "100"},
    {"parquet.enableVectorizedReader": "false", "session.timeZone": "America/New_York", "shuffle.partitions": "7"},
    {
        "adaptive.skewJoin.skewedPartitionFactor": "1.0001",
        "adaptive.skewJoin.skewedPartitionThresholdInBytes": "1",
        "adaptive.forceOptimizeSkewedJoin": "true",
        "adaptive.advisoryPartitionSizeInBytes": "50",
    },
]
MANY: list[dict[str, str]] = [
    {},
    {"sources.bucketing.enabled": "false"},
    {"sources.bucketing.autoBucketedScan.enabled": "false"},
    {"sources.bucketing.autoBucketedScan.enabled": "false", "adaptive.enabled": "false"},
    {"adaptive.enabled": "false"},
    {"shuffle.partitions": "1"},
    {"ansi.enabled": "false"},
    {"caseSensitive": "true"},
    {"files.maxPartitionBytes": "100"},
    {"adaptive.advisoryPartitionSizeInBytes": "1"},
    {"unionOutputPartitioning": "false"},
    {"bucketing.coalesceBucketsInJoin.enabled": "true"},
    {"autoBroadcastJoinThreshold": "10000000"},
    {"join.preferSortMergeJoin": "false"},
    {"codegen.wholeStage": "false", "codegen.factoryMode": "NO_CODEGEN"},
    {"sources.v2.bucketing.enabled": "true"},
    {"files.ignoreCorruptFiles": "true", "files.ignoreMissingFiles": "true"},
    {"parquet.filterPushdown": "false"},
    {"parquet.fieldId.read.enabled": "true"},
    {"parquet.inferTimestampNTZ.enabled": "false", "timestampType": "TIMESTAMP_NTZ"},
    {"requireAllClusterKeysForDistribution": "true"},
    {"requireAllClusterKeysForCoPartition": "false"},
    {"legacy.bucketedTableScan.outputOrdering": "false"},
]
QUERIES = [
    "SELECT id, name FROM {t} WHERE k = 7",
    "SELECT a.id, b.name FROM {t} a JOIN {t} b ON a.k = b.k WHERE a.id < 100",
    "SELECT a.id AS x, b.id AS y FROM {t} a FULL JOIN {t} b ON a.k = b.k AND a.id = b.id",
    "SELECT k, count(*) AS c, sum(id) AS s FROM {t} GROUP BY k",
    "SELECT id, count(name) OVER (PARTITION BY k ORDER BY id) AS w FROM {t} WHERE k IS NOT NULL",
    "SELECT DISTINCT k FROM {t} EXCEPT SELECT k FROM {t} WHERE k = 9",
    "SELECT a.k FROM {t} a LEFT ANTI JOIN (SELECT * FROM {t} WHERE k > 20) b ON a.k = b.k",
    "SELECT id FROM {t} WHERE d BETWEEN DATE'2024-01-05' AND DATE'2024-01-06' AND k IS NOT NULL",
]


@pytest.fixture(params=[make_parquet, make_delta, make_iceberg] if SOAK else [make_parquet])
def lake(spark: SparkSession, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Lake]:
    make: Make = request.param
    found = make(spark, tmp_path)
    columns = ["id", "k", "name", "d"]
    kinds = [
        mi.Covering(["k"], ["id", "name", "d"], buckets=4),
        mi.CoveringRange(["d"], [one for one in columns if one != "d"]),
    ]
    found.table().create_index("cov", *kinds)
    found.append(rows_of(spark, 10_000, 60, 1))
    delete_rows(found, "id % 50 = 8")
    rule.enable(spark, rule=mi.RuleConfig(max_appended_ratio=1.0, max_deleted_ratio=1.0, timeout_seconds=60.0))
    spark.conf.set(f"{SQL}autoBroadcastJoinThreshold", "-1")
    yield found
    spark.conf.unset(f"{SQL}autoBroadcastJoinThreshold")
    rule.disable(spark)


def test_every_setting_gives_the_same(spark: SparkSession, lake: Lake) -> None:
    served = 0
    for settings in [*FEW, *(MANY if SOAK else [])]:
        before = {name: spark.conf.get(SQL + name, None) for name in settings}
        for name, value in settings.items():
            spark.conf.set(SQL + name, value)
        try:
            served += _same(spark, lake, settings)
            count("settings of sessions")
        finally:
            for name, was in before.items():
                if was is None:
                    spark.conf.unset(SQL + name)
                else:
                    spark.conf.set(SQL + name, was)
    assert served > 0
    assert rule.counts(spark).failed == 0, rule.counts(spark).last_error


def _same(spark: SparkSession, lake: Lake, settings: dict[str, str]) -> int:
    """How many scans the index stood for."""
    text = batch([query.format(t=lake.name) for query in QUERIES])
    frame = spark.sql(text)
    assert sorted(map(repr, frame.collect())) == without_the_rule(spark, text), settings
    return str(frame._jdf.queryExecution().optimizedPlan().toString()).count("<metaindex cov: covering")
