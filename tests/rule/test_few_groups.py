"""A covering index is not read bucket by bucket where that saves nothing: groups by few keys (what scans that Spark
reads once for several places cost: `test_ranking`)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import metaindex as mi
from metaindex.kinds.covering.spec import BUCKETS
from tests.rule.changing_lakes import asked

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_few_keys_and_many(sorting: SparkSession, tmp_path: Path) -> None:
    spark, path = sorting, str(tmp_path / "t")
    frame = spark.range(0, 20_000, 1, 4).selectExpr(
        "id", "CAST(id % 2 AS int) AS c", "CAST(id * 7919 % 15000 AS int) AS k", "CAST(id AS double) / 7 AS d"
    )
    frame.write.format("delta").save(path)
    table = mi.open_table(path, spark=spark)
    table.create_index("few", mi.Covering(["c"], ["d"], buckets=16))
    table.create_index("many", mi.Covering(["k"], ["d"]))
    (key,) = next(one for one in table._open_indexes(None)[0] if one.name == "many").entry.content.runs[0].keys
    assert key.layout["buckets"] == BUCKETS[0], "which follows from the table's size"
    asked(spark, f"SELECT c, count(*) AS n, round(sum(d)) AS s FROM delta.`{path}` GROUP BY c", by=None)
    plan = asked(
        spark, f"SELECT k, count(*) AS n, round(sum(d)) AS s FROM delta.`{path}` GROUP BY k", by="many: covering"
    )
    assert "Exchange hashpartitioning" not in plan
