"""`metaindex report TABLE -o FILE`: a page of the table for a browser."""

from __future__ import annotations

import argparse
from pathlib import Path

from metaindex.core import Output

from . import arguments
from .arguments import DONE
from .command import Command
from .opening import open_from
from .progress import Progress


def _arguments(parser: argparse.ArgumentParser) -> None:
    arguments.table(parser)
    parser.add_argument("-o", "--output", "--html", required=True, metavar="FILE", help="the page, such as report.html")
    parser.add_argument("--overwrite", action="store_true", help="FILE may be another file than a report")
    parser.add_argument(
        "--where",
        action="append",
        default=[],
        metavar="PREDICATE",
        help="a SQL condition as behind WHERE, in one argument: what it keeps, and who drops the rest. Can be repeated",
    )
    parser.add_argument(
        "--queries",
        action="append",
        default=[],
        metavar="FILE",
        help=f"{arguments.WORKLOAD}: the page shows what metaindex advise recommends for it, too. Can be repeated",
    )
    parser.add_argument(
        "--as",
        dest="called",
        action="append",
        default=[],
        metavar="NAME",
        help="a name that the table has in SQL, as db.flights; without it the last part of its path. Can be repeated",
    )
    parser.add_argument(
        "--since",
        type=arguments.duration,
        metavar="TIME",
        help="savings of queries so recent: such as 30d; default: all",
    )
    parser.add_argument(
        "--sample",
        type=arguments.share,
        metavar="SHARE",
        help="the files read for advice may have this share of the table's bytes; 0: none is read. Default: 0.01, of a "
        "table of up to 32 MB all; never more than 64 files",
    )
    arguments.version(parser)
    arguments.only_indexes(parser)


def _run(args: argparse.Namespace, out: Output) -> int:
    table = open_from(args)
    with Progress() as progress, progress.during("making the report"):
        done = table.report(
            args.output,
            args.where,
            queries=[*map(Path, args.queries)] or None,
            tables=dict.fromkeys(args.called, args.table) if args.called else None,
            version=args.version,
            timestamp=args.timestamp,
            since=args.since,
            sample=args.sample,
            indexes=args.index,
            overwrite=args.overwrite,
            progress=progress,
        )
    out.data(done.to_json())
    out.write(str(done))
    return DONE


COMMAND = Command(
    "report",
    "a page of the table for a browser: files, indexes, layout, savings, advice",
    """Writes one HTML file that loads nothing and runs nothing: the table's files and versions, its indexes (freshness,
size), how the files lie by each column, what the ranges of the files can tell apart, what conditions keep and drop and
by whom, savings by day from the query log, and advice. It reads on a phone, in dark mode, printed, and by a screen
reader. Its size does not grow with the table.

A report at FILE is replaced; another file only with --overwrite. FILE lies outside of the table. Who reads the page
reads minima and maxima of columns, and the conditions that are given.""",
    (
        "metaindex report lake/flights -o report.html",
        "metaindex report lake/flights -o report.html --where \"tailnum = 'N14228'\" --where 'dep_delay > 1000'",
        "metaindex report lake/flights -o report.html --queries queries.sql --as db.flights --since 30d",
    ),
    _arguments,
    _run,
)
