"""Polars expressions: the same rows as the reference semantics, out and in."""

import datetime as dt
import math
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaindex.core import ExpressionError
from metaindex.expressions import ColumnRef, Comparison, In, Literal, Op, Opaque, Predicate, bind, may_match, normalize
from metaindex.expressions.engines.polars import to_polars
from metaindex.expressions.engines.polars_reading import from_polars
from metaindex.expressions.engines.sql import parse
from tests.evaluate import matches
from tests.expressions.engines.tables import (
    ROWS,
    SCHEMA,
    VALUES,
    arrow_schema,
    bound,
    expected,
    joined,
    table_of,
    understood,
)
from tests.scalar_statistics import FileFacts, ScalarStatistics
from tests.strategies import TYPES, predicates, rows, schemas

A = ColumnRef(("a",))
POLARS_TYPES = [t for t in TYPES if t != pa.timestamp("s")]


def kept(table: pa.Table, expression: pl.Expr) -> list[int]:
    frame: Any = pl.from_arrow(table)
    found: list[int] = frame.with_row_index("row number").filter(expression)["row number"].to_list()
    return found


@settings(deadline=None, max_examples=settings.default.max_examples * 60 // 100)
@given(st.data())
def test_the_expression_answers_as_the_reference_in_three_values(data: st.DataObject) -> None:
    schema = data.draw(schemas(POLARS_TYPES))
    known = arrow_schema(schema)
    p = bound(data.draw(predicates(schema)), known)
    table_rows = data.draw(st.lists(rows(schema), min_size=1, max_size=6))
    assert kept(table_of(table_rows, known), to_polars(p, known)) == expected(p, table_rows)


@st.composite
def _near_floats(draw: st.DrawFn) -> tuple[float, float]:
    """A value of 32 bits, and a double that is it, beside it, or anywhere."""
    held = draw(
        st.floats(width=32) | st.sampled_from([float(np.float32(v)) for v in (0.1, 1 / 3, -0.1, 16777216, 3e38)])
    )
    beside = st.sampled_from([held, 0.1, 1 / 3, math.nextafter(held, math.inf), math.nextafter(held, -math.inf), -held])
    return held, draw(beside | st.floats())


@given(st.lists(_near_floats(), min_size=1, max_size=5), st.sampled_from(Op), st.booleans())
def test_a_float_of_32_bits_is_never_compared_with_a_rounded_double(
    pairs: list[tuple[float, float]], op: Op, listed: bool
) -> None:
    schema = pa.schema({"a": pa.float32(), "b": pa.float64()})
    held = [None, *(h for h, _ in pairs)]
    table = pa.table({"a": pa.array(held, pa.float32()), "b": held}, schema)
    for name in schema.names:
        ref = ColumnRef((name,))
        literals = tuple(Literal(double) for _, double in pairs)
        p: Predicate = bind(In(ref, literals) if listed else Comparison(ref, op, literals[0]), schema)
        for known in (schema, None):
            assert kept(table, to_polars(p, known)) == [n for n, v in enumerate(held) if matches(p, {name: v})], p


_LITERALS = VALUES | {"f": st.sampled_from([0.0, -0.0, 1.0, 1.5])}


@st.composite
def expressions(draw: st.DrawFn) -> pl.Expr:
    """As users of Polars write them."""
    name = draw(st.sampled_from(list(_LITERALS)))
    field, value = pl.col(name), draw(_LITERALS[name])
    literal = pl.lit(value)
    choices = [
        field == literal,
        field != literal,
        field.eq_missing(literal),
        field.ne_missing(literal),
        field.is_null(),
    ]
    if name not in {"yes", "d"}:
        choices += [
            field < literal,
            literal <= field,
            field > literal,
            field >= literal,
            field.is_between(literal, literal),
        ]
        choices += [field.is_in([value, None]), field.is_in([value]), field.is_in([value, None], nulls_equal=True)]
        choices += [field.is_in([]), field.is_in([], nulls_equal=True), field.is_in([None])]
        choices += [field.is_in([None], nulls_equal=True)]
        choices += [field.is_in([value], nulls_equal=True), field.is_in(pl.Series([value]).implode())]
    if name == "f":
        choices += [field.is_nan(), field.is_not_nan(), field.is_in([1.5, math.nan]), field > 1]
    if name == "s":
        choices += [field.str.starts_with("a")]
    if name == "yes":
        choices.append(field)
    return draw(st.sampled_from(choices))


def _asked_whether_null(inner: st.SearchStrategy[pl.Expr]) -> st.SearchStrategy[pl.Expr]:
    return st.one_of(
        inner.map(lambda e: e.is_null()),
        inner.map(lambda e: e.is_not_null()),
        st.tuples(inner, st.booleans()).map(lambda p: p[0].fill_null(p[1])),
        st.tuples(inner, st.booleans()).map(lambda p: pl.coalesce(p[0], pl.lit(p[1]))),
    )


trees = st.recursive(expressions(), joined, max_leaves=5)
of_nulls = st.recursive(expressions(), lambda inner: joined(inner) | _asked_whether_null(inner), max_leaves=5)


@given(st.tuples(trees, st.none()) | st.tuples(of_nulls, st.just(SCHEMA)), ROWS)
def test_a_users_expression_is_read_with_polars_own_meaning(
    asked: tuple[pl.Expr, pa.Schema | None], table_rows: list[dict[str, object]]
) -> None:
    expression, schema = asked
    found = from_polars(expression, schema)
    if not understood(found):
        assert schema is not None, found
        return  # too deep to be written out
    assert kept(table_of(table_rows, SCHEMA), expression) == expected(bind(found, SCHEMA), table_rows)


@pytest.mark.parametrize(
    "expression",
    [
        pl.col("a") + 1 == 3,
        pl.col("a") == pl.col("b"),
        pl.col("a").cast(pl.Int8) == 3,
        pl.col("a") == math.inf,
        pl.col("a").str.contains("x"),
        pl.col("a").is_in(pl.col("b")),
        pl.col("a").sum() == 3,
        pl.col("a").shift() == 3,
        pl.when(pl.col("a")).then(True).otherwise(False),
        pl.col("a").map_batches(lambda column: column == 3),
        pl.col("a") == pl.lit(dt.timedelta(1)),
    ],
    ids=str,
)
def test_what_the_tree_cannot_say_is_opaque_and_names_its_columns(expression: pl.Expr) -> None:
    found = from_polars(expression)
    assert isinstance(found, Opaque)
    assert A in found.columns


@given(of_nulls.map(lambda e: e.is_null()) | of_nulls, ROWS, st.sampled_from([SCHEMA, None]))
def test_what_is_read_in_part_loses_no_row(
    expression: pl.Expr, table_rows: list[dict[str, object]], schema: pa.Schema | None
) -> None:
    """Some of a condition may be Opaque, which is asked for nothing: what stands beside it still proves."""
    p = bind(from_polars(expression, schema), SCHEMA)
    for number in kept(table_of(table_rows, SCHEMA), expression):
        facts = {ColumnRef((name,)): _facts(value) for name, value in table_rows[number].items()}
        assert may_match(p, ScalarStatistics(facts)), p


def _facts(value: Any) -> FileFacts:
    """Of a file with just this value."""
    nan = isinstance(value, float) and math.isnan(value)
    bound = None if nan else value
    return FileFacts(bound, bound, int(value is None), int(nan), 1)


@pytest.mark.parametrize(
    ("expression", "says"),
    [
        ((pl.col("i") > 3).is_null(), "i IS NULL"),
        ((pl.col("i") > pl.col("f")).is_null(), "i IS NULL OR f IS NULL"),
        ((pl.col("i") > pl.col("f")).is_not_null(), "NOT (i IS NULL OR f IS NULL)"),
        ((pl.col("f") > 1).fill_null(True), "f > 1 OR f IS NULL"),
        (pl.col("i").eq_missing(3).is_null(), "FALSE"),
    ],
    ids=str,
)
def test_null_of_a_condition_is_said_of_its_columns(expression: pl.Expr, says: str) -> None:
    assert normalize(bind(from_polars(expression, SCHEMA), SCHEMA)) == normalize(bind(parse(says), SCHEMA))


@pytest.mark.parametrize(
    "expression",
    [(pl.col("s") > pl.col("i")).is_null(), (pl.col("d") > pl.col("i")).is_null(), (pl.col("i") + 1).is_null()],
)
def test_null_of_what_may_be_cast_is_opaque(expression: pl.Expr) -> None:
    assert isinstance(from_polars(expression, SCHEMA), Opaque)


_TICKS = st.sampled_from([-2001, -2000, -1999, -1001, -1000, -999, -1, 0, 1, 999, 1000, 1001, 1999, 2000, 2001])
_COMPARED = ["__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "eq_missing", "ne_missing"]


@given(
    st.lists(st.none() | _TICKS, min_size=1, max_size=8),
    st.sampled_from(["ms", "us", "ns"]),
    st.sampled_from(["ms", "us"]),
    st.sampled_from(["ms", "us"]),
    st.integers(-2, 2),
    st.sampled_from([*_COMPARED, "is_between"]),
    st.booleans(),
)
def test_a_moment_of_a_coarser_unit_cuts_the_column_as_it_does_in_polars(
    held: list[int | None], column: str, unit: str, other: str, ticks: int, how: str, denied: bool
) -> None:
    schema = pa.schema({"a": pa.timestamp(column)})
    table = pa.table({"a": pa.array(held, pa.int64()).cast(schema.field("a").type)}, schema)
    literals = [pl.lit(_after_epoch(ticks, one), pl.Datetime(one)) for one in (unit, other)]
    asked = getattr(pl.col("a"), how)(*(literals if how == "is_between" else literals[:1]))
    expression = ~asked if denied else asked
    found = from_polars(expression, schema)
    if understood(found):
        assert kept(table, expression) == expected(bind(found, schema), table.to_pylist()), found
    else:
        assert how == "is_between"


def _after_epoch(ticks: int, unit: str) -> dt.datetime:
    return dt.datetime(1970, 1, 1) + dt.timedelta(**{{"ms": "milliseconds", "us": "microseconds"}[unit]: ticks})


@given(
    st.lists(st.none() | st.floats(width=16), min_size=1, max_size=6),
    st.floats() | st.sampled_from([0.1, 1 / 3, -0.1, 65504, 1e9]),
    st.sampled_from(_COMPARED[:6]),
)
def test_a_bare_number_is_the_nearest_float_of_16_bits(held: list[float | None], number: float, how: str) -> None:
    schema = pa.schema({"a": pa.float16()})
    table = pa.table({"a": pa.array(held, pa.float16())}, schema)
    expression = getattr(pl.col("a"), how)(number)
    found = from_polars(expression, schema)
    if not isinstance(found, Opaque):
        assert kept(table, expression) == expected(bind(found, schema), [{"a": v} for v in held]), found


def test_struct_fields_are_read_by_path() -> None:
    expected = Comparison(ColumnRef(("a", "b.c")), Op.EQ, Literal(1))
    assert from_polars(pl.col("a").struct.field("b.c") == 1) == expected


def test_opaque_cannot_be_written() -> None:
    with pytest.raises(ExpressionError, match="not understood"):
        to_polars(Opaque("f(a)"))


@pytest.mark.parametrize(
    "digits", ["12345678901234567890123456789012345678", "-0.12345678901234567890123456789012345678"]
)
def test_a_decimal_keeps_all_of_its_digits(digits: str) -> None:
    assert from_polars(pl.col("a") == pl.lit(Decimal(digits))) == Comparison(A, Op.EQ, Literal(Decimal(digits)))
