"""Statements about indexes in the session's own SQL; all else is parsed as before."""

from __future__ import annotations

import logging
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import metaindex as mi
from metaindex import rule
from metaindex.running.results import schema_of
from metaindex.spark.jobs import setting
from metaindex.statements.parsing import parsed
from tests.rule.parsed_texts import TEXTS
from tests.rule.stated import made, rows
from tests.rule.stated import sql as sql  # the fixture

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FORMATS = ("delta", "iceberg", "parquet", "csv", "json")
KINDS = (
    "USING column_stats",
    "(id)",
    "USING values (id, (id, name)) OPTIONS (by = value)",
    "USING bloom (name) OPTIONS (fpp = 0.001)",
    "USING value_list (k)",
    "USING covering (id) INCLUDE (name) OPTIONS (buckets = 3)",
    "USING covering_range (id) INCLUDE (name)",
    "USING covering_curve (id, k) INCLUDE (name)",
    "USING column_stats (id) USING values (name)",
)


@pytest.mark.rotating(of=90)
@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("kinds", KINDS)
def test_every_kind_on_every_format(sql: SparkSession, kinds: str, format_: str, tmp_path: Path) -> None:
    name, query = made(sql, format_, tmp_path)
    create = f"CREATE INDEX IF NOT EXISTS `a.b` ON {name} {kinds}"
    (created,) = rows(sql, create)
    assert (created["changed"], created["state"], created["files"]) == (True, "ACTIVE", 3)
    assert created["kinds"] == [kind.name for kind in parsed(create).kinds]  # type: ignore[union-attr]
    assert rows(sql, create)[0]["changed"] is False
    assert [row["name"] for row in rows(sql, f"SHOW INDEXES FROM {name}")] == ["a.b"]
    assert sql.sql(query).collect()[0]["name"] == "n7"
    told = rows(sql, f"EXPLAIN INDEXES {query}")
    assert [row["index"] for row in told] == ["a.b"], told
    assert rows(sql, f"REFRESH INDEX `a.b` ON {name} FULL")[0]["state"] == "ACTIVE"
    assert rows(sql, f"OPTIMIZE INDEX `a.b` ON {name} FULL")[0]["state"] == "ACTIVE"
    (verified,) = rows(sql, f"VERIFY INDEX `a.b` ON {name} OPTIONS (files = all)")
    assert verified["sound"] is True
    text = bool(verified["not_compared"]) and "texts" in verified["not_compared"][0]
    assert (verified["files"], verified["statistics"] + verified["keys"] + verified["rows_compared"] > 0) == (
        (0, False) if text else (3, True)
    ), verified
    said = {row["name"]: row["value"] for row in rows(sql, f"DESCRIBE INDEX `a.b` ON {name}")}
    assert parsed(said["statement"]).kinds == parsed(create).kinds  # type: ignore[union-attr]
    assert rows(sql, f"DROP INDEX `a.b` ON {name}")[0]["state"] == "DELETED"
    assert rows(sql, f"RESTORE INDEX `a.b` ON {name}")[0]["state"] == "ACTIVE"
    rows(sql, f"DROP INDEX `a.b` ON {name}")
    assert rows(sql, f"VACUUM INDEX `a.b` ON {name}")[0]["state"] == "DOESNOTEXIST"
    assert rows(sql, f"DROP INDEX IF EXISTS `a.b` ON {name}")[0]["changed"] is False


@pytest.mark.rotating(family="statements of a session")
def test_a_statement_runs_once_when_it_is_given(sql: SparkSession, tmp_path: Path) -> None:
    """As commands do; its rows are kept, whatever is done with them."""
    name, query = made(sql, "parquet", tmp_path)
    table = mi.open_table(tmp_path / "t x")
    frame = sql.sql(f"CREATE INDEX one ON {name} (id)")
    assert [info.name for info in table.indexes()] == ["one"]
    assert frame.collect() == frame.collect()
    assert frame.where("changed").count() == 1
    assert len(table.history("one").entries) == 2
    sql.sql(f"EXPLAIN CREATE INDEX two ON {name} (id)")
    sql._jsparkSession.sessionState().sqlParser().parsePlan(f"CREATE INDEX two ON {name} (id)")
    assert [info.name for info in table.indexes()] == ["one"]
    (weighed,) = (row for row in rows(sql, f"EXPLAIN WHATIF {query} WITH INDEX USING bloom (id)") if row["index_bytes"])
    assert weighed["candidate"] == "bloom_filters(id)"
    assert "FileScan" in rows(sql, f"EXPLAIN INDEXES FORMATTED {query}")[0]["plan"]
    log = tmp_path / "log.sql"
    log.write_text(f"{query};")
    assert rows(sql, f"RECOMMEND INDEXES ON {name} FROM '{log}' OPTIONS (copies = false)")


@pytest.mark.rotating(family="statements of a session")
def test_names_of_a_session(sql: SparkSession, tmp_path: Path) -> None:
    """Temporary views, databases, catalogs; quoted, with dots, in other letters, amid comments, by variables."""
    sql.createDataFrame([(1,)], "a INT")  # the thread's active session is this one, whichever made something last
    frame = sql.range(10).selectExpr("id", "id AS `a.b`")
    path = tmp_path / "ä b"
    frame.write.parquet(str(path))
    sql.sql("CREATE DATABASE IF NOT EXISTS statements")
    sql.sql(f"CREATE OR REPLACE TEMPORARY VIEW `v.1` AS SELECT id FROM parquet.`{path}`")
    sql.sql(f"CREATE TABLE IF NOT EXISTS statements.`t_e` USING parquet LOCATION '{path}'")
    try:
        sql.conf.set("spark.statements.name", "`v.1`")
        for name in (
            "`v.1`",
            "statements.`t_e`",
            "Spark_Catalog.statements.`t_e`",
            "/* c */ `v.1` -- c\n",
            f"'{path}'",
            f"parquet.`{path}`",
            "${spark.statements.name}",
        ):
            sql.sql(f"CREATE INDEX i ON {name} (id)" if "t_e" not in name else f"CREATE INDEX i ON {name} (`a.b`)")
            assert [info.name for info in mi.open_table(path).indexes()] == ["i"]
            sql.sql(f"DROP INDEX i ON {name}")
            sql.sql(f"VACUUM INDEX i ON {name}")
        sql.sql("USE statements")
        assert sql.sql("SHOW INDEXES ON `t_e`").collect() == []
    finally:
        sql.sql("USE default")
        sql.conf.unset("spark.statements.name")
        sql.sql("DROP VIEW `v.1`")
        sql.sql("DROP TABLE statements.`t_e`")
        sql.sql("DROP DATABASE statements")


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
            r"\[ArgumentError\] .*have an index; of this one none can: it reads none; name",
        ),
    ):
        with pytest.raises(PySparkException, match=told):
            sql.sql(statement)
    sql.sql("CREATE OR REPLACE TEMPORARY VIEW narrowed AS SELECT 1 AS id")
    with pytest.raises(PySparkException, match=r"\[UnsupportedFeatureError\] .*; name the table itself"):
        sql.sql("CREATE INDEX a ON narrowed (id)")
    (unread,) = rows(sql, "EXPLAIN INDEXES SELECT 1")
    assert (unread["scan"], unread["reason"]) == (None, "the query reads no table")


def test_explain_indexes_says_what_explain_says(sql: SparkSession, tmp_path: Path) -> None:
    """Of aggregates and first rows, which read fewer files than the filters leave."""
    texts, _ = made(sql, "csv", tmp_path / "texts")
    files, _ = made(sql, "parquet", tmp_path / "files")
    log, _ = made(sql, "delta", tmp_path / "log")
    for name in (texts, files):
        sql.sql(f"CREATE INDEX i ON {name} USING column_stats")
    for query, kept, says in (
        (f"SELECT count(*) FROM {texts}", 3, "LINES: "),
        (f"SELECT count(*), max(id) FROM {files} WHERE id > 40", 1, "2 files are answered for"),
        (f"SELECT count(*) FROM {files} WHERE id > 40", 1, "2 files are answered for"),
        (f"SELECT name FROM {files} ORDER BY id DESC LIMIT 10", 1, "the first 10 by id DESC"),
    ):
        (told,) = rows(sql, f"EXPLAIN INDEXES {query}")
        (scan,) = mi.explain(sql.sql(query)).scans
        assert (told["files"], told["used"]) == (kept, kept < 3), (query, told)
        assert kept == 3 or f"reads {kept} of {told['total_files']} files" in str(scan), str(scan)
        assert says in told["reason"], told
        assert says in str(scan), str(scan)
    for query, why in (
        (f"SELECT count(*) FROM {log}", "Spark reads no file for it (Delta answers it from its log)"),
        (f"SELECT (SELECT count(*) FROM {log}) AS n", "Spark reads no file for it (Delta answers it from its log)"),
        (f"SELECT name FROM {log} WHERE false", "Spark reads no file for it"),
    ):
        (told,) = rows(sql, f"EXPLAIN INDEXES {query}")
        assert (told["scan"], told["reason"]) == (None, why)


def test_pyspark_logs_no_error_but_the_users_own(sql: SparkSession) -> None:
    """It logs errors with their stacks where they are made, also those that are the answer to a question of ours."""
    pytest.importorskip("pyspark.logger")  # of Spark 4
    from pyspark.errors import ParseException, PySparkException
    from pyspark.logger import PySparkLogger

    kept: list[logging.LogRecord] = []
    handler = logging.Handler()
    handler.emit = kept.append  # type: ignore[method-assign]
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


def test_a_metadata_table_is_not_the_table_that_it_tells_of(sql: SparkSession, tmp_path: Path) -> None:
    """Iceberg says of `t.files` that it lies where t does: an index of t was dropped, and removed, by it."""
    from pyspark.errors import PySparkException

    name, _ = made(sql, "iceberg", tmp_path)
    sql.sql(f"CREATE INDEX i ON {name} USING values (id)")
    for statement in ("DROP INDEX i ON {}.files", "VACUUM INDEX i ON {}.history", "CREATE INDEX j ON {}.refs (id)"):
        with pytest.raises(PySparkException, match="a metadata table of Iceberg's"):
            sql.sql(statement.format(name))
    assert [(row["name"], row["state"]) for row in rows(sql, f"SHOW INDEXES ON {name}")] == [("i", "ACTIVE")]


def test_what_only_java_says_is_told(sql: SparkSession, tmp_path: Path) -> None:
    """Of errors that PySpark has no class for: a catalog that cannot be loaded, a value that cannot be read."""
    from pyspark.errors import PySparkException

    name, _ = made(sql, "parquet", tmp_path)
    sql.conf.set("spark.sql.catalog.broken", "no.such.Class")
    try:
        with pytest.raises(PySparkException, match=r"\[NotATableError\] .*no\.such\.Class"):
            sql.sql("DROP INDEX i ON broken.a.b")
        with (
            setting(sql, "spark.sql.ansi.enabled", "true"),
            pytest.raises(PySparkException, match="CAST_INVALID_INPUT"),
        ):
            sql.sql(f"EXPLAIN INDEXES SELECT * FROM {name} WHERE id = 'x'")
    finally:
        sql.conf.unset("spark.sql.catalog.broken")


@pytest.mark.parametrize("said", [{}, {"HEADER": "true"}])
def test_a_csv_table_without_a_header(sql: SparkSession, tmp_path: Path, said: dict[str, str]) -> None:
    """Spark's default, of a table whose options do not say it in whatever letters."""
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "a.csv").write_text(("a,b\n" if said else "") + "1,x\n2,y\n")
    read = sql.read.schema("a INT, b STRING").options(**said).csv(str(tmp_path / "t"))
    read.createOrReplaceTempView("plain_csv")
    try:
        sql.sql("CREATE INDEX i ON plain_csv USING values (a)")
        assert [row.b for row in sql.sql("SELECT b FROM plain_csv WHERE a = 1").collect()] == ["x"]
        assert rows(sql, "EXPLAIN INDEXES SELECT b FROM plain_csv WHERE a = 7")[0]["files"] == 0
    finally:
        sql.sql("DROP VIEW plain_csv")


def test_a_database_that_is_named_as_a_format(sql: SparkSession, tmp_path: Path) -> None:
    """Its table is meant, and not a folder: with options the index of a folder `x1` was made."""
    from pyspark.errors import PySparkException

    (tmp_path / "x2").mkdir()
    (tmp_path / "x2" / "a.csv").write_text("a\n2\n")
    sql.sql("CREATE DATABASE csv")
    try:
        sql.sql(f"CREATE TABLE csv.`x1` (a INT) USING csv OPTIONS (header true) LOCATION '{tmp_path / 'x2'}'")
        with pytest.raises(PySparkException, match=r"csv\.x1 is one, and WITH stands behind it"):
            sql.sql("CREATE INDEX i ON csv.`x1` WITH (header = true) (a)")
        sql.sql("CREATE INDEX i ON csv.`x1` (a)")
        assert (tmp_path / "_metaindex" / "x2" / "i").exists()
        sql.sql(f"CREATE INDEX j ON csv.`{tmp_path / 'x2'}` WITH (header = true) (a)")
        assert (tmp_path / "_metaindex" / "x2" / "j").exists()
    finally:
        sql.sql("DROP DATABASE csv CASCADE")


def test_everything_else_is_parsed_as_before(spark: SparkSession) -> None:
    """The same plan, or the same error."""

    def said() -> list[str]:
        parser = spark._jsparkSession.sessionState().sqlParser()
        return [_plan(parser, text) for text in TEXTS]

    rule.disable(spark)
    without = said()
    rule.enable(spark)
    try:
        assert said() == without
    finally:
        rule.disable(spark)
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


def test_columns_are_known_before_anything_is_run(sql: SparkSession) -> None:
    from pyspark.sql.pandas.types import from_arrow_schema

    for statement in ("SHOW INDEXES ON t", "VERIFY INDEX a ON t", "RECOMMEND INDEXES ON t", "EXPLAIN WHATIF SELECT 1"):
        output = sql._jsparkSession.sessionState().sqlParser().parsePlan(statement).output()
        columns = [output.apply(at) for at in range(output.size())]
        schema: pa.Schema = schema_of(parsed(statement))
        assert [(column.name(), column.dataType().simpleString()) for column in columns] == [
            (field.name, field.dataType.simpleString()) for field in from_arrow_schema(schema)
        ]


@pytest.mark.rotating(family="statements of a session")
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


@pytest.mark.rotating(family="statements of a session")
def test_a_data_frame_stands_for_its_table(sql: SparkSession, tmp_path: Path) -> None:
    name, _ = made(sql, "delta", tmp_path)
    frame = sql.read.format("delta").load(str(tmp_path / "t x"))
    sql.sql("CREATE INDEX i ON {t} USING values (id) OPTIONS (builder = local)", t=frame)
    assert [row.name for row in sql.sql("SHOW INDEXES ON {t}", t=frame).collect()] == ["i"]
    assert [row.name for row in sql.sql(f"SHOW INDEXES ON {name}", {"unused": 1}).collect()] == ["i"]


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


def test_statements_over_a_view_of_texts_show_what_the_rule_uses(sql: SparkSession, tmp_path: Path) -> None:
    """An index that was built in Python, of a view and of a catalog's table that say of the reader's options what goes
    without saying, or say it otherwise; and of others, which read the files otherwise."""
    from pyspark.errors import PySparkException

    folder = tmp_path / "t"
    folder.mkdir()

    def put(part: int) -> None:
        lines = "".join(f'{part * 10 + row},"say ""{row}"", you"\n' for row in range(10))
        (folder / f"{part}.csv").write_text("id,note\n" + lines)
        os.utime(folder / f"{part}.csv", (1.7e9, 1.7e9))

    put(0)
    put(1)
    table = mi.open_table(folder, schema="id BIGINT, note STRING", escape='"')
    table.create_index("i", mi.ColumnStats(), mi.Values("note"), builder="local")
    for name, more in {
        "alike": {"sep": ",", "escape": '"', "schema": "id BIGINT, note STRING"},
        "escaped": {"schema": "id BIGINT, note STRING"},
        "texts": {"escape": '"'},
    }.items():
        read = sql.read.options(header=True, quote='"', nullValue="", escape=more.get("escape"))
        read = read.options(sep=more.get("sep")).schema(more["schema"]) if "schema" in more else read
        read.csv(str(folder)).createOrReplaceTempView(name)
    sql.sql(
        f"CREATE TABLE cataloged (id BIGINT, note STRING) USING csv OPTIONS (header true, escape '\"')"
        f" LOCATION '{folder}'"
    )
    paths = f"csv.`{folder}` WITH (header = true, escape = '\"', schema = 'id BIGINT, note STRING')"
    try:
        for name in ("alike", "cataloged", paths):
            (shown,) = rows(sql, f"SHOW INDEXES ON {name}")
            assert (shown["fresh"], shown["note"]) == (True, None), name
            facts = {row["name"]: row["value"] for row in rows(sql, f"DESCRIBE INDEX i ON {name}")}
            assert (facts["fresh"], "other_options" in facts) == ("true", False), name
        for name in ("alike", "cataloged"):
            (told,) = rows(sql, f"EXPLAIN INDEXES SELECT note FROM {name} WHERE id = 15")
            assert (told["used"], told["files"]) == (True, 1), name
        put(2)
        (shown,) = rows(sql, "SHOW INDEXES ON cataloged")
        assert (shown["fresh"], str(shown["note"])[:6]) == (False, "1 file")
        assert rows(sql, "REFRESH INDEX i ON alike")[0]["files"] == 3
        sql.sql("REFRESH TABLE cataloged")
        assert rows(sql, "SHOW INDEXES ON cataloged")[0]["fresh"] is True
        assert rows(sql, "CREATE INDEX j ON cataloged USING bloom (note)")[0]["notes"][0].startswith("3 files")
        assert [row["note"] for row in rows(sql, "SHOW INDEXES ON alike")] == [None, None]
        for name, differs in (("escaped", "built with OPTIONS (escape = "), ("texts", "schema")):
            note = rows(sql, f"SHOW INDEXES ON {name}")[0]["note"]
            assert differs in str(note), name
            used = {row["used"] for row in rows(sql, f"EXPLAIN INDEXES SELECT note FROM {name} WHERE id = '15'")}
            assert used == {False}, name
        with pytest.raises(
            PySparkException,
            match=r"with OPTIONS \(escape = '\"'\) where the table or view is created, or create another",
        ):
            sql.sql("REFRESH INDEX i ON escaped")
        (made,) = rows(sql, "CREATE INDEX k ON escaped USING covering (id) INCLUDE (note)")
        assert "a quote inside a quoted value must be escaped" in made["notes"][1]
        assert "such as OPTIONS (escape = '\"') where the table or view is created" in made["notes"][1]
        (made,) = rows(sql, f"CREATE INDEX l ON csv.`{folder}` WITH (header = true) USING values (note)")
        assert (
            f"such as csv.`{folder}` WITH (header = true, escape = '\"'), or leave it so, as Spark reads it"
            in made["notes"][1]
        )
        escaped = f"csv.`{folder}` WITH (header = true, escape = '\"')"
        inferred = escaped.replace(")", ", inferSchema = true)")
        rows(sql, f"CREATE INDEX m ON {inferred} USING values (id)")
        notes = {row["name"]: str(row["note"]) for row in rows(sql, f"SHOW INDEXES ON {escaped}")}
        assert notes["m"].startswith(f"built with {inferred}; name the table as in DESCRIBE INDEX")
        facts = {row["name"]: row["value"] for row in rows(sql, f"DESCRIBE INDEX m ON {escaped}")}
        assert "'inferSchema' = 'true'" in facts["statement"]
        assert "schema'" not in facts["statement"], "that came of it"
        notes = {row["name"]: row["note"] for row in rows(sql, f"SHOW INDEXES ON {inferred}")}
        assert notes["m"] is None
        assert "without escape, inferSchema, which are said here" in notes["l"]
    finally:
        sql.sql("DROP TABLE cataloged")
        for name in ("alike", "escaped", "texts"):
            sql.sql(f"DROP VIEW {name}")


def test_a_refresh_blames_what_somebody_said(sql: SparkSession, tmp_path: Path) -> None:
    """Spark's relations have a schema, whether one was said or not: without `escape` it infers another type."""
    from pyspark.errors import PySparkException

    folder = tmp_path / "t"
    folder.mkdir()
    (folder / "a.csv").write_text('id,note,amount\n1,"say ""hi"", you",1.5\n2,"no ""b"" c",2.5\n')
    mi.open_table(folder, escape='"').create_index("i", mi.ColumnStats(), builder="local")
    inferred = sql.read.options(header=True, inferSchema=True)
    inferred.csv(str(folder)).createOrReplaceTempView("unescaped")
    sql.read.options(header=True, escape='"').csv(str(folder)).createOrReplaceTempView("untyped")
    inferred.options(escape='"').csv(str(folder)).createOrReplaceTempView("mended")
    try:
        with pytest.raises(PySparkException) as found:
            sql.sql("REFRESH INDEX i ON unescaped")
        assert "built with other reader options (escape); open the table with OPTIONS (escape = '\"')" in str(
            found.value
        )
        assert "schema" not in str(found.value).lower()
        with pytest.raises(
            PySparkException,
            match="of 'i' the column id was INT, and Spark reads it as STRING; name its type where the table or view",
        ):
            sql.sql("REFRESH INDEX i ON untyped")
        for statement in ("REFRESH INDEX i ON unescaped", "CREATE INDEX i ON unescaped (id)"):
            with pytest.raises(PySparkException, match="DROP INDEX i ON unescaped and VACUUM INDEX i ON unescaped"):
                sql.sql(statement)
        with pytest.raises(PySparkException, match="'i' is ACTIVE; refresh it, or choose another name"):
            sql.sql("CREATE INDEX i ON mended (id)")
        assert rows(sql, "REFRESH INDEX i ON mended")[0]["state"] == "ACTIVE"
    finally:
        for name in ("unescaped", "untyped", "mended"):
            sql.sql(f"DROP VIEW {name}")


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
    "text", ["DROP VIEUW i", "CREATE TABEL t (a INT)", "SHOW VIEWSS FROM x y", "EXPLAIN SELEC 1", "SELECT * FROM", "x"]
)
def test_other_slips_are_as_spark_tells_them(sql: SparkSession, text: str) -> None:
    parser = sql._jsparkSession.sessionState().sqlParser()
    said = _plan(parser, text)
    rule.disable(sql)
    assert _plan(sql._jsparkSession.sessionState().sqlParser(), text) == said
    assert "did you mean" not in said.lower()


def test_a_table_with_columns_of_its_own_needs_no_file_that_tells_them(sql: SparkSession, tmp_path: Path) -> None:
    """The first file has no footer; the cure was to name the columns, which the user had done."""
    folder = tmp_path / "t"
    folder.mkdir()
    for part in range(4):
        pq.write_table(pa.table({"id": range(part * 10, part * 10 + 10)}), folder / f"{part}.parquet")
    (folder / "0.parquet").write_bytes(b"no footer" * 50)
    sql.read.schema("id BIGINT").parquet(str(folder)).createOrReplaceTempView("damaged")
    sql.sql(f"CREATE TEMPORARY VIEW said (id BIGINT) USING parquet OPTIONS (path '{folder}', schema 'id BIGINT')")
    try:
        (made_,) = rows(sql, "CREATE INDEX i ON damaged USING values (id)")
        assert made_["notes"][0].startswith("3 of 4 files and 1 key indexed")
        (shown,) = rows(sql, "SHOW INDEXES ON damaged")
        assert (shown["fresh"], shown["note"]) == (True, "1 file could not be read when indexed: VERIFY INDEX says why")
        assert rows(sql, "VERIFY INDEX i ON damaged")[0]["sound"]
        for name in ("damaged", "said"):
            (told,) = rows(sql, f"EXPLAIN INDEXES SELECT * FROM {name} WHERE id = 35")
            assert (told["used"], told["files"], told["total_files"]) == (True, 2, 4), told
        assert rule.counts(sql).failed == 0
        with setting(sql, "spark.sql.files.ignoreCorruptFiles", "true"):
            assert [row["id"] for row in sql.sql("SELECT * FROM damaged WHERE id = 35").collect()] == [35]
    finally:
        for name in ("damaged", "said"):
            sql.sql(f"DROP VIEW {name}")
