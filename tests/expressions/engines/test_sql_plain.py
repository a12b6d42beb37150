"""The short way reads a text as the parser does, or leaves it to the parser."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from metaindex.core import ExpressionError
from metaindex.expressions.engines import sql
from metaindex.expressions.engines.sql import parse
from metaindex.expressions.engines.sql_plain import plain_condition
from metaindex.expressions.tree import Comparison, Predicate

NAMES = ["a", "user_id", "Event_ID", "_x", "null", "true", "date", "timestamp", "interval", "current_date", "case", "x"]
NAMES += ["not", "select", "exists", "cast", "array", "values", "key", "row", "user", "current_user", "all", "any", "b"]


def the_long_way(text: str, dialect: str) -> Predicate | str:
    try:
        return sql._parsed(text, dialect, "UTC", None)
    except ExpressionError as error:
        return str(error)


def said(text: str, dialect: str) -> Predicate | str:
    try:
        return parse(text, dialect)
    except ExpressionError as error:
        return str(error)


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12).map(lambda text: f"'{text}'")
numbers = st.integers(-(10**20), 10**20).map(str) | st.sampled_from(["0", "-0", "007", "1e3", "0x1F", "- 5", "--5"])


@given(
    name=st.sampled_from(NAMES) | st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True),
    value=texts | numbers,
    space=st.sampled_from(["", " ", "  ", "\t", "\n"]),
    dialect=st.sampled_from(["spark", "duckdb"]),
)
@example("x", "'it''s'", "", "spark")
@example("b", "'a' 'b'", " ", "spark")
@example("e", "'\\n'", "", "spark")
@example("date", "'2020-01-01'", " ", "spark")
def test_short_and_long_way_say_the_same(name: str, value: str, space: str, dialect: str) -> None:
    text = f"{name}{space}={space}{value}"
    found, wanted = said(text, dialect), the_long_way(text, dialect)
    assert found == wanted
    if isinstance(found, Comparison):
        assert isinstance(wanted, Comparison)
        assert type(found.value.value) is type(wanted.value.value)


COMPARISONS = st.builds(
    lambda name, space, op, value: f"{name}{space}{op}{space}{value}",
    st.sampled_from(["a", "user", "s1", "a", "true", "and", "or"]),
    st.sampled_from(["", " "]),
    st.sampled_from(["=", "=", "<", "<=", ">", ">=", "!=", "<>", "<=>", "==", "=<", "<-"]),
    st.sampled_from(["1", "-2", "'x'", "'AND (b = 1)'", "'0x1F'", "'it''s'", "1.5", "5L"]),
)


def joined(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Conditions side by side, with blanks or without them, some in parentheses."""
    part = inner | inner.map(lambda text: f"({text})") | inner.map(lambda text: f"( {text} )")
    word = st.sampled_from([" AND ", " OR ", " or ", "\nand ", " And ", " AND", "OR ", "  AND  "])
    return st.lists(st.tuples(part, word), min_size=1, max_size=5).map(
        lambda some: "".join(text + (said if n < len(some) - 1 else "") for n, (text, said) in enumerate(some))
    )


@given(text=st.recursive(COMPARISONS, joined, max_leaves=12), dialect=st.sampled_from(["spark", "duckdb"]))
@example("(a = 1 AND user = 'x') OR (a = 2 AND user = 'y') OR a = 3", "spark")
@example("((a = 1))", "spark")
@example("(a = 1 AND a = 2) AND a = 3", "spark")
@example("a = 1 AND (a = 2 AND a = 3)", "spark")
@example("a = 1 OR a = 2 AND a = 3 OR (a = 4)", "spark")
@example("a < 1 = (b > 2)", "spark")
@example("a <-1 AND a>-1", "duckdb")
@example("a = 1)", "spark")
@example("(a = 1", "spark")
@example("a = 1 AND", "spark")
def test_lists_of_comparisons_too(text: str, dialect: str) -> None:
    assert said(text, dialect) == the_long_way(text, dialect)


def test_what_programs_write_goes_the_short_way() -> None:
    text = " OR ".join(f"(k={n} AND s='v{n}')" for n in range(50))
    assert plain_condition(text, lambda _: True) == the_long_way(text, "spark")
    ranges = " OR ".join(f"(k >= {n} AND k<{n + 5} AND s <> 'v{n}')" for n in range(50))
    assert plain_condition(ranges, lambda _: True) == the_long_way(ranges, "spark")
    assert plain_condition("(" * 30 + "a = 1" + ")" * 30, lambda _: True) is None


@pytest.mark.parametrize("name", ["event_id", "user", "Key"])
def test_look_ups_go_the_short_way(name: str) -> None:
    for value in ("'0a1b'", "''", "42", "-42", "999999999999999999", "'ü 😀 -- %'"):
        short = plain_condition(f"{name} = {value}", lambda _: True)
        assert short is not None
        assert short == the_long_way(f"{name} = {value}", "spark")


@pytest.mark.parametrize(
    "text",
    [
        "a = b",
        "a.b = 1",
        "`a` = 1",
        "a == 1",
        "a = 'it''s'",
        "a = '\\n'",
        "a = 1.5",
        "a = 1L",
        "a <=> 1",
    ],
)
def test_what_is_not_so_plain_is_left_to_the_parser(text: str) -> None:
    assert plain_condition(text, lambda _: True) is None
