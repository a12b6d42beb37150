"""Binding: names by the schema's spelling, literals by the column's type, never another set of rows."""

import datetime as dt
import math
import os
import pickle
import subprocess
import sys
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaindex.core import AmbiguousColumnError, ExpressionError, LiteralTypeError, MetaIndexError, UnknownColumnError
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
    Predicate,
    StartsWith,
    bind,
    col,
)
from tests.evaluate import matches
from tests.strategies import TYPES, Row, literals, predicates, rows, schemas

NINE_TWO = pa.decimal128(9, 2)
UTC_US = pa.timestamp("us", tz="UTC")


def bound(value: object, t: pa.DataType, **options: str) -> object:
    """The literal that `a = value` is bound to; OPAQUE when it cannot be said."""
    p = bind(col("a") == value, {("a",): t}, **options)  # type: ignore[arg-type]
    if isinstance(p, Opaque):
        return OPAQUE
    assert isinstance(p, Comparison)
    return p.value


OPAQUE = "opaque"


@pytest.mark.parametrize(
    ("value", "t", "expected"),
    [
        (5, pa.int32(), 5),
        (3.0, pa.int32(), 3),
        (3.5, pa.int32(), 3.5),
        (math.nan, pa.int32(), math.nan),
        (math.inf, pa.int64(), math.inf),
        (2.0**53 - 1, pa.int64(), 2**53 - 1),
        (2.0**40, pa.int32(), 2**40),
        ("5", pa.int32(), 5),
        (" -5\t", pa.int64(), -5),
        (Decimal("3.00"), pa.int64(), 3),
        (Decimal("3.5"), pa.int64(), Decimal("3.5")),
        (1000, pa.int8(), 1000),
        (2**64, pa.int64(), 2**64),
        (3, pa.float64(), 3.0),
        (2**53 + 1, pa.float64(), 2.0**53),  # Spark casts the long to double
        (Decimal("0.1"), pa.float64(), 0.1),
        (Decimal("0.1"), pa.float32(), 0.1),  # compared as doubles, so no float32 is it
        ("0.5", pa.float32(), 0.5),
        ("1e3", pa.float64(), 1000.0),
        ("NaN", pa.float64(), math.nan),
        ("-Infinity", pa.float64(), -math.inf),
        (3, NINE_TWO, 3),
        (Decimal("1.005"), NINE_TWO, Decimal("1.005")),
        (0.1, NINE_TWO, Decimal("0.1")),
        ("1.10", NINE_TWO, Decimal("1.10")),
        (True, pa.bool_(), True),
        ("TRUE", pa.bool_(), True),
        ("x", pa.string(), "x"),
        (b"x", pa.string(), "x"),
        ("x", pa.large_string(), "x"),
        ("x", pa.dictionary(pa.int32(), pa.string()), "x"),
        ("é", pa.binary(), "é".encode()),
        (dt.date(2020, 1, 2), pa.date32(), dt.date(2020, 1, 2)),
        ("2020-01-02", pa.date32(), dt.date(2020, 1, 2)),
        ("2020-1-2", pa.date32(), dt.date(2020, 1, 2)),
        ("2020-03", pa.date32(), dt.date(2020, 3, 1)),
        (dt.datetime(2020, 1, 2), pa.date32(), dt.date(2020, 1, 2)),
        (dt.datetime(2020, 1, 2, 12), pa.date32(), dt.datetime(2020, 1, 2, 12)),
        (dt.date(2020, 1, 2), pa.timestamp("us"), dt.datetime(2020, 1, 2)),
        ("2020-01-02 03:04:05.5", pa.timestamp("us"), dt.datetime(2020, 1, 2, 3, 4, 5, 500_000)),
        ("2020-01-02T03:04", pa.timestamp("ms"), dt.datetime(2020, 1, 2, 3, 4)),
        ("2020-01-02 03:04:05Z", UTC_US, dt.datetime(2020, 1, 2, 3, 4, 5, tzinfo=dt.UTC)),
        ("2020-01-02 03:04:05+01:30", UTC_US, dt.datetime(2020, 1, 2, 1, 34, 5, tzinfo=dt.UTC)),
        (dt.datetime(2020, 1, 2), UTC_US, dt.datetime(2020, 1, 2, tzinfo=dt.UTC)),
        (None, pa.int32(), None),
        (None, pa.string(), None),
    ],
)
def test_literals_become_what_the_column_compares_with(value: object, t: pa.DataType, expected: object) -> None:
    assert bound(value, t) == Literal(expected)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("value", "t"),
    [
        (2.0**53, pa.int64()),
        (-(2.0**60), pa.uint64()),
        (10**40, pa.int64()),
        (Decimal("1e-30"), pa.int64()),
        ("99999999999", pa.int32()),
        (2**24 + 1, pa.float32()),
        ("0.1", pa.float32()),
        (10**400, pa.float64()),
        (0.1, pa.decimal128(18, 2)),
        (0.1234567890123456789, NINE_TWO),
        ("0.12345678901234567", NINE_TWO),
        (math.nan, NINE_TWO),
        (Decimal("1e-37"), pa.decimal128(38, 0)),
        (b"\xff", pa.string()),
        ("\ud800", pa.string()),
        (dt.date(2020, 1, 1), pa.string()),
        (dt.datetime(2020, 1, 1, tzinfo=dt.UTC), pa.date32()),
        ("2020-01-01 00:00:00Z", pa.timestamp("us")),
        ("2020-01-01 12:00", pa.date32()),
        (1, pa.duration("us")),
        (1, pa.list_(pa.int32())),
        (1, pa.struct([("x", pa.int32())])),
    ],
)
def test_what_spark_would_compare_otherwise_is_opaque(value: object, t: pa.DataType) -> None:
    assert bound(value, t) == OPAQUE


@pytest.mark.parametrize(
    ("value", "t", "cure"),
    [
        (5, pa.string(), "write '5'"),
        (5.5, pa.string(), "write '5.5'"),
        (True, pa.string(), "write 'True'"),
        ("abc", pa.int32(), "whole number"),
        ("3.5", pa.int32(), "whole number"),
        ("abc", pa.float64(), "write a number"),
        ("abc", NINE_TWO, "write a number"),
        (True, pa.int32(), "1 instead of True"),
        (True, pa.string(), "by itself is a condition if it is boolean"),
        (1, pa.bool_(), "True or False"),
        ("yes please", pa.bool_(), "True or False"),
        (dt.date(2020, 1, 1), pa.int32(), "with a number"),
        (5, pa.date32(), "YYYY-MM-DD"),
        ("2024-02-30", pa.date32(), "YYYY-MM-DD"),
        ("yesterday", pa.date32(), "YYYY-MM-DD"),
        ("2020-01-01 25:00", pa.timestamp("us"), "HH:MM:SS"),
        (5, UTC_US, "HH:MM:SS"),
        (5, pa.binary(), "with bytes"),
        (5, pa.time64("us"), "10:30:00"),
    ],
)
def test_nonsense_is_refused_with_the_cure(value: object, t: pa.DataType, cure: str) -> None:
    with pytest.raises(LiteralTypeError, match=cure) as refused:
        bind(col("a").isin([value]), {("a",): t})
    assert "for a (" in str(refused.value)
    assert "\n" not in str(refused.value)
    assert isinstance(refused.value, ExpressionError | MetaIndexError)


def test_moments_without_zone_are_read_in_the_given_zone() -> None:
    summer = bound("2020-07-01 12:00:00", UTC_US, time_zone="Europe/Berlin")
    assert summer == Literal(dt.datetime(2020, 7, 1, 10, tzinfo=dt.UTC))
    day = bound(dt.date(2020, 1, 1), UTC_US, time_zone="America/New_York")
    assert day == Literal(dt.datetime(2020, 1, 1, 5, tzinfo=dt.UTC))
    gap = bound("2021-03-28 02:30:00", UTC_US, time_zone="Europe/Berlin")  # no such clock time: java.time moves it on
    assert gap == Literal(dt.datetime(2021, 3, 28, 1, 30, tzinfo=dt.UTC))
    overlap = bound("2021-10-31 02:30:00", UTC_US, time_zone="Europe/Berlin")  # twice: the first
    assert overlap == Literal(dt.datetime(2021, 10, 31, 0, 30, tzinfo=dt.UTC))
    assert bound("2020-01-01", UTC_US, time_zone="Mars/Olympus") == OPAQUE
    assert bound(dt.datetime.min, UTC_US, time_zone="Asia/Tokyo") == OPAQUE


SCHEMA = pa.schema(
    [
        ("Day", pa.date32()),
        ("tail_num", pa.string()),
        ("payload", pa.struct([("user", pa.int64()), ("Tags", pa.list_(pa.string()))])),
        ("twin", pa.int32()),
        ("TWIN", pa.int32()),
        ("dotted.name", pa.int32()),
        ("m", pa.map_(pa.string(), pa.int32())),
    ]
)


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        (col("day"), ("Day",)),
        (col("DAY"), ("Day",)),
        (col("PAYLOAD.USER"), ("payload", "user")),
        (col("twin"), ("twin",)),
        (col("TWIN"), ("TWIN",)),
        (col("`Dotted.Name`"), ("dotted.name",)),
    ],
)
def test_case_is_ignored_and_the_exact_spelling_wins(asked: object, found: tuple[str, ...]) -> None:
    assert bind(asked.is_null(), SCHEMA) == IsNull(ColumnRef(found))  # type: ignore[attr-defined]


def test_case_sensitive_binding_finds_the_exact_name_only() -> None:
    assert bind(col("Day").is_null(), SCHEMA, case_sensitive=True) == IsNull(ColumnRef(("Day",)))
    with pytest.raises(UnknownColumnError, match="did you mean Day"):
        bind(col("day").is_null(), SCHEMA, case_sensitive=True)


def test_two_columns_of_one_name_when_case_is_ignored() -> None:
    with pytest.raises(AmbiguousColumnError, match="twin and TWIN"):
        bind(col("Twin") == 1, SCHEMA)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("tailnum", "did you mean tail_num"),
        ("payload.usr", "payload.user"),
        ("Day.x", "did you mean Day"),
        ("zzz", "there are: "),
        ("dotted.name", "`dotted.name`"),
    ],
)
def test_unknown_columns_say_the_near_names(name: str, hint: str) -> None:
    with pytest.raises(UnknownColumnError, match=hint) as refused:
        bind(col(name) == 1, SCHEMA)
    assert not str(refused.value).startswith("'")  # KeyError would quote it


@pytest.mark.parametrize(
    "p",
    [
        col("payload.tags") == "x",
        col("payload.tags.element") == "x",
        col("m.key") == "x",
        col("m.key").is_null(),
        col("payload") == 5,
        col("tail_num").is_nan(),
        col("day").startswith("2020"),
        col("payload.user").startswith("1"),
    ],
)
def test_what_has_no_statistics_or_another_meaning_is_opaque(p: Predicate) -> None:
    answer = bind(p, SCHEMA)
    assert isinstance(answer, Opaque)
    assert answer.columns
    assert isinstance(bind(~p, SCHEMA), Not)


def test_leaves_keep_their_kind() -> None:
    ref = ColumnRef(("payload", "user"))
    assert bind(col("payload.user").isin(["1", 2.0, None]), SCHEMA) == In(ref, (Literal(1), Literal(2), Literal(None)))
    assert bind(col("payload.USER").is_nan(), SCHEMA) == IsNan(ref)
    assert bind(col("TAIL_NUM").startswith("N"), SCHEMA) == StartsWith(ColumnRef(("tail_num",)), "N")
    assert bind(Constant(None), SCHEMA) == Constant(None)
    assert bind(Opaque("f", (ColumnRef(("DAY",)),)), SCHEMA) == Opaque("f", (ColumnRef(("Day",)),))


def test_one_value_of_a_list_that_cannot_be_compared_makes_the_list_opaque() -> None:
    assert isinstance(bind(col("payload.user").isin([1, 2.0**60]), SCHEMA), Opaque)


@pytest.mark.parametrize(
    "schema", [{("S", "f"): pa.int32()}, [(("S", "f"), pa.int32())], pa.schema([("S", pa.struct([("f", pa.int32())]))])]
)
def test_schemas_are_arrow_schemas_mappings_or_pairs(schema: object) -> None:
    assert bind(col("s.F") > "3", schema) == Comparison(ColumnRef(("S", "f")), Op.GT, Literal(3))  # type: ignore[arg-type]
    null = And((IsNull(ColumnRef(("S", "f"))), IsNull(ColumnRef(("S",)))))
    assert bind(col("s").is_null(), schema) == null  # type: ignore[arg-type]


@st.composite
def cases(draw: st.DrawFn) -> tuple[dict[tuple[str, ...], pa.DataType], Predicate, list[Row]]:
    schema = draw(schemas())
    p = draw(predicates(schema))
    return {c.parts: t for c, t in schema.items()}, p, draw(st.lists(rows(schema), min_size=1, max_size=4))


@settings(max_examples=settings.default.max_examples // 2)
@given(cases())
def test_rows_that_match_stay_the_same(case: tuple[dict[tuple[str, ...], pa.DataType], Predicate, list[Row]]) -> None:
    schema, p, some_rows = case
    answer = bind(p, schema)
    assert bind(answer, schema) == answer
    for row in some_rows:
        try:
            expected = matches(answer, row)
        except ExpressionError:
            continue  # opaque
        assert expected is matches(p, row)


@given(st.sampled_from(TYPES).flatmap(lambda t: st.tuples(st.just(t), literals(t))), st.sampled_from(TYPES))
def test_any_literal_for_any_type_is_bound_opaque_or_refused(case: tuple[pa.DataType, Literal], t: pa.DataType) -> None:
    _, lit = case
    try:
        answer = bind(col("a") == lit, {("a",): t})
    except LiteralTypeError:
        return
    assert isinstance(answer, Comparison | Opaque)


@pytest.mark.parametrize(
    ("zone", "local"),
    [("UTC", dt.datetime(2020, 1, 1, 12)), ("Etc/GMT-2", dt.datetime(2020, 1, 1, 14)), ("Europe/Berlin", None)],
)
def test_an_instant_is_a_time_of_the_sessions_zone_where_clocks_never_change(
    zone: str, local: dt.datetime | None
) -> None:
    """Spark reads the times of such a column in the session's zone and compares instants."""
    instant = dt.datetime(2020, 1, 1, 12, tzinfo=dt.UTC)
    found = bind(col("t") >= instant, pa.schema([("t", pa.timestamp("us"))]), time_zone=zone)
    assert found == (Comparison(ColumnRef(("t",)), Op.GE, Literal(local)) if local else found)
    assert isinstance(found, Opaque) == (local is None)


def test_decimals_of_more_digits_than_pythons_context_are_not_rounded_on_the_way() -> None:
    """Text is compared with decimals as doubles: 38 nines are one, which no exact comparison would find."""
    assert bound("0." + "9" * 38, NINE_TWO) == OPAQUE
    assert bound(Decimal("0." + "1" * 37), pa.decimal128(9, 2)) == OPAQUE


def test_what_is_bound_already_stays_the_tree_that_it_is() -> None:
    schema = pa.schema([pa.field("a", pa.int64()), pa.field("s", pa.string()), pa.field("i", pa.int32())])
    a, s = col("a"), col("s")
    p = bind(Or(tuple((a == n) & ~(s == f"v{n}") for n in range(5))), schema)
    assert bind(p, schema) is p
    other = bind(p | (col("I") == 3.0), schema)
    assert other == p | (col("i") == 3)
    assert bind(other, schema) == other


@pytest.mark.slow
def test_a_predicate_is_found_again_in_another_process() -> None:
    """A hash that is kept is that of the process that it was worked out in."""
    p = Or(tuple((col("a") == n) & ~(col("s") == f"v{n}") for n in range(5)))
    hash(p)
    code = """
import pickle, sys
from metaindex.expressions import ColumnRef, Or, col
from metaindex.expressions.normal_form import gathered_form
found = pickle.loads(sys.stdin.buffer.read())
same = Or(tuple((col("a") == n) & ~(col("s") == f"v{n}") for n in range(5)))
assert hash(found) == hash(same) and {found: 1}[same] == 1
assert {name: 1 for name in found.columns} == {ColumnRef(("a",)): 1, ColumnRef(("s",)): 1}
gathered_form(found)
"""
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        subprocess.run([sys.executable, "-c", code], input=pickle.dumps(p), check=True, env=environment)
