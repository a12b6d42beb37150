"""One name, one meaning: no two classes share a name, and a name says what was found."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = {
    path.relative_to(ROOT).as_posix(): ast.parse(path.read_text()) for path in (ROOT / "metaindex").rglob("*.py")
}
EMPTY_NAMES = {"one", "found"}
MOST = 45
"""Places where one of them may be bound, because nothing better can be said there."""


def test_no_two_classes_have_one_name() -> None:
    places = defaultdict(list)
    for path, tree in sorted(SOURCES.items()):
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(path)
    assert {name: paths for name, paths in places.items() if len(paths) > 1} == {}


def test_names_say_what_was_found() -> None:
    places = [
        f"{path}:{line} {name}"
        for path, tree in sorted(SOURCES.items())
        for name, line in _bound(tree)
        if name in EMPTY_NAMES
    ]
    assert len(places) <= MOST, places


def _bound(tree: ast.AST) -> Iterator[tuple[str, int]]:
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                yield name, node.lineno
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.ExceptHandler(name=str(name)):
                yield name, node.lineno
            case ast.MatchMapping(rest=str(name)):
                yield name, node.lineno
            case _:
                pass
