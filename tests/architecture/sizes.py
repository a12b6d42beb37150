"""How large the house is: `python -m tests.architecture.sizes [CHECKOUT]` counts lines and statements of each room.

A statement is one of Python's syntax, a docstring none: joined lines and dropped docstrings gain nothing."""

import ast
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path


def statements(text: str) -> int:
    """Of a module's source."""
    found = 0
    for node in ast.walk(ast.parse(text)):
        found += isinstance(node, ast.stmt)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            found -= ast.get_docstring(node, clean=False) is not None
    return found


def sizes(folder: Path) -> dict[str, tuple[int, int]]:
    """Lines and statements of each room: a folder of the first level, or a module beside them."""
    lines: Counter[str] = Counter()
    counted: Counter[str] = Counter()
    for path in sorted(folder.rglob("*.py")):
        room = path.relative_to(folder).parts[0].removesuffix(".py")
        text = path.read_text()
        lines[room] += text.count("\n")
        counted[room] += statements(text)
    return {room: (lines[room], counted[room]) for room in lines}


def main(words: Sequence[str]) -> None:
    root = Path(words[0] if words else ".")
    for folder in ("metaindex", "tests"):
        rooms = sizes(root / folder)
        lines, counted = (sum(size[at] for size in rooms.values()) for at in (0, 1))
        said = [f"{folder}: {lines:,} lines of Python, {counted:,} statements"]
        said += [f"  {room:14} {lines:7,} {counted:7,}" for room, (lines, counted) in sorted(rooms.items())]
        sys.stdout.write("".join(f"{line}\n" for line in said))


if __name__ == "__main__":
    main(sys.argv[1:])
