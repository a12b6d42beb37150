"""The arguments that commands share, and a parser whose errors are one line with the cure."""

from __future__ import annotations

import argparse
import datetime as dt
import difflib
import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from metaindex.core import ArgumentError, QueryLog
from metaindex.formats import NAMED
from metaindex.statements import VERBS

if TYPE_CHECKING:
    from metaindex.index import Kind

    from .output import Output

Run = Callable[["argparse.Namespace", "Output"], int]
Part = Callable[[Any], object]
"""Adds arguments to a parser, or to a group of one."""

DONE, FAILED, USAGE, WRONG, INTERRUPTED = 0, 1, 2, 3, 130

EXIT_CODES = """exit codes:
  0    done
  1    an error of metaindex, the table or the storage: one line on stderr says what and the cure
  2    the command line was not understood
  3    an index is not right: `verify` found something
  130  interrupted; nothing half-done is visible"""


class NotUnderstood(SystemExit):
    """The command line, said on stderr already; `message` is for `--json`."""

    def __init__(self, message: str) -> None:
        super().__init__(USAGE)
        self.message = message


class HelpText(argparse.RawDescriptionHelpFormatter):
    """The help of a command stands beside its name, however long: argparse forgets that commands stand further in."""

    def add_argument(self, action: argparse.Action) -> None:
        super().add_argument(action)
        if isinstance(action, argparse._SubParsersAction):
            self._action_max_length += self._indent_increment


class Parser(argparse.ArgumentParser):
    """A parser whose error is one line that says where to read on, not the usage of every option."""

    _apart = False  # options are taken out first, and words that have a place of their own then

    def parse_known_args(self, args=None, namespace=None):  # type: ignore[no-untyped-def]
        """Parse like the base class, but let options stand between a command's words, and let each command report what
        it does not know: it knows its own options."""
        parsed, more = super().parse_known_args(args, namespace)
        if self._apart:
            return parsed, more
        if more and self._subparsers is None:
            self._apart = True
            try:
                parsed, more = super().parse_known_intermixed_args(args, namespace)
            finally:
                self._apart = False
        if more:
            first = more[0]
            known = [name for name in self._option_string_actions if name.startswith("--")]
            hint = near(first.split("=")[0], known) if first.startswith("-") else "what holds blanks stands in quotes"
            self.error(f"unrecognized arguments: {' '.join(more)}" + (f"; {hint}" if hint else ""))
        return parsed, more

    def error(self, message: str) -> NoReturn:
        said = f"{message}; read {self.prog} --help"
        self._print_message(f"{self.prog}: error: {said}\n", sys.stderr)
        raise NotUnderstood(said)


def near(word: str, known: Iterable[str]) -> str:
    """Return "did you mean ...?", or nothing."""
    near_words = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f"did you mean {near_words[0]!r}?" if near_words else ""


@dataclass(frozen=True, slots=True)
class Command:
    """`line` stands in the list of commands, `about` (with the terms explained) and `examples` in the command's own
    help. `run` returns the exit code; what goes wrong it raises. `also`: names that it had, which are not listed."""

    name: str
    line: str
    about: str
    examples: tuple[str, ...]
    parts: tuple[Part, ...]
    run: Run
    also: tuple[str, ...] = ()


# -- how arguments are declared ----------------------------------------------------------------------------------------


def word(name: str, text: str, dest: str = "", **how: Any) -> Part:
    """A word that has a place: TABLE."""
    return lambda parser: parser.add_argument(dest or name.lower(), metavar=name, help=text, **how)


def option(names: str, metavar: str | None, text: str, **how: Any) -> Part:
    """An option; `names`: with blanks between them."""
    return lambda parser: parser.add_argument(*names.split(), metavar=metavar, help=text, **how)


def flag(name: str, text: str) -> Part:
    return lambda parser: parser.add_argument(name, action="store_true", help=text)


def many(name: str, metavar: str, text: str, **how: Any) -> Part:
    """An option that can be repeated."""
    return option(name, metavar, f"{text}; can be repeated", **{"action": "append", "default": [], **how})


def every(name: str, text: str, default: float | None = None) -> Part:
    """An option of seconds."""
    usual = "" if default is None else f"; default: {default:g}"
    return option(name, "SECONDS", f"{text}{usual}", type=seconds, default=default)


def value_of(verb: str, name: str) -> Callable[[str], object]:
    """Return what parses an option that statements have, too."""

    def parsed(text: str) -> object:
        try:
            return VERBS[verb].value(name, text)
        except ArgumentError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return parsed


def group(title: str, *parts: Part) -> Part:
    return lambda parser: all_of(*parts)(parser.add_argument_group(title))


def one_of(*parts: Part, required: bool = False) -> Part:
    """Options of which one is given."""
    return lambda parser: all_of(*parts)(parser.add_mutually_exclusive_group(required=required))


def all_of(*parts: Part) -> Part:
    return lambda parser: [part(parser) for part in parts]


# -- what a value is ---------------------------------------------------------------------------------------------------


def pair(text: str) -> tuple[str, str]:
    """`KEY=VALUE`."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise argparse.ArgumentTypeError(f"an option is KEY=VALUE; got {text!r}")
    return key.strip(), value


def names(text: str) -> list[str]:
    """Comma-separated column names."""
    listed = [name.strip() for name in text.split(",") if name.strip()]
    if not listed:
        raise argparse.ArgumentTypeError("columns are names separated by commas; got none")
    return listed


def seconds(text: str) -> float:
    """Parse a number of seconds above zero."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 < value < 1e9:
        raise argparse.ArgumentTypeError(f"a number of seconds above 0 is needed; got {text!r}")
    return value


def duration(text: str) -> dt.timedelta:
    """Parse a duration in one unit, such as 12h."""
    named = re.fullmatch(r"(\d{1,9})([smhd])", text)
    if not named:
        raise argparse.ArgumentTypeError(f"a time is a whole number and s, m, h or d, such as 12h; got {text!r}")
    return dt.timedelta(seconds=int(named[1]) * {"s": 1, "m": 60, "h": 3600, "d": 86400}[named[2]])


def at_least_one(text: str) -> int:
    if not (number := at_least_zero(text)):
        raise argparse.ArgumentTypeError(f"a whole number from 1 on is needed; got {text!r}")
    return number


def at_least_zero(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise argparse.ArgumentTypeError(f"a whole number from 0 on is needed; got {text!r}")
    return int(text)


def port(text: str) -> int:
    """Return the number of a port; 0 is a free one."""
    if (number := at_least_zero(text)) > 65_535:
        raise argparse.ArgumentTypeError(f"a port from 0 to 65535 is needed; got {text!r}")
    return number


# -- arguments of several commands -------------------------------------------------------------------------------------

STORAGE = many("--storage-option", "KEY=VALUE", "an option of the object store, such as region=eu-west-1", type=pair)
LOCATION = option("--index-location", "FOLDER", "folder that holds the indexes; beside each table where not given")
NAMESPACE = option("--namespace", "NAME", "indexes of a name space of their own, which others do not see")
CONFINE_TO = many("--confine-to", "FOLDER", "refuse files of the table outside of its folder that are not below FOLDER")
OPENING = group(
    "opening the table",
    many("--root", "PATH", "one more file, folder or pattern of the same table of plain files"),
    flag("--trust-index", "do not list plain files, as nothing has changed since an index was created or refreshed"),
    option("--format", None, "the table's format; detected where not given", choices=[*NAMED, "files"]),
    many("--option", "KEY=VALUE", "an option of the reader, such as header=true or delimiter=';'", type=pair),
    STORAGE,
    LOCATION,
    NAMESPACE,
    flag("--confine", "refuse files of the table that lie outside of its folder, links too"),
    CONFINE_TO,
    option(
        "--catalog", "NAME", "an Iceberg catalog that pyiceberg is configured for; TABLE is a name in it: db.flights"
    ),
)
_TABLE = (
    "path or URI of the table: a Delta, Iceberg or Hudi table, or a folder of Parquet, CSV or JSON files; plain files"
    " by a quoted pattern too: '/data/2024-*/part-*.parquet'"
)
TABLE = all_of(word("TABLE", _TABLE), OPENING)
TABLE_IF_ANY = all_of(word("TABLE", _TABLE, nargs="?"), OPENING)
INDEX = word("NAME", "the index, by the name it was created with")
CATALOG_OPTION = many("--catalog-option", "KEY=VALUE", "a property of the catalog, such as uri=...", type=pair)
PREDICATE = word("PREDICATE", "a SQL condition as behind WHERE, in one argument: \"dep_delay > 60 AND dest = 'SEA'\"")
ANY_PREDICATE = word("PREDICATE", "a SQL condition as behind WHERE; none: every row", nargs="?")
WHERE = many("--where", "PREDICATE", "a SQL condition as behind WHERE, in one argument: one for each query")
_WORKLOAD = (
    "a workload: SQL statements (.sql), a file or pipe of one a line, an event log of Spark, or a folder of them"
)
QUERIES = many("--queries", "FILE", _WORKLOAD)
AS = many(
    "--as", "NAME", "what TABLE is called in SQL, as db.flights; default: the last part of its path", dest="called"
)
SINCE = option("--since", "TIME", "only queries so recent: such as 12h, 7d; default: all", type=duration)
SAMPLE = option(
    "--sample",
    "SHARE",
    "the files that are read may have this share of the table's bytes; 0: none is read, and only what the log tells is"
    " known. Default: 0.01, of a table of up to 32 MB all; never more than 64 files of a larger one",
    type=value_of("whatif", "sample"),
)
_VERSION = (
    "a Delta version number, an Iceberg snapshot id, branch or tag, or a listing of plain files that an index remembers"
    " (`metaindex indexes TABLE NAME` lists those)"
)
VERSION = group(
    "which version of the table (time travel; default: as it is now)",
    one_of(
        option("--version", "V", _VERSION),
        option("--timestamp", "T", "the version that was current then: ISO 8601, UTC where it names no zone"),
    ),
)
INDEXES = group(
    "which indexes",
    one_of(
        many("--index", "NAME", "use only this index; default: all that can help", default=None),
        flag("--no-indexes", "use none: what the table's own log and partitions prove, to compare"),
    ),
)
AT = all_of(VERSION, INDEXES)
QUERY_LOG = option(
    "--query-log",
    None,
    "note this query beside the indexes, with the values in its condition kept, hashed (by the salt of"
    " METAINDEX_QUERY_LOG_SALT) or left out; default: as METAINDEX_QUERY_LOG says, else off",
    type=QueryLog.spelled,
    choices=["kept", "hashed", "left out", "off"],
)
_BUILDERS = ["spark", "local"]
BUILDER = option(
    "--builder",
    None,
    "who reads the files: spark (PySpark, for very large tables) or local (this process, no Java); default: local, but"
    " for covering indexes, which Spark builds",
    choices=_BUILDERS,
)
MERGING_BUILDER = option(
    "--builder",
    None,
    "who merges the rows of covering indexes: spark (tasks of PySpark) or local (threads of this process, no Java;"
    " default); what else an index has is merged without Spark",
    choices=_BUILDERS,
)
FILES_READ = option(
    "--files",
    "N",
    "read so many data files whole and compare what the index says of them, spread over the table; default: 20; all:"
    " every one; 0: none",
    type=value_of("verify", "files"),
    default=20,
)
EXACT = flag("--exact", "read the row groups that may hold it, leave out those that do not, and count the live rows")


def asked_at(args: argparse.Namespace) -> dict[str, Any]:
    """Return the version and the indexes that were asked for, as the methods of `Table` take them."""
    return {"version": args.version, "timestamp": args.timestamp, "indexes": args.index}


def kind_options(parser: argparse.ArgumentParser) -> None:
    """Add options of each kind, of installed packages too, in groups that say what the kind is for."""
    from metaindex.index import KINDS  # help of other commands need not wait for them

    for command in KINDS.commands():
        command.arguments(parser)


def kinds_of(args: argparse.Namespace, *, usual: bool = False) -> list[Kind]:
    """Return the kinds that options name. `usual`: if none does, the usual one. Raises ArgumentError for an option of a
    kind that is not among them."""
    from metaindex.index import KINDS

    asked = [(command, command.kinds(args, False)) for command in KINDS.commands()]
    alone = usual and not any(kinds for _, kinds in asked)
    return [kind for command, kinds in asked for kind in (kinds or (command.kinds(args, alone) if usual else []))]
