"""`metaindex refresh TABLE NAME`: bring an index to the table as it is now."""

from __future__ import annotations

import argparse

from metaindex.core import Output

from . import arguments
from .command import Command
from .opening import open_to_build
from .outcomes import report
from .progress import Progress


def _arguments(parser: argparse.ArgumentParser) -> None:
    arguments.table(parser)
    arguments.index_name(parser)
    parser.add_argument(
        "--mode",
        choices=["incremental", "quick", "full"],
        default="incremental",
        help=(
            "incremental (default) reads only files that the index does not cover; quick names them and reads none;"
            " full reads all again"
        ),
    )
    arguments.version(parser)
    parser.add_argument(
        "--where", metavar="CONDITION", help="only files of partitions that may match: names partition columns only"
    )
    parser.add_argument("--under", metavar="FOLDER", help="only files below this folder of the table")
    arguments.builder(parser)


def _run(args: argparse.Namespace, out: Output) -> int:
    table, builder = open_to_build(args, out)
    with Progress() as progress:
        outcome = table.refresh_index(
            args.name,
            args.mode,
            builder=builder,  # type: ignore[arg-type]
            progress=progress,
            version=args.version,
            timestamp=args.timestamp,
            where=args.where,
            under=args.under,
        )
    return report(outcome, out)


COMMAND = Command(
    "refresh",
    "bring an index to the table as it is now",
    """Brings an index to the table's present version, or to an older one. Files that came are read, files that left
are remembered as gone. With --where or --under only some files are looked at: those are covered, and no version is
recorded.

Versions indexed before stay in the index, so a query of an older version (time travel) is served too. Queries go on
meanwhile: they use what the index held before, and read in full what it does not know.""",
    (
        "metaindex refresh lake/flights stats",
        "metaindex refresh lake/flights stats --mode full     after a file was found damaged, for example",
        "metaindex refresh lake/flights stats --where \"day = DATE '2026-11-21'\"",
    ),
    _arguments,
    _run,
)
