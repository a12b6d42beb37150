"""Queries of an enabled session read fewer files and give the same rows; what must not be rewritten is not; nothing
that goes wrong is felt."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession

import metaindex as mi
import metaindex.spark as rule
from metaindex.core import SparkDriver
from metaindex.query import Queries
from tests.spark.optimizer.lakes import location_of

pytestmark = pytest.mark.uncompiled

FILES = 8
ROWS = 100  # a file


def rows_of(spark: SparkSession) -> DataFrame:
    """id 0..799 in eight files of a hundred neighbours; `name` in no order."""
    return spark.range(0, FILES * ROWS, 1, FILES).selectExpr(
        "id", "id % 7 AS k", "concat('n', id * 31 % 800) AS name", "CAST(id / 200 AS int) AS p"
    )


def indexed(path: str, **options: Any) -> mi.Table:
    table = mi.open_table(path, **options)
    table.create_index("stats", mi.ColumnStats(), builder="local")
    return table


def read_files(frame: DataFrame) -> int:
    """Files that the scans of an executed query read, from their own metrics; Iceberg counts before the rule does, so
    there it is told by the rows that its scans gave."""
    leaves = frame._jdf.queryExecution().executedPlan().collectLeaves()
    total = 0
    for i in range(leaves.size()):
        metrics = leaves.apply(i).metrics()
        if metrics.contains("numFiles"):
            total += metrics.apply("numFiles").value()
        elif metrics.contains("resultDataFiles"):
            total += -(-metrics.apply("numOutputRows").value() // ROWS)
    return int(total)


def answers(spark: SparkSession, ask: Callable[[], DataFrame]) -> tuple[list[Row], DataFrame]:
    """The rows with the rule, which are those without it, and the query that gave them."""
    with_rule = ask()
    found = sorted(with_rule.collect(), key=repr)
    rule.disable(spark)
    try:
        assert found == sorted(ask().collect(), key=repr)
    finally:
        rule.enable(spark)
    return found, with_rule


def make_delta(spark: SparkSession, folder: Path) -> str:
    path = str(folder / "de lta%20")
    rows_of(spark).write.format("delta").partitionBy("p").option("delta.enableDeletionVectors", "true").option(
        "delta.dataSkippingNumIndexedCols", "0"
    ).save(path)
    spark.sql(f"DELETE FROM delta.`{path}` WHERE id IN (205, 333)")
    indexed(path)
    return f"delta.`{path}`"


def make_parquet(spark: SparkSession, folder: Path) -> str:
    path = str(folder / "par quet")
    rows_of(spark).write.partitionBy("p").parquet(path)
    indexed(path)
    return f"parquet.`{path}`"


def make_iceberg(spark: SparkSession, folder: Path) -> str:
    name = f"iceberg.rule.t{abs(hash(str(folder))) % 10**9}"
    spark.sql(
        f"CREATE TABLE {name} (id bigint, k bigint, name string, p int) USING iceberg TBLPROPERTIES"
        " ('format-version'='3', 'write.delete.mode'='merge-on-read', 'write.distribution-mode'='none',"
        " 'write.metadata.metrics.default'='none')"
    )
    rows_of(spark).writeTo(name).append()
    spark.sql(f"DELETE FROM {name} WHERE id IN (205, 333)")
    indexed(location_of(spark, name))
    return name


MAKERS = [make_parquet, make_delta, make_iceberg]
Make = Callable[[SparkSession, Path], str]


@pytest.mark.parametrize("make", MAKERS)
def test_a_query_reads_only_files_that_can_match(enabled: SparkSession, tmp_path: Path, make: Make) -> None:
    spark, name = enabled, make(enabled, tmp_path)
    for condition, most in [
        ("id = 210", 1),
        ("id IN (7, 305)", 2),
        ("id BETWEEN 190 AND 210 AND k > 2", 2),
        ("id = 205", 1),
        ("id = 4711", 0),
        ("id < 100 AND name <> 'n0' OR id = 799", 2),
        ("name LIKE 'x%'", 0),
    ]:
        before = rule.counts(spark)
        found, query = answers(spark, lambda c=condition: spark.sql(f"SELECT id, name FROM {name} WHERE {c}"))
        assert before.failed == 0, before.last_error
        assert read_files(query) <= most, (condition, len(found), query._jdf.queryExecution().toString())


@pytest.mark.parametrize("make", MAKERS)
def test_joins_subqueries_views_and_unions_give_the_same(enabled: SparkSession, tmp_path: Path, make: Make) -> None:
    spark, name = enabled, make(enabled, tmp_path)
    spark.sql(f"SELECT * FROM {name}").createOrReplaceTempView("seen")
    for text in [
        f"SELECT a.id, b.name FROM {name} a JOIN {name} b ON a.id = b.id + 100 WHERE a.id = 305 AND b.k < 7",
        f"SELECT count(*) AS c FROM {name} WHERE id > (SELECT max(id) - 5 FROM {name} WHERE id < 300)",
        f"WITH few AS (SELECT * FROM {name} WHERE id < 50) SELECT f.id FROM few f LEFT JOIN {name} o ON f.id = o.id"
        " AND o.id = 11",
        "SELECT p, count(*) AS c FROM seen WHERE id >= 650 GROUP BY p",
        f"SELECT id FROM {name} WHERE id = 3 UNION ALL SELECT id FROM {name} WHERE id = 703",
        f"SELECT id FROM {name} WHERE id IN (SELECT id FROM {name} WHERE id BETWEEN 400 AND 405)",
        f"SELECT * FROM (SELECT id FROM {name} WHERE id < 400 ORDER BY id LIMIT 5) WHERE id > 2",
    ]:
        answers(spark, lambda t=text: spark.sql(t))
    assert rule.counts(spark).failed == 0, rule.counts(spark).last_error


@pytest.mark.parametrize("make", MAKERS)
def test_one_frame_in_several_places_of_a_query(enabled: SparkSession, tmp_path: Path, make: Make) -> None:
    """Spark then has one scan in several places, each under its own filter."""
    spark, name = enabled, make(enabled, tmp_path)
    frame = spark.table(name) if name.startswith("iceberg.") else spark.sql(f"SELECT * FROM {name}")
    asked: list[Callable[[], DataFrame]] = [
        lambda: frame.where("id = 3").union(frame.where("id = 703")).union(frame.where("id = 404")),
        lambda: frame.where("id = 703").union(frame).where("id > 600"),
        lambda: frame.where("id = 3").select("k").union(frame.select("k")),
        lambda: frame.where("id = 310").join(frame.where("id < 100").select("k").distinct(), "k"),
        lambda: frame.where("id = 5").unionByName(frame.where("id > 795")).groupBy("k").count(),
    ]
    for ask in asked:
        answers(spark, ask)
    assert rule.counts(spark).failed == 0, rule.counts(spark).last_error


def test_old_versions_are_asked_at_their_version(enabled: SparkSession, tmp_path: Path) -> None:
    spark = enabled
    name = make_delta(spark, tmp_path)
    found, query = answers(spark, lambda: spark.sql(f"SELECT id FROM {name} VERSION AS OF 0 WHERE id = 205"))
    assert [row["id"] for row in found] == [205]
    assert read_files(query) <= 1
    iceberg = make_iceberg(spark, tmp_path)
    first = spark.sql(f"SELECT snapshot_id FROM {iceberg}.snapshots ORDER BY committed_at").head()
    found, query = answers(
        spark, lambda: spark.sql(f"SELECT id FROM {iceberg} VERSION AS OF {first[0]} WHERE id = 205")
    )
    assert [row["id"] for row in found] == [205]
    assert read_files(query) <= 1


@pytest.mark.parametrize("vectors", ["true", "false"])
def test_delta_dml_changes_the_same_rows(enabled: SparkSession, tmp_path: Path, vectors: str) -> None:
    spark = enabled
    _dml(spark, _delta_for_dml(spark, tmp_path, vectors))


@pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])
def test_iceberg_dml_changes_the_same_rows(enabled: SparkSession, tmp_path: Path, mode: str) -> None:
    spark = enabled
    name = f"iceberg.rule.dml_{mode.replace('-', '_')}"
    modes = ", ".join(f"'write.{verb}.mode'='{mode}'" for verb in ("delete", "update", "merge"))
    spark.sql(
        f"CREATE TABLE {name} (id bigint, k bigint, name string, p int) USING iceberg TBLPROPERTIES"
        f" ('format-version'='2', 'write.distribution-mode'='none', {modes})"
    )
    rows_of(spark).writeTo(name).append()
    indexed(location_of(spark, name))
    _dml(spark, name)


def _delta_for_dml(spark: SparkSession, folder: Path, vectors: str) -> str:
    path = str(folder / "dml")
    rows_of(spark).write.format("delta").option("delta.enableDeletionVectors", vectors).save(path)
    indexed(path)
    return f"delta.`{path}`"


def _dml(spark: SparkSession, name: str) -> None:
    spark.sql(f"DELETE FROM {name} WHERE id = 205")
    spark.sql(f"UPDATE {name} SET name = 'changed' WHERE id BETWEEN 298 AND 301")
    spark.sql(
        f"MERGE INTO {name} t USING (SELECT id FROM {name} WHERE id = 410 UNION SELECT 9000) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET t.name = 'merged' WHEN NOT MATCHED THEN INSERT (id, k, name, p) VALUES (s.id, 0,"
        " 'new', 0)"
    )
    spark.sql(f"INSERT INTO {name} SELECT id + 10000, k, name, p FROM {name} WHERE id = 7")
    expected = {i: f"n{i * 31 % 800}" for i in range(FILES * ROWS) if i != 205}
    expected |= dict.fromkeys(range(298, 302), "changed") | {410: "merged", 9000: "new", 10007: expected[7]}
    rule.disable(spark)
    found = {row["id"]: row["name"] for row in spark.sql(f"SELECT id, name FROM {name}").collect()}
    rule.enable(spark)
    assert found == expected
    assert {row["id"] for row in spark.sql(f"SELECT id FROM {name} WHERE name = 'merged'").collect()} == {410}


def test_what_depends_on_more_than_a_row_is_not_rewritten(enabled: SparkSession, tmp_path: Path) -> None:
    spark, name = enabled, make_parquet(enabled, tmp_path)
    before = rule.counts(spark).rewritten
    for text in [
        f"SELECT id FROM {name} WHERE id = 5 AND rand(3) < 0.5",
        f"SELECT id, _metadata.file_name FROM {name} WHERE id = 5",
        f"SELECT id, input_file_name() FROM {name} WHERE id = 5",
        f"SELECT id, monotonically_increasing_id() AS m FROM {name} WHERE id = 5",
        f"SELECT id FROM {name} TABLESAMPLE (50 PERCENT) REPEATABLE (3) WHERE id < 50",
        f"SELECT id FROM {name}",
        f"SELECT id FROM {name} WHERE id % 2 = 0",
    ]:
        answers(spark, lambda t=text: spark.sql(t))
    counts = rule.counts(spark)
    assert (counts.rewritten, counts.failed) == (0, 0), (before, counts)


def test_a_replaced_and_a_new_file_are_read(enabled: SparkSession, tmp_path: Path) -> None:
    spark = enabled
    path = tmp_path / "plain"
    rows_of(spark).drop("p").write.parquet(str(path))
    indexed(str(path))
    victim = sorted(one for one in path.iterdir() if one.suffix == ".parquet")[0]
    other = tmp_path / "other"
    spark.range(5000, 5100, 1, 1).selectExpr("id", "id AS k", "'x' AS name").write.parquet(str(other))
    (source,) = (one for one in other.iterdir() if one.suffix == ".parquet")
    (path / "part-new.parquet").write_bytes(source.read_bytes())
    victim.write_bytes(source.read_bytes())
    (path / f".{victim.name}.crc").unlink(missing_ok=True)
    found, query = answers(spark, lambda: spark.read.parquet(str(path)).where("id = 5050"))
    assert len(found) == 2
    assert read_files(query) == 2


def test_a_schema_of_the_session_is_not_that_of_the_files(enabled: SparkSession, tmp_path: Path) -> None:
    spark = enabled
    path = str(tmp_path / "typed")
    spark.range(0, 800, 1, 8).selectExpr("CAST(id AS int) AS id").write.parquet(path)
    indexed(path)
    widened = () if spark.version.startswith("3.") else ("id bigint",)  # from Spark 4 on it reads int so
    for schema in ("id int", *widened, "id int, other string"):
        answers(spark, lambda s=schema: spark.read.schema(s).parquet(path).where("id = 300"))
    assert (
        len(
            answers(
                spark,
                lambda: spark.read.schema("id int, other string").parquet(path).where("other IS NULL AND id < 10"),
            )[0]
        )
        == 10
    )


def test_an_answer_that_fails_or_is_late_leaves_the_query_alone(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = make_parquet(spark, tmp_path)
    text = f"SELECT id FROM {name} WHERE id = 210"
    try:
        rule.enable(spark)

        # Damage and stores out of reach are answered without an error (see below); what is patched in here stands for
        # any mistake of ours.
        def broken(*_: object, **__: object) -> object:
            raise RuntimeError("boom")

        with monkeypatch.context() as patched:
            patched.setattr(Queries, "proved", broken)
            assert len(spark.sql(text).collect()) == 1
        assert (rule.counts(spark).failed, rule.counts(spark).last_error) == (1, "boom")
        rule.enable(spark)
        with monkeypatch.context() as patched, SparkDriver(spark).setting("spark.metaindex.timeoutSeconds", "0.2"):
            answered = threading.Event()
            patched.setattr(Queries, "proved", lambda *_, **__: answered.wait(60))
            assert len(spark.sql(text).collect()) == 1  # while the answer is still waited for
            answered.set()
        assert rule.counts(spark).timed_out == 1
    finally:
        rule.disable(spark)


def test_damage_is_felt_by_nobody(enabled: SparkSession, tmp_path: Path) -> None:
    spark, name = enabled, make_delta(enabled, tmp_path)
    for part in (tmp_path / "de lta%20" / "_metaindex" / "stats" / "column_stats").rglob("*.mix"):
        part.write_bytes(b"garbage" * 40)
    found, _ = answers(spark, lambda: spark.sql(f"SELECT id FROM {name} WHERE id = 210"))
    assert len(found) == 1


def test_a_session_is_enabled_for_itself(spark: SparkSession, tmp_path: Path) -> None:
    assert not rule.is_enabled(spark)
    rule.enable(spark)
    rule.enable(spark)
    other = spark.newSession()
    try:
        assert rule.is_enabled(spark)
        assert not rule.is_enabled(other)
        assert spark._jsparkSession.experimental().extraOptimizations().size() == 1
    finally:
        rule.disable(spark)
    rule.disable(spark)
    assert not rule.is_enabled(spark)
    assert spark._jsparkSession.experimental().extraOptimizations().size() == 0
    with pytest.raises(ValueError, match=r"is not; call metaindex\.enable"):
        rule.counts(spark)


def test_a_stream_and_a_cached_frame_are_right(enabled: SparkSession, tmp_path: Path) -> None:
    spark, name = enabled, make_delta(enabled, tmp_path)
    path = name.removeprefix("delta.").strip("`")
    out, marks = str(tmp_path / "out"), str(tmp_path / "marks")
    spark.readStream.format("delta").option("ignoreDeletes", "true").option("ignoreChanges", "true").load(path).where(
        "id = 210"
    ).writeStream.format("parquet").option("checkpointLocation", marks).trigger(availableNow=True).start(
        out
    ).awaitTermination(120)
    assert [row["id"] for row in spark.read.parquet(out).collect()] == [210]
    cached = spark.sql(f"SELECT * FROM {name} WHERE id < 300").cache()
    assert cached.where("id = 250").count() == 1
    assert cached.count() == 299
    cached.unpersist()
