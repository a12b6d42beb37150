"""`metaindex watch TABLE...`: keep the indexes of some tables fresh."""

from __future__ import annotations

import argparse
import datetime as dt
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from metaindex.views.output import Output, json_text, one_line, show

from . import arguments
from .arguments import DONE, FAILED
from .command import Command
from .opening import open_from

if TYPE_CHECKING:
    from metaindex.hooks.watch import Event, Watcher

_GRACE_SECONDS = 30.0


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("tables", metavar="TABLE", nargs="+", help="paths or URIs of tables that have indexes")
    group = parser.add_argument_group("watching")
    group.add_argument("--index", action="append", metavar="NAME", help="only indexes of this name; can be repeated")
    group.add_argument("--once", action="store_true", help="ask each table once, refresh what is behind, and end")
    group.add_argument(
        "--every",
        type=arguments.seconds,
        default=2.0,
        metavar="SECONDS",
        help="how often a table that changes is asked; default: 2",
    )
    group.add_argument(
        "--idle",
        type=arguments.seconds,
        default=30.0,
        metavar="SECONDS",
        help="how often, at least, a quiet table is asked; default: 30",
    )
    group.add_argument(
        "--builder",
        choices=["spark", "local"],
        default="local",
        help=(
            "who reads the files that came: local (default; this process) or spark, for tables that grow by very much"
            " at a time"
        ),
    )
    arguments.opening(parser)


def _run(args: argparse.Namespace, out: Output) -> int:
    from metaindex.hooks.watch import Pace, Unopened, Watcher

    several = len(args.tables) > 1
    tables = [
        Unopened(path, partial(open_from, args, path=path)) if several else open_from(args, path=path)
        for path in args.tables
    ]
    watcher = Watcher(
        tables,
        lambda event: _tell(event, out),
        indexes=args.index,
        builder=args.builder,
        pace=Pace(args.every, args.idle),
    )
    with _until_signal(watcher, out):
        if args.once:
            return DONE if watcher.once() else FAILED
        out.say(f"metaindex: watching {len(tables)} table{'' if len(tables) == 1 else 's'}; Ctrl-C ends it")
        watcher.run()
    return DONE


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


def _tell(event: Event, out: Output) -> None:
    """One line an event: JSON for machines, else words."""
    if out.json:
        show(json_text(event.to_json()), sys.stdout)
        return
    now = dt.datetime.fromtimestamp(event.at_ms / 1000, dt.UTC).strftime("%H:%M:%S")
    what = {
        "fresh": f"fresh at version {event.version}",
        "refreshed": f"{event.index}: refreshed to version {event.version} in {event.seconds:.1f} s",
        "failed": f"{event.index}: stays stale, asked again later: {event.message}",
        "unreadable": f"cannot be asked, tried again later: {event.message}",
        "stopped": "not watched any more",
    }[event.kind]
    out.write(one_line(f"{now}  {event.table}  {what}"))


COMMAND = Command(
    "watch",
    "keep the indexes of some tables fresh, until stopped",
    """Follows the logs of tables and refreshes their indexes when a commit comes. A table that has not changed costs
a small question (Delta: its newest commit; Iceberg: its metadata; a plain folder has no log and is listed), asked
less and less often while nothing happens. What fails is told and tried again, at growing distances. Nothing about it
is needed for right answers: an index that is behind only makes a query read more.

Ctrl-C (or SIGTERM) ends it once the refresh under way is done. With --json each event is one JSON object on one line:
kind (refreshed, fresh, failed, unreadable, stopped), table, index, version, seconds, message, at_ms.""",
    (
        "metaindex watch lake/flights lake/weather",
        "metaindex watch lake/flights --every 0.5 --idle 5",
        "metaindex watch lake/* --once                       from cron, say; exit code 1 where a table or index failed",
        "metaindex watch s3://lake/flights --json >> watch.jsonl",
    ),
    _arguments,
    _run,
)
