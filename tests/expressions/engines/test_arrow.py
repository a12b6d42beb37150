"""pyarrow expressions: the same rows as the reference semantics, out and in."""

import datetime as dt
import math

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaindex.core import ExpressionError
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
    Or,
    StartsWith,
    bind,
    normalize,
)
from metaindex.expressions.engines.arrow import to_arrow
from metaindex.expressions.engines.arrow_reading import from_arrow
from metaindex.expressions.engines.sql import parse
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
from tests.strategies import predicates, rows, schemas

A, B = ColumnRef(("a",)), ColumnRef(("b",))


def kept(table: pa.Table, expression: pc.Expression) -> list[int]:
    numbered = table.append_column("row number", pa.array(range(table.num_rows), pa.int64()))
    return list(numbered.filter(expression).column("row number").to_pylist())


@given(st.data())
def test_the_expression_keeps_the_rows_that_match(data: st.DataObject) -> None:
    schema = data.draw(schemas())
    known = arrow_schema(schema)
    p = bound(data.draw(predicates(schema)), known)
    table_rows = data.draw(st.lists(rows(schema), max_size=6))
    table = table_of(table_rows, known)
    assert kept(table, to_arrow(p, known)) == expected(p, table_rows)


@st.composite
def expressions(draw: st.DrawFn) -> pc.Expression:
    """As users of pyarrow write them."""
    name = draw(st.sampled_from(list(VALUES)))
    field, value = pc.field(name), pa.scalar(draw(VALUES[name]), SCHEMA.field(name).type)
    choices = [field == value, field != value, field.is_null(), field.is_valid(), value == field]
    if name != "yes":
        choices += [field < value, field <= value, field > value, field >= value, value < field]
    if name != "f":
        choices.append(field.isin(pa.array([value.as_py(), None], value.type)))
        choices.append(field.isin(pa.array([value.as_py()], value.type)))
    if name == "f":
        choices += [
            pc.is_nan(field),
            field.is_null(nan_is_null=True),
            field.isin([1.5, math.nan]),
            field.isin([1.0, None]),
        ]
    if name == "i":
        choices += [field > 1.5, field.isin([1, 2]), field == pa.scalar(2, pa.int8())]
    if name == "s":
        choices += [pc.starts_with(field, "a"), pc.match_like(field, "a%"), pc.match_like(field, "ab")]
    if name == "yes":
        choices.append(field)
    return draw(st.sampled_from(choices))


def _asked_whether_null(inner: st.SearchStrategy[pc.Expression]) -> st.SearchStrategy[pc.Expression]:
    return st.one_of(
        inner.map(lambda e: e.is_null()),
        inner.map(lambda e: e.is_valid()),
        st.tuples(inner, st.booleans()).map(lambda p: pc.coalesce(p[0], pc.scalar(p[1]))),
    )


trees = st.recursive(expressions(), joined, max_leaves=5)
of_nulls = st.recursive(expressions(), lambda inner: joined(inner) | _asked_whether_null(inner), max_leaves=5)


@given(trees, ROWS, st.booleans())
def test_a_users_expression_is_read_with_pyarrows_own_meaning(
    expression: pc.Expression, table_rows: list[dict[str, object]], with_schema: bool
) -> None:
    found = from_arrow(expression, SCHEMA if with_schema else None)
    assert understood(found), found
    assert kept(table_of(table_rows, SCHEMA), expression) == expected(bind(found, SCHEMA), table_rows)


@given(of_nulls, ROWS)
def test_nulls_of_conditions_are_read_with_pyarrows_own_meaning(
    expression: pc.Expression, table_rows: list[dict[str, object]]
) -> None:
    found = from_arrow(expression, SCHEMA)
    if understood(found):  # not too deep to be written out
        assert kept(table_of(table_rows, SCHEMA), expression) == expected(bind(found, SCHEMA), table_rows)


@pytest.mark.parametrize(
    ("expression", "says"),
    [
        ((pc.field("i") > 3).is_null(), "i IS NULL"),
        ((pc.field("i") > pc.field("f")).is_null(), "i IS NULL OR f IS NULL"),
        ((pc.field("i") > pc.field("f")).is_valid(), "NOT (i IS NULL OR f IS NULL)"),
        (pc.coalesce(pc.field("i") > 3, pc.scalar(True)), "i > 3 OR i IS NULL"),
        ((pc.field("i") == pa.scalar(None, pa.int64())).is_null(), "TRUE"),
    ],
    ids=str,
)
def test_null_of_a_condition_is_said_of_its_columns(expression: pc.Expression, says: str) -> None:
    assert normalize(bind(from_arrow(expression, SCHEMA), SCHEMA)) == normalize(bind(parse(says), SCHEMA))


@pytest.mark.parametrize("expression", [(pc.field("i") + 1).is_null(), pc.coalesce(pc.field("i"), pc.scalar(3))])
def test_null_of_what_is_no_condition_is_opaque(expression: pc.Expression) -> None:
    assert isinstance(from_arrow(expression, SCHEMA), Opaque)


@pytest.mark.parametrize(
    "expression",
    [
        pc.field("a") + 1 == 3,
        pc.field("a") == pc.field("b"),
        pc.field("a").cast(pa.int16()) == 3,
        pc.match_substring(pc.field("a"), "x"),
        pc.match_like(pc.field("a"), "%x"),
        pc.match_like(pc.field("a"), r"x\%"),
        pc.match_like(pc.field("a"), "x%", ignore_case=True),
        pc.starts_with(pc.field("a"), "x", ignore_case=True),
        pc.field("a").isin([0.0]),
        pc.field("a") == pa.scalar(1, pa.duration("s")),
        pc.and_(pc.field("a"), pc.field("b")),
        pc.if_else(pc.field("a"), True, False),
    ],
    ids=str,
)
def test_what_the_tree_cannot_say_is_opaque_and_names_its_columns(expression: pc.Expression) -> None:
    found = from_arrow(expression)
    assert isinstance(found, Opaque)
    assert set(found.columns) <= {A, B}
    assert A in found.columns


def test_a_field_by_number_is_opaque() -> None:
    assert isinstance(from_arrow(pc.field(0) == 3), Opaque)


def test_nested_fields_are_read_by_path() -> None:
    schema = pa.schema({"a": pa.struct([("b.c", pa.int64())])})
    expected = Comparison(ColumnRef(("a", "b.c")), Op.EQ, Literal(1))
    assert from_arrow(pc.field(("a", "b.c")) == 1, schema) == expected


def test_a_cast_that_loses_nothing_is_seen_through() -> None:
    schema = pa.schema({"a": pa.int32()})
    assert from_arrow(pc.field("a").cast(pa.int64()) == 1, schema) == Comparison(A, Op.EQ, Literal(1))
    assert isinstance(from_arrow(pc.field("a").cast(pa.int64()) == 1), Opaque)


def test_opaque_cannot_be_written() -> None:
    with pytest.raises(ExpressionError, match="not understood"):
        to_arrow(Or((IsNull(A), Opaque("f(a)"))))


def test_without_a_schema_numbers_are_compared_as_if_they_might_be_nan() -> None:
    table = pa.table({"a": pa.array([1.0, math.nan, None])})
    assert kept(table, to_arrow(Comparison(A, Op.GT, Literal(5)))) == [1]
    assert kept(table, to_arrow(Not(Comparison(A, Op.LE, Literal(5))))) == [1]
    assert kept(pa.table({"a": [1, 9]}), to_arrow(Comparison(A, Op.GT, Literal(5)))) == [1]


@pytest.mark.parametrize("t", [pa.dictionary(pa.int32(), pa.string()), pa.large_string()], ids=str)
def test_other_forms_of_text_are_read_too(t: pa.DataType) -> None:
    table = pa.table({"a": pa.array(["a", "ab", None, "b"], pa.string()).cast(t)})
    assert kept(table, to_arrow(StartsWith(A, "a"), table.schema)) == [0, 1]
    assert kept(table, to_arrow(In(A, (Literal("a"), Literal("b"))), table.schema)) == [0, 3]
    assert kept(table, to_arrow(Comparison(A, Op.GT, Literal("a")), table.schema)) == [1, 3]


def test_half_floats_are_compared_as_floats() -> None:
    halves = np.array([0.0, -0.0, 1.5, math.nan, math.inf], np.float16)
    table = pa.table({"a": pa.array(halves, pa.float16())})
    assert kept(table, to_arrow(Comparison(A, Op.EQ, Literal(0.0)), table.schema)) == [0, 1]
    assert kept(table, to_arrow(Comparison(A, Op.GT, Literal(1.0)), table.schema)) == [2, 3, 4]
    assert kept(table, to_arrow(Not(In(A, (Literal(1.5), Literal(math.nan)))), table.schema)) == [0, 1, 4]


def test_in_compares_a_double_with_a_float_column_as_doubles() -> None:
    table = pa.table({"a": pa.array([0.1, 0.5], pa.float32())})
    assert kept(table, to_arrow(In(A, (Literal(0.1),)), table.schema)) == []
    assert kept(table, to_arrow(Not(In(A, (Literal(0.1),))), table.schema)) == [0, 1]
    assert kept(table, to_arrow(In(A, (Literal(0.1), Literal(0.5))), table.schema)) == [1]


def test_in_does_not_take_an_instant_for_its_day() -> None:
    schema = pa.schema({"a": pa.date32()})
    table = pa.table({"a": pa.array([dt.date(2020, 1, 1), dt.date(9999, 12, 31)])}, schema)
    late = (Literal(dt.datetime(9999, 12, 31, 23, 59, 59, 999999)), Literal(dt.datetime(2020, 1, 1)))
    assert kept(table, to_arrow(In(A, late[:1]), schema)) == []
    assert kept(table, to_arrow(In(A, late), schema)) == [0]


@pytest.mark.slow
def test_long_predicates_do_not_overflow_pyarrow() -> None:
    table = pa.table({"a": [5, 20_000]})
    p = Or(tuple(Comparison(A, Op.EQ, Literal(i)) for i in range(10_000)))
    assert kept(table, to_arrow(And((p, Constant(True), Not(IsNan(A)))), table.schema)) == [0]
