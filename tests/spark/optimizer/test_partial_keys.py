"""Joins on more columns than an index is on: where Spark lets rows that are partitioned by some of the keys stay where
they are, so do an index's; it does not by default."""

from pathlib import Path

from pyspark.sql import SparkSession

from metaindex.core import SparkDriver
from tests.spark.optimizer.changing_lakes import asked, covered, make_delta, rows_of


def test_a_join_with_other_keys_besides_has_no_exchange_where_the_session_says_so(
    sorting: SparkSession, tmp_path: Path
) -> None:
    spark = sorting
    lakes = []
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        lakes.append(covered(make_delta(spark, tmp_path / name)))
    one, other = lakes
    text = f"SELECT a.id, b.v FROM {one.name} a JOIN {other.name} b ON a.k = b.k AND a.name = b.name"
    for behind in ("cov: covering", "cov: covering, and files that it lacks"):
        plan = asked(spark, text, by=None)
        assert plan.count("Exchange hashpartitioning(k") == 2, plan
        with SparkDriver(spark).setting("spark.sql.requireAllClusterKeysForCoPartition", "false"):
            plan = asked(spark, text, by=behind)
        assert plan.count("Exchange") == (1 if "lacks" in behind else 0), plan
        assert "Sort [k" in plan, plan
        one.append(rows_of(spark, 600, 30))
