"""An explanation says what each scan leaves out and by which index, and for the others why not, by a code from a closed
list."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import metaindex as mi
from metaindex.core import SparkDriver, SparkRelease
from metaindex.index import Kind
from metaindex.spark.optimizer.explaining import QueryExplanation
from metaindex.spark.optimizer.reasons import Reason
from metaindex.spark.optimizer.scan_planner import Planned
from metaindex.spark.optimizer.why_not import _verdict
from metaindex.table import IndexInfo
from tests.each_spark import PINNED, lacks
from tests.spark.optimizer.lakes import location_of, ruled


@pytest.fixture(scope="module")
def lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("explained")
    rows = spark.range(0, 400, 1, 4).selectExpr("id", "id % 7 AS k", "CAST(id AS string) AS text")
    rows.write.parquet(str(folder / "par quet"))
    paths = [str(folder / "par quet")]
    if not lacks("delta"):
        rows.write.format("delta").save(str(folder / "delta"))
        paths.append(str(folder / "delta"))
    rows.write.parquet(str(folder / "bare"))
    rows.write.csv(str(folder / "csv"), header=True)
    if not lacks("iceberg"):
        spark.sql(
            "CREATE TABLE iceberg.explained.t (id bigint, k bigint, text string) USING iceberg TBLPROPERTIES"
            " ('write.distribution-mode'='none', 'write.metadata.metrics.default'='none')"
        )
        rows.writeTo("iceberg.explained.t").append()
        paths.append(location_of(spark, "iceberg.explained.t"))
    for path in paths:
        mi.open_table(path).create_index("stats", mi.ColumnStats(), builder="local")
    yield folder
    if not lacks("iceberg"):
        spark.sql("DROP TABLE iceberg.explained.t")


def test_what_an_index_leaves_out_is_told(enabled: SparkSession, lake: Path) -> None:
    for name in (f"parquet.`{lake}/par quet`", f"delta.`{lake}/delta`", "iceberg.explained.t"):
        told = mi.explain(enabled.sql(f"SELECT text FROM {name} WHERE id = 210 AND k < 9"))
        (scan,) = told.scans
        assert (scan.result.kept_files, scan.result.total_files) == (1, 4)
        assert "reads 1 of 4 files" in str(told)
        assert repr(told).startswith("<QueryExplanation: ")
        assert "\n" not in repr(told)
        if "delta" in name:  # whose log has the same statistics
            assert [verdict.reason for verdict in scan.indexes] == [Reason.TABLES_OWN]
            assert "stats: TABLES_OWN" in str(told)
            assert "at version 0: the table's own statistics" in str(told)
        else:
            assert [verdict.reason for verdict in scan.indexes] == [None]
            assert "stats by id, k" in str(told)
        assert "metaindex" not in told.without_indexes
        json.dumps(told.to_json())
        silent = (
            () if SparkRelease.installed() is PINNED else ("iceberg",)
        )  # whose older scans tell no filters of run time
        if not name.startswith(("delta", *silent)):  # Delta's planner drops the label
            assert "metaindex" in told.with_indexes
            assert "<b style" in told._repr_html_()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("SELECT id FROM parquet.`{0}/par quet`", Reason.NO_FILTER),
        ("SELECT id FROM parquet.`{0}/par quet` WHERE coalesce(id, 1) = 1", Reason.NOT_UNDERSTOOD),
        ("SELECT id FROM parquet.`{0}/par quet` WHERE id >= 0 AND id % 2 = 1", Reason.NOTHING_PROVED),
        ("SELECT id FROM parquet.`{0}/bare` WHERE id = 3", Reason.NO_INDEX),
        ("SELECT _c0 FROM csv.`{0}/csv` WHERE _c0 = '3'", Reason.NO_INDEX),
        ("SELECT id, _metadata.file_path FROM parquet.`{0}/par quet` WHERE id = 3", Reason.FILE_METADATA),
        ("SELECT id FROM parquet.`{0}/par quet` WHERE id = 3 AND rand(1) < 0.5", Reason.NOT_DETERMINISTIC),
        ("SELECT id FROM parquet.`{0}/par quet` TABLESAMPLE (50 PERCENT) WHERE id = 3", Reason.SAMPLE),
    ],
)
def test_why_not_is_told(enabled: SparkSession, lake: Path, text: str, reason: Reason) -> None:
    told = mi.explain(enabled.sql(text.format(lake)))
    assert [scan.reason for scan in told.scans] == [reason]
    assert reason.name in str(told)
    assert told.with_indexes.replace("#", "").count("Scan") == told.without_indexes.replace("#", "").count("Scan")


def test_another_schema_of_the_session_is_told(enabled: SparkSession, lake: Path) -> None:
    told = mi.explain(enabled.read.schema("id int, k bigint").parquet(f"{lake}/par quet").where("id = 3"))
    assert [scan.reason for scan in told.scans] == [Reason.OTHER_TYPES]
    assert "the index has id as BIGINT, and the query reads it as INT; read them as the index has them, or" in str(told)


def test_what_each_index_does_is_told(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    spark.range(0, 400, 1, 4).selectExpr("id", "CAST(id AS string) AS text").write.parquet(path)
    table = mi.open_table(path)
    for name, kind in [
        ("ids", mi.ColumnStats("id")),
        ("texts", mi.Values("text")),
        ("off", mi.Bloom("id")),
        ("barred", mi.Bloom("id")),
    ]:
        table.create_index(name, kind, builder="local")
    table.disable_index("off")
    session = spark.newSession()
    with ruled(session, rule=mi.RuleConfig(disabled_indexes=("barred",))):
        told = mi.explain(session.read.parquet(path).where("id = 210"), run=True)
        (scan,) = told.scans
        said = {one.index: one.reason for one in scan.indexes}
        assert said == {
            "ids": None,
            "texts": Reason.OTHER_COLUMNS,
            "off": Reason.NOT_USABLE,
            "barred": Reason.NOT_ALLOWED,
        }
        (read,) = told.read
        assert (read.files, read.rows) == (1, 100)
        assert 0 < (read.size_bytes or 0) < 10_000
        nothing = mi.explain(session.read.parquet(path).where("id >= 0 AND text <> 'x'"))
        assert {one.index: one.reason for one in nothing.scans[0].indexes}["ids"] is Reason.NOTHING_PROVED
        json.dumps(told.to_json())
        _modes(session, told)


def _modes(session: SparkSession, told: QueryExplanation) -> None:
    """Of one explanation, and by the session's settings."""
    plain = str(told)
    assert "Indexes not used:\n  barred: NOT_ALLOWED" in plain
    assert re.search(r"<----FileScan parquet .*---->$", plain, re.MULTILINE)
    console = told.text("console")
    assert re.search(r"\x1b\[42mFileScan parquet .*\x1b\[0m$", console, re.MULTILINE)
    assert "<----" not in console
    assert "&lt;metaindex ids" in told.text("html")
    session.conf.set("spark.metaindex.explain.displayMode", "console")
    session.conf.set("spark.metaindex.explain.displayMode.highlight.beginTag", ">>")
    session.conf.set("spark.metaindex.explain.displayMode.highlight.endTag", "<<")
    again = mi.explain(session.read.parquet(told.scans[0].scan.removeprefix("files file:")).where("id = 210"))
    assert re.search(r">>FileScan parquet .*<<$", str(again), re.MULTILINE)
    assert again._repr_html_().startswith("<div>")


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ("count(DISTINCT k)", Reason.TEXT_VALUES),
        ("DISTINCT k", Reason.TEXT_VALUES),
        ("approx_count_distinct(k)", Reason.TEXT_VALUES),
        ("sum(k)", Reason.NOTHING_ANSWERED),
        ("count(*)", Reason.LINES),
        ("count(id), max(id)", None),
        ("count(DISTINCT part)", None),  # of which each file has one value
    ],
)
def test_what_is_not_answered_of_text_is_told(
    enabled: SparkSession, text_lake: str, asked: str, reason: Reason | None
) -> None:
    schema = "id BIGINT, k BIGINT, part BIGINT"
    enabled.read.csv(text_lake, header=True, schema=schema).createOrReplaceTempView("texts")
    (scan,) = mi.explain(enabled.sql(f"SELECT {asked} FROM texts")).scans
    if reason is None:
        assert "4 files are answered for" in str(scan)
    else:
        assert scan.taken is reason
        assert f"{reason.name}: {reason.value}" in str(scan)
        assert ("Sums" in str(scan)) == (asked == "sum(k)"), "an index of Sums helps none of the others"


@pytest.fixture(scope="module")
def text_lake(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(tmp_path_factory.mktemp("texts") / "csv")
    spark.range(0, 400, 1, 4).selectExpr("id", "id % 7 AS k", "id DIV 100 AS part").write.csv(path, header=True)
    schema = pa.schema([(name, pa.int64()) for name in ("id", "k", "part")])
    table = mi.open_table(path, format="csv", header=True, schema=schema)
    table.create_index("stats", mi.ColumnStats(), mi.ValueList("k"), builder="local")
    return path


def test_what_a_copy_is_good_for_that_is_larger_than_its_table_is_told(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    rows = spark.range(0, 40_000, 1, 1).selectExpr("id", "(id * 7919) % 40009 AS k", "concat('text ', id DIV 100) AS s")
    rows.write.option("compression", "zstd").parquet(path)  # in their order they take less
    mi.open_table(path, spark=spark).create_index("copy", mi.Covering(["k"], ["id", "s"], buckets=2), builder="spark")
    spark.read.parquet(path).createOrReplaceTempView("t")
    with ruled(spark), SparkDriver(spark).setting("spark.sql.autoBroadcastJoinThreshold", "-1"):
        some = mi.explain(spark.sql("SELECT id, s FROM t WHERE k = 3"))
        joined = mi.explain(spark.sql("SELECT a.s, b.id FROM t a JOIN t b ON a.k = b.k"))
        grouped = mi.explain(spark.sql("SELECT k, collect_list(s) FROM t GROUP BY k"))
    larger = r"its files are larger \(\S+ .B, the table's \S+ .B\), and "
    for told, what in (
        (some, "less of the needed columns is read"),
        (joined, "(less of the needed columns is read and )?the join has fewer rows to shuffle"),
        (grouped, "(less of the needed columns is read and )?the group has fewer rows to shuffle"),
    ):
        for scan in told.scans:
            assert scan.cover is not None
            assert re.search(larger + what, str(scan)), str(scan)
            (verdict,) = scan.indexes
            assert re.search(larger + what, str(verdict)), str(verdict)


def test_what_was_read_is_told(enabled: SparkSession, lake: Path) -> None:
    """A join that is planned adaptively, with a subquery: every scan is found."""
    text = (
        f"SELECT a.id FROM delta.`{lake}/delta` a JOIN iceberg.explained.t b ON a.text = b.text WHERE a.id = 210 AND"
        f" b.id > (SELECT max(id) - 5 FROM parquet.`{lake}/par quet` WHERE id < 100 AND length(text) > 0)"
    )
    told = mi.explain(enabled.sql(text), run=True)
    assert sorted((one.files is None, one.files or one.splits) for one in told.read)[0][1] == 1
    assert len(told.read) == 3
    assert "Scans, as read:" in str(told)


def test_a_scan_that_an_adaptive_plan_drops_is_told(enabled: SparkSession, lake: Path) -> None:
    """One side comes out empty, which is known once it ran. What is read once for two sides of a join did run."""
    table = f"parquet.`{lake}/par quet`"
    empty = (
        f"SELECT /*+ BROADCAST(b) */ a.id FROM {table} a JOIN delta.`{lake}/delta` b ON a.k = b.k WHERE b.text = 'no'"
    )
    grouped = f"(SELECT k, count(*) AS c FROM {table} WHERE id >= 0 GROUP BY k)"
    twice = f"SELECT x.k FROM {grouped} x JOIN {grouped} y ON x.c = y.c"
    with SparkDriver(enabled).setting("spark.sql.adaptive.enabled", "true"):
        told, whole = mi.explain(enabled.sql(empty), run=True), mi.explain(enabled.sql(twice), run=True)
    assert told.read is not None
    assert whole.read is not None
    assert (told.read, len(told.dropped_scans)) == ((), 2), told
    assert str(told).count(": dropped from the plan as the query ran, which needs no row of it; ") == 2
    assert told.to_json()["dropped_scans"] == list(told.dropped_scans)
    assert (len(whole.read), whole.dropped_scans) == (1, ()), whole


def test_only_an_enabled_session_is_explained(spark: SparkSession) -> None:
    with pytest.raises(ValueError, match=r"metaindex\.enable"):
        mi.explain(spark.range(3))


def test_an_index_is_credited_with_what_the_log_does_not_leave_out(enabled: SparkSession, tmp_path: Path) -> None:
    """Delta's log bounds both columns; the ranges of `k` overlap, so that only its values tell the files apart."""
    path = str(tmp_path / "t")
    enabled.range(0, 400, 1, 4).selectExpr("id", "(id * 7919) % 400 AS k").write.format("delta").save(path)
    table = mi.open_table(path)
    table.create_index("stats", mi.ColumnStats(), builder="local")
    table.create_index("values", mi.Values("k"), builder="local")
    told = mi.explain(enabled.sql(f"SELECT id FROM delta.`{path}` WHERE k = 100"))
    said = {one.index: one.reason for one in told.scans[0].indexes}
    assert said["values"] is None
    assert said["stats"] in (Reason.TABLES_OWN, Reason.NOTHING_PROVED)
    assert "values: used: leaves out 3 files by k" in str(told)
    both = mi.explain(enabled.sql(f"SELECT id FROM delta.`{path}` WHERE k = 100 AND id < 200"))
    said = {one.index: one.reason for one in both.scans[0].indexes}
    assert said == {"values": None, "stats": Reason.TABLES_OWN}
    assert re.search(r"values: used: leaves out [12] files? by k more than the table's own statistics", str(both))


@pytest.mark.parametrize(
    "kind", [mi.Values("id"), mi.ColumnStats(), mi.Covering("id", "k")], ids=lambda kind: kind.name
)
def test_a_damaged_index_is_told_as_damaged_with_the_cure(
    enabled: SparkSession, tmp_path: Path, kind: mi.Values | mi.ColumnStats | mi.Covering
) -> None:
    path = tmp_path / "t"
    enabled.range(0, 400, 1, 4).selectExpr("id", "id % 7 AS k").write.parquet(str(path))
    table = mi.open_table(path)
    table.create_index("i", kind)
    folder = {"values": "values", "column_stats": "column_stats", "covering": "covering"}[kind.name]
    parts = [*Path(table.indexes()["i"].location).rglob(f"{folder}/**/*.mix")]
    assert parts
    for part in parts:
        part.write_bytes(b"\0" * part.stat().st_size)
    query = f"SELECT id, k FROM parquet.`{path}` WHERE id = 210"
    (scan,) = mi.explain(enabled.sql(query)).scans
    (verdict,) = scan.indexes
    assert verdict.reason is Reason.NOT_USABLE, verdict
    assert "as its manifest says" in verdict.detail
    assert verdict.detail.endswith("repair the index with repair_index()")
    (row,) = enabled.sql(f"EXPLAIN INDEXES {query}").collect()
    assert row["reason"].startswith("NOT_USABLE: ")
    assert row["reason"].endswith("; REPAIR INDEX i ON table")


def test_figures_stand_where_everything_is_read(enabled: SparkSession, lake: Path, tmp_path: Path) -> None:
    """Of scans that no filter, no index or a reason keeps from being asked about, too."""
    rows = enabled.range(0, 40, 1, 2).selectExpr("id", "id % 2 AS p")
    rows.write.partitionBy("p").parquet(str(tmp_path / "parts"))
    rows.write.format("delta").save(str(tmp_path / "log"))
    enabled.sql("CREATE TABLE iceberg.explained.bare (id bigint) USING iceberg")
    rows.select("id").writeTo("iceberg.explained.bare").append()
    tables = {
        f"parquet.`{lake}/par quet`": (lake / "par quet", 4),
        f"parquet.`{lake}/bare`": (lake / "bare", 4),
        f"csv.`{lake}/csv`": (lake / "csv", 4),
        f"delta.`{lake}/delta`": (lake / "delta", 4),
        f"parquet.`{tmp_path}/parts`": (tmp_path / "parts", 4),
        f"delta.`{tmp_path}/log`": (tmp_path / "log", 2),
        "iceberg.explained.bare": (Path(location_of(enabled, "iceberg.explained.bare")) / "data", 2),
    }
    try:
        for name, (folder, count) in tables.items():
            size = sum(
                file.stat().st_size
                for file in folder.rglob("*")
                if file.suffix in (".parquet", ".csv") and "_delta_log" not in file.parts
            )
            column = "_c0" if name.startswith("csv") else "id"
            for rest in ("", f"WHERE {column} > -1"):
                (row,) = enabled.sql(f"EXPLAIN INDEXES SELECT {column} FROM {name} {rest}").collect()
                said = (row["files"], row["total_files"], row["size_bytes"], row["total_bytes"])
                assert said == (count, count, size, size), (name, rest, row)
    finally:
        enabled.sql("DROP TABLE iceberg.explained.bare")


# Why not --------------------------------------------------------------------------------------------------------------


COPIES = [mi.Covering("a"), mi.CoveringRange("a")]


@pytest.mark.parametrize("kinds", [*([kind] for kind in COPIES), COPIES], ids=str)
def test_an_index_of_copies_alone_says_why_it_was_refused(kinds: list[Kind]) -> None:
    assert said_of(kinds) is Reason.NOT_COVERED


@pytest.mark.parametrize("kind", COPIES, ids=str)
def test_one_that_is_asked_too_says_what_its_answer_was(kind: Kind) -> None:
    assert said_of([kind, mi.ColumnStats()]) is Reason.NO_FILTER


def said_of(kinds: list[Kind]) -> Reason | None:
    info = IndexInfo("one", "ACTIVE", kinds=tuple(kind.name for kind in kinds))
    planned = Planned(Reason.NO_FILTER, None, {"one": Reason.NOT_COVERED}, None, Reason.NO_FILTER)
    return _verdict(info, Reason.NO_FILTER, planned, None).reason
