"""Parquet in a Spark plan: where Spark shows other values than stand in the files, no file is left out."""

import datetime as dt
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import metaindex as mi
import metaindex.spark as rule
from metaindex.core import ScanError, SparkDriver
from metaindex.spark.optimizer.alike import read_as_written, types_of
from metaindex.spark.optimizer.request import Delta, Files, Session, SparkColumns
from metaindex.spark.readers.spark import as_written

DEFAULT = {"CURRENT_DEFAULT": "5", "EXISTS_DEFAULT": "5"}


def columns(*fields: dict[str, Any]) -> SparkColumns:
    return SparkColumns([one["name"] for one in fields], {"type": "struct", "fields": [*fields]})


def read(settings: dict[str, str], **more: Any) -> dict[str, Any]:
    """What a Delta table and plain files have in common."""
    return {"session": Session("UTC", settings), "options": {}} | more


def files_of(**more: Any) -> Files:
    return Files(**({"format": "ParquetFileFormat", "schema": columns(), "partitions": columns()} | read({}) | more))


def delta_of(**more: Any) -> Delta:
    return Delta(**({"version": "1", "table": "id"} | read({}) | more))


@pytest.mark.parametrize(
    ("set_", "options", "files", "delta"),
    [
        ({}, {}, True, True),
        ({"spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED"}, {}, True, True),
        ({"spark.sql.parquet.datetimeRebaseModeInRead": "LEGACY"}, {}, False, False),
        ({"spark.sql.legacy.parquet.int96RebaseModeInRead": "legacy"}, {}, False, False),
        ({"spark.sql.parquet.int96RebaseModeInRead": "exception"}, {}, True, True),
        ({"spark.sql.parquet.int96TimestampConversion": "true"}, {}, False, False),
        ({"spark.sql.parquet.fieldId.read.enabled": "true"}, {}, False, True),
        ({"spark.sql.caseSensitive": "true"}, {}, False, True),
        ({"spark.sql.parquet.filterPushdown": "false"}, {}, True, True),
        ({}, {"datetimeRebaseMode": "LEGACY"}, False, False),
        ({}, {"int96RebaseMode": "CORRECTED", "path": "/x"}, True, True),
    ],
)
def test_what_moves_values_is_seen(set_: dict[str, str], options: dict[str, str], files: bool, delta: bool) -> None:
    assert as_written(set_, options, delta=False) is files
    assert as_written(set_, options, delta=True) is delta
    numbered = columns({"name": "c", "type": "long", "nullable": True, "metadata": {"parquet.field.id": 3}})
    assert read_as_written(files_of(**read(set_, options=options), schema=numbered)) is files
    assert read_as_written(delta_of(**read(set_, options=options))) is delta


def test_columns_have_numbers_only_where_their_schema_has() -> None:
    """Delta's extension has every session find columns by number."""
    by_number = read({"spark.sql.parquet.fieldId.read.enabled": "true"})
    for metadata, expected in [({}, True), ({"parquet.field.id": 3}, False)]:
        schema = columns({"name": "c", "type": "long", "nullable": True, "metadata": metadata})
        assert read_as_written(files_of(**by_number, schema=schema)) is expected


def test_other_formats_options_and_sessions_are_not_known() -> None:
    assert read_as_written(files_of())
    assert not read_as_written(files_of(format="OrcFileFormat"))
    assert not read_as_written(files_of(options={"somethingNew": "1"}))
    assert not read_as_written(files_of(session=None))
    assert read_as_written(delta_of())
    assert not read_as_written(delta_of(session=None))


def test_columns_that_show_a_default_are_not_what_the_files_hold() -> None:
    def field(name: str, type_: Any, **metadata: str) -> dict[str, Any]:
        return {"name": name, "type": type_, "nullable": True, "metadata": metadata}

    inner = {"type": "struct", "fields": [field("x", "long"), field("y", "long", **DEFAULT)]}
    schema = columns(field("id", "long"), field("c", "long", **DEFAULT), field("s", inner))
    found = types_of(files_of(schema=schema, partitions=columns(field("p", "string"))))
    assert set(found) == {("id",), ("s",), ("s", "x"), ("p",)}


def test_defaults_and_other_calendars_keep_their_rows(enabled: SparkSession, tmp_path: Path) -> None:
    spark = enabled

    def rewritten(text: str, expected: list[Any]) -> int:
        before = rule.counts(spark).rewritten
        assert [row[0] for row in spark.sql(text).collect()] == expected, text
        assert rule.counts(spark).failed == 0, rule.counts(spark).last_error
        return rule.counts(spark).rewritten - before

    place = tmp_path / "with_default"
    spark.sql(f"CREATE TABLE with_default (id INT) USING parquet LOCATION '{place}'")
    spark.sql("INSERT INTO with_default SELECT 1")
    spark.sql("ALTER TABLE with_default ADD COLUMN c INT DEFAULT 5")
    spark.sql("INSERT INTO with_default SELECT 2, 7")
    mi.open_table(str(place), format="parquet").create_index("i", mi.ColumnStats(), mi.Values("c"), builder="local")
    assert rewritten("SELECT id FROM with_default WHERE c = 5", [1]) == 0
    assert rewritten("SELECT id FROM with_default WHERE id = 2", [2]) == 1
    spark.sql("DROP TABLE with_default")

    days = tmp_path / "days"
    days.mkdir()
    for number, day in enumerate((dt.date(1500, 1, 10), dt.date(2020, 1, 1))):
        pq.write_table(pa.table({"id": [number], "c": pa.array([day], pa.date32())}), days / f"part-{number}.parquet")
        os.utime(days / f"part-{number}.parquet", (1_700_000_000, 1_700_000_000))
    mi.open_table(str(days)).create_index("i", mi.ColumnStats(), mi.Values("c"), builder="local")
    table = mi.open_table(str(days), format="parquet")
    delta = str(tmp_path / "delta")
    spark.range(1).write.format("delta").save(delta)
    name, old = f"parquet.`{days}`", "SELECT id FROM {} WHERE c = DATE'1500-01-01'"
    with SparkDriver(spark).setting(
        "spark.sql.parquet.datetimeRebaseModeInRead", "CORRECTED"
    ):  # not Spark 3.5's default
        assert rewritten(old.format(name).replace("01-01'", "01-10'"), [0]) == 1
    with SparkDriver(spark).setting("spark.sql.parquet.datetimeRebaseModeInRead", "LEGACY"):
        assert rewritten(old.format(name), [0]) == 0
        assert table.scan("c = DATE'1500-01-10'").to_spark(spark).count() == 1
        with pytest.raises(ScanError, match="datetimeRebaseModeInRead"):
            mi.open_table(delta).scan("id = 0").to_spark(spark)
    spark.read.option("datetimeRebaseMode", "LEGACY").parquet(str(days)).createOrReplaceTempView("old_days")
    assert rewritten(old.format("old_days"), [0]) == 0
    assert table.scan("c = DATE'1500-01-10'").to_spark(spark).count() == 1


_OTHERS = {
    "parquet": {"ym": "make_ym_interval(CAST(id AS INT), 1)", "dt": "make_dt_interval(1, 2)", "v": "parse_json('{}')"},
    "delta": {"v": "parse_json(concat('[', id, ']'))"},
    "csv": {"ym": "make_ym_interval(CAST(id AS INT), 1)"},
}


@pytest.mark.spark
@pytest.mark.parametrize("format_", _OTHERS)
def test_a_type_that_arrow_has_not_keeps_no_other_column_from_an_index(
    spark: SparkSession, tmp_path: Path, format_: str
) -> None:
    others = _OTHERS[format_]
    if spark.version < "4":
        others = {name: text for name, text in others.items() if name != "v"}
    inner = [f"named_struct('x', CAST(id AS INT), 'y', {text}) AS s_{name}" for name, text in others.items()]
    columns = [*(f"{text} AS {name}" for name, text in others.items()), *(inner if format_ != "csv" else ())]
    frame = spark.range(0, 40, 1, 4).selectExpr("id", "CAST(id AS INT) AS k", *columns)
    path = str(tmp_path / "t" / "t")
    frame.write.format(format_).save(path)
    read = spark.read.format(format_).schema(frame.schema) if format_ == "csv" else spark.read.format(format_)
    table = mi.open_table(path, format=format_, **({"header": False} if format_ == "csv" else {}))
    table.create_index("x", mi.ColumnStats(), builder="local")
    view = f"others_{format_}"
    rule.enable(spark)
    try:
        for query in (
            f"SELECT id FROM {view} WHERE k = 7",
            f"SELECT count(*), max(k) FROM {view}",
            *(f"SELECT id FROM {view} WHERE {name} IS NOT NULL AND k = 7" for name in others),
            *(f"SELECT {name} IS NULL FROM {view} WHERE k = 7" for name in others),
            *(f"SELECT id FROM {view} WHERE s_{name}.x = 7" for name in others if format_ != "csv"),
        ):
            read.load(path).createOrReplaceTempView(view)
            before = rule.counts(spark)
            with SparkDriver(spark).setting("spark.metaindex.enabled", "false"):
                plain = spark.sql(query).collect()
            assert spark.sql(query).collect() == plain
            after = rule.counts(spark)
            assert after.failed == before.failed, (query, after.last_error)
            if format_ == "parquet":
                assert after.rewritten > before.rewritten, query
    finally:
        rule.disable(spark)


def test_a_users_type_is_that_of_its_values_and_its_class_is_not_looked_for() -> None:
    users = {"type": "udt", "class": "x.Y", "pyClass": "no_such_module.Y", "sqlType": "double"}
    found = columns(*({"name": t, "type": t, "nullable": True} for t in ("hologram", "integer")), {
        "name": "u", "type": users, "nullable": True
    })  # fmt: skip
    assert found.types.field("u").type == pa.float64()
    assert found.types.field("integer").type == pa.int32()
    assert found.types.field("hologram").type not in (pa.null(), pa.string(), pa.struct([]))
