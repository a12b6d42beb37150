"""Predicates as JSON: nothing is lost, and what cannot be read is refused by name."""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import math
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from expressions import Constant, ExpressionError, Literal, Opaque, Predicate, StartsWith, col, from_json, to_json
from expressions.tree import ColumnRef, Comparison, Op
from tests.strategies import predicates, schemas


@settings(max_examples=settings.default.max_examples // 2)
@given(schemas().flatmap(predicates))
def test_round_trip(p: Predicate) -> None:
    assert from_json(to_json(p)) == p


@pytest.mark.parametrize(
    "value",
    [
        math.nan,
        math.inf,
        -math.inf,
        5e-324,
        0.1,
        2**200,
        Decimal("1.10"),
        Decimal("-0.000001"),
        b"\x00\xff",
        "é😀\ud800\x00",
        True,
        None,
        dt.date(1, 1, 1),
        dt.datetime(9999, 12, 31, 23, 59, 59, 999999),
        dt.datetime(2020, 1, 1, tzinfo=dt.UTC),
        dt.datetime(1850, 1, 1, tzinfo=dt.timezone(dt.timedelta(minutes=53, seconds=28))),
    ],
)
def test_literals_keep_kind_and_every_digit(value: object) -> None:
    p = Comparison(ColumnRef(("a",)), Op.EQ, Literal(value))  # type: ignore[arg-type]
    back = from_json(to_json(p))
    assert back == p
    assert isinstance(back, Comparison)
    assert repr(back.value.value) == repr(value) or back.value.value == value
    assert str(json.loads(to_json(p))).count("nan") <= 1  # strict JSON: no bare NaN


def test_the_sign_of_zero_is_kept() -> None:
    back = from_json(to_json(col("a") > -0.0))
    assert isinstance(back, Comparison)
    assert math.copysign(1, back.value.value) == -1  # type: ignore[arg-type]


def test_form_is_postfix_and_readable() -> None:
    p = (col("s.f") == 5) & ~col("a").is_null()
    assert json.loads(to_json(p)) == {
        "predicate": 1,
        "nodes": [["=", ["s", "f"], {"int": "5"}], ["null", ["a"]], ["not"], ["and", 2]],
    }


def test_opaque_prefix_and_constants_round_trip() -> None:
    for p in (Opaque("udf(x) = 'é'", (ColumnRef(("x",)),)), StartsWith(ColumnRef(("a", "b.c")), "p"), Constant(None)):
        assert from_json(to_json(p)) == p


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"predicate":2,"nodes":[["not"]]}',
        '{"predicate":1,"nodes":[]}',
        '{"predicate":1,"nodes":[["constant",true],["constant",true]]}',
        '{"predicate":1,"nodes":[["like",["a"],"x"]]}',
        '{"predicate":1,"nodes":[["not"]]}',
        '{"predicate":1,"nodes":[["and",3]]}',
        '{"predicate":1,"nodes":[["and",-1]]}',
        '{"predicate":1,"nodes":[["=",["a"],{"uuid":"x"}]]}',
        '{"predicate":1,"nodes":[["=",["a"],{"int":5}]]}',
        '{"predicate":1,"nodes":[["=",["a"],{"int":"x"}]]}',
        '{"predicate":1,"nodes":[["=",["a"],{"decimal":"x"}]]}',
        '{"predicate":1,"nodes":[["=",[],{"int":"1"}]]}',
        '{"predicate":1,"nodes":[["=","a",{"int":"1"}]]}',
        '{"predicate":1,"nodes":[["=",["a"],{}]]}',
        '{"predicate":1,"nodes":[5]}',
        '{"predicate":1,"nodes":[[]]}',
        '{"predicate":1,"nodes":[["constant",1]]}',
    ],
)
def test_what_cannot_be_read_is_one_clear_error(text: str) -> None:
    with pytest.raises(ExpressionError) as refused:
        from_json(text)
    assert "\n" not in str(refused.value)


@given(st.recursive(st.none() | st.booleans() | st.text(max_size=3) | st.integers(-2, 3), st.lists, max_leaves=8))
def test_any_json_is_a_predicate_or_an_expression_error(node: object) -> None:
    with contextlib.suppress(ExpressionError):
        from_json(json.dumps({"predicate": 1, "nodes": [node]}))
