"""The verbs that change an index, and the options of verbs: their names, arguments and defaults, once for statements
and the command line. And the forms of all statements: their syntax for people and for the parser's
errors, and the words that begin them. Loads nothing but `core`, so that help is quick."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Any, Final

from metaindex.core import ArgumentError, dataclass

_SIZE: Final = re.compile(r"(\d{1,15}(?:\.\d{1,6})?)\s?([KMGTP]?)(I?)B?\Z", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class VerbOption:
    """`takes`: in words. `parse`: raises ValueError or KeyError. `rule`: what a value is, where `takes` is about its
    use."""

    takes: str
    parse: Callable[[Any], object]
    rule: str = ""

    def value(self, given: object) -> object:
        """Return the value of what was given. Raises ArgumentError for what is none, without the option's name."""
        try:
            return self.parse(given)
        except (ValueError, KeyError, OverflowError):
            raise ArgumentError(f"{self.rule or self.takes}; got {given!r}") from None


def _one_of(*words: str) -> Callable[[Any], object]:
    return lambda value: words[words.index(value)]


def _flag(value: Any) -> bool:
    return {"true": True, "false": False}[str(value).lower()]


def _files(value: Any) -> int | None:
    if value == "all":
        return None
    number = float("nan" if isinstance(value, bool) else value)
    if number != int(number) or number < 0:
        raise ValueError
    return int(number)


def _share(value: Any) -> float:
    if not 0 <= (number := float(value)) <= 1:
        raise ValueError
    return number


def _size(value: Any) -> float:
    """Parse bytes: a number, or a text with a unit. Raises ValueError for another value."""
    sized = _SIZE.match(str(value).strip())
    if sized is None or isinstance(value, bool):
        raise ValueError
    power = "KMGTP".find(sized[2].upper()) + 1 if sized[2] else 0
    return float(sized[1]) * float((1024 if sized[3] else 1000) ** power)


OPTIONS: Final[Mapping[str, VerbOption]] = MappingProxyType(
    {
        "builder": VerbOption("local or spark", _one_of("local", "spark")),
        "history": VerbOption("true or false", _flag),
        "under": VerbOption("a folder of the table", str),
        "files": VerbOption("how many data files are read, or all", _files, "a whole number, or all"),
        "versions": VerbOption("newest or all", _one_of("newest", "all")),
        "sample": VerbOption("a share of the table's bytes, as 0.01", _share, "a number from 0 to 1, such as 0.01"),
        "budget": VerbOption("bytes of all indexes together, as '100MB'", _size, "a size, such as '100MB'"),
        "budget_cpu": VerbOption("seconds to build them", float, "a number"),
        "days": VerbOption("the time that the queries are of", float, "a number"),
        "copies": VerbOption("true or false: covering indexes, too", _flag, "true or false"),
    }
)


@dataclass(frozen=True, slots=True)
class Verb:
    """`method`: of `Table`. `line`: what it does. `options`: names of `OPTIONS`. `modes`: the first is the default."""

    name: str
    method: str
    line: str
    options: tuple[str, ...] = ()
    modes: tuple[str, ...] = ()

    def value(self, name: str, given: object) -> object:
        """Return the value of an option. Raises ArgumentError for what is none, without the option's name."""
        return OPTIONS[self.options[self.options.index(name)]].value(given)

    def arguments(self, given: Iterable[tuple[str, object]]) -> dict[str, Any]:
        """Return options as the method takes them. Raises ArgumentError for a value that is none of an option's."""
        said: dict[str, object] = {}
        for name, value in given:
            try:
                said[name] = self.value(name, value)
            except ArgumentError as error:
                raise ArgumentError(f"the option {name} is {error}") from None
        return said


VERBS: Final[Mapping[str, Verb]] = MappingProxyType(
    {
        verb.name: verb
        for verb in (
            Verb("create", "create_index", "build an index on a table", ("builder", "history")),
            Verb(
                "refresh",
                "refresh_index",
                "bring an index to the table as it is now",
                ("builder", "under"),
                ("incremental", "quick", "full", "identity"),
            ),
            Verb(
                "optimize",
                "optimize_index",
                "merge the runs of an index, so that queries read less of it",
                ("builder",),
                ("quick", "full"),
            ),
            Verb("drop", "drop_index", "stop using an index; can be restored"),
            Verb("restore", "restore_index", "bring a dropped index back"),
            Verb("vacuum", "vacuum_index", "remove the files of a dropped index for good"),
            Verb("cancel", "cancel_index", "end an operation whose writer is dead"),
            Verb("enable", "enable_index", "let queries use a disabled index again"),
            Verb("disable", "disable_index", "take an index out of use for a while"),
            Verb("clean", "clean_index", "remove what an index does not need any more"),
            Verb("erase", "erase_index", "remove every value that no retained version holds", ("builder",)),
            Verb("repair", "repair_index", "rebuild what verify finds wrong with an index", ("builder", "files")),
            Verb(
                "verify",
                "verify_index",
                "prove an index right, or say precisely what is wrong with it",
                ("files", "versions"),
            ),
            Verb(
                "whatif",
                "what_if",
                "what would queries read with an index that there is not, and what would it cost?",
                ("sample",),
            ),
            Verb(
                "recommend",
                "recommend",
                "which indexes should there be for these queries?",
                ("sample", "budget", "budget_cpu", "days", "copies"),
            ),
        )
    }
)


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
