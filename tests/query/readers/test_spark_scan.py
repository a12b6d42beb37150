"""Spark reads the kept files only, and Arrow returns the rows that Spark returns: over tables that Spark, deltalake and
pyiceberg wrote."""

import datetime as dt
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

import metaindex as mi
from metaindex.core import ScanError, SparkDriver
from metaindex.formats import Schema, Snapshot, TableRef
from metaindex.query.readers.scan import Scan
from metaindex.storage import LocalStorage
from tests.query.readers.lake import Lake, bound, fields_of
from tests.spark.optimizer.lakes import location_of

pytestmark = [pytest.mark.spark, pytest.mark.uncompiled]


def canonical(value: Any) -> Any:
    """One form for what two engines call differently: instants, binary, maps, NaN."""
    match value:
        case float():
            return "NaN" if math.isnan(value) else value
        case dt.datetime():
            return value.astimezone(dt.UTC).replace(tzinfo=None) if value.tzinfo else value
        case bytearray():
            return bytes(value)
        case dict():
            return tuple(sorted(((k, canonical(v)) for k, v in value.items()), key=repr))
        case list() | tuple() if value and all(isinstance(v, tuple) and len(v) == 2 for v in value):
            return tuple(sorted(((k, canonical(v)) for k, v in value), key=repr))  # a map, as Arrow shows it
        case list() | tuple():
            return tuple(canonical(v) for v in value)
        case _:
            return value


def of_spark(frame: DataFrame) -> list[Any]:
    return sorted((canonical(list(row.asDict(recursive=True).values())) for row in frame.collect()), key=repr)


def of_arrow(table: pa.Table) -> list[Any]:
    table.validate(full=True)
    return sorted((canonical(list(row.values())) for row in table.to_pylist()), key=repr)


def scan_of(
    snapshot: Snapshot,
    root: str,
    where: str | None = None,
    rows: Iterable[int] | None = None,
    columns: tuple[str, ...] | None = None,
) -> Scan:
    storage = LocalStorage(root)
    return Scan(
        snapshot, storage, TableRef(storage, root),
        rows=None if rows is None else np.array(list(rows), dtype=np.int64),
        predicate=None if where is None else bound(where, snapshot.schema), predicate_text=where, columns=columns,
    )  # fmt: skip


def check(spark: SparkSession, snapshot: Snapshot, root: str, whole: DataFrame, at: object = None) -> None:
    """All rows and those of each file, by Arrow and by Spark."""
    expected = of_spark(whole)
    assert of_arrow(scan_of(snapshot, root).to_arrow()) == expected, at
    assert of_spark(scan_of(snapshot, root).to_spark(spark)) == expected, at
    by_file: list[Any] = []
    for row in range(len(snapshot.files)):
        one = scan_of(snapshot, root, rows=[row])
        rows = of_spark(one.to_spark(spark))
        assert of_arrow(one.to_arrow()) == rows, (at, row)
        by_file += rows
    assert sorted(by_file, key=repr) == expected, at


def check_where(spark: SparkSession, snapshot: Snapshot, root: str, whole: DataFrame) -> None:
    where = "f > 3 AND (p IS NULL OR id < 12)"
    expected = of_spark(whole.where(where).select("id", "p"))
    assert expected
    asked = scan_of(snapshot, root, where, columns=("id", "p"))
    assert of_arrow(asked.to_arrow()) == expected
    assert of_spark(asked.to_spark(spark)) == expected


# Plain files --------------------------------------------------------------------------------------------------------

ODD_NAMES = ["plain.parquet", "a b.parquet", "100%.parquet", "%20.parquet", "x[1].parquet", "{a,b}.parquet",
    "q?.parquet", "s*.parquet", "é'\".parquet", "p+q&r=s.parquet"]  # fmt: skip


def test_plain_files_with_odd_names_are_read_one_by_one(spark: SparkSession, tmp_path: Path) -> None:
    lake = Lake(tmp_path / "t", Schema(fields_of(pa.schema({"a": pa.int64()}))), format="files")
    for i, name in enumerate(ODD_NAMES):
        lake.add(name, pa.table({"a": [i]}))
    for i in range(len(ODD_NAMES)):
        assert lake.scan(rows=[i]).to_spark(spark).collect() == [(i,)]
    kept = lake.scan("a > 2", rows=[1, 3, 4], columns=["a"]).to_spark(spark)
    assert sorted(r.a for r in kept.collect()) == [3, 4]
    assert lake.scan(rows=[]).to_spark(spark).collect() == []


def test_a_session_that_ignores_missing_files_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    lake = Lake(tmp_path / "t", Schema(fields_of(pa.schema({"a": pa.int64()}))), format="files")
    lake.add("f.parquet", pa.table({"a": [1]}))
    with (
        SparkDriver(spark).setting("spark.sql.files.ignoreMissingFiles", "true"),
        pytest.raises(ScanError, match="ignoreMissingFiles"),
    ):
        lake.scan().to_spark(spark)


def test_an_opaque_predicate_is_applied_by_spark_itself(spark: SparkSession, tmp_path: Path) -> None:
    lake = Lake(tmp_path / "t", Schema(fields_of(pa.schema({"a": pa.int64()}))), format="files")
    lake.add("f.parquet", pa.table({"a": [1, 2, 3, 4]}))
    assert sorted(r.a for r in lake.scan("a % 2 = 0 AND a > 2").to_spark(spark).collect()) == [4]


# Delta --------------------------------------------------------------------------------------------------------------


def delta_snapshot(root: str, version: int | None = None) -> Snapshot:
    return mi.open_table(root).snapshot(version)


def check_delta(spark: SparkSession, root: str, versions: Iterable[int]) -> None:
    for version in versions:
        whole = spark.read.format("delta").option("versionAsOf", version).load(root)
        check(spark, delta_snapshot(root, version), root, whole, version)


@pytest.mark.parametrize("mapping", ["none", "name", "id"])
def test_delta_histories_are_read_alike_at_every_version(spark: SparkSession, tmp_path: Path, mapping: str) -> None:
    root = str(tmp_path / "t")
    properties = (
        f"'delta.columnMapping.mode'='{mapping}', 'delta.enableDeletionVectors'='true', 'delta.minReaderVersion'='3',"
        " 'delta.minWriterVersion'='7'"
    )
    spark.sql(f"""CREATE TABLE delta.`{root}` (id BIGINT, s STRING, n STRUCT<x: INT, y: ARRAY<STRUCT<k: INT,
        v: STRING>>>, m MAP<STRING, STRUCT<q: INT>>,
        d DECIMAL(12, 3), t TIMESTAMP, tn TIMESTAMP_NTZ, day DATE, f DOUBLE, b BINARY,
        p STRING) USING delta PARTITIONED BY (p) TBLPROPERTIES ({properties})""")
    row = """id, concat('s', id) AS s, IF(id % 4 = 0, NULL, named_struct('x', INT(id), 'y', array(named_struct('k',
        INT(id), 'v', 'v')))) AS n,
        map('k', named_struct('q', INT(id))) AS m, DECIMAL(id) / 7 AS d, timestamp_micros(id * 1234567890123) AS t,
        CAST(timestamp_micros(id * 1234567890123) AS TIMESTAMP_NTZ) AS tn, date_add(DATE'2020-01-01', INT(id)) AS day,
        IF(id = 3, DOUBLE('NaN'), id / 3) AS f, CAST(s AS BINARY) AS b,
        CASE id % 3 WHEN 0 THEN NULL WHEN 1 THEN 'a b/%=é' ELSE 'x' END AS p"""
    row = row.replace("CAST(s AS BINARY)", "CAST(concat('s', id) AS BINARY)")
    spark.sql(f"INSERT INTO delta.`{root}` SELECT {row} FROM range(0, 30, 1, 1)")
    spark.sql(f"DELETE FROM delta.`{root}` WHERE id IN (1, 2, 3, 17)")
    spark.sql(f"INSERT INTO delta.`{root}` SELECT {row} FROM range(30, 40, 1, 1)")
    spark.sql(f"UPDATE delta.`{root}` SET s = 'changed' WHERE id = 31")
    spark.sql(f"ALTER TABLE delta.`{root}` ADD COLUMN (extra INT)")
    spark.sql(f"ALTER TABLE delta.`{root}` ADD COLUMN (n.z STRING)")
    last = 6
    if mapping != "none":
        spark.sql(f"ALTER TABLE delta.`{root}` RENAME COLUMN s TO `renamed, odd`")
        spark.sql(f"ALTER TABLE delta.`{root}` RENAME COLUMN n.y.element.v TO w")
        spark.sql(f"ALTER TABLE delta.`{root}` RENAME COLUMN m.value.q TO qq")
        spark.sql(f"ALTER TABLE delta.`{root}` DROP COLUMN extra")
        spark.sql(f"ALTER TABLE delta.`{root}` ADD COLUMN (extra STRING)")
        spark.sql(f"DELETE FROM delta.`{root}` WHERE id = 35")
        last = 12
    check_delta(spark, root, range(last + 1))
    snapshot = delta_snapshot(root)
    check_where(spark, snapshot, root, spark.read.format("delta").load(root))
    one = scan_of(snapshot, root, rows=[0]).to_spark(spark)
    assert one.select(f.input_file_name()).distinct().count() == 1


def test_delta_widened_types_are_read_alike(spark: SparkSession, tmp_path: Path) -> None:
    root = str(tmp_path / "t")
    spark.sql(
        f"CREATE TABLE delta.`{root}` (a TINYINT, b INT, c FLOAT, d DECIMAL(5, 2), e INT, g DATE, h INT) USING delta"
        " TBLPROPERTIES ('delta.enableTypeWidening'='true', 'delta.feature.timestampNtz'='supported')"
    )
    spark.sql(
        f"INSERT INTO delta.`{root}` SELECT TINYINT(id), INT(id), FLOAT(id) / 3, DECIMAL(id) / 7, INT(id),"
        " DATE'2020-01-01', INT(id) FROM range(5)"
    )
    widened = {"a": "INT"}
    after = "INT(id + 1000), 7, FLOAT(0.1), 1.25, 7, DATE'2020-01-01', 7"
    if not spark.version.startswith("3.5"):  # whose Delta widens no further
        widened |= {"b": "BIGINT", "c": "DOUBLE", "d": "DECIMAL(12, 4)", "e": "DOUBLE", "g": "TIMESTAMP_NTZ"}
        widened |= {"h": "DECIMAL(15, 2)"}
        after = "INT(id + 1000), id + 5000000000, 0.1D, 12345678.1234, 0.5D, TIMESTAMP_NTZ'2020-01-01 10:00:00', 7.25"
    for column, type_ in widened.items():
        spark.sql(f"ALTER TABLE delta.`{root}` ALTER COLUMN {column} TYPE {type_}")
    spark.sql(f"INSERT INTO delta.`{root}` SELECT {after} FROM range(2)")
    check_delta(spark, root, [1, 1 + len(widened), 2 + len(widened)])


# Iceberg ------------------------------------------------------------------------------------------------------------


def iceberg_snapshot(root: str, version: int | None = None) -> Snapshot:
    return mi.open_table(root).snapshot(version)


@pytest.mark.parametrize("format_version", [1, 2, 3])
def test_iceberg_histories_are_read_alike_at_every_version(spark: SparkSession, format_version: int) -> None:
    name = f"iceberg.readers.history{format_version}"
    mode = "merge-on-read" if format_version > 1 else "copy-on-write"
    modes = ", ".join(f"'write.{verb}.mode'='{mode}'" for verb in ("delete", "update", "merge"))
    spark.sql(f"""CREATE TABLE {name} (id BIGINT, s STRING, n STRUCT<x: INT, y: ARRAY<STRUCT<k: INT, v: STRING>>>,
        m MAP<STRING, STRUCT<q: INT>>,
        d DECIMAL(12, 3), t TIMESTAMP, tn TIMESTAMP_NTZ, day DATE, f DOUBLE, b BINARY,
        p STRING) USING iceberg PARTITIONED BY (p, days(day))
        TBLPROPERTIES ('format-version'='{format_version}', {modes}, 'write.distribution-mode'='none',
        'write.spark.fanout.enabled'='true')""")
    row = """id, concat('s', id) AS s, IF(id % 4 = 0, NULL, named_struct('x', INT(id), 'y', array(named_struct('k',
        INT(id), 'v', 'v')))) AS n,
        map('k', named_struct('q', INT(id))) AS m, CAST(DECIMAL(id) / 7 AS DECIMAL(12, 3)) AS d,
        timestamp_micros(id * 1234567890123) AS t,
        CAST(timestamp_micros(id * 1234567890123) AS TIMESTAMP_NTZ) AS tn, date_add(DATE'2020-01-01',
        INT(id / 20)) AS day,
        IF(id = 3, DOUBLE('NaN'), id / 3) AS f, CAST(concat('s', id) AS BINARY) AS b,
        CASE id % 3 WHEN 0 THEN NULL WHEN 1 THEN 'a b/%=é' ELSE 'x' END AS p"""
    spark.sql(f"INSERT INTO {name} SELECT {row} FROM range(0, 30, 1, 1)")
    spark.sql(f"DELETE FROM {name} WHERE id IN (1, 2, 3, 17)")
    spark.sql(f"ALTER TABLE {name} ADD COLUMN extra INT")
    spark.sql(f"ALTER TABLE {name} ADD COLUMN n.z STRING")
    spark.sql(
        f"INSERT INTO {name} VALUES (100, 'new', NULL, NULL, NULL, NULL, NULL, DATE'2020-01-02', NULL, NULL, 'x', 5)"
    )
    spark.sql(f"ALTER TABLE {name} RENAME COLUMN s TO `renamed, odd`")
    spark.sql(f"ALTER TABLE {name} RENAME COLUMN n.y.element.v TO w")
    spark.sql(f"ALTER TABLE {name} ALTER COLUMN n.x TYPE BIGINT")
    spark.sql(f"ALTER TABLE {name} DROP COLUMN extra")
    spark.sql(f"ALTER TABLE {name} ADD COLUMN extra STRING")
    spark.sql(f"UPDATE {name} SET extra = 'x' WHERE id IN (5, 100)")
    spark.sql(f"ALTER TABLE {name} DROP PARTITION FIELD p")
    nulls = ", ".join(["NULL"] * 6)  # Spark 3.5 takes no list of fewer columns
    spark.sql(f"INSERT INTO {name} VALUES (200, {nulls}, DATE'2020-01-02', NULL, NULL, 'new spec', NULL)")
    location = location_of(spark, name)
    ids = [
        r.snapshot_id for r in spark.sql(f"SELECT snapshot_id FROM {name}.snapshots ORDER BY committed_at").collect()
    ]
    assert len(ids) == 5
    for version in ids:
        whole = spark.sql(f"SELECT * FROM {name} VERSION AS OF {version}")
        check(spark, iceberg_snapshot(location, version), location, whole, version)
    check_where(spark, iceberg_snapshot(location), location, spark.table(name))


# Partition columns of every type ------------------------------------------------------------------------------------

PARTITIONS = {
    "pi": ("INT", "INT(id)"),
    "pl": ("BIGINT", "id * 10000000000"),
    "pd": ("DATE", "date_add(DATE'1890-02-27', INT(id))"),
    "pt": ("TIMESTAMP", "TIMESTAMP'2020-01-01 10:00:00.123456' + make_dt_interval(INT(id))"),
    "pn": ("TIMESTAMP_NTZ", "TIMESTAMP_NTZ'1969-12-31 23:59:59.5' + make_dt_interval(INT(id))"),
    "pc": ("DECIMAL(12, 2)", "CAST(id / 4 - 1 AS DECIMAL(12, 2))"),
    "pw": ("DECIMAL(38, 10)", "CAST(id / 4 - 1 AS DECIMAL(38, 10))"),
    "pb": ("BOOLEAN", "id % 2 = 0"),
    "pf": ("DOUBLE", "id / 3"),
    "pg": ("FLOAT", "FLOAT(id / 3)"),
    "ps": (
        "STRING",
        "element_at(array('a b', 'x/y=1%', 'é😀', '{[*?]}', '%20', '+', 'a:b', '.', ' '), INT(id) + 1)",
    ),
}


def partitioned_rows() -> str:
    values = ", ".join(f"IF(id = 8, NULL, {value}) AS {name}" for name, (_, value) in PARTITIONS.items())
    return f"SELECT id, {values} FROM range(0, 9, 1, 1)"


def test_delta_partition_values_of_every_type_are_read_alike(spark: SparkSession, tmp_path: Path) -> None:
    root = str(tmp_path / "t")
    columns = ", ".join(f"{name} {type_}" for name, (type_, _) in PARTITIONS.items())
    spark.sql(
        f"CREATE TABLE delta.`{root}` (id BIGINT, {columns}) USING delta PARTITIONED BY ({', '.join(PARTITIONS)})"
    )
    spark.sql(f"INSERT INTO delta.`{root}` {partitioned_rows()}")
    check_delta(spark, root, [1])


def test_iceberg_partition_values_of_every_type_are_read_alike(spark: SparkSession) -> None:
    columns = ", ".join(f"{name} {type_}" for name, (type_, _) in PARTITIONS.items())
    name = "iceberg.readers.partitions"
    spark.sql(f"CREATE TABLE {name} (id BIGINT, {columns}) USING iceberg PARTITIONED BY ({', '.join(PARTITIONS)})")
    spark.sql(f"INSERT INTO {name} {partitioned_rows()}")
    location = location_of(spark, name)
    check(spark, iceberg_snapshot(location), location, spark.table(name))


@pytest.mark.parametrize("file_format", ["parquet", "csv", "json"])
def test_hive_folders_of_every_type_are_read_alike(spark: SparkSession, tmp_path: Path, file_format: str) -> None:
    root = str(tmp_path / "t")
    # Folder names hold a tenth of a second at most.
    rows = spark.sql(partitioned_rows().replace(".123456", ".5")).withColumn("text", f.lit("x, y"))
    rows.write.partitionBy(*PARTITIONS).format(file_format).option("header", "true").save(root)
    snapshot = mi.open_table(root, schema=arrow_schema(rows)).snapshot()
    reader = spark.read.schema(rows.schema).option("header", "true").format(file_format)
    check(spark, snapshot, root, reader.load(root).select(*snapshot.schema.names))


def arrow_schema(frame: DataFrame) -> pa.Schema:
    return pa.schema(
        one.with_type(pa.timestamp("us", "UTC")) if pa.types.is_timestamp(one.type) and one.type.tz else one
        for one in SparkDriver.arrow_of(frame.limit(0)).schema
    )
