"""Progress of long work in a Jupyter notebook: nothing for two seconds, then a bar below the cell, which stays
with what was done and how long that took.

Anywhere else nothing is shown: a program says `progress=` where it wants to know, and the command line has its own.
"""

from __future__ import annotations

import contextvars
import functools
import inspect
import sys
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, ParamSpec, TypeVar

from metaindex.core.expression_errors import ArgumentError

P = ParamSpec("P")
R = TypeVar("R")

Progress = Callable[[str, int, int], None]
"""Called with (what, done, total) now and then, perhaps from another thread."""

QUIET_SECONDS = 2.0
TICK_SECONDS = 0.5


def in_notebook() -> bool:
    """Return whether this process is the kernel of a notebook, without importing anything."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None


def watched(verb: Callable[P, R]) -> Callable[P, R]:
    """A verb with an argument `progress`: in a notebook it shows its progress where its caller gives none."""

    @functools.wraps(verb)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        given = kwargs.get("progress")
        if given is not None and not callable(given):
            raise ArgumentError(
                f"progress= is called with what is done, how much of it and of how much; got {given!r}; give a function"
                " of these three, or leave it out"
            )
        if not in_notebook():
            return verb(*args, **kwargs)
        bound = inspect.signature(verb).bind(*args, **kwargs)
        if bound.arguments.get("progress") is not None:
            return verb(*args, **kwargs)
        with NotebookBar() as bar:
            bound.arguments["progress"] = bar
            return verb(*bound.args, **bound.kwargs)

    return called


class NotebookBar:
    """Use as a context; call it as the builders do: `progress(what, done, total)`, from any thread. A thread of its own
    draws it, so that work without counted steps visibly goes on."""

    def __init__(self, quiet_seconds: float = QUIET_SECONDS) -> None:
        self._started = time.monotonic()
        self._quiet_seconds = quiet_seconds
        self._steps: tuple[str, int, int] | None = None
        self._handle: Any = None  # IPython's, of what is displayed
        self._over = threading.Event()
        # The kernel knows by the context which cell asked.
        context = contextvars.copy_context()
        self._thread = threading.Thread(target=context.run, args=(self._tick,), daemon=True)

    def __enter__(self) -> NotebookBar:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()
        if self._handle is not None:
            self._draw("" if error is None else "stopped")

    def __call__(self, what: str, done: int, total: int) -> None:
        self._steps = what, done, total

    def _tick(self) -> None:
        wait = self._quiet_seconds
        while not self._over.wait(wait):
            wait = TICK_SECONDS
            self._draw("")

    def _draw(self, ended: str) -> None:
        what, done, total = self._steps or ("at work", 0, 0)
        seconds = f"{time.monotonic() - self._started:.0f} s"
        counted = f"{done:,} of {total:,}, " if total else ""
        said = f"{what}: {counted}{seconds}{f', {ended}' if ended else ''}"
        shown = {"text/plain": said, "text/html": _picture(said, done / total if total else 0.0)}
        if self._handle is None:
            from IPython.display import display

            self._handle = display(shown, raw=True, display_id=True)
        else:
            self._handle.update(shown, raw=True)


def _picture(said: str, share: float) -> str:
    import html

    from .figures import Element

    return f'<div class="metaindex-progress">{Element.bar(share).html()} {html.escape(said)}</div>'
