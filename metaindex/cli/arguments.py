"""The arguments that commands share, and a parser whose errors are one line with the cure."""

from __future__ import annotations

import argparse
import datetime as dt
import difflib
import re
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, NoReturn

from metaindex.formats import FILES, NAMED

if TYPE_CHECKING:
    from metaindex.core import Config

DONE, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130

EXIT_CODES = """exit codes:
  0    done
  1    an error of metaindex, the table or the storage: one line on stderr says what and the cure
  2    the command line was not understood
  3    an index is not right: `verify` found something
  130  interrupted; nothing half-done is visible"""


WORKLOAD = (
    "a workload: a file of SQL statements (.sql), a file or a pipe of one in each line, an event log of Spark, or a"
    " folder of them"
)


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


def table(parser: argparse.ArgumentParser, *, optional: bool = False) -> None:
    """TABLE and how to open it."""
    parser.add_argument(
        "table",
        metavar="TABLE",
        nargs="?" if optional else None,
        help=(
            "path or URI of the table: a Delta or Iceberg table, or a folder of Parquet, CSV or JSON files; plain files"
            " by a quoted pattern too: '/data/2024-*/part-*.parquet'"
        ),
    )
    opening(parser)


def opening(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how TABLE is opened."""
    group = parser.add_argument_group("opening the table")
    group.add_argument(
        "--root",
        action="append",
        default=[],
        metavar="PATH",
        help="one more file, folder or pattern of the same table of plain files; can be repeated",
    )
    group.add_argument(
        "--trust-index",
        action="store_true",
        help="of plain files: do not list the folder, as nothing has changed since an index was created or refreshed",
    )
    group.add_argument("--format", choices=[*NAMED, FILES], help="the table's format; detected where not given")
    group.add_argument(
        "--option",
        action="append",
        default=[],
        type=pair,
        metavar="KEY=VALUE",
        help="an option of the reader, such as header=true or delimiter=';'; can be repeated",
    )
    group.add_argument(
        "--storage-option",
        action="append",
        default=[],
        type=pair,
        metavar="KEY=VALUE",
        help="an option of the object store, such as region=eu-west-1 or endpoint=...; can be repeated",
    )
    group.add_argument(
        "--index-location",
        metavar="FOLDER",
        help="folder that holds the indexes; beside the table where not given",
    )
    group.add_argument(
        "--namespace",
        metavar="NAME",
        help="indexes of their own name space, of a team say; others do not see them. Default: the common ones",
    )
    group.add_argument(
        "--confine", action="store_true", help="refuse files of the table that lie outside of its folder, links too"
    )
    group.add_argument(
        "--confine-to",
        action="append",
        default=[],
        metavar="FOLDER",
        help="the same, but for files below FOLDER; can be repeated",
    )
    group.add_argument(
        "--catalog",
        metavar="NAME",
        help=(
            "an Iceberg catalog as pyiceberg is configured for it; TABLE is then the name in the catalog, such as"
            " db.flights"
        ),
    )


def lake(parser: argparse.ArgumentParser) -> None:
    """Add the lake's place and the options that say how its tables are opened."""
    parser.add_argument("place", metavar="ROOT|CATALOG", help="a folder or URI with tables below it, or catalog:NAME")
    lake_opening(parser)


def lake_opening(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how the tables of a lake are opened."""
    group = parser.add_argument_group("opening the lake")
    group.add_argument(
        "--catalog-option",
        action="append",
        default=[],
        type=pair,
        metavar="KEY=VALUE",
        help="a property of the catalog, such as type=rest or uri=...; can be repeated",
    )
    group.add_argument(
        "--storage-option",
        action="append",
        default=[],
        type=pair,
        metavar="KEY=VALUE",
        help="an option of the object store, such as region=eu-west-1 or endpoint=...; can be repeated",
    )
    group.add_argument(
        "--index-location", metavar="FOLDER", help="folder that holds the indexes; beside each table where not given"
    )
    group.add_argument(
        "--namespace", metavar="NAME", help="indexes of their own name space, of a team say. Default: the common ones"
    )
    group.add_argument(
        "--timeout",
        type=seconds,
        default=30.0,
        metavar="SECONDS",
        help="how long one table, or one namespace, may take to answer; default: 30",
    )
    group.add_argument(
        "--most-folders",
        type=at_least_one,
        default=100_000,
        metavar="N",
        help="tables are looked for in so many folders; default: 100000",
    )


def lake_config(args: argparse.Namespace) -> Config:
    """Return the configuration for the tables of a lake."""
    from metaindex.core import Config

    return Config(index_location=args.index_location, namespace=args.namespace)


def catalog_properties(args: argparse.Namespace) -> dict[str, str] | None:
    """Return the properties given by --catalog-option, or None."""
    return dict(args.catalog_option) or None


def index_name(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="the index, by the name it was created with")


def predicate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "predicate",
        metavar="PREDICATE",
        help="a SQL condition as behind WHERE, in one argument: \"dep_delay > 60 AND dest = 'SEA'\"",
    )


def version(parser: argparse.ArgumentParser) -> None:
    """Time travel."""
    group = parser.add_argument_group("which version of the table (time travel; default: as it is now)")
    which = group.add_mutually_exclusive_group()
    which.add_argument(
        "--version",
        metavar="V",
        help=(
            "a Delta version number, an Iceberg snapshot id, branch or tag, or a listing of plain files that an index"
            " remembers (`metaindex indexes TABLE NAME` lists those)"
        ),
    )
    which.add_argument(
        "--timestamp",
        metavar="T",
        help="the version that was current then: ISO 8601, UTC where it names no zone",
    )


def only_indexes(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("which indexes")
    which = group.add_mutually_exclusive_group()
    which.add_argument(
        "--index",
        action="append",
        metavar="NAME",
        help="use only this index; can be repeated; default: all that can help",
    )
    which.add_argument(
        "--no-indexes", action="store_true", help="use none: what the table's own log and partitions prove, to compare"
    )


def query_log(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--query-log",
        choices=["kept", "hashed", "left out", "off"],
        help=(
            "note this query beside the indexes, with the values in its condition kept, hashed (by the salt of"
            " METAINDEX_QUERY_LOG_SALT) or left out; default: as METAINDEX_QUERY_LOG says, else off"
        ),
    )


def builder(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--builder",
        choices=["spark", "local"],
        help=(
            "who reads the files: spark (PySpark, for very large tables) or local (this process, no Java); default:"
            " local, but for covering indexes, which Spark builds"
        ),
    )


def merging_builder(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--builder",
        choices=["spark", "local"],
        help=(
            "who merges the rows of covering indexes: spark (tasks of PySpark) or local (threads of this process, no"
            " Java; default); what else an index has is merged without Spark"
        ),
    )


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


def share(text: str) -> float:
    """Parse a share of the table's bytes, from 0 to 1."""
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number <= 1:
        raise argparse.ArgumentTypeError(f"a share is a number from 0 to 1, such as 0.01; got {text!r}")
    return number


def duration(text: str) -> dt.timedelta:
    """Parse a duration in one unit, such as 12h."""
    named = re.fullmatch(r"(\d{1,9})([smhd])", text)
    if not named:
        raise argparse.ArgumentTypeError(f"a time is a whole number and s, m, h or d, such as 12h; got {text!r}")
    return dt.timedelta(seconds=int(named[1]) * {"s": 1, "m": 60, "h": 3600, "d": 86400}[named[2]])


_UNITS = {"": 1, "B": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15}
_SIZE = re.compile(r"(\d{1,15}(?:\.\d{1,6})?)\s?([KMGTP]?)(I?)B?\Z", re.IGNORECASE)


def size(text: str) -> float:
    """Bytes: a number and a unit."""
    said = _SIZE.match(text.strip())
    if said is None:
        raise argparse.ArgumentTypeError(f"a size is a number and KB, MB, GB or TB, such as 100MB; got {text!r}")
    unit = _UNITS[said[2].upper()]
    binary = {10**3: 2**10, 10**6: 2**20, 10**9: 2**30, 10**12: 2**40, 10**15: 2**50}.get(unit, 1)
    return float(said[1]) * (binary if said[3] else unit)


def seconds(text: str) -> float:
    """Parse a number of seconds above zero."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 < value < 1e9:
        raise argparse.ArgumentTypeError(f"a number of seconds above 0 is needed; got {text!r}")
    return value


def at_least_one(text: str) -> int:
    number = at_least_zero(text)
    if not number:
        raise argparse.ArgumentTypeError(f"a whole number from 1 on is needed; got {text!r}")
    return number


def at_least_zero(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise argparse.ArgumentTypeError(f"a whole number from 0 on is needed; got {text!r}")
    return int(text)
