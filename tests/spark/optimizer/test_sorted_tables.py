"""What `enable` tells Spark so that buckets of an index are not sorted again holds for indexes alone: of a user's table
Spark believes no more than without metaindex."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import metaindex as mi
from metaindex.spark.optimizer.placing import SORTED_BUCKETS

JOIN = "SELECT a.k, a.id, b.id FROM claimed a JOIN claimed b ON a.k = b.k"


@pytest.fixture
def session(spark: SparkSession, tmp_path: Path) -> Iterator[SparkSession]:
    """One bucket of a file whose rows are not in the order that the catalog says: somebody has put it there."""
    session = spark.newSession()
    session.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    session.sql("DROP TABLE IF EXISTS claimed")
    rows = session.range(0, 200, 1, 1).selectExpr("id", "id * 37 % 50 AS k")
    place = tmp_path / "claimed"
    rows.write.bucketBy(1, "k").sortBy("k").option("path", str(place)).saveAsTable("claimed")
    rows.write.parquet(str(tmp_path / "unsorted"))
    (target,), (source,) = place.glob("*.parquet"), (tmp_path / "unsorted").glob("*.parquet")
    target.with_name(f".{target.name}.crc").unlink()
    shutil.copy(source, target)
    session.catalog.refreshTable("claimed")
    yield session
    mi.disable(session)
    session.sql("DROP TABLE claimed")


@pytest.mark.parametrize("setting", [None, "false"])
def test_a_table_said_to_be_sorted_is_sorted_all_the_same(session: SparkSession, setting: str | None) -> None:
    expected = sorted(map(tuple, session.sql(JOIN).collect()))
    assert len(expected) == 800
    mi.enable(session)
    if setting is not None:
        session.conf.set("spark.metaindex.enabled", setting)
    query = session.sql(JOIN)
    assert sorted(map(tuple, query.collect())) == expected
    assert str(query._jdf.queryExecution().executedPlan()).count("Sort [k") >= 2


def test_a_session_that_believes_it_goes_on_to(session: SparkSession) -> None:
    session.conf.set(SORTED_BUCKETS, "true")
    try:
        before = str(session.sql(JOIN)._jdf.queryExecution().executedPlan()).count("Sort [k")
        mi.enable(session)
        assert str(session.sql(JOIN)._jdf.queryExecution().executedPlan()).count("Sort [k") == before == 0
    finally:
        session.conf.unset(SORTED_BUCKETS)
