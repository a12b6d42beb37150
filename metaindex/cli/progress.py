"""Progress of long work, on stderr: nothing for the first two seconds, then a bar on a terminal, else a line now and
then."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Self

from metaindex.cli.output import show
from metaindex.core import one_line

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

_QUIET_SECONDS = 2.0
_LINE_SECONDS = 10.0


class Progress:
    """Use as a context; call it as the builders do: `progress(what, done, total)`. Safe to call from several
    threads."""

    def __init__(self, quiet_seconds: float = _QUIET_SECONDS) -> None:
        self._started = time.monotonic()
        self._quiet_seconds = quiet_seconds
        self._said = 0.0
        self._lock = threading.Lock()
        self._bar: Bar | None = None
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def __call__(self, what: str, done: int | None = None, total: int | None = None) -> None:
        with self._lock:
            now = time.monotonic()
            if now - self._started < self._quiet_seconds:
                return
            if sys.stderr.isatty():
                self._draw(what, done, total)
            elif now - self._said >= _LINE_SECONDS or not self._said:
                self._said = now
                steps = "" if done is None else f": {done:,} of {total:,}"
                show(f"metaindex: {what}{steps}, {now - self._started:.0f} s", sys.stderr)

    @contextmanager
    def during(self, what: str) -> Iterator[None]:
        """Report work that cannot count its steps: that it goes on, and for how long."""
        over = threading.Event()

        def tick() -> None:
            wait = self._quiet_seconds
            while not over.wait(wait):
                wait = _LINE_SECONDS
                self(what)

        thread = threading.Thread(target=tick, daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def _draw(self, what: str, done: int | None, total: int | None) -> None:
        if self._bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
            from rich.progress import Progress as Bar

            self._bar = Bar(
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                console=Console(file=sys.stderr, stderr=True),
                transient=True,
            )
            self._bar.start()
        if what not in self._tasks:
            self._tasks[what] = self._bar.add_task(one_line(what), total=total)
        if done is not None:
            self._bar.update(self._tasks[what], completed=done, total=total)


@contextmanager
def busy(what: str) -> Iterator[None]:
    """Report, inside, work that cannot count its steps."""
    with Progress() as progress, progress.during(what):
        yield
