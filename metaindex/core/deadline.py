"""Deadline of an answer: the caller sets it (`TooLate.after`), and code that may take long checks it (`TooLate.check`)
between two pieces of its work."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_DEADLINE: ContextVar[float | None] = ContextVar("metaindex_deadline", default=None)


class TooLate(BaseException):
    """Raised when the deadline of an answer has passed. Not an `Exception`: no index is at fault, and code that goes on
    without a failed index must not try the next one."""

    @classmethod
    @contextmanager
    def after(cls, moment: float | None) -> Iterator[None]:
        """Inside, in this thread, `check` raises TooLate once `time.monotonic()` is beyond the moment."""
        token = _DEADLINE.set(moment)
        try:
            yield
        finally:
            _DEADLINE.reset(token)

    @classmethod
    def check(cls) -> None:
        """Raise TooLate if the deadline has passed."""
        moment = _DEADLINE.get()
        if moment is not None and time.monotonic() > moment:
            raise cls
