"""Joins leave files out once a query runs, by the keys of their other side: the rows are those without the rule, for
every type of join, every format, with deletes and versions, with adaptive plans and without."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import metaindex as mi
import metaindex.spark as rule
from metaindex.core import SparkDriver
from metaindex.spark.optimizer.settings import RuleConfig
from tests.patience import until
from tests.spark.optimizer.joined_lakes import (
    FEW,
    FILES,
    MAKERS,
    Make,
    delta,
    iceberg,
    is_narrowed,
    parquet,
    rows_of,
    same,
)

pytestmark = [pytest.mark.spark, pytest.mark.uncompiled, pytest.mark.usefixtures("narrowing")]

TYPES = [
    # the query, files that the narrowed scan reads at most, does a query of its own bring the keys?
    (f"SELECT t.id, d.w FROM t JOIN dim d ON t.k = d.k WHERE d.{FEW}", 3, False),
    (f"SELECT t.id, d.w FROM plain d JOIN t ON t.name = d.name WHERE d.{FEW}", 3, False),
    (f"SELECT t.id FROM t WHERE t.k IN (SELECT k FROM plain WHERE {FEW})", 3, False),
    (f"SELECT t.id FROM t WHERE EXISTS (SELECT 1 FROM dim d WHERE d.day = t.day AND d.{FEW})", 3, False),
    (f"SELECT d.w, t.id FROM (SELECT * FROM dim WHERE {FEW}) d LEFT JOIN t ON t.k = d.k AND t.id > 20", 3, True),
    (f"SELECT d.w, t.id FROM t RIGHT JOIN (SELECT * FROM dim WHERE {FEW}) d ON t.at = d.at", 3, True),
    (f"SELECT d.w FROM (SELECT * FROM dim WHERE {FEW}) d LEFT ANTI JOIN t ON t.k = d.k", 3, True),
    (f"SELECT d.w FROM (SELECT * FROM dim WHERE {FEW}) d LEFT SEMI JOIN t ON t.amount = d.amount", 3, True),
    (f"SELECT d.w FROM (SELECT * FROM dim WHERE {FEW}) d WHERE NOT EXISTS (SELECT 1 FROM t WHERE t.k = d.k)", 3, True),
    ("SELECT t.id FROM t JOIN dim d ON t.k = d.k WHERE d.w < 0", 0, False),
    ("SELECT t.id FROM t JOIN dim d ON t.k = d.k WHERE d.w = 2", 0, False),  # its key is NULL
    (
        f"SELECT t.k, count(*) AS c FROM t JOIN dim d ON t.k = d.k AND t.name = d.name WHERE d.{FEW} GROUP BY t.k",
        3,
        False,
    ),
    (
        "SELECT /*+ BROADCAST(d) */ g.k, g.c FROM (SELECT k, count(*) AS c FROM t GROUP BY k) g JOIN dim d ON g.k = d.k"
        f" WHERE d.{FEW}",
        3,
        False,
    ),
    # Sends itself, and so the scan, to its tasks.
    (
        f"SELECT /*+ MERGE(x) */ x.id, p.w FROM (SELECT t.id, t.k FROM t JOIN dim d ON t.k = d.k WHERE d.{FEW}) x"
        " FULL JOIN plain p ON x.k = p.k AND p.w > 5",
        3,
        False,
    ),
]
WHOLE = [
    f"SELECT d.w, t.id FROM (SELECT * FROM dim WHERE {FEW}) d FULL JOIN t ON t.k = d.k",
    f"SELECT d.w, t.id FROM t LEFT JOIN (SELECT * FROM dim WHERE {FEW}) d ON t.k = d.k",
    f"SELECT t.id FROM t LEFT ANTI JOIN (SELECT * FROM dim WHERE {FEW}) d ON t.k = d.k",
    f"SELECT t.id FROM t WHERE t.k NOT IN (SELECT k FROM dim WHERE {FEW})",
    "SELECT t.id FROM t JOIN dim d ON t.k <=> d.k WHERE d.w IN (2, 8)",
    "SELECT t.id FROM t JOIN dim d ON t.real = d.real WHERE d.w IN (3, 4, 5)",
    f"SELECT t.id FROM t JOIN dim d ON t.k + 1 = d.k WHERE d.{FEW}",
    f"SELECT t.id FROM t JOIN dim d ON CAST(t.k AS string) = CAST(d.w AS string) WHERE d.{FEW}",
    f"SELECT t.id FROM t JOIN dim d ON t.k = d.id WHERE d.{FEW}",  # int and bigint
    f"SELECT count(*) AS c FROM t JOIN (SELECT * FROM dim WHERE {FEW} LIMIT 2) d ON t.k = d.k HAVING count(*) < 0",
    f"SELECT x.id FROM (SELECT * FROM t ORDER BY id LIMIT 100) x JOIN dim d ON x.k = d.k WHERE d.{FEW}",
]
"""None of their scans of `t` may be narrowed: rows would be lost, or it is not known."""


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_each_type_of_join_leaves_out_files_without_its_keys(
    spark: SparkSession, tmp_path: Path, make: Make, adaptive: str
) -> None:
    fact = make(spark, tmp_path)
    with SparkDriver(spark).setting("spark.sql.adaptive.enabled", adaptive):
        for text, most, own in TYPES:
            with SparkDriver(spark).setting("spark.sql.autoBroadcastJoinThreshold", "-1" if own else "10MB"):
                found, read = same(spark, text)
                narrowed = is_narrowed(spark, text)
            assert narrowed == (fact.counts or not own), text
            if own and not fact.counts:
                assert read == [], text
            elif most > 0 or read:  # an adaptive plan has no join with a side that turned out empty
                assert len(read) == 1, (text, read)
                assert read[0] <= most, (text, found, read)
        for text in WHOLE:
            same(spark, text)
            assert not is_narrowed(spark, text), text


@pytest.mark.parametrize("make", [delta, iceberg])
def test_versions_appends_and_deletes_keep_their_rows(spark: SparkSession, tmp_path: Path, make: Make) -> None:
    fact = make(spark, tmp_path)
    if make is delta:
        versions = ["VERSION AS OF 0", "VERSION AS OF 1", ""]
    else:
        at = [
            row[0]
            for row in spark.sql(f"SELECT snapshot_id FROM {fact.name}.snapshots ORDER BY committed_at").collect()
        ]
        versions = [f"VERSION AS OF {at[0]}", f"VERSION AS OF {at[1]}", ""]
    rows_of(spark, 1000, 2).createOrReplaceTempView("more")
    spark.sql(f"INSERT INTO {fact.name} SELECT * FROM more")
    spark.sql(f"DELETE FROM {fact.name} WHERE id BETWEEN 100 AND 110")
    for version in versions:
        text = f"SELECT t.id, d.w FROM (SELECT * FROM {fact.name} {version}) t JOIN dim d ON t.k = d.k WHERE d.{FEW}"
        found, read = same(spark, text)
        assert found > 0
        assert len(read) == 1, (version, read)
        assert read[0] <= 3 + 4, (version, read)  # appended files are read


def test_many_keys_are_asked_by_their_range_or_not_at_all(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "ranged")
    spark.range(0, 8000, 1, 8).selectExpr("id AS k").write.format("delta").save(path)
    mi.open_table(path).create_index("stats", mi.ColumnStats("k"), builder="local")
    spark.sql(f"SELECT * FROM delta.`{path}`").createOrReplaceTempView("t")
    keys = str(tmp_path / "keys")
    spark.range(2100, 3900, 1, 1).selectExpr("id AS k").write.format("delta").save(keys)
    spark.sql(f"SELECT * FROM delta.`{keys}`").createOrReplaceTempView("keys")
    with SparkDriver(spark).setting("spark.metaindex.joins.keys", "100"):
        assert same(spark, "SELECT t.k FROM t JOIN keys ON t.k = keys.k") == (1800, [2])
        with SparkDriver(spark).setting("spark.sql.autoBroadcastJoinThreshold", "-1"):
            assert same(spark, "SELECT t.k FROM t RIGHT JOIN keys ON t.k = keys.k") == (1800, [2])
    spark.range(10_000_000).selectExpr("id AS k").createOrReplaceTempView("ten_million")
    text = "SELECT count(*) AS c FROM ten_million m LEFT SEMI JOIN t ON t.k = m.k"
    assert same(spark, text)[0] == 1


@pytest.mark.parametrize("side", ["files", "rows"])
def test_many_keys_of_a_side_that_nothing_makes_smaller_are_asked_for_a_large_scan_alone(
    spark: SparkSession, tmp_path: Path, side: str
) -> None:
    """Collecting a hundred thousand takes half a second, and most often every file has some."""
    path, keys = str(tmp_path / "fact"), str(tmp_path / "keys")
    spark.range(0, 8000, 1, 8).selectExpr("id AS k", "id AS other").write.parquet(path)
    mi.open_table(path).create_index("stats", mi.ColumnStats("k"), builder="local")
    spark.read.parquet(path).createOrReplaceTempView("t")
    spark.range(2100, 3900, 1, 1).selectExpr("id AS k").write.parquet(keys)
    if side == "files":
        spark.read.parquet(keys).createOrReplaceTempView("keys")
    else:
        spark.range(2100, 3900).selectExpr("id AS k").createOrReplaceTempView("keys")
    size = sum(file.stat().st_size for file in Path(path).glob("*.parquet"))
    text = "SELECT t.k FROM t JOIN keys ON t.k = keys.k"

    def why(text: str) -> list[dict[str, rule.Unasked]]:
        return [dict(scan.unasked) for scan in rule.explain(spark.sql(text)).scans if path in scan.scan]

    with SparkDriver(spark).setting("spark.metaindex.joins.keys", "100"):
        for least, narrowed in ((size // 100, True), (size // 2, False)):  # 18 times as many keys
            with SparkDriver(spark).setting("spark.metaindex.joins.scanBytes", str(least)):
                assert (is_narrowed(spark, text), same(spark, text)[0]) == (narrowed, 1800)
                assert why(text) == [{} if narrowed else {"k": rule.Unasked.MANY_KEYS}]
        with SparkDriver(spark).setting("spark.metaindex.joins.scanBytes", str(size // 2)):
            assert is_narrowed(spark, f"{text} WHERE keys.k + 0 < 3000")  # something makes it smaller
            spark.sql("SELECT * FROM keys WHERE k IS NOT NULL").createOrReplaceTempView("there")
            assert not is_narrowed(spark, text.replace("keys", "there"))
    with SparkDriver(spark).setting("spark.metaindex.joins.keys", "100000"):
        assert is_narrowed(spark, text)


def test_explanations_say_why_the_keys_of_a_join_leave_nothing_out(spark: SparkSession, tmp_path: Path) -> None:
    delta(spark, tmp_path)
    spark.createDataFrame([(8,), (100,)], "k int").createOrReplaceTempView("few")
    spark.sql("SELECT * FROM VALUES (8), (100) AS v (k)").createOrReplaceTempView("known")

    def said(text: str) -> list[tuple[dict[str, rule.Unasked], tuple[str, ...]]]:
        told = [
            scan for scan in rule.explain(spark.sql(text)).scans if "de%20lta" in scan.scan or "de lta" in scan.scan
        ]
        return [(dict(scan.unasked), scan.joins) for scan in told]

    text = "SELECT t.id FROM t JOIN few ON t.k = few.k"
    assert said(text) == [({"k": rule.Unasked.UNKNOWN_SIDE}, ())]
    (line,) = (str(scan) for scan in rule.explain(spark.sql(text)).scans if scan.unasked)
    assert "the keys of a join on k leave nothing out: UNKNOWN_SIDE: Spark does not know how large" in line
    assert said(text.replace("few", "known")) == [({}, ("k",))]
    assert said(f"SELECT t.id FROM t JOIN dim d ON t.k = d.k WHERE d.{FEW}") == [({}, ("k",))]
    with (
        SparkDriver(spark).setting("spark.sql.autoBroadcastJoinThreshold", "-1"),
        SparkDriver(spark).setting("spark.metaindex.joins.queries", "false"),
    ):
        assert said(f"SELECT t.id FROM t JOIN dim d ON t.k = d.k WHERE d.{FEW}") == [
            ({"k": rule.Unasked.NO_BROADCAST}, ())
        ]
    with SparkDriver(spark).setting("spark.metaindex.joins.sideBytes", "1"):
        assert said(f"SELECT t.id FROM t JOIN dim d ON t.k = d.k WHERE d.{FEW}") == [
            ({"k": rule.Unasked.LARGE_SIDE}, ())
        ]
    assert said("SELECT t.id FROM t JOIN few ON t.real = few.k") == [({}, ())]  # no index knows it
    with SparkDriver(spark).setting("spark.metaindex.joins.enabled", "false"):
        assert said(text) == [({}, ())]


@pytest.mark.parametrize("adaptive", ["true", "false"])
@pytest.mark.parametrize("group", ["t.part", "t.part, d.w"])
def test_a_side_that_a_covering_index_stands_for_brings_its_keys(
    spark: SparkSession, tmp_path: Path, adaptive: str, group: str
) -> None:
    """An index of which a filter leaves one bucket, below a join below a group: Spark asks there for no order, and made
    of the index's copy another plan, which brought nothing. Also where the groups are by the key of the index: the
    join sends its rows to every task."""
    fact = delta(spark, tmp_path)
    path = str(tmp_path / "wide dim")
    spark.range(0, 4000, 1, 1).selectExpr(
        "CAST(id AS int) AS k", "CAST(id % 1000 AS int) AS w", "repeat(sha(CAST(id AS string)), 20) AS wide"
    ).write.parquet(path)
    mi.open_table(path).create_index("by_w", mi.Covering("w", included=["k"], buckets=8), builder="spark")
    spark.read.parquet(path).createOrReplaceTempView("covered")
    text = (
        "SELECT /*+ BROADCAST(d) */ max(t.part) AS p, count(*) AS c, max(t.id) AS m FROM t JOIN covered d ON t.k = d.k"
        f" WHERE d.w = 8 GROUP BY {group}"
    )
    with SparkDriver(spark).setting("spark.sql.adaptive.enabled", adaptive):
        told = rule.explain(spark.sql(text), run=True)
        assert any("'by_w' stands for it" in str(scan) for scan in told.scans), told
        assert [read.joins for read in told.read or () if read.joins] == [
            "4 keys of k left 7 of 8 files out by find"
        ], told
        found, read = same(spark, text)
    assert (found, fact.counts, len(read), max(read)) == (1, True, 1, 1)


def test_what_a_side_fails_of_is_the_users_own(spark: SparkSession, tmp_path: Path) -> None:
    delta(spark, tmp_path)
    text = "SELECT t.id FROM t JOIN (SELECT CAST(w / (w - 8) AS int) AS k FROM dim WHERE w IN (8, 9)) d ON t.k = d.k"
    for query, threshold in ((text, "10MB"), (text.replace("t JOIN", "t RIGHT JOIN"), "-1")):
        with (
            SparkDriver(spark).setting("spark.sql.ansi.enabled", "true"),
            SparkDriver(spark).setting("spark.sql.autoBroadcastJoinThreshold", threshold),
            pytest.raises(Exception, match="DIVIDE_BY_ZERO"),
        ):
            spark.sql(query).collect()


def test_an_error_of_a_key_that_the_join_never_computes_is_nobodys_whatever_its_words(
    spark: SparkSession, tmp_path: Path
) -> None:
    """The right side turns out empty, and an adaptive plan drops the join. A text that was cast is in the error's."""
    delta(spark, tmp_path)
    spark.range(10).selectExpr("id", "IF(id = 9, 'cancelled', CAST(id AS string)) AS s").createOrReplaceTempView(
        "words"
    )
    text = "SELECT w.id FROM words w LEFT JOIN (SELECT * FROM t WHERE id % 7 = 9) t ON t.k = CAST(w.s AS int)"
    with (
        SparkDriver(spark).setting("spark.sql.ansi.enabled", "true"),
        SparkDriver(spark).setting("spark.sql.adaptive.enabled", "true"),
    ):
        assert len(spark.sql(text).collect()) == 10


def test_keys_that_come_too_late_are_not_waited_for(spark: SparkSession, tmp_path: Path) -> None:
    delta(spark, tmp_path)
    text = f"SELECT d.w, t.id FROM (SELECT * FROM dim WHERE {FEW}) d LEFT JOIN t ON t.k = d.k"
    with SparkDriver(spark).setting("spark.metaindex.joins.timeoutSeconds", "0.001"):
        _, read = same(spark, text)
    assert read == [FILES]
    until(lambda: spark.sparkContext.statusTracker().getActiveJobsIds() == [])  # listeners hear of an end later


def test_explaining_runs_nothing_and_says_what_would_be_asked(spark: SparkSession, tmp_path: Path) -> None:
    delta(spark, tmp_path)
    frame = spark.sql(f"SELECT d.w, t.id FROM (SELECT * FROM dim WHERE {FEW}) d LEFT JOIN t ON t.k = d.k")
    frame._jdf.queryExecution().optimizedPlan()  # Delta reads its log by jobs
    with SparkDriver(spark).setting("spark.sql.autoBroadcastJoinThreshold", "-1"):
        frame = spark.sql(f"SELECT d.w, t.id FROM (SELECT * FROM dim WHERE {FEW}) d LEFT JOIN t ON t.k = d.k")
        told = mi.explain(frame)
        (scan,) = (scan for scan in told.scans if scan.joins)
        assert scan.joins == ("k",)
        assert "once it runs, the keys of a join on k may leave files out" in str(told)
        (verdict,) = scan.indexes
        assert verdict.detail == "the keys of a join on k may be asked of it once the query runs"
        ran = mi.explain(frame, run=True)
        assert [read.joins for read in ran.read if read.joins] == ["3 keys of k left 5 of 8 files out by find"]


BY_CHANCE = [
    # -0.0 or 0.0, whichever comes first
    f"SELECT CAST(max(real) AS string) AS s FROM dim WHERE {FEW}",
    # one of the spellings that a collation takes for equal
    f"SELECT CAST(c AS string) AS s FROM (SELECT name COLLATE UTF8_LCASE AS c FROM dim WHERE {FEW}) GROUP BY c",
    f"SELECT CAST(min(c) AS string) AS s FROM (SELECT name COLLATE UTF8_LCASE AS c FROM dim WHERE {FEW})",
]


@pytest.mark.parametrize("side", BY_CHANCE)
def test_a_side_that_may_have_another_key_each_time_brings_none(spark: SparkSession, tmp_path: Path, side: str) -> None:
    fact = parquet(spark, tmp_path)
    if "COLLATE" in side and spark.version.startswith("3."):
        pytest.skip("collations are of Spark 4")
    assert fact.name
    text = f"SELECT d.s, t.id FROM ({side}) d LEFT JOIN t ON t.name = d.s"
    same(spark, text)
    assert not is_narrowed(spark, text)


@pytest.mark.parametrize("make", [parquet, iceberg])
def test_of_a_scan_that_is_little_nothing_is_asked(spark: SparkSession, tmp_path: Path, make: Make) -> None:
    make(spark, tmp_path)
    opening = 4 << 20  # `spark.sql.files.openCostInBytes`
    text = f"SELECT t.id FROM t JOIN plain d ON t.k = d.k WHERE d.{FEW}"
    with SparkDriver(spark).setting("spark.metaindex.joins.scanBytes", str(FILES * opening)):
        assert same(spark, text)[1][0] <= 3
    with SparkDriver(spark).setting("spark.metaindex.joins.scanBytes", str((FILES + 1) * opening)):
        assert same(spark, text)[1] == [FILES]
        ran = mi.explain(spark.sql(text), run=True)
        assert [read.joins for read in ran.read if read.joins] == ["no keys were asked for, as it is little"]


def test_without_it_plans_are_as_before(spark: SparkSession, tmp_path: Path) -> None:
    parquet(spark, tmp_path)
    text = f"SELECT t.id FROM t JOIN dim d ON t.k = d.k WHERE d.{FEW}"
    with SparkDriver(spark).setting("spark.metaindex.joins.enabled", "false"):
        assert same(spark, text)[1] == []
    assert same(spark, text)[1] != []


def test_by_default_a_broadcast_brings_keys_and_no_query_of_their_own(spark: SparkSession, tmp_path: Path) -> None:
    delta(spark, tmp_path)
    rule.enable(spark, rule=RuleConfig(join_scan_bytes=0, join_seconds=600.0))
    side = f"(SELECT * FROM dim WHERE {FEW})"
    assert same(spark, f"SELECT t.id FROM t JOIN {side} d ON t.k = d.k")[1] == [3]
    with SparkDriver(spark).setting("spark.sql.autoBroadcastJoinThreshold", "-1"):
        for kind in ("JOIN", "RIGHT JOIN"):
            text = f"SELECT t.id FROM t {kind} {side} d ON t.k = d.k"
            assert same(spark, text)[1] == []
            with SparkDriver(spark).setting("spark.metaindex.joins.queries", "true"):
                assert same(spark, text)[1] == [3]


def test_a_scan_that_is_read_once_for_two_stays_so(spark: SparkSession, tmp_path: Path) -> None:
    parquet(spark, tmp_path)
    text = (
        "WITH g AS (SELECT k, count(*) AS c FROM t GROUP BY k)"
        f" SELECT a.k, a.c, b.c AS d FROM g a JOIN dim d ON a.k = d.k JOIN g b ON b.k = a.k + 1 WHERE d.{FEW}"
    )
    with SparkDriver(spark).setting("spark.sql.adaptive.enabled", "false"):
        found, read = same(spark, text)
    assert found > 0
    assert read == []


def test_a_file_that_is_written_again_is_read(spark: SparkSession, tmp_path: Path) -> None:
    fact = parquet(spark, tmp_path)
    victim = sorted(Path(fact.name).glob("part-00005*.parquet"))[0]
    victim.write_bytes(sorted(Path(fact.name).glob("part-00001*.parquet"))[0].read_bytes())
    (victim.parent / f".{victim.name}.crc").unlink(missing_ok=True)
    spark.read.parquet(fact.name).createOrReplaceTempView("t")
    for key in range(0, 400, 37):
        same(spark, f"SELECT t.id FROM t JOIN dim d ON t.k = d.k WHERE d.w = {key}")


WRITES = [
    "MERGE INTO {0} t USING (SELECT k FROM dim WHERE w IN (8, 100, 211)) d ON t.k = d.k WHEN MATCHED THEN UPDATE SET"
    " name = 'm' WHEN NOT MATCHED THEN INSERT (id, k) VALUES (-1, d.k)",
    "MERGE INTO {0} t USING (SELECT k FROM dim WHERE w IN (20, 21)) d ON t.k = d.k WHEN NOT MATCHED BY SOURCE AND"
    " t.id < 40 THEN DELETE",
    "DELETE FROM {0} WHERE k IN (SELECT k FROM dim WHERE w BETWEEN 40 AND 45)",
    "UPDATE {0} u SET name = 'u' WHERE EXISTS (SELECT 1 FROM dim d WHERE d.k = u.k AND d.w BETWEEN 50 AND 52)",
    "INSERT OVERWRITE {0} SELECT x.* FROM {0} x JOIN dim d ON x.k = d.k WHERE d.w < 350",
]


@pytest.mark.parametrize("make", [delta, iceberg])
def test_what_writes_by_a_join_writes_the_same(spark: SparkSession, tmp_path: Path, make: Make) -> None:
    left = []
    for enabled in ("true", "false"):
        (folder := tmp_path / enabled).mkdir()
        fact = make(spark, folder)
        with SparkDriver(spark).setting("spark.metaindex.enabled", enabled):
            for text in (
                WRITES if make is iceberg else [text for text in WRITES if text[:6] not in ("DELETE", "UPDATE")]
            ):
                spark.sql(text.format(fact.name)).collect()
        left.append(sorted(map(repr, spark.sql(f"SELECT * FROM {fact.name}").collect())))
    assert left[0] == left[1]
    assert left[0]


def test_bytes_that_are_no_text_are_found(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "bytes")
    text = "CAST(concat(X'FF', CAST(CAST(id AS string) AS binary)) AS string)"
    spark.range(0, 40, 1, 4).selectExpr("id", f"{text} AS s").write.parquet(path)
    mi.open_table(path).create_index("bloom", mi.Bloom("s"), builder="local")
    spark.read.parquet(path).createOrReplaceTempView("t")
    assert same(spark, f"SELECT t.id FROM t JOIN (SELECT {text} AS s FROM dim WHERE id = 7) d ON t.s = d.s")[0] == 1


@pytest.mark.parametrize("threshold", ["10MB", "-1"])
def test_a_plain_side_that_is_written_again_between_two_runs(
    spark: SparkSession, tmp_path: Path, threshold: str
) -> None:
    """The second run gives the first one's rows, or those of the new file: never keys of one and rows of the other."""
    parquet(spark, tmp_path)
    for name, keys in (("one", "8, 100"), ("two", "211, 300")):
        spark.sql(f"SELECT k FROM plain WHERE w IN ({keys})").coalesce(1).write.parquet(str(tmp_path / name))
    (first,), (second,) = (list((tmp_path / name).glob("*.parquet")) for name in ("one", "two"))
    side = spark.read.parquet(str(tmp_path / "one"))
    with SparkDriver(spark).setting("spark.sql.autoBroadcastJoinThreshold", threshold):
        frames = [side.join(spark.table("t"), "k", how).select("k", "id") for how in ("inner", "left")]
        before = [sorted(map(repr, frame.collect())) for frame in frames]
        first.write_bytes(second.read_bytes())
        (first.parent / f".{first.name}.crc").unlink(missing_ok=True)
        again = spark.read.parquet(str(tmp_path / "one"))
        for how, frame, was in zip(("inner", "left"), frames, before, strict=True):
            with SparkDriver(spark).setting("spark.metaindex.enabled", "false"):
                now = sorted(map(repr, again.join(spark.table("t"), "k", how).select("k", "id").collect()))
            assert sorted(map(repr, frame.collect())) in (was, now)
            assert was != now


def test_the_sessions_setting_goes_before_pythons(spark: SparkSession, tmp_path: Path) -> None:
    parquet(spark, tmp_path)
    rule.enable(spark, rule=RuleConfig(joins=False))
    text = f"SELECT t.id FROM t JOIN plain d ON t.k = d.k WHERE d.{FEW}"
    assert same(spark, text)[1] == []
    with SparkDriver(spark).setting("spark.metaindex.joins.enabled", "true"):
        assert same(spark, text)[1] == [3]


def test_a_cached_join_and_a_second_run_give_the_same(spark: SparkSession, tmp_path: Path) -> None:
    delta(spark, tmp_path)
    frame = spark.sql(f"SELECT t.id, d.w FROM t JOIN dim d ON t.k = d.k WHERE d.{FEW}")
    once = sorted(map(tuple, frame.collect()))
    assert once == sorted(map(tuple, frame.collect()))
    cached = frame.cache()
    assert sorted(map(tuple, cached.collect())) == once == sorted(map(tuple, cached.collect()))
    cached.unpersist()
