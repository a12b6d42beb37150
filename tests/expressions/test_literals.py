"""Literals: what is taken, what is refused, which are the same, and how values compare."""

import datetime as dt
import math
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaindex.core import LiteralTypeError
from metaindex.expressions import Literal
from metaindex.expressions.literals import LiteralValue, each_once
from tests.evaluate import compare_values
from tests.strategies import TEXTS

ZONE = dt.timezone(dt.timedelta(hours=2))


@pytest.mark.parametrize(
    ("given_value", "value"),
    [
        (np.int8(-3), -3),
        (np.uint64(2**64 - 1), 2**64 - 1),
        (np.float32(1.5), 1.5),
        (np.bool_(True), True),
        (np.str_("a"), "a"),
        (np.bytes_(b"a"), b"a"),
        (np.datetime64("2020-01-02"), dt.date(2020, 1, 2)),
        (np.datetime64("2020-01-02T03:04:05.000006"), dt.datetime(2020, 1, 2, 3, 4, 5, 6)),
        (np.datetime64("2020-01-02T03:04:05.000006000", "ns"), dt.datetime(2020, 1, 2, 3, 4, 5, 6)),
        (np.datetime64("NaT"), None),
        (pd.Timestamp("2020-01-02"), dt.datetime(2020, 1, 2)),
        (dt.datetime(2020, 1, 2, 2, tzinfo=ZONE), dt.datetime(2020, 1, 2, tzinfo=dt.UTC)),
        (bytearray(b"a"), b"a"),
        (Literal(5), 5),
    ],
)
def test_literal_takes_what_people_hand_in(given_value: object, value: object) -> None:
    made = Literal.of(given_value)
    assert made.value == value
    assert made.kind == Literal(value).kind  # type: ignore[arg-type]
    if isinstance(value, dt.datetime) and value.tzinfo:
        assert made.value.tzinfo is dt.UTC  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "value",
    [
        [1],
        {"a": 1},
        object(),
        1j,
        dt.timedelta(1),
        dt.time(1, tzinfo=dt.UTC),
        Decimal("NaN"),
        Decimal("Infinity"),
        np.datetime64("2020-01-01T00:00:00.000000001", "ns"),
        np.datetime64(10**6, "Y"),
        np.array([1, 2]),
        np.timedelta64(1, "D"),
        pd.Timestamp("2020-01-01T00:00:00.000000001"),
        np.complex64(1),
        pytest.param(10**5000, id="many digits"),
        pytest.param(-(10**5000), id="many digits below zero"),
    ],
)
def test_literal_refuses_what_has_no_kind_or_would_lose(value: object) -> None:
    with pytest.raises(LiteralTypeError) as refused:
        Literal.of(value)
    assert "\n" not in str(refused.value)
    assert "; " in str(refused.value)  # rule, fact, cure


@pytest.mark.parametrize(
    ("values", "count"),
    [
        ((1, 1.0, True, Decimal(1)), 4),
        ((dt.date(2020, 1, 1), dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 1, tzinfo=dt.UTC)), 3),
        ((math.nan, -math.nan, float("nan")), 1),
        ((0.0, -0.0), 1),
    ],
)
def test_kinds_are_told_apart_and_nan_and_zero_are_one_each(values: tuple[LiteralValue, ...], count: int) -> None:
    made = [Literal(value) for value in values]
    assert len(set(made)) == count
    assert sum(one == other for one in made for other in made) == len(made) ** (2 if count == 1 else 1)


def test_spark_order_nan_above_all_zeros_equal() -> None:
    assert compare_values(math.nan, math.inf) == 1
    assert compare_values(math.nan, math.nan) == 0
    assert compare_values(-0.0, 0.0) == 0
    assert compare_values(2**53 + 1, 2.0**53) == 1
    assert compare_values(Decimal("0.1"), 0.1) == -1
    assert compare_values(math.nan, Decimal(10**30)) == 1


@given(st.sampled_from(TEXTS), st.sampled_from(TEXTS))
def test_text_compares_by_utf8_bytes(a: str, b: str) -> None:
    ea, eb = a.encode(), b.encode()
    assert compare_values(a, b) == (ea > eb) - (ea < eb)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (1, "1"),
        (True, 1),
        (dt.date(2020, 1, 1), 1),
        (dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 1, tzinfo=dt.UTC)),
        (dt.date(2020, 1, 1), dt.datetime(2020, 1, 1, tzinfo=dt.UTC)),
    ],
)
def test_kinds_without_a_common_order_are_refused(a: object, b: object) -> None:
    with pytest.raises(LiteralTypeError, match="bind"):
        compare_values(a, b)


@given(
    st.lists(st.sampled_from([1, 1.0, True, Decimal(1), "1", b"1", None, 0.0, -0.0, math.nan, 7, 7.5]))
    | st.lists(st.integers(-3, 3))
    | st.lists(st.text(max_size=1))
)
def test_literals_each_once_are_those_of_a_set_in_order(values: list[LiteralValue]) -> None:
    literals_ = [Literal(value) for value in values]
    found = each_once(iter(literals_))
    assert found == tuple(dict.fromkeys(literals_))
    assert len(set(found)) == len(found)
