"""The meaning of predicates, as truth tables."""

import math

import pytest

from metaindex.core import ExpressionError, UnknownColumnError
from metaindex.expressions import Constant, Opaque, Predicate, col
from metaindex.expressions.tree import And, Not, Or
from tests.evaluate import matches

NAN = math.nan


@pytest.mark.parametrize(
    ("p", "value", "answer"),
    [
        (col("x") < 5, None, None),
        (col("x") < 5, 4, True),
        (col("x") == None, None, None),  # noqa: E711
        (col("x") != None, 1, None),  # noqa: E711
        (col("x") == NAN, NAN, True),
        (col("x") == NAN, 1.0, False),
        (col("x") != NAN, 1.0, True),
        (col("x") > math.inf, NAN, True),
        (col("x") < NAN, math.inf, True),
        (col("x") <= NAN, NAN, True),
        (col("x") > NAN, NAN, False),
        (col("x") == 0.0, -0.0, True),
        (col("x") < 0.0, -0.0, False),
        (col("x").is_nan(), None, False),
        (col("x").is_nan(), NAN, True),
        (col("x").is_nan(), 1, False),
        (col("x").is_null(), None, True),
        (col("x").is_null(), NAN, False),
        (col("x").isin([1, 2]), 2, True),
        (col("x").isin([1, 2]), 3, False),
        (col("x").isin([1, None]), 1, True),
        (col("x").isin([1, None]), 2, None),
        (col("x").isin([1, None]), None, None),
        (~col("x").isin([1, None]), 1, False),
        (~col("x").isin([1, None]), 2, None),
        (col("x").isin([]), None, False),
        (col("x").isin([NAN]), NAN, True),
        (col("x").startswith("a"), "ab", True),
        (col("x").startswith("a"), None, None),
        (~col("x").startswith("a"), None, None),
        (col("x").startswith(""), "b", True),
        (col("x").startswith("é"), "é".encode() + b"\xff", True),
        (col("x") > "az", "aé", True),
        (col("x") > "\uffff", "😀", True),
    ],
)
def test_leaf_truth(p: Predicate, value: object, answer: bool | None) -> None:
    assert matches(p, {"x": value}) is answer


@pytest.mark.parametrize(
    ("literal", "value", "answer"),
    [
        (1, 1, True),
        (1, 2, False),
        (1, None, False),
        (None, None, True),
        (None, 1, False),
        (NAN, NAN, True),
        (NAN, None, False),
    ],
)
def test_null_safe_equality_is_never_null(literal: object, value: object, answer: bool) -> None:
    p = col("x").eq_null_safe(literal)
    assert matches(p, {"x": value}) is answer
    assert matches(~p, {"x": value}) is not answer


T, F, N = Constant(True), Constant(False), Constant(None)


@pytest.mark.parametrize(
    ("p", "answer"),
    [
        (And((T, N)), None),
        (And((F, N)), False),
        (Or((T, N)), True),
        (Or((F, N)), None),
        (Not(N), None),
        (Not(And((F, N))), True),
        (And(()), True),
        (Or(()), False),
    ],
)
def test_three_valued_connectives(p: Predicate, answer: bool | None) -> None:
    assert matches(p, {}) is answer


def test_structs_are_mappings_and_a_null_struct_has_null_fields() -> None:
    p = col("s.f") > 1
    assert matches(p, {"s": {"f": 2}}) is True
    assert matches(p, {"s": None}) is None
    with pytest.raises(UnknownColumnError, match=r"s\.f"):
        matches(p, {"s": {"g": 2}})
    with pytest.raises(UnknownColumnError):
        matches(p, {})


@pytest.mark.parametrize(
    ("p", "row", "says"), [(Opaque("udf(x)"), {}, "engine"), (col("x").startswith("1"), {"x": 1}, "bind")]
)
def test_what_only_engines_answer_and_a_prefix_of_a_number_are_refused(
    p: Predicate, row: dict[str, object], says: str
) -> None:
    with pytest.raises(ExpressionError, match=says):
        matches(p, row)
