"""Docstrings open with a verb or with the noun that they define.

An opening such as "Of one file, by its text.", "Where ...", "The same, with ..." or a question is a fragment.
"""

import ast
import re

import pytest

from tests.architecture.sources import PACKAGE, ROOT, nodes
from tests.architecture.test_rooms import ROOMS

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
