"""Metrics and spans for OpenTelemetry: docs/guides/savings.md has the list.

Passive, as an instrumented library is. A process that watches itself has loaded OpenTelemetry, and its providers are
told; in any other nothing is loaded, made or measured. Nothing that goes wrong here reaches a query or a verb.

Attributes have few values but for the table's place and the index's name, which an operator of many tables groups by;
no literal of a predicate, no path of a data file and no text of an error is among them.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from metaindex.core.expression_errors import first_line
from metaindex.core.records import dataclass

if TYPE_CHECKING:
    from opentelemetry.metrics import Counter, Histogram
    from opentelemetry.trace import Tracer

logger = logging.getLogger("metaindex")

Said: TypeAlias = Mapping[str, str | bool]
NAME = "metaindex"
TABLE, INDEX = "metaindex.table", "metaindex.index"
ENGINE, USED = "metaindex.engine", "metaindex.index.used"
_PLANNING = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
_ACTIONS = (0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0, 300.0, 600.0, 1800.0, 3600.0)
_LAG = (1.0, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3600.0, 21600.0, 86400.0)
OPERATION, OUTCOME = "metaindex.operation", "metaindex.outcome"


@dataclass(frozen=True, slots=True)
class _Instruments:
    tracer: Tracer
    queries: Counter
    files: Counter
    bytes: Counter
    planning: Histogram
    errors: Counter
    spark: Counter
    actions: Histogram
    lag: Histogram


class Telemetry:
    """Records what happens in this process, by kind."""

    def is_listening(self) -> bool:
        """Return whether this process uses OpenTelemetry."""
        return "opentelemetry" in sys.modules

    def query(
        self,
        table: str,
        engine: str,
        seconds: float | None,
        *,
        files: tuple[int | None, int | None],
        size_bytes: tuple[int | None, int | None],
        index_used: bool,
    ) -> None:
        """A query of a table that was just planned. `files`, `size_bytes`: read, and skipped; None if unknown."""

        def tell(to: _Instruments) -> None:
            said: Said = {TABLE: table, ENGINE: engine, USED: index_used}
            to.queries.add(1, said)
            for counter, numbers in ((to.files, files), (to.bytes, size_bytes)):
                for outcome, number in zip(("read", "left_out"), numbers, strict=True):
                    if number is not None:
                        counter.add(number, {**said, OUTCOME: outcome})
            if seconds is not None:
                to.planning.record(seconds, said)
                now = time.time_ns()
                to.tracer.start_span("metaindex.query", attributes=said, start_time=now - int(seconds * 1e9)).end(now)

        self._tell(tell)

    def index_left_out(self, index: str) -> None:
        """An index that a query could have asked and did not, for something is wrong with it. Indexes are named by
        their folders."""
        self._tell(lambda to: to.errors.add(1, {INDEX: index}))

    def spark_query(self, outcome: str) -> None:
        """A query of Spark that was planned: `answered`, `failed` or `timed_out`."""
        self._tell(lambda to: to.spark.add(1, {OUTCOME: outcome}))

    def lag(self, index: str, seconds: float) -> None:
        """The age of the table's version at the moment when the index began to answer for it."""
        self._tell(lambda to: to.lag.record(seconds, {INDEX: index}))

    @contextmanager
    def action(self, operation: str, index: str, outcome: Callable[[BaseException | None], str]) -> Iterator[None]:
        """A verb on an index. `outcome`: a word for how it ended, by its error."""
        if not self.is_listening():
            yield
            return
        started, wall = time.perf_counter(), time.time_ns()
        error: BaseException | None = None
        try:
            yield
        except BaseException as raised:
            error = raised
            raise
        finally:
            taken = time.perf_counter() - started

            def tell(to: _Instruments) -> None:
                said: Said = {INDEX: index, OPERATION: operation, OUTCOME: outcome(error)}
                to.actions.record(taken, said)
                span = to.tracer.start_span(f"metaindex.{operation}", attributes=said, start_time=wall)
                span.end(wall + int(taken * 1e9))

            self._tell(tell)

    def _tell(self, what: Callable[[_Instruments], Any]) -> None:
        if not self.is_listening():
            return
        try:
            if (to := _instruments()) is not None:
                what(to)
        except Exception as error:  # noqa: BLE001 - what watches never fails what it watches
            logger.debug("OpenTelemetry was not told: %s", first_line(error))


TELEMETRY: Final = Telemetry()


@cache
def _instruments() -> _Instruments | None:
    """Made once: they tell whatever provider there is, also one that is set later. None where what is loaded has no
    such interface, as an older one, or a part of it alone: that is not tried again for each query."""
    try:
        return _made()
    except Exception as error:  # noqa: BLE001 - what watches never fails what it watches
        logger.warning("OpenTelemetry is not told, as what is loaded of it is another: %s", first_line(error))
        return None


def _made() -> _Instruments:
    from opentelemetry import metrics, trace

    meter = metrics.get_meter(NAME)
    counter = meter.create_counter

    def histogram(name: str, bounds: Sequence[float], description: str) -> Histogram:
        return meter.create_histogram(name, "s", description, explicit_bucket_boundaries_advisory=bounds)

    return _Instruments(
        tracer=trace.get_tracer(NAME),
        queries=counter("metaindex.queries", "{query}", "Queries that were planned"),
        files=counter("metaindex.query.files", "{file}", "Files that queries read and left out"),
        bytes=counter("metaindex.query.bytes", "By", "Bytes of the files that queries read and left out"),
        planning=histogram("metaindex.query.planning", _PLANNING, "Time to find the files of a query"),
        errors=counter("metaindex.index.errors", "{index}", "Indexes that queries did without, as something is wrong"),
        spark=counter("metaindex.spark.queries", "{query}", "Plans of Spark that the rule was asked about"),
        actions=histogram("metaindex.action.duration", _ACTIONS, "Time of verbs on indexes"),
        lag=histogram("metaindex.refresh.lag", _LAG, "Age of a table's version when an index answers for it"),
    )
