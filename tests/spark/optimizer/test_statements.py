"""Statements about indexes in the session's own SQL: every kind on every format, and what is told of them."""

import re
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import metaindex as mi
from metaindex.advisor import from_texts
from metaindex.core import SparkDriver
from metaindex.statements import parsed, schema_of
from tests.spark.optimizer.lakes import ruled
from tests.spark.optimizer.stated import made, rows

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


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("kinds", KINDS)
def test_every_kind_on_every_format(sql: SparkSession, kinds: str, format_: str, tmp_path: Path) -> None:
    name, query = made(sql, format_, tmp_path)
    create = f"CREATE INDEX IF NOT EXISTS `a.b` ON {name} {kinds}"
    (created,) = rows(sql, create)
    assert (created["changed"], created["state"], created["files"]) == (True, "ACTIVE", 3)
    assert created["kinds"] == [kind.name for kind in parsed(create).kinds]
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
    assert parsed(said["statement"]).kinds == parsed(create).kinds
    assert rows(sql, f"DROP INDEX `a.b` ON {name}")[0]["state"] == "DELETED"
    assert rows(sql, f"RESTORE INDEX `a.b` ON {name}")[0]["state"] == "ACTIVE"
    rows(sql, f"DROP INDEX `a.b` ON {name}")
    assert rows(sql, f"VACUUM INDEX `a.b` ON {name}")[0]["state"] == "DOESNOTEXIST"
    assert rows(sql, f"DROP INDEX IF EXISTS `a.b` ON {name}")[0]["changed"] is False


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


def test_what_only_java_says_is_told(sql: SparkSession, tmp_path: Path) -> None:
    """Of errors that PySpark has no class for: a catalog that cannot be loaded, a value that cannot be read."""
    from pyspark.errors import PySparkException

    name, _ = made(sql, "parquet", tmp_path)
    with SparkDriver(sql).setting("spark.sql.catalog.broken", "no.such.Class"):
        with pytest.raises(PySparkException, match=r"\[NotATableError\] .*no\.such\.Class"):
            sql.sql("DROP INDEX i ON broken.a.b")
        with (
            SparkDriver(sql).setting("spark.sql.ansi.enabled", "true"),
            pytest.raises(PySparkException, match="CAST_INVALID_INPUT"),
        ):
            sql.sql(f"EXPLAIN INDEXES SELECT * FROM {name} WHERE id = 'x'")


def test_columns_are_known_before_anything_is_run(sql: SparkSession) -> None:
    from pyspark.sql.pandas.types import from_arrow_schema

    for statement in ("SHOW INDEXES ON t", "VERIFY INDEX a ON t", "RECOMMEND INDEXES ON t", "EXPLAIN WHATIF SELECT 1"):
        output = sql._jsparkSession.sessionState().sqlParser().parsePlan(statement).output()
        columns = [output.apply(at) for at in range(output.size())]
        schema: pa.Schema = schema_of(parsed(statement))
        assert [(column.name(), column.dataType().simpleString()) for column in columns] == [
            (field.name, field.dataType.simpleString()) for field in from_arrow_schema(schema)
        ]


# Slips ----------------------------------------------------------------------------------------------------------------


def test_an_option_that_nobody_knows_is_refused_by_statements_and_passed_by_queries(
    sql: SparkSession, tmp_path: Path
) -> None:
    """Spark takes any option of a reader."""
    path = tmp_path / "t"
    sql.range(0, 30, 1, 3).write.parquet(str(path))
    for named in (f"parquet.`{path}`", f"'{path}'"):
        with pytest.raises(Exception, match="readers know options by name; 'foo' is none; leave it out"):
            sql.sql(f"SHOW INDEXES ON {named} WITH (foo = 1)")
    assert mi.create_index(sql.read.option("foo", "1").parquet(str(path)), "i", mi.Values("id")).changed
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


# What a text may read -------------------------------------------------------------------------------------------------


SECRET = "password=hunter2 : do not tell\nhunter2 = 3\n"


def test_queries_behind_from_are_read_as_the_session_reads_them(sql: SparkSession, tmp_path: Path) -> None:
    """By its own reader of texts, with its own rights, or from a table; what is no query is counted and not quoted."""
    name, query = made(sql, "parquet", tmp_path)
    log = tmp_path / "log.txt"
    log.write_text(f"{SECRET}{query}\n")
    frame = sql.createDataFrame([(query,), (None,), (SECRET,)], "text string")
    frame.createOrReplaceTempView("asked_before")
    frame.selectExpr("text", "1 AS n").createOrReplaceTempView("asked_with_more")
    for queries in (f"'{log}'", "asked_before", f"'file:{log}'"):
        told = rows(sql, f"RECOMMEND INDEXES ON {name} FROM {queries} OPTIONS (copies = false)")
        assert "hunter2" not in str(told)
        assert "begin with SELECT, WITH or FROM; others are passed over" in str([row["reason"] for row in told])
        assert any(row["table"] for row in told), told
    log.write_text(SECRET)
    for queries, fact in (
        (f"'{log}'", r"\[ArgumentError\] .* none can be read"),
        ("'/proc/self/environ'", "."),
        ("asked_with_more", "has text, n; name a view that has the texts alone"),
        ("no_such_table", r"\[NotATableError\]"),
        (f"'{tmp_path}/nothing'", r"\[NotATableError\]"),
    ):
        with pytest.raises(Exception, match=fact) as refused:
            rows(sql, f"RECOMMEND INDEXES ON {name} FROM {queries}")
        assert not any(part in str(refused.value) for part in ("hunter2", "PATH=", "HOME="))


def test_paths_are_named_where_the_session_may_read_them(sql: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t"
    sql.range(0, 30, 1, 3).write.parquet(str(path))
    (tmp_path / "log.sql").write_text(f"SELECT id FROM parquet.`{path}` WHERE id = 3;")
    for statement in (f"SHOW INDEXES ON '{path}'", f"RECOMMEND INDEXES ON '{path}' FROM '{tmp_path}/log.sql'"):
        assert rows(sql, statement) or "SHOW" in statement
        with (
            SparkDriver(sql).setting("spark.sql.runSQLOnFiles", "false"),
            pytest.raises(Exception, match=r"\[NotATableError\]"),
        ):
            sql.sql(statement)
    # The session's "/path" may be another place than this machine's.
    (tmp_path / "fs" / str(path)[1:]).mkdir(parents=True)
    spark = SparkDriver(sql)
    with (
        spark.setting("fs.viewfs.mounttable.ours.linkFallback", f"file:{tmp_path}/fs"),
        spark.setting("fs.defaultFS", "viewfs://ours/"),
    ):
        for statement in (f"SHOW INDEXES ON '{path}'", f"CREATE INDEX i ON '{path}' OPTIONS (builder = local)"):
            with pytest.raises(Exception, match=r"\[StorageError\] no storage for 'viewfs://ours"):
                sql.sql(statement)
        assert rows(sql, f"SHOW INDEXES ON 'file:{path}'") == []
    with pytest.raises(Exception, match=r"\[NotATableError\] .*No FileSystem for scheme") as refused:
        sql.sql("SHOW INDEXES ON 'nowhere://private/t'")
    assert "Traceback" not in str(refused.value)


def test_texts_of_others_make_spark_list_nothing(sql: SparkSession, tmp_path: Path) -> None:
    """A query of a log is analysed if it names tables of catalogs, or the table in question; not what names a path,
    in whatever form, or may read anything."""
    name, _ = made(sql, "parquet", tmp_path)
    other = tmp_path / "other"
    sql.range(9).write.parquet(str(other))
    sql.sql(f"CREATE OR REPLACE TEMPORARY VIEW known AS SELECT * FROM {name}")
    place, analysed = str(tmp_path / "t x"), "UNRESOLVED_COLUMN"
    for text, is_analysed in (
        (f"SELECT nope FROM {name}", True),
        ("SELECT nope FROM known", True),
        ("WITH a AS (SELECT * FROM known) SELECT nope FROM a", True),
        (f"SELECT nope FROM parquet.`{other}`", False),
        (f"SELECT nope FROM PARQUET.`file:{other}`", False),
        (f"SELECT nope FROM `org.apache.spark.sql.parquet`.`{other}`", False),
        ("SELECT nope FROM json.`metaindex`", False),
        (f"SELECT nope FROM known WHERE id IN (SELECT id FROM parquet.`{other}`)", False),
        (f"SELECT nope, (SELECT max(id) FROM parquet.`{other}`) AS m FROM known", False),
        (f"WITH a AS (SELECT * FROM parquet.`{other}`) SELECT nope FROM known", False),
        (f"SELECT nope FROM known JOIN LATERAL (SELECT * FROM parquet.`{other}`)", False),
        (f"SELECT nope FROM IDENTIFIER('parquet.`{other}`')", False),
        (f"SELECT nope FROM table_changes_by_path('{other}', 0)", False),
        (f"SELECT nope FROM iceberg.`{other}`", False),
        ("SELECT nope FROM iceberg.`..`.`..`.x", False),
    ):
        told = from_texts([text], whole=False, time_zone="UTC", spark=sql, tables=[place])
        assert (analysed in str(told.problems)) is is_analysed, (text, told)
        assert str(other) not in " ".join(problem.reason for problem in told.problems), told
    (tmp_path / "log.sql").write_text(f"SELECT nope FROM parquet.`{other}`;")
    assert analysed not in str(mi.workload(tmp_path / "log.sql", spark=sql).problems)


def test_a_store_is_where_the_application_has_it(sql: SparkSession, tmp_path: Path) -> None:
    """With keys of the application's a statement reads no store by a name that the session, or a table, moved."""
    name, query = made(sql, "parquet", tmp_path)
    path = str(tmp_path / "t x")
    sql.sql(
        "CREATE OR REPLACE TEMPORARY VIEW moved USING parquet"
        f" OPTIONS (path '{path}', 'fs.s3a.endpoint' 'http://elsewhere', 'fs.s3a.access.key' 'mine')"
    )
    asked = ("SHOW INDEXES ON '{path}'", "SHOW INDEXES ON {name}", "EXPLAIN INDEXES {query}")
    statements = [text.format(path=path, name=name, query=query) for text in asked]
    of_moved = ["SHOW INDEXES ON moved", "EXPLAIN INDEXES SELECT * FROM moved WHERE id IN (SELECT id FROM moved)"]
    spark = SparkDriver(sql)
    for statement in (*statements, *of_moved):
        rows(sql, statement)
    with ruled(sql, storage_options={"region": "eu-west-1"}):
        for statement in of_moved:
            with pytest.raises(Exception, match=r"\[ArgumentError\] .* another fs\.s3a\.endpoint"):
                sql.sql(statement)
        for setting in ("fs.s3a.endpoint", "spark.hadoop.fs.s3a.endpoint", "fs.s3a.bucket.a.access.key.endpoint"):
            with spark.setting("fs.s3a.access.key", "mine"):  # who asks, and not where
                for statement in statements[:2]:
                    with pytest.raises(Exception, match="storage options are for object stores"):
                        sql.sql(statement)
                assert rows(sql, statements[2])
            with spark.setting(setting, "http://elsewhere"):
                for statement in statements:
                    with pytest.raises(Exception, match=rf"\[ArgumentError\] .* another {setting}"):
                        sql.sql(statement)
    mi.enable(sql)
