"""The statements of docs/sql/spark.sql, run by Spark one after the other: what they keep is what the files' own values
say."""

import math
import re
from pathlib import Path

import deltalake
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import metaindex as mi

SQL = (Path(__file__).parents[2] / "docs" / "sql" / "spark.sql").read_text()
SCHEMA = pa.schema([("id", pa.int64()), ("f", pa.float64()), ("s", pa.string())])
NAN = math.nan
ROWS = {
    "low": {"id": [1, 3], "f": [1.0, 12.5], "s": ["a", None]},
    "nan": {"id": [10, 40], "f": [1.0, NAN], "s": ["s1", "s2"]},
    "only nan": {"id": [20, 30], "f": [NAN, NAN], "s": ["b", "c"]},
    "nulls": {"id": [None, None], "f": [None, None], "s": [None, None]},
    "high": {"id": [4, 90], "f": [200.0, 300.0], "s": ["s15", "t"]},
    "unknown": {"id": [100], "f": [0.0], "s": ["x"]},
}
"""By a word for each file. The last one is in no run."""

EXPECTED = {
    "id BETWEEN 3 AND 5": {"low", "high", "unknown"},
    "f > 100": {"nan", "only nan", "high", "unknown"},
    "f = 12.5": {"low", "unknown"},
    "s LIKE 's1%'": {"nan", "high", "unknown"},
    "s IS NULL": {"low", "nulls", "unknown"},
    "id = 3 by hash": {"low", "unknown"},
    "id BETWEEN 3 AND 4 by value": {"low", "high", "unknown"},
    "id = 3 by bloom filter": {"low", "unknown"},
}


@pytest.mark.spark
def test_the_statements_keep_what_the_files_say(spark: "SparkSession", tmp_path: Path) -> None:
    root = str(tmp_path / "lake")
    words: dict[str, str] = {}
    for word, rows in ROWS.items():
        deltalake.write_deltalake(root, pa.table(rows, schema=SCHEMA), mode="append")
        actions = pa.table(deltalake.DeltaTable(root).get_add_actions(flatten=True)).to_pylist()
        words |= {one["path"]: word for one in actions if one["path"] not in words}
        if word == "nan":
            kinds = (mi.ColumnStats(), mi.Values("id"), mi.Values("id", by="value"), mi.Bloom("id", fpp=1e-4))
            mi.open_table(root).create_index("find", *kinds, builder="local")
        elif word == "high":
            mi.open_table(root).refresh_index("find", builder="local")
    live = [(one["path"], one["size_bytes"], one["modification_time"], None) for one in actions]
    schema = "path string, size_bytes bigint, modified_ms bigint, etag string"
    spark.createDataFrame(live, schema).createOrReplaceTempView("live")

    said: dict[str, set[str]] = {}
    yours = {
        "${index}": mi.open_table(root).indexes()[0].location,
        "${table_uuid}": deltalake.DeltaTable(root).metadata().id,
    }
    pasted = SQL
    for place, text in yours.items():
        pasted = pasted.replace(place, text)
    for statement in pasted.split(";\n"):
        titles = [line for line in statement.splitlines() if line.startswith("-- ")]
        text = re.sub(r"^--.*$", "", statement, flags=re.MULTILINE).strip()
        if text.startswith(("SELECT", "WITH")):
            said[re.split("[:.] ", titles[-1][3:])[0]] = {words[row.path] for row in spark.sql(text).collect()}
        elif text:
            spark.sql(text)
    assert said == EXPECTED
    for view in re.findall(r"TEMPORARY VIEW (\w+)", SQL):
        spark.catalog.dropTempView(view)
