"""Statements of a text, however it comes in pieces, are those that SQL's own tokenizer sees."""

from itertools import pairwise

import sqlglot
from hypothesis import given
from hypothesis import strategies as st
from sqlglot.tokens import TokenType

from metaindex.advisor.workloads.text_files import statements

WORDS = st.sampled_from(
    [
        "a",
        " ",
        ";",
        "'",
        '"',
        "`",
        "--",
        "\n",
        "/*",
        "*/",
        "\\",
        "-",
        "/",
        "*",
        "''",
        "';'",
        "select 1",
        "r",
        "R'",
        "é",
        "1",
    ]
)
TEXTS = st.lists(WORDS, max_size=25).map("".join)


def cut(text: str, places: list[int]) -> list[str]:
    at = sorted({min(place, len(text)) for place in places} | {0, len(text)})
    return [text[start:end] for start, end in pairwise(at)]


@given(TEXTS, st.lists(st.integers(0, 60), max_size=8))
def test_pieces_change_nothing(text: str, places: list[int]) -> None:
    assert list(statements(cut(text, places))) == list(statements([text]))
    assert list(statements(text)) == list(statements([text]))


@given(
    st.lists(
        st.sampled_from(["a", " 1 ", "'x;y'", "`n;m`", "-- c;\n", "/* c;d */", "\n", ",", "'it\\';s'"]), max_size=12
    )
)
def test_they_end_where_the_tokenizer_has_semicolons(parts: list[str]) -> None:
    text = ";".join(parts)
    tokens = sqlglot.tokenize(text, read="spark")
    ends = [token.start for token in tokens if token.token_type is TokenType.SEMICOLON]
    spans = zip([0, *(end + 1 for end in ends)], [*ends, len(text)], strict=True)
    expected = [text[start:end].strip() for start, end in spans]
    kept = [part for part in expected if sqlglot.tokenize(part, read="spark")]
    assert list(statements([text])) == kept


@given(TEXTS, st.integers(1, 12))
def test_no_statement_is_longer_than_it_may_be(text: str, most: int) -> None:
    whole = list(statements([text]))
    short = list(statements([text], most))
    assert all(part is None or len(part) <= most for part in short)
    rest = iter(whole)
    assert all(part in rest for part in short if part is not None)  # in their order
    assert None in short or short == whole


def test_what_is_too_long_is_passed_over_to_its_end() -> None:
    pieces = ["select 1; select '", *["x;" * 1_000] * 50, "' ; select 2"]
    assert list(statements(iter(pieces), most=10_000)) == ["select 1", None, "select 2"]


def test_comments_within_comments_end_where_they_all_do() -> None:
    assert list(statements(["a /* 1 /* 2 */ ; */ b; c"])) == ["a /* 1 /* 2 */ ; */ b", "c"]


def test_what_nothing_closes_spoils_its_own_statement_alone() -> None:
    good = ["select 1", "select 'it', 'was'", "select 3"]
    for broken in ("select 'open from a", 'select "open from a', "select `open from a", "select /* open from a"):
        text = ";\n".join([good[0], broken, *good[1:]]) + "\n"
        assert list(statements([text])) == [good[0], broken, *good[1:]]
    assert list(statements(["select 'open; select 2"])) == ["select 'open; select 2"]


def test_very_many_that_nothing_closes_are_one_in_the_end() -> None:
    found = list(statements(["select /* a;\n" * 1_001]))
    assert 2 < len(found) < 20
    assert sum((part or "").count("select") for part in found) == 1_001
