"""Tables for statements of a session, and their rows."""

import time
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from metaindex.statements import parsed, schema_of


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
