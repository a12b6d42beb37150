"""Tables for statements of a session, and their rows."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import metaindex.spark as rule
from metaindex.statements import parsed, schema_of


@pytest.fixture
def sql(spark: SparkSession) -> Iterator[SparkSession]:
    rule.enable(spark)
    yield spark
    rule.disable(spark)


def made(spark: SparkSession, format_: str, folder: Path) -> tuple[str, str]:
    """A table of 300 rows in three files: its name, and a query of it."""
    frame = spark.range(0, 300, 1, 3).selectExpr("id", "CAST(id % 7 AS INT) AS k", "concat('n', id) AS name")
    name = f"`t {format_}{time.time_ns()}`"
    if format_ == "iceberg":
        name = f"iceberg.db.`t{time.time_ns()}`"
        frame.writeTo(name).using("iceberg").create()
    elif format_ in ("csv", "json"):
        options = {"header": "true"} if format_ == "csv" else {}
        frame.write.options(**options).format(format_).save(str(folder / "t x"))
        spark.sql(
            f"CREATE TEMPORARY VIEW {name} (id BIGINT, k INT, name STRING) USING {format_}"
            f" OPTIONS (path '{folder / 't x'}', header true)"
        )
    else:
        frame.write.format(format_).save(str(folder / "t x"))
        name = f"{format_}.`{folder / 't x'}`"
    return name, f"SELECT name FROM {name} WHERE id = 7"


def rows(spark: SparkSession, statement: str) -> list[dict[str, Any]]:
    frame = spark.sql(statement)
    assert frame.columns == schema_of(parsed(statement)).names
    return [row.asDict() for row in frame.collect()]
