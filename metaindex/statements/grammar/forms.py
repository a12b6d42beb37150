"""The forms of all statements: their syntax for people and for the parser's errors, and the words that begin them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Final

from metaindex.core import dataclass

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

_BUILDER: Final = {"builder": "local or spark"}
_WHATIF: Final = {"sample": "a share of the table's bytes, as 0.01"}
_FORMS: Final = (
    Form(
        ("CREATE", "INDEX"),
        "CREATE INDEX [IF NOT EXISTS] name ON [TABLE] table [VERSION AS OF v | TIMESTAMP AS OF 't'] [USING kind]"
        " [(columns)] [INCLUDE (columns)] [OPTIONS (key = value, ...)] [USING kind ...]",
        {**_BUILDER, "history": "true or false"},
    ),
    Form(
        ("REFRESH", "INDEX"),
        f"REFRESH INDEX [IF EXISTS] {_INDEX} [VERSION AS OF v | TIMESTAMP AS OF 't'] [INCREMENTAL | QUICK | FULL]"
        " [OPTIONS (key = value, ...)] [WHERE condition]",
        {**_BUILDER, "under": "a folder of the table"},
        shared=True,
    ),
    Form(
        ("OPTIMIZE", "INDEX"),
        f"OPTIMIZE INDEX [IF EXISTS] {_INDEX} [QUICK | FULL] [OPTIONS (key = value, ...)]",
        _BUILDER,
        shared=True,
    ),
    Form(("DROP", "INDEX"), f"DROP INDEX [IF EXISTS] {_INDEX}"),
    Form(("RESTORE", "INDEX"), f"RESTORE INDEX [IF EXISTS] {_INDEX}", shared=True),
    Form(("VACUUM", "INDEX"), f"VACUUM INDEX [IF EXISTS] {_INDEX}", shared=True),
    Form(("CANCEL", "INDEX"), f"CANCEL INDEX [IF EXISTS] {_INDEX}"),
    Form(("ENABLE", "INDEX"), f"ENABLE INDEX [IF EXISTS] {_INDEX}"),
    Form(("DISABLE", "INDEX"), f"DISABLE INDEX [IF EXISTS] {_INDEX}"),
    Form(("CLEAN", "INDEX"), f"CLEAN INDEX [IF EXISTS] {_INDEX} [RETAIN n HOURS]"),
    Form(
        ("ERASE", "INDEX"),
        f"ERASE INDEX [IF EXISTS] {_INDEX} [OPTIONS (key = value, ...)]",
        _BUILDER,
    ),
    Form(
        ("REPAIR", "INDEX"),
        f"REPAIR INDEX [IF EXISTS] {_INDEX} [OPTIONS (key = value, ...)]",
        {**_BUILDER, "files": "how many data files are read, or all"},
    ),
    Form(("SHOW", "INDEXES"), "SHOW INDEXES {ON | FROM | IN} [TABLE] table [VERSION AS OF v | TIMESTAMP AS OF 't']"),
    Form(("DESCRIBE", "INDEX"), f"DESCRIBE INDEX [HISTORY] {_INDEX}", shared=True),
    Form(
        ("VERIFY", "INDEX"),
        f"VERIFY INDEX {_INDEX} [OPTIONS (key = value, ...)]",
        {"files": "how many data files are read, or all", "versions": "newest or all"},
    ),
    Form(("EXPLAIN", "INDEXES"), "EXPLAIN INDEXES [FORMATTED] query"),
    Form(
        ("EXPLAIN", "WHATIF"),
        "EXPLAIN WHATIF query [WITH INDEX [ON table] USING kind (columns) ... [, INDEX ...]]"
        " [OPTIONS (key = value, ...)]",
        _WHATIF,
    ),
    Form(
        ("RECOMMEND", "INDEXES"),
        "RECOMMEND INDEXES ON table [, table ...] [FROM 'queries.sql'] [OPTIONS (key = value, ...)]",
        {
            **_WHATIF,
            "budget": "bytes of all indexes together, as '100MB'",
            "budget_cpu": "seconds to build them",
            "days": "the time that the queries are of",
            "copies": "true or false: covering indexes, too",
        },
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
VERBS: Final = ("OPTIMIZE", "DROP", "RESTORE", "VACUUM", "CANCEL", "ENABLE", "DISABLE", "CLEAN", "ERASE", "REPAIR")
"""Of `ChangeIndex`."""
