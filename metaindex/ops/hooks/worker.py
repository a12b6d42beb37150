"""The worker behind the hooks: one thread of this process that refreshes one table after another.

A table that is told of while it waits is not queued twice; one that is told of while it is refreshed waits once more:
one runs, at most one is pending. The thread ends when nothing is left to do. At the end of the process it is given
`EXIT_SECONDS`; what it has not done by then leaves a stale index, and nothing else.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from metaindex.core import SparkDriver, first_line

from .keep import Kept

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

logger = logging.getLogger("metaindex.hooks")

EXIT_SECONDS = 10.0
"""How long the end of a process waits for refreshes in the background."""

QUIET_SECONDS = 0.2
MOST_SECONDS = 2.0
"""A refresh begins when no commit was told of for so long, or the first of them so long ago: the writer goes on first,
and commits that follow each other are one refresh."""

SHARE = 20
REST_SECONDS = 30.0
"""After a refresh the worker rests so many times as long as that took, REST_SECONDS at most: a writer that commits all
the time gives it a twentieth of its time."""

Job = Callable[[], list[Kept]]


@dataclass(frozen=True, slots=True)
class Counts:
    """Counts of what the hooks of this process did since it started. `told`: commits; `coalesced`: those that a waiting
    refresh serves too; the others count indexes."""

    told: int = 0
    coalesced: int = 0
    refreshed: int = 0
    fresh: int = 0
    failed: int = 0
    last_error: str = ""


class Worker:
    """Jobs by table. All methods may be called from any thread, and none of them raises what a job raises."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: OrderedDict[str, Job] = OrderedDict()
        self._running = ""
        self._flushing = 0
        self._rest_until = 0.0
        self._told = 0.0  # when the last commit was told of
        self._thread: threading.Thread | None = None
        self._counts = Counts()

    def submit(self, table: str, job: Job, commits: int = 1) -> None:
        """Queue a job; one that waits for the same table already is replaced by it. `commits`: how many it stands for.
        Raises RuntimeError if no thread can be started."""
        with self._changed:
            told = self._counts.told + commits
            self._counts = replace(
                self._counts, told=told, coalesced=self._counts.coalesced + commits * (table in self._waiting)
            )
            self._waiting[table] = job
            self._told = time.monotonic()
            if self._thread is None:
                at_exit()
                thread = threading.Thread(target=self._work, name="metaindex hooks", daemon=True)
                try:
                    thread.start()
                except RuntimeError:
                    del self._waiting[table]
                    raise
                self._thread = thread

    def run(self, job: Job) -> list[Kept]:
        """Runs a job in the caller's thread."""
        with self._changed:
            self._counts = replace(self._counts, told=self._counts.told + 1)
        return self._done(job)

    def flush(self, timeout_seconds: float | None = None) -> bool:
        """Waits until nothing waits or runs. False: it still did when the time was over."""
        until = None if timeout_seconds is None else time.monotonic() + timeout_seconds
        with self._changed:
            self._flushing += 1
            self._changed.notify_all()
            try:
                while self._waiting or self._running:
                    left = None if until is None else until - time.monotonic()
                    if left is not None and left <= 0:
                        return False
                    self._changed.wait(left)
            finally:
                self._flushing -= 1
        return True

    @property
    def counts(self) -> Counts:
        return self._counts

    def failed(self, error: BaseException) -> None:
        """Count and log what kept a commit from being followed at all."""
        said = first_line(error)
        logger.warning("a commit was not followed, indexes of its table may be stale: %s", said)
        logger.debug("the hook that failed", exc_info=error)
        self._count(failed=1, last_error=said)

    def _work(self) -> None:
        while True:
            with self._changed:
                self._running = ""
                self._changed.notify_all()
                if not self._waiting:
                    self._thread = None
                    return
                self._let_the_writer_go_on()
                self._running, job = self._waiting.popitem(last=False)
            started = time.monotonic()
            self._done(job)
            ended = time.monotonic()
            self._rest_until = ended + min(SHARE * (ended - started), REST_SECONDS)

    def _let_the_writer_go_on(self) -> None:
        """Holds the lock while awake. Whoever waits for the refresh does not wait for this."""
        began = time.monotonic()
        while not self._flushing:
            left = max(min(self._told + QUIET_SECONDS, began + MOST_SECONDS), self._rest_until) - time.monotonic()
            if left <= 0:
                return
            self._changed.wait(left)

    def _done(self, job: Job) -> list[Kept]:
        try:
            kept = job()
        except Exception as error:  # noqa: BLE001 - a hook never fails the writer
            self.failed(error)
            return []
        errors = [outcome.error for outcome in kept if outcome.error]
        self._count(
            refreshed=sum(outcome.changed for outcome in kept),
            fresh=sum(not outcome.changed and not outcome.error for outcome in kept),
            failed=len(errors),
            last_error=errors[-1] if errors else "",
        )
        return kept

    def _count(self, *, refreshed: int = 0, fresh: int = 0, failed: int = 0, last_error: str = "") -> None:
        with self._changed:
            now = self._counts
            self._counts = replace(
                now,
                refreshed=now.refreshed + refreshed,
                fresh=now.fresh + fresh,
                failed=now.failed + failed,
                last_error=last_error or now.last_error,
            )


WORKER = Worker()
"""Of this process."""


def _after_fork() -> None:
    """A child has none of its parent's threads; what waits there is the parent's to do."""
    global WORKER  # noqa: PLW0603 - one worker a process
    WORKER = Worker()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)

_exit_registered = False
_before_exit: list[Callable[[], object]] = []


def at_exit(first: Callable[[], object] | None = None) -> None:
    """Waits at the end of the process, before Python closes its thread pools: a refresh that is under way may need one.
    `first` is called before the wait."""
    global _exit_registered  # noqa: PLW0603 - once a process
    if first is not None:
        _before_exit.append(first)
    if _exit_registered:
        return
    import atexit
    import concurrent.futures.thread as pools  # its own end is registered first, so that it comes after ours

    register = getattr(threading, "_register_atexit", atexit.register)
    register(_wait)
    _exit_registered = True
    logger.debug("the end of the process waits before %s", pools.__name__)


def _wait() -> None:
    for first in _before_exit:
        first()
    if not WORKER.flush(EXIT_SECONDS):
        logger.warning(
            "the process ends before its refreshes are done: indexes stay stale; `metaindex refresh`, or the next hook,"
            " brings them up"
        )


def told(spark: SparkSession, timeout_seconds: float) -> bool:
    """Wait until Spark has told its listeners of everything so far. False: it had not in time."""
    from py4j.protocol import Py4JError

    context = spark.sparkContext._jsc
    if context is None:  # stopped: it told them before
        return True
    try:
        with SparkDriver.interrupts_first():
            context.sc().listenerBus().waitUntilEmpty(int(timeout_seconds * 1000))
    except (Py4JError, OSError) as error:
        logger.debug("Spark's listeners were not told in time: %s", error)
        return False
    return True
