"""What a newcomer writes in statements of a session: what is told can be pasted there."""

import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import metaindex as mi
from tests.spark.optimizer.stated import rows


def test_an_option_that_nobody_knows_is_refused_by_statements_and_passed_by_queries(
    sql: SparkSession, tmp_path: Path
) -> None:
    """Spark takes any option of a reader."""
    path = tmp_path / "t"
    sql.range(0, 30, 1, 3).write.parquet(str(path))
    for named in (f"parquet.`{path}`", f"'{path}'"):
        with pytest.raises(Exception, match="readers know options by name; 'foo' is none; leave it out"):
            sql.sql(f"SHOW INDEXES ON {named} WITH (foo = 1)")
    frame = sql.read.option("foo", "1").parquet(str(path))
    assert mi.create_index(frame, "i", mi.Values("id")).changed
    assert [row["name"] for row in rows(sql, f"SHOW INDEXES ON '{path}'")] == ["i"]
    query = sql.read.option("anything", "x").parquet(str(path)).where("id = 7")
    assert [row.id for row in query.collect()] == [7]


@pytest.mark.parametrize("format_", ["parquet", "delta", "json", "csv"])
def test_a_path_between_quotes_is_told_as_queries_of_a_session_name_it(
    sql: SparkSession, tmp_path: Path, format_: str
) -> None:
    path = str(tmp_path / "t x")
    sql.range(0, 30, 1, 3).write.format(format_).option("header", "true").save(path)
    with pytest.raises(Exception, match="queries of a session name a path behind its format") as told:
        sql.sql(f"EXPLAIN INDEXES SELECT * FROM '{path}' WHERE id = 3")
    assert "correct the query" not in str(told.value)
    cure = f"{format_}.`{path}`"
    if format_ == "csv":
        (view,) = re.findall(r"CREATE TEMPORARY VIEW name USING csv .*header true\)", str(told.value))
        sql.sql(view.replace(" name ", " slipped_csv "))
        cure = "slipped_csv"
    else:
        assert f"; write {cure}" in str(told.value)
    assert rows(sql, f"EXPLAIN INDEXES SELECT * FROM {cure} WHERE id = 3")
    sql.sql("DROP VIEW IF EXISTS slipped_csv")


def test_a_path_without_a_table_is_told_as_one(sql: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(Exception, match="check the path, at which there is no table"):
        sql.sql(f"EXPLAIN INDEXES SELECT * FROM '{tmp_path}/none' WHERE id = 3")
    with pytest.raises(Exception, match="correct the query"):
        sql.sql("EXPLAIN INDEXES SELECT id FROM (SELECT 1 AS id) WHERE id ==== 3")


def test_columns_of_text_files_that_are_read_otherwise_than_meant_are_told_with_the_option(
    sql: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "t"
    path.mkdir()
    (path / "0.csv").write_text("id;name\n1;x\n2;y\n")
    create = "CREATE INDEX i ON {} USING values (id)"
    with pytest.raises(Exception, match="columns: _c0") as told:
        sql.sql(create.format(f"csv.`{path}`"))
    headed = f"csv.`{path}` WITH (header = true)"
    assert headed in str(told.value)
    with pytest.raises(Exception, match="there is no 'id'") as told:
        sql.sql(create.format(headed))
    cut = f"csv.`{path}` WITH (header = true, delimiter = ';')"
    assert cut in str(told.value)
    (created,) = rows(sql, create.format(cut))
    assert created["files"] == 1
