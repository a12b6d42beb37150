"""Queries of an enabled Spark session are noted, a row a scan of a plan that is made, for the log of each table."""

import logging
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import metaindex as mi
from metaindex.core import SparkDriver
from metaindex.spark import counts
from tests.query.query_log.lake import tree
from tests.spark.optimizer.lakes import location_of

SETTING = "spark.metaindex.queryLog"


@pytest.fixture(scope="module")
def tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Names in SQL, and where they lie."""
    folder = tmp_path_factory.mktemp("noted")
    rows = spark.range(0, 400, 1, 4).selectExpr("id", "id % 7 AS k", "CAST(id AS string) AS text")
    rows.write.parquet(str(folder / "parquet"))
    rows.write.format("delta").save(str(folder / "delta"))
    spark.sql(
        "CREATE TABLE iceberg.noted.t (id bigint, k bigint, text string) USING iceberg TBLPROPERTIES"
        " ('write.distribution-mode'='none', 'write.metadata.metrics.default'='none')"
    )
    rows.writeTo("iceberg.noted.t").append()
    named = {
        f"parquet.`{folder}/parquet`": f"{folder}/parquet",
        f"delta.`{folder}/delta`": f"{folder}/delta",
        "iceberg.noted.t": location_of(spark, "iceberg.noted.t"),
    }
    for path in named.values():
        mi.open_table(path).create_index("stats", mi.ColumnStats(), builder="local")
    yield named
    spark.sql("DROP TABLE iceberg.noted.t")


@pytest.fixture
def enabled(spark: SparkSession, tables: dict[str, str]) -> Iterator[SparkSession]:
    mi.enable(spark)
    for path in tables.values():
        _emptied(path)
    yield spark
    mi.disable(spark)


def _emptied(path: str) -> None:
    mi.open_table(path, config=mi.Config(query_log=mi.QueryLog(keep_days=0, keep_bytes=0))).clean_query_log()


def _log(path: str) -> list[dict[str, Any]]:
    return mi.open_table(path).query_log().to_pylist()


def test_a_query_of_each_format_is_a_row(enabled: SparkSession, tables: dict[str, str]) -> None:
    for name, path in tables.items():
        with SparkDriver(enabled).setting(SETTING, "kept"):
            assert enabled.sql(f"SELECT text FROM {name} WHERE id = 210 AND upper(text) > ''").count() == 1
        (row,) = _log(path)
        table = mi.open_table(path)
        result = table.prune("id = 210")
        assert {key: row[key] for key in ("engine", "files_read", "files_left_out", "indexes")} == {
            "engine": "spark",
            "files_read": 1,
            "files_left_out": 3,
            "indexes": ["stats"],
        }
        assert (row["bytes_read"], row["bytes_left_out"]) == (result.kept_bytes, result.total_bytes - result.kept_bytes)
        assert "(`id` = 210L)" in row["predicate"] or "(`id` = 210)" in row["predicate"]
        assert {"id", "text"} <= set(row["columns"])
        assert row["version"] == result.version.id
        assert row["milliseconds"] > 0


def test_joins_and_groups_tell_their_keys(enabled: SparkSession, tables: dict[str, str]) -> None:
    one, other, _ = tables
    with SparkDriver(enabled).setting(SETTING, "kept"):
        enabled.sql(
            f"SELECT a.k, count(*) FROM {one} a JOIN {other} b ON a.id = b.id WHERE a.k < 100 GROUP BY a.k"
        ).collect()
    (left,), (right,) = (_log(tables[name]) for name in (one, other))
    assert (left["join_keys"], left["group_keys"]) == (["id"], ["k"])
    assert right["join_keys"] == ["id"]
    assert (left["files_left_out"], left["indexes"]) == (0, [])


def test_a_plan_is_noted_once(enabled: SparkSession, tables: dict[str, str]) -> None:
    """However often it is run, and whatever Spark plans anew as it runs."""
    name, path = next(iter(tables.items()))
    with SparkDriver(enabled).setting(SETTING, "kept"):
        query = enabled.sql(f"SELECT k, count(*) AS n FROM {name} WHERE id < 100 GROUP BY k")
        query.collect()
        query.collect()
        assert len(_log(path)) == 1
        mi.explain(query)
        mi.explain(query, run=True)
        assert len(_log(path)) == 1
        enabled.sql(f"SELECT * FROM {name} WHERE id = (SELECT max(id) FROM {name} WHERE id < 7)").collect()
        assert len(_log(path)) == 3  # two scans
        cached = enabled.sql(f"SELECT id FROM {name} WHERE id > 300").cache()
        cached.count()
        before = len(_log(path))
        cached.count()
        cached.collect()
        assert len(_log(path)) == before
        cached.unpersist()


def test_a_covering_index_in_the_tables_place_is_named(enabled: SparkSession, tables: dict[str, str]) -> None:
    name, path = list(tables.items())[1]
    table = mi.open_table(path, spark=enabled)
    table.create_index("copy", mi.CoveringRange(indexed=["id"], included=["text"]))
    with SparkDriver(enabled).setting(SETTING, "kept"), mi.hint(enabled, "copy"):
        assert enabled.sql(f"SELECT text FROM {name} WHERE id = 7").collect()[0].text == "7"
    (row,) = _log(path)
    assert (row["indexes"], row["files_read"], row["files_left_out"]) == (["copy"], 0, 4)
    assert row["bytes_read"] >= 0
    table.drop_index("copy")
    table.vacuum_index("copy")


def test_values_are_hashed_or_left_out_as_the_session_says(
    enabled: SparkSession, tables: dict[str, str], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    name, path = next(iter(tables.items()))
    query = f"SELECT count(*) FROM {name} WHERE id = 918273645 AND reverse(text) = '546372819'"
    with SparkDriver(enabled).setting(SETTING, "left-out"):
        enabled.sql(query).collect()
    with SparkDriver(enabled).setting(SETTING, "hashed"), caplog.at_level(logging.WARNING, "metaindex"):
        enabled.sql(query).collect()
        assert len(_log(path)) == 1  # there is no salt
        assert "salt" in caplog.text
        monkeypatch.setenv("METAINDEX_QUERY_LOG_SALT", "0123456789abcdef")
        enabled.sql(query).collect()
    said = str(_log(path))
    assert len(_log(path)) == 2
    assert not any(value in said for value in ("918273645", "546372819"))


def test_the_config_switches_it_on_and_the_session_off(enabled: SparkSession, tables: dict[str, str]) -> None:
    name, path = next(iter(tables.items()))
    mi.enable(enabled, config=mi.Config(query_log=True))
    enabled.sql(f"SELECT count(*) FROM {name} WHERE id = 5").collect()
    with SparkDriver(enabled).setting(SETTING, "off"):
        enabled.sql(f"SELECT count(*) FROM {name} WHERE id = 6").collect()
    assert [row["predicate"] for row in _log(path)] in (["(`id` = 5)"], ["(`id` = 5L)"])
    with pytest.raises(mi.SettingError):
        mi.RuleConfig(query_log="some")  # type: ignore[arg-type]
    assert replace(mi.RuleConfig(), query_log="hashed").query_log == "hashed"


def test_off_nothing_is_written(enabled: SparkSession, tables: dict[str, str]) -> None:
    before = [tree(path) | tree(Path(path).parent / "_metaindex") for path in tables.values()]
    failed = counts(enabled).failed
    for name in tables:
        enabled.sql(f"SELECT count(*) FROM {name} WHERE id = 5").collect()
    assert [tree(path) | tree(Path(path).parent / "_metaindex") for path in tables.values()] == before
    assert counts(enabled).failed == failed


def test_a_log_that_cannot_be_written_fails_no_query(
    enabled: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    enabled.range(0, 40, 1, 4).write.parquet(str(tmp_path / "t"))
    table = mi.open_table(tmp_path / "t")
    table.create_index("stats", mi.ColumnStats(), builder="local")
    (tmp_path / "_metaindex" / "t" / "_queries").write_text("no folder")
    with SparkDriver(enabled).setting(SETTING, "kept"), caplog.at_level(logging.WARNING, "metaindex"):
        for number in range(3):
            assert enabled.sql(f"SELECT * FROM parquet.`{tmp_path}/t` WHERE id = {number}").count() == 1
            assert table.query_log().num_rows == 0
    assert caplog.text.count("are not noted") == 1
