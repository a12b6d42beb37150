"""A name says what was found."""

import ast
from collections.abc import Iterator

from tests.architecture.sources import nodes, package

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
