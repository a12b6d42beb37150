"""`metaindex export TABLE NAME TARGET`: what an index knows, as plain Delta tables."""

from __future__ import annotations

import argparse

from . import arguments
from .command import Command
from .opening import open_from
from .output import Output


def _arguments(parser: argparse.ArgumentParser) -> None:
    arguments.table(parser)
    arguments.index_name(parser)
    parser.add_argument("target", metavar="TARGET", help="the folder (or URI) that the tables are written to")


def _run(args: argparse.Namespace, out: Output) -> int:
    found = open_from(args).export_index(args.name, args.target)
    out.data({"target": found.target, "rows": dict(found.rows), "version": found.version})
    out.write(str(found))
    return arguments.DONE


COMMAND = Command(
    "export",
    "write what an index knows as plain Delta tables",
    """Writes two Delta tables below TARGET, for tools that know nothing of indexes: `files` has the live files that the
index covers, `column_stats` a row for each of them and each column, with its name, its bounds as text and its counts. It
is a copy of one moment: TARGET has no such tables yet.""",
    ("metaindex export lake/flights stats /tmp/flights-stats",),
    _arguments,
    _run,
)
