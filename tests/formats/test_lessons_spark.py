"""The same rows of the list of wrong answers, with what Spark itself writes: times of every age and zone, statistics
under deletes, columns outside the indexed ones."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from metaindex.formats.format import At, TableRef
from metaindex.formats.model import Snapshot
from metaindex.formats.parquet.footers import read_footers
from metaindex.storage import LocalStorage
from tests.formats.delta import hand
from tests.formats.footers_of import schema_of
from tests.formats.test_lessons import check_log
from tests.formats.writers import lies_within

pytestmark = [pytest.mark.spark, pytest.mark.uncompiled]

ROWS = """SELECT id, timestamp_micros(CASE id % 5 WHEN 0 THEN -3786825991999999 WHEN 1 THEN -1 WHEN 2 THEN
    1577836800123456 WHEN 3 THEN -62135596800000000 ELSE 0 END) AS t,
    CAST(timestamp_micros(CASE id % 3 WHEN 0 THEN -3786825991999999 WHEN 1 THEN 1577836800123999 ELSE -1 END) AS
    TIMESTAMP_NTZ) AS tn,
    CASE id % 4 WHEN 0 THEN concat(repeat('k', 31), '😀') WHEN 1 THEN repeat('\\uDBFF\\uDFFF',
    40) WHEN 2 THEN repeat('z', 32) ELSE NULL END AS s,
    CAST(id - 5 AS DECIMAL(38, 10)) / 7 AS d, FLOAT(id / 7 - 1) AS f, IF(id % 2 = 0, DOUBLE('NaN'), -id / 3) AS g,
    date_add(DATE'1500-03-01', INT(id) * 50000) AS day
    FROM range(0, {rows}, 1, 2)"""
REBASING = [f"spark.sql.parquet.{kind}RebaseModeInWrite" for kind in ("datetime", "int96")]
"""Old days are written as they are, as Spark 4 does where nothing is said."""
ZONES = ["UTC", "America/New_York", "Asia/Kolkata"]


def physical(root: str, found: Snapshot) -> dict[str, dict[str, pa.Array]]:
    """All rows in the files' bytes, deleted ones too."""
    out = {}
    for path in found.files.paths.to_pylist():
        file = path if path.startswith("/") else f"{root}/{path}"
        table = pq.ParquetFile(file, coerce_int96_timestamp_unit="us").read()
        out[file.rsplit("/", 1)[-1]] = {
            n: _as_table_has_it(table.column(n).combine_chunks(), found, n) for n in table.column_names
        }
    return out


def _as_table_has_it(values: pa.Array, found: Snapshot, name: str) -> pa.Array:
    t = next(f.type for f in found.schema if f.name == name)
    return (
        values.cast(pa.timestamp("us")).cast(t)
        if pa.types.is_timestamp(t) and values.type.tz is None
        else values.cast(t)
    )


@pytest.mark.parametrize("zone", ZONES)
def test_20_21_22_23_what_spark_wrote_lies_within_what_its_logs_say(
    spark: SparkSession, tmp_path: Path, zone: str
) -> None:
    from metaindex.formats.iceberg.table import IcebergFormat

    root, name = str(tmp_path / "t"), f"iceberg.lessons.times_{zone.replace('/', '_')}"
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", zone)
    for mode in REBASING:
        spark.conf.set(mode, "CORRECTED")
    try:
        rows = spark.sql(ROWS.format(rows=40))
        rows.write.format("delta").option("delta.feature.timestampNtz", "supported").save(root)
        rows.writeTo(name).using("iceberg").tableProperty("format-version", "2").create()
        for kind in ("INT96", "TIMESTAMP_MILLIS", "TIMESTAMP_MICROS"):
            spark.conf.set("spark.sql.parquet.outputTimestampType", kind)
            rows.where("t > TIMESTAMP'1900-01-02'").write.parquet(str(tmp_path / kind))
    finally:
        for setting in ("spark.sql.parquet.outputTimestampType", *REBASING):
            spark.conf.unset(setting)
        spark.conf.set("spark.sql.session.timeZone", before or "UTC")
    found = hand.snapshot(root)
    known = check_log(found, physical(root, found))
    assert all(known["id"])
    assert all(known["t"]) or zone == "America/New_York"  # where the year 1 begins in the year 0
    location = (
        spark.sql(f"DESCRIBE TABLE EXTENDED {name}")
        .where("col_name = 'Location'")
        .collect()[0]
        .data_type.removeprefix("file:")
    )
    iceberg = IcebergFormat().snapshot(TableRef(LocalStorage(location), location), At())
    known = check_log(iceberg, physical(location, iceberg))
    assert all(known["id"])
    assert all(known["t"])
    for kind in ("INT96", "TIMESTAMP_MILLIS", "TIMESTAMP_MICROS"):
        check_footers(tmp_path / kind, found)


def check_footers(folder: Path, like: Snapshot) -> None:
    files = sorted(p.name for p in folder.glob("*.parquet"))
    schema = pa.schema([(f.name, f.type) for f in like.schema])
    statistics = read_footers(LocalStorage(str(folder)), files, schema_of(schema).leaves())
    assert files
    assert statistics.failures.null_count == len(files)
    for row, file in enumerate(files):
        table = pq.ParquetFile(folder / file, coerce_int96_timestamp_unit="us").read()
        for column in statistics.columns:
            values = _as_table_has_it(table.column(column.leaf.parts[0]).combine_chunks(), like, column.leaf.parts[0])
            known = lies_within(values, column.bounds, row)
            if column.leaf.parts == ("t",) and folder.name == "INT96":
                assert not known


def test_24_25_statistics_under_deletes_and_of_few_columns_are_never_untrue_of_the_physical_rows(
    spark: SparkSession, tmp_path: Path
) -> None:
    root = str(tmp_path / "t")
    spark.sql(
        f"""CREATE TABLE delta.`{root}` USING delta TBLPROPERTIES ('delta.enableDeletionVectors'='true',
        'delta.dataSkippingNumIndexedCols'='4',
        'delta.feature.timestampNtz'='supported', 'delta.checkpointInterval'='3') AS {ROWS.format(rows=40)}"""
    )
    spark.sql(f"DELETE FROM delta.`{root}` WHERE id IN (0, 19, 20, 39)")
    spark.sql(f"UPDATE delta.`{root}` SET f = 100 WHERE id IN (1, 21)")
    spark.sql(f"DELETE FROM delta.`{root}` WHERE id < 10")
    spark.sql(f"RESTORE TABLE delta.`{root}` TO VERSION AS OF 0")
    spark.sql(f"DELETE FROM delta.`{root}` WHERE id = 38")
    last = spark.sql(f"DESCRIBE HISTORY delta.`{root}`").agg({"version": "max"}).collect()[0][0]
    for version in range(last + 1):
        found = hand.snapshot(root, version)
        known = check_log(found, physical(root, found))
        assert not any(known["d"] + known["f"] + known["g"] + known["day"]), (
            "beyond the indexed columns nothing is known"
        )
        if version == 0:
            assert all(known["id"] + known["t"])
