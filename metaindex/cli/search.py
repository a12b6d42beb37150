"""`metaindex search TABLE TEXT`: in which indexed columns, files and row groups does a text stand?"""

from __future__ import annotations

import argparse

from metaindex.core import Output

from . import arguments
from .arguments import DONE
from .command import Command
from .locate import exact, write
from .opening import open_from
from .progress import Progress


def _arguments(parser: argparse.ArgumentParser) -> None:
    arguments.table(parser)
    parser.add_argument("text", metavar="TEXT", help="the whole value, as one would write it: 42, N14228, 2026-01-31")
    exact(parser)
    arguments.version(parser)
    arguments.only_indexes(parser)


def _run(args: argparse.Namespace, out: Output) -> int:
    with Progress() as progress, progress.during("searching"):
        hits = open_from(args).search(args.text, args.version, args.timestamp, exact=args.exact, indexes=args.index)
    out.data(hits.to_json())
    write(hits.answer, out)
    return DONE


COMMAND = Command(
    "search",
    "in which indexed columns does a value stand?",
    """Asks every column that an index keys (--values, --bloom, --value-list of create) for one value at once, and
lists the columns, files and row groups that hold it, or may hold it; --exact reads those and counts the live rows.
The text is read as each column's type reads it: 42 is a number where the column has numbers. Columns of whose type it
is no value cannot hold it and are not asked.""",
    (
        "metaindex search lake/events 42",
        "metaindex search lake/flights N14228 --exact",
        "metaindex search lake/events someone@example.org --version 12 --json",
    ),
    _arguments,
    _run,
)
