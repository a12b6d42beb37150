"""Thirteen rooms in one order, each with one door; what a door shows, and how large a room is, may only fall.

`rooms.txt` beside this file has for each room, in their order, the names that its root exports and its lines of Python
and Java. A room may import itself and the roots of rooms before it, lazily too. `python -m
tests.architecture.test_rooms` writes the figures as they are, where they fell.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.architecture.sources import PACKAGE, ROOT, nodes, parsed, statements

LIMITS = Path(__file__).parent / "rooms.txt"
ROOMS: tuple[str, ...] = (
    "core",
    "expressions",
    "storage",
    "formats",
    "index",
    "query",
    "table",
    # the door: above it is a library, below it are its clients
    "advisor",
    "statements",
    "ops",
    "spark",
    "serve",
    "cli",
)
ABOVE_ALL = {"__init__", "__main__"}  # the public face
TYPES_ONLY = {("table", "advisor")}
"""What `Table` answers with where an answer is the adviser's: for type checkers, never imported when it runs."""


class Import(NamedTuple):
    place: str
    line: int
    module: str
    names: tuple[str, ...]
    types_only: bool

    def __str__(self) -> str:
        return f"{self.place}:{self.line} imports {', '.join(self.names)} of {self.module}"


def modules() -> dict[str, Path]:
    """By their dotted names."""
    return {dotted(file): file for file in sorted(PACKAGE.rglob("*.py"))}


def dotted(file: Path) -> str:
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room_of(module: str) -> str:
    """`core`, or `__init__` for the public face itself."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


@cache
def imports(file: Path) -> tuple[Import, ...]:
    """Those of this package, wherever they stand, as absolute names."""
    return tuple(_imports(file))


def _imports(file: Path) -> Iterator[Import]:
    name = dotted(file)
    package = name if file.name == "__init__.py" else name.rpartition(".")[0]
    place = file.relative_to(ROOT).as_posix()
    todo: list[tuple[ast.AST, bool]] = [(parsed(file.read_text()), False)]
    while todo:
        node, types = todo.pop()
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            todo += [(child, True) for child in node.body] + [(child, types) for child in node.orelse]
            continue
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "metaindex":
                    yield Import(place, node.lineno, alias.name, ("*",), types)
        if isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            if base.split(".")[0] == "metaindex":
                yield Import(place, node.lineno, base, tuple(alias.name for alias in node.names), types)
        todo += [(child, types) for child in ast.iter_child_nodes(node) if not isinstance(child, ast.expr)]


def shown(room: str) -> dict[str, str]:
    """The names that a room's root exports, and the module inside that has each."""
    found = {}
    for node in nodes((PACKAGE / room / "__init__.py").read_text()):
        if isinstance(node, ast.ImportFrom) and node.level == 1 and node.module:
            found |= {alias.asname or alias.name: node.module for alias in node.names}
    return found


def lines_of(room: str) -> int:
    files = [file for ending in ("*.py", "*.java") for file in (PACKAGE / room).rglob(ending)]
    return sum(file.read_text().count("\n") for file in files)


def limits() -> dict[str, tuple[int, int]]:
    """Of each room the names that its root may export, and its lines."""
    rows = [line.split() for line in LIMITS.read_text().splitlines() if line and not line.startswith("#")]
    return {room: (int(names), int(lines)) for room, names, lines in rows}


def figures() -> dict[str, tuple[int, int]]:
    return {room: (len(shown(room)), lines_of(room)) for room in ROOMS}


def test_there_are_these_rooms_and_no_other_place() -> None:
    found = {path.name for path in PACKAGE.iterdir() if path.name not in ("py.typed", "__pycache__")}
    assert found == {*ROOMS, "__init__.py", "__main__.py"}


def test_rooms_import_what_stands_before_them() -> None:
    found = []
    for name, file in modules().items():
        mine = room_of(name)
        for said in imports(file):
            target = room_of(said.module)
            if mine in ABOVE_ALL or target == mine or (said.types_only and (mine, target) in TYPES_ONLY):
                continue
            if mine == "cli" and target == "__init__":  # as any program that uses the package
                continue
            if target not in ROOMS or ROOMS.index(target) > ROOMS.index(mine):
                found.append(str(said))
    assert found == []


def test_a_room_is_entered_by_its_root() -> None:
    """What another room needs is exported by the root, as a class, a function or a value, and never a module."""
    known = modules()
    found = []
    for name, file in known.items():
        for said in imports(file):
            if room_of(said.module) in (room_of(name), "__init__"):
                continue
            inside = said.module.count(".") > 1 or any(f"{said.module}.{alias}" in known for alias in said.names)
            if inside and name not in ("metaindex", "metaindex.__main__"):
                found.append(str(said))
    assert found == []


@pytest.mark.parametrize("room", [room for room in ROOMS if room != "cli"])
def test_a_root_exports_what_it_says_to_type_checkers(room: str) -> None:
    from importlib import import_module

    face = import_module(f"metaindex.{room}")
    names = shown(room)
    assert set(names) - {"door"} == {name for name in dir(face) if not name.startswith("__")}
    submodules = {path.stem for path in (PACKAGE / room).iterdir()}
    assert not submodules & names.keys(), "a module that is loaded later would stand where the name was"
    for name, module in names.items():
        assert getattr(face, name) is getattr(import_module(f"metaindex.{room}.{module}"), name)


def test_rooms_show_no_more_and_are_no_larger_than_before() -> None:
    assert list(limits()) == list(ROOMS)
    over = {
        room: f"{now} of {most} (names, lines): say what goes"
        for (room, now), most in zip(figures().items(), limits().values(), strict=True)
        if now[0] > most[0] or now[1] > most[1]
    }
    assert over == {}


INSIDE_OF_OTHERS = 112
"""Imports of tests that reach inside a room which is not theirs; may only fall, to none."""


def test_tests_of_other_rooms_use_the_roots() -> None:
    found = []
    for file in (ROOT / "tests").rglob("*.py"):
        mine = file.relative_to(ROOT / "tests").parts[0]
        for node in statements(file.read_text()):
            if isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").startswith("metaindex."):
                room, *inside = str(node.module).split(".")[1:]
                if inside and room in ROOMS and room != mine:
                    found.append(f"{file.relative_to(ROOT)}:{node.lineno} imports {node.module}")
    assert len(found) <= INSIDE_OF_OTHERS, "\n".join(sorted(found))


def test_an_import_is_seen_wherever_it_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.architecture.test_rooms.ROOT", tmp_path)
    file = tmp_path / "metaindex" / "query" / "a.py"
    file.parent.mkdir(parents=True)
    file.write_text(
        "from metaindex.core import X\n"
        "def later():\n    from ..table.face import Table\n"
        "if TYPE_CHECKING:\n    import metaindex.spark.jars\n"
    )
    seen = {(said.module, said.names, said.types_only) for said in imports(file)}
    assert seen == {
        ("metaindex.core", ("X",), False),
        ("metaindex.table.face", ("Table",), False),
        ("metaindex.spark.jars", ("*",), True),
    }


if __name__ == "__main__":
    head = [line for line in LIMITS.read_text().splitlines() if line.startswith("#")] if LIMITS.exists() else []
    old = limits() if LIMITS.exists() else {}
    rows = [
        f"{room:<12} {min(names, old.get(room, (names,))[0]):>4} {min(lines, old.get(room, (0, lines))[1]):>6}"
        for room, (names, lines) in figures().items()
    ]
    LIMITS.write_text("\n".join([*head, *rows, ""]))
