"""`metaindex optimize TABLE NAME`: merge the runs of an index."""

from __future__ import annotations

import argparse

from . import arguments
from .command import Command
from .opening import open_from
from .outcomes import report
from .output import Output


def _arguments(parser: argparse.ArgumentParser) -> None:
    arguments.table(parser)
    arguments.index_name(parser)
    parser.add_argument(
        "--mode",
        choices=["quick", "full"],
        default="quick",
        help="quick (default) merges small runs, full merges all into one set of sorted parts",
    )


def _run(args: argparse.Namespace, out: Output) -> int:
    return report(open_from(args).optimize_index(args.name, args.mode), out)


COMMAND = Command(
    "optimize",
    "merge the runs of an index, so that queries read less of it",
    """Merges runs: each refresh adds one, and a query looks into all of them. Answers stay what they were, for every version
of the table; the table itself is not looked at (that is refresh). Runs that were merged stay on storage, for the queries
that read them, until clean.""",
    (
        "metaindex indexes lake/flights stats                shows the number of runs",
        "metaindex optimize lake/flights stats",
        "metaindex optimize lake/flights stats --mode full",
    ),
    _arguments,
    _run,
)
