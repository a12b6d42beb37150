"""Until when an answer is waited for: who asks says so (`until`), and what may take long looks (`look`) between two
pieces of its work."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_UNTIL: ContextVar[float | None] = ContextVar("metaindex_deadline", default=None)


class TooLate(BaseException):
    """Nobody waits for the answer any more. Not an `Exception`: nothing is wrong with an index, and whoever does
    without a failed one must not go on with the next."""


@contextmanager
def until(moment: float | None) -> Iterator[None]:
    """Inside, in this thread, `look` raises TooLate once `time.monotonic()` is beyond the moment."""
    token = _UNTIL.set(moment)
    try:
        yield
    finally:
        _UNTIL.reset(token)


def look() -> None:
    """TooLate where nobody waits any more."""
    moment = _UNTIL.get()
    if moment is not None and time.monotonic() > moment:
        raise TooLate
