"""CHAR(n) of Delta (`__CHAR_VARCHAR_TYPE_STRING`): Spark fills up texts with blanks to n characters, the column's and
the literal's, before it compares them, so that `c = 'ab'` is true of 'ab   '. Nothing that compares bytes may speak of
the column; VARCHAR(n) is a text as any."""

from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import metaindex as mi
from tests.query.readers.lake import rewritten

SAID = {"c": "char(5)", "v": "varchar(5)", "s": "struct<x:char(5),n:int>"}


def lake(folder: Path) -> str:
    """Three files, as Spark writes them."""
    path = folder / "t"
    for first in (0, 10, 20):
        ids = range(first, first + 3)
        columns: dict[str, Any] = {"id": pa.array(ids, pa.int64()), "c": ["ab   ", "abcde", None], "v": ["ab"] * 3}
        columns["s"] = pa.array(
            [{"x": "ab   ", "n": i} for i in ids], pa.struct([("x", pa.string()), ("n", pa.int32())])
        )
        deltalake.write_deltalake(path, pa.table(columns), mode="append")

    def described(said: dict[str, Any]) -> None:
        for field in said["fields"]:
            if field["name"] in SAID:
                field["metadata"] |= {"__CHAR_VARCHAR_TYPE_STRING": SAID[field["name"]]}

    rewritten(path / "_delta_log" / "00000000000000000000.json", "metaData", described, "schemaString")
    return str(path)


@pytest.mark.parametrize("indexed", [False, True])
def test_no_file_is_left_out_by_them(tmp_path: Path, indexed: bool) -> None:
    table = mi.open_table(lake(tmp_path))
    if indexed:
        table.create_index("found", mi.ColumnStats(), mi.Values("id"), mi.Values("v"), builder="local")
    for text in ("c = 'ab'", "c IN ('ab')", "c > 'b'", "s.x = 'ab'", "c <=> 'ab'"):
        result = table.prune(text)
        assert (result.kept_files, len(result.certain)) == (3, 0), text
        assert result.not_understood, text
        with pytest.raises(mi.ScanError, match="cannot apply"):
            table.scan(text).to_arrow()
    assert table.prune("v = 'ab '").kept_files == 0
    assert table.prune("s.n = 11").kept_files == 1
    assert table.scan("v = 'ab' AND id = 11").to_arrow().column("c").to_pylist() == ["abcde"]
    assert table.scan("id = 10").to_arrow().column("s").to_pylist() == [{"x": "ab   ", "n": 10}]


@pytest.mark.parametrize("name", ["c", "s.x"])
def test_an_index_of_the_column_is_refused_with_the_reason(tmp_path: Path, name: str) -> None:
    with pytest.raises(mi.UnknownColumnError, match="CHAR"):
        mi.open_table(lake(tmp_path)).create_index("none", mi.Values(name), builder="local")


@pytest.mark.spark
def test_spark_has_the_same_rows_with_an_index_and_without(spark: SparkSession, tmp_path: Path) -> None:
    name = f"delta.`{tmp_path}/t`"
    spark.sql(f"CREATE TABLE {name} (id BIGINT, c CHAR(5), s STRUCT<x: CHAR(5)>) USING delta")
    for number in range(3):
        spark.sql(f"INSERT INTO {name} VALUES ({number}, 'ab', named_struct('x', 'ab')), ({number + 10}, 'zz', NULL)")
    table = mi.open_table(tmp_path / "t", spark=spark)
    table.create_index("found", mi.ColumnStats(), builder="local")
    where = ("c = 'ab'", "c IN ('ab', 'x')", "s.x = 'ab'", "id = 11", "id = 11 AND c = 'zz'")
    asked = [f"SELECT id FROM {name} WHERE {text}" for text in where]
    without = [sorted(spark.sql(text).collect()) for text in asked]
    assert [len(rows) for rows in without[:2]] == [3, 3]
    mi.enable(spark)
    try:
        assert [sorted(spark.sql(text).collect()) for text in asked] == without
    finally:
        mi.disable(spark)
    assert table.prune("c = 'ab'").dropped_files == 0
