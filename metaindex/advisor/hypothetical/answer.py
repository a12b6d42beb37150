"""The answer: what queries read now and with each candidate, and what each candidate costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from metaindex.advisor.clustering.sample import Sampled
from metaindex.advisor.workloads.table_queries import Stands
from metaindex.core import Column, Plain, Shown, TextTable, counted, dataclass, duration, human_bytes, percent
from metaindex.query import RowReading

from .estimates import Estimate, Spread, in_bytes, in_numbers, in_words, less, most_read


@dataclass(frozen=True, slots=True)
class Reads(Plain):
    """The reads of a query. `row_groups`: None if the files have none, or nobody knows; `size_bytes`: of the files that
    are read, whole (of a covering index: of its own rows)."""

    files: Estimate
    row_groups: Estimate | None
    size_bytes: Estimate


@dataclass(frozen=True, slots=True)
class Effect(Plain):
    """The effect of one candidate on one query. `sampled_files`: on how many of those that it reads now the candidate
    was tried. `note`: why it helps nothing, or how to take the numbers. `instead_of_bytes`: for a covering index that
    is read in the table's place, what its columns take in the files that the query reads now; else 0."""

    JSON = (
        "candidate exact sampled_files note instead_of_bytes files=reads.files row_groups=reads.row_groups"
        " size_bytes=reads.size_bytes"
    )
    candidate: str
    reads: Reads
    sampled_files: int
    note: str = ""
    instead_of_bytes: float = 0.0

    @property
    def exact(self) -> bool:
        """Return whether the number of files is exact, not an estimate."""
        return self.reads.files.exact

    def saved_of(self, now: Reads) -> Estimate:
        """Bytes that the query would not read any more."""
        before, then = now.size_bytes, self.reads.size_bytes
        if self.instead_of_bytes:
            before = Estimate.exactly(self.instead_of_bytes)
        return less(before, then)


@dataclass(frozen=True, slots=True)
class QueryWeighed(Plain):
    """The reads of one query, now and with each candidate. `problem`: why it cannot be answered, else empty. `weight`:
    how often a workload has it; `stands`: for others with other literals, and `weight` is its share. `note`: how to
    take its numbers; `reading`: what it takes to read one row by key of the files that it reads now, None if no footer
    tells."""

    query: str
    now: Reads | None = None
    effects: tuple[Effect, ...] = ()
    problem: str = ""
    weight: int = 1
    stands: Stands | None = None
    note: str = ""
    reading: RowReading | None = None

    def __getitem__(self, candidate: str) -> Effect:
        """Return the effect of a candidate, by its name. Raises KeyError if there is none."""
        for effect in self.effects:
            if effect.candidate == candidate:
                return effect
        names = ", ".join(other.candidate for other in self.effects)
        raise KeyError(f"a candidate of this answer is one of {names}; got {candidate!r}")

    def to_json(self) -> dict[str, object]:
        """Plain data for machines."""
        data = {**self._plain("query weight"), "stands_for_others": self.stands is not None}
        return {**data, **self._plain("problem note now reading with=effects")}


@dataclass(frozen=True, slots=True)
class Upkeep(Plain):
    """The cost of a day of the table's commits: index bytes that are added, and processor seconds to build them."""

    size_bytes: float
    cpu_seconds: float


@dataclass(frozen=True, slots=True)
class Rate(Plain):
    """The growth of the table, by its own history. `days`: that were looked at; `reason`: why nothing is known."""

    days: float = 0.0
    commits: int = 0
    added_bytes: int = 0
    reason: str = ""

    @property
    def bytes_a_day(self) -> float:
        return self.added_bytes / self.days if self.days else 0.0

    @property
    def said(self) -> str:
        """Describe the rate in a line."""
        if self.reason:
            return f"how the table grows is unknown, and so what upkeep costs: {self.reason}"
        added = human_bytes(int(self.bytes_a_day))
        return (
            f"the table: {self.commits / self.days:,.1f} commits and {added} a day over the last {self.days:,.1f} days"
        )


@dataclass(frozen=True, slots=True)
class Cost(Plain):
    """The cost of a candidate. None is not known; `problem`: why it cannot be built, else empty."""

    JSON = "candidate size_bytes build_cpu_seconds upkeep_a_day=upkeep problem notes"
    candidate: str
    size_bytes: Estimate | None = None
    build_cpu_seconds: float | None = None
    upkeep: Upkeep | None = None
    problem: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, repr=False)
class WhatIf(Shown, Plain):
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
        """Return a query by its text. Raises KeyError if it was not asked."""
        for weighed in self.queries:
            if weighed.query == query:
                return weighed
        raise KeyError(f"a query of this answer is one of those that were asked; got {query!r}")

    def cost(self, candidate: str) -> Cost:
        """Return the cost of a candidate, by its name. Raises KeyError if there is none."""
        for cost in self.candidates:
            if cost.candidate == candidate:
                return cost
        names = ", ".join(other.candidate for other in self.candidates)
        raise KeyError(f"a candidate of this answer is one of {names}; got {candidate!r}")

    def saved(self, candidate: str) -> Estimate:
        """Return the bytes that the workload would not read any more, each query as often as it is asked. The bounds
        are the sums of theirs, wider if some queries stand for others with other literals."""
        nows = self._nows
        saved = [weighed[candidate].saved_of(now) for weighed, now in nows]
        # Of a covering index what its columns take is compared, which may be less than what is read now.
        most = [max(now.size_bytes.expected, each.expected) for (_, now), each in zip(nows, saved, strict=True)]
        return self._spread.total(saved, most)

    @property
    def read_bytes(self) -> float:
        """Return the bytes that the workload reads now, each query as often as it is asked."""
        return self.reads_bytes.expected

    @property
    def reads_bytes(self) -> Estimate:
        """Return `read_bytes` with its bounds: if queries stand for others with other literals, it is an estimate."""
        now = [reads.size_bytes for _, reads in self._nows]
        most = [most_read(size.expected, self.size_bytes, self.files) for size in now]
        return self._spread.total(now, most)

    @property
    def _nows(self) -> list[tuple[QueryWeighed, Reads]]:
        """Queries that can be answered, and what they read now."""
        return [(weighed, weighed.now) for weighed in self.queries if weighed.now is not None]

    @property
    def _spread(self) -> Spread:
        queries = [weighed for weighed, _ in self._nows]
        return Spread.of([weighed.weight for weighed in queries], [weighed.stands for weighed in queries])

    @property
    def _weighted(self) -> bool:
        return any(weighed.weight != 1 for weighed in self.queries)

    @property
    def refused(self) -> int:
        """Return how many queries could not be answered."""
        return sum(bool(weighed.problem) for weighed in self.queries)

    @property
    def shown(self) -> Sequence[str | TextTable]:
        parts: list[str | TextTable] = [
            f"{self.table} ({self.format}) at version {self.version}: {counted(self.files, 'file')},"
            f" {human_bytes(self.size_bytes)}"
        ]
        if any(weighed.now is not None for weighed in self.queries):
            parts += ["", self._effects()]
        if not all(cost.problem for cost in self.candidates):
            parts += ["", self._costs()]
        parts.append("")
        if self.refused:
            parts.append(f"{self.refused:,} of {counted(len(self.queries), 'question')} not answered:")
            parts += [f"  {weighed.query}: {weighed.problem}" for weighed in self.queries if weighed.problem]
        parts += [f"not built: {cost.candidate}: {cost.problem}" for cost in self.candidates if cost.problem]
        parts += [f"{cost.candidate}: {note}" for cost in self.candidates for note in cost.notes]
        parts += [f"{weighed.query}: {weighed.note}" for weighed in self.queries if weighed.note]
        parts += [*self._notes_of_effects(), *self._of_row_groups()]
        parts += self.notes
        if self.files:
            parts += [self._read, self.rate.said]
        return parts

    def _notes_of_effects(self) -> list[str]:
        """Return the notes on candidates; one that several queries share comes once, with the first of them."""
        queries: dict[tuple[str, str], list[str]] = {}
        for weighed in self.queries:
            for each in weighed.effects:
                if each.note and not self.cost(each.candidate).problem:
                    queries.setdefault((each.candidate, each.note), []).append(weighed.query)
        notes = []
        for (candidate, note), of in queries.items():
            more = f" and {len(of) - 1:,} more" if len(of) > 1 else ""
            notes.append(f"{candidate} for {of[0]}{more}: {note}")
        return notes

    def _of_row_groups(self) -> list[str]:
        """Return the advice for the query that loses most to large row groups."""
        readings = [(weighed, weighed.reading) for weighed in self.queries if weighed.reading is not None]
        advised = [(weighed, reading) for weighed, reading in readings if reading.advice]
        lost = max(advised, key=lambda pair: pair[0].weight * pair[1].expected_ms, default=None)
        return [] if lost is None else [f"{lost[0].query}: {lost[1].advice}"]

    def _effects(self) -> TextTable:
        weight = ["times>"] if self._weighted else []
        columns = Column.named(*weight, "query", "with", "files>", "row groups>", "bytes>", "saved>")
        rows: list[tuple[str, ...]] = []
        for weighed in self.queries:
            if weighed.now is None:
                continue
            times = (f"{weighed.weight:,}",) if weight else ()
            rows.append((*times, weighed.query, "as it is", *_cells(weighed.now), ""))
            for each in weighed.effects:
                if self.cost(each.candidate).problem:
                    continue
                now = each.instead_of_bytes or weighed.now.size_bytes.expected
                saved = each.saved_of(weighed.now).expected / now if now else 0.0
                rows.append((*("" for _ in weight), "", each.candidate, *_cells(each.reads), percent(saved)))
        return TextTable(columns, tuple(rows))

    def _costs(self) -> TextTable:
        titles = ("candidate", "size>", "of the table>", "CPU to build>", "a day: bytes>", "a day: CPU>")
        columns = Column.named(*titles, *(["saved over the workload>"] if self._over else []))
        return TextTable(columns, tuple(self._cost(cost) for cost in self.candidates if not cost.problem))

    @property
    def _over(self) -> bool:
        """Return whether there is more than one query, so that a sum is of interest."""
        return sum(weighed.weight for weighed in self.queries if weighed.now is not None) > 1

    def _cost(self, cost: Cost) -> tuple[str, ...]:
        size = cost.size_bytes
        share = "-" if size is None or not self.size_bytes else percent(size.expected / self.size_bytes)
        cpu = "-" if cost.build_cpu_seconds is None else duration(int(cost.build_cpu_seconds * 1000))
        day = ("-", "-")
        if cost.upkeep is not None:
            day = (in_bytes(cost.upkeep.size_bytes), duration(int(cost.upkeep.cpu_seconds * 1000)))
        saved: tuple[str, ...] = ()
        if self._over:
            bytes_saved = self.saved(cost.candidate)
            part = percent(bytes_saved.expected / self.read_bytes) if self.read_bytes else "-"
            saved = (f"{in_words(bytes_saved, in_bytes)}, {part}",)
        return (cost.candidate, "-" if size is None else in_words(size, in_bytes), share, cpu, *day, *saved)

    @property
    def _read(self) -> str:
        sample = self.sampled
        if not sample.files:
            return f"no file was read: {sample.reason}" if sample.reason else "no file was read"
        share = percent(sample.size_bytes / max(sample.total_bytes, 1))
        read = f"{human_bytes(sample.size_bytes)} of {counted(sample.files, 'file')} ({share} of the table)"
        limit = human_bytes(sample.limit_bytes)
        estimated = self._spread.is_open or any(not each.exact for weighed in self.queries for each in weighed.effects)
        bounds = "; a range in brackets holds the truth with 90%" if estimated else ""
        return f"read for this: {read}; the limit was {limit}{bounds}"

    def to_json(self) -> dict[str, object]:
        """Plain data for machines."""
        saved = [{**cost.to_json(), "saved_bytes": self.saved(cost.candidate).to_json()} for cost in self.candidates]
        facts = self._plain("table format version files size_bytes queries refused")
        return {**facts, "candidates": saved, **self._plain("read_bytes reads_bytes sampled rate notes")}


def _cells(reads: Reads) -> tuple[str, str, str]:
    groups = "-" if reads.row_groups is None else in_words(reads.row_groups, in_numbers)
    return in_words(reads.files, in_numbers), groups, in_words(reads.size_bytes, in_bytes)
