"""The pieces of a recommendation: of one index, proposed, passed over or unused, and of one table.

Bytes are those of the workload: of each query as often as it is asked."""

from __future__ import annotations

import math
from dataclasses import field

from metaindex.advisor.clustering.advised import Advice
from metaindex.advisor.clustering.sample import Sampled
from metaindex.advisor.hypothetical.answer import Rate, Upkeep
from metaindex.advisor.hypothetical.posterior import Estimate
from metaindex.core import dataclass, duration, plain
from metaindex.index import Kind, create_text
from metaindex.query import human_bytes

from .texts import create_python, title_of


@dataclass(frozen=True, slots=True)
class BreakEven:
    """The point at which an index has spared as many bytes as its build reads and writes: after so many runs of the
    workload, and in days if its time span is known. None: never, as its upkeep takes more than it spares. `soonest`,
    `latest`: the bounds of the runs, with 90%, if what it spares is an `estimate`."""

    runs: float | None
    days: float | None = None
    soonest: float | None = None
    latest: float | None = None
    estimate: bool = False

    def __str__(self) -> str:
        expected = self._said(self.runs)
        soonest, latest = self._said(self.soonest), self._said(self.latest)
        return f"{expected} [{soonest} to {latest}]" if self.estimate and soonest != latest else expected

    def _said(self, runs: float | None) -> str:
        if runs is None:
            return "never"
        if self.days is not None and self.runs:
            return duration(round(self.days * runs / self.runs * 86_400_000))
        return "1 run" if runs <= 1 else f"{math.ceil(runs):,} runs"

    def to_json(self) -> dict[str, object]:
        """Plain data for machines."""
        ends = (self.soonest, self.latest) if self.estimate else (self.runs, self.runs)
        return {"runs": self.runs, "days": self.days, "runs_bounds": {"low": ends[0], "high": ends[1]}}


@dataclass(frozen=True, slots=True)
class RecommendedIndex:
    """An index to create. `adds_bytes`, `adds_files`: what the workload would not read any more beside the indexes that
    there are and those recommended before, and `saved` as a share of what it reads; `helps_queries`: how many of its
    queries that are; `left_out`: of the bytes of the table, the share that these queries do not read once all are
    there. All are estimates where queries stand for others with other literals. `options`: of readers, with which the
    table is open."""

    table: str
    name: str
    kinds: tuple[Kind, ...]
    sql_name: str  # of the table
    adds_bytes: Estimate
    adds_files: Estimate
    saved: Estimate
    reads_bytes: Estimate  # by the workload, of the table, as things are
    queries: int  # of the workload, of the table
    helps_queries: Estimate
    left_out: Estimate
    size_bytes: Estimate
    build_cpu_seconds: float | None
    upkeep: Upkeep | None
    break_even: BreakEven
    notes: tuple[str, ...] = ()
    options: tuple[tuple[str, object], ...] = ()

    @property
    def title(self) -> str:
        """Its kinds, as in `values(tailnum)`."""
        return title_of(self.kinds)

    @property
    def python(self) -> str:
        """A line that creates it, where `table` is the table."""
        return create_python(self.name, self.kinds)

    @property
    def sql(self) -> str:
        """The statement that creates it, as `mi.sql` and Spark take it."""
        return create_text(self.name, self.sql_name, self.kinds)

    @property
    def saved_share(self) -> float:
        """Return the expected share of what the workload reads of the table now."""
        return self.saved.expected

    @property
    def read_bytes(self) -> float:
        """Return the bytes that the workload is expected to read of the table, as things are."""
        return self.reads_bytes.expected

    @property
    def helps(self) -> int:
        """Return how many queries of the workload it is expected to help."""
        return round(self.helps_queries.expected)

    def to_json(self) -> dict[str, object]:
        """Plain data for machines."""
        specs = [kind.spec() for kind in self.kinds]
        adds = ("title", "adds_bytes", "adds_files", "saved_share", "saved", "read_bytes", "reads_bytes", "queries")
        helps = ("helps", "helps_queries", "left_out", "size_bytes", "build_cpu_seconds")
        return {
            **plain(self, "table", "name"),
            "kinds": [plain(spec, "name", "version", "properties") for spec in specs],
            **plain(self, *adds, *helps),
            "upkeep_a_day": plain(self.upkeep),
            **plain(self, "break_even", "notes", "python", "sql"),
        }


@dataclass(frozen=True, slots=True)
class PassedOver:
    """A candidate that is not recommended, and why."""

    candidate: str
    reason: str

    def to_json(self) -> dict[str, str]:
        """Plain data for machines."""
        return {"candidate": self.candidate, "reason": self.reason}


@dataclass(frozen=True, slots=True)
class UnusedIndex:
    """An existing index without which no query of the workload would read more. `helped`: how many of the queries in
    the table's query log it helped, None if there is no log."""

    index: str
    size_bytes: int
    helped: int | None = None

    @property
    def said(self) -> str:
        logged = "" if self.helped is None else f"; it helped {self.helped:,} of the queries in the query log"
        return f"{self.index} ({human_bytes(self.size_bytes)}){logged}"

    def to_json(self) -> dict[str, object]:
        """Plain data for machines."""
        return {"index": self.index, "size_bytes": self.size_bytes, "helped_in_query_log": self.helped}


@dataclass(frozen=True, slots=True)
class TableAdvice:
    """The advice for one table of the workload. `reads_bytes`: by its queries now; `then_bytes`: with all that is
    recommended; `saved`: the share that they do not read then; `refused`: queries that cannot be answered, with their
    reasons; `passed`: candidates that are not recommended; `layouts`: where the rows would have to lie for what no
    index helps."""

    table: str
    format: str
    version: str
    files: int
    size_bytes: int
    queries: int
    reads_bytes: Estimate
    then_bytes: Estimate
    saved: Estimate
    refused: tuple[tuple[str, str], ...] = ()
    passed: tuple[PassedOver, ...] = ()
    unused: tuple[UnusedIndex, ...] = ()
    layouts: tuple[Advice, ...] = ()
    sampled: Sampled = field(default_factory=Sampled)
    rate: Rate = field(default_factory=Rate)
    notes: tuple[str, ...] = ()

    @property
    def read_bytes(self) -> float:
        """Return the bytes that its queries are expected to read now."""
        return self.reads_bytes.expected

    @property
    def saved_share(self) -> float:
        """Return the expected share of what is read now."""
        return self.saved.expected

    def to_json(self) -> dict[str, object]:
        """Plain data for machines."""
        names = ("table", "format", "version", "files", "size_bytes", "queries", "read_bytes", "reads_bytes")
        return {
            **plain(self, *names, "then_bytes", "saved_share", "saved"),
            "refused": [{"query": query, "problem": problem} for query, problem in self.refused],
            "not_recommended": plain(self.passed),
            **plain(self, "unused", "layouts", "sampled", "rate", "notes"),
        }
