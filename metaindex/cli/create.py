"""`metaindex create TABLE NAME`: index every file of the table as it is now, or was."""

from __future__ import annotations

import argparse

from metaindex.core import Output

from . import arguments, kinds
from .command import Command
from .opening import open_to_build
from .outcomes import report
from .progress import Progress


def _arguments(parser: argparse.ArgumentParser) -> None:
    arguments.table(parser)
    parser.add_argument(
        "name", metavar="NAME", help="the new index's name: letters, digits, _ . - (it becomes a folder)"
    )
    kinds.arguments(parser)
    arguments.builder(parser)
    arguments.version(parser)
    parser.add_argument(
        "--history",
        action="store_true",
        help=(
            "index the files that only older versions have, too, as far as they can still be read: time travel is then"
            " pruned as well"
        ),
    )
    parser.add_argument(
        "--if-not-exists",
        action="store_true",
        help="do nothing where there is an index of this name with the same kinds; one of other kinds is an error",
    )


def _run(args: argparse.Namespace, out: Output) -> int:
    from metaindex.index import check_name

    check_name(args.name)
    asked = kinds.kinds_of(args)
    table, builder = open_to_build(args, out)
    with Progress() as progress:
        outcome = table.create_index(
            args.name,
            *asked,
            builder=builder,  # type: ignore[arg-type]
            progress=progress,
            version=args.version,
            timestamp=args.timestamp,
            history=args.history,
            if_not_exists=args.if_not_exists,
        )
    return report(outcome, out)


COMMAND = Command(
    "create",
    "build an index on a table",
    """Builds an index: reads every file of the table once and writes, beside the table, what is known of each.

Without further options the index holds column statistics: the least and greatest value and the counts of values, NULLs
and NaNs of every column in every file and every partition. They come from Parquet footers where those can be trusted,
else from a scan. They drop files for ranges, and for values that lie together; a value that may be anywhere (an id, a
name) is found by --values, exactly and down to the row group, or by --bloom, smaller. Kinds can be combined: all are
built from one reading of the files and answer together. Two columns as one key (--values a,b) find rows that have both.
A covering index (--covering) is not asked which files to read: Spark reads it in the place of the table, where a query
needs no other columns, and Spark builds it.
The table itself is not changed. When the build fails, nothing of it is visible.""",
    (
        "metaindex create lake/flights stats",
        "metaindex create lake/flights find --values tailnum                    which files hold a tail number?",
        "metaindex create lake/flights main --stats --values tailnum --value-list carrier",
        "metaindex create lake/flights by_day --covering indexed=day included=tailnum,dest buckets=64",
        "metaindex create lake/flights pair --values carrier,flight             rows that have both",
        "metaindex create lake/events find --values user_id --bloom url --fpp 0.001 --builder local",
        "metaindex create lake/flights stats --column dep_delay --column tailnum",
        "metaindex create lake/flights stats --history                          time travel is pruned, too",
        "metaindex create lake/flights_csv stats --format csv --option header=true --builder local",
        "metaindex create s3://lake/flights stats --storage-option region=eu-west-1",
    ),
    _arguments,
    _run,
    kinds.arguments_of_others,
)
