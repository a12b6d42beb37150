"""The answer: indexes to create, those that nothing uses, layouts that help where no index does; and why nothing more.

Bytes are those of the workload: of each query as often as it is asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field

from metaindex.advisor.hypothetical.posterior import Estimate
from metaindex.core import Column, Plain, Shown, Tabular, TextTable, counted, dataclass, duration, percent, plain
from metaindex.expressions import text_python
from metaindex.query import human_bytes

from .choosing import Budget
from .pieces import RecommendedIndex, TableAdvice, UnusedIndex

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
class Recommendation(Shown):
    """The indexes to build for a workload, in the order in which they are best built. Nothing was built; `create` does.
    `days`: the time span of the workload, None if unknown; `budget`: None for a part without one."""

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
        sizes = [index.size_bytes for index in self.indexes]
        low, expected, high = (sum(getattr(size, end) for size in sizes) for end in ("low", "expected", "high"))
        return Estimate(float(low), float(expected), float(high))

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
    def shown(self) -> Sequence[str | Tabular]:
        if not self.indexes:
            return self.advised
        lines = [f"  {self._line(index)}" for index in self.indexes]
        return [*self.advised, "", "to create them (or: --create; create() of this answer):", *lines]

    @property
    def advised(self) -> list[str | Tabular]:
        """Return `shown` without the lines that create."""
        parts: list[str | Tabular] = [f"{self._asked}{self._budgeted}", *self._large, *self._of_spark, *self.notes]
        for table in self.tables:
            parts += ["", *self._of_table(table)]
        return parts

    @property
    def _large(self) -> list[str]:
        """Return a remark if the indexes take much of what their tables do."""
        tables = sum(table.size_bytes for table in self.tables)
        if self.budget_bytes is not None or not tables or self.size_bytes.expected <= _LARGE * tables:
            return []
        share = percent(self.size_bytes.expected / tables)
        return [
            f"together they take {share} of what the tables take; with a budget (budget_bytes=, --budget) it is less"
        ]

    @property
    def _of_spark(self) -> list[str]:
        """Return a remark that names indexes of no use without Spark."""
        names = [index.name for index in self.indexes if any(kind.needs_spark for kind in index.kinds)]
        if not names:
            return []
        said = f"{', '.join(names)}: built by Spark, and of use to its queries alone"
        return [f"{said}; copies=False recommends what every engine uses"]

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
        many = counted(len(self.indexes), "index") if self.indexes else "no index"
        size = f" of {human_bytes(round(self.size_bytes.expected))}" if self.indexes else ""
        return f"{queries}{period}: {many}{size} recommended"

    @property
    def _budgeted(self) -> str:
        limits = []
        if self.budget_bytes is not None:
            limits.append(human_bytes(round(self.budget_bytes)))
        if self.budget_cpu_seconds is not None:
            limits.append(f"{duration(round(self.budget_cpu_seconds * 1000))} of processor time")
        return f" within {' and '.join(limits)}" if limits else ""

    def _of_table(self, table: TableAdvice) -> list[str | Tabular]:
        indexes = [index for index in self.indexes if index.table == table.table]
        then = f", then {with_bounds(table.then_bytes)} ({share_with_bounds(table.saved)} less)" if indexes else ""
        parts: list[str | Tabular] = [
            f"{table.table} ({table.format}) at version {table.version}: {counted(table.files, 'file')},"
            f" {human_bytes(table.size_bytes)}; the workload reads {with_bounds(table.reads_bytes)} of it{then}"
        ]
        if indexes:
            parts.append(_table_of(indexes))
            parts += [f"{index.name}: {note}" for index in indexes for note in index.notes]
        parts += _lines(
            [f"{passed.candidate}: {passed.reason}" for passed in table.passed], "not recommended", bool(indexes)
        )
        if table.unused:
            parts.append("no query of the workload would read more without (delete_index, or drop them later):")
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

    def to_json(self) -> dict[str, object]:
        """Plain data for machines."""
        names = ("queries", "templates", "days", "budget_bytes", "budget_cpu_seconds", "read_bytes", "saved_bytes")
        told: dict[str, object] = plain(self, *names, "size_bytes", "indexes", "tables", "notes")
        return told


def budget_of(size_bytes: float | None, cpu_seconds: float | None) -> Budget:
    """None is no limit."""
    endless = float("inf")
    return Budget(endless if size_bytes is None else size_bytes, endless if cpu_seconds is None else cpu_seconds)


def _table_of(indexes: Sequence[RecommendedIndex]) -> TextTable:
    titles = ("queries", "it leaves out", "of the reads", "size", "CPU to build", "upkeep a day", "pays after")
    columns = (Column("index"), Column("of"), *(Column(title, right=True) for title in titles))
    return TextTable(columns, tuple(map(_row, indexes)))


def _row(index: RecommendedIndex) -> tuple[str, ...]:
    cpu = "-" if index.build_cpu_seconds is None else duration(round(index.build_cpu_seconds * 1000))
    upkeep = "-" if index.upkeep is None else human_bytes(round(index.upkeep.size_bytes))
    return (
        index.name,
        index.title,
        with_bounds(index.helps_queries, "{:,}".format),
        with_bounds(index.adds_bytes),
        share_with_bounds(index.saved),
        with_bounds(index.size_bytes),
        cpu,
        upkeep,
        str(index.break_even),
    )


def with_bounds(estimate: Estimate, shown: Callable[[int], str] = human_bytes) -> str:
    """Format a number, with its bounds if it is an estimate."""
    low, expected, high = (shown(round(end)) for end in (estimate.low, estimate.expected, estimate.high))
    return expected if low == high else f"{expected} [{low} to {high}]"


def share_with_bounds(share: Estimate) -> str:
    """Format a share like `with_bounds`."""
    low, expected, high = (percent(end) for end in (share.low, share.expected, share.high))
    return expected if low == high else f"{expected} [{low} to {high}]"


def _lines(said: Sequence[str], title: str, few: bool) -> list[str]:
    """Return a titled list, cut after its first lines."""
    most = _MOST_SHOWN if few else 2 * _MOST_SHOWN
    more = [f"  and {len(said) - most:,} more (to_json() and --json have all)"] if len(said) > most else []
    return [f"{title}:", *(f"  {line}" for line in said[:most]), *more] if said else []
