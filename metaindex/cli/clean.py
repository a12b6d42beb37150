"""`metaindex clean TABLE NAME`: remove what an index does not need any more."""

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
        "--retention",
        type=arguments.duration,
        metavar="TIME",
        help="spare what was in use so recently, for queries that run: such as 12h, 7d (default) or 0s",
    )

    parser.add_argument(
        "--erase",
        action="store_true",
        help="take out, at once, every value that no retained version of the table holds; overrides the retention",
    )
    arguments.merging_builder(parser)


def _run(args: argparse.Namespace, out: Output) -> int:
    table = open_from(args)
    if not args.erase:
        return report(table.clean_index(args.name, args.retention), out)
    with Progress() as progress:
        return report(table.erase_index(args.name, merging_builder(args, out), progress), out)


COMMAND = Command(
    "clean",
    "remove what an index does not need any more",
    """Removes runs that are out of use (merged, or replaced by a full refresh) for longer than the retention, what
writers that died left behind, and old log entries. The query log of the table, where it has one, is bounded and its
small files become one. Queries and other verbs go on meanwhile: nothing is taken that
they may need. The table's own files are never touched.

--erase is for what must be gone: it rewrites the runs without the values of files that left the table and of rows that
were deleted in files that stay, as far as no version that the table can still read holds them, and removes the old runs
at once. Run it after the table's own VACUUM or snapshot expiry.""",
    (
        "metaindex clean lake/flights stats",
        "metaindex clean lake/flights stats --retention 12h",
        "metaindex clean lake/flights stats --erase",
    ),
    _arguments,
    _run,
)
