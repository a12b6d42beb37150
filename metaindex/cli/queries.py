"""`metaindex queries TABLE`: which queries were noted, and what did they read?"""

from __future__ import annotations

import argparse
from dataclasses import replace

from metaindex.core import ArgumentError, Output

from . import arguments
from .arguments import DONE
from .command import Command
from .opening import open_from


def _arguments(parser: argparse.ArgumentParser) -> None:
    arguments.table(parser)
    parser.add_argument(
        "--since", type=arguments.duration, metavar="TIME", help="only queries so recent: such as 12h, 7d; default: all"
    )
    parser.add_argument(
        "--clean", action="store_true", help="remove what is too old or too much, and merge small files, in its place"
    )
    parser.add_argument(
        "--keep", type=arguments.duration, metavar="TIME", help="with --clean: how old queries may be; default: 90d"
    )
    parser.add_argument(
        "--keep-bytes",
        type=arguments.at_least_zero,
        metavar="N",
        help="with --clean: how large the log may be; default: 67108864",
    )


def _run(args: argparse.Namespace, out: Output) -> int:
    from metaindex.query import clean_query_log, logged_queries, setting_of, summary
    from metaindex.table import handle_of

    if not args.clean and (args.keep is not None or args.keep_bytes is not None):
        raise ArgumentError("--keep and --keep-bytes say what --clean leaves; it is not given; add --clean")
    if args.clean and args.since is not None:
        raise ArgumentError(
            "--since chooses queries to show, and --clean shows none; say --keep TIME, or leave one out"
        )
    table = open_from(args)
    handle = handle_of(table)
    if args.clean:
        setting = setting_of(handle)
        if args.keep is not None:
            setting = replace(setting, keep_days=args.keep.total_seconds() / 86400)
        if args.keep_bytes is not None:
            setting = replace(setting, keep_bytes=args.keep_bytes)
        cleaned = clean_query_log(handle, setting)
        out.data(cleaned.to_json())
        out.write(str(cleaned))
        for left in cleaned.left:
            out.write(f"left as it is: {left}")
        return DONE
    told = summary(table.path, logged_queries(handle, args.since))
    out.data(told.to_json())
    for part in told.shown if not out.json else ():
        out.write(str(part))
    return DONE


COMMAND = Command(
    "queries",
    "which queries were noted, how often, and what did they read?",
    """Groups the queries of the table's query log by what they have in common: their condition, values apart. "helped"
counts those of which an index left files out, or was read in the table's place; files and bytes are sums, and
"planning ms" is the mean time that metaindex took to answer.

Queries are noted where that is switched on: Config(query_log=True) in Python, METAINDEX_QUERY_LOG=kept in the
environment, --query-log kept for one command, spark.metaindex.queryLog=kept in a Spark session.""",
    (
        "metaindex queries lake/flights",
        "metaindex queries lake/flights --since 7d --json",
        "metaindex queries lake/flights --clean --keep 30d",
    ),
    _arguments,
    _run,
)
