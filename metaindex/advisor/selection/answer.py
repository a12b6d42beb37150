"""An index that is recommended, as a line of Python that creates it, and a name that no other index has."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import field
from typing import Final

from metaindex.advisor.clustering.layouts import Advice, text_python
from metaindex.advisor.clustering.sample import Sampled
from metaindex.advisor.hypothetical.answer import Rate, Upkeep
from metaindex.advisor.hypothetical.estimates import Estimate, in_bytes, in_numbers, in_words, sum_of
from metaindex.core import Column, Cure, Plain, Shown, TextTable, counted, dataclass, duration, human_bytes, percent
from metaindex.expressions import column_sql, parse_path
from metaindex.index import KINDS, Kind
from metaindex.query import RowReading

from .choosing import Budget

_NO_NAME: Final = re.compile(r"[^a-z0-9]+")
_LONGEST: Final = 48


def name_of(kinds: Sequence[Kind], taken: Collection[str]) -> str:
    """Name an index by its kinds and columns: `values_tailnum`; a number follows if it is taken. Names that differ in
    capitals alone are one on some disks."""
    words = "_".join([*dict.fromkeys(kind.name for kind in kinds), *_columns(kinds)])
    name = _NO_NAME.sub("_", words.lower())[:_LONGEST].strip("_") or "recommended"
    others = {other.lower() for other in taken}
    number = 1
    while (free := name if number == 1 else f"{name}_{number}") in others:
        number += 1
    return free


def _columns(kinds: Sequence[Kind]) -> list[str]:
    return list(dict.fromkeys(name for kind in kinds for key in KINDS.using(kind).keys for name in key))


def title_of(kinds: Sequence[Kind]) -> str:
    return " + ".join(kind.title for kind in kinds)


def create_python(name: str, kinds: Sequence[Kind]) -> str:
    """A line that creates the index; `table` is the table."""
    return f"table.create_index({', '.join([text_python(name), *map(kind_python, kinds)])})"


def kind_python(kind: Kind) -> str:
    """Write a kind in Python: `mi.Values("tailnum")`; a kind of another package by its class."""
    using = KINDS.using(kind)
    positional: list[object] = [key[0] if len(key) == 1 else key for key in using.keys]
    named = dict(using.options)
    if kind.keeps_rows:
        indexed = [name for key in using.keys for name in key]
        positional, named = [], {"indexed": indexed, "included": [*using.included], **named}
    called = f"mi.{type(kind).__name__}" if type(kind) in KINDS else type(kind).__name__
    words = [*map(_python, positional), *(f"{name}={_python(value)}" for name, value in named.items() if value != [])]
    return f"{called}({', '.join(words)})"


def _python(value: object) -> str:
    match value:
        case str():
            return text_python(value)
        case tuple():
            return f"({', '.join(map(_python, value))},)" if len(value) == 1 else f"({', '.join(map(_python, value))})"
        case list():
            return f"[{', '.join(map(_python, value))}]"
        case _:
            return repr(value)


def table_sql(format_: str, path: str, name: str) -> str:
    """Write a table in Spark's SQL: by its name in a catalog, else by its path."""
    return column_sql(parse_path(name)) if name else f"{format_}.{column_sql((path,))}"


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
class RecommendedIndex(Plain):
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
        return KINDS.create_text(self.name, self.sql_name, self.kinds)

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
        adds = "title adds_bytes adds_files saved_share saved read_bytes reads_bytes queries"
        helps = "helps helps_queries left_out size_bytes build_cpu_seconds upkeep_a_day=upkeep"
        return {
            **self._plain("table name"),
            "kinds": [kind.spec().to_json() for kind in self.kinds],
            **self._plain(f"{adds} {helps} break_even notes python sql"),
        }


@dataclass(frozen=True, slots=True)
class PassedOver(Plain):
    """A candidate that is not recommended, and why. `judged`: False if it was not tried: nothing is known of it."""

    JSON = "candidate judged reason"
    candidate: str
    reason: str
    judged: bool = True


@dataclass(frozen=True, slots=True)
class UnusedIndex(Plain):
    """An existing index without which no query of the workload would read more. `helped`: how many of the queries in
    the table's query log it helped, None if there is no log."""

    JSON = "index size_bytes helped_in_query_log=helped"
    index: str
    size_bytes: int
    helped: int | None = None

    @property
    def said(self) -> str:
        logged = "" if self.helped is None else f"; it helped {self.helped:,} of the queries in the query log"
        return f"{self.index} ({human_bytes(self.size_bytes)}){logged}"


@dataclass(frozen=True, slots=True)
class TableAdvice(Plain):
    """The advice for one table of the workload. `reads_bytes`: by its queries now; `then_bytes`: with all that is
    recommended; `saved`: the share that they do not read then; `refused`: queries that cannot be answered, with their
    reasons; `passed`: candidates that are not recommended; `layouts`: where the rows would have to lie for what no
    index helps; `reading`: what it takes to read one row by key, for the query of most weight whose row groups are too
    large for that, else of most weight; None if no footer tells."""

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
    reading: RowReading | None = None

    @property
    def read_bytes(self) -> float:
        """Return the bytes that its queries are expected to read now."""
        return self.reads_bytes.expected

    @property
    def saved_share(self) -> float:
        """Return the expected share of what is read now."""
        return self.saved.expected

    @property
    def unjudged(self) -> tuple[PassedOver, ...]:
        """Return the candidates of which nothing is known."""
        return tuple(passed for passed in self.passed if not passed.judged)

    def to_json(self) -> dict[str, object]:
        """Plain data for machines."""
        sizes = "files size_bytes queries read_bytes reads_bytes then_bytes saved_share saved"
        return {
            **self._plain(f"table format version {sizes}"),
            "refused": [{"query": query, "problem": problem} for query, problem in self.refused],
            **self._plain("not_recommended=passed unused layouts sampled rate reading notes"),
        }


_LARGE = 0.5
"""Of the bytes of the tables: indexes that take more are told to."""
_MOST_SHOWN = 10
"""Of what is told line by line and decides nothing."""


@dataclass(frozen=True, slots=True, repr=False)
class CreatedIndex(Shown, Plain):
    """The outcome of creating a recommended index. `problem`: why there is none, else empty."""

    table: str
    name: str
    problem: str = ""
    notes: tuple[str, ...] = ()

    @property
    def shown(self) -> Sequence[str]:
        what = f"not created: {self.problem}" if self.problem else "created"
        return (f"{self.table}: {self.name}: {what}", *(f"  {note}" for note in self.notes))


class CreatedIndexes(Shown, tuple[CreatedIndex, ...]):
    """The outcomes, in the order in which the indexes were recommended."""

    __slots__ = ()

    @property
    def brief(self) -> str:
        failed = sum(bool(index.problem) for index in self)
        return counted(len(self) - failed, "index") + " created" + (f", {failed:,} not" if failed else "")

    @property
    def shown(self) -> Sequence[str]:
        return [line for index in self for line in index.shown] or ["no index is recommended"]


@dataclass(frozen=True, slots=True, repr=False)
class Recommendation(Shown, Plain):
    """The indexes to build for a workload, in the order in which they are best built. Nothing was built; `create` does.
    `days`: the time span of the workload, None if unknown; `budget`: None for a part without one."""

    JSON = (
        "queries templates days budget_bytes budget_cpu_seconds read_bytes saved_bytes size_bytes indexes tables notes"
    )
    indexes: tuple[RecommendedIndex, ...]
    tables: tuple[TableAdvice, ...]
    queries: int
    templates: int
    days: float | None = None
    budget_bytes: float | None = None
    budget_cpu_seconds: float | None = None
    notes: tuple[str, ...] = ()
    creates: Callable[[RecommendedIndex, object, object], CreatedIndex] | None = field(
        default=None, repr=False, compare=False
    )

    def __getitem__(self, name: str) -> RecommendedIndex:
        """Return a recommended index by its name. Raises KeyError if there is none."""
        for index in self.indexes:
            if index.name == name:
                return index
        names = ", ".join(index.name for index in self.indexes)
        raise KeyError(f"an index of this answer is one of {names or 'none'}; got {name!r}")

    @property
    def size_bytes(self) -> Estimate:
        """Return the size of all recommended indexes together; the bounds are the sums of theirs."""
        return sum_of([index.size_bytes for index in self.indexes])

    @property
    def read_bytes(self) -> float:
        """Return the bytes that the workload reads now, of all its tables."""
        return sum(table.read_bytes for table in self.tables)

    @property
    def saved_bytes(self) -> float:
        """Return the bytes that the workload would not read any more."""
        return sum(table.read_bytes - table.then_bytes.expected for table in self.tables)

    @property
    def unused(self) -> tuple[tuple[str, UnusedIndex], ...]:
        """Tables, and indexes of theirs that no query of the workload uses."""
        return tuple((table.table, unused) for table in self.tables for unused in table.unused)

    def create(self, builder: object = None, progress: object = None) -> CreatedIndexes:
        """Create the indexes, one after another. `builder`, `progress`: as `Table.create_index` takes them. One that
        fails is reported, and the others are created."""
        assert self.creates is not None, "made by recommend()"
        return CreatedIndexes(self.creates(index, builder, progress) for index in self.indexes)

    @property
    def shown(self) -> Sequence[str | TextTable]:
        if not self.indexes:
            return self.advised
        lines = [f"  {self._line(index)}" for index in self.indexes]
        return [*self.advised, "", f"to create them (or: {Cure('create')}):", *lines]

    @property
    def advised(self) -> list[str | TextTable]:
        """Return `shown` without the lines that create."""
        parts: list[str | TextTable] = [f"{self._asked}{self._budgeted}", *self._large, *self._of_spark, *self.notes]
        for table in self.tables:
            parts += ["", *self._of_table(table)]
        return parts

    @property
    def _large(self) -> list[str]:
        """Return a remark if the indexes take much of what their tables do."""
        tables = sum(table.size_bytes for table in self.tables)
        if self.budget_bytes is not None or not tables or self.size_bytes.expected <= _LARGE * tables:
            return []
        share, cure = percent(self.size_bytes.expected / tables), Cure("argument", "budget_bytes")
        return [f"together they take {share} of what the tables take; with a budget ({cure}) it is less"]

    @property
    def _of_spark(self) -> list[str]:
        """Return a remark that names indexes of no use without Spark."""
        names = [index.name for index in self.indexes if any(kind.needs_spark for kind in index.kinds)]
        if not names:
            return []
        note = f"{', '.join(names)}: built by Spark, and of use to its queries alone"
        return [f"{note}; {Cure('argument', 'copies', False)} recommends what every engine uses"]

    def _line(self, index: RecommendedIndex) -> str:
        """Return the Python line that creates the index; it runs behind `import metaindex as mi`."""
        how = "".join(
            f", {name}={text_python(value) if isinstance(value, str) else value}" for name, value in index.options
        )
        return index.python.replace("table", f"mi.open_table({text_python(index.table)}{how})", 1)

    @property
    def _asked(self) -> str:
        period = "" if self.days is None else f" of {duration(round(self.days * 86_400_000))}"
        asked = "query" if self.queries == 1 else "queries"
        queries = f"{self.queries:,} {asked} of {counted(self.templates, 'template')}"
        unjudged = sum(len(table.unjudged) for table in self.tables)
        if unjudged and unjudged == sum(len(table.passed) for table in self.tables) and not self.indexes:
            return (
                f"{queries}{period}: indexes {next(table.unjudged[0].reason for table in self.tables if table.passed)}"
            )
        many = counted(len(self.indexes), "index") if self.indexes else "no index"
        size = f" of {in_bytes(self.size_bytes.expected)}" if self.indexes else ""
        but = f"; {counted(unjudged, 'candidate')} could not be judged" if unjudged else ""
        return f"{queries}{period}: {many}{size} recommended{but}"

    @property
    def _budgeted(self) -> str:
        limits = []
        if self.budget_bytes is not None:
            limits.append(in_bytes(self.budget_bytes))
        if self.budget_cpu_seconds is not None:
            limits.append(f"{duration(round(self.budget_cpu_seconds * 1000))} of processor time")
        return f" within {' and '.join(limits)}" if limits else ""

    def _of_table(self, table: TableAdvice) -> list[str | TextTable]:
        indexes = [index for index in self.indexes if index.table == table.table]
        then = (
            f", then {in_words(table.then_bytes, in_bytes)} ({in_words(table.saved, percent)} less)" if indexes else ""
        )
        parts: list[str | TextTable] = [
            f"{table.table} ({table.format}) at version {table.version}: {counted(table.files, 'file')},"
            f" {human_bytes(table.size_bytes)}; the workload reads {in_words(table.reads_bytes, in_bytes)} of it{then}"
        ]
        if indexes:
            parts.append(_table_of(indexes))
            parts += [f"{index.name}: {note}" for index in indexes for note in index.notes]
        judged = [f"{passed.candidate}: {passed.reason}" for passed in table.passed if passed.judged]
        parts += _lines(judged, "not recommended", bool(indexes))
        for reason in dict.fromkeys(passed.reason for passed in table.unjudged):
            names = [passed.candidate for passed in table.unjudged if passed.reason == reason]
            parts += _lines(names, reason, bool(indexes))
        if table.unused:
            parts.append(f"no query of the workload would read more without ({Cure('drop')}, or drop them later):")
            parts += [f"  {unused.said}" for unused in table.unused]
        if table.layouts:
            parts.append("what no index helps, another layout does:")
            parts += [part for layout in table.layouts for part in layout.shown]
        parts += _lines([f"{query}: {problem}" for query, problem in table.refused], "not answered", True)
        parts += table.notes
        if table.sampled.files:
            share = percent(table.sampled.size_bytes / max(table.sampled.total_bytes, 1))
            parts.append(
                f"read for this: {human_bytes(table.sampled.size_bytes)} of {counted(table.sampled.files, 'file')}"
                f" ({share} of the table); a range in brackets holds the truth with 90%"
            )
        if table.files:
            parts.append(table.rate.said)
        return parts


def budget_of(size_bytes: float | None, cpu_seconds: float | None) -> Budget:
    """None is no limit."""
    endless = float("inf")
    return Budget(endless if size_bytes is None else size_bytes, endless if cpu_seconds is None else cpu_seconds)


def _table_of(indexes: Sequence[RecommendedIndex]) -> TextTable:
    titles = ("queries>", "it leaves out>", "of the reads>", "size>", "CPU to build>", "upkeep a day>", "pays after>")
    columns = Column.named("index", "of", *titles)
    shares = tuple(index.saved_share for index in indexes)
    return TextTable(columns, tuple(map(_row, indexes)), bars=((3, shares),), pale=True)


def _row(index: RecommendedIndex) -> tuple[str, ...]:
    cpu = "-" if index.build_cpu_seconds is None else duration(round(index.build_cpu_seconds * 1000))
    upkeep = "-" if index.upkeep is None else in_bytes(index.upkeep.size_bytes)
    return (
        index.name,
        index.title,
        in_words(index.helps_queries, in_numbers),
        in_words(index.adds_bytes, in_bytes),
        in_words(index.saved, percent),
        in_words(index.size_bytes, in_bytes),
        cpu,
        upkeep,
        str(index.break_even),
    )


def _lines(texts: Sequence[str], title: str, few: bool) -> list[str]:
    """Return a titled list, cut after its first lines."""
    most = _MOST_SHOWN if few else 2 * _MOST_SHOWN
    more = [f"  and {len(texts) - most:,} more ({Cure('all')})"] if len(texts) > most else []
    return [f"{title}:", *(f"  {line}" for line in texts[:most]), *more] if texts else []
