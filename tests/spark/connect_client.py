"""A client of Spark Connect in a process of its own: asks, and prints what came of it as JSON.

python -m tests.spark.connect_client ADDRESS TABLE QUERY
"""

import contextlib
import io
import json
import sys
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
from pyspark.sql import SparkSession

import metaindex as mi


def plan(frame: Any) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        frame.explain(True)
    return out.getvalue()


def rows(frame: Any) -> list[list[Any]]:
    return [list(row) for row in frame.collect()]


def refused(call: Any) -> str:
    try:
        call()
    except Exception as error:  # noqa: BLE001 - the test says what it is
        return str(error)
    return ""


def main(address: str, table: str, query: str) -> None:
    spark = SparkSession.builder.remote(address).getOrCreate()
    found = {"rows": rows(spark.sql(query)), "plan": plan(spark.sql(query)), "was": mi.is_enabled(spark)}
    found["enabling"] = refused(lambda: mi.enable(spark))
    found["enabled"] = mi.is_enabled(spark)
    mi.disable(spark)
    found["disabled"] = mi.is_enabled(spark)
    found["plan without"] = plan(spark.sql(query))
    other = SparkSession.builder.remote(address).create()
    found["statement first"] = refused(
        lambda: found.update(shown=rows(other.sql(f"SHOW INDEXES ON parquet.`{table}`")))
    )
    frame = other.read.parquet(table).where("user = 'user-00007'")
    found["frame"], found["frame's plan"] = rows(frame), plan(frame)
    for name, text in {
        "explained": f"EXPLAIN INDEXES {query}",
        "created": f"CREATE INDEX IF NOT EXISTS ids ON parquet.`{table}` USING column_stats (id)",
        "dropped": f"DROP INDEX ids ON parquet.`{table}`",
    }.items():
        found[f"{name}, refused"] = refused(lambda text=text, name=name: found.update({name: rows(other.sql(text))}))
    private = Path(table).with_name("private.txt")
    private.write_text("password=hunter2 : do not tell\n")
    advise = f"RECOMMEND INDEXES ON parquet.`{table}` FROM"
    for path in (private, "/proc/self/environ"):
        found[f"read {path}"] = refused(lambda path=path: found.update(read=rows(other.sql(f"{advise} '{path}'"))))
    scanned = mi.open_table(table).scan("user = 'user-00007'").to_spark(other)
    found["scan"], found["scanned files"] = rows(scanned), len(scanned.inputFiles())
    found["scan of nothing"] = rows(mi.open_table(table).scan("user = 'nobody'", columns=["id"]).to_spark(other))
    folder = str(Path(table).with_name("delta"))
    deltalake.write_deltalake(folder, pa.table({"id": [1]}))
    found["scan of Delta"] = refused(lambda: mi.open_table(folder).scan("id = 1").to_spark(other))
    mi.open_table(folder).create_index("by_id", mi.Values("id"))
    found["located"] = mi.open_table(folder).scan("id = 1").to_arrow().num_rows
    found["listed"] = [row[0] for row in rows(mi.open_table(folder).indexes().to_spark(other))]
    found["here"] = mi.open_table(table).scan("user = 'user-00007'").to_arrow().num_rows
    sys.stdout.write(json.dumps(found, default=str) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
