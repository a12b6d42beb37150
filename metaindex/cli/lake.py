"""`metaindex lake ROOT|CATALOG`: every table, and how its indexes stand."""

from __future__ import annotations

import argparse
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metaindex.core import Output
from metaindex.statements import in_options, part_in_options

from . import arguments
from .arguments import DONE
from .command import Command
from .opening import each_warning_once
from .progress import Progress

if TYPE_CHECKING:
    from metaindex.ops import Lake


def _arguments(parser: argparse.ArgumentParser) -> None:
    arguments.lake(parser)
    page = parser.add_argument_group("a page for a browser")
    page.add_argument("--html", metavar="FILE", help="write the page, such as lake.html")
    page.add_argument(
        "--reports",
        metavar="FOLDER",
        help="make a page of each table (metaindex report) in this folder, beside the lake's page, which links to it",
    )
    page.add_argument("--overwrite", action="store_true", help="FILE may be another file than a page of ours")
    parser.add_argument(
        "--queries",
        action="append",
        default=[],
        metavar="FILE",
        help=f"{arguments.WORKLOAD}; indexes are recommended for the tables that it names. Can be repeated",
    )
    parser.add_argument(
        "--since",
        type=arguments.duration,
        metavar="TIME",
        help="what indexes left out of queries so recent: such as 30d; default: all that are noted",
    )
    parser.add_argument("--no-layout", action="store_true", help="do not measure how files lie")
    parser.add_argument("--watch", action="store_true", help="look again and again, until stopped")
    parser.add_argument(
        "--every",
        type=arguments.seconds,
        default=60.0,
        metavar="SECONDS",
        help="with --watch: from one look to the next, longer where a look takes longer; default: 60",
    )


def _run(args: argparse.Namespace, out: Output) -> int:
    from metaindex.core import ArgumentError

    if (args.reports or args.overwrite) and not args.html:
        raise ArgumentError("--reports and --overwrite are for the page; none is written; name it by --html FILE")
    if not args.watch:
        _look(args, out)
        return DONE
    over = threading.Event()
    with _until_signal(over):
        while not over.is_set():
            lake = _look(args, out)
            over.wait(max(args.every, lake.seconds))
    return DONE


def _look(args: argparse.Namespace, out: Output) -> Lake:
    from metaindex.ops import open_lake

    with each_warning_once(), Progress() as progress:
        lake = open_lake(
            args.place,
            catalog=arguments.catalog_properties(args),
            storage_options=dict(args.storage_option),
            config=arguments.lake_config(args),
            since=args.since,
            layout=not args.no_layout,
            queries=[*map(Path, args.queries)] or None,
            timeout_seconds=args.timeout,
            most_folders=args.most_folders,
            progress=progress,
        )
        if args.html:
            done = lake.report(args.html, reports=args.reports, overwrite=args.overwrite, progress=progress)
            out.say(f"metaindex: {done.path} written, {done.size_bytes:,} bytes")
    out.data(_in_options(lake.to_json()))
    for part in () if out.json else lake.shown:
        out.write(part_in_options(part))
    return lake


def _in_options(told: dict[str, object]) -> dict[str, object]:
    """Reword problems and advice in options of the command line; advice that is a command is left as it is."""
    tables: Any = told["tables"]
    said = [
        {**table, "problem": in_options(table["problem"]), "advice": [*map(in_options, table["advice"])]}
        for table in tables
    ]
    return {**told, "tables": said}


class _until_signal:  # noqa: N801 - a context
    """Inside, SIGTERM ends the waiting; Ctrl-C a look that is under way, too."""

    def __init__(self, over: threading.Event) -> None:
        self._over = over
        self._before: Callable[..., object] | int | None = None

    def __enter__(self) -> None:
        self._before = signal.signal(signal.SIGTERM, lambda number, frame: self._over.set())

    def __exit__(self, *raised: object) -> None:
        signal.signal(signal.SIGTERM, self._before)


COMMAND = Command(
    "lake",
    "every table of a lake or catalog: indexes, how far behind, savings, advice",
    """Finds the tables below a folder or in a bucket (Delta by _delta_log, Iceberg by its metadata, folders of Parquet,
CSV or JSON), or lists an Iceberg catalog by pyiceberg, and tells of each: format, files, bytes, indexes, how far the
one that lags most is behind, what indexes left out of noted queries, and what to do. Names, logs and metadata are read,
of CSV and JSON beginnings of files, and no other data. A table that cannot be read, or gives no answer in time, is a
row that says why; the others are told of.

Nothing is looked for below a table, in hidden folders and behind links. CATALOG is catalog:NAME as pyiceberg is
configured for it, or catalog: with --catalog-option uri=... and its like.

--html writes one page whose table can be sorted and filtered, by keys too; it loads nothing. metaindex watch --lake
keeps the indexes of all tables fresh.""",
    (
        "metaindex lake /lake",
        "metaindex lake s3://lake/gold --html lake.html --reports reports",
        "metaindex lake catalog:prod --since 30d --json",
        "metaindex lake catalog: --catalog-option type=rest --catalog-option uri=https://catalog.example.com",
        "metaindex lake /lake --html /srv/www/lake.html --watch --every 600",
    ),
    _arguments,
    _run,
)
