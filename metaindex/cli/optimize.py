"""`metaindex optimize TABLE NAME`: merge the runs of an index."""

from __future__ import annotations

import argparse

from metaindex.core import Output

from . import arguments
from .command import Command
from .opening import merging_builder, open_from
from .outcomes import report
from .progress import Progress


def _arguments(parser: argparse.ArgumentParser) -> None:
    arguments.table(parser)
    arguments.index_name(parser)
    parser.add_argument(
        "--mode",
        choices=["quick", "full"],
        default="quick",
        help="quick (default) merges small runs, full merges all into one set of sorted parts",
    )
    arguments.merging_builder(parser)


def _run(args: argparse.Namespace, out: Output) -> int:
    with Progress() as progress:
        outcome = open_from(args).optimize_index(args.name, args.mode, merging_builder(args, out), progress)
    return report(outcome, out)


COMMAND = Command(
    "optimize",
    "merge the runs of an index, so that queries read less of it",
    """Merges runs: each refresh adds one, and a query looks into all of them. Answers stay what they were, for every
version of the table; the table itself is not looked at (that is refresh). Runs that were merged stay on storage, for
the queries that read them, until clean. The rows of covering indexes are merged by Spark, a task a bucket or more;
what else an index has is merged here, and no Spark is started for it.""",
    (
        "metaindex indexes lake/flights stats                shows the number of runs",
        "metaindex optimize lake/flights stats",
        "metaindex optimize lake/flights stats --mode full",
    ),
    _arguments,
    _run,
)
