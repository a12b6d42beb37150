"""A name says what was found."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EMPTY_NAMES = {"one", "found"}
MOST = 45
"""Places where one of them may be bound, because nothing better can be said there."""


@pytest.fixture(scope="module")
def sources() -> dict[str, ast.Module]:
    """By path; parsed for these tests alone: each worker imports this file."""
    paths = sorted((ROOT / "metaindex").rglob("*.py"))
    return {path.relative_to(ROOT).as_posix(): ast.parse(path.read_text()) for path in paths}


def test_names_say_what_was_found(sources: dict[str, ast.Module]) -> None:
    places = [
        f"{path}:{line} {name}" for path, tree in sources.items() for name, line in _bound(tree) if name in EMPTY_NAMES
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
