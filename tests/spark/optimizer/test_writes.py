"""Plain inserts read their sources by the indexes; whatever writes by what its scans give, or to what it reads, is left
alone. Numbers that are drawn for what is shown are no hindrance."""

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import metaindex.spark as rule
from tests.each_spark import lacks
from tests.spark.optimizer.lakes import location_of
from tests.spark.optimizer.test_skipping import FILES, MAKERS, ROWS, indexed, make_delta, make_iceberg, make_parquet

pytestmark = pytest.mark.uncompiled

Make = Callable[["SparkSession", Path], str]


def rewritten_by(spark: SparkSession, work: Callable[[], object]) -> int:
    """How many scans are rewritten meanwhile; nothing fails."""
    before = rule.counts(spark)
    work()
    after = rule.counts(spark)
    assert after.failed == before.failed, after.last_error
    return after.rewritten - before.rewritten


def ids(spark: SparkSession, text: str) -> list[int]:
    return sorted(row[0] for row in spark.sql(text).collect())


@pytest.mark.parametrize("make", MAKERS)
def test_sources_of_plain_inserts_are_read_by_the_indexes(enabled: SparkSession, tmp_path: Path, make: Make) -> None:
    spark, name = enabled, make(enabled, tmp_path)
    query = f"SELECT id, name FROM {name} WHERE id BETWEEN 205 AND 210"
    wanted = ids(spark, query)
    new = str(tmp_path / "new")
    spark.sql("DROP TABLE IF EXISTS made")
    try:
        for work, target, times in [
            (lambda: spark.sql(query).write.parquet(new), f"parquet.`{new}`", 1),
            (lambda: spark.sql(query).write.mode("append").parquet(new), f"parquet.`{new}`", 2),
            (lambda: spark.sql(query).write.mode("overwrite").partitionBy("name").parquet(new), f"parquet.`{new}`", 1),
            (lambda: spark.sql(f"CREATE TABLE made USING parquet LOCATION '{new}2' AS {query}"), "made", 1),
            (lambda: spark.sql(f"INSERT INTO made {query}"), "made", 2),
            (lambda: spark.sql(f"INSERT OVERWRITE made {query}"), "made", 1),
            (lambda: spark.sql(query).write.format("delta").save(f"{new}3"), f"delta.`{new}3`", 1),
        ][: -1 if lacks("delta") else None]:
            assert rewritten_by(spark, work) >= 1, target
            assert ids(spark, f"SELECT id FROM {target}") == sorted(wanted * times), target
    finally:
        spark.sql("DROP TABLE IF EXISTS made")


@pytest.mark.parametrize("make", [make_parquet, make_iceberg])
def test_inserts_into_iceberg_tables_read_their_sources_by_the_indexes(
    enabled: SparkSession, tmp_path: Path, make: Make
) -> None:
    spark, name = enabled, make(enabled, tmp_path)
    query = f"SELECT id, name FROM {name} WHERE id BETWEEN 205 AND 210"
    wanted = ids(spark, query)
    made = f"iceberg.rule.made{abs(hash(str(tmp_path))) % 10**9}"
    partitioned = "USING iceberg PARTITIONED BY (bucket(4, id))"
    for work, times in [
        (lambda: spark.sql(f"CREATE TABLE {made} {partitioned} AS {query}"), 1),
        (lambda: spark.sql(f"INSERT INTO {made} {query}"), 2),
        (lambda: spark.sql(query).writeTo(made).append(), 3),
        (lambda: spark.sql(f"INSERT OVERWRITE {made} {query}"), 1),
        (lambda: spark.sql(query).writeTo(made).overwritePartitions(), 1),
        (lambda: spark.sql(f"CREATE OR REPLACE TABLE {made} USING iceberg AS {query}"), 1),
    ]:
        assert rewritten_by(spark, work) == 1
        assert ids(spark, f"SELECT id FROM {made}") == sorted(wanted * times)
    merge = f"MERGE INTO {made} t USING ({query}) s ON t.id = s.id"
    assert rewritten_by(spark, lambda: spark.sql(f"{merge} WHEN NOT MATCHED THEN INSERT *")) == 0  # it reads its target
    # Which files have rows that match Spark asks by a query of its own, which is one like any other; what it writes
    # anew it reads by itself.
    spark.sql(f"{merge} WHEN MATCHED AND s.id > 206 THEN UPDATE SET t.name = 'changed'")
    assert ids(spark, f"SELECT id FROM {made}") == wanted
    assert ids(spark, f"SELECT id FROM {made} WHERE name = 'changed'") == [one for one in wanted if one > 206]


def test_of_inserts_into_iceberg_tables_delta_pins_no_source(enabled: SparkSession, tmp_path: Path) -> None:
    """It leaves plans of such writes alone, so that nobody knows before they run which version they read."""
    spark, path = enabled, str(tmp_path / "plain")
    spark.range(0, 100, 1, 4).selectExpr("id", "concat('n', id) AS name").write.format("delta").save(path)
    indexed(path)
    made = f"iceberg.rule.made{abs(hash(str(tmp_path))) % 10**9}"
    text = f"CREATE TABLE {made} USING iceberg AS SELECT id, name FROM delta.`{path}` WHERE id BETWEEN 20 AND 30"
    assert rewritten_by(spark, lambda: spark.sql(text)) == 0
    assert ids(spark, f"SELECT id FROM {made}") == list(range(20, 31))


def test_a_table_that_is_written_to_is_not_read_by_an_index(enabled: SparkSession, tmp_path: Path) -> None:
    spark, name = enabled, make_iceberg(enabled, tmp_path)
    path = make_parquet(enabled, tmp_path).removeprefix("parquet.").strip("`")
    few = f"SELECT id + 10000 AS id, k, name, p FROM {name} WHERE id = 7"
    for text in [
        f"INSERT INTO {name} {few}",
        f"MERGE INTO {name} t USING (SELECT id FROM {name} WHERE id = 410 UNION SELECT 9000) s ON t.id = s.id "
        "WHEN NOT MATCHED THEN INSERT (id, k, name, p) VALUES (s.id, 0, 'new', 0)",
        f"UPDATE {name} SET name = 'changed' WHERE id BETWEEN 298 AND 301",
        f"DELETE FROM {name} WHERE id BETWEEN 100 AND 101",
        f"MERGE INTO {name} t USING (SELECT 410 AS id) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET t.name = 'merged'",
    ]:
        assert rewritten_by(spark, lambda t=text: spark.sql(t)) == 0, text
    frame = spark.read.parquet(path).where("id = 7").drop("p")
    assert rewritten_by(spark, lambda: frame.write.parquet(f"{path}/p=9")) == 0
    rule.disable(spark)
    rows = {row["id"]: row["name"] for row in spark.sql(f"SELECT id, name FROM {name}").collect()}
    rule.enable(spark)
    expected = {i: f"n{i * 31 % 800}" for i in range(FILES * ROWS) if i not in (205, 333, 100, 101)}
    expected |= dict.fromkeys(range(298, 302), "changed") | {410: "merged", 9000: "new", 10007: expected[7]}
    assert rows == expected
    assert location_of(spark, name)


@pytest.mark.parametrize("make", [make_parquet, make_delta])
def test_numbers_that_are_drawn_for_what_is_shown(enabled: SparkSession, tmp_path: Path, make: Make) -> None:
    spark, name = enabled, make(enabled, tmp_path)
    for text in [
        f"SELECT id, rand() AS r FROM {name} WHERE id = 210",
        f"SELECT id, CAST(floor(rand() * 10) AS int) AS r, k FROM (SELECT *, randn() AS n FROM {name}) WHERE id = 210",
    ]:
        assert rewritten_by(spark, lambda t=text: spark.sql(t).collect()) == 1, text
        assert ids(spark, text) == [210]
    new = str(tmp_path / "drawn")
    assert rewritten_by(
        spark, lambda: spark.sql(f"SELECT id, rand() AS r FROM {name} WHERE id = 210").write.parquet(new)
    )
    assert ids(spark, f"SELECT id FROM parquet.`{new}`") == [210]


def test_numbers_that_choose_rows_or_were_given_a_seed(enabled: SparkSession, tmp_path: Path) -> None:
    spark, name = enabled, make_parquet(enabled, tmp_path)
    for text in [
        f"SELECT id, rand(3) AS r FROM {name} WHERE id < 50",
        f"SELECT id FROM {name} WHERE id < 50 AND rand() < 0.5",
        f"SELECT id FROM (SELECT id, rand() AS r FROM {name} WHERE id < 50) WHERE r < 0.5",
        f"SELECT id FROM {name} WHERE id < 50 ORDER BY rand()",
        f"SELECT id FROM {name} WHERE id < 50 ORDER BY rand() LIMIT 3",
        f"SELECT count(DISTINCT r) FROM (SELECT rand() AS r FROM {name} WHERE id < 50)",
        f"SELECT id, uuid() FROM {name} WHERE id < 50",
        f"SELECT id, rand() + monotonically_increasing_id() AS r FROM {name} WHERE id < 50",
        f"SELECT id, spark_partition_id() AS r FROM {name} WHERE id < 50",
        f"SELECT id, input_file_name() AS r, rand() AS s FROM {name} WHERE id < 50",
        f"SELECT id, rand() AS r FROM {name} WHERE id < 50 UNION ALL SELECT id, 0.5 FROM {name} WHERE id > 750",
    ]:
        assert rewritten_by(spark, lambda t=text: spark.sql(t).collect()) == 0, text
