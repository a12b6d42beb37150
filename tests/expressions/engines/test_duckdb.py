"""DuckDB's expressions are read with DuckDB's meaning, or are Opaque."""

import datetime as dt
import math
from collections.abc import Iterator
from decimal import Decimal

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaindex.core import ExpressionError
from metaindex.expressions import Opaque, bind
from metaindex.expressions.engines.duckdb import from_duckdb
from tests.expressions.engines.tables import expected, understood

SCHEMA = pa.schema(
    {
        "i": pa.int64(),
        "n": pa.int32(),
        "f": pa.float64(),
        "g": pa.float32(),
        "s": pa.string(),
        "t": pa.timestamp("us"),
        "z": pa.timestamp("us", "UTC"),
        "day": pa.date32(),
        "d": pa.decimal128(9, 2),
        "yes": pa.bool_(),
    }
)
F32 = [float(np.float32(v)) for v in (0.1, 1.0, -0.0, 16777216)]
MOMENTS = [dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 2, 0, 0, 0, 1)]
ROW = st.fixed_dictionaries(
    {
        "i": st.none() | st.sampled_from([0, 1, 3, 2**53 + 1, -(2**63)]),
        "n": st.none() | st.sampled_from([0, 1, 3, -3]),
        "f": st.none() | st.sampled_from([math.nan, 0.0, -0.0, 0.1, 1.5, math.inf]),
        "g": st.none() | st.sampled_from([math.nan, math.inf, *F32]),
        "s": st.none() | st.sampled_from(["", "a", "ab", "é", "3"]),
        "t": st.none() | st.sampled_from(MOMENTS),
        "z": st.none() | st.sampled_from([m.replace(tzinfo=dt.UTC) for m in MOMENTS]),
        "day": st.none() | st.sampled_from([m.date() for m in MOMENTS]),
        "d": st.none() | st.sampled_from([Decimal("3.25"), Decimal("3.00"), Decimal("-1.10")]),
        "yes": st.none() | st.booleans(),
    }
)
NUMBERS = ["0", "1", "3", "-0.0", "0.1", "1.5", "1e-1", "3.25", "3.251", "16777217", "9007199254740993", "'3'", "'2.9'",
    "'3.251'", "'nan'::DOUBLE", "NULL"]  # fmt: skip
TIMES = ["'2020-01-01'", "'2020-01-01 00:00:00'", "DATE '2020-01-02'", "TIMESTAMP '2020-01-02 00:00:00.000001'",
    "TIMESTAMPTZ '2020-01-01 00:00:00+00'", "TIMESTAMPTZ '2020-01-01 02:00:00+02'", "NULL"]  # fmt: skip
LITERALS = {**dict.fromkeys("infgd", NUMBERS), **dict.fromkeys(("t", "z", "day"), TIMES),
    "s": ["'a'", "'3'", "''", "NULL"], "yes": ["true", "NULL"]}  # fmt: skip


@st.composite
def conditions(draw: st.DrawFn) -> str:
    name = draw(st.sampled_from(list(LITERALS)))
    literal = st.sampled_from(LITERALS[name])
    a, b = draw(literal), draw(literal)
    ops = ["=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"]
    shapes = [f"{name} {draw(st.sampled_from(ops))} {a}", f"{name} IN ({a}, {b})", f"{name} NOT IN ({a}, {b})",
        f"{name} BETWEEN {a} AND {b}", f"{name} IS NULL", name.upper() + f" = {a}"]  # fmt: skip
    if name == "s":
        shapes += ["s LIKE 'a%'", "NOT starts_with(s, 'a')", "s ILIKE 'A%'"]
    if name in "fg":
        shapes += [f"isnan({name})", f"NOT isnan({name})", f"{name}::DOUBLE = {a}"]
    return draw(st.sampled_from(shapes))


trees = st.recursive(
    conditions(),
    lambda inner: st.one_of(
        inner.map(lambda c: f"NOT ({c})"),
        st.builds(
            "({}) IS {}".format, inner, st.sampled_from(["NULL", "NOT NULL", "TRUE", "NOT TRUE", "FALSE", "NOT FALSE"])
        ),
        st.tuples(inner, inner).map(lambda pair: f"({pair[0]}) AND ({pair[1]})"),
        st.tuples(inner, inner).map(lambda pair: f"({pair[0]}) OR ({pair[1]})"),
    ),
    max_leaves=4,
)


@pytest.fixture(scope="module")
def tokyo() -> Iterator[duckdb.DuckDBPyConnection]:
    """A session whose zone is not the one in which literals are bound."""
    with duckdb.connect() as con:
        con.execute("SET threads = 1")
        try:
            con.execute("SET TimeZone = 'Asia/Tokyo'")
        except duckdb.Error:
            pytest.skip("needs DuckDB's icu extension")
        yield con


@settings(deadline=None, max_examples=settings.default.max_examples * 60 // 100)
@given(trees, st.lists(ROW, min_size=1, max_size=5))
def test_a_condition_is_read_with_duckdbs_own_meaning(
    tokyo: duckdb.DuckDBPyConnection, condition: str, rows: list[dict[str, object]]
) -> None:
    try:
        found = bind(from_duckdb(duckdb.SQLExpression(condition), SCHEMA), SCHEMA)
    except ExpressionError:
        return  # refused: nothing is answered
    if not understood(found):
        return  # keeps everything
    table = pa.Table.from_pylist(rows, SCHEMA).append_column("row number", pa.array(range(len(rows))))
    try:
        kept = tokyo.from_arrow(table).filter(condition).project('"row number"').fetchall()
    except duckdb.Error:
        return
    assert sorted(n for (n,) in kept) == expected(found, rows), found


@pytest.mark.parametrize("escape", ["", "#", "\\", "a", "%"])
@pytest.mark.parametrize("pattern", ["b{}%", "b{}_c", "b{}%%", "{}{}%", "b%"])
def test_like_hears_its_escape(escape: str, pattern: str) -> None:
    """Named or not, a backslash too."""
    texts = ["b%", "b_c", "b%c", "b\\", "b\\%", "\\", "\\x", "#x", "bc", "%x", "ax", None]
    table = pa.table({"s": texts})
    like = f"s LIKE '{pattern.format(escape, escape)}'" + (f" ESCAPE '{escape}'" if escape else "")
    for condition in (like, f"NOT ({like})"):
        said = bind(from_duckdb(duckdb.SQLExpression(condition), table.schema), table.schema)
        if not understood(said):
            assert "_c" in like or escape == "%"  # a wildcard inside, an escape at the end
            continue
        with duckdb.connect() as con:
            passed = [text for (text,) in con.from_arrow(table).filter(condition).fetchall()]
        assert passed == [texts[n] for n in expected(said, [{"s": text} for text in texts])], (said, condition)


@pytest.mark.parametrize("condition", ["g = 0.1", "g IN (0.1, 5)", "i = '2.9'", "d = '3.251'", "z = '2020-01-01'",
    "z > TIMESTAMP '2020-01-01'", "t = TIMESTAMPTZ '2020-01-01 00:00:00+00'", "Z < DATE '2020-01-01'"])  # fmt: skip
def test_what_duckdb_compares_in_its_own_way_keeps_everything(condition: str) -> None:
    assert isinstance(from_duckdb(duckdb.SQLExpression(condition), SCHEMA), Opaque)


@pytest.mark.parametrize("condition", ["g = 1.5", "g = 1e-1", "i = 3", "i > 2.5", "d = 3.25", "day = '2020-01-01'",
    "t >= '2020-01-01 00:00:00'", "z = TIMESTAMPTZ '2020-01-01 00:00:00+02'", "s = '3'"])  # fmt: skip
def test_what_both_compare_alike_is_read(condition: str) -> None:
    assert not isinstance(from_duckdb(duckdb.SQLExpression(condition), SCHEMA), Opaque)
