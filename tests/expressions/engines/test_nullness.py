"""IS NULL, IS TRUE and IS FALSE of conditions: the three-valued answers of DuckDB and of Spark, and no file dropped
that holds a row of theirs."""

import datetime as dt
import math
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from metaindex.core import SparkDriver
from metaindex.expressions import ArrowStatistics, ColumnRef, Opaque, Predicate, bind, may_match, normalize
from metaindex.expressions.engines.sql import parse
from metaindex.expressions.skipping import must_match
from tests.duck import connected
from tests.evaluate import matches
from tests.expressions.engines.tables import understood
from tests.scalar_statistics import FileFacts, ScalarStatistics
from tests.strategies import Files, Row, files

COLUMNS = {"i": pa.int32(), "l": pa.int64(), "x": pa.float64(), "s": pa.string(), "d": pa.date32(), "y": pa.bool_()}
REFS = {ColumnRef((name,)): t for name, t in COLUMNS.items()}
SCHEMA = pa.schema(COLUMNS)
_LITERALS = {
    "i": ["-1", "3", "2147483647", "NULL"],
    "l": ["0", "5", "3.5", "NULL"],
    "x": ["1.5", "2", "NULL"],
    "s": ["''", "'a'", "'b'", "NULL"],
    "d": ["DATE '2020-01-03'", "'2020-01-05'", "NULL"],
    "y": ["TRUE", "FALSE"],
}
_OPS = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])


@st.composite
def _comparisons(draw: st.DrawFn) -> str:
    column = draw(st.sampled_from(list(COLUMNS)))
    literal = st.sampled_from(_LITERALS[column])
    match draw(st.sampled_from(["value", "column", "in", "between", "like", "null", "safe"])):
        case "value":
            return f"{column} {draw(_OPS)} {draw(literal)}"
        case "column":
            other = draw(st.sampled_from(["i", "l", "x"] if column in "ilx" else [column]))
            return f"{column} {draw(_OPS)} {other}"
        case "in":
            return f"{column} IN ({', '.join(draw(st.lists(literal, min_size=1, max_size=3)))})"
        case "between" if column != "y":
            return f"{column} BETWEEN {draw(literal)} AND {draw(literal)}"
        case "like":
            return "s LIKE 'a%'"
        case "safe":
            return f"{column} IS NOT DISTINCT FROM {draw(literal)}"
        case _:
            return f"{column} IS NULL"


def _wrapped(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    asked = st.sampled_from(["IS NULL", "IS NOT NULL", "IS TRUE", "IS FALSE", "IS NOT TRUE", "IS NOT FALSE"])
    joined = st.lists(inner, min_size=2, max_size=3)
    return st.one_of(
        st.builds("({}) {}".format, inner, asked),
        st.builds("({}) {}".format, inner, st.sampled_from(["IS NULL", "IS NOT NULL"])),
        inner.map("NOT ({})".format),
        joined.map(lambda parts: " AND ".join(f"({part})" for part in parts)),
        joined.map(lambda parts: " OR ".join(f"({part})" for part in parts)),
    )


CONDITIONS = st.recursive(_comparisons(), _wrapped, max_leaves=5).map("({}) IS NULL".format) | st.recursive(
    _comparisons(), _wrapped, max_leaves=5
)


def _bound(text: str) -> Predicate:
    return bind(parse(text, schema=SCHEMA), SCHEMA)


def _held(lake: Files) -> list[tuple[int, Row]]:
    return [(n, row) for n, rows in enumerate(lake.rows) for row in rows if not _beyond(row)]


def _beyond(row: Row) -> bool:
    """Python's last dates are texts that no engine reads alike; infinities and NaN are not told apart as literals."""
    day, number, text = row["d"], row["x"], row["s"]
    odd = isinstance(day, dt.date) and not 1900 < day.year < 2100
    return odd or (isinstance(number, float) and not math.isfinite(number)) or (isinstance(text, str) and "\0" in text)


def _agrees(text: str, lake: Files, rows: list[tuple[int, Row]], answers: list[bool | None]) -> None:
    p = _bound(text)
    statistics = ArrowStatistics(len(lake.rows), lake.bounds)
    kept, certain = may_match(p, statistics), must_match(p, statistics)
    for (file, row), answer in zip(rows, answers, strict=True):
        assert kept[file] or answer is not True, (text, row)
        assert not certain[file] or answer is True, (text, row)
        if understood(p):
            assert matches(p, row) is answer, (text, row, p)


@given(files(REFS), st.lists(CONDITIONS, min_size=1, max_size=6))
def test_duckdb_gives_the_same_three_values(lake: Files, texts: list[str]) -> None:
    rows, connection = _held(lake), connected()
    connection.register("t", pa.Table.from_pylist([dict(row) for _, row in rows], schema=SCHEMA))
    found = connection.execute(f"SELECT {', '.join(f'({text})' for text in texts)} FROM t").fetchall()
    for n, text in enumerate(texts):
        _agrees(text, lake, rows, [row[n] for row in found])


@pytest.mark.spark
@pytest.mark.parametrize("ansi", ["true", "false"])
@settings(
    deadline=None,
    max_examples=12,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # shrinking asks Spark a thousand times
)
@given(files(REFS, max_rows=6), st.lists(CONDITIONS, min_size=20, max_size=20))
def test_spark_gives_the_same_three_values(spark: Any, ansi: str, lake: Files, texts: list[str]) -> None:
    rows = _held(lake)
    frame = spark.createDataFrame(pa.Table.from_pylist([dict(row) for _, row in rows], schema=SCHEMA)).coalesce(1)
    with SparkDriver(spark).setting("spark.sql.ansi.enabled", ansi):
        found = frame.selectExpr(*(f"({text}) AS c{n}" for n, text in enumerate(texts))).collect()
    for n, text in enumerate(texts):
        _agrees(text, lake, rows, [row[n] for row in found])


_TEXTS_CAST = ["s > 5", "d = '2020-02-30'", "i = '3000000000'", "s = DATE '2020-01-01'", "i = 'x'", "s = i", "d = s"]


@pytest.mark.spark
def test_a_cast_that_can_give_null_is_not_taken_for_its_column(spark: Any) -> None:
    """Outside of ANSI mode a text that is no number is NULL: `s > 5` of 'x' is NULL, and `s` is not."""
    with SparkDriver(spark).setting("spark.sql.ansi.enabled", "false"):
        frame = spark.createDataFrame([(1, "x", dt.date(2020, 1, 1))], "i INT, s STRING, d DATE")
        found = frame.selectExpr(*(f"({text}) IS NULL" for text in _TEXTS_CAST)).first()
    assert sum(found) >= 5  # that is what makes them worth the question
    for text in _TEXTS_CAST:
        (leaf,) = parse(f"({text}) IS NULL", schema=SCHEMA).leaves()
        assert isinstance(leaf, Opaque), text


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("(i > l) IS NULL", "i IS NULL OR l IS NULL"),
        ("(I > L) IS UNKNOWN", "I IS NULL OR L IS NULL"),
        ("(i = l) IS NOT NULL", "NOT (i IS NULL OR l IS NULL)"),
        ("NOT ((i > l) IS NULL)", "NOT (i IS NULL OR l IS NULL)"),
        ("isnull(i > 5)", "i IS NULL"),
        ("isnotnull(NOT s LIKE 'a%')", "NOT (s IS NULL)"),
        ("(i <=> 5) IS NULL", "FALSE"),
        ("(isnan(x)) IS NULL", "FALSE"),
        ("(i = NULL) IS NULL", "TRUE"),
        ("(i IN (1, NULL)) IS NULL", "i IS NULL OR NOT (i = 1)"),
    ],
)
def test_what_it_says_of_columns(text: str, says: str) -> None:
    assert normalize(parse(text, schema=SCHEMA)) == normalize(parse(says))


def test_what_stands_beside_something_unreadable_still_proves() -> None:
    p = _bound("(i > 5 AND abs(l) = 3) IS NULL")
    few = FileFacts(1, 4, null_count=0, row_count=9, has_nan=False)
    assert not may_match(p, ScalarStatistics({ColumnRef(("i",)): few}))
    more = FileFacts(1, 6, null_count=0, row_count=9, has_nan=False)
    assert may_match(p, ScalarStatistics({ColumnRef(("i",)): more}))


def test_deep_nests_are_not_written_out() -> None:
    text = "i = 1"
    for level in range(40):
        text = f"({text} {'AND' if level % 2 else 'OR'} l = {level})"
    assert isinstance(parse(f"({text}) IS NULL", schema=SCHEMA), Opaque)
