"""Tables written by delta-spark; Spark says which files and rows every version has."""

import datetime as dt
from functools import lru_cache, reduce
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from metaindex.core import SparkDriver
from metaindex.expressions import to_physical
from metaindex.formats.diff import Diff
from metaindex.formats.format import At
from metaindex.formats.model import Snapshot
from tests.formats.delta.hand import DELTA, check_bounds, leaf, ref, snapshot

DataFrame = pytest.importorskip("pyspark.sql").DataFrame

pytestmark = [pytest.mark.spark, pytest.mark.uncompiled]


def files_of_spark(spark: SparkSession, path: Path, version: int) -> set[str]:
    """Live files by Spark's own log replay."""
    jvm = spark.sparkContext._jvm
    log = jvm.org.apache.spark.sql.delta.DeltaLog.forTable(spark._jsparkSession, str(path))
    log.update(False, jvm.scala.Option.empty(), jvm.scala.Option.empty())
    newer = () if spark.version.startswith("3.5") else (False,)  # what Delta's method has besides since
    shot = log.getSnapshotAt(version, jvm.scala.Option.empty(), jvm.scala.Option.empty(), *newer)
    return {unquote(row.path()) for row in shot.allFiles().collectAsList()}


def rows_of_spark(spark: SparkSession, path: Path, versions: list[int]) -> dict[int, list[str]]:
    """The ids of every version, asked at once."""
    at = [
        spark.read.format("delta")
        .option("versionAsOf", v)
        .load(str(path))
        .selectExpr(f"{v} AS v", "CAST(id AS STRING) AS id")
        for v in versions
    ]
    out: dict[int, list[str]] = {v: [] for v in versions}
    for row in reduce(DataFrame.unionAll, at).collect():
        out[row["v"]].append(str(row["id"]))
    return {v: sorted(ids) for v, ids in out.items()}


def rows_of_ours(found: Snapshot, column: str = "id") -> list[str]:
    """The ids that live: all rows of the files but those at deleted positions."""
    source = leaf(found, column).source[0]
    out: list[str] = []
    for row, path in enumerate(found.files.paths.to_pylist()):
        values = values_of(found.uri(path), source)
        count = found.files.table.column("record_count")[row].as_py()
        assert count is None or count == len(values)
        gone = found.details.deletes(row).positions if found.files.table.column("deletes")[row].is_valid else ()
        out += [str(value) for at, value in enumerate(values) if at not in gone]
    return sorted(out)


@lru_cache(maxsize=1000)
def values_of(file: str, column: str) -> list[Any]:
    """Of all physical rows; every version of a table has mostly the files of the one before."""
    with pq.ParquetFile(file, coerce_int96_timestamp_unit="us") as opened:
        if column not in opened.schema_arrow.names:
            return [None] * opened.metadata.num_rows
        read: list[Any] = opened.read(columns=[column]).column(column).to_pylist()
        return read


def check_all(spark: SparkSession, path: Path) -> list[Snapshot]:
    """Every version's rows against Spark, the newest's files too, every diff of neighbours both ways."""
    found = [DELTA.snapshot(ref(path), At(version=int(v.id))) for v in DELTA.versions(ref(path))]
    theirs = rows_of_spark(spark, path, [int(one.version.id) for one in found if one.schema.fields])
    for one in found:
        if one.schema.fields:
            assert rows_of_ours(one) == theirs[int(one.version.id)], one.version
    newest = int(found[-1].version.id)
    files = {p.removeprefix("file:").replace("///", "/") for p in files_of_spark(spark, path, newest)}
    assert set(found[-1].files.paths.to_pylist()) == files
    check_bounds(found[-1])
    for base, target in pairwise(found):
        own, compared, back = (
            DELTA.diff(ref(path), base, At(version=target.version.id)),
            Diff.between(base, target),
            Diff.between(target, base),
        )
        for name in ("appended", "deleted", "deletes_changed"):
            assert set(getattr(own, name).paths.to_pylist()) == set(getattr(compared, name).paths.to_pylist())
        assert own.schema_changed == compared.schema_changed
        assert positions(own) == positions(compared)
        assert positions(back) == {file: (restored, deleted) for file, (deleted, restored) in positions(own).items()}
    return found


def positions(diff: Diff) -> dict[str, tuple[set[int], set[int]]]:
    """Of every file whose deletes changed: the rows newly deleted, and those restored."""
    assert diff.positions is not None or not len(diff.deletes_changed)
    changed = [diff.positions(row) for row in range(len(diff.deletes_changed))] if diff.positions else []
    return {
        path: (set(one.deleted), set(one.restored))
        for path, one in zip(diff.deletes_changed.paths.to_pylist(), changed, strict=True)
    }


def sql(spark: SparkSession, *statements: str) -> None:
    for statement in statements:
        spark.sql(statement)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "t"


def test_deletion_vectors_optimize_restore_and_checkpoints(spark: SparkSession, path: Path) -> None:
    t = f"delta.`{path}`"
    sql(
        spark,
        f"CREATE TABLE {t} (id BIGINT, s STRING, d DOUBLE) USING delta TBLPROPERTIES "
        "('delta.enableDeletionVectors'='true', 'delta.checkpointInterval'='4')",
        f"INSERT INTO {t} SELECT id, concat('s', id), id / 3 FROM range(0, 1000, 1, 2)",
        f"DELETE FROM {t} WHERE id % 10 = 3",
        f"DELETE FROM {t} WHERE id % 10 = 4",
        f"UPDATE {t} SET s = 'x' WHERE id % 100 = 7",
        f"INSERT INTO {t} VALUES (5000, NULL, double('NaN')), (5001, repeat('é', 40), double('Infinity'))",
        f"MERGE INTO {t} USING (SELECT id FROM range(990, 1010)) u ON {t}.id = u.id "
        "WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (id) VALUES (u.id)",
        f"RESTORE TABLE {t} TO VERSION AS OF 2",
        f"OPTIMIZE {t}",
        f"RESTORE TABLE {t} TO VERSION AS OF 5",
        f"TRUNCATE TABLE {t}",
    )
    found = check_all(spark, path)
    changes = [positions(Diff.between(base, target)).values() for base, target in pairwise(found)]
    assert any(deleted for one in changes for deleted, _ in one)
    assert any(restored for one in changes for _, restored in one)
    assert list((path / "_delta_log").glob("*.checkpoint.parquet"))


def test_column_mapping_renames_drops_and_adds_again(spark: SparkSession, path: Path) -> None:
    t = f"delta.`{path}`"
    sql(
        spark,
        f"CREATE TABLE {t} (id BIGINT, a INT, s STRUCT<x: INT, y: STRING>) USING delta TBLPROPERTIES"
        " ('delta.columnMapping.mode'='name')",
        f"INSERT INTO {t} SELECT id, CAST(id AS INT), named_struct('x', CAST(id AS INT), 'y', 'k') FROM range(10)",
        f"ALTER TABLE {t} RENAME COLUMN a TO `b c`",
        f"INSERT INTO {t} SELECT id, 100, named_struct('x', 1, 'y', 'z') FROM range(10, 20)",
        f"ALTER TABLE {t} DROP COLUMN `b c`",
        f"ALTER TABLE {t} ADD COLUMN a INT",
        f"ALTER TABLE {t} RENAME COLUMN s.x TO z",
        f"INSERT INTO {t} (id, s, a) SELECT id, named_struct('z', 5, 'y', 'q'), 7 FROM range(20, 30)",
    )
    found = check_all(spark, path)
    before, after = leaf(found[1], "a"), leaf(found[-1], "a")
    assert before.stable != after.stable
    assert leaf(found[1], "s", "x").stable == leaf(found[-1], "s", "z").stable
    bounds = found[-1].details.log_bounds(after)
    assert sorted(v for v in bounds.lower.to_pylist() if v is not None) == [7] * bounds.lower.drop_null().__len__()


def test_column_mapping_by_id(spark: SparkSession, path: Path) -> None:
    t = f"delta.`{path}`"
    sql(
        spark,
        f"CREATE TABLE {t} (id BIGINT, p STRING) USING delta PARTITIONED BY (p) TBLPROPERTIES"
        " ('delta.columnMapping.mode'='id')",
        f"INSERT INTO {t} VALUES (1, 'a/b'), (2, NULL), (3, 'é %')",
        f"ALTER TABLE {t} RENAME COLUMN p TO part",
    )
    found = check_all(spark, path)
    assert leaf(found[-1], "id").field.field_id is not None
    assert found[-1].partition_columns == ("part",)
    assert set(found[-1].files.table.column("partition").to_pylist()) == {
        "part=a%2Fb",
        "part=__HIVE_DEFAULT_PARTITION__",
        "part=%C3%A9%20%25",
    }


def test_type_widening(spark: SparkSession, path: Path) -> None:
    t = f"delta.`{path}`"
    sql(
        spark,
        f"CREATE TABLE {t} (id INT, f FLOAT, d DATE, n DECIMAL(5,2), b BYTE) USING delta TBLPROPERTIES"
        " ('delta.enableTypeWidening'='true', 'delta.feature.timestampNtz'='supported')",
        f"INSERT INTO {t} VALUES (1, 0.1, DATE'2020-01-01', 1.25, 1), (2, 0.7, DATE'2020-01-05', 9.99, 2)",
        f"ALTER TABLE {t} ALTER COLUMN id TYPE BIGINT",
        f"ALTER TABLE {t} ALTER COLUMN f TYPE DOUBLE",
        f"ALTER TABLE {t} ALTER COLUMN d TYPE TIMESTAMP_NTZ",
        f"ALTER TABLE {t} ALTER COLUMN n TYPE DECIMAL(12,4)",
        f"ALTER TABLE {t} ALTER COLUMN b TYPE DOUBLE",
        f"INSERT INTO {t} VALUES (5000000000, 0.1, TIMESTAMP_NTZ'2021-01-01 00:00:00.123456', 12345.6789, 0.5)",
    )
    found = check_all(spark, path)
    assert leaf(found[-1], "f").type == pa.float64()
    for name in ("id", "f", "d", "n", "b"):
        assert found[-1].details.log_bounds(leaf(found[-1], name)).lower.null_count == 0


@pytest.mark.parametrize("stats", ["json", "struct"])
@pytest.mark.parametrize("policy", ["classic", "v2"])
def test_checkpoints(spark: SparkSession, path: Path, stats: str, policy: str) -> None:
    t = f"delta.`{path}`"
    properties = (
        f"'delta.checkpoint.writeStatsAsStruct'='{str(stats == 'struct').lower()}',"
        " 'delta.checkpoint.writeStatsAsJson'="
        f"'{str(stats == 'json').lower()}', 'delta.checkpointInterval'='2', 'delta.checkpointPolicy'='{policy}', "
        "'delta.enableDeletionVectors'='true'"
    )
    columns = "id BIGINT, ts TIMESTAMP, s STRING, n DECIMAL(20,3), st STRUCT<x: INT>, day DATE"
    sql(spark, f"CREATE TABLE {t} ({columns}) USING delta PARTITIONED BY (day) TBLPROPERTIES ({properties})")
    for n in range(4):
        sql(
            spark,
            f"INSERT INTO {t} SELECT id, timestamp_micros(id * 1000001 - {n} * 3000000000000000), concat(repeat('z',"
            " 40), id), "
            f"id / 7, named_struct('x', CAST(id AS INT)), date_add(DATE'2020-01-01', {n}) FROM range({n * 10},"
            f" {n * 10 + 10}, 1, 2)",
        )
    sql(spark, f"DELETE FROM {t} WHERE id % 10 = 5")
    newest = check_all(spark, path)[-1]
    assert newest.details.statistics.parts
    for name in ("id", "ts", "s", "n"):
        bounds = newest.details.log_bounds(leaf(newest, name))
        assert bounds.upper.null_count == len(newest.files.table.column("deletes").drop_null())


def test_multi_part_checkpoints(spark: SparkSession, path: Path) -> None:
    with SparkDriver(spark).setting("spark.databricks.delta.checkpoint.partSize", "3"):
        t = f"delta.`{path}`"
        sql(spark, f"CREATE TABLE {t} (id BIGINT) USING delta TBLPROPERTIES ('delta.checkpointInterval'='2')")
        for n in range(5):
            sql(spark, f"INSERT INTO {t} SELECT id FROM range({n * 10}, {n * 10 + 10}, 1, 2)")
    assert list((path / "_delta_log").glob("*.checkpoint.0000000001.*.parquet"))
    check_all(spark, path)


def test_partition_values_of_every_type(spark: SparkSession, path: Path) -> None:
    t = f"delta.`{path}`"
    sql(
        spark,
        f"CREATE TABLE {t} (id BIGINT, s STRING, i INT, d DATE, ts TIMESTAMP, n TIMESTAMP_NTZ, b BOOLEAN, f DOUBLE, m"
        " DECIMAL(9,2)) "
        "USING delta PARTITIONED BY (s, i, d, ts, n, b, f, m)",
        f"INSERT INTO {t} VALUES (1, 'a b/c=%:#?é😀', -1, DATE'0001-01-01', TIMESTAMP'2020-01-01 01:02:03.123456', "
        "TIMESTAMP_NTZ'2020-01-01 01:02:03.5', true, 1.5, 12.30), (2, '', NULL, NULL, NULL, NULL, NULL, NULL, NULL), "
        "(3, '__HIVE', 2147483647, DATE'9999-12-31', TIMESTAMP'1969-12-31 23:59:59', TIMESTAMP_NTZ'1900-01-01"
        " 00:00:00', false, "
        "double('NaN'), -0.01)",
    )
    (found,) = check_all(spark, path)[1:]
    frame = spark.read.format("delta").load(str(path))
    theirs = {
        row["file"].rpartition("/")[2]: row for row in frame.selectExpr("*", "_metadata.file_path AS file").collect()
    }
    for one in found.schema.leaves():
        bounds = found.details.partition_bounds(one)
        if one.parts == ("id",):
            assert bounds is None
            continue
        assert bounds is not None
        for row, file in enumerate(found.files.paths.to_pylist()):
            value = theirs[file.rpartition("/")[2]][one.parts[0]]
            assert (bounds.null_count[row].as_py() != 0) == (value is None), one.parts
            if value is None or value != value:
                assert bounds.lower[row].as_py() is None
                continue
            if isinstance(value, dt.datetime) and one.type.tz is not None:
                value = value.astimezone(dt.UTC)
            physical = to_physical(pa.array([value], one.type), one.type, upper=False)[0].as_py()
            assert bounds.lower[row].as_py() <= physical <= bounds.upper[row].as_py()


def test_a_shallow_clone_reads_its_source(spark: SparkSession, path: Path, tmp_path: Path) -> None:
    clone = tmp_path / "clone é"
    t, c = f"delta.`{path}`", f"delta.`{clone}`"
    sql(
        spark,
        f"CREATE TABLE {t} (id BIGINT, p STRING) USING delta PARTITIONED BY (p) TBLPROPERTIES"
        " ('delta.enableDeletionVectors'='true')",
        f"INSERT INTO {t} SELECT id, concat('a b', id % 2) FROM range(100)",
        f"DELETE FROM {t} WHERE id = 11",
        f"CREATE TABLE {c} SHALLOW CLONE {t}",
        f"INSERT INTO {c} VALUES (1000, 'own')",
        f"DELETE FROM {c} WHERE id < 20",
    )
    found = check_all(spark, clone)
    assert any(p.startswith("/") for p in found[-1].files.paths.to_pylist())
    assert any(not p.startswith("/") for p in found[-1].files.paths.to_pylist())


def test_replace_vacuum_and_a_table_made_anew(spark: SparkSession, path: Path) -> None:
    t = f"delta.`{path}`"
    sql(
        spark,
        f"CREATE TABLE {t} (id BIGINT) USING delta",
        f"INSERT INTO {t} SELECT id FROM range(10)",
    )
    frame = spark.sql("SELECT * FROM VALUES ('a', 1), ('b', 2) AS v(id, p)")
    frame.write.format("delta").mode("overwrite").option("overwriteSchema", True).partitionBy("p").save(str(path))
    found = check_all(spark, path)
    assert found[-1].schema != found[0].schema
    with SparkDriver(spark).setting("spark.databricks.delta.retentionDurationCheck.enabled", "false"):
        sql(spark, f"VACUUM {t} RETAIN 0 HOURS")
    assert rows_of_ours(snapshot(path)) == ["a", "b"]


def test_in_commit_timestamps(spark: SparkSession, path: Path) -> None:
    t = f"delta.`{path}`"
    sql(
        spark,
        f"CREATE TABLE {t} (id BIGINT) USING delta",
        f"INSERT INTO {t} VALUES (1)",
        f"ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableInCommitTimestamps'='true')",
        f"INSERT INTO {t} VALUES (2)",
        f"INSERT INTO {t} VALUES (3)",
    )
    for row in spark.sql(f"DESCRIBE HISTORY {t}").selectExpr("version", "unix_millis(timestamp) AS ms").collect():
        assert DELTA.resolve(ref(path), At(timestamp_ms=row["ms"])).id == str(row["version"])
        assert snapshot(path, row["version"]).timestamp_ms == row["ms"]


def test_generated_identity_default_and_variant_columns(spark: SparkSession, path: Path) -> None:
    t = f"delta.`{path}`"
    sql(
        spark,
        f"CREATE TABLE {t} (id BIGINT GENERATED BY DEFAULT AS IDENTITY, v VARIANT, x INT DEFAULT 7, "
        "y INT GENERATED ALWAYS AS (x + 1), a ARRAY<STRUCT<k: INT>>, m MAP<STRING, INT>) USING delta "
        "TBLPROPERTIES ('delta.feature.allowColumnDefaults'='supported', 'delta.enableRowTracking'='true')",
        f"INSERT INTO {t} (id, v, a, m) SELECT id, parse_json('{{\"a\": 1}}'), array(named_struct('k', 1)), map('k',"
        " 1) FROM range(5)",
    )
    found = check_all(spark, path)
    assert [one.parts for one in found[-1].schema.leaves()] == [("id",), ("x",), ("y",)]
    assert found[-1].files.table.column("delta_base_row_id").null_count == 0
