"""The output of a command: its answer goes to stdout, everything else to stderr.

For people: text and tables, drawn by rich on a terminal, and plain columns (no colour codes, nothing cut off) in a
pipe. For machines (`--json`): one JSON value on stdout and nothing else there.

Names, paths, predicates and messages are others' texts. All that a command writes goes through `show` (or rich, by
`text_table`), where what would steer a terminal is written as an escape.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self, TextIO

from metaindex.core import Column, TextTable, one_line

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID


@dataclass(slots=True)
class Output:
    """`json` is what the user asked for; `write` and `table` are for people and write nothing then."""

    json: bool = False

    def write(self, text: str = "") -> None:
        """A line (or lines) of the answer, for people."""
        if not self.json:
            show(text, sys.stdout)

    def exact(self, names: Sequence[str]) -> None:
        """A name a line, as it is: for a program in a pipe. A terminal gets what it can show."""
        if sys.stdout.isatty():
            self.write("\n".join(map(one_line, names)))
        else:
            sys.stdout.write("\n".join(names) + "\n")
            sys.stdout.flush()

    def say(self, text: str) -> None:
        """A remark beside the answer."""
        show(text, sys.stderr)

    def data(self, value: object) -> None:
        """The answer for machines. Nothing is written unless --json was given."""
        if self.json:
            show(json_text(value, indent=2), sys.stdout)

    def table(self, columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> None:
        if self.json:
            return
        drawn = TextTable(tuple(columns), tuple(map(tuple, rows)))
        if sys.stdout.isatty():
            from rich.console import Console

            Console(file=sys.stdout).print(drawn)
        else:
            show(str(drawn), sys.stdout)


def show(text: str, stream: TextIO) -> None:
    """A line, or lines."""
    stream.write("\n".join(map(one_line, text.split("\n"))) + "\n")
    stream.flush()


def json_text(value: object, indent: int | None = None) -> str:
    """JSON that a terminal shows as it is: characters that would steer it are escaped as JSON does. Other letters stay
    readable."""
    text = json.dumps(value, indent=indent, allow_nan=False, default=str, ensure_ascii=False)
    return "".join(c if c == "\n" or c.isprintable() else json.dumps(c)[1:-1] for c in text)


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
