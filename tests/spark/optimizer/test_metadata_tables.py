"""Iceberg's tables of a table's own facts: the numbers of their columns are those of other columns of the table."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import metaindex as mi
import metaindex.spark as rule
from metaindex.core import SparkDriver
from tests.spark.optimizer.changing_lakes import make_iceberg
from tests.spark.optimizer.lakes import ruled

pytestmark = [pytest.mark.spark, pytest.mark.uncompiled]

ASKED = (
    "snapshots WHERE snapshot_id = 7",
    "snapshots WHERE operation = 'append'",
    "history WHERE is_current_ancestor",
    "refs WHERE name = 'main'",
    "files WHERE content = 0 AND record_count > 3",
    "all_data_files WHERE file_format = 'PARQUET'",
    "entries WHERE status = 1",
    "partitions WHERE record_count > 3",
    "manifests WHERE length > 1",
    "position_deletes WHERE pos >= 0",
    "metadata_log_entries WHERE latest_schema_id = 0",
)


def test_nothing_is_asked_about_them(spark: SparkSession, tmp_path: Path) -> None:
    """Their filters were bound to columns of the table; the plan stayed as it was by an error of types alone."""
    lake = make_iceberg(spark, tmp_path)
    spark.sql(f"DELETE FROM {lake.name} WHERE id = 5")
    mi.open_table(lake.path, format="iceberg").create_index("stats", mi.ColumnStats(), builder="local")
    with ruled(spark):
        for asked in ASKED:
            query = f"SELECT * FROM {lake.name}.{asked}"
            before = rule.counts(spark)
            found = spark.sql(query).count()
            after = rule.counts(spark)
            assert (after.asked, after.rewritten, after.failed) == (before.asked, before.rewritten, before.failed), (
                asked
            )
            with SparkDriver(spark).setting("spark.metaindex.enabled", "false"):
                assert spark.sql(query).count() == found, asked
        assert spark.sql(f"SELECT id FROM {lake.name} WHERE id = 6").count() == 1
        assert rule.counts(spark).asked > after.asked
