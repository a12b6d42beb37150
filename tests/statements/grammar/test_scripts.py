"""Parameters are refused where they stand, and the jar's gate holds up every statement about indexes in a script."""

import re

import pytest

import metaindex as mi
from metaindex.core import StatementError
from metaindex.spark.extension_jar import extension_sources
from metaindex.statements.grammar.parsing import parsed
from metaindex.statements.grammar.verbs import ALSO, FORMS


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
