"""Rows deleted by position (vectors of Delta and of Iceberg, delete files of Iceberg): a look-up by a covering index
reads what it reads without them, and they are left out by a mask where one is small enough."""

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

import metaindex as mi
import metaindex.spark as rule
from metaindex.core import SparkDriver
from tests.spark.optimizer.changing_lakes import Lake, asked, covered
from tests.spark.optimizer.lakes import location_of

ROWS, FILES, BUCKETS, KEYS = 48_000, 8, 24, 600
KIND = mi.Covering(["k"], ["id", "s"], buckets=BUCKETS)
LOOK_UP = "SELECT id, s FROM {t} WHERE k = 77"


def _rows(spark: SparkSession) -> DataFrame:
    """Every file has every key."""
    return spark.range(0, ROWS, 1, FILES).selectExpr(
        "id", f"CAST(id * 17 % {KEYS} AS int) AS k", "sha2(CAST(id AS string), 256) AS s"
    )


def delta_vectors(spark: SparkSession, folder: Path) -> Lake:
    path = str(folder / "delta")
    _rows(spark).write.format("delta").option("delta.enableDeletionVectors", "true").save(path)
    return Lake(spark, "delta", f"delta.`{path}`", path)


def _iceberg(spark: SparkSession, folder: Path, version: int) -> Lake:
    name = f"iceberg.deleted.t{abs(hash(str(folder))) % 10**9}"
    spark.sql(
        f"CREATE TABLE {name} (id BIGINT, k INT, s STRING) USING iceberg TBLPROPERTIES "
        f"('format-version'='{version}', 'write.delete.mode'='merge-on-read', 'write.distribution-mode'='none')"
    )
    _rows(spark).writeTo(name).append()
    return Lake(spark, "iceberg", name, location_of(spark, name))


def iceberg_position_deletes(spark: SparkSession, folder: Path) -> Lake:
    return _iceberg(spark, folder, 2)


def iceberg_vectors(spark: SparkSession, folder: Path) -> Lake:
    return _iceberg(spark, folder, 3)


@pytest.mark.parametrize("make", [delta_vectors, iceberg_position_deletes, iceberg_vectors])
def test_a_look_up_reads_as_much_as_before_the_deletes(
    sorting: SparkSession, tmp_path: Path, make: Callable[[SparkSession, Path], Lake]
) -> None:
    spark, lake = sorting, covered(make(sorting, tmp_path), KIND)
    text = LOOK_UP.format(t=lake.name)
    fresh = mi.explain(spark.sql(text), run=True)
    assert fresh.read_bytes is not None
    (was,) = fresh.read
    for delete in ("id = 20011", "id % 10 = 3"):
        spark.sql(f"DELETE FROM {lake.name} WHERE {delete}")
        plan = asked(spark, text)
        assert "Join" not in plan, plan
        told = mi.explain(spark.sql(text), run=True)
        (now,) = told.read
        assert now.rows == was.rows, "other buckets and pages are left out"
        assert told.read_bytes < 2.5 * fresh.read_bytes, "what is more is lineage"
        assert told.read_bytes < now.size_bytes / 5, "of all the buckets"
    for other in (
        f"SELECT k, count(*) AS c, sum(id) AS i FROM {lake.name} GROUP BY k",
        f"SELECT count(*) AS c, sum(a.id) AS i FROM {lake.name} a JOIN {lake.name} b ON a.k = b.k",
    ):
        asked(spark, other)
    with (
        SparkDriver(spark).setting("spark.sql.codegen.wholeStage", "false"),
        SparkDriver(spark).setting("spark.sql.codegen.factoryMode", "NO_CODEGEN"),
    ):
        asked(spark, text)
    lake.table().refresh_index("cov")
    asked(spark, text)
    assert rule.counts(spark).failed == 0, rule.counts(spark).last_error


def test_more_deleted_rows_than_a_mask_holds_are_left_out_by_a_join(
    sorting: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from metaindex.spark.optimizer import serving

    spark, lake = sorting, covered(delta_vectors(sorting, tmp_path), KIND)
    spark.sql(f"DELETE FROM {lake.name} WHERE id % 10 = 3")
    monkeypatch.setattr(serving, "MASK_BITS", 1_000)
    text = LOOK_UP.format(t=lake.name)
    plan = asked(spark, text)
    assert "Join" in plan, plan
    assert mi.explain(spark.sql(text), run=True).read[0].rows < ROWS / 10, "the filter stands below the join"
