"""Cures: what a message tells its reader to do. A cure is a value, which whoever asks hears in their own words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from .expression_errors import MetaIndexError

T = TypeVar("T")


class Words:
    """The words of Python. The command line and statements have their own. A cure is a method, or one of `TEXTS`:
    `drop` removes an index, `mend` repairs one, `anew` makes room for one built anew by its name, `naming` tells which
    table a name of queries means, `all` and `unchecked` are where more is than is shown, `queries` names those of a
    workload."""

    TEXTS: ClassVar[Mapping[str, str]] = {
        "spark": "read with .to_spark(spark)",
        "indexes": "list them with indexes()",
        "versions": "versions() lists them",
        "version": "versions() gives it",
        "drop": "drop_index",
        "restore": "restore_index({0!r})",
        "repair": "repair_index({0!r})",
        "mend": "repair the index with repair_index()",
        "vacuum": "vacuum_index({0!r})",
        "vacuum_it": "vacuum it",
        "anew": "drop it and vacuum it",
        "same_name": "(by the same name: drop this one and vacuum it before)",
        "naming": "tables= names a table by its path",
        "all": "to_json() has all",
        "unchecked": "`unchecked`",
        "create": "create() of this answer",
        "queries": "name queries",
        "catalog_uri": "catalog={{'uri': ...}}",
        "catalog_options": "catalog=",
    }

    @staticmethod
    def asked() -> Words:
        """Return the words of whoever asks."""
        return _ASKING.get()

    @staticmethod
    def kept(run: Callable[..., T]) -> Callable[..., T]:
        """Return a function that says cures, in any thread, in the words of now."""
        words = _ASKING.get()

        def kept(*arguments: Any) -> T:
            with words.spoken():
                return run(*arguments)

        return kept

    @staticmethod
    def about(index: str) -> AbstractContextManager[None]:
        """Say cures, inside, of this index."""
        return _ASKING.get().of(index).spoken()

    @contextmanager
    def spoken(self) -> Iterator[None]:
        """Say cures, inside, in these words; an error keeps them when it leaves."""
        before = _ASKING.set(self)
        try:
            yield
        except MetaIndexError as error:
            error.args = tuple(map(str, error.args))
            raise
        finally:
            _ASKING.reset(before)

    def say(self, what: str, *arguments: object) -> str:
        """Return a cure in these words."""
        method = getattr(self, what, None)
        said: str = self.text(what).format(*arguments) if method is None else method(*arguments)
        return said

    def text(self, what: str) -> str:
        return self.TEXTS[what]

    def of(self, index: str) -> Words:
        """Return the words of cures for this index."""
        return self

    def argument(self, name: str, value: object = ...) -> str:
        """An argument of a method, with its value or without one."""
        return f"{name}=" + ("" if value is ... else repr(value))

    def option(self, name: str) -> str:
        """An argument with which a table is opened, by its name alone."""
        return repr(name)

    def reader(self, name: str, value: object = ...) -> str:
        """An option with which files are read."""
        return Words.argument(self, name, value)

    def also(self, name: str, value: object = ...) -> str:
        """An option with which files are read, beside the one that is the cure."""
        return self.reader(name, value)

    def readers(self, *options: tuple[str, object]) -> str:
        return ", ".join(self.reader(name, value) for name, value in options)

    def columns(self, schema: object = ...) -> str:
        return f"name the columns with {self.reader('schema', schema)}"

    def full(self, what: str = "the index") -> str:
        return f"refresh {what} with {self.argument('mode', 'full')}"

    def identity(self, what: str = "the index") -> str:
        return f"refresh {what} with {self.argument('mode', 'identity')}"

    def setting(self, text: str, variable: str = "") -> str:
        """A setting, and the variable that says it, too."""
        return " or ".join(filter(None, (text, variable)))

    def another_place(self) -> str:
        return f"choose another place with {self.setting('Config(index_location=...)')}"

    def kind(self, kind: str, *columns: str) -> str:
        return f"mi.{kind}({', '.join(map(repr, columns))})"

    def create_index(self, name: str, kind: str) -> str:
        return f"create_index({name!r}, {self.kind(kind)})"


_ASKING: ContextVar[Words] = ContextVar("words", default=Words())  # noqa: B039 - they have no state


@dataclass(frozen=True, init=False)
class Cure:
    """A cure: what `Words` say, and its arguments. It stands in a message, or behind it as one more argument of the
    error."""

    what: str
    arguments: tuple[object, ...]

    def __init__(self, what: str, *arguments: object) -> None:
        object.__setattr__(self, "what", what)
        object.__setattr__(self, "arguments", arguments)

    def __str__(self) -> str:
        return _ASKING.get().say(self.what, *self.arguments)

    @staticmethod
    def of_columns(names: Sequence[str]) -> str:
        """The cure where the columns of text files are not read as they are meant: all as one, or without their
        header."""
        mark = next((mark for mark in ";|\t" if len(names) == 1 and mark in names[0]), None)
        if mark is not None:
            return f"; where {mark!r} stands between columns, open the table with {Cure('reader', 'delimiter', mark)}"
        if names and all(re.fullmatch(r"_c\d+", name) for name in names):
            return f"; where the first line names the columns, open the table with {Cure('reader', 'header', True)}"
        return ""
