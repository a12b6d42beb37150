"""A covering index stands for a scan: the same rows as with the rule off, at every version, whatever was deleted or appended since; joins and groups by its keys shuffle nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import metaindex as mi
from metaindex import rule

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FILES = 6
ROWS = 600
BUCKETS = 4
INDEXED = mi.Covering(indexed=["k"], included=["id", "name", "v", "d"], buckets=BUCKETS)


@pytest.fixture
def enabled(spark: SparkSession) -> Iterator[SparkSession]:
    before = spark.conf.get("spark.sql.autoBroadcastJoinThreshold")
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    rule.enable(spark, rule=mi.RuleConfig(max_appended_ratio=1.0, max_deleted_ratio=1.0))
    yield spark
    rule.disable(spark)
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", before)


def rows_of(spark: SparkSession, start: int = 0, count: int = ROWS, files: int = FILES) -> DataFrame:
    """k: 0..49 and some NULL, in no order; `pad` is what no index has."""
    return spark.range(start, start + count, 1, files).selectExpr(
        "id",
        "CAST(CASE WHEN id % 31 = 0 THEN NULL ELSE id * 17 % 50 END AS int) AS k",
        "concat('n', id * 31 % 97) AS name",
        "CAST(CASE id % 13 WHEN 0 THEN 'NaN' WHEN 1 THEN '-0.0' ELSE id / 7 END AS double) AS v",
        "date_add(DATE'2024-01-01', CAST(id % 40 AS int)) AS d",
        "repeat(sha2(CAST(id AS string), 512), 4) AS pad",
        "CAST(id % 3 AS int) AS p",
    )


@dataclass(frozen=True)
class Lake:
    """A table of one of the formats, to be changed. `name`: as SQL names it."""

    spark: SparkSession
    format: str
    name: str
    path: str

    def table(self) -> mi.Table:
        return mi.open_table(self.path, spark=self.spark)

    def append(self, frame: DataFrame) -> None:
        if self.format == "iceberg":
            frame.writeTo(self.name).append()
        elif self.format == "delta":
            frame.write.format("delta").mode("append").save(self.path)
        else:
            frame.write.mode("append").partitionBy("p").parquet(self.path)


def make_parquet(spark: SparkSession, folder: Path) -> Lake:
    path = str(folder / "par quet")
    rows_of(spark).write.partitionBy("p").parquet(path)
    return Lake(spark, "files", f"parquet.`{path}`", path)


def make_delta(spark: SparkSession, folder: Path) -> Lake:
    path = str(folder / "de lta%20")
    rows_of(spark).write.format("delta").partitionBy("p").option("delta.enableDeletionVectors", "true").save(path)
    return Lake(spark, "delta", f"delta.`{path}`", path)


def make_iceberg(spark: SparkSession, folder: Path, partitioned: str = "PARTITIONED BY (p)") -> Lake:
    name = f"iceberg.covering.t{abs(hash(str(folder))) % 10**9}"
    columns = ", ".join(f"{one} {type_}" for one, type_ in rows_of(spark).dtypes)
    spark.sql(
        f"CREATE TABLE {name} ({columns}) USING iceberg {partitioned} "
        "TBLPROPERTIES ('format-version'='3', 'write.delete.mode'='merge-on-read', 'write.distribution-mode'='none', 'write.spark.fanout.enabled'='true')"
    )
    rows_of(spark).writeTo(name).append()
    location = spark.sql(f"DESCRIBE TABLE EXTENDED {name}").where("col_name = 'Location'").head()
    assert location is not None
    return Lake(spark, "iceberg", name, location["data_type"].removeprefix("file:"))


MAKERS = [make_parquet, make_delta, make_iceberg]
Make = Callable[["SparkSession", Path], Lake]


def covered(lake: Lake, kind: Any = INDEXED) -> Lake:
    lake.table().create_index("cov", kind)
    return lake


def plan_of(frame: DataFrame) -> str:
    """The plan as it was run."""
    return str(frame._jdf.queryExecution().executedPlan().toString()).split("== Initial Plan")[0]


def asked(spark: SparkSession, text: str, *, by: str | None = "cov: covering") -> str:
    """The plan with the rule, whose rows are those without it. `by`: what the plan says; None: nothing of metaindex; "": whatever is cheaper."""
    before = rule.counts(spark).failed
    frame = spark.sql(text)
    found = sorted(map(repr, frame.collect()))
    spark.conf.set("spark.metaindex.enabled", "false")
    try:
        assert found == sorted(map(repr, spark.sql(text).collect())), text
    finally:
        spark.conf.unset("spark.metaindex.enabled")
    plan = plan_of(frame)
    assert rule.counts(spark).failed == before, rule.counts(spark).last_error
    assert (by in plan) if by is not None else ("metaindex" not in plan), (text, plan)
    return plan


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
    "SELECT id FROM {t} WHERE k = 7 AND rand(3) < 0.5",  # below 1: Spark's OptimizeRand makes `true` of what always holds
    "SELECT id FROM {t} WHERE k = 7 AND CAST(substring(name, 2) AS int) > 5",  # may fail of rows that the scan would not read
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
def test_a_fresh_index_stands_for_scans(enabled: SparkSession, tmp_path: Path, make: Make) -> None:
    spark = enabled
    lake = covered(make(spark, tmp_path))
    every_query(spark, lake.name, sorts=False)
    query = spark.sql(FILTERS[0].format(t=lake.name))
    query.collect()
    (scan,) = [query._jdf.queryExecution().executedPlan().collectLeaves().apply(0)]
    assert scan.metrics().apply("numOutputRows").value() < ROWS / 2, "other buckets are left out"
    for text in OTHERS:
        asked(spark, text.format(t=lake.name), by=None)


def delete_rows(lake: Lake, condition: str) -> None:
    if lake.format != "files":
        lake.spark.sql(f"DELETE FROM {lake.name} WHERE {condition}")
        return
    victim = sorted(one for one in Path(lake.path).rglob("*.parquet") if one.is_file())[0]
    victim.unlink()
    (victim.parent / f".{victim.name}.crc").unlink(missing_ok=True)


def versions_of(lake: Lake) -> list[str]:
    """What stands behind the name for each version."""
    if lake.format == "files":
        return [""]
    return [f" VERSION AS OF {one.id}" for one in lake.table().versions()]


@pytest.mark.parametrize("make", MAKERS)
def test_what_was_deleted_and_appended_since(enabled: SparkSession, tmp_path: Path, make: Make) -> None:
    """The index is behind: rows deleted by position, whole files gone, files it does not have. Joins shuffle the appended part at most, at every version."""
    spark = enabled
    lake = covered(make(spark, tmp_path))
    delete_rows(lake, "id % 50 = 8")  # some rows of every file
    lineage = FILTERS[0].format(t=lake.name)
    asked(spark, lineage)
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


def test_a_listing_of_spark_decides_which_plain_files_there_are(enabled: SparkSession, tmp_path: Path) -> None:
    """A frame that was made before a file went, or came, or was replaced by another of the same name."""
    spark = enabled
    lake = covered(make_parquet(spark, tmp_path))
    old = spark.read.parquet(lake.path)
    lake.append(rows_of(spark, 10_000, 60, 1))
    lake.table().refresh_index("cov")
    new = spark.read.parquet(lake.path)
    for frame, count in [(old, ROWS), (new, ROWS + 60)]:
        assert frame.where("k IS NULL OR k >= 0").groupBy("k").count().selectExpr("sum(count)").head()[0] == count
        found = frame.groupBy("k").count()
        assert "cov: covering" in plan_of(found)
    files = sorted(one for one in Path(lake.path).rglob("*.parquet") if one.is_file())
    files[0].write_bytes(files[1].read_bytes())
    (files[0].parent / f".{files[0].name}.crc").unlink(missing_ok=True)
    asked(spark, GROUPS[0].format(t=lake.name))
    assert rule.counts(spark).failed == 0, rule.counts(spark).last_error


def test_one_frame_in_several_places(enabled: SparkSession, tmp_path: Path) -> None:
    """Spark then has one scan in several places; an Iceberg scan that others read by cannot be changed in place."""
    spark = enabled
    for make in (make_iceberg, make_delta):
        lake = covered(make(spark, tmp_path / make.__name__))
        for appended in (False, True):
            if appended:
                lake.append(rows_of(spark, 10_000, 60, 1))
            frame = spark.table(lake.name) if lake.format == "iceberg" else spark.sql(f"SELECT * FROM {lake.name}")
            for ask in [
                lambda f=frame: f.where("k = 3").select("id").union(f.where("k = 5").select("id")),  # type: ignore[misc]
                lambda f=frame: f.select("k").union(f.where("k = 5").select("k")),  # type: ignore[misc]
                lambda f=frame: f.where("k = 3").select("k", "id").join(f.select("k", "name"), "k"),  # type: ignore[misc]
            ]:
                found = sorted(map(repr, ask().collect()))
                spark.conf.set("spark.metaindex.enabled", "false")
                assert found == sorted(map(repr, ask().collect()))
                spark.conf.unset("spark.metaindex.enabled")
    assert rule.counts(spark).failed == 0, rule.counts(spark).last_error


def test_settings_bound_a_hybrid_scan(enabled: SparkSession, tmp_path: Path) -> None:
    spark = enabled
    lake = covered(make_delta(spark, tmp_path))
    lake.append(rows_of(spark, 10_000, 300, 2))
    text = FILTERS[0].format(t=lake.name)
    asked(spark, text)
    for name, value in [
        ("hybridScan.enabled", "false"),
        ("hybridScan.maxAppendedRatio", "0.1"),
        ("disabledIndexes", "cov"),
    ]:
        spark.conf.set(f"spark.metaindex.{name}", value)
        try:
            asked(spark, text, by=None)
        finally:
            spark.conf.unset(f"spark.metaindex.{name}")


def test_columns_of_another_type_and_other_names(enabled: SparkSession, tmp_path: Path) -> None:
    """Renamed columns are the same ones; a column that was re-typed since is served only by runs that have the new type."""
    spark = enabled
    lake = covered(make_iceberg(spark, tmp_path))
    spark.sql(f"ALTER TABLE {lake.name} RENAME COLUMN name TO called")
    asked(spark, f"SELECT id, called FROM {lake.name} WHERE k = 7")
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
        spark.read.schema(schema).parquet(path).createOrReplaceTempView("typed")
        asked(spark, "SELECT * FROM typed WHERE k = 3", by=by)


def test_dml_streams_and_samples_do_not_see_an_index(enabled: SparkSession, tmp_path: Path) -> None:
    spark = enabled
    for make in (make_delta, make_iceberg):
        lake = covered(make(spark, tmp_path / make.__name__))
        spark.sql(f"UPDATE {lake.name} SET name = 'changed' WHERE k = 7 AND id < 100")
        spark.sql(f"DELETE FROM {lake.name} WHERE k = 9")
        spark.sql(
            f"MERGE INTO {lake.name} t USING (SELECT DISTINCT k FROM {lake.name} WHERE k = 11) s ON t.k = s.k WHEN MATCHED THEN DELETE"
        )
        asked(spark, FILTERS[3].format(t=lake.name), by="")
        asked(spark, GROUPS[0].format(t=lake.name), by="")
        rows = spark.sql(f"SELECT count(*) FROM {lake.name}").head()
        gone = sum(1 for i in range(ROWS) if i % 31 and i * 17 % 50 in (9, 11))
        assert rows is not None
        assert rows[0] == ROWS - gone
        asked(spark, f"SELECT id FROM {lake.name} TABLESAMPLE (50 PERCENT) REPEATABLE (3) WHERE k = 7", by=None)


@pytest.mark.parametrize("form", ["parquet", "delta", "iceberg"])
def test_fields_of_structs(enabled: SparkSession, tmp_path: Path, form: str) -> None:
    """An index of fields stands for a scan of which nothing else of the struct is asked."""
    spark = enabled
    rows = spark.range(0, 300, 1, 3).selectExpr(
        "id",
        "IF(id % 11 = 0, NULL, named_struct('user', CAST(id % 20 AS int), 'more', named_struct('text', concat('t', id % 3), 'b', id), 'rest', repeat(sha2(string(id), 512), 4))) AS payload",
    )
    path = str(tmp_path / "nested")
    if form == "iceberg":
        name = f"iceberg.covering.nested{abs(hash(path)) % 10**9}"
        rows.writeTo(name).using("iceberg").create()
        location = spark.sql(f"DESCRIBE TABLE EXTENDED {name}").where("col_name = 'Location'").head()
        assert location is not None
        path = location["data_type"].removeprefix("file:")
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
        "SELECT payload.more.text AS x, count(*) AS c FROM {t} WHERE payload.user IS NULL OR payload.user = 7 GROUP BY payload.more.text",
    ]:
        asked(spark, text.format(t=name))
    for text in [
        "SELECT payload FROM {t} WHERE payload.user = 5",
        "SELECT id FROM {t} WHERE payload.user = 5 AND payload IS NOT NULL",
        "SELECT payload.more FROM {t} WHERE payload.user = 5",
        "SELECT payload.rest FROM {t} WHERE payload.user = 5",
    ]:
        asked(spark, text.format(t=name), by=None)


def test_a_column_called_as_a_field_of_a_struct(enabled: SparkSession, tmp_path: Path) -> None:
    """`a.b` is a column, a.b a field: an index of the one does not stand for the other."""
    spark = enabled
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


def test_rows_deleted_by_their_values_are_the_tables_to_leave_out(enabled: SparkSession, tmp_path: Path) -> None:
    """Iceberg's equality deletes: files before one are read from the table, those after it, and versions before it, from the index."""
    spark = enabled
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
    assert java is not None
    iceberg = java.org.apache.iceberg
    gateway = spark.sparkContext._gateway
    assert gateway is not None
    fields = gateway.new_array(java.int, 1)
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


def test_ranges_leave_parts_out(enabled: SparkSession, tmp_path: Path) -> None:
    spark = enabled
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


def test_csv(enabled: SparkSession, tmp_path: Path) -> None:
    spark = enabled
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


def test_explain_tells_which_index_stands_for_a_scan(enabled: SparkSession, tmp_path: Path) -> None:
    spark = enabled
    lake = covered(make_delta(spark, tmp_path))
    told = mi.explain(spark.sql(f"SELECT id FROM {lake.name} WHERE k = 7"))
    (scan,) = told.scans
    assert scan.cover is not None
    assert scan.cover.read_bytes < scan.cover.source_bytes
    assert "index 'cov' stands for it" in str(told)
    told = mi.explain(spark.sql(f"SELECT pad FROM {lake.name} WHERE k = 7"))
    assert told.scans[0].refused == {"cov": rule.Reason.NOT_COVERED}
    assert "NOT_COVERED" in str(told)


def test_a_part_that_is_gone_is_said(enabled: SparkSession, tmp_path: Path) -> None:
    """Also where the session passes over missing files: rows of an index are not lost so."""
    spark = enabled
    lake = covered(make_delta(spark, tmp_path))
    spark.conf.set("spark.sql.files.ignoreMissingFiles", "true")
    try:
        query = spark.sql(f"SELECT id FROM {lake.name} WHERE k = 7")
        assert "cov: covering" in plan_of(query)
        for part in (Path(lake.path) / "_metaindex" / "cov" / "covering").rglob("*.mix"):
            part.unlink()
        with pytest.raises(Exception, match=re.compile("does not exist|FILE_NOT_EXIST", re.IGNORECASE)):
            query.collect()
    finally:
        spark.conf.unset("spark.sql.files.ignoreMissingFiles")


def test_texts_with_a_collation_are_compared_by_spark(enabled: SparkSession, tmp_path: Path) -> None:
    """Neither the bytes' order nor their hash says which of them are equal."""
    spark = enabled
    path = str(tmp_path / "collated")
    spark.sql(
        "SELECT id, CAST(IF(id < 50, 'a', 'A') AS STRING COLLATE UTF8_LCASE) AS c FROM range(0, 100, 1, 2)"
    ).write.parquet(path)
    table = mi.open_table(path, spark=spark)
    table.create_index("cov", mi.Covering("c", "id", buckets=4))
    table.create_index("stats", mi.ColumnStats(), builder="local")
    for text in [
        "SELECT count(*) FROM {t} WHERE c = 'A'",
        "SELECT c, count(*) FROM {t} GROUP BY c",
        "SELECT count(*) FROM {t} a JOIN {t} b ON a.c = b.c",
    ]:
        asked(spark, text.format(t=f"parquet.`{path}`"), by=None)
