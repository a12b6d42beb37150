"""The normal form says the same of every row, in the promised shapes, however deep the tree."""

import math
import sys
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaindex.expressions import (
    And,
    Constant,
    In,
    IsNull,
    Literal,
    Not,
    Op,
    Opaque,
    Or,
    Predicate,
    col,
    conjuncts,
    may_match,
    normalize,
)
from metaindex.expressions.column_ref import ColumnRef
from metaindex.expressions.normal_form import _append, _close, _unturned_leaf, fold_signed, gathered_form
from metaindex.expressions.skipping import must_match
from metaindex.expressions.tree import Comparison, IsNan, StartsWith
from tests.evaluate import matches
from tests.scalar_statistics import ScalarStatistics
from tests.strategies import Row, predicates, rows, schemas

A = ColumnRef(("a",))
NULL = Constant(None)


@st.composite
def cases(draw: st.DrawFn) -> tuple[Predicate, list[Row]]:
    schema = draw(schemas())
    return draw(predicates(schema, max_leaves=10)), draw(st.lists(rows(schema), min_size=1, max_size=5))


@given(cases())
def test_every_row_answers_the_same(case: tuple[Predicate, list[Row]]) -> None:
    p, some_rows = case
    for row in some_rows:
        assert matches(normalize(p), row) is matches(p, row)
        assert matches(gathered_form(p), row) is matches(p, row)


@settings(max_examples=settings.default.max_examples // 2)
@given(cases())
def test_the_gathered_form_is_that_of_the_long_way(case: tuple[Predicate, list[Row]]) -> None:
    """Also of the lists that are told at a glance to be their own form."""
    p, _ = case
    found = [one for one in p.leaves() if isinstance(one, Comparison)] or [col("a") == 1]
    pairs = Or(tuple(And((one, other)) for one in found for other in found))
    distinct = Or(tuple(And((one, col("z") == 2)) for one in (*found, *found)))
    for some in (p, pairs, pairs | p, distinct, distinct | p, Or((And((found[0], col("z") == 2)), p))):
        assert gathered_form(some) == fold_signed(some, False, _unturned_leaf, _append, _close)


@given(cases())
def test_normal_shapes_only_and_normal_again(case: tuple[Predicate, list[Row]]) -> None:
    normal = normalize(case[0])
    _check(normal, top=True)
    assert normalize(normal) == normal


def _check(p: Predicate, *, top: bool = False) -> None:
    match p:
        case And() | Or():
            assert len(p.parts) > 1
            for part in p.parts:
                assert type(part) is not type(p)
                assert not isinstance(part, Constant) or part.value is None
                _check(part)
        case Not(child):
            assert isinstance(child, In | IsNull | IsNan | StartsWith | Opaque) or (
                isinstance(child, Comparison) and child.op is Op.NULL_SAFE_EQ and not child.value.is_null
            )
        case Comparison():
            assert not p.value.is_null
        case In():
            assert len(set(p.values)) == len(p.values) > 1
        case _:
            pass


@pytest.mark.parametrize(
    ("p", "normal"),
    [
        (~(col("a") < 5), col("a") >= 5),
        (~~(col("a") < 5), col("a") < 5),
        (~((col("a") < 5) & (col("b") == 1)), (col("a") >= 5) | (col("b") != 1)),
        (col("a") == None, NULL),  # noqa: E711
        (~(col("a") == None), NULL),  # noqa: E711
        (col("a").eq_null_safe(None), IsNull(A)),
        (~col("a").eq_null_safe(None), Not(IsNull(A))),
        (~col("a").eq_null_safe(1), Not(col("a").eq_null_safe(1))),
        (col("a").isin([]), Constant(False)),
        (~col("a").isin([]), Constant(True)),
        (col("a").isin([None]), NULL),
        (col("a").isin([1, 1]), col("a") == 1),
        (~col("a").isin([1]), col("a") != 1),
        (col("a").isin([1, None]), In(A, (Literal(1), Literal(None)))),
        ((col("a") == 1) | (col("b") == 2) | (col("a") == 3), col("a").isin([1, 3]) | (col("b") == 2)),
        (~((col("a") == 1) | col("a").isin([2, 3])), Not(col("a").isin([1, 2, 3]))),
        (And((col("a") > 1, Constant(True))), col("a") > 1),
        (And((col("a") > 1, Constant(False))), Constant(False)),
        (Not(And((NULL, Constant(False)))), Constant(True)),
        (And((NULL, col("a") > 1)), And((col("a") > 1, NULL))),  # NULL is not FALSE: under NOT it makes a difference
        (Not(And((NULL, col("a") > 1))), Or((col("a") <= 1, NULL))),
        (And(()), Constant(True)),
        (Or(()), Constant(False)),
        (Not(Opaque("f(a)")), Not(Opaque("f(a)"))),
    ],
)
def test_shape(p: Predicate, normal: Predicate) -> None:
    assert normalize(p) == normal


def test_between_of_one_value_is_equality() -> None:
    a, b = col("a"), col("b")
    assert normalize((a >= 3) & (a <= 3)) == (a == 3)
    assert gathered_form((a <= 3) & (b > 1) & (a >= 3)) == And((b > 1, a == 3))
    assert normalize(((a >= 3) & (a <= 3)) | (a == 5)) == a.isin([3, 5])
    assert normalize((a >= 3) & (a <= 3.0)) == And((a >= 3, a <= 3.0)), "of two kinds: a source may know one"
    assert normalize((a >= 3) & (b <= 3)) == And((a >= 3, b <= 3))
    nan = [Comparison(A, op, Literal(math.nan)) for op in (Op.GE, Op.LE)]
    assert normalize(And(tuple(nan))) == And(tuple(nan))


def test_not_above_inequalities_is_kept_where_nan_order_is_not_trusted() -> None:
    assert gathered_form(~(col("a") > 5)) == Not(col("a") > 5)
    assert gathered_form(~(col("a") == 5)) == (col("a") != 5)
    assert gathered_form(~(col("a") > None)) == NULL


def _left(parts: list[Predicate]) -> Predicate:
    tree = parts[0]
    for part in parts[1:]:
        tree = Or((tree, part))
    return tree


def _right(parts: list[Predicate]) -> Predicate:
    tree = parts[-1]
    for part in reversed(parts[:-1]):
        tree = Or((part, tree))
    return tree


def _flat(parts: list[Predicate]) -> Predicate:
    return Or(tuple(parts))


@pytest.mark.parametrize("nest", [_left, _right, _flat])
@pytest.mark.slow
def test_ten_thousand_ors_are_one_list_whatever_their_nesting(nest: Callable[[list[Predicate]], Predicate]) -> None:
    p = nest([col("a") == i for i in range(10_000)])
    normal = normalize(p)
    assert isinstance(normal, In)
    assert len(normal.values) == 10_000
    assert matches(p, {"a": 9_999}) is True
    assert may_match(p, ScalarStatistics({})) is True
    assert must_match(p, ScalarStatistics({})) is False
    assert len(p.leaves()) == 10_000
    assert p.columns == (A,)


def test_depth_of_alternating_connectives_is_no_recursion() -> None:
    p: Predicate = col("a") == 0
    for i in range(2_000):
        p = Not(And((Or((p, col("a") == i)), col("b") > i)))
    normal = normalize(p)
    row = {"a": 5, "b": 7}
    assert matches(normal, row) is matches(p, row)
    assert may_match(p, ScalarStatistics({})) is True
    assert isinstance(conjuncts(p), tuple)


def test_cost_grows_with_the_tree_not_its_square() -> None:
    def calls(size: int) -> int:
        p, count = _left([col("a") > i for i in range(size)]), 0

        def counted(*_: object) -> None:
            nonlocal count
            count += 1

        sys.setprofile(counted)
        try:
            normalize(p)
        finally:
            sys.setprofile(None)
        return count

    assert calls(4_000) < 2.1 * calls(2_000)


def test_references() -> None:
    p = ((col("a") == 1) | col("a").isin([2, None])) & ~(col("b") == 3) & col("s.f").eq_null_safe(4) & (col("c") > 5)
    assert [c.name for c in p.columns] == ["a", "b", "s.f", "c"]
    assert len(conjuncts(p)) == 4
    assert conjuncts(Constant(True)) == ()
    assert Opaque("f(a, b)", (A, ColumnRef(("b",)))).columns == (A, ColumnRef(("b",)))
