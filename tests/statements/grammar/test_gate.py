"""The jar by which Spark's configuration switches metaindex on holds up what may be a statement about indexes."""

from __future__ import annotations

import re

from metaindex.spark.extension_jar import extension_sources
from metaindex.statements.grammar.forms import ALSO, FORMS


def test_the_gate_knows_the_first_words_of_every_statement() -> None:
    source = extension_sources()["Gate"]
    first, second = (
        " ".join(re.findall(r'"([^"]*)"', source.partition(f"String {name} =")[2].partition(";")[0])).split()
        for name in ("FIRST", "SECOND")
    )
    assert set(first) == {words[0] for words in (*FORMS, *ALSO)}
    assert set(second) == {words[1] for words in (*FORMS, *ALSO)}
