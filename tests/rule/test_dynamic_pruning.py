"""A covering index beside dynamic partition pruning: a look-up is read of the index, which is asked for no partitions,
and a join that keeps few partitions of the table goes on to leave the others out; the rows are the same."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import metaindex as mi
from metaindex.spark.jobs import setting
from tests.compiling import uncompiled
from tests.rule.changing_lakes import MAKERS, Lake, asked, covered, rows_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


KIND = mi.Covering(indexed=["k"], included=["id", "v", "p"], buckets=64)
JOIN = "SELECT f.id, f.v FROM {t} f JOIN dim d ON f.p = d.p WHERE d.label = 'd1'"


@pytest.fixture
def lake(sorting: SparkSession, tmp_path: Path, request: pytest.FixtureRequest) -> Lake:
    sorting.range(0, 3).selectExpr("CAST(id AS int) AS p", "concat('d', id) AS label").write.parquet(
        str(tmp_path / "dim")
    )
    sorting.read.parquet(str(tmp_path / "dim")).createOrReplaceTempView("dim")
    return covered(request.param(sorting, tmp_path), KIND)


@pytest.mark.rotating(family="formats under covering indexes", of=16)
@pytest.mark.parametrize("lake", MAKERS, indirect=True)
def test_a_look_up_is_read_of_the_index_and_the_rest_by_partitions(lake: Lake, sorting: SparkSession) -> None:
    spark, text = sorting, JOIN.format(t=lake.name) + " AND f.k = 7"
    with setting(spark, "spark.sql.autoBroadcastJoinThreshold", "10MB"):
        for by, filters in (("cov: covering", 0), ("cov: covering, and files that it lacks", 1)):
            asked(spark, text, by="")  # adaptive plans tell of their subqueries, too
            with uncompiled(spark):  # tasks that interpret a filter have no keys to ask of rows
                asked(spark, text, by="")
            with setting(spark, "spark.sql.adaptive.enabled", "false"):
                plan = asked(spark, text, by=by)
                assert (
                    plan.count("dynamicpruningexpression(p") + plan.count("dynamicpruningexpression(id:7") == filters
                ), plan
                asked(spark, JOIN.format(t=lake.name) + " AND f.k IN (7, 8) AND f.id > 50", by="")
            lake.append(rows_of(spark, 600, 60, files=1))


@pytest.mark.rotating(family="formats under covering indexes", of=16)
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
    with setting(spark, "spark.sql.autoBroadcastJoinThreshold", "10MB"):
        plan = asked(spark, grouped, by="")
        assert "cov: covering" not in plan, plan
        assert "dynamicpruning" in plan.lower(), plan
        asked(spark, sides, by="")
