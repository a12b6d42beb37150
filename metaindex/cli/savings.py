"""`metaindex savings TABLE`: what did the indexes leave out, and what do they cost?"""

from __future__ import annotations

import argparse

from metaindex.core import Output

from . import arguments
from .arguments import DONE
from .command import Command
from .opening import open_from
from .progress import Progress


def _arguments(parser: argparse.ArgumentParser) -> None:
    arguments.table(parser)
    parser.add_argument(
        "--since", type=arguments.duration, metavar="TIME", help="only queries so recent: such as 12h, 7d; default: all"
    )


def _run(args: argparse.Namespace, out: Output) -> int:
    with Progress() as progress, progress.during("reading the query log"):
        told = open_from(args).savings(args.since)
    out.data(told.to_json())
    for part in told.shown if not out.json else ():
        out.write(str(part))
    return DONE


COMMAND = Command(
    "savings",
    "what did the indexes leave out of queries, and what do they cost?",
    """Sums up the query log of the table, by index and by day (UTC), beside the bytes that each index takes and those
that refreshes and merges write a day. A query is helped where an index left files out of it, or was read in the table's
place; one that several indexes helped counts for each of them, and once in the sums. Bytes are of whole files, as
planned: an engine may read less of a file.

Queries are noted where that is switched on; metaindex queries --help says how.""",
    (
        "metaindex savings lake/flights",
        "metaindex savings lake/flights --since 30d --json",
    ),
    _arguments,
    _run,
)
