"""Conditions over partition columns and others, together and apart, of plain files in folders of partitions: the bytes
that a query reads without an index are those of the partitions that it asks for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import metaindex as mi
from tests.rule.changing_lakes import asked

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


CONDITIONS = (
    "k = 77 OR v = 5",  # of several columns, none of partitions: planning never came to an end
    "v + k = 88",
    "k = 77 OR p = 1",
    "p = 1 OR k = 77",
    "p = 1 OR q = 'b'",
    "p = 1 AND q = 'b' AND k = 7 AND (v = 7 OR k = 8)",
    "p + 1 = 2 AND k = 77",
    "p = 1",
)


@pytest.mark.parametrize("form", ["parquet", "csv"])
@pytest.mark.rotating
def test_every_condition_is_planned(sorting: SparkSession, tmp_path: Path, form: str) -> None:
    spark, path = sorting, str(tmp_path / form)
    rows = spark.range(0, 4_000, 1, 2).selectExpr(
        "id AS k", "id % 11 AS v", "id % 2 AS p", "IF(id % 3 = 0, 'a', 'b') AS q"
    )
    rows.write.partitionBy("p", "q").format(form).save(path)
    schema = "k BIGINT, v BIGINT, p BIGINT, q STRING"
    options = {} if form == "parquet" else {"format": "csv", "schema": schema, "header": False}
    table = mi.open_table(path, spark=spark, **options)
    table.create_index("by_k", mi.Covering(["k"], ["v", "p", "q"], buckets=4))
    spark.read.schema(schema).format(form).load(path).createOrReplaceTempView("parted")
    for condition in CONDITIONS:
        asked(spark, f"SELECT k, v, p, q FROM parted WHERE {condition}", by="")
    if form == "parquet":
        asked(spark, "SELECT k, v FROM parted WHERE k = 77 AND (v = 0 OR k = 77)", by="by_k: covering")
