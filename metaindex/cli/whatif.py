"""`metaindex whatif TABLE --where "..."`: what would queries read with an index that there is not?"""

from __future__ import annotations

import argparse
from pathlib import Path

from metaindex.core import Output
from metaindex.statements import part_in_options

from . import arguments, kinds
from .arguments import DONE
from .command import Command
from .opening import open_from
from .progress import Progress


def _arguments(parser: argparse.ArgumentParser) -> None:
    arguments.table(parser)
    asked = parser.add_mutually_exclusive_group(required=True)
    asked.add_argument(
        "--where",
        action="append",
        default=[],
        metavar="PREDICATE",
        help="a SQL condition as behind WHERE, in one argument; can be repeated: one for each query",
    )
    asked.add_argument(
        "--queries",
        action="append",
        default=[],
        metavar="FILE",
        help=f"{arguments.WORKLOAD}; queries of this table are asked, each template once. Can be repeated",
    )
    parser.add_argument(
        "--as",
        dest="called",
        action="append",
        default=[],
        metavar="NAME",
        help="a name that the table has in SQL, as db.flights; without it the last part of its path. Can be repeated",
    )
    kinds.arguments(parser)
    parser.add_argument(
        "--together", action="store_true", help="weigh all kinds as one index; without it each kind is a candidate"
    )
    parser.add_argument(
        "--sample",
        type=arguments.share,
        metavar="SHARE",
        help="the files that are read may have this share of the table's bytes; 0: none is read, and only what the log "
        "tells is known. Default: 0.01, of a table of up to 32 MB all; never more than 64 files of a larger one",
    )
    arguments.version(parser)
    arguments.only_indexes(parser)


def _run(args: argparse.Namespace, out: Output) -> int:
    named = kinds.named_kinds(args)
    candidates = [named] if args.together and named else named
    table = open_from(args)
    queries: object = args.where
    if args.queries:
        from metaindex.advisor import workload  # no other command reads one

        with Progress() as progress, progress.during("reading the queries"):
            queries = workload([*map(Path, args.queries)], time_zone=table.config.time_zone)
    with Progress() as progress, progress.during("weighing"):
        answer = table.what_if(
            queries,
            *candidates,
            version=args.version,
            timestamp=args.timestamp,
            sample=args.sample,
            indexes=args.index,
            tables=dict.fromkeys(args.called, args.table) if args.called else None,
        )
    out.data(answer.to_json())
    for part in answer.shown if not out.json else ():
        out.write(part_in_options(part))
    return DONE


COMMAND = Command(
    "whatif",
    "what would queries read with an index that there is not, and what would it cost?",
    """Weighs indexes before they are built. Some files of the table are read, the candidates are built over them in a
temporary folder that goes at once, and the conditions are asked by the same walk that queries take. Nothing is written
in or beside the table.

For each condition: files, row groups and bytes that it reads now ("as it is"), and with each candidate. A number alone
is exact; a range in brackets holds the truth with 90%. For each candidate: its size, processor time to build it, and
what a day of the table's own commits adds.

Kinds are named as for `metaindex create`. Where none is named, those that follow from the columns of the conditions are
weighed: statistics of all, values and bloom filters of those that are compared for equality.""",
    (
        "metaindex whatif lake/flights --where \"tailnum = 'N14228'\"",
        "metaindex whatif lake/flights --where \"dest = 'SEA'\" --where 'dep_delay > 1000' --values dest --bloom dest",
        "metaindex whatif lake/flights --where 'dep_delay > 1000' --stats --values tailnum --together",
        "metaindex whatif lake/flights --where 'dep_delay > 1000' --sample 0.05 --json",
        "metaindex whatif lake/flights --queries queries.sql --as db.flights",
    ),
    _arguments,
    _run,
    kinds.arguments_of_others,
)
