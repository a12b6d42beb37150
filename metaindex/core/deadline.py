"""Deadline of an answer: the caller sets it (`until`), and code that may take long checks it (`look`) between two
pieces of its work."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_UNTIL: ContextVar[float | None] = ContextVar("metaindex_deadline", default=None)


class TooLate(BaseException):
    """Raised when the deadline of an answer has passed. Not an `Exception`: no index is at fault, and code that goes on
    without a failed index must not try the next one."""


@contextmanager
def until(moment: float | None) -> Iterator[None]:
    """Inside, in this thread, `look` raises TooLate once `time.monotonic()` is beyond the moment."""
    token = _UNTIL.set(moment)
    try:
        yield
    finally:
        _UNTIL.reset(token)


def look() -> None:
    """Raise TooLate if the deadline has passed."""
    moment = _UNTIL.get()
    if moment is not None and time.monotonic() > moment:
        raise TooLate
