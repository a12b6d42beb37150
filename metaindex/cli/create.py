"""`metaindex create TABLE NAME`: index every file of the table as it is now."""

from __future__ import annotations

import argparse

from . import arguments
from .command import Command
from .opening import open_to_build
from .outcomes import report
from .output import Output
from .progress import Progress


def _arguments(parser: argparse.ArgumentParser) -> None:
    arguments.table(parser)
    parser.add_argument(
        "name", metavar="NAME", help="the new index's name: letters, digits, _ . - (it becomes a folder)"
    )
    parser.add_argument(
        "--column",
        action="append",
        default=[],
        metavar="C",
        help="index only this column; can be repeated; a field of a struct is payload.user; default: all columns",
    )
    parser.add_argument(
        "--no-float-scan",
        action="store_true",
        help="do not read float columns to count NaN: quicker to build, but >, >= and != on them then keep every file",
    )
    parser.add_argument(
        "--trust-log",
        action="store_true",
        help="take the statistics that writers put into the table's log where they say enough, and open only the other files",
    )
    arguments.builder(parser)


def _run(args: argparse.Namespace, out: Output) -> int:
    from metaindex import ColumnStats
    from metaindex.store.layout import check_name

    check_name(args.name)
    table, builder = open_to_build(args, out)
    kind = ColumnStats(*args.column, scan_floats=not args.no_float_scan, trust_log=args.trust_log)
    with Progress() as progress:
        outcome = table.create_index(args.name, kind, builder=builder, progress=progress)  # type: ignore[arg-type]
    return report(outcome, out)


COMMAND = Command(
    "create",
    "build an index on a table",
    """Builds an index: reads every file of the table once and writes, beside the table, what is known of each.

The index holds column statistics: the least and greatest value and the counts of values, NULLs and NaNs of every
column in every file and every partition. They come from Parquet footers where those can be trusted, else from a scan.
The table itself is not changed. When the build fails, nothing of it is visible.""",
    (
        "metaindex create lake/flights stats",
        "metaindex create lake/flights stats --column dep_delay --column tailnum",
        "metaindex create lake/flights_csv stats --format csv --option header=true --builder local",
        "metaindex create s3://lake/flights stats --storage-option region=eu-west-1",
    ),
    _arguments,
    _run,
)
