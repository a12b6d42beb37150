"""Plain Parquet files that Spark wrote with a collation: the footer tells of it, and Spark compares by it."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import metaindex as mi
from tests.spark.optimizer.lakes import ruled

ROW = b"org.apache.spark.sql.parquet.row.metadata"


def folder(tmp_path: Path, metadata: dict[str, object]) -> str:
    """One file whose footer says of column `c` what Spark would."""
    column = {"name": "c", "type": "string", "nullable": True, "metadata": metadata}
    said = json.dumps({"type": "struct", "fields": [column]}, separators=(",", ":"))
    table = pa.table({"c": ["a", "A"]}).replace_schema_metadata({ROW: said.encode()})
    (tmp_path / "t").mkdir()
    pq.write_table(table, tmp_path / "t" / "one.parquet")
    return str(tmp_path / "t")


def test_a_collation_is_refused_unless_the_columns_are_named(tmp_path: Path) -> None:
    path = folder(tmp_path, {"__COLLATIONS": {"c": "spark.UTF8_LCASE"}})
    with pytest.raises(mi.UnsupportedFeatureError, match=r"one\.parquet.*collation.*schema="):
        mi.open_table(path).scan("c = 'A'").to_arrow()
    named = mi.open_table(path, schema=pa.schema([("c", pa.string())]))
    assert named.scan("c = 'A'").to_arrow().to_pylist() == [{"c": "A"}]


def test_another_remark_of_spark_is_none(tmp_path: Path) -> None:
    path = folder(tmp_path, {"comment": "of __COLLATIONS nothing"})
    assert mi.open_table(path).scan("c = 'A'").to_arrow().to_pylist() == [{"c": "A"}]


@pytest.mark.spark
def test_what_spark_writes_is_refused_and_its_own_queries_stay_as_they_are(spark: SparkSession, tmp_path: Path) -> None:
    if spark.version.startswith("3.5"):
        pytest.skip("Spark has collations from 4.0 on")
    path = str(tmp_path / "t")
    spark.sql("SELECT id, IF(id % 2 = 0, 'a', 'A') COLLATE UTF8_LCASE AS c FROM range(10)").write.parquet(path)
    with pytest.raises(mi.UnsupportedFeatureError, match="collation"):
        mi.open_table(path, spark=spark).create_index("i", mi.ColumnStats(), builder="local")
    with ruled(spark):
        assert spark.read.parquet(path).where("c = 'A'").count() == 10
