"""`metaindex watch TABLE...`: keep the indexes of some tables fresh."""

from __future__ import annotations

import argparse
import datetime as dt
import logging
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial
from typing import TYPE_CHECKING

from metaindex.cli.output import Output, json_text, show
from metaindex.core import ArgumentError, Config, counted, one_line

from . import arguments as arg
from .defaults import for_table
from .opening import open_from

if TYPE_CHECKING:
    from metaindex.ops import Event, LakeAsked, LakePlace, Watcher
    from metaindex.table import Table

_GRACE_SECONDS = 30.0
_SIZE = arg.value_of("recommend", "budget")
_BUILDER = "who reads the files that came: local (this process; default) or spark, for tables that grow by very much"


def _run(args: argparse.Namespace, out: Output) -> int:
    if (args.lake is None) == (not args.tables):
        raise ArgumentError(
            "watch follows tables that are named, or all of a lake (--lake ROOT); got"
            f" {'both' if args.tables else 'neither'}; name one of them"
        )
    from metaindex.ops import PACE, Pace, UpkeepBudget, Watcher

    tables = _named(args) if args.lake is None else _lake(args)
    usual = Pace() if args.lake is None else PACE
    cpu = None if args.cpu_per_hour is None else args.cpu_per_hour.total_seconds()
    watcher = Watcher(
        tables,
        _Teller(out, once=args.once),
        budget=UpkeepBudget(args.bytes_per_hour, cpu),
        indexes=args.index,
        builder=args.builder,
        pace=Pace(args.every or usual.every, args.idle or usual.idle, usual.error),
        find_seconds=args.find_every,
        patience_seconds=args.patience,
    )
    with _until_signal(watcher, out), _told_by_events():
        if args.once:
            return arg.DONE if watcher.once() else arg.FAILED
        what = counted(len(tables), "table") if isinstance(tables, list) else f"the tables of {tables.said}"
        out.say(f"metaindex: watching {what}; Ctrl-C ends it")
        watcher.run()
    return arg.DONE  # it was asked to end, and whoever supervises it is to see that it did


def _named(args: argparse.Namespace) -> list[Table | LakePlace]:
    from metaindex.ops import LakePlace

    for_a_lake = (args.bytes_per_hour, args.cpu_per_hour, args.timeout, args.catalog_option or None)
    if any(given is not None for given in for_a_lake):
        raise ArgumentError(
            "--bytes-per-hour, --cpu-per-hour, --timeout and --catalog-option are for a lake; tables are named; use"
            " --lake ROOT"
        )
    asked = [for_table(args, path) for path in args.tables]
    if len(asked) == 1:
        return [open_from(asked[0])]
    # Each is opened when it is asked first: one that does not exist is no matter of the others.
    return [LakePlace(how.table, how.table, "", cache(partial(open_from, how))) for how in asked]


def _lake(args: argparse.Namespace) -> LakeAsked:
    from metaindex.ops import LakeAsked

    if args.root or args.catalog or args.format or args.option or args.trust_index:
        raise ArgumentError(
            "the tables of a lake are opened as they are found; --format, --root, --option, --catalog or --trust-index"
            " is given; leave it out, or name the table without --lake"
        )
    lake = LakeAsked(
        args.lake,
        dict(args.catalog_option) or None,
        dict(args.storage_option),
        Config(index_location=args.index_location, namespace=args.namespace),
        **({} if args.timeout is None else {"timeout_seconds": args.timeout}),
    )
    lake.check()
    return lake


@contextmanager
def _until_signal(watcher: Watcher, out: Output) -> Iterator[None]:
    """SIGINT and SIGTERM end the watch after the refresh under way; the second one, or the end of the grace, interrupts
    that too (it leaves no trace)."""
    timers: list[threading.Timer] = []

    def stop(number: int, frame: object) -> None:
        if watcher.stopping:
            raise KeyboardInterrupt
        watcher.stop()
        timer = threading.Timer(_GRACE_SECONDS, signal.raise_signal, [number])
        timer.daemon = True
        timer.start()
        timers.append(timer)
        out.say("metaindex: stopping")

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for timer in timers:
            timer.cancel()
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _told_by_events() -> Iterator[None]:
    """Inside, hooks warn of nothing: each warning would say once more, and in each round, what an event says."""

    def is_told(record: logging.LogRecord) -> bool:
        return record.levelno != logging.WARNING

    logger = logging.getLogger("metaindex.hooks")
    logger.addFilter(is_told)
    try:
        yield
    finally:
        logger.removeFilter(is_told)


class _Teller:
    """Prints one line an event: JSON for machines, else words. People see a failure that many indexes of a table share
    once, and then only which others have it too. `once`: nothing is tried again."""

    def __init__(self, out: Output, *, once: bool) -> None:
        self._out = out
        self._fails = "fails" if once else "fails, tried again later"
        self._unasked = "cannot be asked" if once else "cannot be asked, tried again later"
        self._before: Event | None = None

    def __call__(self, event: Event) -> None:
        if self._out.json:
            show(json_text(event.to_json()), sys.stdout)
            return
        before, self._before = self._before, event
        alike = before is not None and event.message == before.message
        alike = alike and before is not None and (event.kind, event.table) == (before.kind, before.table)
        now = dt.datetime.fromtimestamp(event.at_ms / 1000, dt.UTC).strftime("%H:%M:%S")
        index = event.index if event.namespace is None else f"{event.index} (namespace {event.namespace})"
        what = {
            "fresh": f"{index}: fresh at version {event.version}" if index else f"fresh at version {event.version}",
            "refreshed": f"{index}: refreshed to version {event.version} in {event.seconds:.1f} s"
            + (f" ({event.message})" if event.message else ""),
            "failed": f"{index}: {self._fails}" + (", as the one before" if alike else f": {event.message}"),
            "unreadable": f"{self._unasked}: {event.message}",
            "stopped": "not watched any more",
            "summed": f"summary: {event.message}",
            "looked": f"looked for tables: {event.message}",
            "shared": f"{index}: {event.message}",
            "left": f"{index}: {event.message}" if index else event.message,
        }[event.kind]
        self._out.write(one_line("  ".join(filter(None, (now, event.table, what)))))


COMMAND = arg.Command(
    "watch",
    "keep the indexes of some tables fresh, until stopped",
    """Follows the logs of tables and refreshes their indexes when a commit comes. A table that has not changed costs
a small question (Delta: its newest commit; Iceberg: its metadata; a plain folder has no log and is listed), asked
less and less often while nothing happens. What fails is tried again, at growing distances; it is told once, and again
where it fails otherwise or anew, and that it is mended (fresh); a summary says how many tables fail when that changes.
Nothing about it is needed for right answers: an index that is behind, or damaged, only makes a query read more. Tables
without an index are not asked.

--lake follows all tables of a folder, a bucket or a catalog. Refreshed is first where a byte of upkeep spares most of
what noted queries read (metaindex savings), and where none are noted what is most behind, within a budget of bytes and
processor time an hour. Several watchers may follow the same lake: what one is at, the others leave to it; one that dies
leaves its work to them.

Ctrl-C (or SIGTERM) ends it once the refresh under way is done. With --once the exit code is 1 where a table or an index
fails, as a covering index that is behind does without --builder spark: only Spark brings it up. What waits for the
budget, or is left to another watcher, does not fail. With --json each event is one JSON object on one line: kind
(refreshed, fresh, failed, unreadable, summed, stopped; of a lake looked, shared and left, too), table, index,
namespace, version, seconds, message, at_ms.""",
    (
        "metaindex watch lake/flights lake/weather",
        "metaindex watch lake/flights --every 0.5 --idle 5",
        "metaindex watch lake/* --once                       from cron, say; exit code 1 where a table or index failed",
        "metaindex watch s3://lake/flights --json >> watch.jsonl",
        "metaindex watch --lake s3://lake/gold --bytes-per-hour 2GB --cpu-per-hour 10m",
    ),
    (
        arg.word("TABLE", "paths or URIs of tables that have indexes", "tables", nargs="*"),
        arg.group(
            "a whole lake",
            arg.option(
                "--lake", "ROOT|CATALOG", "all tables below a folder or URI, or of catalog:NAME; later ones too"
            ),
            arg.option("--bytes-per-hour", "SIZE", "of files read and indexes written, such as 500MB", type=_SIZE),
            arg.option("--cpu-per-hour", "TIME", "processor time of this watcher, such as 10m", type=arg.duration),
            arg.every(
                "--patience", "since its last sign of life, until an index that another process is at is taken", 180.0
            ),
            arg.every("--find-every", "how often tables are looked for", 300.0),
            arg.every("--timeout", "how long one table, or one namespace, may take to answer; default: 30"),
            arg.CATALOG_OPTION,
        ),
        arg.group(
            "watching",
            arg.many("--index", "NAME", "only indexes of this name", default=None),
            arg.flag("--once", "ask each table once, refresh what is behind, and end"),
            arg.every("--every", "how often a table that changes is asked; default: 2, of a lake 10"),
            arg.every("--idle", "how often, at least, a quiet table is asked; default: 30, of a lake 300"),
            arg.option("--builder", None, _BUILDER, choices=["spark", "local"], default="local"),
        ),
        arg.OPENING,
    ),
    _run,
)
