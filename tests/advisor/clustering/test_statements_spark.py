"""The statements of the advice, run by Spark: they are understood, and queries then read about as many files as was
said. Names and paths that need quotes are among them."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake
from pyspark.sql import SparkSession

import metaindex as mi
from metaindex.advisor.clustering.layouts import Advice
from metaindex.core import SparkDriver
from tests.tables import settle, settled

pytestmark = pytest.mark.spark

FILES, ROWS = 16, 2000


def tables(seed: int = 5) -> list[pa.Table]:
    """Neither column follows the files."""
    random = np.random.default_rng(seed)
    made = []
    for _ in range(FILES):
        users, prices = random.integers(0, 2**30, ROWS), random.integers(0, 2**30, ROWS)
        payload = random.integers(0, 2**62, ROWS)  # bytes that no encoding makes smaller
        made.append(pa.table({"user id": users, "price": prices, "payload": payload}))
    return made


def read_now(table: mi.Table, advice: Advice) -> None:
    """Of each column about as many of the files are read as was said: as shares, for a writer makes more or fewer."""
    found = table.reopened().clustering(*(f"`{one.column}`" for one in advice.effects), sample=0)
    assert found.files > FILES / 2
    for one in advice.effects:
        then = one.files_then / advice.files
        assert found[one.column].range_share == pytest.approx(then, rel=0.35, abs=1.5 / found.files), (one, found)


def run(spark: SparkSession, advice: Advice, name: str | None = None) -> None:
    for statement in advice.rewrite.statements(name):
        spark.sql(statement)


def test_delta_by_path_by_name_and_clustered(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "it's a `table` of ${env:HOME}")
    for rows in tables():
        write_deltalake(path, rows.rename_columns(["user_id", "price", "payload"]), mode="append")
    driver = SparkDriver(spark)
    with (
        driver.setting("spark.databricks.delta.optimize.maxFileSize", "1000"),
        driver.setting("spark.sql.variable.substitute", "true"),
    ):
        table = mi.open_table(path)
        both = table.clustering("price", "user_id").advice[0]
        assert both.columns == ("price", "user_id")
        run(spark, both)
        read_now(table, both)
        assert spark.conf.get("spark.sql.variable.substitute") == "false"
        spark.sql(f"CREATE TABLE advised USING delta LOCATION '{path.replace(chr(39), chr(92) + chr(39))}'")
        alone = table.reopened().clustering("user_id").advice[0]
        run(spark, alone, "advised")
        read_now(table, alone)
        for statement in both.rewrite.otherwise("advised"):
            spark.sql(statement)
        clustered = table.reopened().clustering("price", "user_id", sample=0)
        assert clustered["price"].range_share < 0.7
        spark.sql("DROP TABLE IF EXISTS advised")


def test_iceberg_sorted_and_in_z_order(spark: SparkSession, tmp_path: Path) -> None:
    spark.sql("CREATE NAMESPACE IF NOT EXISTS iceberg.advice")
    spark.sql("CREATE TABLE iceberg.advice.t (`user id` BIGINT, price BIGINT, payload BIGINT) USING iceberg")
    for number, rows in enumerate(tables()):
        file = tmp_path / f"f{number}.parquet"
        pq.write_table(rows, file)
        spark.read.parquet(str(file)).coalesce(1).writeTo("iceberg.advice.t").append()
    warehouse = spark.conf.get("spark.sql.catalog.iceberg.warehouse")
    table = mi.open_table(f"{warehouse}/advice/t".removeprefix("file:"))
    found = table.clustering("`user id`", "price")
    assert found.files == FILES
    curved = found.advice[0]
    assert len(curved.columns) == 2
    assert curved.rewrite.statements()[0].startswith("CALL catalog.system.rewrite_data_files(table => 'advice.t'")
    run(spark, curved, "iceberg.advice.t")
    read_now(table, curved)
    alone = next(one for one in table.reopened().clustering("price").advice if len(one.columns) == 1)
    run(spark, alone, "iceberg.advice.t")
    read_now(table, alone)
    spark.sql("DROP TABLE iceberg.advice.t")


def test_a_sorted_copy_of_plain_files(spark: SparkSession, tmp_path: Path) -> None:
    root = tmp_path / 'a "lake" [1]'
    root.mkdir()
    other = tmp_path / 'a "lake" 1'  # as a pattern the name fits this one
    other.mkdir()
    pq.write_table(tables()[0].slice(0, 5), other / "other.parquet")
    settled(root, {f"f{number:02d}.parquet": rows for number, rows in enumerate(tables())})
    (advice, *_) = mi.open_table(root).clustering("`user id`").advice
    exec(advice.sql(), {"spark": spark})
    copy = mi.open_table(f"{root}-sorted", config=mi.Config(settle_seconds=0))
    read_now(copy, advice)
    assert copy.scan(columns=["price"]).to_arrow().num_rows == FILES * ROWS


def test_a_sorted_copy_keeps_the_folders_of_partitions(spark: SparkSession, tmp_path: Path) -> None:
    root = tmp_path / "lake"
    for number, rows in enumerate(tables()[:8]):
        folder = root / f"day={number % 2}"
        folder.mkdir(parents=True, exist_ok=True)
        pq.write_table(rows, folder / f"f{number}.parquet")
    settle(root)
    advice = mi.open_table(root).clustering("price").advice[0]
    exec(advice.sql(), {"spark": spark})
    copy = mi.open_table(f"{root}-sorted").clustering("price", "day", sample=0)
    assert copy["day"].constant_share == 1
    assert copy["price"].range_share == pytest.approx(advice.effects[0].files_then / advice.files, rel=0.5)


def test_files_with_deleted_rows_are_told_and_measured_as_they_are(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "deletes")
    for first in (0, 100):
        write_deltalake(path, pa.table({"id": np.arange(first, first + 100)}), mode="append")
    spark.sql(f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    spark.sql(f"DELETE FROM delta.`{path}` WHERE id BETWEEN 10 AND 20")
    found = mi.open_table(path).clustering()
    assert (found.files, found.files_with_deletes) == (2, 1)
    # What the log says of a file with deleted rows need not be true of all its rows: nobody vouches for it.
    assert (found["id"].bounded_files, found["id"].unknown_files) == (1, 1)
    assert found.sampled.rows == 189
    assert "1 file with deleted rows" in str(found)
    table = mi.open_table(path)
    table.create_index("stats", mi.ColumnStats(), builder="local")
    indexed = table.clustering("id")["id"]
    assert (indexed.bounded_files, indexed.average_depth) == (2, 1)
