"""A covering index beside dynamic partition pruning: a look-up is read of the index, which is asked for no partitions,
and a join that keeps few partitions of the table goes on to leave the others out; the rows are the same."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import metaindex as mi
import metaindex.spark as rule
from metaindex.core import SparkDriver
from tests.compiling import uncompiled
from tests.spark.optimizer.changing_lakes import MAKERS, Lake, asked, covered, rows_of

KIND = mi.Covering(indexed=["k"], included=["id", "v", "p"], buckets=64)
JOIN = "SELECT f.id, f.v FROM {t} f JOIN dim d ON f.p = d.p WHERE d.label = 'd1'"


@pytest.fixture
def lake(sorting: SparkSession, tmp_path: Path, request: pytest.FixtureRequest) -> Lake:
    sorting.range(0, 3).selectExpr("CAST(id AS int) AS p", "concat('d', id) AS label").write.parquet(
        str(tmp_path / "dim")
    )
    sorting.read.parquet(str(tmp_path / "dim")).createOrReplaceTempView("dim")
    return covered(request.param(sorting, tmp_path), KIND)


@pytest.mark.parametrize("lake", MAKERS, indirect=True)
def test_a_look_up_is_read_of_the_index_and_the_rest_by_partitions(lake: Lake, sorting: SparkSession) -> None:
    spark, text = sorting, JOIN.format(t=lake.name) + " AND f.k = 7"
    with SparkDriver(spark).setting("spark.sql.autoBroadcastJoinThreshold", "10MB"):
        for by, filters in (("cov: covering", 0), ("cov: covering, and files that it lacks", 1)):
            asked(spark, text, by="")  # adaptive plans tell of their subqueries, too
            with uncompiled(spark):  # tasks that interpret a filter have no keys to ask of rows
                asked(spark, text, by="")
            with SparkDriver(spark).setting("spark.sql.adaptive.enabled", "false"):
                plan = asked(spark, text, by=by)
                found = plan.count("dynamicpruningexpression(p") + plan.count("dynamicpruningexpression(id:7")
                # plain files have a scan for those that change before the plan runs again
                assert found == (1 if "lacks 0/" in plan else filters), plan
                asked(spark, JOIN.format(t=lake.name) + " AND f.k IN (7, 8) AND f.id > 50", by="")
            lake.append(rows_of(spark, 600, 60, files=1))


@pytest.mark.parametrize("lake", MAKERS, indirect=True)
def test_where_partitions_are_left_out_no_join_or_group_takes_the_whole_index(
    lake: Lake, sorting: SparkSession
) -> None:
    spark = sorting
    grouped = f"SELECT k, count(*) FROM ({JOIN.format(t=lake.name).replace('f.id, f.v', 'f.k')}) GROUP BY k"
    sides = (
        f"SELECT a.id, b.v FROM {lake.name} a JOIN dim d ON a.p = d.p JOIN {lake.name} b ON a.k = b.k WHERE d.label ="
        " 'd1'"
    )
    with SparkDriver(spark).setting("spark.sql.autoBroadcastJoinThreshold", "10MB"):
        plan = asked(spark, grouped, by="")
        assert "cov: covering" not in plan, plan
        assert "dynamicpruning" in plan.lower(), plan
        asked(spark, sides, by="")


@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_a_side_that_an_index_stands_for_leaves_partitions_out(
    sorting: SparkSession, tmp_path: Path, adaptive: str
) -> None:
    """Spark's own pruning shares the broadcast of the side, of a table that has no index: below a group the copy of the
    side was another plan than the broadcast, by its buckets, and every partition was read."""
    spark, dim, fact = sorting, str(tmp_path / "wide dim"), str(tmp_path / "fact")
    spark.range(0, 4000, 1, 1).selectExpr(
        "CAST(id % 8 AS int) AS p", "CAST(id % 1000 AS int) AS w", "repeat(sha(CAST(id AS string)), 20) AS wide"
    ).write.parquet(dim)
    mi.open_table(dim).create_index("by_w", mi.Covering("w", included=["p"], buckets=8), builder="spark")
    spark.read.parquet(dim).createOrReplaceTempView("covered")
    spark.range(0, 800, 1, 1).selectExpr("id", "CAST(id % 8 AS int) AS p").write.partitionBy("p").parquet(fact)
    spark.read.parquet(fact).createOrReplaceTempView("fact")
    text = (
        "SELECT /*+ BROADCAST(d) */ f.id % 3 AS g, count(*) AS c FROM fact f JOIN covered d ON f.p = d.p WHERE d.w = 8"
        " GROUP BY f.id % 3"
    )
    with SparkDriver(spark).setting("spark.sql.adaptive.enabled", adaptive):
        told = rule.explain(spark.sql(text), run=True)
    assert any("'by_w' stands for it" in str(scan) for scan in told.scans), told
    read = [scan for scan in told.read or () if "covering" not in scan.scan]
    assert [(scan.files, scan.rows) for scan in read] == [(1, 100)], told
