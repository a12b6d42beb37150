"""Workloads of a live session: DataFrames and texts, analysed and not run; and what the session's event logs tell of
the same queries, written by Spark's own writers with every codec."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import metaindex as mi
import metaindex.spark as rule
from metaindex.advisor.workloads.template import shown_predicate
from metaindex.expressions import JoinKey, TableRead

LOGS = {
    "plain": {"compress": "false", "rolling.enabled": "false"},
    "zstd": {"compress": "true", "compression.codec": "zstd", "rolling.enabled": "true"},
    "lz4": {"compress": "true", "compression.codec": "lz4", "rolling.enabled": "false"},
    "snappy": {"compress": "true", "compression.codec": "snappy", "rolling.enabled": "true"},
}


@pytest.fixture(scope="module")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("asked")
    rows = spark.range(0, 400, 1, 4).selectExpr(
        "id", "id % 7 AS k", "CAST(id AS string) AS text", "named_struct('a', id, 'b', 'z') AS s"
    )
    rows.write.parquet(f"{folder}/p")
    rows.write.format("delta").save(f"{folder}/d")
    return folder


def queries(lake: Path) -> list[str]:
    p, d = f"parquet.`{lake}/p`", f"delta.`{lake}/d`"
    return [
        f"SELECT text FROM {p} WHERE id = 210 AND k IN (1, 2, 3)",
        f"SELECT k, count(*) AS n FROM {d} WHERE id > 100 GROUP BY k ORDER BY k DESC LIMIT 5",
        f"SELECT a.text FROM {p} a JOIN {d} b ON a.id = b.id WHERE a.k = 2 AND b.text LIKE '1%'",
        f"SELECT id FROM {p} ORDER BY text, id LIMIT 3",
        f"SELECT s.a FROM {p} WHERE s.b = 'z' AND id = (SELECT max(id) FROM {d} WHERE k = 3)",
    ]


def told(workload: mi.Workload, lake: Path) -> list[list[tuple[str, str, tuple[str, ...], tuple[str, ...]]]]:
    return [
        [
            (read.table.removeprefix(f"file:{lake}/"), shown_predicate(read.predicate), read.group_keys, read.order)
            for read in template.tables
        ]
        for template in workload.templates
    ]


@pytest.mark.spark
def test_texts_and_frames_are_analysed_and_not_run(spark: SparkSession, lake: Path) -> None:
    texts = queries(lake)
    found = mi.workload(texts, spark=spark)
    assert found.problems == ()
    assert told(found, lake) == [
        [("p", "id = 210 AND k IN (1, 2, 3)", (), ())],
        [("d", "id > 100", ("k",), ("k DESC",))],
        [("p", "k = 2 AND NOT (id IS NULL)", (), ()), ("d", "startswith(text, '1') AND NOT (id IS NULL)", (), ())],
        [("p", "TRUE", (), ("text", "id"))],
        [("p", "NOT (id IS NULL) AND s.b = 'z' AND EqualTo id ScalarSubquery", (), ()), ("d", "k = 3", (), ())],
    ]
    assert [template.limit for template in found.templates] == [None, 5, None, 3, None]
    root = f"file:{lake}"
    assert found.templates[2].joins == (JoinKey(f"{root}/p", "id", f"{root}/d", "id"),)
    frames = [spark.sql(text) for text in texts]
    assert told(mi.workload(frames), lake) == told(found, lake)


@pytest.mark.spark
def test_what_if_of_frames_in_an_enabled_session(spark: SparkSession, lake: Path) -> None:
    texts = queries(lake)
    table = mi.open_table(f"{lake}/p")
    table.create_index("stats", mi.ColumnStats(), builder="local")
    mi.enable(spark, config=mi.Config(query_log=True))
    try:
        before = mi.workload(texts, spark=spark)
        answer = table.what_if([spark.sql(texts[0]), "id = 3"], mi.Values("id"))
        assert [query.query for query in answer.queries] == ["id = 210 AND k IN (1, 2, 3)", "id = 3"]
        assert table.query_log().num_rows == 0
        spark.sql(texts[1].replace(f"delta.`{lake}/d`", f"parquet.`{lake}/p`")).collect()
        (row,) = table.query_log().to_pylist()
        assert (row["order"], row["limit"], row["group_keys"]) == (["k DESC"], 5, ["k"])
    finally:
        mi.disable(spark)
        table.drop_index("stats")
    assert before == mi.workload(texts, spark=spark)


@pytest.fixture
def listeners(spark: SparkSession, tmp_path: Path) -> Iterator[dict[str, Any]]:
    """The session's queries are written to logs of several kinds, each in a folder of its name."""
    jvm: Any = spark.sparkContext._jvm
    context = spark.sparkContext._jsc.sc()
    made = {}
    for name, settings in LOGS.items():
        (tmp_path / name).mkdir()
        conf = context.getConf()
        for key, value in settings.items():
            conf.set(f"spark.eventLog.{key}", value)
        none, folder = jvm.scala.Option.empty(), jvm.java.net.URI((tmp_path / name).as_uri())
        writes = jvm.org.apache.spark.scheduler.EventLoggingListener
        made[name] = writes(f"app-{name}", none, folder, conf, context.hadoopConfiguration())
        made[name].start()
        context.addSparkListener(made[name])
    yield made
    for listener in made.values():
        context.removeSparkListener(listener)


@pytest.mark.spark
def test_event_logs_tell_what_spark_says_of_the_same_queries(
    spark: SparkSession, lake: Path, tmp_path: Path, listeners: dict[str, Any]
) -> None:
    texts = queries(lake)[:4]
    for number, text in enumerate(texts):
        # Texts are kept by Spark's SQL server and shell, as the description of what they run.
        spark.sparkContext.setJobDescription(text if number == 1 else None)
        spark.sql(text).collect()
    spark.sparkContext.setJobDescription(None)
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty(600_000)
    written = mi.workload(tmp_path / "plain")  # as it is written
    for listener in listeners.values():
        listener.stop()
    by_codec = [mi.workload(tmp_path / name) for name in LOGS]
    assert by_codec == [written] * len(LOGS)
    assert [path.name for path in (tmp_path / "zstd").iterdir()] == ["eventlog_v2_app-zstd"]
    truth = mi.workload(texts, spark=spark)
    assert written.problems == ()
    for ours, theirs in zip(written.templates, truth.templates, strict=True):
        assert _comparable(ours.tables, lake) == _comparable(theirs.tables, lake)
        assert (ours.limit, set(ours.joins)) == (theirs.limit, set(theirs.joins))
    assert written.templates[1].text == texts[1]
    assert all(template.seconds is not None for template in written.templates)


def _comparable(tables: tuple[TableRead, ...], lake: Path) -> set[tuple[object, ...]]:
    return {
        (
            read.table.removeprefix(f"file:{lake}/"),
            shown_predicate(read.predicate),
            frozenset(read.columns),
            read.group_keys,
            read.order,
        )
        for read in tables
    }


def test_what_spark_says_is_told_of_each_query(spark: SparkSession, lake: Path, tmp_path: Path) -> None:
    """The first sentence of its error, and not that a call failed; errors that differ are told apart."""
    p = f"parquet.`{lake}/p`"
    queries_ = [
        f"SELECT * FROM {p} WHERE id = 3",
        "SELECT * FROM no_such_table WHERE id = 3",
        f"SELECT no_such_column FROM {p}",
        f"SELECT * FRM {p}",
    ]
    answer = mi.workload(queries_, spark=spark)
    assert answer.seen == 1
    reasons = [problem.reason for problem in answer.problems]
    codes = ("[TABLE_OR_VIEW_NOT_FOUND]", "[UNRESOLVED_COLUMN.WITH_SUGGESTION]", "[PARSE_SYNTAX_ERROR]")
    assert [sum(code in reason for reason in reasons) for code in codes] == [1, 1, 1], reasons
    assert not any("An error occurred" in reason for reason in reasons)
    assert [problem.example for problem in answer.problems] == queries_[1:]
    assert "`no_such_table` cannot be found" in reasons[0]
    file = tmp_path / "queries.sql"
    file.write_text(";\n".join(queries_))
    rule.enable(spark)
    try:
        told = spark.sql(f"RECOMMEND INDEXES ON {p} FROM '{file}'").collect()
    finally:
        rule.disable(spark)
    unread = [row["reason"] for row in told if row["table"] is None]
    assert len(unread) == 3
    assert all("of the workload not read: 1 x " in reason for reason in unread)
    assert "SELECT no_such_column" in " ".join(unread)
