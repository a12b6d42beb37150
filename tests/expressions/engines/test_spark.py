"""Spark's own predicates: what its optimizer really leaves is read with Spark's meaning, and what is written keeps
Spark's rows."""

import datetime as dt
import math
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import functions as f

from metaindex.core import SparkDriver
from metaindex.expressions import (
    And,
    ColumnRef,
    Comparison,
    Constant,
    In,
    IsNan,
    IsNull,
    Literal,
    Not,
    Op,
    Opaque,
    Predicate,
    StartsWith,
    bind,
)
from metaindex.expressions.engines.spark import from_catalyst, from_spark, to_spark
from metaindex.expressions.engines.sql import parse
from metaindex.expressions.engines.sql_text import to_sql
from tests.evaluate import matches
from tests.expressions.engines.tables import arrow_schema, bound, table_of, understood
from tests.strategies import TYPES, predicates, rows, schemas

pytestmark = pytest.mark.spark

A = ColumnRef(("a",))
SCHEMA = pa.schema(
    {
        "id": pa.int64(),
        "ti": pa.int8(),
        "si": pa.int16(),
        "i": pa.int32(),
        "l": pa.int64(),
        "f": pa.float32(),
        "d": pa.float64(),
        "dec": pa.decimal128(9, 2),
        "s": pa.string(),
        "b": pa.binary(),
        "day": pa.date32(),
        "ts": pa.timestamp("us", "UTC"),
        "ntz": pa.timestamp("us"),
        "yes": pa.bool_(),
        "st": pa.struct({"x": pa.int32(), "y": pa.struct({"z": pa.string(), "a.b": pa.int64()})}),
        "m": pa.map_(pa.string(), pa.int32()),
        "arr": pa.list_(pa.int32()),
        "odd na.me": pa.string(),
    }
)
_NEW_YORK_AUTUMN = dt.datetime(2020, 11, 1, 5, 30, tzinfo=dt.UTC)  # 01:30 there, for the first time of two
_POOL: dict[str, list[object]] = {
    "ti": [None, -128, 3, 5, 127],
    "si": [None, 3, 300, 5, -32768],
    "i": [None, -5, 0, 1, 5, 11, 2**31 - 1],
    "l": [None, 5, 2**53 + 1, -(2**63), 12],
    "f": [None, 1.5, math.nan, -0.0, math.inf, 0.10000000149011612, 1.0],
    "d": [None, 1.1, math.nan, 0.0, -0.0, math.inf, -math.inf, 2.0, 5.0],
    "dec": [None, Decimal("1.10"), Decimal("1.00"), Decimal("-9999999.99"), Decimal("1.12")],
    "s": [None, "", "x", "p", "p%", "pq", "it's \\ é", "😀", "5", "P", "2020-01-01"],
    "b": [None, b"", b"\x0a\x0b", b"\xff"],
    "day": [None, dt.date(2020, 1, 1), dt.date(2020, 1, 2), dt.date(1, 1, 1), dt.date(9999, 12, 31)],
    "ts": [
        None,
        dt.datetime(2020, 1, 1, tzinfo=dt.UTC),
        dt.datetime(2020, 1, 2, 0, 0, 0, 1, tzinfo=dt.UTC),
        _NEW_YORK_AUTUMN,
        _NEW_YORK_AUTUMN + dt.timedelta(hours=1),
    ],
    "ntz": [None, dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 2, 10), dt.datetime(1969, 12, 31, 23)],
    "yes": [None, True, False],
    "st": [
        None,
        {"x": None, "y": None},
        {"x": 1, "y": {"z": "q", "a.b": 2}},
        {"x": 3, "y": {"z": None, "a.b": None}},
    ],
    "m": [None, [("k", 1)]],
    "arr": [None, [1], []],
    "odd na.me": [None, "y"],
}
ROWS = [
    {"id": n, **{name: pool[(n * (k + 1) + k) % len(pool)] for k, (name, pool) in enumerate(_POOL.items())}}
    for n in range(60)
]

UNDERSTOOD = [
    "i = 5",
    "5 < l",
    "i = 5L",
    "i = 5.0",
    "i != 5",
    "i >= -5",
    "ti = 3",
    "si > 299",
    "f = 1.5",
    "f > 0.1F",
    "f > float('NaN')",
    "f = float('NaN')",
    "f <= -0.0F",
    "f >= 1",
    "d > 1.1",
    "d = double('NaN')",
    "d < double('NaN')",
    "d = -0.0D",
    "d != 5",
    "d in (1.1D, double('NaN'))",
    "d not in (2.0D, 5.0D)",
    "d <=> double('NaN')",
    "dec = 1.1",
    "dec = 1",
    "dec > 1.113",
    "dec <=> null",
    "s = 'x'",
    "s >= 'it''s \\\\ \\u00e9'",
    "s in ('x', 'p')",
    "s not in ('x', 'p')",
    "s like 'p%'",
    "s not like 'p%'",
    "s like 'p\\\\%%'",
    "s like 'p#%%' escape '#'",
    "s like 'p'",
    "s like '%'",
    "startswith(s, '😀')",
    "s is not distinct from 'x'",
    "b = X'0A0B'",
    "b > X'0A'",
    "b in (X'0A0B', X'FF')",
    "day = date'2020-01-02'",
    "day = '2020-01-02'",
    "day > timestamp'2020-01-01 00:00:00'",
    "day between '2020-01-01' and '2020-02-01'",
    "ts = timestamp'2020-01-01 00:00:00'",
    "ts > timestamp'2020-11-01 06:00:00'",
    "ts >= '2020-01-02'",
    "ts > date'2020-01-02'",
    "cast(ts as date) = date'2020-01-02'",
    "ts in (" + ", ".join(f"timestamp'2020-01-{n:02} 00:00:00'" for n in range(1, 16)) + ")",
    "ntz = timestamp_ntz'2020-01-02 10:00:00'",
    "ntz < timestamp_ntz'1970-01-01 00:00:00'",
    "yes",
    "not yes",
    "yes = false",
    "yes is not true",
    "yes is false",
    "i <=> null",
    "i <=> 5",
    "not (i <=> 5)",
    "i in (1, 2, 5)",
    "i in (1, null, 5)",
    "i in (" + ", ".join(map(str, range(2, 14))) + ")",
    "i not in (" + ", ".join(map(str, range(2, 14))) + ")",
    "s in (" + ", ".join(f"'{c}'" for c in "abcdefghxyzp5") + ")",
    "b in (" + ", ".join(f"X'{n:02x}'" for n in range(244, 256)) + ")",
    "day in (" + ", ".join(f"date'2020-01-{n:02}'" for n in range(1, 14)) + ")",
    "dec in (" + ", ".join(f"{n}.10" for n in range(12)) + ")",
    "d in (" + ", ".join(f"{n}.0D" for n in range(12)) + ", double('NaN'))",
    "f in (" + ", ".join(f"{n}.5F" for n in range(12)) + ", 0.1F)",
    "ntz in (" + ", ".join(f"timestamp_ntz'2020-01-{n:02} 10:00:00'" for n in range(1, 14)) + ")",
    "st.x = 1",
    "st.y.z = 'q'",
    "st.y.`a.b` >= 2",
    "isnan(d)",
    "not isnan(f)",
    "i is null",
    "i is not null",
    "cast(i as bigint) = 5",
    "cast(f as double) > 1.0D",
    "cast(i as double) < 5.5D",
    "`odd na.me` = 'y'",
    "i > 0 and (s = 'x' or d < 2) and not (l in (5, 12))",
    "i between 1 and 5",
    "i not between 1 and 5",
    "i <= 5 or i is null",
    "if(yes, true, false)",
    "i > 5 or s like 'p%' or dec is null or isnan(d)",
]
PARTLY = [
    "l = 1.5D",
    "cast(l as int) = 5",
    "i + 1 = 6",
    "i = l",
    "m['k'] = 1",
    "arr[0] = 1",
    "upper(s) = 'X'",
    "s like '%p'",
    "s like 'p%q'",
    "s ilike 'p%'",
    "coalesce(i, 1) = 1",
    "year(day) = 2020",
    "substr(s, 1, 1) = 'p'",
    "trim(s) = 'x'",
    "case when i = 1 then true else false end",
    "nullif(i, 1) is null",
    "date_trunc('day', ts) = timestamp'2020-01-01 00:00:00'",
    "i > (select max(1))",
    "rand() < 0.5",
    "array_contains(arr, 1)",
    "s = 5",
    "i = 5 and abs(l) = 5",
    "i = 5 or abs(l) = 5",
    "s collate UTF8_LCASE = 'P'",
]


@pytest.fixture(scope="module")
def table(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    import pyarrow.parquet as pq

    folder: Path = tmp_path_factory.mktemp("table")
    pq.write_table(pa.Table.from_pylist(ROWS, schema=SCHEMA), folder / "rows.parquet")
    spark.read.parquet(str(folder)).createOrReplaceTempView("engine_rows")
    yield "engine_rows"
    spark.catalog.dropTempView("engine_rows")


def of_plan(spark: Any, table: str, text: str) -> Predicate:
    return of_frame(spark.sql(f"SELECT * FROM {table} WHERE {text}"))


def of_frame(frame: Any) -> Predicate:
    """What the filters above the one source of its optimized plan say, as the rule meets them."""
    found: list[Predicate] = []
    plan = frame._jdf.queryExecution().optimizedPlan()
    while plan.children().size():
        above, plan = plan, plan.children().apply(0)
        assert above.children().size() == 1
        found = [*found, from_catalyst(above.condition())] if above.getClass().getSimpleName() == "Filter" else []
    return And(tuple(found)) if found else Constant(True)


def spark_rows(spark: Any, table: str, texts: list[str]) -> dict[str, set[int]]:
    """All conditions in one job."""
    frame = spark.sql(f"SELECT id, {', '.join(f'({text}) AS c{n}' for n, text in enumerate(texts))} FROM {table}")
    found: dict[str, set[int]] = {text: set() for text in texts}
    for row in frame.collect():
        for n, text in enumerate(texts):
            if row[f"c{n}"]:
                found[text].add(row["id"])
    return found


def our_rows(p: Predicate) -> set[int]:
    understood = bind(p, SCHEMA)
    return {n for n, row in enumerate(ROWS) if matches(understood, row) is True}


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_what_the_optimizer_leaves_is_read_with_sparks_rows(spark: Any, table: str, zone: str) -> None:
    with SparkDriver(spark).setting("spark.sql.session.timeZone", zone):
        truth = spark_rows(spark, table, UNDERSTOOD)
        wrong = []
        for text in UNDERSTOOD:
            p = of_plan(spark, table, text)
            if not understood(p) or our_rows(p) != truth[text]:
                wrong.append((text, p, sorted(our_rows_or_none(p) ^ truth[text])))
        assert wrong == []


def our_rows_or_none(p: Predicate) -> set[int]:
    return our_rows(p) if understood(p) else set()


def test_what_the_tree_cannot_say_is_opaque_and_the_rest_is_kept(spark: Any, table: str) -> None:
    for text in PARTLY:
        p = of_plan(spark, table, text)
        assert not understood(p), (text, p)
    p = of_plan(spark, table, "i = 5 and abs(l) = 5")
    assert isinstance(p, And)
    assert Comparison(ColumnRef(("i",)), Op.EQ, Literal(5)) in list(p.leaves())


@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
def test_sql_text_is_read_as_spark_reads_it(spark: Any, table: str, zone: str) -> None:
    with SparkDriver(spark).setting("spark.sql.session.timeZone", zone):
        truth = spark_rows(spark, table, UNDERSTOOD)
        for text in UNDERSTOOD:
            p = bind(parse(text, timezone=zone, schema=SCHEMA), SCHEMA, time_zone=zone)
            if understood(p):
                assert {n for n, row in enumerate(ROWS) if matches(p, row) is True} == truth[text], text


SPARK_TYPES = [t for t in TYPES if not pa.types.is_unsigned_integer(t) and t != pa.timestamp("s")]


@settings(
    deadline=None,
    max_examples=12,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # shrinking asks Spark a thousand times
)
@given(st.data())
def test_a_column_answers_as_the_reference_in_three_values(spark: Any, data: st.DataObject) -> None:
    schema = data.draw(schemas(SPARK_TYPES, max_columns=6))
    known = arrow_schema(schema)
    asked = [bound(p, known) for p in data.draw(st.lists(predicates(schema), min_size=20, max_size=20))]
    table_rows = data.draw(st.lists(rows(schema), min_size=6, max_size=6))
    frame = spark.createDataFrame(table_of(table_rows, known)).coalesce(1)
    answers = frame.select(
        *(to_spark(p, known).alias(f"c{n}") for n, p in enumerate(asked)),
        *(f.expr(to_sql(p, "spark", known)).alias(f"t{n}") for n, p in enumerate(asked)),
    ).collect()
    for n, p in enumerate(asked):
        expected = [matches(p, row) for row in table_rows]
        assert [row[f"c{n}"] for row in answers] == expected, to_sql(p, "spark", known)
        assert [row[f"t{n}"] for row in answers] == expected, to_sql(p, "spark", known)


def test_columns_of_users_are_read(spark: Any) -> None:
    a, utc = f.col("a"), dt.UTC
    cases = [
        (a == 5, Comparison(A, Op.EQ, Literal(5))),
        (f.lit(5) < a, Comparison(A, Op.GT, Literal(5))),
        (a != 5, Not(Comparison(A, Op.EQ, Literal(5)))),
        (~a, Not(Comparison(A, Op.EQ, Literal(True)))),
        (a.isin(1, 2), In(A, (Literal(1), Literal(2)))),
        (a.startswith("p"), StartsWith(A, "p")),
        (a.like("p%"), StartsWith(A, "p")),
        (f.isnan(a), IsNan(A)),
        (a.isNull(), IsNull(A)),
        (a.isNotNull(), Not(IsNull(A))),
        (a.eqNullSafe(3), Comparison(A, Op.NULL_SAFE_EQ, Literal(3))),
        (a == f.lit(b"\x00\xff"), Comparison(A, Op.EQ, Literal(b"\x00\xff"))),
        (a == Decimal("1.10"), Comparison(A, Op.EQ, Literal(Decimal("1.10")))),
        (a == f.lit(math.nan), Comparison(A, Op.EQ, Literal(math.nan))),
        (a == dt.date(2020, 1, 1), Comparison(A, Op.EQ, Literal(dt.date(2020, 1, 1)))),
        (f.col("`a.b`.c") == 1, Comparison(ColumnRef(("a.b", "c")), Op.EQ, Literal(1))),
        (a["b"] == 1, Comparison(ColumnRef(("a", "b")), Op.EQ, Literal(1))),
        (f.expr("a = 1 and b like 'x#%%' escape '#'"), parse("a = 1 and b like 'x#%%' escape '#'")),
        (
            f.expr("a > timestamp'2020-01-01 00:00:00+01:00'"),
            Comparison(A, Op.GT, Literal(dt.datetime(2019, 12, 31, 23, tzinfo=utc))),
        ),
    ]
    for column, expected in cases:
        assert from_spark(column) == expected, str(column)
    for column in (a == f.col("b"), f.upper(a) == "X", a.cast("int") == 1, a.rlike("x"), a + 1 == 2):
        assert isinstance(from_spark(column), Opaque), str(column)


def test_collations_are_opaque(spark: Any) -> None:
    spark.sql(
        "CREATE TABLE engine_collated (s STRING COLLATE UTF8_LCASE, t STRUCT<u: STRING COLLATE UTF8_LCASE>) USING"
        " parquet"
    )
    try:
        for text in ("s = 'a'", "s like 'a%'", "s in ('a', 'b')", "t.u = 'a'"):
            found = list(of_plan(spark, "engine_collated", text).leaves())
            assert any(isinstance(leaf, Opaque) for leaf in found), (text, found)
            assert not any(isinstance(leaf, Comparison | In | StartsWith) for leaf in found), (text, found)
    finally:
        spark.sql("DROP TABLE engine_collated")


def test_whole_structs_are_columns_too(spark: Any, table: str) -> None:
    assert of_frame(spark.table(table).filter("st is null")) == And((IsNull(ColumnRef(("st",))),))
    assert of_frame(spark.table(table).filter("st.y is not null")) == And((Not(IsNull(ColumnRef(("st", "y")))),))


def test_hidden_columns_are_opaque(spark: Any, table: str) -> None:
    (file,) = spark.table(table).inputFiles()
    found = of_frame(spark.read.parquet(file).filter("_metadata.file_size > 5 and i = 5"))
    assert Comparison(ColumnRef(("i",)), Op.EQ, Literal(5)) in list(found.leaves())
    assert all(leaf.column.parts[0] != "_metadata" for leaf in found.leaves() if isinstance(leaf, Comparison))
