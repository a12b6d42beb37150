"""The first rows of an order, some rows, and aggregates in Spark's own queries: how few files are opened, what proves
nothing, and who switches it off. That answers are those without the rule `test_corpus` says of many queries."""

import json
import shutil
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake
from pyspark.sql import DataFrame, SparkSession

import metaindex as mi
import metaindex.spark as rule
from metaindex.core import SparkDriver
from metaindex.spark.optimizer.executed import reads
from tests.each_spark import lacks
from tests.spark.optimizer.lakes import location_of
from tests.spark.optimizer.queries import batch

pytestmark = [pytest.mark.spark]

FILES, ROWS = 20, 50
LATEST = "SELECT at, s FROM {t} ORDER BY at DESC LIMIT 10"
COUNTED = "SELECT count(*) AS n, count(x) AS c, min(at) AS a, max(at) AS b FROM {t} WHERE at BETWEEN 75 AND 924"


def content(number: int, start: int = 0) -> pa.Table:
    """A file of fifty moments, one after another; `x` lies anywhere, with NULL and NaN in some files."""
    at = range(start + number * ROWS, start + (number + 1) * ROWS)
    x = [
        None if number == 3 and i % ROWS < 5 else float("nan") if number == 5 and i % ROWS < 2 else i * 37 % 101 / 4
        for i in at
    ]
    days = pa.array([number // 2] * ROWS, pa.int32())
    some = [None if number == 3 or i % 11 == 0 else i % 100 - 40 for i in at]
    added = {
        "n": pa.array(some, pa.int32()),
        "price": pa.array([None if v is None else Decimal(v) / 4 for v in some], pa.decimal128(7, 2)),
        "cost": pa.array([None if v is None else Decimal(v) / 8 for v in some], pa.decimal128(15, 3)),
        "big": pa.array([(-1) ** i * (2**62 if number == 7 else i) for i in at], pa.int64()),
    }
    return pa.table({"at": pa.array(at, pa.int64()), "day": days, "x": x, "s": [f"text {i % 7}" for i in at], **added})


@pytest.fixture(scope="module")
def tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """By format, how SQL names it."""
    folder = tmp_path_factory.mktemp("first")
    (folder / "files").mkdir()
    for number in range(FILES):
        pq.write_table(content(number), folder / "files" / f"{number:02}.parquet")
        write_deltalake(str(folder / "delta"), content(number), mode="append")
    places = [folder / "files", folder / "delta"]
    if not lacks("iceberg"):
        spark.sql(
            "CREATE TABLE iceberg.first.t (at bigint, day int, x double, s string, n int, price decimal(7,2),"
            " cost decimal(15,3), big bigint) USING iceberg PARTITIONED BY (day)"
            " TBLPROPERTIES ('format-version'='3', 'write.delete.mode'='merge-on-read',"
            " 'write.metadata.metrics.default'='none')"
        )
        spark.read.parquet(str(folder / "files")).writeTo("iceberg.first.t").append()
        places.append(Path(location_of(spark, "iceberg.first.t")))
    named = {
        "parquet": f"parquet.`{folder}/files`",
        "delta": f"delta.`{folder}/delta`",
        "iceberg": "iceberg.first.t",
    }
    for place in places:
        kinds = mi.ColumnStats(), mi.Sums("at", "n", "price", "cost", "big")
        mi.open_table(str(place)).create_index("stats", *kinds, builder="local")
    yield named
    if not lacks("iceberg"):
        spark.sql("DROP TABLE iceberg.first.t")


def opened(frame: DataFrame) -> int:
    """How many files, or pieces of files, the scans of a query read that was run."""
    read = reads(frame._jdf.queryExecution().executedPlan())
    return sum((one.files if one.files is not None else one.splits) or 0 for one in read)


def same(spark: SparkSession, text: str) -> DataFrame:
    """The query, once it was seen to give what it gives without the rule."""
    with SparkDriver(spark).setting("spark.metaindex.enabled", "false"):
        plain = sorted(map(str, spark.sql(text).collect()))
    frame = spark.sql(text)
    assert sorted(map(str, frame.collect())) == plain, text
    assert rule.counts(spark).failed == 0, rule.counts(spark).last_error
    return frame


@pytest.mark.parametrize("name", ["parquet", "delta", "iceberg"])
def test_few_files_are_opened(enabled: SparkSession, tables: dict[str, str], name: str) -> None:
    t, iceberg = tables[name], name == "iceberg"
    every = FILES // 2 if iceberg else FILES
    assert opened(same(enabled, LATEST.format(t=t))) == 1
    assert opened(same(enabled, f"SELECT at AS z FROM {t} WHERE at < 725 ORDER BY z DESC, s LIMIT 3 OFFSET 2")) == 2
    assert (
        opened(same(enabled, f"SELECT at FROM {t} WHERE day = 3 UNION ALL SELECT at FROM {t} ORDER BY 1 LIMIT 2")) == 2
    )
    assert opened(same(enabled, COUNTED.format(t=t))) == 2
    assert opened(same(enabled, f"SELECT day, count(*), max(at) FROM {t} WHERE at >= 120 GROUP BY day")) == 1
    assert opened(same(enabled, f"SELECT day % 3 AS w, min(at) + 1 FROM {t} GROUP BY day % 3")) == 0
    assert opened(same(enabled, f"SELECT DISTINCT day FROM {t}")) == 0
    told = mi.explain(enabled.sql(COUNTED.format(t=t)))
    assert f"reads 2 of {every} files" in str(told)
    assert "files are answered for by what is known of them by stats" in str(told)
    assert "the first 10 by at DESC by stats" in str(mi.explain(enabled.sql(LATEST.format(t=t))))
    json.dumps(told.to_json())


@pytest.mark.parametrize("name", ["parquet", "delta", "iceberg"])
def test_sums_are_answered_for(enabled: SparkSession, tables: dict[str, str], name: str) -> None:
    """Of integers and narrow decimals, with their types, beside other answers; NULL where a group has no value."""
    t, iceberg = tables[name], name == "iceberg"
    for ansi in ("true", "false"):
        with SparkDriver(enabled).setting("spark.sql.ansi.enabled", ansi):
            assert opened(same(enabled, f"SELECT sum(n), sum(price), sum(cost), sum(at) FROM {t}")) == 0
            assert opened(same(enabled, f"SELECT sum(price) + 1, count(n) FROM {t} WHERE at BETWEEN 75 AND 924")) == 2
            grouped = f"SELECT day, sum(n) AS n, sum(cost) AS c, max(at) FROM {t} WHERE at >= 120 GROUP BY day"
            assert opened(same(enabled, grouped)) == 1
            assert opened(same(enabled, f"SELECT sum(n), sum(price) FROM {t} WHERE day = 1 AND at > 9999")) == 0
            assert opened(same(enabled, f"SELECT sum(try_add(n, 1)) FROM {t}")) > 9  # of no column
            assert opened(same(enabled, f"SELECT sum(DISTINCT n) FROM {t}")) > 9
            assert opened(same(enabled, f"SELECT sum(n) FILTER (WHERE n > 3) FROM {t}")) > 9
            assert opened(same(enabled, f"SELECT avg(n), sum(n) FROM {t}")) > 9
    schema = enabled.sql(f"SELECT sum(n) AS a, sum(price) AS b, sum(cost) AS c, sum(at) AS d FROM {t}").schema
    assert [field.dataType.simpleString() for field in schema] == ["bigint", "decimal(17,2)", "decimal(25,3)", "bigint"]
    # of one file every value is so large that no order of adding is sure to fit: nobody answers for what it comes to
    assert opened(same(enabled, f"SELECT sum(big) FROM {t} WHERE at < 300")) == 0
    assert opened(same(enabled, f"SELECT sum(big) FROM {t} WHERE at < 500")) == (5 if iceberg else 10)


def test_each_index_that_answers_is_credited(enabled: SparkSession, tmp_path: Path) -> None:
    for number in range(4):
        pq.write_table(pa.table({"n": pa.array([number, 1], pa.int32())}), tmp_path / f"{number}.parquet")
    table, text = mi.open_table(str(tmp_path)), f"SELECT sum(n), count(*) FROM parquet.`{tmp_path}`"
    table.create_index("stats", mi.ColumnStats(), builder="local")
    assert "sums are, by an index of Sums" in str(mi.explain(enabled.sql(text)))
    table.create_index("totals", mi.Sums("n"), builder="local")
    (scan,) = mi.explain(enabled.sql(text)).scans
    assert {verdict.index for verdict in scan.indexes if verdict.reason is None} == {"stats", "totals"}


@pytest.mark.parametrize("name", ["parquet", "delta", "iceberg"])
def test_some_rows_are_of_certain_files_first(enabled: SparkSession, tables: dict[str, str], name: str) -> None:
    """Of the first and the last file some rows pass, of those between all do; none is left out."""
    frame = enabled.sql(f"SELECT at, s FROM {tables[name]} WHERE at BETWEEN 110 AND 890 AND s >= 'text' LIMIT 9")
    rows = frame.collect()
    assert len(rows) == 9
    first, last = (200, 799) if name == "iceberg" else (150, 849)
    assert all(first <= row["at"] <= last for row in rows)
    assert enabled.sql(f"SELECT at FROM {tables[name]} WHERE at BETWEEN 110 AND 890 LIMIT 9999").count() == 781
    found = enabled.sql(f"SELECT at FROM {tables[name]} WHERE at BETWEEN 110 AND 890 LIMIT 9999").collect()
    assert sorted(row["at"] for row in found) == list(range(110, 891))
    assert rule.counts(enabled).failed == 0, rule.counts(enabled).last_error


@pytest.mark.parametrize(
    "text",
    [
        "SELECT at FROM {t} WHERE length(s) > 1 ORDER BY at DESC LIMIT 10",  # nobody knows of which files
        "SELECT a.at FROM {t} a JOIN {t} b ON a.at = b.at + 1 ORDER BY a.at DESC LIMIT 5",
        "SELECT day, max(at) AS m FROM {t} GROUP BY day ORDER BY m DESC LIMIT 2",
        "SELECT at, row_number() OVER (ORDER BY at) AS n FROM {t} ORDER BY at DESC LIMIT 4",
        "SELECT at FROM (SELECT * FROM {t} LIMIT 100) ORDER BY at LIMIT 3",
        "SELECT at FROM {t} TABLESAMPLE (50 PERCENT) REPEATABLE (3) ORDER BY at DESC LIMIT 3",
        "SELECT s FROM {t} ORDER BY s DESC LIMIT 2",  # a bound of texts may be cut
        "SELECT -at AS z FROM {t} ORDER BY z LIMIT 2",
        "SELECT explode(array(at, -at)) AS z FROM {t} ORDER BY z LIMIT 2",
    ],
)
def test_what_proves_nothing_leaves_nothing_out(enabled: SparkSession, tables: dict[str, str], text: str) -> None:
    assert "the first" not in mi.explain(same(enabled, text.format(t=tables["parquet"]))).with_indexes


def test_nulls_and_nan_stand_where_spark_has_them(enabled: SparkSession, tables: dict[str, str]) -> None:
    t = tables["parquet"]
    for order, files in (
        ("x NULLS FIRST", 1),  # the file with NULL has more of them than are asked
        ("x DESC", 1),  # the file with NaN
        ("x DESC NULLS FIRST", 1),
        ("at NULLS LAST", 1),
    ):
        assert opened(same(enabled, f"SELECT x FROM {t} ORDER BY {order} LIMIT 2")) == files, order
    assert opened(same(enabled, f"SELECT x FROM {t} ORDER BY x DESC LIMIT 3")) > 1
    assert opened(same(enabled, f"SELECT min(x), count(x) FROM {t}")) == 10  # zeros of floats are looked at
    assert opened(same(enabled, f"SELECT max(x) FROM {t}")) == 1


def test_each_is_switched_off(enabled: SparkSession, tables: dict[str, str]) -> None:
    t = tables["parquet"]
    for name, text in (("topK", LATEST), ("aggregates", COUNTED)):
        assert opened(same(enabled, text.format(t=t))) < 3
        with SparkDriver(enabled).setting(f"spark.metaindex.{name}.enabled", "false"):
            assert opened(same(enabled, text.format(t=t))) > 3
    some = enabled.sql(f"SELECT at FROM {t} WHERE at BETWEEN 110 AND 890 LIMIT 9")
    assert "Union" in mi.explain(some).with_indexes
    with SparkDriver(enabled).setting("spark.metaindex.limit.enabled", "false"):
        assert "Union" not in mi.explain(some).with_indexes
    with SparkDriver(enabled).setting("spark.sql.files.ignoreMissingFiles", "true"):
        assert opened(same(enabled, LATEST.format(t=t))) == FILES
    before = rule.counts(enabled).asked
    with SparkDriver(enabled).setting("spark.metaindex.topK.enabled", "false"):
        enabled.sql(LATEST.format(t=t)).collect()
    assert rule.counts(enabled).asked == before


def test_deletes_are_counted(enabled: SparkSession) -> None:
    """By the log of the version: rows of a file with deletes are counted, its extremes are read."""
    t = "iceberg.first.deleted"
    enabled.sql(
        f"CREATE TABLE {t} (at bigint, x double) USING iceberg TBLPROPERTIES ('format-version'='3',"
        " 'write.delete.mode'='merge-on-read', 'write.distribution-mode'='none')"
    )
    enabled.range(0, 400, 1, 4).selectExpr("id AS at", "id * 2.0D AS x").writeTo(t).append()
    mi.open_table(location_of(enabled, t)).create_index("stats", mi.ColumnStats(), builder="local")
    enabled.sql(f"DELETE FROM {t} WHERE at >= 347 AND at <> 370")
    enabled.sql(f"DELETE FROM {t} WHERE at = 105")
    latest = same(enabled, f"SELECT at FROM {t} ORDER BY at DESC LIMIT 3")
    assert [row["at"] for row in latest.collect()] == [370, 346, 345]
    assert opened(latest) == 1  # of the last file 48 rows are left
    assert opened(same(enabled, f"SELECT at FROM {t} ORDER BY at DESC LIMIT 49")) == 2
    assert opened(same(enabled, f"SELECT count(*) FROM {t} WHERE at >= 0")) == 0
    assert opened(same(enabled, f"SELECT max(at), count(x) FROM {t} WHERE at >= 0")) == 2
    enabled.sql(f"DROP TABLE {t}")


def damaged(source: Path, to: Path, change: dict[str, Any]) -> str:
    """A copy of a Delta table whose log says of each file something else."""
    shutil.copytree(source, to)
    for commit in sorted((to / "_delta_log").glob("*.json")):
        actions = [json.loads(line) for line in commit.read_text().splitlines()]
        for action in actions:
            if "add" in action:
                action["add"]["stats"] = json.dumps({**json.loads(action["add"]["stats"]), **change})
        commit.write_text("\n".join(json.dumps(action) for action in actions) + "\n")
    return str(to)


@pytest.mark.parametrize(
    "change",
    [
        {"numRecords": 9_999},
        {"numRecords": 1},
        {"nullCount": {"at": 0, "day": 0, "x": 50, "s": 0}},
        {"minValues": {"at": 0, "day": 0}, "maxValues": {"at": 5_000, "day": 9}},
    ],
)
@pytest.mark.parametrize("index", [mi.ColumnStats("at", "x"), mi.Values("s")], ids=["stats", "values"])
def test_a_log_that_says_what_is_not_loses_no_row(
    enabled: SparkSession, tmp_path: Path, change: dict[str, Any], index: Any
) -> None:
    """A number that somebody wrote is no proof: neither is a bound that no row has."""
    for number in range(4):
        write_deltalake(str(tmp_path / "right"), content(number), mode="append")
    path = damaged(tmp_path / "right", tmp_path / "wrong", change)
    mi.open_table(path).create_index("stats", index, builder="local")
    t = f"delta.`{path}`"
    asked = [
        f"SELECT at FROM {t} ORDER BY at DESC LIMIT 60",
        f"SELECT at, x FROM {t} WHERE at >= 20 ORDER BY x NULLS FIRST, at LIMIT 7",
        f"SELECT min(at) AS a, max(at) AS b, count(x) AS c FROM {t} WHERE at >= 20",
        f"SELECT count(*) AS c FROM {t} WHERE at >= 20",
    ]
    same(enabled, batch(asked))
    assert enabled.sql(f"SELECT at FROM {t} WHERE at >= 20 LIMIT 180").count() == 180


def test_files_that_are_gone_or_others_prove_nothing(enabled: SparkSession, tmp_path: Path) -> None:
    """Of plain files Spark's own list says which rows there are, whatever an index recorded."""
    for number in range(4):
        pq.write_table(content(number), tmp_path / f"{number}.parquet")
    mi.open_table(str(tmp_path)).create_index("stats", mi.ColumnStats(), builder="local")
    (tmp_path / "3.parquet").unlink()
    t = f"parquet.`{tmp_path}`"
    latest, counted = f"SELECT at FROM {t} ORDER BY at DESC LIMIT 5", f"SELECT count(*), max(at) FROM {t} WHERE at >= 0"
    assert same(enabled, latest).collect()[0]["at"] == 149
    same(enabled, counted)
    pq.write_table(content(3, start=-1_000), tmp_path / "3.parquet")
    enabled.catalog.refreshByPath(str(tmp_path))
    same(enabled, latest)
    same(enabled, counted)
    pq.write_table(content(9), tmp_path / "9.parquet")  # appended since
    enabled.catalog.refreshByPath(str(tmp_path))
    assert same(enabled, latest).collect()[0]["at"] == 499
    same(enabled, counted)


@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_cached_reused_and_adaptive(enabled: SparkSession, tables: dict[str, str], adaptive: str) -> None:
    t = tables["delta"]
    with SparkDriver(enabled).setting("spark.sql.adaptive.enabled", adaptive):
        latest = f"(SELECT * FROM {t} ORDER BY at DESC LIMIT 10)"
        same(enabled, f"SELECT a.at FROM {latest} a JOIN {latest} b ON a.at = b.at LEFT JOIN {t} c ON c.at = a.at + 1")
        grouped = f"SELECT day AS d, count(*) AS n FROM {t} WHERE at >= 75 GROUP BY day"
        same(enabled, f"SELECT a.n, b.d FROM ({grouped}) a JOIN ({grouped}) b ON a.d = b.d")
        same(enabled, f"SELECT max(at) FROM {t} UNION ALL SELECT max(at) FROM {t} WHERE day < 5")
        few = enabled.sql(LATEST.format(t=t)).cache()
        assert few.count() == few.where("at > 0").count() == 10
        few.unpersist()


def test_types_and_overflow_are_those_of_spark(enabled: SparkSession, tmp_path: Path) -> None:
    """Extremes of every type that is told, keys of the same, all NULL, and -0.0."""
    from decimal import Decimal

    def part(number: int) -> pa.Table:
        zero = -0.0 if number == 1 else 1.5
        columns: dict[str, pa.Array] = {
            "b": pa.array([number % 2 == 0] * 3),
            "tiny": pa.array([number] * 3, pa.int8()),
            "small": pa.array([number, -number, None], pa.int16()),
            "big": pa.array([2**63 - 1 - number, -(2**63) + number, 0], pa.int64()),
            "f": pa.array([zero, zero, 2.5 + number], pa.float32()),
            "d": pa.array([number, zero, None], pa.float64()),
            "n": pa.array([Decimal("1.50") + number, Decimal("-7.25"), None], pa.decimal128(9, 2)),
            "wide": pa.array([Decimal(10) ** 30 + number, Decimal(-1), None], pa.decimal128(38, 3)),
            "day": pa.array([number, -number, 9], pa.int32()).cast(pa.date32()),
            "ts": pa.array([number, -number, 10**15], pa.int64()).cast(pa.timestamp("us", "UTC")),
            "local": pa.array([number, -number, 10**15], pa.int64()).cast(pa.timestamp("us")),
            "nothing": pa.nulls(3, pa.int32()),
            "bytes": pa.array([b"\x00\xff", b"", b"\x80"]),
        }
        return pa.table(columns)

    for number in range(3):
        pq.write_table(part(number), tmp_path / f"{number}.parquet")
    mi.open_table(str(tmp_path)).create_index("stats", mi.ColumnStats(), builder="local")
    names = part(0).column_names
    t = f"parquet.`{tmp_path}`"
    for ansi in ("true", "false"):
        with SparkDriver(enabled).setting("spark.sql.ansi.enabled", ansi):
            asked = ", ".join(f"min({name}), max({name}), count({name})" for name in names)
            frame = same(enabled, f"SELECT count(*), {asked} FROM {t}")
            assert frame.schema == enabled.sql(f"SELECT count(*), {asked} FROM {t}").schema
            same(enabled, f"SELECT tiny, b, nothing, count(*), max(ts), min(wide) FROM {t} GROUP BY tiny, b, nothing")
    ends = [f"SELECT {name} AS x FROM {t} ORDER BY {name}{way} LIMIT 1" for name in names for way in ("", " DESC")]
    same(enabled, batch(ends))
    for name in names:
        plan = mi.explain(enabled.sql(f"SELECT min({name}) FROM {t}")).with_indexes
        assert "LocalTableScan" in plan or name == "bytes", plan
