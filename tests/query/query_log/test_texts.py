"""Conditions as texts: read back as they were; hashed and left out, no value is in them."""

import datetime as dt
import string
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metaindex.core.config import Literals
from metaindex.expressions import (
    And,
    ColumnRef,
    Comparison,
    In,
    IsNull,
    Literal,
    Not,
    Op,
    Opaque,
    Or,
    Predicate,
    StartsWith,
    normalize,
    to_predicate,
)
from metaindex.query.query_log.texts import MOST_TEXT, UNREAD, template_of, text_of

KEY = b"0123456789abcdef"
A, B = ColumnRef(("a",)), ColumnRef(("b", "field `of`"))
SECRETS = st.text(string.ascii_lowercase, min_size=10, max_size=14).map(lambda text: f"Q{text}Q")

VALUES: st.SearchStrategy[Any] = (
    SECRETS
    | st.integers(10**12, 10**15)
    | st.decimals(10**12, 10**15, places=2)
    | st.floats(10**9, 10**12, allow_nan=False)
    | st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2100, 1, 1))
    | st.dates(dt.date(1900, 1, 1), dt.date(2100, 1, 1))
    | SECRETS.map(str.encode)
)


def _leaves() -> st.SearchStrategy[Predicate]:
    literals = VALUES.map(Literal)
    named = st.sampled_from([A, B])
    return (
        st.builds(Comparison, named, st.sampled_from(list(Op)), literals)
        | st.builds(In, named, st.lists(literals, min_size=1, max_size=4).map(tuple))
        | st.builds(StartsWith, named, SECRETS)
        | st.builds(Opaque, SECRETS.map(lambda text: f"f(a) = '{text}'"), st.just((A,)))
        | st.builds(IsNull, named)
    )


PREDICATES = st.recursive(
    _leaves(),
    lambda parts: (
        parts.map(Not)
        | st.lists(parts, min_size=2, max_size=3).map(lambda some: And(tuple(some)))
        | st.lists(parts, min_size=2, max_size=3).map(lambda some: Or(tuple(some)))
    ),
    max_leaves=6,
)


def shown(predicate: Predicate) -> list[str]:
    """The values of a predicate, as texts may have them."""
    found: list[str] = []
    todo = [predicate]
    while todo:
        match node := todo.pop():
            case And() | Or():
                todo += node.parts
            case Not():
                todo.append(node.child)
            case Comparison():
                found += _said(node.value.value)
            case In():
                found += [text for value in node.values for text in _said(value.value)]
            case StartsWith():
                found.append(node.prefix)
            case Opaque():
                found.append(node.text.split("'")[1])
            case _:
                pass
    return found


def _said(value: Any) -> list[str]:
    match value:
        case bytes():
            return [value.decode(), value.hex()]
        case dt.datetime():
            return [value.isoformat(), value.isoformat(sep=" ")]
        case Decimal() | float() | int():
            return [str(value), str(int(value))]
        case _:
            return [str(value)]


@given(PREDICATES)
def test_what_is_kept_is_read_back(predicate: Predicate) -> None:
    text = text_of(predicate)
    again = text_of(to_predicate(text))
    assert text_of(to_predicate(again)) == again
    assert set(to_predicate(text).columns) == set(normalize(predicate).columns)


@pytest.mark.parametrize("literals", ["hashed", "left out"])
@given(predicate=PREDICATES)
def test_no_value_is_in_a_text_without_values(literals: Literals, predicate: Predicate) -> None:
    text = text_of(predicate, literals, KEY)
    assert [value for value in shown(predicate) if value in text] == []
    assert [value for value in shown(predicate) if value in template_of(text)] == []
    assert set(to_predicate(text).columns) == set(normalize(predicate).columns)


@given(VALUES, VALUES)
def test_equal_values_and_no_others_have_one_hash(one: Any, other: Any) -> None:
    def said(value: Any, key: bytes = KEY) -> str:
        return text_of(Comparison(A, Op.EQ, Literal(value)), "hashed", key)

    assert said(one) == said(one)
    assert (said(one) == said(other)) == (Literal(one) == Literal(other))
    assert said(one) != said(one, b"another key of 16")


def test_numbers_are_equal_whatever_their_type() -> None:
    texts = {text_of(Comparison(A, Op.EQ, Literal(value)), "hashed", KEY) for value in (42, 42.0, Decimal("42.00"))}
    assert len(texts) == 1


def test_a_range_without_its_values_stays_a_range() -> None:
    one = Literal(7)
    text = text_of(And((Comparison(A, Op.GE, one), Comparison(A, Op.LE, Literal(9)))), "left out")
    assert isinstance(normalize(to_predicate(text)), And)


@pytest.mark.parametrize(
    "make",
    [
        lambda: In(A, tuple(Literal("x" * 100 + str(n)) for n in range(1_000))),
        lambda: Comparison(A, Op.EQ, Literal("\ud800")),
        lambda: Comparison(A, Op.EQ, Literal(Decimal("1" * 50))),
        lambda: Opaque("no ( sql", (A,)),
    ],
    ids=["long", "half a pair", "too many digits", "no SQL"],
)
def test_what_no_text_can_say_keeps_its_columns(make: Callable[[], Predicate]) -> None:
    text = text_of(make())
    assert text == f"{UNREAD}(`a`)"
    assert to_predicate(text) == Opaque(to_predicate(text).text, (A,))  # type: ignore[union-attr]


def test_a_deep_tree_and_a_broken_text_take_no_time_to_speak_of() -> None:
    tree: Predicate = Comparison(A, Op.EQ, Literal(1))
    for _ in range(10_000):
        tree = And((tree, Not(Or((tree, IsNull(A)))))) if _ < 8 else Not(tree)
    text_of(tree)
    for hostile in ("'" * MOST_TEXT, "\\'" * (MOST_TEXT // 2), "`" * (MOST_TEXT - 1), "'\\" * (MOST_TEXT // 2)):
        template_of(hostile)


@pytest.mark.parametrize(
    ("text", "template"),
    [
        ("(`a` = 1)", "(`a` = ?)"),
        ("(`a1` = -1.5e+20D)", "(`a1` = ?)"),
        ("(`x 7` IN (1, 2L, 3BD))", "(`x 7` IN (...))"),
        ("(`a` = 'it\\'s 5') AND (`b` >= DATE '2020-01-01')", "(`a` = ?) AND (`b` >= ?)"),
        ("(`a` = X'00ff') OR (`a` = double('NaN'))", "(`a` = ?) OR (`a` = ?)"),
    ],
)
def test_templates(text: str, template: str) -> None:
    assert template_of(text) == template
