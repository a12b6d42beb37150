"""`metaindex locate TABLE PREDICATE`: which live files, row groups and rows hold it?"""

from __future__ import annotations

import argparse

from metaindex.core import Output
from metaindex.query import Answer
from metaindex.statements import in_options

from . import arguments
from .arguments import DONE
from .command import Command
from .opening import open_from
from .progress import Progress


def _arguments(parser: argparse.ArgumentParser) -> None:
    arguments.table(parser)
    arguments.predicate(parser)
    exact(parser)
    parser.add_argument(
        "--all-versions",
        action="store_true",
        help="at every version of the table that can still be read, and not only at one",
    )
    arguments.version(parser)
    arguments.only_indexes(parser)


def exact(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--exact",
        action="store_true",
        help="read the row groups that may hold it, leave out those that do not, and count the live rows",
    )


def _run(args: argparse.Namespace, out: Output) -> int:
    with Progress() as progress, progress.during("looking"):
        located = open_from(args).locate(
            args.predicate,
            args.version,
            args.timestamp,
            all_versions=args.all_versions,
            exact=args.exact,
            indexes=args.index,
        )
    out.data(located.to_json())
    write(located.answer, out)
    for note in located.notes if not out.json else ():
        out.say(in_options(note))
    return DONE


def write(answer: Answer, out: Output) -> None:
    """Print the results of a look-up for people."""
    for sentence in answer.sentences:
        out.write(in_options(sentence))
    if answer.table is not None:
        out.write()
        out.table(answer.table.columns, answer.table.rows)
    for sentence in answer.left_out:
        out.write(f"{sentence}; --json lists all")


COMMAND = Command(
    "locate",
    "which files, row groups and rows hold a value?",
    """Lists the live data files, and in Parquet their row groups, in which rows that match a predicate may be: "where
is the data of user 42?". The indexes, the table's log and the footers of the kept files leave candidates; with
--exact those are read, and the rows that are not deleted counted. With --all-versions every version that the table
still keeps is asked: a value that was deleted lives on in files of old versions until the table's own clean-up
removes them.""",
    (
        'metaindex locate lake/events "user_id = 42"',
        'metaindex locate lake/events "user_id = 42" --exact',
        'metaindex locate lake/events "user_id = 42" --all-versions --exact --json',
        "metaindex locate lake/flights \"tailnum = 'N14228' AND month = 1\" --version 3",
    ),
    _arguments,
    _run,
)
