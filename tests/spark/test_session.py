"""The session really has both formats, on whatever Java this machine has."""

import sys
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from metaindex.spark.session import SparkSessionError, spark_session

pytestmark = pytest.mark.spark


def test_java_is_a_supported_one(spark: "SparkSession") -> None:
    version: str = spark.sparkContext._jvm.java.lang.System.getProperty("java.version")
    assert version.split(".")[0] in {"17", "21"}


def test_delta_is_written_changed_and_read_at_a_version(spark: "SparkSession", tmp_path: Path) -> None:
    path = str(tmp_path / "table")
    spark.range(10).write.format("delta").save(path)
    spark.sql(f"DELETE FROM delta.`{path}` WHERE id = 3")
    assert spark.read.format("delta").load(path).count() == 9
    assert spark.read.format("delta").option("versionAsOf", 0).load(path).count() == 10


def test_iceberg_is_written_changed_and_read_by_name_and_by_path(spark: "SparkSession") -> None:
    spark.sql("CREATE TABLE iceberg.session.numbers (id BIGINT) USING iceberg")
    spark.range(7).writeTo("iceberg.session.numbers").append()
    spark.sql("DELETE FROM iceberg.session.numbers WHERE id = 3")
    assert spark.table("iceberg.session.numbers").count() == 6
    location = spark.sql("DESCRIBE EXTENDED iceberg.session.numbers").where("col_name = 'Location'").first()
    assert spark.read.format("iceberg").load(location["data_type"]).count() == 6
    assert spark.table("iceberg.session.numbers.snapshots").count() == 2


def test_python_workers_run_this_python(spark: "SparkSession") -> None:
    def which(batches):
        import sys

        for _ in batches:
            yield pa.record_batch({"python": [sys.executable]})

    rows = spark.range(0, 4, 1, 2).mapInArrow(which, "python string").distinct().collect()
    assert [Path(row["python"]).resolve() for row in rows] == [Path(sys.executable).resolve()]


def test_asking_again_gives_the_running_session_with_new_settings(spark: "SparkSession") -> None:
    again = spark_session(conf={"spark.sql.ansi.maxParseDepth": "7"})
    try:
        assert again.sparkContext is spark.sparkContext
        assert again.conf.get("spark.sql.ansi.maxParseDepth") == "7"
    finally:
        again.conf.unset("spark.sql.ansi.maxParseDepth")


def test_a_running_session_without_a_wanted_extension_is_refused(spark: "SparkSession") -> None:
    with pytest.raises(SparkSessionError, match=r"lacks org\.example\.Extension; stop it first"):
        spark_session(conf={"spark.sql.extensions": "org.example.Extension"})
