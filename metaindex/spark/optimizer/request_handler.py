"""Answers the requests of the optimizer's rule in time and without an error: what goes wrong leaves the plan as it is.

What plans scans (`scan_planner`) is loaded with the first request: a session that asks nothing does not wait for it.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as LateError
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from metaindex.core import TELEMETRY, Config, TooLate

from .answer_counts import AnswerCounts
from .settings import RuleConfig

if TYPE_CHECKING:
    from .noting import NotedScan
    from .request import Request
    from .scan_planner import ScanPlanner

logger = logging.getLogger("metaindex")


@dataclass(slots=True)
class RequestHandler:
    """Answers requests; the reply is empty if nothing is known. Never raises. Several threads of Spark may ask at
    once."""

    config: Config
    storage_options: Mapping[str, str]
    rule: RuleConfig
    cores: int | None = None  # that work on a query
    skips_only: bool = False  # the answers are which files are skipped, and nothing else
    counts: AnswerCounts = field(default_factory=AnswerCounts)
    _pool: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(4, thread_name_prefix="metaindex-rule")
    )
    _planner: ScanPlanner | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _read: tuple[Mapping[str, str], RuleConfig] | None = None  # the session's settings of ours, as they were last

    @property
    def planner(self) -> ScanPlanner:
        """Return what plans the scans of the requests."""
        with self._lock:
            if self._planner is None:
                from .scan_planner import ScanPlanner

                self._planner = ScanPlanner(self.config, self.storage_options, self.counts, self.cores, self.skips_only)
            return self._planner

    def __call__(self, text: str) -> str:
        rule = self.rule
        try:
            asked = self.planner.read(text)
            rule = self.settings(asked.settings)
            seconds = rule.timeout_seconds if asked.running is None else min(asked.running, rule.timeout_seconds)
            answer = self._pool.submit(self._answer_until, time.monotonic() + seconds, asked, rule)
            try:
                reply, noted = answer.result(seconds)
                if noted:
                    from .noting import note

                    note(noted)
                if not asked.explained and asked.running is None:
                    TELEMETRY.spark_query("answered")
                return reply
            finally:
                answer.cancel()  # where no thread has begun with it
        except (LateError, TooLate):
            self.counts.timed_out += 1
            TELEMETRY.spark_query("timed_out")
            self.counts.last_error = f"no answer within {rule.timeout_seconds} s"
            logger.warning("a Spark query is planned without indexes: %s", self.counts.last_error)
        except Exception as error:  # noqa: BLE001 - a query never fails because of an index
            self.counts.raised(error)
        return ""

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    def settings(self, conf: Mapping[str, str]) -> RuleConfig:
        """Return the settings of `enable`, overridden by the session's configuration of now; what cannot be read there
        is counted once, and ignored."""
        read = self._read
        if read is None or read[0] != conf:
            rule, bad = self.rule.with_conf(conf)
            for complaint in bad:
                self.counts.bad_settings += 1
                self.counts.last_error = f"a setting is left out: {complaint}"
                logger.warning("a setting of the Spark session is left out: %s", complaint)
            read = self._read = conf, rule
        return read[1]

    def _answer_until(self, late: float, asked: Request, rule: RuleConfig) -> tuple[str, Sequence[NotedScan]]:
        """Answer within a deadline: an answer for which the wait is over is not computed to its end."""
        try:
            with TooLate.after(late):
                return self.planner.answer(asked, rule)
        except TooLate:
            self.counts.stopped += 1
            raise
