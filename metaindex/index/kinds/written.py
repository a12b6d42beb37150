"""Converts `USING values (a, b) INCLUDE (c) OPTIONS (by = 'value')` to a kind, and back. A kind's options are its
constructor's parameters, so that a kind of another package works as those of metaindex do."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from metaindex.core import ArgumentError, DamagedIndexError, MetaIndexError, dataclass
from metaindex.expressions import column_sql, parse_path, quoted, text_sql

from .described import FactKind
from .kind import KeyKind, Kind
from .registry import KINDS, WITHOUT_NAME, asked, kind_named, others
from .served import RowKind

Value = str | int | float | bool
Options = tuple[tuple[str, Value], ...]
"""In the order of the text, each name once."""
Key = tuple[str, ...]
"""Columns that are one key, by their dotted names."""

_COLUMNS: Final = frozenset({"indexed", "included"})
_BY_WORD: Final[Mapping[str, type[Kind]]] = {
    word: kind for kind in reversed(KINDS) for word in (*kind.words, kind.name)
}


@dataclass(frozen=True, slots=True)
class Using:
    """The parts of one USING. `keys`: columns, each alone or several as one."""

    kind: type[Kind]
    keys: tuple[Key, ...] = ()
    included: tuple[str, ...] = ()
    options: Options = ()

    def made(self) -> Kind:
        """Return the kind. ArgumentError for what it cannot be."""
        usual = options_of(self.kind)
        options = {name: _as_usual(value, usual[name]) for name, value in self.options}
        name = self.kind.name
        if self.included and not issubclass(self.kind, RowKind):
            raise ArgumentError(
                f"INCLUDE is of kinds that keep rows a second time; {name} does not; leave it out, or take a covering"
                " kind"
            )
        try:
            return asked(name, lambda: self._constructed(options))
        except DamagedIndexError as error:
            raise ArgumentError(str(error)) from error
        except MetaIndexError:
            raise
        except (TypeError, ValueError) as error:
            raise ArgumentError(f"an index kind is made of columns and options; {name}: {error}") from error

    def _constructed(self, options: Mapping[str, object]) -> Kind:
        build: Any = self.kind
        if issubclass(self.kind, RowKind):
            if several := next((key for key in self.keys if len(key) > 1), None):
                raise ArgumentError(
                    f"{self.kind.name} indexes its columns together; ({', '.join(several)}) needs no brackets"
                )
            rows: Kind = build(
                indexed=[name for key in self.keys for name in key], included=list(self.included), **options
            )
            return rows
        keyed: Kind = build(*(key[0] if len(key) == 1 else key for key in self.keys), **options)
        return keyed


def kind_of_word(word: str, *, columns: bool = False) -> type[Kind] | None:
    """Return the kind that a word behind USING names, or None. "" is a USING without a name, of `columns` or of
    none."""
    if not word:
        return WITHOUT_NAME[columns]
    small = word.lower()
    return _BY_WORD.get(small) or kind_named(small)


def known_words() -> list[str]:
    """Return one word for each kind, the plainest."""
    return [*((kind.words or (kind.name,))[0] for kind in KINDS), *others()]


def options_of(kind: type[Kind]) -> dict[str, object]:
    """Return the kind's options with their defaults."""
    try:
        parameters = inspect.signature(kind).parameters.values()
    except (TypeError, ValueError):  # a stranger's constructor
        return {}
    named = [parameter for parameter in parameters if parameter.kind in (parameter.KEYWORD_ONLY, _EITHER)]
    return {parameter.name: parameter.default for parameter in named if parameter.name not in _COLUMNS}


_EITHER: Final = inspect.Parameter.POSITIONAL_OR_KEYWORD


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


def create_text(name: str, table: str, kinds: Sequence[Kind], options: Options = ()) -> str:
    """Write the statement that creates an index. `table`: as it is written. `options`: the statement's own, written
    behind the last kind's."""
    return f"CREATE INDEX {quoted(name)} ON {table} {kinds_text(kinds, options)}"


def kinds_text(kinds: Sequence[Kind], options: Options = ()) -> str:
    """Write each kind behind its USING."""
    return " ".join(f"USING {_using_text(kind, options if kind is kinds[-1] else ())}" for kind in kinds)


def with_text(options: Options) -> str:
    """Write the reader options of a table."""
    return f"WITH ({', '.join(f'{text_sql(key)} = {value_text(value)}' for key, value in options)})"


def _using_text(kind: Kind, more: Iterable[tuple[str, Value]] = ()) -> str:
    """Write a kind as it stands behind USING. `more`: options that are not the kind's own."""
    keys, included, options = _parts_of(kind)
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


def _parts_of(kind: Kind) -> tuple[Sequence[Key], Sequence[str], dict[str, Any]]:
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
        if _same(kind, Using(type(kind), tuple(keys), tuple(included), tuple(fewer.items()))):
            options = fewer
    return keys, included, options


def _same(kind: Kind, using: Using) -> bool:
    try:
        return using.made() == kind
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
