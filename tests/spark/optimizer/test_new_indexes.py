"""What is created, is used by the next query: that a table has no index is remembered for seconds, and no longer than
this process writes none."""

from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import metaindex as mi

TIMES = 5
"""More than threads that answer: each of them remembers."""


@pytest.mark.parametrize("asked", ["by SQL", "by Python"])
def test_the_next_query_uses_what_was_created(enabled: SparkSession, tmp_path: Path, asked: str) -> None:
    folder = tmp_path / "events"
    folder.mkdir()
    for number in range(4):
        pq.write_table(pa.table({"id": range(number, 400, 4)}), folder / f"{number}.parquet")
    query = f"SELECT id FROM parquet.`{folder}` WHERE id = 202"
    for _ in range(TIMES):
        assert "metaindex" not in plan(enabled, query)
    if asked == "by SQL":
        enabled.sql(f"CREATE INDEX find ON parquet.`{folder}` USING bloom (id)")
    else:
        mi.open_table(folder).create_index("find", mi.Bloom("id"))
    for _ in range(TIMES):
        assert "<metaindex find: 1/4 files>" in plan(enabled, query)
    enabled.sql(f"DROP INDEX find ON parquet.`{folder}`")
    assert "metaindex" not in plan(enabled, query)
    enabled.sql(f"RESTORE INDEX find ON parquet.`{folder}`")
    assert "<metaindex find: 1/4 files>" in plan(enabled, query)


def test_so_it_is_of_files_of_text(enabled: SparkSession, tmp_path: Path) -> None:
    """Whose index of other columns was met before."""
    folder = tmp_path / "events"
    folder.mkdir()
    for number in range(4):
        pc.write_csv(pa.table({"id": range(number * 100, number * 100 + 100)}), folder / f"{number}.csv")
    mi.open_table(folder, schema="id STRING", header=True).create_index("texts", mi.ColumnStats("id"))
    enabled.read.csv(str(folder), schema="id BIGINT", header=True).createOrReplaceTempView("events_of_text")
    query = "SELECT id FROM events_of_text WHERE id = 202"
    for _ in range(TIMES):
        assert "1/4 files" not in plan(enabled, query)
    enabled.sql("CREATE INDEX numbers ON events_of_text (id)")
    for _ in range(TIMES):
        assert "<metaindex numbers: 1/4 files>" in plan(enabled, query)


def plan(spark: SparkSession, query: str) -> str:
    return str(spark.sql(query)._jdf.queryExecution().executedPlan().toString())
