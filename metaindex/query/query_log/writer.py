"""The writer of query logs. Noted queries wait in a bounded list of the process; one thread writes it, file by file.

A query appends to a list and goes on: no text is made, nothing is read or written on its thread, and nothing that goes
wrong here reaches it. Where a table's log cannot be written, that is said once and its rows are dropped from then on.
The end of the process waits a little for what is left. A process that was forked begins with nothing: what waited is
its parent's to write.
"""

from __future__ import annotations

import atexit
import concurrent.futures.thread as pools
import logging
import os
import threading
import time
from collections.abc import Sequence
from dataclasses import replace

from metaindex.core import BoundedCache, ObjectExistsError, QueryLog, first_line

from .files import LogPlace, encoded, new_name
from .row import QueryRow, bounded

logger = logging.getLogger("metaindex")

MOST_WAITING = 10_000
"""Rows of a table that wait: more are dropped and counted."""
EXIT_SECONDS = 5.0
READER_SECONDS = 10.0
"""That who reads what is noted waits for what this process has yet to write."""
_ROWS = 20_000  # in a file


class Recorder:
    """The log of one table as this process writes it. For any thread; nothing is raised."""

    def __init__(self, place: LogPlace, setting: QueryLog, writer: Writer) -> None:
        self.place, self.setting, self._writer = place, setting, writer
        self.waiting: list[QueryRow] = []
        self.since = 0.0  # when the first of them came
        self.dropped = 0
        self.stopped = False

    def note(self, row: QueryRow) -> None:
        """A query of the table."""
        if not self.stopped:
            self._writer.note(self, replace(row, predicate=bounded(row.predicate)))


class Writer:
    """The thread behind all logs of this process, begun with the first row."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._recorders: BoundedCache[tuple[LogPlace, QueryLog], Recorder] = BoundedCache(1_000)
        self._waiting: list[Recorder] = []  # whose rows wait
        self._thread: threading.Thread | None = None
        self._hurry = 0
        self._writing = False

    def recorder(self, place: LogPlace, setting: QueryLog) -> Recorder:
        with self._changed:
            key = place, setting
            return self._recorders.find(key) or self._recorders.keep(key, Recorder(place, setting, self))

    def note(self, recorder: Recorder, row: QueryRow) -> None:
        with self._changed:
            if self._thread is None:
                thread = threading.Thread(target=self._work, name="metaindex query log", daemon=True)
                try:
                    thread.start()
                except RuntimeError:  # the process ends
                    return
                self._thread = thread
            waiting = recorder.waiting
            if len(waiting) >= MOST_WAITING:
                recorder.dropped += 1
                return
            if not waiting:
                recorder.since = time.monotonic()
                self._waiting.append(recorder)
            waiting.append(row)
            if len(waiting) in (1, recorder.setting.flush_rows):
                self._changed.notify_all()

    def flush(self, timeout_seconds: float = READER_SECONDS) -> bool:
        """Waits until what was noted is written. False: it was not within that time."""
        until = time.monotonic() + timeout_seconds
        with self._changed:
            self._hurry += 1
            self._changed.notify_all()
            try:
                while self._writing or self._waiting:
                    left = until - time.monotonic()
                    if left <= 0 or self._thread is None:
                        return False
                    self._changed.wait(left)
            finally:
                self._hurry -= 1
        return True

    def forget(self) -> None:
        """Reset in a forked process: the lock may be held, and the thread is not here."""
        self._changed = threading.Condition()
        self._thread, self._hurry, self._writing = None, 0, False
        for recorder in self._waiting:
            recorder.waiting, recorder.dropped = [], 0
        self._waiting = []

    def _work(self) -> None:
        while True:
            with self._changed:
                self._writing = False
                self._changed.notify_all()
                while (due := self._due()) is None:
                    self._changed.wait(self._pause())
                rows, due.waiting = due.waiting[:_ROWS], due.waiting[_ROWS:]
                if not due.waiting:
                    self._waiting.remove(due)
                dropped, due.dropped = due.dropped, 0
                self._writing = True
            _write(due, rows, dropped)

    def _due(self) -> Recorder | None:
        now = time.monotonic()
        for recorder in self._waiting:
            late = now >= recorder.since + recorder.setting.flush_seconds
            if self._hurry or late or len(recorder.waiting) >= recorder.setting.flush_rows:
                return recorder
        return None

    def _pause(self) -> float | None:
        """Return how long nothing is due; None if nothing waits."""
        ends = [each.since + each.setting.flush_seconds for each in self._waiting]
        return max(min(ends) - time.monotonic(), 0.0) if ends else None


def _write(recorder: Recorder, rows: Sequence[QueryRow], dropped: int) -> None:
    if recorder.stopped:
        return
    try:
        data = encoded(rows, recorder.setting)
        recorder.place.storage().put_if_absent(new_name(time.time_ns() // 1_000_000), data)
    except ObjectExistsError:
        pass  # no two have one name: the answer to a put that was made again was lost
    except Exception as error:  # noqa: BLE001 - no query fails of its log
        recorder.stopped = True
        logger.warning(
            "queries of %s are not noted any more by this process: %s", recorder.place.table, first_line(error)
        )
        return
    if dropped:
        logger.warning("%s queries of %s were not noted, as too many waited", f"{dropped:,}", recorder.place.table)


WRITER = Writer()


def _at_exit() -> None:
    if not WRITER.flush(EXIT_SECONDS):
        logger.warning("the process ends before its last queries are noted")


# Before Python closes its thread pools, which are loaded first so that they close later: writing loads what uses them.
logger.debug("the end of the process waits before %s", pools.__name__)
getattr(threading, "_register_atexit", atexit.register)(_at_exit)
os.register_at_fork(after_in_child=WRITER.forget)
