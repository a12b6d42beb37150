"""The session's parser with statements about indexes: all else is parsed as before, and errors stand at their place.
Statements in scripts are found wherever one may begin."""

import logging
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

import metaindex as mi
import metaindex.spark as rule
from metaindex.spark.optimizer.statements import indexes_in, is_script
from tests.spark.optimizer.lakes import ruled
from tests.spark.optimizer.parsed_texts import TEXTS
from tests.spark.optimizer.stated import made, rows


def test_an_error_points_at_the_place(sql: SparkSession, tmp_path: Path) -> None:
    from pyspark.errors import ParseException, PySparkException

    with pytest.raises(ParseException) as raised:
        sql.sql("CREATE INDEX a\n  ON t USING blom (b)")
    said = str(raised.value)
    assert "did you mean bloom?" in said
    assert "line 2, pos 13" in said
    assert "-------------^^^" in said
    name, _ = made(sql, "parquet", tmp_path)
    for statement, told in (
        (f"CREATE INDEX a ON {name} (idd)", "[UnknownColumnError] .* near names: id.*; line 1, column"),
        (
            f"DROP INDEX nope ON {name}",
            r"\[IndexNotFoundError\] drop needs an index; there is none named 'nope'; there are: none; line 1, column",
        ),
        ("DROP INDEX nope ON no.such", r"\[NotATableError\] .*TABLE_OR_VIEW_NOT_FOUND.*[^.;]; check the name"),
        (f"EXPLAIN INDEXES SELECT idd FROM {name}", r"\[ExpressionError\] .*UNRESOLVED_COLUMN.*[^.;]; correct the qu"),
        ("EXPLAIN WHATIF SELECT * FROM no.such", r"\[NotATableError\] .*TABLE_OR_VIEW_NOT_FOUND"),
        (f"RECOMMEND INDEXES ON {name}", r"\[ArgumentError\] .*FROM 'queries.sql'.* SET spark.metaindex.queryLog"),
        ("CREATE INDEX a ON iceberg.no.such (b)", r"\[NotATableError\]"),
        ("EXPLAIN INDEXES DROP TABLE t", r"\[ArgumentError\] a query begins with"),
        ("EXPLAIN INDEXES EXECUTE IMMEDIATE 'DROP TABLE t'", r"\[ArgumentError\] a query begins with"),
        ("EXPLAIN INDEXES DROP INDEX i ON t", r"\[ArgumentError\] a query begins with"),
        (
            f"EXPLAIN WHATIF WITH x AS (SELECT 1) INSERT INTO {name} SELECT * FROM x",
            r"\[ArgumentError\] a query changes",
        ),
        (f"EXPLAIN INDEXES FROM {name} INSERT INTO {name} SELECT *", r"\[ArgumentError\] a query changes"),
        (
            "EXPLAIN WHATIF SELECT 1",
            r"\[ArgumentError\] .*have an index; it reads none; name one behind FROM",
        ),
    ):
        with pytest.raises(PySparkException, match=told):
            sql.sql(statement)
    sql.sql("CREATE OR REPLACE TEMPORARY VIEW narrowed AS SELECT 1 AS id")
    with pytest.raises(PySparkException, match=r"\[UnsupportedFeatureError\] .*; name the table itself"):
        sql.sql("CREATE INDEX a ON narrowed (id)")
    (unread,) = rows(sql, "EXPLAIN INDEXES SELECT 1")
    assert (unread["scan"], unread["reason"]) == (None, "the query reads no table")


def test_pyspark_logs_no_error_but_the_users_own(sql: SparkSession) -> None:
    """It logs errors with their stacks where they are made, also those that are the answer to a question of ours."""
    pytest.importorskip("pyspark.logger")  # of Spark 4
    from pyspark.errors import ParseException, PySparkException
    from pyspark.logger import PySparkLogger

    kept: list[logging.LogRecord] = []
    handler = logging.Handler()
    handler.emit = kept.append
    logger = PySparkLogger.getLogger("SQLQueryContextLogger")
    logger.addHandler(handler)
    try:
        for text in ("SHOW INDEXES", "CREATE INDEX", "CREATE INDEX x ON", "SHOW INDEXES ON :t"):
            with pytest.raises(ParseException):
                sql.sql(text)
        for text in ("SHOW INDEXES ON no.such", "EXPLAIN INDEXES SELECT nope FROM VALUES (1) AS t(a)"):
            with pytest.raises(PySparkException, match=r"\[\w+Error\]"):
                sql.sql(text)
        assert not kept
        with pytest.raises(PySparkException):
            sql.sql("SELECT nope FROM VALUES (1) AS t(a)")
        assert len(kept) == 1, "of other statements all is logged"
    finally:
        logger.removeHandler(handler)


def test_everything_else_is_parsed_as_before(spark: SparkSession) -> None:
    """The same plan, or the same error."""

    def said() -> list[str]:
        parser = spark._jsparkSession.sessionState().sqlParser()
        return [_plan(parser, text) for text in TEXTS]

    rule.disable(spark)
    without = said()
    with ruled(spark):
        assert said() == without
    assert said() == without


def _plan(parser: Any, text: str) -> str:
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    try:
        plan = str(parser.parsePlan(text).treeString())
    except PySparkException as error:
        plan = f"{type(error).__name__}: {error}"
    except Py4JJavaError as error:
        plan = str(error.java_exception)
    return re.sub(r"#\d+|@[0-9a-f]+|\$Lambda[^ ]*|[0-9a-f-]{36}", "", plan)


def test_the_parser_that_was_there_comes_back(spark: SparkSession) -> None:
    state = spark._jsparkSession.sessionState()
    rule.disable(spark)
    before = state.sqlParser()
    rule.enable(spark)
    rule.enable(spark)
    ours = state.sqlParser()
    assert "metaindex" in ours.getClass().getName()
    assert not spark.newSession()._jsparkSession.sessionState().sqlParser().equals(ours)
    rule.disable(spark)
    assert state.sqlParser().equals(before)
    plain = _plan(before, "SHOW INDEXES ON t")
    assert _plan(ours, "SHOW INDEXES ON t") == plain, "one that was taken out takes nothing any more"


def test_a_catalog_with_indexes_of_its_own_keeps_its_statements(spark: SparkSession) -> None:
    """Spark's catalog of JDBC; Derby's dialect refuses indexes, in the same words with us and without."""
    from pyspark.errors import PySparkException

    catalog = "spark.sql.catalog.derby"
    spark.conf.set(catalog, "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog")
    spark.conf.set(f"{catalog}.url", "jdbc:derby:memory:statements;create=true")
    spark.conf.set(f"{catalog}.driver", "org.apache.derby.jdbc.EmbeddedDriver")
    spark.sql("CREATE TABLE derby.APP.T (a INT)")

    def said(statement: str) -> str:
        with pytest.raises(PySparkException) as raised:
            spark.sql(statement)
        return str(raised.value).splitlines()[0]

    statements = (
        "CREATE INDEX i ON derby.APP.T (a)",
        "CREATE INDEX i ON TABLE derby.APP.T USING btree (a OPTIONS (x = 'y')) OPTIONS (z = 1)",
        "DROP INDEX i ON derby.APP.T",
    )
    rule.disable(spark)
    without = [said(statement) for statement in statements]
    rule.enable(spark)
    try:
        assert [said(statement) for statement in statements] == without
        assert "this one reads" in said("SHOW INDEXES ON derby.APP.T")
        assert "this one reads" in said("REFRESH INDEX i ON derby.APP.T")
    finally:
        rule.disable(spark)
        spark.sql("DROP TABLE derby.APP.T")
        for name in (f"{catalog}.url", f"{catalog}.driver", catalog):
            spark.conf.unset(name)


def test_values_beside_a_statement_are_refused_where_they_would_stand(sql: SparkSession, tmp_path: Path) -> None:
    from pyspark.errors import ParseException

    name, _ = made(sql, "delta", tmp_path)
    given: tuple[tuple[str, dict[str, int] | list[int] | None], ...] = (
        ("WHERE id = :v", {"v": 3}),
        ("WHERE id = ?", [3]),
        ("WHERE id = :v", None),
    )
    for where, args in given:
        for statement in (f"EXPLAIN INDEXES SELECT * FROM {name} {where}", f"REFRESH INDEX i ON {name} {where}"):
            with pytest.raises(ParseException, match="is a parameter; write the value itself") as raised:
                sql.sql(statement, args)
            assert "PARSE_SYNTAX_ERROR" in str(raised.value)


def test_a_script_with_a_statement_about_indexes_is_refused_where_that_stands(
    sql: SparkSession, tmp_path: Path
) -> None:
    from pyspark.errors import ParseException

    name, _ = made(sql, "delta", tmp_path)
    for script in (
        f"BEGIN CREATE INDEX c ON {name} USING values (id); SELECT 1; END",
        f"BEGIN CREATE INDEX c ON {name} (id); SELECT 1; END",
        f"BEGIN\n  SELECT 1;\n  SHOW INDEXES ON {name};\nEND",
        f"x: BEGIN DECLARE v INT = 1; IF v = 1 THEN DROP INDEX a ON {name}; END IF; END",
    ):
        with pytest.raises(ParseException, match="a script has no statements about indexes; give it to sql"):
            sql.sql(script)
    assert mi.open_table(tmp_path / "t x").indexes() == []


def test_a_script_runs_a_statement_about_indexes_at_once(sql: SparkSession, tmp_path: Path) -> None:
    if sql.version.startswith(("3.", "4.0.")):
        pytest.skip("scripts of SQL are on from Spark 4.1")
    name, _ = made(sql, "delta", tmp_path)
    quoted = name.replace("'", "''")
    assert [row[0] for row in sql.sql("BEGIN DECLARE index INT = 1; SELECT index; END").collect()] == [1]
    sql.sql(f"BEGIN EXECUTE IMMEDIATE 'CREATE INDEX c ON {quoted} (id)'; END")
    assert [info.name for info in mi.open_table(tmp_path / "t x").indexes()] == ["c"]


@pytest.mark.parametrize(
    ("text", "near", "meant"),
    [
        ("CREATE INDX i ON t USING column_stats", "'INDX'", "CREATE INDEX"),
        ("create indexes on t", "'indexes'", "CREATE INDEX"),
        ("CRAETE INDEX i ON t", "'CRAETE'", "CREATE INDEX"),
        ("SHOW INDEXS ON t", "'INDEXS'", "SHOW INDEXES"),
        ("REFRESH INDX i ON t", "'INDX'", "REFRESH INDEX"),
        ("EXPLAIN WHATIFF SELECT 1", "'WHATIFF'", "EXPLAIN WHATIF"),
        ("/* of mine */ RECOMEND INDEXES ON t", "'RECOMEND'", "RECOMMEND INDEXES"),
        ("VACUM INDEX i ON t", "'VACUM'", "VACUUM INDEX"),
        ("OPTIMIZE INDX i ON t", "'INDX'", "OPTIMIZE INDEX"),
    ],
)
def test_of_misspelt_first_words_what_is_meant_is_told(sql: SparkSession, text: str, near: str, meant: str) -> None:
    from pyspark.errors import ParseException

    with pytest.raises(ParseException, match=f"did you mean {meant}") as found:
        sql.sql(text)
    assert f"at or near {near}: no statement begins as " in str(found.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("DELETE INDEX stats ON t", "no statement begins as DELETE INDEX; it is written DROP INDEX"),
        ("ALTER INDEX stats ON t REBUILD", "no statement begins as ALTER INDEX; it is written REFRESH INDEX"),
        ("REFRESH INDEX ON t", "its name is missing: REFRESH INDEX name ON t"),
    ],
)
def test_what_spark_cannot_parse_is_told_as_what_is_meant(sql: SparkSession, text: str, said: str) -> None:
    from pyspark.errors import ParseException

    with pytest.raises(ParseException) as found:
        sql.sql(text)
    assert said in str(found.value)


@pytest.mark.parametrize(
    "text", ["DROP VIEUW i", "CREATE TABEL t (a INT)", "SHOW VIEWSS FROM x y", "EXPLAIN SELEC 1", "SELECT * FROM", "x"]
)
def test_other_slips_are_as_spark_tells_them(sql: SparkSession, text: str) -> None:
    said = _plan(sql._jsparkSession.sessionState().sqlParser(), text)
    rule.disable(sql)
    assert _plan(sql._jsparkSession.sessionState().sqlParser(), text) == said
    assert "did you mean" not in said.lower()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("BEGIN CREATE INDEX a ON t (b); SELECT 1; END", ["CREATE INDEX a ON t (b)"]),
        ("begin select 1; show indexes on t; end", ["show indexes on t"]),
        ("x: BEGIN IF 1 = 1 THEN DROP INDEX a ON t; ELSE DROP INDEX b ON t; END IF; END", ["a", "b"]),
        ("BEGIN WHILE true DO REFRESH INDEX a ON t; END WHILE; END", ["REFRESH INDEX a ON t"]),
        ("BEGIN /* CREATE INDEX a ON t */ SELECT 'x; DROP INDEX a ON t'; END", []),
        ("BEGIN SELECT index FROM t; REFRESH TABLE index; END", []),
        ("BEGIN SELECT 1;", []),
        ("BEGIN", []),
        ("BEGIN EXECUTE IMMEDIATE 'CREATE INDEX a ON t (b)'; END", []),
    ],
)
def test_statements_of_a_script_are_found(text: str, found: list[str]) -> None:
    assert is_script(text)
    there = list(indexes_in(text))
    assert len(there) == len(found)
    for (at, said), wanted in zip(there, found, strict=True):
        assert wanted in said
        assert text[at:].startswith(said)


@pytest.mark.parametrize("text", ["SELECT 1", "", "'BEGIN'", "x: SELECT 1", "BEGINNING", "BEGIN 'open"])
def test_what_is_no_script(text: str) -> None:
    assert not is_script(text)


@given(
    st.lists(st.sampled_from(["BEGIN", ";", "CREATE INDEX a ON t", "x:", "IF", "THEN", "END", "'", "/*", "\n", "é"]))
)
def test_any_text_is_taken_apart_or_refused(pieces: list[str]) -> None:
    text = " ".join(pieces)
    if is_script(text):
        assert all(said for _, said in indexes_in(text))
