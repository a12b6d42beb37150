"""Counts and warnings of what a session's queries were answered."""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass, field
from typing import Final

from metaindex.core import TELEMETRY, first_line

logger = logging.getLogger("metaindex")
_WARNED: Final = 1_000  # tables that are not supported; of more nobody is warned


@dataclass(slots=True)
class AnswerCounts:
    """Counts of the answers of one session, and warnings of what went wrong."""

    failed: int = 0
    timed_out: int = 0
    stopped: int = 0  # of those, how many were being computed: their threads are free again
    bad_settings: int = 0
    last_error: str = ""
    _warned: set[str] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def failure(
        self, error: str, warning: str = "a Spark query is planned without indexes, which reads more: %s"
    ) -> None:
        """Count a query that went on without indexes, or failed because of one."""
        self.failed += 1
        TELEMETRY.spark_query("failed")
        self.last_error = error
        logger.warning(warning, error)

    def raised(self, error: Exception) -> None:
        """Count what an error left undone."""
        self.failure(first_line(error))
        logger.debug("the request that failed", exc_info=error)

    def unsupported(
        self, error: Exception, warning: str = "Spark queries of a table are planned without indexes: %s"
    ) -> None:
        """Warn once of tables that are not supported: that is no failure, and is so at every query."""
        with self._lock:
            new = str(error) not in self._warned and len(self._warned) < _WARNED
            self._warned |= {str(error)} if new else set()
        if new:
            logger.warning(warning, error)
