"""Sources as syntax trees, parsed and walked once for all that is asked of them here."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from metaindex.query.pruning.collector import gc_paused

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "metaindex"


@cache
def parsed(text: str) -> ast.Module:
    with gc_paused():  # it would look at each of the million nodes that are kept, again and again
        return ast.parse(text)


@cache
def nodes(text: str) -> tuple[ast.AST, ...]:
    """All that `ast.walk` comes to."""
    with gc_paused():
        return tuple(ast.walk(parsed(text)))


@cache
def package() -> dict[str, str]:
    """The text of each module, by its path below the checkout."""
    return {path.relative_to(ROOT).as_posix(): path.read_text() for path in sorted(PACKAGE.rglob("*.py"))}
