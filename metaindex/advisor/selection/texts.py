"""An index that is recommended, as a line of Python that creates it, and a name that no other index has."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from metaindex.core import MetaIndexError
from metaindex.expressions import column_sql, parse_path, quoted, text_python
from metaindex.index import KINDS, FactKind, KeyKind, Kind, RowKind

_NO_NAME: Final = re.compile(r"[^a-z0-9]+")
_LONGEST: Final = 48


def name_of(kinds: Sequence[Kind], taken: Collection[str]) -> str:
    """Name an index by its kinds and columns: `values_tailnum`; a number follows if it is taken. Names that differ in
    capitals alone are one on some disks."""
    words = "_".join([*dict.fromkeys(kind.name for kind in kinds), *_columns(kinds)])
    name = _NO_NAME.sub("_", words.lower())[:_LONGEST].strip("_") or "recommended"
    others = {other.lower() for other in taken}
    number = 1
    while (free := name if number == 1 else f"{name}_{number}") in others:
        number += 1
    return free


def _columns(kinds: Sequence[Kind]) -> list[str]:
    names: dict[str, None] = {}
    for kind in kinds:
        match kind:
            case KeyKind():
                names |= {name: None for key in kind.keys for name in key}
            case RowKind():
                names |= dict.fromkeys(kind.indexed)
            case _:
                names |= dict.fromkeys(_names(_properties(kind).get("columns")))
    return list(names)


def title_of(kinds: Sequence[Kind]) -> str:
    return " + ".join(kind.title for kind in kinds)


def create_python(name: str, kinds: Sequence[Kind]) -> str:
    """A line that creates the index; `table` is the table."""
    return f"table.create_index({', '.join([text_python(name), *map(kind_python, kinds)])})"


def kind_python(kind: Kind) -> str:
    """Write a kind in Python: `mi.Values("tailnum")`; a kind of another package by its class."""
    positional, named = _arguments(kind)
    called = f"mi.{type(kind).__name__}" if type(kind) in KINDS else type(kind).__name__
    words = [*map(_python, positional), *(f"{name}={_python(value)}" for name, value in named.items())]
    return f"{called}({', '.join(words)})"


def _arguments(kind: Kind) -> tuple[list[object], dict[str, object]]:
    """Return a kind's arguments: keys, and columns of statistics, are positional; defaults are left out."""
    named = _properties(kind)
    positional: list[object] = []
    if isinstance(kind, KeyKind):
        del named["keys"]
        positional = [key[0] if len(key) == 1 else key for key in kind.keys]
    elif isinstance(kind, FactKind):
        positional = [*_names(named.pop("columns", []))]
    for name in list(named):
        fewer = {other: value for other, value in named.items() if other != name}
        if _made(kind, positional, fewer) == kind:
            named = fewer
    return positional, named


def _made(kind: Kind, positional: Sequence[object], named: Mapping[str, object]) -> Kind | None:
    try:
        return type(kind)(*positional, **named)
    except (TypeError, ValueError, MetaIndexError):
        return None


def _properties(kind: Kind) -> dict[str, object]:
    return dict(kind.spec().properties)


def _names(value: object) -> Sequence[str]:
    return [name for name in value if isinstance(name, str)] if isinstance(value, list | tuple) else ()


def _python(value: object) -> str:
    match value:
        case str():
            return text_python(value)
        case tuple():
            return f"({', '.join(map(_python, value))},)" if len(value) == 1 else f"({', '.join(map(_python, value))})"
        case list():
            return f"[{', '.join(map(_python, value))}]"
        case _:
            return repr(value)


def table_sql(format_: str, path: str, name: str) -> str:
    """Write a table in Spark's SQL: by its name in a catalog, else by its path."""
    return column_sql(parse_path(name)) if name else f"{format_}.{quoted(path)}"
