"""Predicates as SQL text: the same rows in DuckDB, the same predicate when read again, and nothing escapes its
quotes."""

import datetime as dt
import math
from collections.abc import Iterator
from decimal import Decimal

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaindex.core import ExpressionError
from metaindex.expressions import (
    And,
    ColumnRef,
    Comparison,
    In,
    IsNan,
    IsNull,
    Literal,
    Not,
    Op,
    Opaque,
    Or,
    Predicate,
    StartsWith,
    normalize,
)
from metaindex.expressions.engines.duckdb import from_duckdb, to_duckdb
from metaindex.expressions.engines.sql import parse
from metaindex.expressions.engines.sql_text import to_sql
from tests.expressions.engines.tables import arrow_schema, bound, expected, table_of
from tests.strategies import predicates, rows, schemas

A = ColumnRef(("a",))


@pytest.fixture
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as found:
        found.execute("SET TimeZone = 'America/New_York'")
        yield found


def kept(connection: duckdb.DuckDBPyConnection, table: pa.Table, condition: object) -> list[int]:
    numbered = table.append_column("row number", pa.array(range(table.num_rows), pa.int64()))
    found = connection.from_arrow(numbered).filter(condition).project('"row number"').fetchall()
    return sorted(number for (number,) in found)


@settings(deadline=None, max_examples=settings.default.max_examples * 60 // 100)
@given(st.data())
def test_duckdb_keeps_the_rows_that_match(data: st.DataObject) -> None:
    schema = data.draw(schemas())
    known = arrow_schema(schema)
    p = bound(data.draw(predicates(schema)), known)
    table_rows = data.draw(st.lists(rows(schema), min_size=1, max_size=6))
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'America/New_York'")
        assert kept(connection, table_of(table_rows, known), to_duckdb(p, known)) == expected(p, table_rows)


texts = st.text(st.sampled_from("ab'\"\\%_`;-/*\n\r\t\0\x1a{}$😀é"), max_size=8)
names = st.text(st.sampled_from("ab.`\"' \\😀"), min_size=1, max_size=5)
literals = st.one_of(
    st.booleans(),
    st.integers(-(10**37), 10**37),
    st.integers(-5, 5),
    st.floats(),
    st.sampled_from([math.nan, math.inf, -math.inf, -0.0]),
    st.decimals(allow_nan=False, allow_infinity=False, places=3, min_value=-(10**9), max_value=10**9),
    texts,
    st.binary(max_size=5),
    st.dates(),
    st.datetimes(),
    st.datetimes(timezones=st.just(dt.UTC)),
).map(Literal)
columns = st.lists(names, min_size=1, max_size=4).map(lambda parts: ColumnRef(tuple(parts)))
anything = st.recursive(
    st.one_of(
        st.builds(Comparison, columns, st.sampled_from(Op), literals | st.just(Literal(None))),
        st.tuples(columns, literals, literals).map(lambda t: In(t[0], (t[1], Literal(None), t[1]))),
        st.builds(IsNull, columns),
        st.builds(IsNan, columns),
        st.builds(StartsWith, columns, texts),
    ),
    lambda inner: st.one_of(
        inner.map(Not),
        st.tuples(inner, inner).map(And),
        st.tuples(inner, inner).map(Or),
    ),
    max_leaves=5,
)


def numbers_as_written(p: Predicate) -> Predicate:
    """Beyond 64 bits an integer is written as a decimal; a decimal without a fraction reads as one."""

    def plain(literal: Literal) -> Literal:
        value = literal.value
        if isinstance(value, Decimal) and value == value.to_integral_value():
            return Literal(int(value))
        return literal

    def leaf(node: Predicate) -> Predicate:
        match node:
            case Comparison(column, op, value):
                return Comparison(column, op, plain(value))
            case In(column, values):
                return In(column, tuple(plain(value) for value in values))
            case _:
                return node

    return p.transform(leaf)


@given(anything)
def test_sparks_text_reads_back_as_the_same_predicate(p: Predicate) -> None:
    assert numbers_as_written(normalize(parse(to_sql(p)))) == numbers_as_written(normalize(p))


@given(anything)
def test_duckdbs_text_is_one_condition(p: Predicate) -> None:
    with duckdb.connect() as connection:
        assert len(connection.extract_statements(f"SELECT {to_sql(p, 'duckdb')}")) == 1


@pytest.mark.parametrize("text", ["it's", "\\", "\\'", "a\\' OR TRUE --", "\0", "a\0b", "😀", "\n", "%_", "--", "é"])
def test_text_arrives_whole(connection: duckdb.DuckDBPyConnection, text: str) -> None:
    p = Comparison(A, Op.EQ, Literal(text))
    assert kept(connection, pa.table({"a": ["other", text]}), to_sql(p, "duckdb")) == [1]
    assert parse(to_sql(p)) == p


@pytest.mark.parametrize("dialect", ["spark", "duckdb"])
@pytest.mark.parametrize(
    "p",
    [
        Opaque("f(a) = 1", (A,)),
        And((IsNull(A), Not(Opaque("f(a)")))),
        Comparison(A, Op.EQ, Literal(Decimal("1e50"))),
        Comparison(A, Op.EQ, Literal(10**40)),
        Comparison(A, Op.EQ, Literal("\ud800")),
        IsNull(ColumnRef(("\ud800",))),
    ],
    ids=repr,
)
def test_what_cannot_be_written_is_refused(p: Predicate, dialect: str) -> None:
    with pytest.raises(ExpressionError):
        to_sql(p, dialect)


def test_an_unknown_dialect_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ExpressionError, match="spark and duckdb"):
        to_sql(IsNull(A), "oracle")


def test_deep_predicates_are_written() -> None:
    p: Predicate = IsNull(A)
    for _ in range(20_000):
        p = Not(p)
    assert to_sql(p).count("NOT") == 20_000


def test_duckdb_expressions_are_read_by_their_text() -> None:
    a, constant = duckdb.ColumnExpression("a"), duckdb.ConstantExpression
    assert from_duckdb(a == constant(5)) == Comparison(A, Op.EQ, Literal(5))
    assert from_duckdb(a > constant("it's \\ 😀")) == Comparison(A, Op.GT, Literal("it's \\ 😀"))
    assert from_duckdb(a == constant(b"\x00a'\\")) == Comparison(A, Op.EQ, Literal(b"\x00a'\\"))
    assert from_duckdb(a == constant(math.nan)) == Comparison(A, Op.EQ, Literal(math.nan))
    assert from_duckdb(a == constant(Decimal("1.10"))) == Comparison(A, Op.EQ, Literal(Decimal("1.10")))
    assert from_duckdb(a == constant(dt.datetime(2020, 1, 1))) == Comparison(A, Op.EQ, Literal(dt.datetime(2020, 1, 1)))
    assert from_duckdb(~a.isin(constant(1), constant(None))) == Not(In(A, (Literal(1), Literal(None))))
    assert from_duckdb(duckdb.ColumnExpression("s", "x").isnull()) == IsNull(ColumnRef(("s", "x")))
    assert isinstance(from_duckdb(a == duckdb.ColumnExpression("b")), Opaque)
    assert isinstance(from_duckdb(duckdb.SQLExpression("a = ?::INT")), Opaque)
