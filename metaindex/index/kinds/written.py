"""Converts `USING values (a, b) INCLUDE (c) OPTIONS (by = 'value')` to a kind, and back. A kind's options are its
constructor's parameters, so that a kind of another package works as those of metaindex do."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from metaindex.core import ArgumentError, DamagedIndexError, MetaIndexError, dataclass
from metaindex.expressions import column_sql, parse_path, text_sql

from .described import FactKind
from .kind import KeyKind, Kind
from .registry import KINDS, WITHOUT_NAME, RowKind

Options = tuple[tuple[str, object], ...]
"""In the order of the text, each name once; a value is a text, a number or a truth."""
Key = tuple[str, ...]
"""Columns that are one key, by their dotted names."""

_COLUMNS: Final = frozenset({"indexed", "included"})
_BY_WORD: Final[Mapping[str, type[Kind]]] = {
    word: kind for kind in reversed([*KINDS]) for word in (*kind.words, kind.name)
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
        usual = self.options_of(self.kind)
        options = {name: _as_usual(value, usual[name]) for name, value in self.options}
        name = self.kind.name
        if self.included and not issubclass(self.kind, RowKind):
            raise ArgumentError(
                f"INCLUDE is of kinds that keep rows a second time; {name} does not; leave it out, or take a covering"
                " kind"
            )
        try:
            return KINDS.call(name, lambda: self._constructed(options))
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

    @staticmethod
    def kind_of(word: str, *, columns: bool = False) -> type[Kind] | None:
        """Return the kind that a word behind USING names, or None. "" is a USING without a name, of `columns` or of
        none."""
        if not word:
            return WITHOUT_NAME[columns]
        small = word.lower()
        return _BY_WORD.get(small) or KINDS.named(small)

    @staticmethod
    def words() -> list[str]:
        """Return one word for each kind, the plainest."""
        return [*((kind.words or (kind.name,))[0] for kind in KINDS), *KINDS.others()]

    @staticmethod
    def options_of(kind: type[Kind]) -> dict[str, object]:
        """Return the kind's options with their defaults."""
        try:
            parameters = inspect.signature(kind).parameters.values()
        except (TypeError, ValueError):  # a stranger's constructor
            return {}
        named = [parameter for parameter in parameters if parameter.kind in (parameter.KEYWORD_ONLY, _EITHER)]
        return {parameter.name: parameter.default for parameter in named if parameter.name not in _COLUMNS}

    @classmethod
    def of(cls, kind: Kind) -> Using:
        """Return the parts of a kind, without options that say what is meant without them."""
        properties: dict[str, Any] = dict(kind.spec().properties)
        using = cls(type(kind), options=tuple((n, v) for n, v in properties.items() if n in cls.options_of(type(kind))))
        match kind:
            case KeyKind():
                using = replace(using, keys=kind.keys)
            case RowKind():
                using = replace(using, keys=tuple((name,) for name in kind.indexed), included=tuple(kind.included))
            case FactKind():
                using = replace(using, keys=tuple((str(name),) for name in properties.get("columns") or ()))
        for name, _ in using.options:
            fewer = replace(using, options=tuple(option for option in using.options if option[0] != name))
            using = fewer if fewer._makes(kind) else using
        return using

    def _makes(self, kind: Kind) -> bool:
        try:
            return self.made() == kind
        except MetaIndexError:
            return False

    def text(self, more: Options = ()) -> str:
        """Write it as it stands in a statement. `more`: options that are not the kind's own."""
        columns = ", ".join(_key_text(key) for key in self.keys)
        said = ["USING", self.kind.name]
        if columns:
            said.append(f"({columns})")
        if self.included:
            said.append(f"INCLUDE ({', '.join(map(_column_text, self.included))})")
        if options := {**dict(self.options), **dict(more)}:
            written = ", ".join(f"{column_sql((key,))} = {self.value_text(value)}" for key, value in options.items())
            said.append(f"OPTIONS ({written})")
        return " ".join(said)

    @staticmethod
    def value_text(value: object) -> str:
        """Write a value."""
        if isinstance(value, bool):
            return str(value).lower()
        return text_sql(value) if isinstance(value, str) else repr(value)

    @classmethod
    def table_text(cls, name: str, options: Options) -> str:
        """Write a table, as it is named, with its reader options."""
        said = ", ".join(f"{text_sql(key)} = {cls.value_text(value)}" for key, value in options)
        return f"{name} WITH ({said})" if options else name

    @classmethod
    def kinds_text(cls, kinds: Sequence[Kind], options: Options = ()) -> str:
        """Write each kind behind its USING. `options`: the statement's own, written behind the last kind's."""
        return " ".join(cls.of(kind).text(options if kind is kinds[-1] else ()) for kind in kinds)

    @classmethod
    def create_text(cls, name: str, table: str, kinds: Sequence[Kind]) -> str:
        """Write the statement that creates an index. `table`: as it is written."""
        return f"CREATE INDEX {column_sql((name,))} ON {table} {cls.kinds_text(kinds)}"


_EITHER: Final = inspect.Parameter.POSITIONAL_OR_KEYWORD


def _as_usual(value: object, usual: object) -> object:
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


def _key_text(key: Key) -> str:
    columns = ", ".join(map(_column_text, key))
    return f"({columns})" if len(key) > 1 else columns


def _column_text(name: str) -> str:
    return column_sql(parse_path(name))
