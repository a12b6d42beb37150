"""`metaindex export TABLE NAME TARGET`: what an index knows, as plain Delta or Iceberg tables."""

from __future__ import annotations

import argparse

from metaindex.views.output import Output

from . import arguments
from .command import Command
from .opening import open_from


def _arguments(parser: argparse.ArgumentParser) -> None:
    arguments.table(parser)
    arguments.index_name(parser)
    parser.add_argument("target", metavar="TARGET", help="the folder (or URI) that the tables are written to")
    parser.add_argument(
        "--as",
        dest="as_format",
        choices=("delta", "iceberg"),
        default="delta",
        help="of which format (Iceberg: with pyiceberg)",
    )
    parser.add_argument("--overwrite", action="store_true", help="a new version of the tables of an earlier export")


def _run(args: argparse.Namespace, out: Output) -> int:
    exported = open_from(args).export_index(args.name, args.target, format=args.as_format, overwrite=args.overwrite)
    out.data({"target": exported.target, "rows": dict(exported.rows), "version": exported.version})
    out.write(str(exported))
    return arguments.DONE


COMMAND = Command(
    "export",
    "write what an index knows as plain Delta or Iceberg tables",
    """Writes tables below TARGET, for tools that know nothing of indexes: `files` has the live files that the index
covers, `column_stats` a row for each of them and each column, with its name, its bounds as text and its counts; of
indexes with keys, `keys` says which files are keyed, `key_values` which values or hashes they hold. It is a copy of
one moment: TARGET has no such tables yet, or --overwrite makes a new version of those of an earlier export.""",
    (
        "metaindex export lake/flights stats /tmp/flights-stats",
        "metaindex export lake/flights find /tmp/flights-find --as iceberg --overwrite",
    ),
    _arguments,
    _run,
)
