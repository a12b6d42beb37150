"""The Java that plans queries looks at its deadline in every turn of every loop (`Deadline.java`)."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

import metaindex

PACKAGE: Final = Path(metaindex.__file__).parent
ROOM: Final = PACKAGE / "spark" / "optimizer" / "java"
SHARED: Final = [file for file in (PACKAGE / "core" / "jvm" / "java").glob("*.java") if file.stem != "Delegates"]
"""What rooms share, but for what is done once, as a session is enabled."""
_PARTS: Final = re.compile(
    r"""//[^\n]* | /\*.*?\*/ | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*' | \b(?:for|while|do)\b | [()]""",
    re.VERBOSE | re.DOTALL,
)
_LOOK: Final = re.compile(r"\s*\{\s*Deadline\.look\(\);")


def blind_loops(source: str) -> Iterator[int]:
    """Lines of loops whose turn does not begin with a look."""
    depth = 0
    heads: list[int] = []  # how deep those are that are open
    for part in _PARTS.finditer(source):
        match part[0]:
            case "do":
                yield source.count("\n", 0, part.start()) + 1
            case "for" | "while":
                heads.append(depth)
            case "(":
                depth += 1
            case ")":
                depth -= 1
                if heads and heads[-1] == depth:
                    heads.pop()
                    if not _LOOK.match(source, part.end()):
                        yield source.count("\n", 0, part.start()) + 1


def test_every_turn_of_every_loop_looks() -> None:
    sources = [*ROOM.rglob("*.java"), *SHARED]
    assert sum(file.read_text().count("Deadline.look();") for file in sources) > 250
    assert [f"{file.name}:{line}" for file in sources for line in blind_loops(file.read_text())] == []


def test_no_loop_is_hidden_in_a_method_of_a_library() -> None:
    """What turns by itself turns without a look."""
    hidden = re.compile(r"forEach|removeIf|removeAll|retainAll")
    assert [file.name for file in [*ROOM.rglob("*.java"), *SHARED] if hidden.search(file.read_text())] == []


def test_loops_are_told_from_texts_and_notes() -> None:
    source = """
    for (int i = 0; i < f(i, ")"); i++) {
      Deadline.look(); // for (a
      while (each.hasNext() && !(c == '(')) {
        Deadline.look();
        "for (x) y".length();
      }
    }
    for (; inside.hasNext(); count++) {
    }
    /* while (true) one(); */
    """
    assert list(blind_loops(source)) == [9]


@pytest.mark.parametrize(
    "loop", ["for (;;) one();", "while (true) one();", "do { one(); } while (true);", "for (;;) { one(); }"]
)
def test_a_turn_without_a_look_is_seen(loop: str) -> None:
    assert 2 in list(blind_loops(f"void f() {{\n{loop}\n}}"))
