"""The Spark builder over tables that Spark wrote, in its workers, and when something fails."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from metaindex import ColumnStats, open_table
from metaindex.core import BuildError, SparkDriver
from metaindex.index.build.local import LocalBuilder
from metaindex.index.build.protocol import BuildRequest
from metaindex.index.build.spark import SparkBuilder
from metaindex.index.build.spark_workers import write_archive
from metaindex.index.kinds.states import StatState
from tests.index.build.lake import Built, build, fields_of, request_for, request_of, request_of_table, write

pytestmark = [pytest.mark.spark]


def both(request: BuildRequest, spark: SparkSession, folder: Path) -> Built:
    """What both builders say, after a look that it is the same."""
    local = build(LocalBuilder(), request, folder / "index-local")
    out = build(SparkBuilder(spark, files_per_task=2), request, folder / "index-spark")
    assert out.column_stats.to_pylist() == local.column_stats.to_pylist()
    assert out.partition_stats.to_pylist() == local.partition_stats.to_pylist()
    assert out.report.uncovered == ()
    return out


ROWS = """
    SELECT id, IF(id % 3 = 0, double('NaN'), double(id)) AS f, CAST(id AS DECIMAL(38, 6)) AS d38,
    CAST(id AS DECIMAL(9, 2)) AS d9,
        IF(id % 4 = 0, NULL, repeat('é', CAST(id AS INT))) AS s, CAST(repeat('x', 80) AS BINARY) AS b,
        timestamp_micros(id * 1000001) AS at, timestamp_ntz'2020-01-01 00:00:00.000001' AS ntz, DATE'0001-01-01' AS day,
        named_struct('x', id, 'in', IF(id = 5, NULL, named_struct('y', CAST(id AS FLOAT)))) AS st, id % 2 = 0 AS even
    FROM range(0, 40, 1, 3)
"""


@pytest.mark.parametrize("kind", ["INT96", "TIMESTAMP_MICROS", "TIMESTAMP_MILLIS"])
def test_parquet_of_spark(kind: str, tmp_path: Path, spark: SparkSession) -> None:
    with SparkDriver(spark).setting("spark.sql.parquet.outputTimestampType", kind):
        spark.sql(ROWS).write.partitionBy("even").parquet(str(tmp_path / "t p%20"))
    request = request_of_table(tmp_path / "t p%20")
    out = both(request, spark, tmp_path)
    rows = [out.row(request, "at", ordinal) for ordinal in range(len(request.files))]
    scale = 1000 if kind == "TIMESTAMP_MILLIS" else 1
    assert min(r["lower_int"] for r in rows) == 0  # type: ignore[type-var]
    assert max(r["upper_int"] for r in rows) == 39 * 1000001 // scale * scale  # type: ignore[type-var]
    assert all(out.row(request, "f", ordinal)["nan_count"] for ordinal in range(len(request.files)))


def test_delta_with_deletion_vectors_and_renamed_columns_is_about_physical_rows(
    tmp_path: Path, spark: SparkSession
) -> None:
    path = tmp_path / "delta"
    properties = "'delta.enableDeletionVectors' = 'true', 'delta.columnMapping.mode' = 'name'"
    spark.sql(f"CREATE TABLE delta.`{path}` USING delta PARTITIONED BY (even) TBLPROPERTIES ({properties}) AS {ROWS}")
    spark.sql(f"ALTER TABLE delta.`{path}` RENAME COLUMN id TO number")
    spark.sql(f"DELETE FROM delta.`{path}` WHERE number BETWEEN 20 AND 25 OR number = 39")
    spark.sql(f"ALTER TABLE delta.`{path}` ADD COLUMN later INT")
    request = request_of_table(path)
    assert request.files.table.column("deletes").null_count < len(request.files)
    out = both(request, spark, tmp_path)
    rows = [out.row(request, "number", ordinal) for ordinal in range(len(request.files))]
    assert sum(r["value_count"] for r in rows) == 40  # type: ignore[misc]
    assert max(r["upper_int"] for r in rows) == 39  # type: ignore[type-var]
    later = [out.row(request, "later", ordinal)["state"] for ordinal in range(len(request.files))]
    assert set(later) == {int(StatState.ALL_NULL)}


def test_iceberg_with_renamed_and_added_columns(tmp_path: Path, spark: SparkSession) -> None:
    name = "iceberg.build.renamed"
    spark.sql("CREATE NAMESPACE IF NOT EXISTS iceberg.build")
    spark.sql(f"DROP TABLE IF EXISTS {name}")
    spark.sql(f"CREATE TABLE {name} USING iceberg PARTITIONED BY (even) AS {ROWS}")
    spark.sql(f"ALTER TABLE {name} RENAME COLUMN id TO number")
    spark.sql(f"ALTER TABLE {name} RENAME COLUMN st.x TO z")
    spark.sql(f"ALTER TABLE {name} ADD COLUMN id STRING")
    warehouse = Path(spark.conf.get("spark.sql.catalog.iceberg.warehouse") or "")
    request = request_of_table(warehouse / "build" / "renamed")
    out = both(request, spark, tmp_path)
    for ordinal in range(len(request.files)):
        assert out.row(request, "id", ordinal)["state"] == int(StatState.ALL_NULL)
        number, z = out.row(request, "number", ordinal), out.row(request, "st.z", ordinal)
        assert number["state"] == int(StatState.VALUES)
        assert (number["lower_int"], number["upper_int"]) == (z["lower_int"], z["upper_int"])


def test_many_ranges_are_sorted_across_parts(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("metaindex.index.build.spark._ROWS_PER_RANGE", 7)
    table = pa.table({"i": [1], "f": [0.5], "s": ["x"]})
    paths = [write(tmp_path / "t", f"{i:02}.parquet", table) for i in range(10)]
    request = request_for(tmp_path / "t", fields_of(table.schema), paths, partitions=["a"] * 5 + ["b"] * 5)
    out = both(request, spark, tmp_path)
    assert len([part for part in out.report.parts if part.kind == "column_stats"]) > 1


def test_failure_of_a_task_is_one_line_with_the_trace_behind_it(tmp_path: Path, spark: SparkSession) -> None:
    request = request_of(tmp_path, {"a.parquet": pa.table({"i": [1]})})
    broken = replace(request.ref, storage="no storage at all")  # type: ignore[arg-type]
    with pytest.raises(BuildError) as caught:
        build(SparkBuilder(spark), replace(request, ref=broken), tmp_path / "index")
    assert "\n" not in str(caught.value)
    assert "AttributeError" in str(caught.value)
    assert caught.value.__cause__ is not None


def test_text_files_in_a_folder_with_pattern_characters(tmp_path: Path, spark: SparkSession) -> None:
    (tmp_path / "[t] {a,b}?*%41").mkdir()
    for name in ("a b.csv", "c%20d.csv", "é+😀.csv"):
        (tmp_path / "[t] {a,b}?*%41" / name).write_text("i,s\n1,x\n")
    request = request_of_table(tmp_path / "[t] {a,b}?*%41")
    out = both(request, spark, tmp_path)
    assert out.report.files_scanned == 3


def test_archive_of_the_project_is_importable_alone(tmp_path: Path) -> None:
    archive = tmp_path / "rooms.zip"
    write_archive(archive)
    code = (
        "import sys; sys.path = [p for p in sys.path if 'site-packages' in p or 'lib' in p]; sys.path.insert(0,"
        f" {str(archive)!r}); "
        "import metaindex.index.build.spark_tasks as t, metaindex.index.build.spark_text as x; print(t.__file__)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert "rooms.zip" in found.stdout, found.stderr


@pytest.mark.parametrize("name", ["0.json", "0.csv"])
def test_a_text_with_a_zone_is_no_moment_without_one(spark: SparkSession, tmp_path: Path, name: str) -> None:
    """To Spark it is NULL in such a column, and a value in one with a zone, which the session prefers."""
    texts = ("2024-01-01T00:00:00+02:00", "2024-01-01 12:00:00")
    lines = [json.dumps({"n": text}) for text in texts] if name == "0.json" else ["n", *texts]
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / name).write_text("\n".join(lines) + "\n")
    os.utime(tmp_path / "t" / name, (1.7e9, 1.7e9))

    def rows(*conditions: str) -> list[int]:
        opened = open_table(tmp_path / "t", schema="n TIMESTAMP_NTZ", spark=spark)
        return [opened.scan(one).to_arrow().num_rows for one in conditions]

    asked = ("n IS NULL", "n = timestamp_ntz'2024-01-01 12:00:00'", "n IS NOT NULL")
    assert rows(*asked) == [1, 1, 1]
    table = open_table(tmp_path / "t", schema="n TIMESTAMP_NTZ", spark=spark)
    table.create_index("stats", ColumnStats(), builder="spark")
    assert rows(*asked) == [1, 1, 1]
