"""Statements about indexes in scripts are found wherever one may begin, and held up by the jar's gate; parameters are
refused where they stand."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

import metaindex as mi
from metaindex.core import StatementError
from metaindex.spark.extension_jar import extension_sources
from metaindex.spark.optimizer.statements import indexes_in, is_script
from metaindex.statements.grammar.forms import ALSO, FORMS
from metaindex.statements.grammar.parsing import parsed


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("BEGIN CREATE INDEX a ON t (b); SELECT 1; END", ["CREATE INDEX a ON t (b)"]),
        ("begin select 1; show indexes on t; end", ["show indexes on t"]),
        ("x: BEGIN IF 1 = 1 THEN DROP INDEX a ON t; ELSE DROP INDEX b ON t; END IF; END", ["a", "b"]),
        ("BEGIN WHILE true DO REFRESH INDEX a ON t; END WHILE; END", ["REFRESH INDEX a ON t"]),
        ("BEGIN /* CREATE INDEX a ON t */ SELECT 'x; DROP INDEX a ON t'; END", []),
        ("BEGIN SELECT index FROM t; REFRESH TABLE index; END", []),
        ("BEGIN SELECT 1;", []),
        ("BEGIN", []),
        ("BEGIN EXECUTE IMMEDIATE 'CREATE INDEX a ON t (b)'; END", []),
    ],
)
def test_statements_of_a_script_are_found(text: str, found: list[str]) -> None:
    assert is_script(text)
    there = list(indexes_in(text))
    assert len(there) == len(found)
    for (at, said), wanted in zip(there, found, strict=True):
        assert wanted in said
        assert text[at:].startswith(said)


@pytest.mark.parametrize("text", ["SELECT 1", "", "'BEGIN'", "x: SELECT 1", "BEGINNING", "BEGIN 'open"])
def test_what_is_no_script(text: str) -> None:
    assert not is_script(text)


@given(
    st.lists(st.sampled_from(["BEGIN", ";", "CREATE INDEX a ON t", "x:", "IF", "THEN", "END", "'", "/*", "\n", "é"]))
)
def test_any_text_is_taken_apart_or_refused(pieces: list[str]) -> None:
    text = " ".join(pieces)
    if is_script(text):
        assert all(said for _, said in indexes_in(text))


@pytest.mark.parametrize(
    ("text", "marker"),
    [
        ("REFRESH INDEX a ON t WHERE id = :day", ":day"),
        ("REFRESH INDEX a ON t WHERE id = ?", "?"),
        ("EXPLAIN INDEXES SELECT * FROM t WHERE id = :v", ":v"),
        ("CREATE INDEX a ON t USING bloom (b) OPTIONS (fpp = :f)", ":f"),
        ("SHOW INDEXES ON IDENTIFIER(:t)", ":t"),
    ],
)
def test_a_parameter_is_refused_where_it_stands(text: str, marker: str) -> None:
    with pytest.raises(StatementError, match="is a parameter; write the value itself") as raised:
        parsed(text)
    assert text[raised.value.at : raised.value.end] == marker
    assert "\n" not in str(raised.value)


def test_what_looks_like_a_parameter_and_is_none(tmp_path: object) -> None:
    for query in (
        "SELECT id::int FROM t",
        "SELECT ':a', '?' FROM t",
        "SELECT `a:b`, `?` FROM t",
        "SELECT a /* :b ? */ FROM t",
    ):
        parsed(f"EXPLAIN INDEXES {query}")
    with pytest.raises(mi.StatementError, match="parameter"):
        mi.sql("SHOW INDEXES ON :t")


def test_the_gate_knows_the_first_words_of_every_statement() -> None:
    source = extension_sources()["Gate"]
    first, second = (
        " ".join(re.findall(r'"([^"]*)"', source.partition(f"String {name} =")[2].partition(";")[0])).split()
        for name in ("FIRST", "SECOND")
    )
    assert set(first) == {words[0] for words in (*FORMS, *ALSO)}
    assert set(second) == {words[1] for words in (*FORMS, *ALSO)}
