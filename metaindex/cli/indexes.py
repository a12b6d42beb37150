"""`metaindex indexes TABLE [NAME]`: the indexes of a table, or all about one."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from metaindex.core import Output, Tabular, TextTable
from metaindex.statements import in_options
from metaindex.table import IndexInfo, command, handle_of, hint

from . import arguments
from .arguments import DONE, near
from .command import Command
from .opening import open_from
from .progress import Progress

if TYPE_CHECKING:
    from metaindex.table import Table


def _arguments(parser: argparse.ArgumentParser) -> None:
    arguments.table(parser)
    parser.add_argument(
        "name", metavar="NAME", nargs="?", help="all about this one index: its columns and versions too"
    )
    parser.add_argument("--all", action="store_true", help="also those that were vacuumed or never came to be")
    parser.add_argument(
        "--quick", action="store_true", help="leave out how many files an index is behind, and what it takes on storage"
    )
    arguments.version(parser)


def _run(args: argparse.Namespace, out: Output) -> int:
    table = open_from(args)
    with Progress() as progress, progress.during("comparing the indexes with the table"):
        indexes = table.indexes(all=args.all, version=args.version, timestamp=args.timestamp, staleness=not args.quick)
    if args.name is not None:
        named = _named(indexes, args.name)
        out.data(named.to_json())
        out.write(in_options(str(named)))
        _tell_suspected(table, [named], out)
        return DONE
    out.data(indexes.to_json())
    if not indexes:
        cure = hint(args.table) or f"build one: {command(handle_of(table), 'create', 'NAME')}"
        out.write(f"{table.path} ({table.format}) has no index; {cure}")
        return DONE
    write_shown(indexes.shown, out)
    _tell_suspected(table, indexes, out)
    return DONE


def write_shown(shown: Sequence[str | Tabular], out: Output) -> None:
    """Write what a value shows, with options in place of Python's arguments."""
    for part in shown:
        if isinstance(part, TextTable):
            out.table(part.columns, [[*map(in_options, row)] for row in part.rows])
        else:
            out.write(in_options(str(part)))


def _tell_suspected(table: Table, indexes: Sequence[IndexInfo], out: Output) -> None:
    for info in indexes:
        cancel = command(handle_of(table), "cancel", info.name)
        for mark in info.suspected:
            out.say(f"metaindex: {info.name}: {mark} seems dead: {cancel} ends it")


def _named(indexes: list[IndexInfo], name: str) -> IndexInfo:
    from metaindex.core import IndexNotFoundError

    for info in indexes:
        if info.name == name:
            return info
    there = [info.name for info in indexes]
    raise IndexNotFoundError(
        f"an index is named as it was created; there is no {name!r}; "
        + (near(name, there) or f"there are: {', '.join(there) or 'none'}")
    )


COMMAND = Command(
    "indexes",
    "list the indexes of a table, and how far each is behind it",
    """Lists the indexes of a table. "fresh: no" means that the table changed since: queries use the index still and
read in full what it does not know (so many files and bytes behind), until `refresh`. With NAME it tells all about
one: its columns, its versions (time travel), what is under way. "size" is what lies on storage; "old" of it are
runs that were merged or replaced, which `clean` removes after its retention. --version asks how the
index stands to an older version of the table.""",
    (
        "metaindex indexes lake/flights",
        "metaindex indexes lake/flights stats",
        "metaindex indexes lake/flights --version 3",
        "metaindex indexes lake/flights --json",
    ),
    _arguments,
    _run,
)
