"""An interrupt is never taken for an error of py4j, nor lost with one: who catches those has a block inside that lets
interrupts go first."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
_SURELY = "metaindex/spark/interrupts.py"  # tries again, and raises the last


def _names(node: ast.AST | None) -> set[str]:
    return {name.id for name in ast.walk(node) if isinstance(name, ast.Name)} if node is not None else set()


def _lets_interrupts_go(node: ast.Try) -> bool:
    first = node.body[0]
    return isinstance(first, ast.With) and len(node.body) == 1 and "interrupts_first" in _names(first.items[0])


def test_who_catches_errors_of_py4j_lets_interrupts_go_first() -> None:
    catching, wrong = 0, []
    for file in sorted((ROOT / "metaindex").rglob("*.py")):
        text, place = file.read_text(), file.relative_to(ROOT).as_posix()
        for node in ast.walk(ast.parse(text)) if "Py4J" in text and place != _SURELY else ():
            if isinstance(node, ast.Try) and any(
                name.startswith("Py4J") for handler in node.handlers for name in _names(handler.type)
            ):
                catching += 1
                if not _lets_interrupts_go(node):
                    wrong.append(f"{place}:{node.lineno}")
    assert catching > 10
    assert wrong == []
