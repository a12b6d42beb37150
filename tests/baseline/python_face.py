"""Facts of the Python face, one a line: names, parameters with defaults, fields, and what is returned. No line names a
module, so that code may move."""

import ast
import dataclasses
import enum
import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from functools import cache, cached_property
from types import ModuleType
from typing import Any

import metaindex as mi
from tests.architecture.sources import statements

INNER = frozenset(
    {
        "Any",
        "Column",
        "ColumnBounds",
        "Confines",
        "Cover",
        "Deletes",
        "Display",
        "Field",
        "FileFooter",
        "FileShape",
        "FileTable",
        "FirstRows",
        "HeldFooters",
        "IndexLogEntry",
        "KeyRows",
        "Kind",
        "KindSpec",
        "Literal",
        "OrderPlaces",
        "PruningStatistics",
        "ScanPlan",
        "Schema",
        "SnapshotDetails",
        "SortKey",
        "StatementReads",
        "Storage",
        "TableRead",
        "TableRef",
        "TextTable",
        "Watches",
    }
)
"""Where the walk from value to value ends: these are named by the face, and their insides are the package's own."""
SPECIAL = frozenset(
    {
        "__and__",
        "__bool__",
        "__call__",
        "__contains__",
        "__enter__",
        "__exit__",
        "__eq__",
        "__float__",
        "__ge__",
        "__getattr__",
        "__getitem__",
        "__gt__",
        "__invert__",
        "__iter__",
        "__le__",
        "__len__",
        "__lt__",
        "__ne__",
        "__next__",
        "__or__",
        "_repr_html_",
    }
)
"""What a value can do without a name: `len(value)`, `value == 3`, and how a notebook shows it."""
SHOWS = frozenset({"brief", "pictured", "shown"})
"""How a value is drawn, which is the package's own."""
PLAIN = (Exception, BaseException, object)
PACKAGE = "metaindex"


def python_lines() -> Iterator[str]:
    """Every name of `metaindex` and `metaindex.hooks`, and every value that is reached from them."""
    walk = _Walk()
    for name in sorted(mi.__all__):
        yield f"mi.{name}"
        walk.named(f"mi.{name}", getattr(mi, name))
    yield from walk.lines()


class _Walk:
    """From the public names to the values that they give, each class once."""

    def __init__(self) -> None:
        self._found: list[str] = []
        self._seen: set[type] = set()

    def lines(self) -> list[str]:
        return self._found

    def named(self, name: str, value: Any) -> None:
        match value:
            case ModuleType():
                for inner in sorted(value.__all__ if hasattr(value, "__all__") else _defined(value)):
                    self._found.append(f"{name}.{inner}")
                    self.named(f"{name}.{inner}", getattr(value, inner))
            case type() if _ours(value):
                self._class(value, public=True)
            case _ if inspect.isfunction(value):
                self._function(name, value)

    def _class(self, cls: type, *, public: bool = False) -> None:
        if cls in self._seen or (cls.__name__ in INNER and not public) or cls.__name__.startswith("_"):
            return
        self._seen.add(cls)
        name = cls.__name__
        self._found.append(f"class {name}")
        if issubclass(cls, BaseException):
            self._found += [f"class {name} is a {base.__name__}" for base in cls.__mro__[1:] if base not in PLAIN]
            return
        if issubclass(cls, enum.Enum):
            self._found += [f"{name}.{member.name}" for member in cls]
            return
        kind = public and any(base.__name__ in INNER for base in cls.__mro__)
        if public and not inspect.isabstract(cls):
            self._parameters(name, cls)
        fields = {field.name for field in dataclasses.fields(cls)} if dataclasses.is_dataclass(cls) else set()
        for base in reversed(cls.__mro__):
            if _ours(base):
                self._members(name, base, fields, made=public, only_fields=kind)

    def _members(self, name: str, base: type, fields: set[str], *, made: bool, only_fields: bool) -> None:
        """What a class or one of its bases defines. `made`: users make it, so what makes one counts. `only_fields`: of
        an index kind, whose methods the package calls."""
        for field, annotation in vars(base).get("__annotations__", {}).items():
            if field in fields and not field.startswith("_"):
                self._found.append(f"{name}.{field}")
                self._holds(f"{name}.{field} is", base.__module__, annotation)
        written = _written(base)
        for member, value in vars(base).items():
            if only_fields or (member.startswith("_") and not (member in SPECIAL and member in written)):
                continue
            if member in SHOWS or (isinstance(value, staticmethod | classmethod) and not made):
                continue
            inner = value.__func__ if isinstance(value, staticmethod | classmethod) else value
            if isinstance(inner, property | cached_property):
                getter: Any = inner.fget if isinstance(inner, property) else inner.func
                self._found.append(f"{name}.{member}")
                self._holds(f"{name}.{member} is", getter.__module__, getter.__annotations__.get("return"))
            elif inspect.isfunction(inner):
                self._function(f"{name}.{member}", inner)

    def _function(self, name: str, function: Any) -> None:
        self._found.append(f"{name}()")
        self._parameters(name, function)
        self._holds(f"{name}() returns", function.__module__, function.__annotations__.get("return"))

    def _parameters(self, name: str, called: Any) -> None:
        try:
            parameters = list(inspect.signature(called).parameters.values())
        except (TypeError, ValueError):
            return
        for number, one in enumerate([one for one in parameters if one.name not in ("self", "cls")], 1):
            default = "" if one.default is one.empty else f" = {_value(one.default)}"
            match one.kind:
                case one.VAR_POSITIONAL:
                    said = f"*{one.name}"
                case one.VAR_KEYWORD:
                    said = f"**{one.name}"
                case one.KEYWORD_ONLY:
                    said = f"{one.name}{default}, by name"
                case _:
                    said = f"{one.name}{default}, place {number}"
            self._found.append(f"{name}({said})")
            if isinstance(one.annotation, str):
                self._found.append(f"{name}({one.name}) takes {_type(one.annotation)}")

    def _holds(self, what: str, module: str, annotation: object) -> None:
        """A line for the type, and a visit to each class of ours in it."""
        if annotation is None:
            return
        text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
        self._found.append(f"{what} {_type(text)}")
        for word in sorted(set(re.findall(r"\w+", text))):
            found = _resolved(module, word)
            if isinstance(found, type) and _ours(found):
                self._class(found)


def _defined(module: ModuleType) -> list[str]:
    """The public functions and classes that stand in a module."""
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", "") == module.__name__
    ]


def _ours(cls: type) -> bool:
    return cls.__module__.partition(".")[0] == PACKAGE


def _value(value: object) -> str:
    """A default, without the addresses and modules that `repr` may show."""
    if isinstance(value, enum.Enum):
        return f"{type(value).__name__}.{value.name}"
    if isinstance(value, type) or inspect.isfunction(value):
        return value.__name__
    return re.sub(rf"\b(?:{PACKAGE}\.)(?:\w+\.)*(\w+)", r"\1", re.sub(r" at 0x[0-9a-f]+", "", repr(value)))


def _type(text: str) -> str:
    """An annotation without the modules of its names."""
    return " ".join(re.sub(r"\b(?:\w+\.)+(\w+)", r"\1", text.strip("'\"")).split())


@cache
def _imports(module: str) -> dict[str, tuple[str, str]]:
    """Where a module's names come from, those that only type checkers import too."""
    here = sys.modules[module]
    package = module if hasattr(here, "__path__") else module.rpartition(".")[0]
    found = {}
    for node in _statements(module):
        if isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            for alias in node.names:
                found[alias.asname or alias.name] = (importlib.util.resolve_name(base, package), alias.name)
    return found


def _resolved(module: str, name: str) -> object:
    here = sys.modules[module]
    if hasattr(here, name):
        return getattr(here, name)
    base, inner = _imports(module).get(name, ("", ""))
    return getattr(importlib.import_module(base), inner, None) if base.partition(".")[0] == PACKAGE else None


def _written(cls: type) -> set[str]:
    """The methods that stand in a class's source: dataclasses write some by themselves."""
    classes = (node for node in _statements(cls.__module__) if isinstance(node, ast.ClassDef))
    bodies = (node.body for node in classes if node.name == cls.__name__)
    return {node.name for body in bodies for node in body if isinstance(node, ast.FunctionDef)}


@cache
def _statements(module: str) -> tuple[ast.stmt, ...]:
    return tuple(statements(inspect.getsource(sys.modules[module])))
