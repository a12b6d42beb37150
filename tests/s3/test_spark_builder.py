"""The Spark builder on S3: its Python tasks read and write through the same storage, so Parquet, Delta and Iceberg need
no connector in the JVM."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import metaindex as mi
from metaindex.core import MetaIndexError

from .server import S3Server
from .test_tables import MAKERS, ids, rows


@pytest.mark.parametrize("kind", ["parquet", "delta", "iceberg"])
def test_spark_builds_what_the_local_builder_builds(
    spark: SparkSession, s3: S3Server, bucket: str, tmp_path: Path, kind: str
) -> None:
    making = MAKERS[kind](s3, bucket, tmp_path)
    lake = next(making)
    for first in (0, 10, 20):
        lake.append(rows(first))
    lake.options["storage_options"] = s3.options  # Spark's workers were started with the environment before
    lake.open(mi.Config(builder="spark"), spark=spark).create_index("by_spark", mi.ColumnStats())
    lake.open().create_index("here", mi.ColumnStats())
    table = lake.open()
    for predicate in ("id = 15", "name >= 'n0020'", "price < 2", "id IS NULL"):
        one, two = (table.prune(predicate, indexes=[name]) for name in ("by_spark", "here"))
        assert one.files.paths.to_pylist() == two.files.paths.to_pylist()
    assert ids(table, "id = 15") == [15]
    for _ in making:
        raise AssertionError


def test_text_files_need_the_connector_and_that_is_said(
    spark: SparkSession, s3: S3Server, bucket: str, tmp_path: Path
) -> None:
    """Spark's own readers are the truth of CSV and JSON, and they read a store by a connector that is not fetched
    here."""
    lake = next(MAKERS["csv"](s3, bucket, tmp_path))
    lake.append(rows(0))
    lake.append(rows(10))
    lake.options["storage_options"] = s3.options
    table = lake.open(mi.Config(builder="spark"), spark=spark)
    with pytest.raises(MetaIndexError, match="build without Spark") as caught:
        table.create_index("main", mi.ColumnStats())
    assert "\n" not in str(caught.value)
    assert ids(table, "id = 5") == [5]
    table.create_index("main", mi.ColumnStats(), builder="local")
    assert len(table.prune("id = 5").files) == 1
