"""Python's collector of garbage, held back while a predicate of many terms is planned: it looks through all that is
alive, again and again, while a hundred thousand small things are made of which none is garbage yet. That took a third
to a half of the time.

The collector is the whole process's. Plans side by side are counted, and the last one lets it work again; a plan that
begins when it has rested for some seconds is not counted, so that it never rests for long, however many follow one
another. Where it was switched off before, it stays so.
"""

from __future__ import annotations

import gc
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from metaindex.expressions import And, Or

_LONG: Final = 5_000  # characters
_MANY: Final = 100  # parts
_SECONDS: Final = 5.0  # of rest, after which no other plan joins


class _Rest:
    """State of the paused collector: how many plans need it paused, since when."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._plans = 0
        self._since = 0.0

    def begin(self) -> bool:
        """Pause the collector, and return whether the caller has to `end` the pause."""
        with self._lock:
            if self._plans:
                if time.monotonic() - self._since > _SECONDS:
                    return False
            elif gc.isenabled():
                self._since = time.monotonic()
                gc.disable()
            else:
                return False  # by somebody else's wish
            self._plans += 1
            return True

    def end(self) -> None:
        with self._lock:
            self._plans -= 1
            if not self._plans:
                gc.enable()

    def forked(self) -> None:
        """Reset in a forked child, in which no other thread and so no other plan lives on."""
        resting, self._lock, self._plans = self._plans, threading.Lock(), 0
        if resting:
            gc.enable()


_REST: Final = _Rest()
os.register_at_fork(after_in_child=_REST.forked)


@contextmanager
def gc_paused(predicate: object) -> Iterator[None]:
    """Pause the collector inside, if the predicate is large."""
    resting = False
    try:
        resting = _large(predicate) and _REST.begin()
        yield
    finally:
        if resting:
            _REST.end()


def _large(predicate: object) -> bool:
    if isinstance(predicate, str):
        return len(predicate) > _LONG
    return isinstance(predicate, And | Or) and len(predicate.parts) > _MANY
