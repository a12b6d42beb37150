"""Spark writes and reads a catalog's tables through the proxy, as it does without."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import metaindex as mi
from metaindex.serve import Server
from metaindex.serve.proxy.opening import Opener
from metaindex.serve.proxy.service import Proxy
from metaindex.serve.proxy.upstream import Upstream
from tests.each_spark import needs
from tests.serve.upstream import RestCatalog

pytestmark = [pytest.mark.spark, pytest.mark.uncompiled, needs("iceberg")]


@pytest.fixture
def behind(tmp_path: Path) -> Iterator[RestCatalog]:
    with RestCatalog(tmp_path / "behind") as catalog:
        yield catalog


@pytest.fixture
def proxy(behind: RestCatalog) -> Iterator[Server]:
    made = Proxy(Upstream(behind.uri), Opener([str(behind.root)], None, None), opening_seconds=60)
    with Server(made, "127.0.0.1", 0) as server:
        yield server


def test_spark_through_the_proxy(spark: SparkSession, behind: RestCatalog, proxy: Server, tmp_path: Path) -> None:
    for name, uri in (("proxied", proxy.uri), ("direct", behind.uri)):
        spark.conf.set(f"spark.sql.catalog.{name}", "org.apache.iceberg.spark.SparkCatalog")
        for key, value in (("type", "rest"), ("uri", uri), ("cache-enabled", "false")):
            spark.conf.set(f"spark.sql.catalog.{name}.{key}", value)
    spark.sql("create namespace proxied.n")
    spark.sql("create table proxied.n.t (id bigint, name string, region string) using iceberg partitioned by (region)")
    for part in range(4):
        spark.sql(
            f"insert into proxied.n.t select id * 4 + {part}, concat('user-', id), element_at(array('eu', 'us', null),"
            " cast(id % 3 as int) + 1) from range(50)"
        )
    mi.open_table(str(behind.root / "lake/n/t")).create_index("ids", mi.Values("id"))

    def same(condition: str = "true", columns: str = "*") -> int:
        there, here = (
            sorted(map(str, spark.sql(f"select {columns} from {name}.n.t where {condition}").collect()))
            for name in ("proxied", "direct")
        )
        assert there == here, condition
        return len(there)

    conditions = (
        "id = 77",
        "id in (1, 150)",
        "region = 'eu'",
        "region is null",
        "region <> 'eu'",
        "name like 'user-4%'",
    )
    for condition in (*conditions, "true", "id > 5000", "region = 'eu' and id < 20"):
        same(condition)
        same(condition, "count(*), min(id), max(name)")
    assert behind.count("POST", "/plan") == 0  # the proxy's own
    data = behind.root / "lake/n/t/data"
    kept = spark.sql("select _file from direct.n.t where id = 77").first()[0].removeprefix("file:")
    moved = [(file, tmp_path / file.name) for file in data.rglob("*.parquet") if not kept.endswith(str(file))]
    assert len(moved) == 11
    for file, there in moved:
        file.rename(there)
    try:
        assert spark.sql("select name from proxied.n.t where id = 77").first()[0] == "user-19"
    finally:
        for file, there in moved:
            there.rename(file)
    spark.sql("delete from proxied.n.t where id = 77")
    spark.sql("alter table proxied.n.t set tblproperties ('write.delete.mode' = 'merge-on-read')")
    spark.sql("delete from proxied.n.t where id in (78, 79, 80)")
    spark.sql("update proxied.n.t set name = 'nobody' where id = 81")
    spark.sql("delete from proxied.n.t where region = 'us' and id < 30")
    spark.sql("alter table proxied.n.t rename column name to called")
    spark.sql("alter table proxied.n.t add column more int")
    spark.sql("insert into proxied.n.t values (1000, 'new', 'ap', 7)")
    assert same() == same(columns="id") < 200
    for condition in (
        "id = 77",
        "id = 79",
        "id = 81",
        "called = 'nobody'",
        "more = 7",
        "region = 'us'",
        "region is null",
    ):
        same(condition)
        same(condition, "count(*), max(id)")
    assert spark.sql("select count(*) from proxied.n.t.snapshots").first()[0] == 9
    spark.sql("drop table proxied.n.t")
    assert spark.sql("show tables in direct.n").count() == 0
