"""`metaindex advise TABLE --queries log.sql`: which indexes should there be?"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from metaindex.core import Output
from metaindex.statements import part_in_options

from . import arguments
from .arguments import DONE, FAILED
from .command import Command
from .defaults import for_table, names
from .opening import chosen_builder, open_from, start_spark
from .progress import Progress

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from metaindex.advisor import Workload
    from metaindex.table import Table


def _arguments(parser: argparse.ArgumentParser) -> None:
    arguments.table(parser)
    parser.add_argument(
        "more",
        nargs="*",
        metavar="TABLE",
        help="more tables, or folders with tables below them: of those the ones that the queries name",
    )
    parser.add_argument(
        "--queries",
        action="append",
        default=[],
        metavar="FILE",
        help=f"{arguments.WORKLOAD}. Can be repeated. Without it: what the table's own query log noted",
    )
    parser.add_argument(
        "--where",
        action="append",
        default=[],
        metavar="PREDICATE",
        help="a SQL condition as behind WHERE, in one argument; can be repeated: one for each query",
    )
    parser.add_argument(
        "--as",
        dest="called",
        action="append",
        default=[],
        metavar="NAME",
        help="a name that TABLE has in SQL, as db.flights; without it the last part of its path. Can be repeated",
    )
    budget = parser.add_argument_group("how much")
    budget.add_argument(
        "--budget", type=arguments.size, metavar="SIZE", help="all indexes together take no more: 100MB, 2GB"
    )
    budget.add_argument(
        "--budget-cpu", type=arguments.duration, metavar="TIME", help="of processor time to build them: 90s, 10m, 2h"
    )
    budget.add_argument(
        "--days", type=float, metavar="DAYS", help="the time that the queries are of; a query log knows its own"
    )
    budget.add_argument(
        "--sample",
        type=arguments.share,
        metavar="SHARE",
        help="the files that are read may have this share of a table's bytes. Default: 0.01, of a table of up to 32 MB "
        "all",
    )
    parser.add_argument(
        "--no-copies", action="store_true", help="no covering indexes: Spark alone reads them, in the table's place"
    )
    parser.add_argument(
        "--create", action="store_true", help="create what is recommended; without it nothing is written"
    )
    arguments.builder(parser)


def _run(args: argparse.Namespace, out: Output) -> int:
    from metaindex.advisor import recommend, workload
    from metaindex.core import ArgumentError

    if args.builder and not args.create:
        raise ArgumentError("--builder is for --create; without it nothing is built; leave it out, or add --create")
    asked = [*args.where, *map(Path, args.queries)]
    with Progress() as progress, progress.during("reading the queries"):
        queries = workload(asked) if asked else None
    named = dict.fromkeys(args.called, args.table) if args.called else None
    with Progress() as progress, progress.during("weighing indexes"):
        answer = recommend(
            queries,
            *_opened(args, out, queries, named or {}),
            budget_bytes=args.budget,
            budget_cpu=None if args.budget_cpu is None else args.budget_cpu.total_seconds(),
            days=args.days,
            sample=args.sample,
            copies=not args.no_copies,
            tables=named,
            progress=progress,
        )
    for part in () if args.json else answer.advised if args.create else answer.shown:
        out.write(part_in_options(part))
    if not args.create:
        out.data(answer.to_json())
        return DONE
    with Progress() as progress, progress.during("creating indexes"):
        created = answer.create(chosen_builder(args), progress)
    out.data({**answer.to_json(), "created": [index.to_json() for index in created]})
    for index in created:
        out.write(str(index))
    return FAILED if any(index.problem for index in created) else DONE


def _opened(
    args: argparse.Namespace, out: Output, queries: Workload | None, named: Mapping[str, str]
) -> Iterator[Table]:
    """TABLE with its options, and the others with the same."""
    from metaindex.advisor import named_below

    def spark() -> SparkSession:
        return start_spark(out)

    options = dict(args.storage_option)
    as_it_is = args.root or args.catalog or args.format
    for path in [None] if as_it_is else named_below(args.table, queries, named, options):
        yield open_from(args, spark, path)
    for place in args.more:
        if place in names():
            yield open_from(for_table(args, place), spark)
            continue
        for path in named_below(place, queries, named, options):
            yield open_from(args, spark, path)


COMMAND = Command(
    "advise",
    "which indexes should there be for these queries?",
    """Recommends indexes for a workload: what they leave out, what they cost, and the line that creates each. Nothing
is written without --create.

Candidates follow from the columns by which the queries filter, join, group and sort. They are built over some files of
the table in a temporary folder that goes at once, and asked by the same walk that queries take. Chosen is, one after
another, what leaves out most bytes of the workload per byte of its size, beside the indexes that there are and those
chosen before, within the budget that all tables share.

"it leaves out" is what the workload would not read any more, each query as often as it is asked; a range in brackets
holds the truth with 90%. Of queries that differ in their literals alone up to 24 are asked, and stand for the others
where there are more. "pays after": so many runs of the workload, or days where its time is known, spare as many bytes
as the build reads and writes. Told are also indexes without which no query would read more, and a layout for what no
index helps. A folder of tables is one, too: of the tables below it those that the queries name.""",
    (
        "metaindex advise lake/flights --queries log.sql",
        "metaindex advise lake/flights --queries log.sql --budget 100MB --create",
        "metaindex advise lake/flights                                        what its own query log noted",
        "metaindex advise lake --queries monday.sql --queries tuesday.sql --json",
        "metaindex advise lake/flights lake/planes --where \"tailnum = 'N14228'\"",
    ),
    _arguments,
    _run,
)
