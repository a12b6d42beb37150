"""A time without a zone means what the table's configuration says, when files are chosen and when rows are."""

import datetime as dt
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import metaindex as mi
from metaindex.core import SparkDriver
from metaindex.expressions import col
from tests.tables import FORMATS


@pytest.mark.parametrize("name", ["parquet", "delta", "iceberg"])
def test_a_time_without_a_zone_is_read_in_the_configured_one(name: str, tmp_path: Path) -> None:
    lake = FORMATS[name](tmp_path)
    moments = [dt.datetime(2024, 1, 1, hour, tzinfo=dt.UTC) for hour in (2, 7)]
    for moment in moments:
        lake.append(pa.table({"ts": pa.array([moment], pa.timestamp("us", "UTC"))}))
    lake.open().create_index("stats", mi.ColumnStats(), builder="local")
    there = lake.open(config=mi.Config(time_zone="America/New_York"))
    here = lake.open()

    for condition in ["ts < '2024-01-01'", "ts < TIMESTAMP '2024-01-01 00:00:00'", col("ts") < dt.datetime(2024, 1, 1)]:
        assert here.scan(condition).to_arrow().num_rows == 0
        assert there.scan(condition).to_arrow().column("ts").to_pylist() == moments[:1]
        assert there.prune(condition).kept_files == 1


def test_spark_columns_mean_what_their_session_says(spark: "SparkSession", tmp_path: Path) -> None:
    from pyspark.sql import functions as F  # noqa: N812 - as everyone calls it

    from metaindex.core import ScanError

    lake = FORMATS["parquet"](tmp_path)
    moment = dt.datetime(2024, 1, 1, 2, tzinfo=dt.UTC)
    lake.append(pa.table({"ts": pa.array([moment], pa.timestamp("us", "UTC")), "s": ["a"]}))
    table = lake.open()
    table.create_index("stats", mi.ColumnStats(), builder="local")
    with SparkDriver(spark).setting("spark.sql.session.timeZone", "America/New_York"):
        condition = F.col("ts") < F.lit("2024-01-01")
        expected = spark.read.parquet(lake.path).where(condition).count()

        assert expected == 1
        assert table.prune(condition).kept_files == 1
        assert table.scan(condition).to_spark(spark).count() == expected
        with pytest.raises(ScanError, match="America/New_York"):
            table.scan("ts < '2024-01-01' AND length(s) = 1").to_spark(spark)
        there = lake.open(config=mi.Config(time_zone="America/New_York"))
        assert there.scan("ts < '2024-01-01' AND length(s) = 1").to_spark(spark).count() == expected
        assert table.scan("length(s) = 1").to_spark(spark).count() == 1
