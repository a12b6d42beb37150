"""The forms of all statements: their syntax for people and for the parser's errors, and the words that begin them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Final

from metaindex.core import dataclass

from .verbs import OPTIONS, VERBS

_INDEX: Final = "name ON table"


@dataclass(frozen=True, slots=True)
class Form:
    """A statement's first words, and how it is written. `options`: names behind OPTIONS, with what they take. `shared`:
    other statements of Spark or Delta may begin so, of a table that is called index; then ON has to follow the name."""

    words: tuple[str, ...]
    text: str
    options: Mapping[str, str] = field(default_factory=dict)
    shared: bool = False

    @property
    def beginning(self) -> str:
        """Return the syntax up to the first part that may follow the table."""
        return _PART.split(self.text, maxsplit=1)[0]


_PART: Final = re.compile(r" \[(?!IF |TABLE\]|HISTORY\]|FORMATTED\])")

_AT: Final = " [VERSION AS OF v | TIMESTAMP AS OF 't']"
_OPTIONS: Final = " [OPTIONS (key = value, ...)]"


def _taken(verb: str) -> Mapping[str, str]:
    return {name: OPTIONS[name].takes for name in VERBS[verb].options}


def _change(name: str, more: str = "", *, at: str = "", shared: bool = False) -> Form:
    """Return the form of a verb that changes an index."""
    verb = VERBS[name]
    modes = f" [{' | '.join(verb.modes).upper()}]" if verb.modes else ""
    options = _OPTIONS if verb.options else ""
    words = (name.upper(), "INDEX")
    return Form(words, f"{' '.join(words)} [IF EXISTS] {_INDEX}{at}{modes}{options}{more}", _taken(name), shared)


_FORMS: Final = (
    Form(
        ("CREATE", "INDEX"),
        f"CREATE INDEX [IF NOT EXISTS] name ON [TABLE] table{_AT} [USING kind]"
        f" [(columns)] [INCLUDE (columns)]{_OPTIONS} [USING kind ...]",
        _taken("create"),
    ),
    _change("refresh", " [WHERE condition]", at=_AT, shared=True),
    _change("optimize", shared=True),
    _change("drop"),
    _change("restore", shared=True),
    _change("vacuum", shared=True),
    _change("cancel"),
    _change("enable"),
    _change("disable"),
    _change("clean", " [RETAIN n HOURS]"),
    _change("erase"),
    _change("repair"),
    Form(("SHOW", "INDEXES"), f"SHOW INDEXES {{ON | FROM | IN}} [TABLE] table{_AT}"),
    Form(("DESCRIBE", "INDEX"), f"DESCRIBE INDEX [HISTORY] {_INDEX}", shared=True),
    Form(("VERIFY", "INDEX"), f"VERIFY INDEX {_INDEX}{_OPTIONS}", _taken("verify")),
    Form(("EXPLAIN", "INDEXES"), "EXPLAIN INDEXES [FORMATTED] query"),
    Form(
        ("EXPLAIN", "WHATIF"),
        f"EXPLAIN WHATIF query [WITH INDEX [ON table] USING kind (columns) ... [, INDEX ...]]{_OPTIONS}",
        _taken("whatif"),
    ),
    Form(
        ("RECOMMEND", "INDEXES"),
        f"RECOMMEND INDEXES ON table [, table ...] [FROM 'queries.sql']{_OPTIONS}",
        _taken("recommend"),
    ),
)
FORMS: Final[Mapping[tuple[str, ...], Form]] = MappingProxyType({form.words: form for form in _FORMS})
ALSO: Final[Mapping[tuple[str, ...], tuple[str, ...]]] = MappingProxyType(
    {
        ("SHOW", "INDEX"): ("SHOW", "INDEXES"),
        ("DESC", "INDEX"): ("DESCRIBE", "INDEX"),
        ("UNDROP", "INDEX"): ("RESTORE", "INDEX"),
        ("RECOMMEND", "INDEX"): ("RECOMMEND", "INDEXES"),
    }
)
"""Other words for the same."""
INSTEAD: Final[Mapping[tuple[str, ...], tuple[str, ...]]] = MappingProxyType(
    {
        ("DELETE", "INDEX"): ("DROP", "INDEX"),
        ("REMOVE", "INDEX"): ("DROP", "INDEX"),
        ("ALTER", "INDEX"): ("REFRESH", "INDEX"),
        ("REBUILD", "INDEX"): ("REFRESH", "INDEX"),
    }
)
"""What others say, and the statement that is named to them."""
CHANGES: Final = ("OPTIMIZE", "DROP", "RESTORE", "VACUUM", "CANCEL", "ENABLE", "DISABLE", "CLEAN", "ERASE", "REPAIR")
"""The verbs of `ChangeIndex`."""
