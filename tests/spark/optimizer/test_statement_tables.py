"""Which tables statements of a session name: views, catalogs, frames, and text files by how they are read."""

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import metaindex as mi
import metaindex.spark as rule
from metaindex.core import SparkDriver
from tests.spark.optimizer.stated import made, rows
from tests.tables import settled


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


def test_a_metadata_table_is_not_the_table_that_it_tells_of(sql: SparkSession, tmp_path: Path) -> None:
    """Iceberg says of `t.files` that it lies where t does: an index of t was dropped, and removed, by it."""
    from pyspark.errors import PySparkException

    name, _ = made(sql, "iceberg", tmp_path)
    sql.sql(f"CREATE INDEX i ON {name} USING values (id)")
    for statement in ("DROP INDEX i ON {}.files", "VACUUM INDEX i ON {}.history", "CREATE INDEX j ON {}.refs (id)"):
        with pytest.raises(PySparkException, match="a metadata table of Iceberg's"):
            sql.sql(statement.format(name))
    assert [(row["name"], row["state"]) for row in rows(sql, f"SHOW INDEXES ON {name}")] == [("i", "ACTIVE")]


@pytest.mark.parametrize("said", [{}, {"HEADER": "true"}])
def test_a_csv_table_without_a_header(sql: SparkSession, tmp_path: Path, said: dict[str, str]) -> None:
    """Spark's default, of a table whose options do not say it in whatever letters."""
    settled(tmp_path / "t", {"a.csv": ("a,b\n" if said else "") + "1,x\n2,y\n"})
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

    settled(tmp_path / "x2", {"a.csv": "a\n2\n"})
    sql.sql("CREATE DATABASE csv")
    try:
        sql.sql(f"CREATE TABLE csv.`x1` (a INT) USING csv OPTIONS (header true) LOCATION '{tmp_path / 'x2'}'")
        with pytest.raises(PySparkException, match=r"csv\.x1 is one, and WITH stands behind it"):
            sql.sql("CREATE INDEX i ON csv.`x1` WITH (header = true) (a)")
        sql.sql("CREATE INDEX i ON csv.`x1` (a)")
        assert (tmp_path / "_metaindex" / "x2" / "i").exists()
        sql.sql(f"CREATE INDEX j ON csv.`{tmp_path / 'x2'}` WITH (header = true) (a)")
        assert (tmp_path / "_metaindex" / "x2" / "j").exists()
        with pytest.raises(PySparkException, match="one format, here csv; WITH names another"):
            sql.sql(f"CREATE INDEX k ON csv.`{tmp_path / 'x2'}` WITH (format = json) (a)")
    finally:
        sql.sql("DROP DATABASE csv CASCADE")


def test_a_data_frame_stands_for_its_table(sql: SparkSession, tmp_path: Path) -> None:
    name, _ = made(sql, "delta", tmp_path)
    frame = sql.read.format("delta").load(str(tmp_path / "t x"))
    sql.sql("CREATE INDEX i ON {t} USING values (id) OPTIONS (builder = local)", t=frame)
    assert [row.name for row in sql.sql("SHOW INDEXES ON {t}", t=frame).collect()] == ["i"]
    assert [row.name for row in sql.sql(f"SHOW INDEXES ON {name}", {"unused": 1}).collect()] == ["i"]


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
            assert differs in str(rows(sql, f"SHOW INDEXES ON {name}")[0]["note"]), name
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

    folder = settled(tmp_path / "t", {"a.csv": 'id,note,amount\n1,"say ""hi"", you",1.5\n2,"no ""b"" c",2.5\n'})
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
        with pytest.raises(PySparkException, match="'i' is ACTIVE; refresh it, choose another name, or keep it"):
            sql.sql("CREATE INDEX i ON mended (id)")
        assert rows(sql, "REFRESH INDEX i ON mended")[0]["state"] == "ACTIVE"
    finally:
        for name in ("unescaped", "untyped", "mended"):
            sql.sql(f"DROP VIEW {name}")


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
        with SparkDriver(sql).setting("spark.sql.files.ignoreCorruptFiles", "true"):
            assert [row["id"] for row in sql.sql("SELECT * FROM damaged WHERE id = 35").collect()] == [35]
    finally:
        for name in ("damaged", "said"):
            sql.sql(f"DROP VIEW {name}")
