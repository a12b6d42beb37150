"""What Spark's own writers do to the identity of files: what was only moved about in a log is known still, what was
written anew is not taken for what it was."""

import itertools
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import metaindex as mi
import metaindex.spark as rule
from metaindex.table import handle_of
from tests.index.actions.test_identity import add, commit, data, made, metadata, remove
from tests.spark.optimizer.lakes import location_of

pytestmark = [pytest.mark.spark, pytest.mark.uncompiled]
_numbers = itertools.count()


def indexed(path: str, *kinds: Any) -> mi.Table:
    table = mi.open_table(path, config=mi.Config(builder="local"))
    table.create_index("ix", *(kinds or (mi.ColumnStats(), mi.Values("id"))))
    return table


def refreshed(table: mi.Table) -> int:
    """How many files a refresh reads; the index is right then."""
    before = {run.run for run in handle_of(table).entries()[0].content.runs}
    outcome = table.refresh_index("ix")
    assert table.verify_index("ix").sound
    return sum(run.files for run in outcome.entry.content.runs if run.run not in before and run.builder == "local")


def right(spark: SparkSession, table: mi.Table, name: str) -> None:
    for at in (3, 45, 77, 1003):
        assert (
            table.scan(f"id = {at}").to_arrow().num_rows == spark.sql(f"SELECT * FROM {name} WHERE id = {at}").count()
        )


def test_what_commands_of_delta_do(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    name = f"delta.`{path}`"
    spark.sql(f"CREATE TABLE {name} (id BIGINT) USING delta TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    spark.range(0, 80, 1, 4).write.format("delta").mode("append").save(str(path))
    table = indexed(str(path))
    assert refreshed(table) == 0
    spark.range(1000, 1020, 1, 1).write.format("delta").mode("append").save(str(path))
    assert refreshed(table) == 1
    spark.sql(f"DELETE FROM {name} WHERE id IN (3, 45)")
    assert refreshed(table) == 0, "a deletion vector is no other file"
    right(spark, table, name)
    spark.sql(f"RESTORE TABLE {name} TO VERSION AS OF 1")
    assert refreshed(table) == 0, "a restored file is known"
    right(spark, table, name)
    spark.sql(f"RESTORE TABLE {name} TO VERSION AS OF 3")
    assert refreshed(table) == 0
    spark.sql(f"REORG TABLE {name} APPLY (PURGE)")
    assert 0 < refreshed(table) < 5
    right(spark, table, name)
    clone = tmp_path / "clone"
    spark.sql(f"CREATE TABLE delta.`{clone}` SHALLOW CLONE {name}")
    copied = indexed(str(clone))
    assert copied.indexes()[0].fresh
    assert copied.scan("id = 77").to_arrow().num_rows == 1
    before = table.prune("id = 77").version.table_uuid
    spark.range(2000, 2040, 1, 2).createOrReplaceTempView("more")
    spark.sql(f"CREATE OR REPLACE TABLE {name} USING delta AS SELECT id FROM more")
    right(spark, table, name)
    assert table.scan("id = 2003").to_arrow().num_rows == 1
    assert refreshed(table) == 2
    assert table.scan("id = 2003").to_arrow().num_rows == 1
    assert len(table.prune("id = 77").files) == 0
    assert before
    assert table.scan("id = 77", version=1).to_arrow().num_rows == 1


@pytest.mark.parametrize("format_version", [1, 2])
def test_what_procedures_of_iceberg_do(spark: SparkSession, tmp_path: Path, format_version: int) -> None:
    short = f"identity.t{next(_numbers)}"
    name = f"iceberg.{short}"
    spark.sql(f"CREATE TABLE {name} (id BIGINT) USING iceberg TBLPROPERTIES ('format-version' = '{format_version}')")
    spark.range(0, 40, 1, 2).writeTo(name).append()
    spark.range(40, 80, 1, 2).writeTo(name).append()
    table = indexed(location_of(spark, name))
    files = len(table.prune("id >= 0").files)
    spark.sql(f"CALL iceberg.system.rewrite_manifests('{short}')")
    assert refreshed(table) == 0, "a rewritten manifest lists the same files"
    right(spark, table, name)
    spark.sql(f"DELETE FROM {name} WHERE id = 45")
    assert 0 <= refreshed(table) <= 1
    first = spark.sql(f"SELECT snapshot_id FROM {name}.history ORDER BY made_current_at").collect()[1].snapshot_id
    spark.sql(f"CALL iceberg.system.rollback_to_snapshot('{short}', {first})")
    assert refreshed(table) == 0
    assert len(table.prune("id >= 0").files) == files
    spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('format-version' = '2')")
    spark.range(1000, 1020, 1, 1).writeTo(name).append()
    assert refreshed(table) == 1, "an upgrade is no other table, and its files are the same"
    spark.sql(f"CALL iceberg.system.rewrite_manifests('{short}')")
    assert refreshed(table) == 0
    right(spark, table, name)
    assert len(table.prune("id = 1003").files) == 1


def test_files_written_anew_are_read_by_queries_of_spark(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    size = made(path, 0, "one", 1000)
    for at in range(1, 4):
        data(path, 10 * at, f"part-{at}.parquet")
        commit(path, at, add(size, 1000, f"part-{at}.parquet", stats='{"numRecords":10}'))
    table = indexed(str(path), mi.ColumnStats(), mi.Values("a"))
    rule.enable(spark)
    try:

        def count(condition: str) -> int:
            return spark.read.format("delta").load(str(path)).where(condition).count()

        assert (count("a = 5"), count("a = 25")) == (1, 1)
        assert (
            "1/4 files" in spark.read.format("delta").load(str(path)).where("a = 25")._jdf.queryExecution().toString()
        )
        data(path, 100)
        commit(path, 4, remove(size, 2000))
        commit(path, 5, add(size, 2000))
        assert (count("a = 105"), count("a = 5"), count("a = 25")) == (1, 0, 1)
        table.refresh_index("ix")
        assert (count("a = 105"), count("a = 5"), count("a = 25")) == (1, 0, 1)
        data(path, 200)
        commit(path, 6, metadata("two"), remove(size, 2000), add(size, 2000))
        assert (count("a = 205"), count("a = 105"), count("a = 25")) == (1, 0, 1)
        table.refresh_index("ix")
        assert (count("a = 205"), count("a = 105"), count("a = 25")) == (1, 0, 1)
        assert (
            "1/4 files" in spark.read.format("delta").load(str(path)).where("a = 25")._jdf.queryExecution().toString()
        )
    finally:
        rule.disable(spark)
