"""Sources as syntax trees, parsed and walked once for all that is asked of them here."""

import ast
import gc
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "metaindex"


@cache
def parsed(text: str) -> ast.Module:
    return _tree(text)


@cache
def nodes(text: str) -> tuple[ast.AST, ...]:
    """All that `ast.walk` comes to."""
    return tuple(ast.walk(parsed(text)))


def statements(text: str) -> Iterator[ast.stmt]:
    """Those of a source that is asked once: nothing is kept, and no expression is entered."""
    todo: list[ast.AST] = [_tree(text)]
    while todo:
        inner = [node for node in ast.iter_child_nodes(todo.pop()) if not isinstance(node, ast.expr)]
        yield from (node for node in inner if isinstance(node, ast.stmt))
        todo += inner


def _tree(text: str) -> ast.Module:
    gc.disable()  # it would look at each of the million nodes that are kept, again and again
    try:
        return ast.parse(text)
    finally:
        gc.enable()


@cache
def package() -> dict[str, str]:
    """The text of each module, by its path below the checkout."""
    return {path.relative_to(ROOT).as_posix(): path.read_text() for path in sorted(PACKAGE.rglob("*.py"))}
