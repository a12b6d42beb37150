"""Plans of enabled queries as people read them, with ids, places and sizes taken out. Written anew by

METAINDEX_GOLDEN=1 .venv/bin/python -m pytest tests/spark/optimizer/test_goldens.py

Those of an older Spark stand in a folder of its own where they differ.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import metaindex as mi
from metaindex.core import SparkRelease
from tests.each_spark import PINNED, lacks
from tests.spark.optimizer import lakes
from tests.spark.optimizer.lakes import location_of, ruled

pytestmark = [pytest.mark.spark, pytest.mark.slow]

GOLDEN = Path(__file__).parent / "golden"
QUERIES = {
    "filter": "SELECT name FROM {parquet} WHERE id = 77",
    "key": "SELECT id FROM {parquet} WHERE name = 'n74' AND k IS NOT NULL",
    "partitions": "SELECT id FROM {parted} WHERE p = 2 AND id < 125",
    "join": "SELECT a.id, b.name FROM {parquet} a JOIN {parted} b ON a.id = b.id WHERE a.id BETWEEN 70 AND 75",
    "self_join": "SELECT a.id FROM {parquet} a LEFT JOIN {parquet} b ON a.k = b.k AND b.id = 9 WHERE a.id IN (3, 200)",
    "subquery": "SELECT count(*) AS c FROM {parquet} WHERE id > (SELECT max(id) - 9 FROM {parquet} WHERE id < 100)",
    "csv": "SELECT name FROM {csv} WHERE id = 77 AND day > date'2024-01-05'",
    "delta": "SELECT name FROM {delta} WHERE id = 77",
    "iceberg": "SELECT name FROM {iceberg} WHERE id = 77",
    "not_rewritten": "SELECT id FROM {parquet} WHERE id = 77 AND rand(1) < 2",
}


@pytest.fixture(scope="module")
def tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    folder = tmp_path_factory.mktemp("golden")
    parquet, parted, csv, delta = (str(folder / name) for name in ("parquet", "parted", "csv", "delta"))
    lakes.rows(spark).write.parquet(parquet)
    lakes.rows(spark).write.partitionBy("p").parquet(parted)
    lakes.rows(spark).write.option("header", True).csv(csv)
    paths = [parquet, parted]
    if not lacks("delta"):
        lakes.rows(spark).write.format("delta").option("delta.enableDeletionVectors", "true").save(delta)
        spark.sql(f"DELETE FROM delta.`{delta}` WHERE id = 76")
        paths.append(delta)
    if not lacks("iceberg"):
        spark.sql(
            f"CREATE TABLE iceberg.golden.t ({lakes.SCHEMA}) USING iceberg TBLPROPERTIES"
            " ('write.distribution-mode'='none', 'write.metadata.metrics.default'='none')"
        )
        lakes.rows(spark).writeTo("iceberg.golden.t").append()
        paths.append(location_of(spark, "iceberg.golden.t"))
    for path in paths:
        lakes.index(spark, path, lakes.SKIPPING)
    lakes.index(spark, csv, lakes.SKIPPING, format="csv", header=True, schema=lakes.SCHEMA)
    yield {
        "parquet": f"parquet.`{parquet}`",
        "parted": f"parquet.`{parted}`",
        "csv": csv,
        "delta": f"delta.`{delta}`",
        "iceberg": "iceberg.golden.t",
    }
    if not lacks("iceberg"):
        spark.sql("DROP TABLE iceberg.golden.t")  # tests of a module may come back to a worker that has left it


@pytest.fixture(scope="module")
def session(spark: SparkSession, tables: dict[str, str]) -> Iterator[SparkSession]:
    found = spark.newSession()
    found.read.schema(lakes.SCHEMA).option("header", True).csv(tables["csv"]).createOrReplaceTempView("texts")
    with ruled(found):
        yield found


@pytest.mark.parametrize("name", QUERIES)
def test_the_plan_is_as_it_was(session: SparkSession, tables: dict[str, str], name: str) -> None:
    found = normal(str(mi.explain(session.sql(QUERIES[name].format(**{**tables, "csv": "texts"})))))
    newest, file = GOLDEN / f"{name}.txt", golden(name)
    if os.environ.get("METAINDEX_GOLDEN"):
        file.unlink(missing_ok=True)
        if file == newest or newest.read_text() != found:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(found)
    assert found == (file if file.exists() else newest).read_text()


def golden(name: str) -> Path:
    release = SparkRelease.installed()
    return (GOLDEN if release is PINNED else GOLDEN / release.folder) / f"{name}.txt"


def normal(text: str) -> str:
    """What is another in every run is taken out: ids of expressions, stages and snapshots, places, sizes."""
    text = re.sub(r"tasks #[0-9a-f]+", "tasks", text)
    text = re.sub(r"#\d+L?", "", text)
    text = re.sub(r"plan_id=\d+", "plan_id", text)
    text = re.sub(r"(file:)?/[^\s`,\]]*/golden\d*/", "/lake/", text)
    text = re.sub(r"[\d.]+ (B|KB|MB)\b", "N bytes", text)
    text = re.sub(r"at version \w+", "at version V", text)
    text = re.sub(r"Location: (\w+)\s*\(?[^,]*", r"Location: \1", text)
    return re.sub(r"snapshotId=\d+|VERSION AS OF \d+|_\w{8}-\w{4}-\w{4}-\w{4}-\w{12}", "V", text).rstrip() + "\n"
