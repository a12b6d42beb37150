"""A name says what was found."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.sources import PACKAGE, ROOT, nodes, package
from tests.architecture.test_rooms import ROOMS

EMPTY_NAMES = {"one", "found"}
MOST = 45
"""Places where one of them may be bound, because nothing better can be said there."""


def test_names_say_what_was_found() -> None:
    places = [
        f"{place}:{line} {name}"
        for place, text in package().items()
        for name, line in _bound(text)
        if name in EMPTY_NAMES
    ]
    assert len(places) <= MOST, places


_BINDING = (ast.Name, ast.arg, ast.MatchAs, ast.MatchStar, ast.ExceptHandler, ast.MatchMapping)


def _bound(text: str) -> Iterator[tuple[str, int]]:
    for node in nodes(text):
        if not isinstance(node, _BINDING):
            continue
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                yield name, node.lineno
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.ExceptHandler(name=str(name)):
                yield name, node.lineno
            case ast.MatchMapping(rest=str(name)):
                yield name, node.lineno
            case _:
                pass


# Widths ---------------------------------------------------------------------------------------------------------------


METAINDEX = Path(__file__).parents[2] / "metaindex"


def test_no_line_of_java_is_longer_than_120_columns() -> None:
    sources = sorted(METAINDEX.rglob("*.java"))
    assert sources
    lines = ((path.name, n, line) for path in sources for n, line in enumerate(path.read_text().splitlines(), 1))
    assert [f"{name}:{number}" for name, number, line in lines if len(line) > 120] == []


# Docstrings -----------------------------------------------------------------------------------------------------------


OPENING = re.compile(
    r"`?(of|as|by|that|in|from|with|where|which|whoever|those|likewise|so|at|to|under|beside|below|without|for"
    r"|how|what|whether|if|when|who|nobody|the\s+same)\b(?!-)",
    re.IGNORECASE,
)
QUESTION = re.compile(r"[^.?!:;`\"]*\?(\s|$)")


def fragments(room: str) -> list[str]:
    """Return the places of a room's fragments."""
    found = []
    for file in sorted((PACKAGE / room).rglob("*.py")):
        for node in nodes(file.read_text()):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                docstring = ast.get_docstring(node)
                if docstring and (OPENING.match(docstring) or QUESTION.match(docstring)):
                    first = docstring.partition("\n")[0]
                    found.append(f"{file.relative_to(ROOT)}:{node.body[0].lineno}: {first}")
    return found


@pytest.mark.parametrize("room", ROOMS)
def test_docstrings_open_with_a_verb_or_a_noun(room: str) -> None:
    assert not fragments(room), "say who does what"


@pytest.mark.parametrize(
    ("docstring", "fragment"),
    [
        ("Of one file, by its text.", True),
        ("The same, with a limit.", True),
        ("`where` a file is.", True),
        ("Is there a log?", True),
        ("Statistics of one file, computed from its text.", False),
        ("Return whether there is a log.", False),
        ("The same\nsnapshot.", True),
        ("The files of a version.", False),
        ("What-if questions to a table.", False),
        ("The text with `?` for literals.", False),
    ],
)
def test_what_a_fragment_is(docstring: str, fragment: bool) -> None:
    assert bool(OPENING.match(docstring) or QUESTION.match(docstring)) is fragment
