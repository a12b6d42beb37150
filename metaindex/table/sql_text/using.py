"""Converts `USING values (a, b) INCLUDE (c) OPTIONS (by = 'value')` to a kind, and back. A kind's options are its
constructor's parameters, so that a kind of another package works as those of metaindex do."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from metaindex.core import ArgumentError, DamagedIndexError, MetaIndexError, dataclass
from metaindex.expressions import ColumnRef, column_sql, parse_path, quoted, text_sql
from metaindex.index import KINDS, WITHOUT_NAME, FactKind, KeyKind, Kind, RowKind, asked, kind_named, others

from .tree import Value

Key = tuple[str, ...]
"""Columns that are one key, by their dotted names."""

_COLUMNS: Final = frozenset({"indexed", "included"})
_BY_WORD: Final[Mapping[str, type[Kind]]] = {
    word: kind for kind in reversed(KINDS) for word in (*kind.words, kind.name)
}


@dataclass(frozen=True, slots=True)
class Using:
    """The parts of one USING. `keys`: columns, each alone or several as one."""

    keys: tuple[Key, ...] = ()
    included: tuple[str, ...] = ()
    options: tuple[tuple[str, Value], ...] = ()


def column_name(parts: Sequence[str]) -> str:
    """Return a column's name as kinds write it."""
    return ColumnRef(tuple(parts)).name


def kind_of_word(word: str) -> type[Kind] | None:
    """The kind that a word behind USING names, or None."""
    small = word.lower()
    return _BY_WORD.get(small) or kind_named(small)


def known_words() -> list[str]:
    """Return one word for each kind, the plainest."""
    return [*((kind.words or (kind.name,))[0] for kind in KINDS), *others()]


def kind_without_word(*, columns: bool) -> type[Kind]:
    """Return the kind that a USING without a name means."""
    return WITHOUT_NAME[columns]


def needs_columns(kind: type[Kind]) -> bool:
    """Return whether the kind needs columns; else it is of all columns if none is named."""
    return not issubclass(kind, FactKind)


def options_of(kind: type[Kind]) -> dict[str, object]:
    """Return the kind's options with their defaults."""
    try:
        parameters = inspect.signature(kind).parameters.values()
    except (TypeError, ValueError):  # a stranger's constructor
        return {}
    named = [parameter for parameter in parameters if parameter.kind in (parameter.KEYWORD_ONLY, _EITHER)]
    return {parameter.name: parameter.default for parameter in named if parameter.name not in _COLUMNS}


_EITHER: Final = inspect.Parameter.POSITIONAL_OR_KEYWORD


def made(kind: type[Kind], using: Using) -> Kind:
    """Raises ArgumentError for what the kind cannot be."""
    usual = options_of(kind)
    options = {name: _as_usual(value, usual[name]) for name, value in using.options}
    if using.included and not issubclass(kind, RowKind):
        raise ArgumentError(
            f"INCLUDE is of kinds that keep rows a second time; {kind.name} does not; leave it out, or take a covering"
            " kind"
        )
    make = partial(_constructed, kind, using, options)
    try:
        return asked(kind.name, make)
    except DamagedIndexError as error:
        raise ArgumentError(str(error)) from error
    except MetaIndexError:
        raise
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"an index kind is made of columns and options; {kind.name}: {error}") from error


def _constructed(kind: type[Kind], using: Using, options: Mapping[str, object]) -> Kind:
    build: Any = kind
    if issubclass(kind, RowKind):
        if several := next((key for key in using.keys if len(key) > 1), None):
            raise ArgumentError(f"{kind.name} indexes its columns together; ({', '.join(several)}) needs no brackets")
        rows: Kind = build(
            indexed=[name for key in using.keys for name in key], included=list(using.included), **options
        )
        return rows
    keyed: Kind = build(*(key[0] if len(key) == 1 else key for key in using.keys), **options)
    return keyed


def _as_usual(value: Value, usual: object) -> object:
    """Convert a value to the type of the option's default: '0.01' becomes a number for a number."""
    if isinstance(usual, str) or not isinstance(value, str):
        return str(value) if isinstance(usual, str) and not isinstance(value, bool) else value
    small = value.strip().lower()
    if small in ("true", "false"):
        return small == "true"
    for number in (int, float):
        try:
            return number(small)
        except ValueError:
            continue
    return value


def using_text(kind: Kind, more: Iterable[tuple[str, Value]] = ()) -> str:
    """Write a kind as it stands behind USING. `more`: options that are not the kind's own."""
    keys, included, options = parts_of(kind)
    options |= dict(more)
    columns = ", ".join(_key_text(key) for key in keys)
    said = [kind.name]
    if columns:
        said.append(f"({columns})")
    if included:
        said.append(f"INCLUDE ({', '.join(map(_column_text, included))})")
    if options:
        said.append(f"OPTIONS ({', '.join(f'{quoted(key)} = {value_text(value)}' for key, value in options.items())})")
    return " ".join(said)


def parts_of(kind: Kind) -> tuple[Sequence[Key], Sequence[str], dict[str, Any]]:
    """Keys, included columns, and options other than what is meant without them."""
    options = {name: value for name, value in _properties(kind).items() if name in options_of(type(kind))}
    keys: Sequence[Key]
    included: Sequence[str] = ()
    match kind:
        case KeyKind():
            keys = kind.keys
        case RowKind():
            keys, included = [(name,) for name in kind.indexed], kind.included
        case FactKind():
            keys = [(str(name),) for name in _properties(kind).get("columns") or ()]
        case _:
            keys = ()
    for name in list(options):
        fewer = {other: value for other, value in options.items() if other != name}
        if _same(kind, Using(tuple(keys), tuple(included), tuple(fewer.items()))):
            options = fewer
    return keys, included, options


def _same(kind: Kind, using: Using) -> bool:
    try:
        return made(type(kind), using) == kind
    except MetaIndexError:
        return False


def _properties(kind: Kind) -> dict[str, Any]:
    return dict(kind.spec().properties)


def _key_text(key: Key) -> str:
    columns = ", ".join(map(_column_text, key))
    return f"({columns})" if len(key) > 1 else columns


def _column_text(name: str) -> str:
    return column_sql(parse_path(name))


def value_text(value: Value) -> str:
    """A value as it is written."""
    if isinstance(value, bool):
        return str(value).lower()
    return text_sql(value) if isinstance(value, str) else repr(value)
