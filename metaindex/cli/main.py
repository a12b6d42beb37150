"""`metaindex VERB ...`: finds the command, runs it, and turns what goes wrong into one line and an exit code."""

from __future__ import annotations

import argparse
import logging
import os
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import ClassVar

from metaindex.core import FormatError, MetaIndexError, Words, one_line
from metaindex.table import hint

from . import advice, agents, lake, machine, queries, serving, sql, tables, verbs, watch
from . import arguments as arg
from .defaults import applied
from .opening import each_warning_once
from .output import Output

COMMANDS: tuple[arg.Command, ...] = (
    verbs.CREATE,
    verbs.REFRESH,
    verbs.OPTIMIZE,
    tables.INDEXES,
    tables.HISTORY,
    verbs.VERIFY,
    verbs.REPAIR,
    watch.COMMAND,
    queries.PRUNE,
    queries.SCAN,
    queries.COUNT,
    queries.LOCATE,
    queries.SEARCH,
    queries.EXPLAIN,
    advice.CLUSTERING,
    advice.WHATIF,
    advice.RECOMMEND,
    tables.QUERIES,
    tables.SAVINGS,
    advice.REPORT,
    lake.COMMAND,
    serving.COMMAND,
    agents.COMMAND,
    queries.DIFF,
    verbs.DISABLE,
    verbs.ENABLE,
    verbs.DROP,
    verbs.RESTORE,
    verbs.CANCEL,
    verbs.VACUUM,
    verbs.CLEAN,
    sql.COMMAND,
    machine.DOCTOR,
    machine.COMPLETION,
    machine.DEMO,
)

_MEANT = {
    "drop": "remove rm delete-index",
    "restore": "undelete undrop",
    "indexes": "list ls show describe info status",
    "create": "add build",
    "refresh": "update",
    "refresh --mode full": "reindex rebuild",
    "scan": "query select read",
    "scan --limit": "head",
    "count --sum": "aggregate sum",
    "count --min": "min",
    "count --max": "max",
    "count --count-distinct": "distinct",
    "count --by": "group",
    "history": "log",
    "clean --erase": "erase",
    "vacuum": "purge",
    "optimize": "compact",
    "verify": "check",
    "locate": "find",
    "whatif": "what-if estimate",
}
"""What other programs call our commands."""
_OUTPUT = arg.group(
    "output",
    arg.flag("--json", "one JSON value on stdout, for machines; an error too"),
    arg.flag("--debug", "show the traceback of an error"),
)

_ABOUT = """One index over Delta, Iceberg, Hudi, Parquet, CSV and JSON tables: read only the files that can match.

An index is built beside the table and changes nothing in it. A query asks which files can hold matching rows; what no
index can prove is read, so an index that is old, damaged or missing makes an answer slower and never wrong."""

_START = """a first round:
  metaindex create  lake/flights stats                  build an index named stats over all columns
  metaindex prune   lake/flights "dep_delay > 1000"     which files can hold such rows?
  metaindex scan    lake/flights "dep_delay > 1000"     the rows themselves
  metaindex refresh lake/flights stats                  after the table changed

words:
  kept, dropped   files to read; files proved to hold no matching row
  run             an immutable sorted set of index rows, written by one create or refresh
  version         of the table: Delta number, Iceberg snapshot id, listing of a plain folder
  fresh           the index has recorded the table's version as it is now

options that are said once, of all tables or of one:
  ~/.config/metaindex/config.toml, or the file that METAINDEX_CONFIG names; docs/guides/fresh.md shows one"""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command; returns its exit code (see `EXIT_CODES`). Never raises but for a bug with --debug."""
    words = _help_asked(list(sys.argv[1:] if argv is None else argv))
    _open_streams()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a name may not fit the terminal's encoding
    name = words[0] if words else ""
    parser = _parser(name, whole=name == machine.COMPLETION.name)
    try:
        if not words or words == ["help"]:
            parser.print_help()
            return arg.DONE
        _check_command(parser, words)
        args = parser.parse_args(words)
    except SystemExit as stop:  # argparse has said what it had to say
        if isinstance(stop, arg.NotUnderstood) and "--json" in words:
            _told(Output(json=True), "UsageError", stop.message)
        return stop.code if isinstance(stop.code, int) else arg.FAILED
    out = Output(json=args.json)
    try:
        watches = args.command is watch.COMMAND or getattr(args, "watch", False)
        words_of_cures = CommandWords(words).spoken()
        with words_of_cures, _log_to_stderr(), nullcontext() if watches else each_warning_once():
            return _run(parser, words, args, out)
    except BrokenPipeError:
        # The reader of our output has what it wanted. Python would complain once more when it closes stdout.
        _forget_stdout()
        return arg.DONE
    except KeyboardInterrupt:
        out.say("metaindex: interrupted; nothing half-done is visible")
        return arg.INTERRUPTED


def _run(parser: arg.Parser, words: Sequence[str], args: argparse.Namespace, out: Output) -> int:
    command: arg.Command = args.command
    try:
        return command.run(applied(parser, words, args), out)
    except BrokenPipeError:
        raise
    except arg.NotUnderstood as stop:
        out.say(f"metaindex {command.name}: error: {stop.message}")
        _told(out, "UsageError", stop.message)
        return arg.USAGE
    except MetaIndexError as error:
        more = hint(getattr(args, "table", None)) if isinstance(error, FormatError) else ""
        message = "; ".join(filter(None, (str(error), more)))
        failure: Exception = error
    except (OSError, ValueError) as error:
        message = str(error)
        failure = error
    except Exception as error:  # noqa: BLE001 - the last stop: a bug is told in a line too, and in full with --debug
        message = f"{type(error).__name__}: {error}; this is a bug in metaindex; --debug shows where"
        failure = error
    if args.debug:
        import traceback

        out.say("".join(traceback.format_exception(failure)).rstrip())
    out.say(f"metaindex {command.name}: error: {one_line(' '.join(message.split()))}")
    _told(out, type(failure).__name__, message)
    return arg.FAILED


def _told(out: Output, kind: str, message: str) -> None:
    """Write an error for machines. If that fails, as the disk is full or nobody reads, the exit code remains."""
    try:
        out.data({"error": {"type": kind, "message": message}})
    except OSError:
        _forget_stdout()


def _open_streams() -> None:
    """A stream that was closed (`>&-`) is one to nowhere: else the first file to be opened got its number, and what a
    library prints went into a part of an index."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free: this one
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, "w" if number else "r", encoding="utf-8", closefd=False))  # noqa: SIM115


def _parser(name: str = "", *, whole: bool = False) -> arg.Parser:
    """Return the parser. Only the command of this name has its arguments, or each if it is `whole`: some take time."""
    from metaindex import __version__

    parser = arg.Parser(
        prog="metaindex",
        description=_ABOUT,
        epilog=f"{_START}\n\n{arg.EXIT_CODES}\n\nmetaindex COMMAND --help explains each, with examples.",
        formatter_class=arg.HelpText,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"metaindex {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True, parser_class=arg.Parser)
    for command in COMMANDS:
        examples = "\n".join(f"  {line}" for line in command.examples)
        for called in (command.name, *(also for also in command.also if also == name)):
            of_command = commands.add_parser(
                called,
                help=command.line,
                description=command.about,
                epilog=f"examples:\n{examples}\n\n{arg.EXIT_CODES}",
                formatter_class=argparse.RawDescriptionHelpFormatter,
                allow_abbrev=False,
            )
            if called == name or whole:
                arg.all_of(*command.parts)(of_command)
            _OUTPUT(of_command)
            of_command.set_defaults(command=command, whole=parser)
    return parser


def _help_asked(words: list[str]) -> list[str]:
    """`help COMMAND` asks for what `COMMAND --help` does."""
    return [words[1], "--help"] if words[:1] == ["help"] and len(words) > 1 and words[1] in _known() else words


def _known() -> list[str]:
    return [name for command in COMMANDS for name in (command.name, *command.also)]


def _check_command(parser: arg.Parser, words: Sequence[str]) -> None:
    """Report a wrong or misplaced command in a line. Options of the main parser stand before it."""
    first = words[0]
    if first in ("--json", "--debug") and len(words) > 1:
        parser.error(f"{first} stands behind the command: metaindex {words[1]} {first} ...")
    if first.startswith("-") or first in _known():
        return
    if len(words) > 1 and words[1] in _known():
        parser.error(f"the command comes first: metaindex {words[1]} {first} ...")
    listed = [command.name for command in COMMANDS]
    asked = first.lower()
    meant = next((command for command, others in _MEANT.items() if asked in others.split()), None)
    hint = (f"did you mean {meant!r}?" if meant else arg.near(asked, listed)) or f"the commands are {', '.join(listed)}"
    parser.error(f"there is no command {first!r}; {hint}")


class _Line(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return f"metaindex: {record.levelname.lower()}: {one_line(record.getMessage())}"


@contextmanager
def _log_to_stderr() -> Iterator[None]:
    """Print the library's warnings as lines on stderr while the command runs."""
    logger = logging.getLogger("metaindex")
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Line())
    propagate, logger.propagate = logger.propagate, False
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.propagate = propagate


def _forget_stdout() -> None:
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
    except (OSError, ValueError):
        pass  # stdout is no file here: nothing will be flushed to it


_OTHERWISE = {
    "allow_locations": "--allow-location",
    "copies": "--no-copies",
    "history": "--history",
    "if_not_exists": "--if-not-exists",
    "overwrite": "--overwrite",
    "budget_bytes": "--budget",
    "retention": "--retention 0s",
    "tables": "--as",
    "token": "--token-file",
}
"""Options that are not called as arguments of Python are, or take no value."""
_SETTINGS = {
    "Config(index_location=...)": "--index-location",
    "Config(confine_to=(...,))": "--confine-to",
    "Config(most_read_bytes=...)": "--budget",
    "Config(query_log=True)": "METAINDEX_QUERY_LOG=kept",
    "Config(single_writer=True)": "--storage-option single_writer=true",
}


@dataclass(frozen=True, slots=True)
class CommandWords(Words):
    """`typed`: the command and its arguments, as they stand on the command line."""

    TEXTS: ClassVar[Mapping[str, str]] = {
        **Words.TEXTS,
        "spark": "read it with Spark",
        "indexes": "list them with `metaindex indexes TABLE`",
        "versions": "`metaindex indexes TABLE NAME` has those of an index",
        "version": "`metaindex indexes TABLE NAME` gives it",
        "drop": "metaindex drop TABLE NAME",
        "mend": "repair the index with `metaindex repair TABLE NAME`",
        "naming": "--as NAME says what TABLE is called in them",
        "all": "--json has all",
        "unchecked": "--json",
        "create": "--create does; in Python",
        "queries": "name queries (--queries, --where)",
        "catalog_uri": "--catalog-option uri=...",
        "catalog_options": "--catalog-option",
    }
    typed: Sequence[str] = ()

    def argument(self, name: str, value: object = ...) -> str:
        said = "" if value in (..., "") else f" {shlex.quote(str(value))}"
        return _OTHERWISE.get(name) or f"--{name.replace('_', '-')}{said}"

    def option(self, name: str) -> str:
        return {"storage_options": "--storage-option", "trust_index": "--trust-index"}.get(name) or repr(name)

    def reader(self, name: str, value: object = ...) -> str:
        text = "..." if value is ... else str(value).lower() if isinstance(value, bool) else value
        return f"--option {shlex.quote(f'{name}={text}')}"

    def setting(self, text: str, variable: str = "") -> str:
        return variable or _SETTINGS[text]

    def restore(self, name: str) -> str:
        return self._instead("restore")

    def repair(self, name: str) -> str:
        return self._instead("repair")

    def vacuum(self, name: str) -> str:
        return self._instead("vacuum")

    def _instead(self, verb: str) -> str:
        """The command with another verb; the words that name the table stay."""
        return f"`{shlex.join(['metaindex', verb, *self.typed[1:]])}`"

    def kind(self, kind: str, *columns: str) -> str:
        return {"Values": f"--values {','.join(columns)}", "ColumnStats": "--stats"}[kind]

    def create_index(self, name: str, kind: str) -> str:
        return f"metaindex create TABLE {name} {self.kind(kind)}"
