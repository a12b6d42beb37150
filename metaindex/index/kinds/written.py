"""Converts `USING values (a, b) INCLUDE (c) OPTIONS (by = 'value')` to a kind, and back. A kind's options are its
constructor's parameters, so that a kind of another package works as those of metaindex do."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from metaindex.core import ArgumentError, DamagedIndexError, MetaIndexError, dataclass
from metaindex.expressions import column_sql, parse_path, value_sql

from .covering.spec import RowKind
from .described import FactKind
from .kind import KeyKind, Kind

Options = tuple[tuple[str, object], ...]
"""In the order of the text, each name once; a value is a text, a number or a truth."""
Call = Callable[[str, Callable[[], Kind]], Kind]
"""Calls a kind of this name, which may be of another package."""
Key = tuple[str, ...]
"""Columns that are one key, by their dotted names."""

_COLUMNS: Final = frozenset({"indexed", "included"})


@dataclass(frozen=True, slots=True)
class Using:
    """The parts of one USING. `keys`: columns, each alone or several as one."""

    kind: type[Kind]
    keys: tuple[Key, ...] = ()
    included: tuple[str, ...] = ()
    options: Options = ()

    def made(self, call: Call) -> Kind:
        """Return the kind, made by a `call`. ArgumentError for what it cannot be."""
        usual = self.options_of(self.kind)
        options = {name: _as_usual(value, usual[name]) for name, value in self.options}
        name = self.kind.name
        if self.included and not issubclass(self.kind, RowKind):
            raise ArgumentError(
                f"INCLUDE is of kinds that keep rows a second time; {name} does not; leave it out, or take a covering"
                " kind"
            )
        try:
            return call(name, lambda: self._constructed(options))
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
    def options_of(kind: type[Kind]) -> dict[str, object]:
        """Return the kind's options with their defaults."""
        try:
            parameters = inspect.signature(kind).parameters.values()
        except (TypeError, ValueError):  # a stranger's constructor
            return {}
        named = [parameter for parameter in parameters if parameter.kind in (parameter.KEYWORD_ONLY, _EITHER)]
        return {parameter.name: parameter.default for parameter in named if parameter.name not in _COLUMNS}

    @classmethod
    def of(cls, kind: Kind, call: Call) -> Using:
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
            using = fewer if fewer._makes(kind, call) else using
        return using

    def _makes(self, kind: Kind, call: Call) -> bool:
        try:
            return self.made(call) == kind
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
            written = ", ".join(f"{column_sql((key,))} = {value_sql(value)}" for key, value in options.items())
            said.append(f"OPTIONS ({written})")
        return " ".join(said)


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
