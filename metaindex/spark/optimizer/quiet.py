"""Silences PySpark's log of errors that are caught: it logs each error of Spark's that has a place in a text, with its
stack, where it is made."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

_LOGGERS: Final = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
_INSIDE: Final[ContextVar[bool]] = ContextVar("errors of Spark's are ours to tell", default=False)


class _NotInside(logging.Filter):
    """Passes the log records of other threads."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not _INSIDE.get()


_NOT_INSIDE: Final = _NotInside()


@contextmanager
def unlogged() -> Iterator[None]:
    """Keep PySpark from logging errors in this thread, inside: they are raised to the caller."""
    try:
        from pyspark.logger import PySparkLogger
    except ImportError:  # Spark 3.5 logs none
        yield
        return
    for name in _LOGGERS:
        PySparkLogger.getLogger(name).addFilter(_NOT_INSIDE)
    token = _INSIDE.set(True)
    try:
        yield
    finally:
        _INSIDE.reset(token)
