"""`metaindex prune TABLE PREDICATE`: which files can hold matching rows?"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from metaindex.core import Column, Output
from metaindex.statements import in_options

from . import arguments
from .arguments import DONE
from .command import Command
from .opening import open_from

if TYPE_CHECKING:
    from metaindex.query import PruneResult

_SHOWN = 20


def _arguments(parser: argparse.ArgumentParser) -> None:
    arguments.table(parser)
    arguments.predicate(parser)
    parser.add_argument("--paths", action="store_true", help="write only the paths of the kept files, one a line")
    arguments.version(parser)
    arguments.only_indexes(parser)
    arguments.query_log(parser)


def _run(args: argparse.Namespace, out: Output) -> int:
    result = open_from(args).prune(args.predicate, args.version, args.timestamp, indexes=args.index)
    if args.paths and not out.json:
        paths = result.paths
        if paths:
            out.exact(paths)
        return DONE
    out.data(result.to_json())
    if not out.json:
        _write(result, out)
    return DONE


def _write(result: PruneResult, out: Output) -> None:
    from metaindex.query import human_bytes

    out.write(
        f"{result.table} ({result.format}) at version {result.version}, planned in {result.seconds * 1000:.1f} ms"
    )
    out.write(
        f"read {result.kept_files:,} of {result.total_files:,} files, "
        f"{human_bytes(result.kept_bytes)} of {human_bytes(result.total_bytes)}"
    )
    for text in result.not_understood:
        out.write(f"no index answers, so it keeps every file: {text}")
    if result.indexes:
        out.write()
        out.table(
            [
                Column("index"),
                Column("dropped", right=True),
                Column("by columns"),
                Column("reads", right=True),
                Column("read", right=True),
                Column("remark"),
            ],
            [
                [
                    index.name,
                    f"{index.dropped_files:,}" if index.used else "-",
                    ", ".join(index.columns) or "-",
                    f"{index.reads:,}",
                    human_bytes(index.bytes_read),
                    in_options(index.reason if index.used else f"not used: {index.reason}"),
                ]
                for index in result.indexes
            ],
        )
    out.write()
    shown = result.files.table.slice(0, _SHOWN)
    out.table(
        [Column("kept file"), Column("size", right=True), Column("rows", right=True), Column("partition")],
        [
            [
                row["path"],
                human_bytes(row["size_bytes"]),
                "not known" if row["record_count"] is None else f"{row['record_count']:,}",
                row["partition"],
            ]
            for row in shown.select(["path", "size_bytes", "record_count", "partition"]).to_pylist()
        ],
    )
    if result.kept_files > _SHOWN:
        out.write(f"... and {result.kept_files - _SHOWN:,} more; --paths lists all")


COMMAND = Command(
    "prune",
    "which files can hold rows that match a predicate?",
    """Says which files of a table must be read for a predicate. A file is dropped only where an index (or the table's
own log) proves that no row in it can match; what is not proved is kept. No data file is read.""",
    (
        'metaindex prune lake/flights "dep_delay > 1000"',
        "metaindex prune lake/flights \"tailnum = 'N14228' AND month = 1\" --paths | xargs -d '\\n' ls -l",
        'metaindex prune lake/flights "dep_delay > 1000" --version 3',
        "metaindex prune lake/flights \"origin IN ('JFK', 'LGA')\" --timestamp 2026-01-31T12:00:00 --json",
        'metaindex prune lake/flights "dep_delay > 1000" --no-indexes     what the table alone can prove',
    ),
    _arguments,
    _run,
)
