"""Conditions over partition columns and others, together and apart, of plain files in folders of partitions: the bytes
that a query reads without an index are those of the partitions that it asks for."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import metaindex as mi
from tests.spark.optimizer.changing_lakes import asked

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


DELTA_CONDITIONS = (
    "k = 77",
    "p = 1 AND k = 77",
    "p + 1 = 2 AND k = 77",
    "p IN (SELECT max(p) FROM listed) AND k = 77",
    "q = 'b' AND k IN (77, 79, 82) AND (p = 1 OR v = 5)",
    "q IS NULL AND k IN (77, 79, 82)",
)


def test_files_of_delta_are_listed_without_a_query(sorting: SparkSession, tmp_path: Path) -> None:
    """Delta's own list of named files asks for them by a query whenever it is listed; that of ours holds them."""
    spark, path = sorting, str(tmp_path / "t")
    rows = spark.range(0, 4_000, 1, 2).selectExpr(
        "id AS k", "id % 11 AS v", "id % 2 AS p", "IF(id % 3 = 0, NULL, IF(id % 3 = 1, 'a', 'b')) AS q"
    )
    never = {"delta.dataSkippingNumIndexedCols": "0", "delta.enableDeletionVectors": "true"}
    rows.write.partitionBy("p", "q").format("delta").options(**never).save(path)
    spark.sql(f"DELETE FROM delta.`{path}` WHERE k IN (78, 80, 81)")
    mi.open_table(path).create_index("by_k", mi.Values("k"), builder="local")
    spark.sql(f"SELECT * FROM delta.`{path}`").createOrReplaceTempView("listed")
    for condition in DELTA_CONDITIONS:
        asked(spark, f"SELECT k, v, p, q FROM listed WHERE {condition}", by="by_k: ")
    few = "SELECT /*+ BROADCAST(d) */ l.k FROM listed l JOIN VALUES (1) AS d(p) ON l.p = d.p WHERE l.k = 77"
    asked(spark, few, by="by_k: ")

    def files_of(condition: str) -> Any:
        plan = spark.sql(f"SELECT * FROM listed WHERE {condition}")._jdf.queryExecution().optimizedPlan()
        return plan.collectLeaves().apply(0).relation().location()

    of_one, of_many = files_of("p = 1 AND k = 77"), files_of("k IN (77, 79, 82)")
    assert {str(one.getClass().getName()) for one in (of_one, of_many)} == {"metaindex.NamedFiles"}
    filters = spark.sql("SELECT * FROM listed WHERE p = 1")._jdf.queryExecution().optimizedPlan()
    none = filters.children().take(0)
    some = filters.expressions().take(1)
    assert of_many.matchingFiles(none, none).size() == 3
    assert of_many.matchingFiles(some, none).size() == 2  # a filter that it does not know is asked for
