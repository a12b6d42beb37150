"""`metaindex lake ROOT|CATALOG`: every table, and how its indexes stand."""

from __future__ import annotations

import argparse
import signal
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from metaindex.cli.output import Output
from metaindex.core import ArgumentError, Config

from . import arguments as arg
from .opening import each_warning_once, write_parts
from .output import Progress

if TYPE_CHECKING:
    from metaindex.ops import Lake


_FOLDERS = "tables are looked for in so many folders; default: 100000"


def _run(args: argparse.Namespace, out: Output) -> int:
    if (args.reports or args.overwrite) and not args.html:
        raise ArgumentError("--reports and --overwrite are for the page; none is written; name it by --html FILE")
    if not args.watch:
        _look(args, out)
        return arg.DONE
    over = threading.Event()
    before = signal.signal(signal.SIGTERM, lambda number, frame: over.set())
    try:
        while not over.is_set():  # SIGTERM ends the waiting; Ctrl-C a look that is under way, too
            lake = _look(args, out)
            over.wait(max(args.every, lake.seconds))
    finally:
        signal.signal(signal.SIGTERM, before)
    return arg.DONE


def _look(args: argparse.Namespace, out: Output) -> Lake:
    from metaindex.ops import open_lake

    with each_warning_once(), Progress() as progress:
        lake = open_lake(
            args.place,
            catalog=dict(args.catalog_option) or None,
            storage_options=dict(args.storage_option),
            config=Config(index_location=args.index_location, namespace=args.namespace),
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
    out.data(lake.to_json())
    write_parts(() if out.json else lake.shown, out)
    return lake


COMMAND = arg.Command(
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
    (
        arg.word("ROOT|CATALOG", "a folder or URI with tables below it, or catalog:NAME", "place"),
        arg.group(
            "opening the lake",
            arg.CATALOG_OPTION,
            arg.STORAGE,
            arg.LOCATION,
            arg.NAMESPACE,
            arg.every("--timeout", "how long one table, or one namespace, may take to answer", 30.0),
            arg.option("--most-folders", "N", _FOLDERS, type=arg.at_least_one, default=100_000),
        ),
        arg.group(
            "a page for a browser",
            arg.option("--html", "FILE", "write the page, such as lake.html"),
            arg.option(
                "--reports", "FOLDER", "make a page of each table in this folder; the lake's page links to them"
            ),
            arg.flag("--overwrite", "FILE may be another file than a page of ours"),
        ),
        arg.QUERIES,
        arg.SINCE,
        arg.flag("--no-layout", "do not measure how files lie"),
        arg.flag("--watch", "look again and again, until stopped"),
        arg.every("--every", "with --watch: from one look to the next, longer where a look takes longer", 60.0),
    ),
    _run,
)
