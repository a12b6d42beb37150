"""The answer: what queries read now and with each candidate, and what each candidate costs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field

from metaindex.advice.sample import Sampled
from metaindex.expressions.records import dataclass
from metaindex.expressions.shown import Shown, Tabular
from metaindex.pruning.result import human_bytes
from metaindex.views.text_table import Column, TextTable
from metaindex.views.words import counted, duration, percent

from .posterior import Estimate


@dataclass(frozen=True, slots=True)
class Reads:
    """What a query reads. `row_groups`: None where the files have none, or nobody knows; `size_bytes`: of the files
    that are read, whole (of a covering index: of its own rows)."""

    files: Estimate
    row_groups: Estimate | None
    size_bytes: Estimate

    def to_json(self) -> dict[str, object]:
        """Plain data for machines."""
        groups = None if self.row_groups is None else self.row_groups.to_json()
        return {"files": self.files.to_json(), "row_groups": groups, "size_bytes": self.size_bytes.to_json()}


@dataclass(frozen=True, slots=True)
class Effect:
    """One query with one candidate. `sampled_files`: of those that it reads now, how many the candidate was tried on.
    `note`: why it helps nothing, or what to know of the numbers. `instead_of_bytes`: of a covering index that is read
    in the table's place, what its columns take in the files that the query reads now; 0 for all others."""

    candidate: str
    reads: Reads
    sampled_files: int
    note: str = ""
    instead_of_bytes: float = 0.0

    @property
    def exact(self) -> bool:
        """Is the number of files no estimate?"""
        return self.reads.files.exact

    def to_json(self) -> dict[str, object]:
        """Plain data for machines."""
        said = {"candidate": self.candidate, "exact": self.exact, "sampled_files": self.sampled_files}
        return {**said, "note": self.note, "instead_of_bytes": self.instead_of_bytes, **self.reads.to_json()}


@dataclass(frozen=True, slots=True)
class QueryWeighed:
    """One query: what it reads now, and with each candidate. `problem`: why it cannot be answered, else empty."""

    query: str
    now: Reads | None = None
    effects: tuple[Effect, ...] = ()
    problem: str = ""

    def __getitem__(self, candidate: str) -> Effect:
        """With a candidate by its name. KeyError where there is none."""
        for effect in self.effects:
            if effect.candidate == candidate:
                return effect
        names = ", ".join(other.candidate for other in self.effects)
        raise KeyError(f"a candidate of this answer is one of {names}; got {candidate!r}")

    def to_json(self) -> dict[str, object]:
        """Plain data for machines."""
        return {
            "query": self.query,
            "problem": self.problem,
            "now": None if self.now is None else self.now.to_json(),
            "with": [effect.to_json() for effect in self.effects],
        }


@dataclass(frozen=True, slots=True)
class Upkeep:
    """What a day of the table's commits costs: index bytes that are added, and processor seconds to build them."""

    size_bytes: float
    cpu_seconds: float

    def to_json(self) -> dict[str, float]:
        """Plain data for machines."""
        return {"size_bytes": self.size_bytes, "cpu_seconds": self.cpu_seconds}


@dataclass(frozen=True, slots=True)
class Rate:
    """How fast the table grows, by its own history. `days`: that were looked at; `reason`: why nothing is known."""

    days: float = 0.0
    commits: int = 0
    added_bytes: int = 0
    reason: str = ""

    @property
    def bytes_a_day(self) -> float:
        return self.added_bytes / self.days if self.days else 0.0

    @property
    def said(self) -> str:
        """In a line."""
        if self.reason:
            return f"upkeep is not told: {self.reason}"
        added = human_bytes(int(self.bytes_a_day))
        return (
            f"the table: {self.commits / self.days:,.1f} commits and {added} a day over the last {self.days:,.1f} days"
        )

    def to_json(self) -> dict[str, object]:
        """Plain data for machines."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


@dataclass(frozen=True, slots=True)
class Cost:
    """What a candidate costs. None is not known; `problem`: why it cannot be built, else empty."""

    candidate: str
    size_bytes: Estimate | None = None
    build_cpu_seconds: float | None = None
    upkeep: Upkeep | None = None
    problem: str = ""
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, object]:
        """Plain data for machines."""
        return {
            "candidate": self.candidate,
            "size_bytes": None if self.size_bytes is None else self.size_bytes.to_json(),
            "build_cpu_seconds": self.build_cpu_seconds,
            "upkeep_a_day": None if self.upkeep is None else self.upkeep.to_json(),
            "problem": self.problem,
            "notes": list(self.notes),
        }


@dataclass(frozen=True, slots=True, repr=False)
class WhatIf(Shown):
    """Queries of a table at a version, and candidates for indexes of it. Nothing was built in or beside the table."""

    table: str
    format: str
    version: str
    files: int
    size_bytes: int
    queries: tuple[QueryWeighed, ...]
    candidates: tuple[Cost, ...]
    sampled: Sampled = field(default_factory=Sampled)
    rate: Rate = field(default_factory=Rate)
    notes: tuple[str, ...] = ()

    def __getitem__(self, query: str) -> QueryWeighed:
        """A query by its text. KeyError where it was not asked."""
        for weighed in self.queries:
            if weighed.query == query:
                return weighed
        raise KeyError(f"a query of this answer is one of those that were asked; got {query!r}")

    def cost(self, candidate: str) -> Cost:
        """What a candidate costs, by its name. KeyError where there is none."""
        for cost in self.candidates:
            if cost.candidate == candidate:
                return cost
        names = ", ".join(other.candidate for other in self.candidates)
        raise KeyError(f"a candidate of this answer is one of {names}; got {candidate!r}")

    @property
    def refused(self) -> int:
        """How many queries could not be answered."""
        return sum(bool(weighed.problem) for weighed in self.queries)

    @property
    def shown(self) -> Sequence[str | Tabular]:
        parts: list[str | Tabular] = [
            f"{self.table} ({self.format}) at version {self.version}: {counted(self.files, 'file')},"
            f" {human_bytes(self.size_bytes)}"
        ]
        if any(weighed.now is not None for weighed in self.queries):
            parts += ["", self._effects()]
        if self.candidates:
            parts += ["", self._costs()]
        parts.append("")
        if self.refused:
            parts.append(f"{self.refused:,} of {counted(len(self.queries), 'question')} not answered:")
            parts += [f"  {weighed.query}: {weighed.problem}" for weighed in self.queries if weighed.problem]
        parts += [f"not built: {cost.candidate}: {cost.problem}" for cost in self.candidates if cost.problem]
        parts += [f"{cost.candidate}: {note}" for cost in self.candidates for note in cost.notes]
        parts += [
            f"{each.candidate} for {weighed.query}: {each.note}"
            for weighed in self.queries
            for each in weighed.effects
            if each.note and not self.cost(each.candidate).problem
        ]
        parts += self.notes
        if self.files:
            parts += [self._read, self.rate.said]
        return parts

    def _effects(self) -> TextTable:
        titles = ("files", "row groups", "bytes", "saved")
        columns = (Column("query"), Column("with"), *(Column(title, right=True) for title in titles))
        rows: list[tuple[str, ...]] = []
        for weighed in self.queries:
            if weighed.now is None:
                continue
            rows.append((weighed.query, "as it is", *_cells(weighed.now), ""))
            for each in weighed.effects:
                now = each.instead_of_bytes or weighed.now.size_bytes.expected
                saved = 1 - each.reads.size_bytes.expected / now if now else 0.0
                rows.append(("", each.candidate, *_cells(each.reads), percent(max(saved, 0.0))))
        return TextTable(columns, tuple(rows))

    def _costs(self) -> TextTable:
        titles = ("size", "of the table", "CPU to build", "a day: bytes", "a day: CPU")
        columns = (Column("candidate"), *(Column(title, right=True) for title in titles))
        return TextTable(columns, tuple(self._cost(cost) for cost in self.candidates))

    def _cost(self, cost: Cost) -> tuple[str, ...]:
        size = cost.size_bytes
        share = "-" if size is None or not self.size_bytes else percent(size.expected / self.size_bytes)
        cpu = "-" if cost.build_cpu_seconds is None else duration(int(cost.build_cpu_seconds * 1000))
        day = ("-", "-")
        if cost.upkeep is not None:
            day = (human_bytes(int(cost.upkeep.size_bytes)), duration(int(cost.upkeep.cpu_seconds * 1000)))
        return (cost.candidate, "-" if size is None else _range(size, human_bytes), share, cpu, *day)

    @property
    def _read(self) -> str:
        sample = self.sampled
        if not sample.files:
            return f"no file was read: {sample.reason}" if sample.reason else "no file was read"
        share = percent(sample.size_bytes / max(sample.total_bytes, 1))
        read = f"{counted(sample.files, 'file')} ({human_bytes(sample.size_bytes)}, {share} of the table)"
        limit = human_bytes(sample.limit_bytes)
        estimated = any(not each.exact for weighed in self.queries for each in weighed.effects)
        bounds = "; a range in brackets holds the truth with 90%" if estimated else ""
        return f"read for this: {read}; the limit was {limit}{bounds}"

    def to_json(self) -> dict[str, object]:
        """Plain data for machines."""
        return {
            "table": self.table,
            "format": self.format,
            "version": self.version,
            "files": self.files,
            "size_bytes": self.size_bytes,
            "queries": [weighed.to_json() for weighed in self.queries],
            "refused": self.refused,
            "candidates": [cost.to_json() for cost in self.candidates],
            "sampled": self.sampled.to_json(),
            "rate": self.rate.to_json(),
            "notes": list(self.notes),
        }


def _cells(reads: Reads) -> tuple[str, str, str]:
    groups = "-" if reads.row_groups is None else _range(reads.row_groups, _whole)
    return _range(reads.files, _whole), groups, _range(reads.size_bytes, human_bytes)


def _whole(number: int) -> str:
    return f"{number:,}"


def _range(estimate: Estimate, shown: Callable[[int], str]) -> str:
    """A number, with its bounds where it is an estimate."""
    low, expected, high = (shown(round(bound)) for bound in (estimate.low, estimate.expected, estimate.high))
    return expected if low == high else f"{expected} [{low} to {high}]"
