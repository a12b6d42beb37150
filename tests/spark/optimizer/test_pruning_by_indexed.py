"""Where an index is used for the table that says what another one need not read: Spark leaves partitions of a table out
by what it has read of the other side of a join, as long as it finds that side in the plan as it was when it was told
to. And runtime filters, which read a table a second time by the scan of the join."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import metaindex as mi
from metaindex.core import SparkDriver
from tests.spark.optimizer.changing_lakes import MAKERS, Lake, asked
from tests.spark.optimizer.lakes import location_of

STATS = mi.ColumnStats()
COPY = mi.Covering(indexed=["n"], included=["p", "label"], buckets=4)
RANGES = mi.CoveringRange(["n"], ["p", "label"])
JOIN = "SELECT f.id, f.v, d.label FROM {t} f JOIN {d} d ON f.p = d.p WHERE d.n = 7"
NESTED = (
    "SELECT f.id, d.label, e.label AS more FROM {t} f JOIN {d} d ON f.p = d.p JOIN {d} e ON d.n = e.n "
    "WHERE d.n = 7 AND e.label = 'l7'"
)


def _rows(spark: SparkSession, start: int, count: int, files: int) -> DataFrame:
    return spark.range(start, start + count, 1, files).selectExpr(
        "id AS n", "CAST(id % 3 AS int) AS p", "concat('l', id) AS label"
    )


def _named(spark: SparkSession, lake: Lake, folder: Path) -> Lake:
    """A small table of the format, of which the format itself knows no statistics."""
    rows = _rows(spark, 0, 400, 4)
    if lake.format == "iceberg":
        name = f"iceberg.covering.d{abs(hash(str(folder))) % 10**9}"
        spark.sql(
            f"CREATE TABLE {name} (n BIGINT, p INT, label STRING) USING iceberg "
            "TBLPROPERTIES ('write.metadata.metrics.default'='none', 'write.distribution-mode'='none')"
        )
        rows.writeTo(name).append()
        return Lake(spark, "iceberg", name, location_of(spark, name))
    path, form = str(folder / "named"), "delta" if lake.format == "delta" else "parquet"
    rows.write.format(form).option("delta.dataSkippingNumIndexedCols", "0").save(path)
    return Lake(spark, lake.format, f"{form}.`{path}`", path)


def _planned(spark: SparkSession, text: str) -> str:
    """What was run and, of an adaptive plan, what it began with."""
    frame = spark.sql(text)
    frame.collect()
    return str(frame._jdf.queryExecution().executedPlan().toString())


@pytest.fixture
def lakes(sorting: SparkSession, tmp_path: Path, request: pytest.FixtureRequest) -> tuple[Lake, Lake]:
    lake = request.param(sorting, tmp_path)
    return lake, _named(sorting, lake, tmp_path)


def _append(dim: Lake, frame: DataFrame) -> None:
    if dim.format == "files":
        frame.write.mode("append").parquet(dim.path)
    else:
        dim.append(frame)


@pytest.mark.parametrize("kind", [STATS, COPY, RANGES], ids=["stats", "buckets", "ranges"])
@pytest.mark.parametrize("lakes", MAKERS, indirect=True)
def test_partitions_are_left_out_by_a_table_that_is_read_by_its_index(
    lakes: tuple[Lake, Lake], sorting: SparkSession, kind: Any
) -> None:
    spark, (fact, dim) = sorting, lakes
    dim.table().create_index("cov", kind, builder="local" if kind is STATS else "spark")
    with SparkDriver(spark).setting("spark.sql.autoBroadcastJoinThreshold", "10MB"):
        for _ in range(2):
            for text in (JOIN, NESTED):
                for adaptive in ("true", "false"):
                    with SparkDriver(spark).setting("spark.sql.adaptive.enabled", adaptive):
                        asked(spark, text.format(t=fact.name, d=dim.name), by="")
                        plan = _planned(spark, text.format(t=fact.name, d=dim.name))
                        assert "cov" in plan, plan
                        assert "dynamicpruningexpression(true)" not in plan, plan
                        assert "dynamicpruningexpression(" in plan, plan
            _append(dim, _rows(spark, 400, 30, 1))  # an index of rows is used together with the new file


@pytest.mark.parametrize("kind", [STATS, COPY], ids=["stats", "buckets"])
@pytest.mark.parametrize("lakes", MAKERS, indirect=True)
def test_a_filter_that_is_made_at_run_time_is_of_the_whole_table(
    lakes: tuple[Lake, Lake], sorting: SparkSession, kind: Any
) -> None:
    """A bloom filter of the keys of one side, read by the same scan: an Iceberg scan is changed in place."""
    spark, (fact, dim) = sorting, lakes
    dim.table().create_index("cov", kind, builder="local" if kind is STATS else "spark")
    text = f"SELECT f.id, d.label FROM {fact.name} f JOIN {dim.name} d ON f.id = d.n WHERE d.n IN (7, 8, 410)"
    with (
        SparkDriver(spark).setting("spark.sql.optimizer.runtime.bloomFilter.applicationSideScanSizeThreshold", "0"),
        SparkDriver(spark).setting("spark.sql.optimizer.dynamicPartitionPruning.reuseBroadcastOnly", "false"),
    ):
        for _ in range(2):
            asked(spark, text.replace("d.n IN", "d.label <> 'x' AND d.n + 0 IN"), by="")
            asked(spark, text, by="")
            asked(spark, JOIN.format(t=fact.name, d=dim.name), by="")
            _append(dim, _rows(spark, 400, 30, 1))
