"""A covering index stands for a scan: the same rows as with the rule off, at every version, whatever was deleted or
appended since; joins and groups by its keys shuffle nothing."""

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import metaindex as mi
import metaindex.spark as rule
from metaindex.core import SparkDriver
from tests.compiling import uncompiled
from tests.spark.optimizer.changing_lakes import (
    INDEXED,
    MAKERS,
    ROWS,
    Lake,
    Make,
    asked,
    covered,
    delete_rows,
    make_delta,
    make_iceberg,
    make_parquet,
    plan_of,
    rows_of,
    versions_of,
    without_the_rule,
)

pytestmark = [pytest.mark.uncompiled, pytest.mark.usefixtures("sorting")]


FILTERS = [
    "SELECT k, id, name, v, d FROM {t} WHERE k = 7",
    "SELECT id FROM {t} WHERE k IN (3, 4, 48, 99) AND v > 10",
    "SELECT id, v FROM {t} WHERE k IS NULL",
    "SELECT name FROM {t} WHERE k <=> 12 OR k = 13 AND id > 100",
    "SELECT count(*) AS c, sum(id) AS s FROM {t} WHERE k = 11 AND name LIKE 'n1%'",
    "SELECT K, iD FROM {t} WHERE K = 5",
    "SELECT id + k AS x FROM {t} WHERE k = 21 ORDER BY x LIMIT 3",
    "SELECT a.id FROM {t} a WHERE a.k = 6 AND EXISTS (SELECT 1 FROM {t} b WHERE b.k = 6 AND b.id > a.id)",
    "SELECT id, v FROM {t} WHERE k = 21 AND v > 1000",  # NaN, which Parquet's bounds leave out
    "SELECT id FROM {t} WHERE k = 42 AND v = double('NaN')",
    "SELECT id FROM {t} WHERE k = 4 UNION ALL SELECT id FROM {t} WHERE k = 5",
    "SELECT id FROM {t} WHERE k = (SELECT max(k) FROM {t} WHERE k < 9)",
]
JOINS = [
    "SELECT a.k, a.id, b.name FROM {t} a JOIN {t} b ON a.k = b.k",
    "SELECT a.k, count(*) AS c, sum(b.id) AS s FROM {t} a JOIN {t} b ON a.k = b.k GROUP BY a.k",
    "SELECT a.id, b.v FROM {t} a LEFT JOIN {t} b ON a.k = b.k AND b.id < 40",
    "SELECT a.id FROM {t} a LEFT SEMI JOIN {t} b ON a.k = b.k",
    "SELECT a.id FROM {t} a LEFT ANTI JOIN {t} b ON a.k = b.k",
    "SELECT a.id, b.id FROM {t} a FULL JOIN {t} b ON a.k = b.k AND a.id < b.id",
]
GROUPS = [
    "SELECT k, count(*) AS c, max(name) AS m FROM {t} GROUP BY k",
    "SELECT DISTINCT k FROM {t}",
    "SELECT k, d, count(*) AS c FROM {t} GROUP BY d, k",
]
OTHERS = [
    "SELECT id, pad FROM {t} WHERE k = 7",  # a column that the index lacks
    "SELECT id FROM {t} WHERE id = 7",  # the filter is of no leading column
    # Below 1: Spark's OptimizeRand makes `true` of what always holds.
    "SELECT id FROM {t} WHERE k = 7 AND rand(3) < 0.5",
    # May fail of rows that the scan would not read.
    "SELECT id FROM {t} WHERE k = 7 AND CAST(substring(name, 2) AS int) > 5",
]


def every_query(spark: SparkSession, name: str, *, shuffles: int = 0, sorts: bool = True) -> None:
    for text in FILTERS:
        # Iceberg leaves out every file by `v > 1000` itself: nothing is cheaper to read
        nothing = "(SELECT max" in text or ("v > 1000" in text and "iceberg" in name)
        asked(spark, text.format(t=name), by="" if nothing else "cov: covering")
    for text in JOINS:
        plan = asked(spark, text.format(t=name))
        assert plan.count("Exchange hashpartitioning") == shuffles, (text, plan)
        assert sorts or "Sort [" not in plan, plan
    for text in GROUPS:
        plan = asked(spark, text.format(t=name))
        assert plan.count("Exchange hashpartitioning") == 0, (text, plan)


@pytest.mark.parametrize("make", MAKERS)
def test_a_fresh_index_stands_for_scans(spark: SparkSession, tmp_path: Path, make: Make) -> None:
    lake = covered(make(spark, tmp_path))
    every_query(spark, lake.name, sorts=False)
    query = spark.sql(FILTERS[0].format(t=lake.name))
    query.collect()
    (scan,) = [query._jdf.queryExecution().executedPlan().collectLeaves().apply(0)]
    assert scan.metrics().apply("numOutputRows").value() < ROWS / 2, "other buckets are left out"
    with SparkDriver(spark).setting(
        "spark.sql.ansi.enabled", "true"
    ):  # Spark 3.5 casts what it cannot to NULL by itself
        for text in OTHERS:
            asked(spark, text.format(t=lake.name), by=None)


@pytest.mark.parametrize("make", MAKERS)
def test_what_was_deleted_and_appended_since(spark: SparkSession, tmp_path: Path, make: Make) -> None:
    """The index is behind: rows deleted by position, whole files gone, files it does not have. Joins shuffle the
    appended part at most, at every version."""
    lake = covered(make(spark, tmp_path))
    delete_rows(lake, "id % 50 = 8")  # some rows of every file
    asked(spark, FILTERS[0].format(t=lake.name))
    plan = asked(spark, JOINS[0].format(t=lake.name))
    assert plan.count("Exchange hashpartitioning") == 0, plan
    lake.append(rows_of(spark, 10_000, 60, 1))
    if lake.format != "files":
        delete_rows(lake, "p = 1 AND id < 300")
    for text in [FILTERS[0], FILTERS[3], FILTERS[6], JOINS[1], JOINS[2], GROUPS[0]]:
        by = "cov: covering, and files that it lacks" if text != GROUPS[0] else ""
        plan = asked(spark, text.format(t=lake.name), by=by)
        shuffled = plan.count("Exchange hashpartitioning") <= plan.count("REPARTITION_BY_NUM")
        assert "pad" not in plan, "what no index has and nobody asks for is neither read nor shuffled"
        assert shuffled or "metaindex" not in plan, plan  # a group of so few rows may be cheaper of the table
    for version in versions_of(lake):
        for text in [FILTERS[0], JOINS[1]]:
            asked(spark, text.format(t=lake.name + version))
    if lake.format != "files":
        lake.table().refresh_index("cov")
        for text in [FILTERS[0], JOINS[1], GROUPS[0]]:
            plan = asked(spark, text.format(t=lake.name), by="cov: covering" if text != GROUPS[0] else "")
            assert "files that it lacks" not in plan, plan
        lake.table().optimize_index("cov")
        for text in [FILTERS[0], JOINS[1], GROUPS[0]]:
            asked(spark, text.format(t=lake.name), by="cov: covering" if text != GROUPS[0] else "")


def test_a_listing_of_spark_decides_which_plain_files_there_are(spark: SparkSession, tmp_path: Path) -> None:
    """A frame that was made before a file went, or came, or was replaced by another of the same name."""
    lake = covered(make_parquet(spark, tmp_path))
    old = spark.read.parquet(lake.path)
    lake.append(rows_of(spark, 10_000, 60, 1))
    lake.table().refresh_index("cov")
    for frame, count in [(old, ROWS), (spark.read.parquet(lake.path), ROWS + 60)]:
        assert frame.where("k IS NULL OR k >= 0").groupBy("k").count().selectExpr("sum(count)").head()[0] == count
        assert "cov: covering" in plan_of(frame.groupBy("k").count())
    files = sorted(one for one in Path(lake.path).rglob("*.parquet") if one.is_file())
    files[0].write_bytes(files[1].read_bytes())
    (files[0].parent / f".{files[0].name}.crc").unlink(missing_ok=True)
    asked(spark, GROUPS[0].format(t=lake.name))
    assert rule.counts(spark).failed == 0, rule.counts(spark).last_error


@pytest.mark.parametrize("make", [make_iceberg, make_delta])
def test_one_frame_in_several_places(spark: SparkSession, tmp_path: Path, make: Make) -> None:
    """Spark then has one scan in several places; an Iceberg scan that others read by cannot be changed in place."""
    lake = covered(make(spark, tmp_path))
    for appended in (False, True):
        if appended:
            lake.append(rows_of(spark, 10_000, 60, 1))
        frame = spark.table(lake.name) if lake.format == "iceberg" else spark.sql(f"SELECT * FROM {lake.name}")
        for ask in [
            lambda f=frame: f.where("k = 3").select("id").union(f.where("k = 5").select("id")),
            lambda f=frame: f.select("k").union(f.where("k = 5").select("k")),
            lambda f=frame: f.where("k = 3").select("k", "id").join(f.select("k", "name"), "k"),
        ]:
            found = sorted(map(repr, ask().collect()))
            with uncompiled(spark), SparkDriver(spark).setting("spark.metaindex.enabled", "false"):
                assert found == sorted(map(repr, ask().collect()))
    assert rule.counts(spark).failed == 0, rule.counts(spark).last_error


def test_settings_bound_a_hybrid_scan(spark: SparkSession, tmp_path: Path) -> None:
    lake = covered(make_delta(spark, tmp_path))
    lake.append(rows_of(spark, 10_000, 300, 2))
    text = FILTERS[0].format(t=lake.name)
    asked(spark, text)
    for name, value in [
        ("hybridScan.enabled", "false"),
        ("hybridScan.maxAppendedRatio", "0.1"),
        ("disabledIndexes", "cov"),
    ]:
        with SparkDriver(spark).setting(f"spark.metaindex.{name}", value):
            asked(spark, text, by=None)


@pytest.mark.parametrize("make", [make_delta, make_iceberg])
def test_dml_streams_and_samples_do_not_see_an_index(spark: SparkSession, tmp_path: Path, make: Make) -> None:
    lake = covered(make(spark, tmp_path))
    spark.sql(f"UPDATE {lake.name} SET name = 'changed' WHERE k = 7 AND id < 100")
    spark.sql(f"DELETE FROM {lake.name} WHERE k = 9")
    spark.sql(
        f"MERGE INTO {lake.name} t USING (SELECT DISTINCT k FROM {lake.name} WHERE k = 11) s ON t.k = s.k WHEN MATCHED"
        " THEN DELETE"
    )
    asked(spark, FILTERS[3].format(t=lake.name), by="")
    asked(spark, GROUPS[0].format(t=lake.name), by="")
    rows = spark.sql(f"SELECT count(*) FROM {lake.name}").head()
    assert rows[0] == ROWS - sum(1 for i in range(ROWS) if i % 31 and i * 17 % 50 in (9, 11))
    # Its rows are not compared: Iceberg plans the files of a query in no certain order, and a repeatable sample is
    # one of that order.
    sample = spark.sql(f"SELECT id FROM {lake.name} TABLESAMPLE (50 PERCENT) REPEATABLE (3) WHERE k = 7")
    assert set(map(repr, sample.collect())) <= set(without_the_rule(spark, f"SELECT id FROM {lake.name} WHERE k = 7"))
    assert "metaindex" not in plan_of(sample)


def test_rows_deleted_by_their_values_are_the_tables_to_leave_out(spark: SparkSession, tmp_path: Path) -> None:
    """Iceberg's equality deletes: files before one are read from the table, those after it, and versions before it,
    from the index."""
    lake = covered(make_iceberg(spark, tmp_path, partitioned=""))
    lake.append(rows_of(spark, 10_000, 60, 1))
    _delete_by_value(lake, [7, 10_004])
    text = "SELECT k, id FROM {t} WHERE k IN (7, 18, 19)"
    asked(spark, text.format(t=lake.name), by="")
    lake.append(rows_of(spark, 20_000, 1200, 2))
    lake.table().refresh_index("cov")
    asked(spark, text.format(t=lake.name), by="cov: covering, and files that it lacks")
    asked(spark, GROUPS[0].format(t=lake.name), by="")
    for version in versions_of(lake):
        asked(spark, text.format(t=lake.name + version), by="")


def _delete_by_value(lake: Lake, ids: list[int]) -> None:
    """As Flink does it: a file of values of `id`, whose rows are gone from all files before it."""
    spark, java = lake.spark, lake.spark._jvm
    file = f"{lake.path}/data/equal-{ids[0]}.parquet"
    id_ = pa.field("id", pa.int64(), metadata={"PARQUET:field_id": "1"})
    pq.write_table(pa.table([pa.array(ids, pa.int64())], schema=pa.schema([id_])), file)
    iceberg = java.org.apache.iceberg
    fields = spark.sparkContext._gateway.new_array(java.int, 1)
    fields[0] = 1
    table = iceberg.spark.Spark3Util.loadIcebergTable(spark._jsparkSession, lake.name)
    delete = (
        iceberg.FileMetadata.deleteFileBuilder(table.spec())
        .ofEqualityDeletes(fields)
        .withPath(file)
        .withFileSizeInBytes(Path(file).stat().st_size)
        .withRecordCount(len(ids))
        .withFormat(iceberg.FileFormat.PARQUET)
        .build()
    )
    table.newRowDelta().addDeletes(delete).commit()
    spark.sql(f"REFRESH TABLE {lake.name}")


def test_ranges_leave_parts_out(spark: SparkSession, tmp_path: Path) -> None:
    lake = covered(make_delta(spark, tmp_path), mi.CoveringRange(indexed=["d", "k"], included=["id", "v"]))
    text = "SELECT id, v FROM {t} WHERE d BETWEEN DATE'2024-01-05' AND DATE'2024-01-06'"
    asked(spark, text.format(t=lake.name))
    asked(spark, f"SELECT count(*) FROM {lake.name} WHERE d IS NULL OR d < DATE'2024-01-03'")
    asked(
        spark, f"SELECT count(*) FROM {lake.name} WHERE d IS NULL OR d > DATE'2030-01-01'", by=""
    )  # Delta's own statistics leave every file out
    lake.append(rows_of(spark, 10_000, 60, 1))
    delete_rows(lake, "id % 50 = 8")
    asked(spark, text.format(t=lake.name))


def test_csv(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "csv")
    rows_of(spark).drop("p").write.csv(path, header=True)
    schema = "id bigint, k int, name string, v double, d date, pad string"
    options: dict[str, Any] = {"header": "true", "schema": schema}
    mi.open_table(path, format="csv", spark=spark, **options).create_index("cov", INDEXED)
    spark.read.schema(schema).option("header", "true").csv(path).createOrReplaceTempView("texts")
    for text in [FILTERS[0], FILTERS[2], JOINS[1], GROUPS[0]]:
        asked(spark, text.format(t="texts"))
    spark.read.schema(schema).option("header", "true").option("nullValue", "n5").csv(path).createOrReplaceTempView(
        "texts"
    )
    asked(spark, FILTERS[0].format(t="texts"), by=None)


@pytest.mark.parametrize("form", ["csv", "json"])
def test_texts_are_read_by_columns_alone(spark: SparkSession, tmp_path: Path, form: str) -> None:
    """Of texts a scan reads every byte: an index with the columns is taken for them, whatever the filters are, but
    where rows are seen in the order of the lines, or lines are counted."""
    path = str(tmp_path / form)
    getattr(rows_of(spark).drop("p").write, form)(path, **({"header": True} if form == "csv" else {}))
    schema = "id bigint, k int, name string, v double, d date, pad string"
    options: dict[str, Any] = {"schema": schema} | ({"header": "true"} if form == "csv" else {})
    mi.open_table(path, format=form, spark=spark, **options).create_index("cov", INDEXED)
    frame = spark.read.schema(schema).options(**options).format(form).load(path)
    frame.createOrReplaceTempView("texts")
    for text in (
        "SELECT name, count(*), sum(id) FROM texts GROUP BY name",
        "SELECT max(v) FROM texts",
        "SELECT count(*) FROM texts WHERE (id > 30 AND name <> 'n7') OR v IS NULL",
        "SELECT sum(a.id), count(r.n) FROM texts a JOIN (SELECT explode(array(3, 5, 8)) AS n) r ON a.id = r.n * 2"
        " WHERE a.name > 'n1'",
        "SELECT max(w) FROM (SELECT v AS w FROM texts WHERE name > 'n1' UNION ALL SELECT id FROM texts)",
    ):
        plan = asked(spark, text)
        assert plan.count(f"FileScan {form}") == plan.count("covering lacks 0/"), plan
    for text in (
        "SELECT id, v FROM texts",
        "SELECT id FROM texts WHERE name > 'n1' LIMIT 5",
        "SELECT count(*) FROM texts",
        "SELECT max(pad) FROM texts",
        "SELECT sum(id) FROM (SELECT id FROM texts LIMIT 10)",
        "SELECT name, first(id) FROM texts GROUP BY name",
        "SELECT collect_list(id), max(v) FROM texts WHERE name > 'n1'",
        "SELECT a.id, r.n FROM texts a JOIN (SELECT explode(array(3, 5, 8)) AS n) r ON a.id = r.n * 2 WHERE a.name >"
        " 'n1'",
        "SELECT count(*) FROM (SELECT row_number() OVER (PARTITION BY name ORDER BY d) AS r FROM texts) WHERE r = 1",
    ):
        asked(spark, text, by=None)
    assert "Scan" in asked(spark, "SELECT max(pad), max(v) FROM texts", by=None)
    rows_of(spark, 10_000, 60, 1).drop("p").write.mode("append").format(form).options(**options).save(path)
    frame = spark.read.schema(schema).options(**options).format(form).load(path)
    frame.createOrReplaceTempView("texts")
    asked(spark, "SELECT name, count(*), sum(id) FROM texts GROUP BY name", by="files that it lacks")


def test_explain_tells_which_index_stands_for_a_scan(spark: SparkSession, tmp_path: Path) -> None:
    lake = covered(make_delta(spark, tmp_path))
    told = mi.explain(spark.sql(f"SELECT id FROM {lake.name} WHERE k = 7"))
    (scan,) = told.scans
    assert scan.cover.read_bytes < scan.cover.source_bytes
    assert "index 'cov' stands for it" in str(told)
    assert str(told).count(" of the needed columns in place of ") == 2
    told = mi.explain(spark.sql(f"SELECT pad FROM {lake.name} WHERE k = 7"))
    assert told.scans[0].refused == {"cov": rule.Reason.NOT_COVERED}
    assert "NOT_COVERED" in str(told)


def test_a_part_that_is_gone_is_said(spark: SparkSession, tmp_path: Path) -> None:
    """Also where the session passes over missing files: rows of an index are not lost so."""
    lake = covered(make_delta(spark, tmp_path))
    with SparkDriver(spark).setting("spark.sql.files.ignoreMissingFiles", "true"):
        query = spark.sql(f"SELECT id FROM {lake.name} WHERE k = 7")
        assert "cov: covering" in plan_of(query)
        for part in (Path(lake.path) / "_metaindex" / "cov" / "covering").rglob("*.mix"):
            part.unlink()
        with pytest.raises(Exception, match=re.compile("does not exist|FILE_NOT_EXIST", re.IGNORECASE)):
            query.collect()
