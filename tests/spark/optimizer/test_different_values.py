"""Different values in Spark's own queries, `count(DISTINCT c)` and `SELECT DISTINCT c`: counted and shown as without
the rule, of files that are not read, and what is left to Spark."""

import random
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake
from pyspark.sql import SparkSession

import metaindex as mi
from metaindex.core import SparkDriver
from tests.each_spark import lacks
from tests.examples import few
from tests.spark.optimizer.lakes import location_of
from tests.spark.optimizer.test_first_rows import opened, same

pytestmark = [pytest.mark.spark]

FILES, ROWS, LONG = 12, 40, 5
COLUMNS = ("s", "i", "b", "f", "x", "price", "wide", "d", "ts", "local", "bytes", "nothing")
KINDS = mi.ColumnStats(), mi.Values(*COLUMNS, by="value"), mi.Sums("price", "day")


def content(number: int) -> pa.Table:
    """Few values of every type, some NULL; of floats NaN and both zeros; of texts a long one in one file."""
    pick = random.Random(f"different values {number}")

    def some(values: list[Any], type_: pa.DataType) -> pa.Array:
        few = pick.sample(values, min(len(values), 3)) + ([None] if number % 3 else [])
        return pa.array([pick.choice(few) for _ in range(ROWS)], type_)

    doubles = [0.0, -0.0, float("nan"), 1.5, -2.25, float("inf")]
    texts = some(["", "a", "A", "a ", "é", "zoë"], pa.string())
    moments = [-2_000_000_000_000_000, -1, 0, 1_700_000_000_123_456, 10**15]
    columns = {
        "at": pa.array(range(number * ROWS, (number + 1) * ROWS), pa.int64()),
        "day": pa.array([number // 2] * ROWS, pa.int32()),
        "s": texts if number != LONG else pa.array(["l" * 300, *texts.to_pylist()[1:]]),
        "i": some([-(2**31), -1, 0, 7, 2**31 - 1], pa.int32()),
        "b": some([True, False], pa.bool_()),
        "f": some(doubles, pa.float32()),
        "x": some(doubles, pa.float64()),
        "price": some([Decimal("1.50"), Decimal("-7.25"), Decimal("0.00")], pa.decimal128(9, 2)),
        "wide": some([Decimal(10) ** 30, Decimal(-1), Decimal("0.001")], pa.decimal128(38, 3)),
        "d": some([-25_000, -1, 0, 20_000], pa.int32()).cast(pa.date32()),
        "ts": some(moments, pa.int64()).cast(pa.timestamp("us", "UTC")),
        "local": some(moments, pa.int64()).cast(pa.timestamp("us")),
        "bytes": some([b"", b"\x00\xff", b"\x80"], pa.binary()),
        "nothing": pa.nulls(ROWS, pa.int32()),
    }
    return pa.table(columns)


@pytest.fixture(scope="module")
def tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """By format, how SQL names it."""
    folder = tmp_path_factory.mktemp("different")
    (folder / "files").mkdir()
    for number in range(FILES):
        pq.write_table(content(number), folder / "files" / f"{number:02}.parquet")
        write_deltalake(str(folder / "delta"), content(number), mode="append")
    places = [folder / "files", folder / "delta"]
    if not lacks("iceberg"):
        spark.sql("CREATE NAMESPACE IF NOT EXISTS iceberg.different")
        frame = spark.read.parquet(str(folder / "files"))
        frame.writeTo("iceberg.different.t").using("iceberg").tableProperty("write.distribution-mode", "none").create()
        places.append(Path(location_of(spark, "iceberg.different.t")))
    for place in places:
        mi.open_table(str(place)).create_index("each", *KINDS, builder="local")
    yield {
        "parquet": f"parquet.`{folder}/files`",
        "delta": f"delta.`{folder}/delta`",
        "iceberg": "iceberg.different.t",
    }
    if not lacks("iceberg"):
        spark.sql("DROP TABLE iceberg.different.t")


@pytest.mark.parametrize("name", ["parquet", "delta"])
def test_different_values_are_counted_without_their_files(
    enabled: SparkSession, tables: dict[str, str], name: str
) -> None:
    t, floats, cut = tables[name], ("f", "x"), 1  # the file with the long text is read
    for column in COLUMNS:
        left = cut if column == "s" else 0
        counted = f"SELECT count(DISTINCT {column}) AS c FROM {t}"
        assert opened(same(enabled, counted)) == left, column
        if column not in COLUMNS[: few(4, len(COLUMNS))]:
            continue
        grouped = f"SELECT day, count(DISTINCT {column}) AS c FROM {t} GROUP BY day"
        assert opened(same(enabled, grouped)) == left, column
        about = f"SELECT approx_count_distinct({column}), approx_count_distinct({column}) + 1, max(at) FROM {t}"
        assert (opened(same(enabled, about)) == left) is (column not in floats), column
        shown = opened(same(enabled, f"SELECT DISTINCT {column} FROM {t}"))
        assert shown == left or column in floats, column
    more = f"SELECT count(DISTINCT i), count(*), count(i), min(at), max(at) + 1, count(DISTINCT i) * 2 FROM {t}"
    assert opened(same(enabled, more)) == 0
    assert opened(same(enabled, f"{more} WHERE at BETWEEN 45 AND 401")) == 2
    assert opened(same(enabled, f"{more} WHERE at > 9999")) == 0
    assert opened(same(enabled, f"SELECT sum(day), count(DISTINCT price), sum(price) FROM {t} WHERE at >= 45")) == 1
    ends = f"SELECT day % 2 AS w, count(DISTINCT s), max(day) FROM {t} WHERE at >= 45 GROUP BY day % 2"
    assert opened(same(enabled, f"{ends} HAVING count(DISTINCT s) > 1 ORDER BY w")) == 1 + cut
    assert opened(same(enabled, f"SELECT DISTINCT day, upper(s) AS u FROM {t} WHERE at >= 45")) == 1 + cut
    assert opened(same(enabled, f"SELECT count(DISTINCT z) FROM (SELECT i AS z, day FROM {t} WHERE day > 1)")) == 0
    told = mi.explain(enabled.sql(f"SELECT count(DISTINCT i) FROM {t}"))
    assert f"{FILES} files are answered for by what is known of them (5 different values) by each" in str(told)
    for frame in (counted, more):
        with SparkDriver(enabled).setting("spark.metaindex.enabled", "false"):
            schema = enabled.sql(frame).schema
        assert enabled.sql(frame).schema == schema


@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_different_values_of_iceberg_and_in_larger_plans(
    enabled: SparkSession, tables: dict[str, str], adaptive: str
) -> None:
    t = tables["iceberg"]
    with SparkDriver(enabled).setting("spark.sql.adaptive.enabled", adaptive):
        for column in ("s", "i", "x", "wide", "ts"):
            assert opened(same(enabled, f"SELECT count(DISTINCT {column}), count(*) FROM {t}")) < 3, column
            same(enabled, f"SELECT DISTINCT {column} FROM {t} WHERE at >= 45")
        grouped = f"(SELECT i, count(DISTINCT day) AS n FROM {t} GROUP BY i)"
        days = f"(SELECT day, count(DISTINCT i) AS n FROM {tables['delta']} GROUP BY day)"
        same(enabled, f"SELECT a.day, a.n, b.n FROM {days} a JOIN {days} b ON a.day = b.day + 1")
        same(enabled, f"SELECT a.n, b.n FROM {days} a JOIN {grouped} b ON a.n = b.n")
        same(enabled, f"SELECT count(DISTINCT i) FROM {t} UNION ALL SELECT count(DISTINCT s) FROM {t} WHERE at > 99")
        same(
            enabled,
            f"SELECT at, (SELECT count(DISTINCT s) FROM {t}) AS n FROM {t} WHERE i IN (SELECT DISTINCT i FROM"
            f" {t} WHERE at < 200)",
        )
        for question in ("s FROM {0} EXCEPT SELECT s FROM {0} WHERE at < 200", "i FROM {0} UNION SELECT i FROM {0}"):
            same(enabled, f"SELECT DISTINCT {question.format(t)}")


def test_what_is_left_to_spark(enabled: SparkSession, tables: dict[str, str]) -> None:
    t = tables["parquet"]
    for text in (
        "count(DISTINCT i), count(DISTINCT s)",
        "count(DISTINCT i, s)",
        "count(DISTINCT i) FILTER (WHERE at > 3)",
        "count(DISTINCT i % 3)",
        "sum(DISTINCT i)",
        "approx_count_distinct(x)",  # either zero, by whichever an index has kept
        "approx_count_distinct(i), count(DISTINCT i)",
        "approx_count_distinct(i) FILTER (WHERE at > 3)",
        "count(DISTINCT i), avg(at)",
        "count(DISTINCT at)",  # of which no index keeps each value
    ):
        assert opened(same(enabled, f"SELECT {text} FROM {t}")) > 0, text
    assert opened(same(enabled, f"SELECT DISTINCT i, b FROM {t}")) == FILES
    assert opened(same(enabled, f"SELECT i, count(*) FROM {t} GROUP BY i")) == FILES
    with SparkDriver(enabled).setting("spark.metaindex.aggregates.enabled", "false"):
        assert opened(same(enabled, f"SELECT count(DISTINCT i) FROM {t}")) == FILES


def test_too_many_values_leave_the_plan_as_it_was(
    enabled: SparkSession, tables: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("metaindex.query.aggregates.whole_files.MOST_GROUPS", 4)
    text = f"SELECT count(DISTINCT i) FROM {tables['parquet']}"
    assert opened(same(enabled, text)) == FILES
    assert "TOO_MANY_GROUPS" in str(mi.explain(enabled.sql(text)))


@pytest.mark.parametrize("of", ["delta", "iceberg"])
def test_values_of_deleted_rows_are_none(enabled: SparkSession, tmp_path: Path, of: str) -> None:
    """A file with deletes is read, unless it has one value; older versions have their own."""
    if of == "delta":
        t, place = f"delta.`{tmp_path}/t`", f"{tmp_path}/t"
        enabled.sql(
            f"CREATE TABLE {t} (at bigint, s string, one int) USING delta"
            " TBLPROPERTIES ('delta.enableDeletionVectors'='true')"
        )
    else:
        t = "iceberg.different.deleted"
        enabled.sql(
            f"CREATE TABLE {t} (at bigint, s string, one int) USING iceberg TBLPROPERTIES ('format-version'='3',"
            " 'write.delete.mode'='merge-on-read', 'write.distribution-mode'='none')"
        )
        place = location_of(enabled, t)
    rows = enabled.range(0, 400, 1, 4)
    rows.selectExpr("id AS at", "concat('v', id % 50) AS s", "int(id / 100) AS one").writeTo(t).append()
    mi.open_table(place).create_index("each", mi.ColumnStats(), mi.Values("s", "one", by="value"), builder="local")
    questions = ["count(DISTINCT s) AS c", "count(DISTINCT one), count(*)", "DISTINCT s", "DISTINCT one"]
    for number, deleted in enumerate(["at % 50 = 7 AND at < 100", "s = 'v9'", "at >= 300", None]):
        for question in questions:
            read = opened(same(enabled, f"SELECT {question} FROM {t}"))
            assert read == (0 if number == 0 else 1 if number == 1 and question.endswith("s") else read), question
        if deleted is not None:
            enabled.sql(f"DELETE FROM {t} WHERE {deleted}")
    assert opened(same(enabled, f"SELECT count(DISTINCT s), count(DISTINCT s) + 1 FROM {t} WHERE at < 300")) == 3
    if of == "delta":
        assert opened(same(enabled, f"SELECT count(DISTINCT s) FROM {t} VERSION AS OF 1")) == 0
    else:
        enabled.sql(f"DROP TABLE {t}")


@pytest.mark.parametrize("kept", [mi.ValueList("k"), mi.Values("k", by="value")], ids=lambda kind: kind.name)
def test_random_tables_are_counted_as_without(enabled: SparkSession, tmp_path: Path, kept: Any) -> None:
    """Some files that the index has not read, some without rows, groups of NULL."""
    pick = random.Random(f"random {kept.name}")
    for number in range(10):
        rows = pick.choice([0, 1, 30])
        keys = [pick.choice([None, *range(number, number + 4)]) for _ in range(rows)]
        group = pick.choice([None, 0, 1])
        columns = {"k": pa.array(keys, pa.int64()), "g": pa.array([group] * rows, pa.int32())}
        moments = pa.array([number * 100 + row for row in range(rows)], pa.int64())
        pq.write_table(pa.table({**columns, "at": moments}), tmp_path / f"{number}.parquet")
        if number == 7:
            mi.open_table(str(tmp_path)).create_index("each", mi.ColumnStats(), kept, builder="local")
    t = f"parquet.`{tmp_path}`"
    for where in ("true", "at >= 215", "at BETWEEN 100 AND 512", "g IS NULL", "g = 1 AND at > 0", "k > 3"):
        for text in (
            "SELECT count(DISTINCT k) FROM {}",
            "SELECT g, count(DISTINCT k), count(*), count(k), max(at) FROM {} GROUP BY g",
            "SELECT DISTINCT k FROM {}",
            "SELECT DISTINCT g, k + 1 FROM {}",
            "SELECT k, g, count(DISTINCT k) FROM {} GROUP BY g, k",
        ):
            same(enabled, text.format(f"(SELECT * FROM {t} WHERE {where})"))
