"""What Spark is told of kept files instead of asking for them itself: of Delta's log, and of Iceberg's manifests and
delete files."""

import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import metaindex as mi
from metaindex.core import ScanError, SparkDriver
from metaindex.spark.readers.jvm import compiled
from tests.formats.iceberg.written import WrittenHistory
from tests.formats.iceberg.written_rows import plain
from tests.query.readers.test_spark_scan import (
    PARTITIONS,
    check_delta,
    delta_snapshot,
    iceberg_snapshot,
    of_arrow,
    of_spark,
    partitioned_rows,
    scan_of,
)
from tests.spark.optimizer.lakes import location_of

pytestmark = [pytest.mark.spark, pytest.mark.uncompiled]


def jobs(spark: SparkSession, task: Callable[[], Any]) -> int:
    """How many jobs of Spark's the task runs."""
    group = f"jobs of {random.random()}"
    spark.sparkContext.setJobGroup(group, group)
    try:
        task()
        return len(spark.sparkContext.statusTracker().getJobIdsForGroup(group))
    finally:
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]


def test_a_session_without_the_jars_is_told_so(spark: SparkSession) -> None:
    with pytest.raises(ScanError, match="does not fit those of this session"):
        compiled(spark, "Nowhere")


# Delta --------------------------------------------------------------------------------------------------------------


def test_files_of_delta_are_found_without_a_job(spark: SparkSession, tmp_path: Path) -> None:
    root = str(tmp_path / "t")
    spark.sql(f"CREATE TABLE delta.`{root}` (id BIGINT, ps STRING) USING delta PARTITIONED BY (ps)")
    spark.sql(f"INSERT INTO delta.`{root}` SELECT id, {PARTITIONS['ps'][1]} AS ps FROM range(0, 9, 1, 1)")
    spark.sql(f"INSERT INTO delta.`{root}` VALUES (100, 'a b')")
    for version in (1, 2):
        snapshot = delta_snapshot(root, version)
        for rows in ([2, 5], range(len(snapshot.files))):
            some = scan_of(snapshot, root, rows=rows)
            some.to_spark(spark)  # Delta reads an old version's own metadata once
            made: list[Any] = []
            assert jobs(spark, lambda some=some, made=made: made.append(some.to_spark(spark))) == 0
            assert jobs(spark, lambda made=made: made.append(of_spark(made[0]))) == 1
            assert made[1] == of_arrow(some.to_arrow())


def test_filters_on_partitions_of_a_frame_leave_out_its_files(spark: SparkSession, tmp_path: Path) -> None:
    root = str(tmp_path / "t")
    columns = ", ".join(f"{name} {type_}" for name, (type_, _) in PARTITIONS.items())
    spark.sql(
        f"CREATE TABLE delta.`{root}` (id BIGINT, {columns}) USING delta PARTITIONED BY ({', '.join(PARTITIONS)})"
        " TBLPROPERTIES ('delta.columnMapping.mode'='name', 'delta.enableDeletionVectors'='true')"
    )
    spark.sql(f"INSERT INTO delta.`{root}` {partitioned_rows()}")
    spark.sql(f"ALTER TABLE delta.`{root}` RENAME COLUMN ps TO `p, s`")
    frame = scan_of(delta_snapshot(root), root, rows=range(1, 9)).to_spark(spark)
    rows = of_spark(frame)
    whole = spark.read.format("delta").load(root)
    assert len(rows) == 8
    for where in ("`p, s` = 'a:b'", "pi > 3 AND pt < TIMESTAMP'2020-01-07 00:00:00'", "pd IS NULL", "pc <=> NULL OR pb",
        "1 = 0"):  # fmt: skip
        expected = [row for row in of_spark(whole.where(where)) if row in rows]
        assert of_spark(frame.where(where)) == expected, where
    assert frame.where("pd IS NULL").count() + frame.where("pd IS NOT NULL").count() == 8


def test_a_shallow_clone_of_delta_is_read_where_its_files_are(spark: SparkSession, tmp_path: Path) -> None:
    root, clone = str(tmp_path / "t o%20t"), str(tmp_path / "clone")
    spark.sql(
        f"CREATE TABLE delta.`{root}` (id BIGINT, ps STRING) USING delta PARTITIONED BY (ps) TBLPROPERTIES"
        " ('delta.enableDeletionVectors'='true')"
    )
    spark.sql(
        f"INSERT INTO delta.`{root}` SELECT id + 10 * n, ps FROM (SELECT id, {PARTITIONS['ps'][1]} AS ps FROM range(0,"
        " 9, 1, 1)), (SELECT explode(sequence(0, 3)) AS n)"
    )
    spark.sql(f"DELETE FROM delta.`{root}` WHERE id IN (1, 2, 23)")
    spark.sql(f"CREATE TABLE delta.`{clone}` SHALLOW CLONE delta.`{root}`")
    spark.sql(f"INSERT INTO delta.`{clone}` VALUES (100, 'a b')")
    spark.sql(f"DELETE FROM delta.`{clone}` WHERE id IN (14, 100)")
    check_delta(spark, clone, range(3))


def test_row_ids_of_delta_are_those_of_the_table(spark: SparkSession, tmp_path: Path) -> None:
    root = str(tmp_path / "t")
    spark.sql(
        f"CREATE TABLE delta.`{root}` (id BIGINT) USING delta TBLPROPERTIES ('delta.enableRowTracking'='true',"
        " 'delta.enableDeletionVectors'='true')"
    )
    for start in (0, 10, 20):
        spark.sql(f"INSERT INTO delta.`{root}` SELECT id FROM range({start}, {start + 10}, 1, 1)")
    spark.sql(f"DELETE FROM delta.`{root}` WHERE id IN (3, 15)")
    asked = ("id", "_metadata.row_id", "_metadata.row_commit_version", "_metadata.file_size", "_metadata.file_name")
    expected = of_spark(spark.read.format("delta").load(root).select(*asked))
    assert of_spark(scan_of(delta_snapshot(root), root).to_spark(spark).select(*asked)) == expected


def test_another_delta_table_at_the_same_place_is_not_taken_for_it(spark: SparkSession, tmp_path: Path) -> None:
    root = str(tmp_path / "t")
    spark.sql(f"CREATE TABLE delta.`{root}` USING delta AS SELECT id FROM range(0, 5, 1, 1)")
    old = scan_of(delta_snapshot(root), root)
    assert spark.read.format("delta").load(root).count() == 5  # Spark keeps what it read of the log
    other = str(tmp_path / "other")
    spark.sql(f"CREATE TABLE delta.`{other}` USING delta AS SELECT CAST(id AS STRING) AS s FROM range(0, 7, 1, 1)")
    shutil.rmtree(root)
    shutil.move(other, root)
    assert sorted(r.s for r in scan_of(delta_snapshot(root), root).to_spark(spark).collect()) == list("0123456")
    with pytest.raises(ScanError, match="another table"):
        old.to_spark(spark)


# Iceberg ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("format_version", [2, 3])
def test_deletes_of_every_kind_travel_with_the_kept_files(
    spark: SparkSession, tmp_path: Path, format_version: int
) -> None:
    for seed in range(2):
        rng = random.Random(seed * 10 + format_version)
        history = WrittenHistory(tmp_path / f"t{seed}", format_version, rng).run(10)
        table = mi.open_table(str(history.root))
        for version in history.expected:
            whole = table.scan(version=version)
            expected = plain(history.shown(version))
            assert plain(SparkDriver.arrow_of(whole.to_spark(spark)).to_pylist()) == expected, (seed, version)
            rows = rng.sample(range(len(whole.snapshot.files)), k=(len(whole.snapshot.files) + 1) // 2)
            some = scan_of(whole.snapshot, str(history.root), rows=sorted(rows))
            assert plain(SparkDriver.arrow_of(some.to_spark(spark)).to_pylist()) == plain(
                some.to_arrow().to_pylist()
            ), version


def test_only_manifests_that_list_kept_files_are_read(spark: SparkSession) -> None:
    name = "iceberg.readers.manifests"
    spark.sql(f"CREATE TABLE {name} (id BIGINT) USING iceberg TBLPROPERTIES ('commit.manifest-merge.enabled'='false')")
    for start in (0, 10, 20):
        spark.sql(f"INSERT INTO {name} SELECT id FROM range({start}, {start + 10}, 1, 1)")
    root = location_of(spark, name)
    snapshot = iceberg_snapshot(root)
    kept = [scan_of(snapshot, root, rows=[row]) for row in range(3)]
    first = kept[0].to_arrow()
    lost = snapshot.details.data_manifests[1].location.removeprefix("file:")
    shutil.move(lost, f"{lost}.away")
    assert of_spark(kept[0].to_spark(spark)) == of_arrow(first)
    assert of_spark(kept[2].to_spark(spark)) == of_arrow(kept[2].to_arrow())
    with pytest.raises(Exception, match=r"avro"):
        kept[1].to_spark(spark)
    shutil.move(f"{lost}.away", lost)
    assert of_spark(kept[1].to_spark(spark)) == of_arrow(kept[1].to_arrow())
    shutil.move(lost, f"{lost}.away")  # what was read of a manifest is kept
    again = scan_of(snapshot, root)
    assert jobs(spark, lambda: again.to_spark(spark)) == 0
    assert len(again.to_spark(spark).collect()) == 30
    shutil.move(f"{lost}.away", lost)


def test_a_widened_partition_is_read_in_old_and_new_versions(spark: SparkSession) -> None:
    name = "iceberg.readers.widened"
    spark.sql(f"CREATE TABLE {name} (id BIGINT, p INT, q DECIMAL(5, 2)) USING iceberg PARTITIONED BY (p, q)")
    spark.sql(f"INSERT INTO {name} VALUES (1, 1, 1.25), (2, NULL, NULL), (3, 3, 3.5)")
    spark.sql(f"ALTER TABLE {name} ALTER COLUMN p TYPE BIGINT")
    spark.sql(f"ALTER TABLE {name} ALTER COLUMN q TYPE DECIMAL(9, 2)")
    spark.sql(f"INSERT INTO {name} VALUES (4, 5000000000, 1234567.25)")
    spark.sql(f"ALTER TABLE {name} RENAME COLUMN p TO `other, p`")
    root = location_of(spark, name)
    ids = [r[0] for r in spark.sql(f"SELECT snapshot_id FROM {name}.snapshots ORDER BY committed_at").collect()]
    for version in (*ids, None, *ids):
        snapshot = iceberg_snapshot(root, version)
        expected = of_spark(spark.sql(f"SELECT * FROM {name}" + (f" VERSION AS OF {version}" if version else "")))
        assert of_spark(scan_of(snapshot, root).to_spark(spark)) == expected
        by_file = [
            of_spark(scan_of(snapshot, root, rows=[row]).to_spark(spark))[0] for row in range(len(snapshot.files))
        ]
        assert sorted(by_file, key=repr) == expected
