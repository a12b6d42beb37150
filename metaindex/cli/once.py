"""What the library warns of is said once to who reads it, however often it is met."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def each_warning_once() -> Iterator[None]:
    """Inside, a warning is not said again in the same words: a command opens a table several times, for its row and for
    its page, and asks an index of each column."""
    said: set[str] = set()

    def is_new(record: logging.LogRecord) -> bool:
        message = record.getMessage()
        new = message not in said
        said.add(message)
        return new

    logger = logging.getLogger("metaindex")
    logger.addFilter(is_new)
    try:
        yield
    finally:
        logger.removeFilter(is_new)
