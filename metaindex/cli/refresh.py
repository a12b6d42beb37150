"""`metaindex refresh TABLE NAME`: bring an index to the table as it is now."""

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
    arguments.index_name(parser)
    parser.add_argument(
        "--mode",
        choices=["incremental", "full"],
        default="incremental",
        help="incremental (default) reads only files that the index does not know; full reads all of them again",
    )
    arguments.builder(parser)


def _run(args: argparse.Namespace, out: Output) -> int:
    table, builder = open_to_build(args, out)
    with Progress() as progress:
        outcome = table.refresh_index(args.name, args.mode, builder=builder, progress=progress)  # type: ignore[arg-type]
    return report(outcome, out)


COMMAND = Command(
    "refresh",
    "bring an index to the table as it is now",
    """Brings an index to the table's present version. Files that came are read, files that left are remembered as gone.

Versions indexed before stay in the index, so a query of an older version (time travel) is served too. Queries go on
meanwhile: they use what the index held before, and read in full what it does not know.""",
    (
        "metaindex refresh lake/flights stats",
        "metaindex refresh lake/flights stats --mode full     after a file was found damaged, for example",
    ),
    _arguments,
    _run,
)
