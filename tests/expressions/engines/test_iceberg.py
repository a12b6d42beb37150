"""pyiceberg's expressions: out exactly or into the residual, in never narrower than any reader of Iceberg."""

import datetime as dt
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyiceberg import expressions as ice
from pyiceberg.expressions.visitors import bind as bind_iceberg
from pyiceberg.io.pyarrow import expression_to_pyarrow
from pyiceberg.schema import Schema as IcebergSchema
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
    TimestampType,
    TimestamptzType,
)

from metaindex.expressions import (
    And,
    ColumnRef,
    Comparison,
    Constant,
    In,
    IsNull,
    Literal,
    Not,
    Op,
    Opaque,
    Or,
    Predicate,
    StartsWith,
    bind,
)
from metaindex.expressions.engines.iceberg import to_iceberg
from metaindex.expressions.engines.iceberg_reading import from_iceberg
from tests.evaluate import matches
from tests.expressions.engines.tables import bound, expected, table_of, understood
from tests.strategies import predicates

A = ColumnRef(("a",))
TABLE = IcebergSchema(
    NestedField(1, "i", LongType()),
    NestedField(2, "f", DoubleType()),
    NestedField(3, "s", StringType()),
    NestedField(4, "t", TimestampType()),
    NestedField(5, "day", DateType()),
    NestedField(6, "yes", BooleanType()),
    NestedField(7, "n", IntegerType()),
    NestedField(8, "g", FloatType()),
    NestedField(9, "d", DecimalType(9, 2)),
    NestedField(10, "z", TimestamptzType()),
    NestedField(11, "x", BinaryType()),
)
SCHEMA = pa.schema(
    {
        "i": pa.int64(),
        "f": pa.float64(),
        "s": pa.string(),
        "t": pa.timestamp("us"),
        "day": pa.date32(),
        "yes": pa.bool_(),
        "n": pa.int32(),
        "g": pa.float32(),
        "d": pa.decimal128(9, 2),
        "z": pa.timestamp("us", "UTC"),
        "x": pa.binary(),
    }
)
ROW = st.fixed_dictionaries(
    {
        "i": st.none() | st.integers(-3, 9),
        "f": st.none() | st.sampled_from([math.nan, 0.0, 1.0, 1.5, math.inf, -4.0]),
        "s": st.none() | st.sampled_from(["", "a", "ab", "b", "é"]),
        "t": st.none() | st.sampled_from([dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 1, 0, 0, 5)]),
        "day": st.none() | st.dates(dt.date(2020, 1, 1), dt.date(2020, 1, 9)),
        "yes": st.none() | st.booleans(),
        "n": st.none() | st.sampled_from([-(2**31), 0, 1, 3, 2**31 - 1]),
        "g": st.none() | st.sampled_from([math.nan, 0.0, -0.0, 1.0, float(np.float32(0.1)), math.inf]),
        "d": st.none() | st.sampled_from([Decimal("3.25"), Decimal("3.24"), Decimal("0.00"), Decimal("-1.10")]),
        "z": st.none()
        | st.sampled_from([dt.datetime(2020, 1, 1, tzinfo=dt.UTC), dt.datetime(2020, 1, 2, tzinfo=dt.UTC)]),
        "x": st.none() | st.sampled_from([b"", b"a", b"\x00\xff"]),
    }
)


def read_by_pyiceberg(expression: ice.BooleanExpression, rows: list[dict[str, object]]) -> list[int]:
    table = table_of(rows, SCHEMA).append_column("row number", pa.array(range(len(rows)), pa.int64()))
    bound = bind_iceberg(TABLE, expression, case_sensitive=True)
    return list(table.filter(expression_to_pyarrow(bound)).column("row number").to_pylist())


def both_parts(known: Predicate, rows: list[dict[str, object]]) -> list[int]:
    """The rows that pass the expression and the residual of a predicate."""
    expression, residual = to_iceberg(known, SCHEMA)
    return [n for n in read_by_pyiceberg(expression, rows) if matches(residual, rows[n]) is True]


@settings(deadline=None, max_examples=settings.default.max_examples * 50 // 100)
@given(predicates({ColumnRef((f.name,)): f.type for f in SCHEMA}), st.lists(ROW, min_size=1, max_size=6))
def test_expression_and_residual_together_keep_the_rows_that_match(p: Predicate, rows: list[dict[str, object]]) -> None:
    known = bound(p, SCHEMA)
    assert both_parts(known, rows) == expected(known, rows)


@pytest.mark.parametrize("op", list(Op))
@pytest.mark.parametrize("value", [0.1, 1e39, Decimal("0.1"), 16777217.0])
def test_a_number_that_floats_cannot_hold_is_left(op: Op, value: float | Decimal) -> None:
    """pyiceberg rounds it, and finds the rows that hold what comes of that: 0.1 is none of a FLOAT's values."""
    known = Comparison(ColumnRef(("g",)), op, Literal(value))
    blank = dict.fromkeys(SCHEMA.names)
    rows = [blank, *({**blank, "g": float(np.float32(held))} for held in (0.1, 16777216, math.inf))]
    assert both_parts(known, rows) == expected(known, rows)


def leaf(name: str, value: object) -> st.SearchStrategy[ice.BooleanExpression]:
    plain: list[Any] = [
        ice.EqualTo,
        ice.NotEqualTo,
        ice.LessThan,
        ice.LessThanOrEqual,
        ice.GreaterThan,
        ice.GreaterThanOrEqual,
    ]
    found: list[ice.BooleanExpression] = [
        ice.EqualTo(name, value),
        ice.NotEqualTo(name, value),
        ice.IsNull(name),
        ice.NotNull(name),
    ]
    if name != "yes":
        found += [kind(name, value) for kind in plain]
    if name in {"i", "s", "n", "g"}:
        other = {"s": "z", "g": 1.0}.get(name, 2**40)
        found += [ice.In(name, {value, other}), ice.NotIn(name, {value, other})]
    if name == "s":
        found += [ice.StartsWith(name, "a"), ice.NotStartsWith(name, "a")]
    if name in {"f", "g"}:
        found += [ice.IsNaN(name), ice.NotNaN(name)]
    return st.sampled_from(found)


trees = st.recursive(
    st.sampled_from(
        [
            *[("i", v) for v in (1, 2**70)],
            *[("n", v) for v in (1, 2**31, -(2**40), "3")],
            *[("f", v) for v in (1.0, 1, -0.0)],
            *[("g", v) for v in (0.1, 1, -0.0, 1e300)],
            *[("d", v) for v in (Decimal("3.25"), 3.249, 0)],
            *[("s", "a"), ("x", b"a"), ("yes", True)],
            *[("t", v) for v in (dt.datetime(2020, 1, 1), "2020-01-01T00:00:05")],
            *[("z", v) for v in (dt.datetime(2020, 1, 1, tzinfo=dt.UTC), "2020-01-02T02:00:00+02:00")],
            *[("day", v) for v in (dt.date(2020, 1, 2), "2020-01-03")],
        ]
    ).flatmap(lambda pair: leaf(*pair)),
    lambda inner: st.one_of(
        inner.map(ice.Not),
        st.tuples(inner, inner).map(lambda pair: ice.And(*pair)),
        st.tuples(inner, inner).map(lambda pair: ice.Or(*pair)),
    ),
    max_leaves=5,
)


@settings(deadline=None, max_examples=settings.default.max_examples * 50 // 100)
@given(trees, st.lists(ROW, min_size=1, max_size=6))
def test_what_is_read_passes_every_row_that_pyiceberg_passes(
    expression: ice.BooleanExpression, rows: list[dict[str, object]]
) -> None:
    found = from_iceberg(expression, SCHEMA)
    assert understood(found), found
    assert set(read_by_pyiceberg(expression, rows)) <= set(expected(bind(found, SCHEMA), rows))


@settings(deadline=None, max_examples=settings.default.max_examples * 50 // 100)
@given(trees, st.lists(ROW, min_size=1, max_size=6))
def test_of_rows_it_passes_exactly_those_that_pyiceberg_passes(
    expression: ice.BooleanExpression, rows: list[dict[str, object]]
) -> None:
    found = from_iceberg(expression, SCHEMA, of_rows=True)
    if not understood(found):
        assert "0.0" in str(expression), found  # only of lists that tell -0.0 from 0.0
        return
    assert read_by_pyiceberg(expression, rows) == expected(bind(found, SCHEMA), rows)


ZEROS = [ice.NotIn("f", {-0.0, 1.0}), ice.Not(ice.In("f", {0.0, 1.0})), ice.NotEqualTo("f", 0.0),
    ice.LessThan("f", 0.0), ice.GreaterThan("f", -0.0), ice.Not(ice.GreaterThanOrEqual("f", 0.0))]  # fmt: skip


@pytest.mark.parametrize("expression", ZEROS, ids=str)
def test_both_zeros_pass_where_some_reader_tells_them_apart(expression: ice.BooleanExpression) -> None:
    found = bind(from_iceberg(expression, SCHEMA), SCHEMA)
    rows: list[dict[str, object]] = [{**dict.fromkeys(SCHEMA.names), "f": zero} for zero in (0.0, -0.0)]
    assert [matches(found, row) for row in rows] == [True, True]


TENTHS = {0.1, float(np.float32(0.1))}
MET = [ice.NotIn("n", {1 << 40, 1 << 31}), ice.In("n", {1 << 40, 1 << 31}), ice.NotIn("n", {1 << 40, -(1 << 40)}),
    ice.NotIn("g", TENTHS), ice.In("g", TENTHS)]  # fmt: skip


FLT_MAX = float(np.finfo(np.float32).max)
ENDS = [kind("g", {1.0, end}) for kind in (ice.In, ice.NotIn) for end in (1e39, -1e39, math.inf, 10.0**40)]


@pytest.mark.parametrize("expression", ENDS, ids=str)
def test_beyond_floats_stands_for_their_ends(expression: ice.BooleanExpression) -> None:
    """In lists of pyiceberg's: an index lost the rows that hold the greatest FLOAT."""
    rows: list[dict[str, object]] = [
        {**dict.fromkeys(SCHEMA.names), "g": held} for held in (1.0, FLT_MAX, -FLT_MAX, math.inf, -math.inf, None, 2.0)
    ]
    wide, exact = (bind(from_iceberg(expression, SCHEMA, of_rows=of_rows), SCHEMA) for of_rows in (False, True))
    passed = read_by_pyiceberg(expression, rows)
    assert set(passed) <= set(expected(wide, rows))
    assert passed == expected(exact, rows)


WIDENED = [ice.In("f", {0.1, 3.0}), ice.In("f", {1e39, 3.0}), ice.In("f", {math.inf, 3.0}), ice.EqualTo("f", 0.1),
    ice.LessThan("f", 1e39), ice.LessThanOrEqual("f", 0.1), ice.GreaterThanOrEqual("f", 0.3), ice.In("i", {1 << 40, 3}),
    ice.LessThan("i", 1 << 40), ice.GreaterThan("i", -(1 << 40)), ice.NotEqualTo("f", 0.1)]  # fmt: skip


@pytest.mark.parametrize("expression", WIDENED, ids=str)
def test_of_columns_that_were_widened_the_rows_of_older_files_pass(expression: ice.BooleanExpression) -> None:
    """pyiceberg binds a filter to the types that a file has, which are narrower there."""
    older = IcebergSchema(NestedField(1, "i", IntegerType()), NestedField(2, "f", FloatType()))
    floats = [float(np.float32(0.1)), float(np.float32(0.3)), 3.0, FLT_MAX, math.nan, math.inf, None]
    integers = [(1 << 31) - 1, -(1 << 31), 3, 0, None, 1, 2]
    file = pa.table({"i": pa.array(integers, pa.int32()), "f": pa.array(floats, pa.float32())})
    bound_there = expression_to_pyarrow(bind_iceberg(older, expression, case_sensitive=True))
    passed = file.append_column("row", pa.array(range(7))).filter(bound_there).column("row").to_pylist()
    schema = pa.schema({"i": pa.int64(), "f": pa.float64()})
    found = bind(from_iceberg(expression, schema), schema)
    assert set(passed) <= set(expected(found, file.cast(schema).to_pylist()))


@pytest.mark.parametrize("negated", [False, True])
@pytest.mark.parametrize("values", [(0.0, 9.0), (-0.0, 9.0), (0.0,), (-0.0,)])
def test_a_list_with_zero_is_left(values: tuple[float, ...], negated: bool) -> None:
    listed = In(ColumnRef(("f",)), tuple(map(Literal, values)))
    known = Not(listed) if negated else listed
    rows = [{**dict.fromkeys(SCHEMA.names), "f": held} for held in (0.0, -0.0, 9.0, 1.0, None)]
    assert both_parts(known, rows) == expected(known, rows)


@pytest.mark.parametrize("negated", [False, True])
@pytest.mark.parametrize("expression", MET, ids=str)
def test_several_that_become_one_are_compared_as_one(expression: ice.BooleanExpression, negated: bool) -> None:
    """Of NULL that is another answer."""
    asked = ice.Not(expression) if negated else expression
    blank: dict[str, object] = dict.fromkeys(SCHEMA.names)
    held = {"n": (1 << 31) - 1, "g": float(np.float32(0.1)), "d": Decimal("3.25")}
    rows = [blank, {**blank, **held}, {**blank, "n": 5, "g": 1.0, "d": Decimal("1.00")}]
    assert read_by_pyiceberg(asked, rows) == expected(bind(from_iceberg(asked, SCHEMA, of_rows=True), SCHEMA), rows)


A_OR_NULL = [ice.NotEqualTo("s", "b"), ice.NotIn("s", {"b"}), ice.NotIn("s", {"b", "c"}), ice.NotStartsWith("s", "b"),
    ice.Not(ice.EqualTo("s", "b")), ice.Not(ice.In("s", {"b", "q"})), ice.Not(ice.StartsWith("s", "b")),
    ice.NotNaN("f"), ice.Not(ice.GreaterThan("f", 1.0)), ice.Not(ice.NotNull("s")),
    ice.GreaterThan("f", 1.0)]  # fmt: skip


@pytest.mark.parametrize("expression", A_OR_NULL, ids=str)
def test_of_null_and_nan_it_says_what_pyiceberg_says(expression: ice.BooleanExpression) -> None:
    blank: dict[str, object] = dict.fromkeys(SCHEMA.names)
    rows = [blank, {**blank, "s": "a", "f": math.nan}, {**blank, "s": "b", "f": 0.5}, {**blank, "f": 2.0}]
    found = bind(from_iceberg(expression, SCHEMA, of_rows=True), SCHEMA)
    assert read_by_pyiceberg(expression, rows) == expected(found, rows)


def test_not_is_pushed_down_before_null_is_let_through() -> None:
    assert from_iceberg(ice.Not(ice.NotEqualTo("a", 1))) == Comparison(A, Op.EQ, Literal(1))
    assert from_iceberg(ice.NotEqualTo("a", 1)) == Or((Comparison(A, Op.NE, Literal(1)), IsNull(A)))


def test_a_timestamp_without_the_schema_may_be_an_instant_or_not() -> None:
    expression = ice.EqualTo("a", dt.datetime(2020, 1, 1))
    assert isinstance(from_iceberg(expression), Opaque)
    found = from_iceberg(expression, pa.schema({"a": pa.timestamp("us", "UTC")}))
    assert found == Comparison(A, Op.EQ, Literal(dt.datetime(2020, 1, 1, tzinfo=dt.UTC)))


def test_dots_separate_unless_the_schema_has_such_a_name() -> None:
    assert from_iceberg(ice.IsNull("a.b")) == IsNull(ColumnRef(("a", "b")))
    assert from_iceberg(ice.IsNull("a.b"), pa.schema({"a.b": pa.int64()})) == IsNull(ColumnRef(("a.b",)))


@pytest.mark.parametrize(
    "p",
    [
        Opaque("f(a)"),
        Comparison(A, Op.EQ, Literal(math.nan)),
        Comparison(A, Op.EQ, Literal(2**70)),
        IsNull(ColumnRef(("a.b",))),
        Or((IsNull(A), Opaque("f(a)"))),
    ],
    ids=repr,
)
def test_what_iceberg_cannot_say_is_handed_back(p: object) -> None:
    expression, residual = to_iceberg(And((IsNull(A), p)))  # type: ignore[arg-type]
    assert expression == ice.IsNull("a")
    assert residual == p


def test_nothing_left_is_a_residual_of_true() -> None:
    expression, residual = to_iceberg(Not(StartsWith(A, "p")))
    assert expression == ice.And(ice.NotStartsWith("a", "p"), ice.NotNull("a"))
    assert residual == Constant(True)


@pytest.mark.parametrize("value", [Decimal("7.5"), Decimal("7.500"), Decimal("7E+1"), 7, 7.5, Decimal("-0.0"), 9999999])
@pytest.mark.parametrize("op", list(Op))
def test_a_literal_of_another_scale_takes_that_of_the_column(value: Any, op: Op) -> None:
    written, left = to_iceberg(Comparison(ColumnRef(("d",)), op, Literal(value)), SCHEMA)
    assert left == Constant(True)
    kept = pa.table({"d": pa.array([Decimal("7.50"), Decimal("7.00"), None], pa.decimal128(9, 2))})
    found = kept.filter(expression_to_pyarrow(bind_iceberg(TABLE, written, case_sensitive=True)))
    expected = [row for row in kept.to_pylist() if matches(Comparison(ColumnRef(("d",)), op, Literal(value)), row)]
    assert found.to_pylist() == expected
