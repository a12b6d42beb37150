"""A session outlives its tables: others are made at their places, and handles of none stay for good."""

import gc
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import metaindex as mi
import metaindex.spark as rule
from metaindex.spark.optimizer.request_handler import RequestHandler
from metaindex.table import Table
from tests.examples import few
from tests.spark.optimizer.lakes import ruled

PLACES, FILES, ROWS = 120, 3, 300
CLASSES = "org.apache.spark.sql.catalyst.expressions."
TYPES = {"type": "struct", "fields": [{"name": "k", "type": "integer", "nullable": True, "metadata": {}}]}


def request(path: Path, key: int) -> str:
    """What the rule asks about `k = key` over a folder of Parquet files."""
    filters = [
        {"class": CLASSES + "EqualTo", "num-children": 2},
        {"class": CLASSES + "AttributeReference", "num-children": 0, "name": "k", "dataType": "integer"}
        | {"metadata": {}},
        {"class": CLASSES + "Literal", "num-children": 0, "dataType": "integer", "value": str(key)},
    ]
    scan: dict[str, Any] = {
        "kind": "files",
        "root": f"file:{path}",
        "catalog": False,
        "format": "ParquetFileFormat",
        "schema": TYPES,
        "partitions": {"type": "struct", "fields": []},
        "session": {"zone": "UTC", "set": {}},
        "options": {},
        "gathered": False,
        "harmless": True,
        "pruned": False,
        "bytes": 1000,
        "filters": [filters],
        "needs": [{"name": "k", "type": "integer", "altered": False}],
        "wants": [],
    }
    return json.dumps({"settings": {}, "scans": [scan]})


def write(path: Path, *, indexed: bool) -> None:
    path.mkdir(parents=True)
    for number in range(FILES):
        first = number * ROWS
        pq.write_table(pa.table({"k": pa.array(range(first, first + ROWS), pa.int32())}), path / f"{number}.parquet")
        os.utime(path / f"{number}.parquet", (1_700_000_000, 1_700_000_000))
    if indexed:
        mi.open_table(path).create_index("x", mi.ColumnStats(), builder="local")


def test_many_places_leave_few_handles_behind(tmp_path: Path) -> None:
    gc.collect()
    before = sum(isinstance(each, Table) for each in gc.get_objects())
    handler = RequestHandler(mi.Config(), {}, mi.RuleConfig(timeout_seconds=600))
    for number in range(PLACES):
        path = tmp_path / str(number)
        write(path, indexed=number % 40 == 0)
        assert bool(handler(request(path, 5))) == (number % 40 == 0)
        shutil.rmtree(path)
    gc.collect()
    assert sum(isinstance(each, Table) for each in gc.get_objects()) - before <= 100
    assert handler(request(tmp_path / "0", 5)) == ""
    assert handler.counts.failed == 0, handler.counts.last_error
    handler.close()


@pytest.fixture
def session(spark: SparkSession) -> Iterator[SparkSession]:
    found = spark.newSession()
    with ruled(found, rule=mi.RuleConfig(cache_expiry_seconds=0.0)):
        yield found


def rows(spark: SparkSession, first: int = 0) -> Any:
    return spark.range(first, first + 3000, 1, 6).selectExpr("id", "cast(id * 1117 % 3001 as int) k")


def plain(spark: SparkSession, place: str) -> str:
    rows(spark).write.mode("overwrite").parquet(place)
    settled(place)
    return f"parquet.`{place}`"


def settled(place: str) -> None:
    for path in Path(place).glob("*"):
        os.utime(path, (1_700_000_000, 1_700_000_000))


def text(spark: SparkSession, place: str) -> str:
    rows(spark).write.mode("overwrite").json(place)
    settled(place)
    return f"json.`{place}`"


def converted(spark: SparkSession, place: str) -> str:
    plain(spark, place)
    spark.sql(f"CONVERT TO DELTA parquet.`{place}`")
    return f"delta.`{place}`"


def delta(spark: SparkSession, place: str) -> str:
    rows(spark).write.format("delta").mode("overwrite").save(place)
    return f"delta.`{place}`"


TABLES: list[Callable[[SparkSession, str], str]] = [plain, converted, text, delta, plain, delta]


def test_each_table_at_one_place_has_its_index(session: SparkSession, tmp_path: Path) -> None:
    place = str(tmp_path / "t")
    for number, make in enumerate(TABLES[: few(4, len(TABLES))]):
        shutil.rmtree(place, ignore_errors=True)
        shutil.rmtree(tmp_path / "_metaindex", ignore_errors=True)
        name = make(session, place)
        query = f"SELECT * FROM {name} WHERE k = {number}"
        assert session.sql(query).count() == 1
        session.sql(f"CREATE INDEX ix ON {name} (k)")
        for key in range(5):  # more than threads that answer
            query = f"SELECT * FROM {name} WHERE k = {key + 10}"
            assert "<metaindex ix" in session.sql(query)._jdf.queryExecution().executedPlan().toString(), make
            assert session.sql(query).count() == 1
    assert rule.counts(session).failed == 0, rule.counts(session).last_error


def test_tables_that_are_dropped_restored_and_branched_are_no_failures(session: SparkSession, tmp_path: Path) -> None:
    for turn in range(2):
        session.sql("CREATE TABLE iceberg.db.long (id BIGINT, k INT) USING iceberg")
        rows(session).writeTo("iceberg.db.long").append()
        session.sql("CREATE INDEX ix ON iceberg.db.long (k)")
        session.sql("ALTER TABLE iceberg.db.long CREATE BRANCH side")
        session.sql("INSERT INTO iceberg.db.long.branch_side VALUES (9000, 9000)")
        for key in range(5):
            query = f"SELECT * FROM iceberg.db.long WHERE k = {key + turn}"
            assert len(session.sql(query).collect()) == 1
        assert len(session.sql("SELECT * FROM iceberg.db.long VERSION AS OF 'side' WHERE k = 9000").collect()) == 1
        assert "ix by k" in str(mi.explain(session.sql("SELECT * FROM iceberg.db.long WHERE k = 7")))
        session.sql("DROP TABLE iceberg.db.long PURGE")
    place = str(tmp_path / "d")
    held = []
    for _ in range(2):
        name = delta(session, place)
        session.sql(f"CREATE INDEX ix ON {name} (k)")
        session.sql(f"DELETE FROM {name} WHERE k < 100")
        assert session.sql(f"SELECT * FROM {name} WHERE k = 7").count() == 0
        session.sql(f"RESTORE TABLE {name} TO VERSION AS OF 0")
        assert session.sql(f"SELECT * FROM {name} WHERE k = 7").count() == 1
        held.append(session.sql(f"SELECT * FROM {name} WHERE k = 9"))
        held[-1].collect()
        shutil.rmtree(place)
        held[-1]._jdf.queryExecution().optimizedPlan()
    assert rule.counts(session).failed == 0, rule.counts(session).last_error
