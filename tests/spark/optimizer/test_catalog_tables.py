"""Tables of Spark's catalog whose partitions the catalog keeps: indexed by their folder, asked by their name."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import metaindex as mi
import metaindex.spark as rule
from tests.spark.optimizer.lakes import ruled
from tests.spark.optimizer.test_text_scans import answered


@pytest.fixture
def session(spark: SparkSession) -> Iterator[SparkSession]:
    found = spark.newSession()
    with ruled(found):
        yield found
    spark.sql("DROP TABLE IF EXISTS catalogued")


@pytest.mark.parametrize("file_format", ["parquet", "csv"])
def test_partitions_that_the_catalog_keeps(session: SparkSession, tmp_path: Path, file_format: str) -> None:
    path = tmp_path / "t"
    session.sql(
        f"CREATE TABLE catalogued (id BIGINT, name STRING, p INT) USING {file_format} PARTITIONED BY (p) LOCATION"
        f" '{path}'"
    )
    session.range(0, 80, 1, 4).selectExpr(
        "id", "concat('n', id) AS name", "CAST(id DIV 20 AS int) AS p"
    ).write.insertInto("catalogued")
    options = (
        {"format": "csv", "header": False, "schema": "id BIGINT, name STRING, p INT"} if file_format == "csv" else {}
    )
    mi.open_table(str(path), **options).create_index("stats", mi.ColumnStats(), builder="local")
    for condition, rows, files in [
        ("id = 46", 1, 1),
        ("p = 2 AND id = 46", 1, 1),
        ("p IN (1, 2) AND name = 'n30'", 1, 1),
        ("p = 1 AND id = 46", 0, 0),
        ("p = 3", 20, 1),
    ]:
        found, read = answered(session, lambda c=condition: session.sql(f"SELECT id FROM catalogued WHERE {c}"))
        assert (len(found), read) == (rows, files), condition
    # Another partition in the same folder: the catalog says what its column holds.
    session.sql(f"ALTER TABLE catalogued ADD PARTITION (p = 9) LOCATION '{path}/p=1'")
    found, _ = answered(session, lambda: session.sql("SELECT id, p FROM catalogued WHERE p = 9 AND id < 25"))
    assert [tuple(row) for row in found] == [(id_, 9) for id_ in range(20, 25)]
    (found,), _ = answered(session, lambda: session.sql("SELECT count(*), max(id) FROM catalogued"))
    assert tuple(found) == (100, 79)
    assert rule.counts(session).failed == 0, rule.counts(session).last_error
