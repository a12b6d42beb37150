"""Minus zero is zero to Spark, and is not to the dictionaries by which its reader of Parquet leaves row groups out."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import metaindex as mi
from tests.spark.optimizer.changing_lakes import asked

SCHEMA = "id INT, v DOUBLE, f FLOAT"
ROWS = "".join(f"{i},{'-0.0' if i < 40 else i % 5 + 1},{'-0.0' if i < 40 else i % 5 + 1}\n" for i in range(400))


@pytest.mark.parametrize(
    "kind",
    [mi.Covering(["v"], ["id", "f"], buckets=1), mi.CoveringRange(["v"], ["id", "f"]), mi.Covering(["id"], ["v", "f"])],
    ids=["buckets", "ranges", "beside"],
)
def test_minus_zero_is_found_as_zero_in_an_index(sorting: SparkSession, tmp_path: Path, kind: Any) -> None:
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "a.csv").write_text(ROWS)
    table = mi.open_table(str(tmp_path / "t"), format="csv", header=False, schema=SCHEMA, spark=sorting)
    table.create_index("cov", kind, builder="spark")
    sorting.read.schema(SCHEMA).csv(str(tmp_path / "t")).createOrReplaceTempView("zeros")
    for condition in ("v = 0.0D", "f = float('0.0')", "v IN (0.0D, 9.5D)", "v <=> 0.0D AND f IN (float('0'), 7)"):
        asked(sorting, f"SELECT count(*) AS n, sum(id) AS ids FROM zeros WHERE {condition}")
