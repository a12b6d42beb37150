"""No module imports, over others or by itself, a module that imports it: at the top, inside a function or for types
only.

A circle has no order in which to read it, and what stands in it is changed together or not at all. An import inside a
function is one too: it only decides when the circle breaks. One for types counts likewise: the name is a thing that
the module has to know. That importing a module also loads the faces (`__init__`) of the folders above it is left out:
each would stand in a circle with all that it shows. What is imported by a room's root is imported of the module that
the root names.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.architecture.sources import ROOT, nodes


def test_no_modules_import_each_other() -> None:
    imports = imports_of_modules(ROOT, "metaindex")
    assert len(imports) > 400
    assert [f"{way}: import each other" for way in circles(imports)] == []


def imports_of_modules(root: Path, package: str) -> dict[str, set[str]]:
    """The modules below `package`, and of each the modules that it names in an import, wherever it stands."""
    files = {module_name(file.relative_to(root)): file for file in sorted((root / package).rglob("*.py"))}
    roots = {
        name: shown_by(file, name) for name, file in files.items() if name.count(".") == 1 and file.stem == "__init__"
    }
    return {
        name: set(named_modules(file, name, files, roots)) - {name} for name, file in files.items() if name not in roots
    }


def shown_by(file: Path, room: str) -> dict[str, str]:
    """The names that a room's root shows, and the module that each is of."""
    shown = [node for node in nodes(file.read_text()) if isinstance(node, ast.ImportFrom) and node.level]
    return {alias.asname or alias.name: f"{room}.{node.module}" for node in shown for alias in node.names}


def module_name(file: Path) -> str:
    parts = file.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def named_modules(
    file: Path, name: str, known: Mapping[str, Path], roots: Mapping[str, Mapping[str, str]]
) -> Iterator[str]:
    folder = name.split(".") if file.name == "__init__.py" else name.split(".")[:-1]
    for node in nodes(file.read_text()):
        match node:
            case ast.Import():
                yield from (alias.name for alias in node.names if alias.name in known)
            case ast.ImportFrom():
                start = folder[: len(folder) - node.level + 1] if node.level else []
                base = ".".join([*start, *([node.module] if node.module else [])])
                inside = {f"{base}.{alias.name}" for alias in node.names} & known.keys()
                yield from inside
                # `from . import x` of a module `x` reads nothing of the face beside it.
                others = [alias.name for alias in node.names if f"{base}.{alias.name}" not in known]
                if base in roots:
                    yield from (roots[base][other] for other in others if other in roots[base])
                elif base in known and others:
                    yield base


def circles(imports: Mapping[str, set[str]]) -> list[str]:
    """Of each set of modules that all reach each other, the shortest way around, as `a -> b -> a`."""
    reached = {name: closure(name, imports) for name in imports}
    found: list[str] = []
    told: set[str] = set()
    for name in sorted(imports):
        if name in reached[name] and name not in told:
            together = {other for other in reached[name] if name in reached[other]}
            told |= together
            way = min((way_around(other, imports) for other in sorted(together)), key=len)
            found.append(f"{' -> '.join(way)} (of {len(together)} modules)")
    return found


def closure(name: str, imports: Mapping[str, set[str]]) -> set[str]:
    seen: set[str] = set()
    todo = [name]
    while todo:
        new = imports[todo.pop()] - seen
        seen |= new
        todo += new
    return seen


def way_around(name: str, imports: Mapping[str, set[str]]) -> list[str]:
    """The shortest way from a module of a circle back to itself."""
    ways = {name: [name]}
    todo = [name]
    for at in todo:
        for other in sorted(imports[at]):
            if other == name:
                return [*ways[at], name]
            if other not in ways:
                ways[other] = [*ways[at], other]
                todo.append(other)
    raise AssertionError(f"{name} stands in no circle")


def test_a_circle_is_found_wherever_its_imports_stand(tmp_path: Path) -> None:
    sources = {
        "__init__": "from .a import x",
        "a": "from . import b",
        "b": "def later():\n    from .rooms.c import x",
        "rooms/__init__": "from .c import x",
        "rooms/c": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import house.a",
        "rooms/d": "from ..a import x\nfrom .c import x",
    }
    for name, source in sources.items():
        file = tmp_path / "house" / f"{name}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(source)
    imports = imports_of_modules(tmp_path, "house")
    assert imports["house.rooms.d"] == {"house.a", "house.rooms.c"}
    assert circles(imports) == ["house.a -> house.b -> house.rooms.c -> house.a (of 3 modules)"]
    assert circles({**imports, "house.b": set()}) == []
