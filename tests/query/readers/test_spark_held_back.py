"""Spark's readers of files are not asked for what they would answer otherwise than the rows do."""

import math
import os
from pathlib import Path

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

import metaindex as mi
from tests.tables import catalog_in

pytestmark = [pytest.mark.spark, pytest.mark.uncompiled]

VALUES = [1.0, math.nan, -5.0, 0.0, -0.0, None, -0.0, -0.0, math.inf, 7.5, math.nan, math.nan]
CONDITIONS = ("{} > 100", "{} >= 0", "{} = 0", "{} IN (0, 3)", "NOT ({} <= 100)", "{} <=> 0", "{} < 0.1",
              "{} > 100 AND id > 1", "{} > 100 OR id = 0")  # fmt: skip


def floats() -> pa.Table:
    """Row groups whose footers say less than they hold: NaN, which no bound counts, and -0.0 beside 0.0. `n` has no
    NULL, and says so."""
    nested = pa.array([{"x": value} for value in VALUES], pa.struct({"x": pa.float64()}))
    table = pa.table(
        {
            "id": range(len(VALUES)),
            "d": pa.array(VALUES, pa.float64()),
            "f": pa.array(VALUES, pa.float32()),
            "s": nested,
            "n": pa.array([0.0 if value is None else value for value in VALUES]),
        }
    )
    return table.cast(table.schema.set(4, pa.field("n", pa.float64(), nullable=False)))


def written(tmp_path: Path, table_format: str) -> str:
    """A row group for each row."""
    root = str(tmp_path / "t")
    match table_format:
        case "files":
            (tmp_path / "t").mkdir()
            pq.write_table(floats(), f"{root}/a.parquet", row_group_size=1)
        case "delta":
            one = deltalake.WriterProperties(max_row_group_size=1)
            deltalake.write_deltalake(root, floats(), writer_properties=one)
        case _:
            catalog = catalog_in(tmp_path)
            limit = {"write.parquet.row-group-limit": "1"}
            catalog.create_table("db.t", floats().schema, properties=limit).append(floats())
            root = str(tmp_path / "warehouse" / "db" / "t")
    return root


def ids(frame: DataFrame) -> list[int]:
    return sorted(row.id for row in frame.select("id").collect())


@pytest.mark.parametrize("table_format", ["files", "delta", "iceberg"])
def test_no_footer_is_asked_of_floats(spark: SparkSession, tmp_path: Path, table_format: str) -> None:
    root = written(tmp_path, table_format)
    table = mi.open_table(root)
    for place, where in enumerate(CONDITIONS):
        condition = where.format(("d", "f", "s.x", "n")[place % 4])
        scan = table.scan(condition)
        assert ids(scan.to_spark(spark)) == sorted(scan.to_arrow()["id"].to_pylist()), condition
    for column in ("d", "n"):  # what is not understood is Spark's alone to apply
        opaque = table.scan(f"{column} > 100 AND concat(id, '') > '0'").to_spark(spark)
        assert ids(opaque) == [1, 8, 10, 11], column


def test_spark_itself_loses_such_rows(spark: SparkSession, tmp_path: Path) -> None:
    """Else there would be nothing to hold back."""
    plain = spark.read.parquet(written(tmp_path, "files"))
    assert [ids(plain.where(condition)) for condition in ("d > 100", "d = 0")] != [[1, 8, 10, 11], [3, 4, 6, 7]]


def test_what_is_no_float_is_asked_of_the_footers(spark: SparkSession, tmp_path: Path) -> None:
    table = mi.open_table(written(tmp_path, "files"))
    plan = str(table.scan("id = 3 AND d = 0").to_spark(spark)._jdf.queryExecution().executedPlan().toString())
    assert "EqualTo(id,3)" in plan
    assert "EqualTo(d," not in plan


BROKEN = {
    "json": '{"id":1,"a":1,"b":"x"}\n{"id":2,"a":2,"b":nul}\n{"id":3,"a":1,"b":"y"\n{"id":4,"b":"z"}\n',
    "csv": "1,1,x\n2,no,y\n3\n4,,z\n5,1,w,more\n",
}


@pytest.mark.parametrize("file_format", ["json", "csv"])
def test_a_broken_record_is_a_row_under_every_filter(spark: SparkSession, tmp_path: Path, file_format: str) -> None:
    """Spark's parsers leave it out where the filter is theirs to ask."""
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / f"a.{file_format}").write_text(BROKEN[file_format])
    schema = pa.schema({"id": pa.int64(), "a": pa.int64(), "b": pa.string()})
    folder = str(tmp_path / "t")
    csv = file_format == "csv"
    table = mi.open_table(folder, header=False, schema=schema) if csv else mi.open_table(folder, schema=schema)
    rows = table.scan().to_arrow()
    assert rows["a"].null_count > 1
    for condition in ("a IS NULL", "a <=> 1", "a = 1", "b IS NULL", "NOT (a <=> 1)", "id IS NULL OR id > 2"):
        scan = table.scan(condition)
        spark_rows = sorted(map(tuple, scan.to_spark(spark).select("id", "a", "b").collect()), key=repr)
        assert spark_rows == sorted((tuple(row.values()) for row in scan.to_arrow().to_pylist()), key=repr), condition


def test_names_and_values_are_no_variables(spark: SparkSession, tmp_path: Path) -> None:
    """Spark's parser puts values in the place of `${...}`, wherever it stands in a text."""
    session = spark.newSession()
    spark.createDataFrame([(1,)], "a INT")  # the thread's active session is this one, whichever made something last
    home = "${env:HOME}"
    folder = tmp_path / "t"
    folder.mkdir()
    rows = pa.table({"s": [home, os.environ["HOME"]], home: [1, 2], os.environ["HOME"]: [2, 1]})
    pq.write_table(rows, folder / "f.parquet")
    table = mi.open_table(folder)
    for condition in (f"s = '{home}'", "s LIKE '${%'", f"s IN ('{home}', 'z')"):
        assert [row.s for row in table.scan(condition).to_spark(session).collect()] == [home]
    for condition in (f"`{home}` = 1", f"concat(s, '') = '{home}'"):
        scan = table.scan(condition)
        with pytest.raises(mi.ExpressionError, match=r"spark\.sql\.variable\.substitute to false"):
            scan.to_spark(session)
        spark.conf.set("spark.sql.variable.substitute", "false")
        session.conf.set("spark.sql.variable.substitute", "false")
        assert [row.s for row in scan.to_spark(session).collect()] == [home]
        spark.conf.unset("spark.sql.variable.substitute")
        session.conf.unset("spark.sql.variable.substitute")


def test_a_text_that_the_session_reads_otherwise_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    session = spark.newSession()
    folder = tmp_path / "t"
    folder.mkdir()
    pq.write_table(pa.table({"s": ["a\tb", "a\\tb"]}), folder / "f.parquet")
    table = mi.open_table(folder)
    for condition, name in (
        ("s = 'a\\tb' AND upper(s) <> 'x'", "spark.sql.parser.escapedStringLiterals"),
        ('s <> "s" AND upper(s) <> "x" AND s < "a0"', "spark.sql.ansi.doubleQuotedIdentifiers"),
    ):
        assert [row.s for row in table.scan(condition).to_spark(session).collect()] == ["a\tb"]
        session.conf.set(name, "true")
        with pytest.raises(mi.ScanError, match=name):
            table.scan(condition).to_spark(session)
        session.conf.unset(name)


def test_arithmetic_of_another_mode_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    """Without ANSI a sum that does not fit has its lowest bits, and files were chosen as if it had none."""
    session = spark.newSession()
    folder = tmp_path / "t"
    folder.mkdir()
    for number, value in enumerate((1, 2**63 - 1)):
        pq.write_table(pa.table({"x": [value]}), folder / f"{number}.parquet")
    table = mi.open_table(folder)
    table.create_index("stats", mi.ColumnStats(), builder="local")
    assert table.scan("x + 1 = 2").to_spark(session).count() == 1
    session.conf.set("spark.sql.ansi.enabled", "false")
    with pytest.raises(mi.ScanError, match=r"spark\.sql\.ansi\.enabled"):
        table.scan("x + 1 < 0").to_spark(session)
    assert table.scan("x < 2").to_spark(session).count() == 1
