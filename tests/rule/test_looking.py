"""The rule's Java looks at its deadline in every turn of every loop, as it is handed to Spark."""

from __future__ import annotations

import re
from importlib.resources import files

import pytest

from metaindex.rule.looking import LOOK, looking


def test_every_turn_of_every_loop_looks() -> None:
    source = """
    for (int i = 0; i < f(i, ")"); i++) { // for (a
      while (each.hasNext() && !(c == '(')) {
        "for (x) y".length();
      }
    }
    for (; inside.hasNext(); count++) {
    }
    /* while (true) one(); */
    """
    made = looking(source)
    assert made.replace(LOOK, "") == source
    assert made.count("{" + LOOK) == 3


@pytest.mark.parametrize("loop", ["for (;;) one();", "while (true) one();", "do { one(); } while (true);"])
def test_a_loop_whose_turn_is_no_block_is_refused(loop: str) -> None:
    with pytest.raises(ValueError, match="line 2 has another"):
        looking(f"void f() {{\n{loop}\n}}")


def test_the_sources_have_no_other_loops() -> None:
    """What turns by itself would turn without a look."""
    room = files("metaindex.rule") / "java"
    of_a_spark = [source for part in room.iterdir() if part.is_dir() for source in part.iterdir()]
    assert of_a_spark
    for source in [*(source for source in room.iterdir() if source.is_file()), *of_a_spark]:
        text = source.read_text()
        assert looking(text).replace(LOOK, "") == text, source.name
        assert not re.search(r"\bdo \{|forEach|removeIf|removeAll|retainAll", text), source.name
