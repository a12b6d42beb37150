"""Which column an index has: after renames and other types, fields of structs, names with dots, texts with a
collation."""

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import metaindex as mi
from tests.spark.optimizer.changing_lakes import Lake, asked, covered, make_iceberg, plan_of, without_the_rule
from tests.spark.optimizer.lakes import location_of, ruled

pytestmark = [pytest.mark.uncompiled, pytest.mark.usefixtures("sorting")]


def test_columns_of_another_type_and_other_names(spark: SparkSession, tmp_path: Path) -> None:
    """Renamed columns are the same ones; a column that was re-typed since is served only by runs that have the new
    type."""
    lake = covered(make_iceberg(spark, tmp_path))
    spark.sql(f"ALTER TABLE {lake.name} RENAME COLUMN name TO called")
    asked(spark, f"SELECT id, called FROM {lake.name} WHERE k = 7")
    spark.sql(f"INSERT INTO {lake.name} SELECT id + 50000, k, called, v, d, pad, p FROM {lake.name} WHERE id < 40")
    lake.table().refresh_index("cov")
    asked(spark, f"SELECT id, called FROM {lake.name} WHERE k = 7", by="cov: covering>")
    spark.sql(f"ALTER TABLE {lake.name} ALTER COLUMN k TYPE bigint")
    asked(spark, f"SELECT id, called FROM {lake.name} WHERE k = 7", by=None)
    first = lake.table().versions()[0].id
    asked(spark, f"SELECT id, name FROM {lake.name} VERSION AS OF {first} WHERE k = 7")
    path = str(tmp_path / "typed")
    spark.range(0, 100, 1, 2).selectExpr("CAST(id AS int) AS id", "CAST(id % 7 AS int) AS k").write.parquet(path)
    mi.open_table(path, spark=spark).create_index("cov", mi.Covering("k", "id", buckets=2))
    for schema, by in [
        ("id int, k int", "cov: covering"),
        ("id bigint, k int", None),
        ("id int, k int, other string", None),
    ]:
        if schema.startswith("id bigint") and spark.version < "4":
            continue  # that Spark reads no int as bigint, with or without the rule
        spark.read.schema(schema).parquet(path).createOrReplaceTempView("typed")
        asked(spark, "SELECT * FROM typed WHERE k = 3", by=by)


@pytest.mark.parametrize("form", ["parquet", "delta", "iceberg"])
def test_fields_of_structs(spark: SparkSession, tmp_path: Path, form: str) -> None:
    """An index of fields stands for a scan of which nothing else of the struct is asked."""
    rows = spark.range(0, 300, 1, 3).selectExpr(
        "id",
        "IF(id % 11 = 0, NULL, named_struct('user', CAST(id % 20 AS int), 'more', named_struct('text', concat('t', id"
        " % 3), 'b', id), 'rest', repeat(sha2(string(id), 512), 4))) AS payload",
    )
    path = str(tmp_path / "nested")
    if form == "iceberg":
        name = f"iceberg.covering.nested{abs(hash(path)) % 10**9}"
        rows.writeTo(name).using("iceberg").create()
        path = location_of(spark, name)
    else:
        name = f"{form}.`{path}`"
        rows.write.format(form).save(path)
    covered(
        Lake(spark, form, name, path),
        mi.Covering(indexed=["payload.user"], included=["id", "payload.more.text"], buckets=3),
    )
    for text in [
        "SELECT id FROM {t} WHERE payload.user = 5",
        "SELECT id, payload.more.text FROM {t} WHERE PAYLOAD.User = 5 AND payload.more.text LIKE 't%'",
        "SELECT payload.more.text AS x, count(*) AS c FROM {t} WHERE payload.user IS NULL OR payload.user = 7 GROUP BY"
        " payload.more.text",
    ]:
        asked(spark, text.format(t=name))
    for text in [
        "SELECT payload FROM {t} WHERE payload.user = 5",
        "SELECT id FROM {t} WHERE payload.user = 5 AND payload IS NOT NULL",
        "SELECT payload.more FROM {t} WHERE payload.user = 5",
        "SELECT payload.rest FROM {t} WHERE payload.user = 5",
    ]:
        asked(spark, text.format(t=name), by=None)


def test_a_column_called_as_a_field_of_a_struct(spark: SparkSession, tmp_path: Path) -> None:
    """`a.b` is a column, a.b a field: an index of the one does not stand for the other."""
    path = str(tmp_path / "dotted")
    columns = ("id", "named_struct('b', id % 5, 'c.d', id) AS a", "id % 7 AS `a.b`", "string(id) AS `id:1`")
    spark.range(0, 60, 1, 3).selectExpr(*columns).write.parquet(path)
    table = mi.open_table(path, spark=spark)
    table.create_index("cov", mi.Covering(["a.b"], ["id", "a.`c.d`"], 3), mi.Covering(["`a.b`"], ["id", "`id:1`"], 3))
    name = f"parquet.`{path}`"
    for text in [
        "SELECT id, a.`c.d` FROM {t} WHERE a.b = 3",
        "SELECT id, `id:1` FROM {t} WHERE `a.b` IN (5, 6)",
        "SELECT `a.b`, count(*) FROM {t} GROUP BY `a.b`",
    ]:
        asked(spark, text.format(t=name))
    for text in [
        "SELECT id FROM {t} WHERE `a.b` = 3 AND a.b = 2",
        "SELECT id FROM {t} WHERE a = named_struct('b', 3L, 'c.d', 8L)",
    ]:
        asked(spark, text.format(t=name), by=None)


@pytest.mark.parametrize("form", ["delta", "iceberg"])
def test_fields_of_structs_that_were_dropped_and_renamed(spark: SparkSession, tmp_path: Path, form: str) -> None:
    """A field that is dropped and added again is NULL in the rows before, whatever the index has by its name; so are
    fields that changed names, inside of lists and maps, and at the versions before."""
    path = str(tmp_path / "t")
    pair = "named_struct('a', CAST(id AS int), 'b', CAST(-id AS int))"
    rows = spark.range(0, 300, 1, 3).selectExpr("id", "id % 10 AS k", f"{pair} AS st", f"array({pair}) AS ar")
    if form == "iceberg":
        name = f"iceberg.covering.fields{abs(hash(path)) % 10**9}"
        rows.writeTo(name).using("iceberg").create()
        path = location_of(spark, name)
    else:
        name = f"delta.`{path}`"
        rows.write.format("delta").option("delta.columnMapping.mode", "name").save(path)
    table = mi.open_table(path, spark=spark)
    table.create_index("cov", mi.Covering("k", ["id", "st", "ar", "st.a"], buckets=4))
    first = table.versions()[-1].id
    of_st, of_field, of_ar = (
        "SELECT id, st FROM {} WHERE k = 3",
        "SELECT id, st FROM {} WHERE st.b IS NULL AND k = 3",
        "SELECT id, to_json(ar) AS j FROM {} WHERE k = 3",
    )
    served = "cov: covering"
    for change, st, ar in (
        ("", served, served),
        ("DROP COLUMN st.b", None, served),
        ("ADD COLUMN st.b int", None, served),
        ("DROP COLUMN ar.element.b", None, None),
        ("ADD COLUMN ar.element.b int", None, None),
    ):
        if change:
            spark.sql(f"ALTER TABLE {name} {change}")
        asked(spark, of_st.format(name), by=st)
        asked(spark, of_ar.format(name), by=ar)
        if "DROP" not in change:
            asked(spark, of_field.format(name), by="")
    for swap in ("a TO c", "b TO a", "c TO b"):
        spark.sql(f"ALTER TABLE {name} RENAME COLUMN st.{swap}")
    for mode in (None, "incremental", "full"):
        if mode:
            table.refresh_index("cov", mode=mode)
        for query in (of_st, of_ar):
            asked(spark, query.format(name), by=served if mode == "full" else None)
            asked(spark, query.format(f"{name} VERSION AS OF {first}"), by=None if mode == "full" else served)
        asked(spark, of_field.format(name), by="")
        asked(spark, of_field.format(f"{name} VERSION AS OF {first}"), by="")
        asked(spark, f"SELECT id, st.b AS x FROM {name} WHERE k = 3", by=served)
    spark.sql(f"INSERT INTO {name} SELECT id + 1000, k, st, ar FROM {name} WHERE id < 30")
    table.refresh_index("cov")
    table.optimize_index("cov", mode="full")
    for query, by in ((of_st, served), (of_field, ""), (of_ar, served)):
        asked(spark, query.format(name), by=by)
    spark.sql(f"ALTER TABLE {name} DROP COLUMN ar.element.a")
    spark.sql(f"ALTER TABLE {name} ADD COLUMN ar.element.a int FIRST")
    spark.sql(f"INSERT INTO {name} SELECT id + 2000, k, st, ar FROM {name} WHERE id < 30")
    table.refresh_index("cov")
    table.optimize_index("cov", mode="full")  # of runs whose fields are others none is merged with another
    for query, by in ((of_st, served), (of_field, ""), (of_ar, "")):
        asked(spark, query.format(name), by=by)
    assert table.verify_index("cov", files=None).sound


def test_texts_with_a_collation_are_compared_by_spark(spark: SparkSession, tmp_path: Path) -> None:
    """Neither the bytes' order nor their hash says which of them are equal: who means the bytes names the columns, and
    what is indexed so is nothing for Spark."""
    if spark.version.startswith("3.5"):
        pytest.skip("Spark 3.5 has no collations")
    spark = spark.newSession()  # whose counts are its own: that the table is refused is told as a failure
    path = str(tmp_path / "collated")
    spark.sql(
        "SELECT id, CAST(IF(id < 50, 'a', 'A') AS STRING COLLATE UTF8_LCASE) AS c FROM range(0, 100, 1, 2)"
    ).write.parquet(path)
    with pytest.raises(mi.UnsupportedFeatureError, match="collation"):
        mi.open_table(path, spark=spark).create_index("cov", mi.Covering("c", "id", buckets=4))
    table = mi.open_table(path, spark=spark, schema=pa.schema([("id", pa.int64()), ("c", pa.string())]))
    table.create_index("cov", mi.Covering("c", "id", buckets=4))
    table.create_index("stats", mi.ColumnStats(), mi.Values("c"), builder="local")
    with ruled(spark):
        for text in [
            "SELECT count(*) FROM {t} WHERE c = 'A'",
            "SELECT c, count(*) FROM {t} GROUP BY c",
            "SELECT count(*) FROM {t} a JOIN {t} b ON a.c = b.c",
        ]:
            said = text.format(t=f"parquet.`{path}`")
            frame = spark.sql(said)
            assert sorted(map(repr, frame.collect())) == without_the_rule(spark, said), said
            assert "cov: covering" not in plan_of(frame)
