"""The history of an index: the entries of its log, one by one, and its lag behind the table's commits.

An operation that took time has two entries, its begin and its end; who it was is in its mark, which stands in the
entries between. All times are those that the writers wrote down (in an entry they never run backwards); a clock that
was wrong there is wrong here.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from metaindex.core import (
    ArgumentError,
    Column,
    MetaIndexError,
    Plain,
    Shown,
    TextTable,
    counted,
    duration,
    moment,
)
from metaindex.index import IndexFolder, IndexLogEntry

if TYPE_CHECKING:
    import pyarrow as pa

_THREADS = 16
_BRINGING_UP = ("refresh", "repair")
"""Verbs after which an index knows a later version."""
_COARSE_MS = 1000
"""The times of objects on a store are whole seconds, cut down: a Delta commit without a time of its own seems so much
older there, and the lag longer."""


@dataclass(frozen=True, slots=True)
class HistoryEntry(Plain):
    """An entry of the log. `verb`: "commit refresh", "begin optimize", "abandon create", "disable" ...; `who` and
    `duration_ms` if an operation began or ended there. `lag_ms`: from the table's commit of the recorded `version` to
    this entry, if the index existed at that time."""

    entry: int
    verb: str
    state: str
    at_ms: int
    who: str = ""
    duration_ms: int | None = None
    version: str = ""
    lag_ms: int | None = None
    runs_added: int = 0
    runs_removed: int = 0
    files_added: int = 0  # of the runs
    bytes_added: int = 0
    bytes_removed: int = 0
    problem: str = ""  # why the entry cannot be read

    @property
    def changes(self) -> str:
        """Describe what changed."""
        parts = []
        if self.version:
            parts.append(f"version {self.version} recorded")
        if self.runs_added:
            parts.append(f"{counted(self.runs_added, 'run')} of {counted(self.files_added, 'file')} added")
        if self.runs_removed:
            parts.append(f"{counted(self.runs_removed, 'run')} taken out")
        return self.problem or ", ".join(parts)


@dataclass(frozen=True, slots=True)
class Lag(Plain):
    """The time from a table's commit to the index standing at it, over the recorded versions of a history. A commit at
    which no refresh stopped is not counted: the next one served it."""

    versions: int
    median_ms: int | None = None
    p99_ms: int | None = None
    longest_ms: int | None = None

    @classmethod
    def of(cls, entries: Sequence[HistoryEntry]) -> Lag:
        """Nearest-rank percentiles: values that occurred."""
        lags = sorted(entry.lag_ms for entry in entries if entry.lag_ms is not None)
        if not lags:
            return cls(0)
        return cls(len(lags), lags[(len(lags) - 1) // 2], lags[-(-99 * len(lags) // 100) - 1], lags[-1])


@dataclass(frozen=True, slots=True, repr=False)
class History(Shown, Plain):
    """Entries, oldest first, and their lag. `earlier`: entries before these that the log still has; older ones were
    cleaned."""

    JSON = "index lag earlier entries"
    index: str
    entries: tuple[HistoryEntry, ...]
    lag: Lag
    earlier: int = 0

    @classmethod
    def of(cls, name: str, folder: IndexFolder, last: int | None = None) -> History:
        """Read the last entries (None: all that the log has). An entry that cannot be read says so in its place."""
        if last is not None and (isinstance(last, bool) or not isinstance(last, int) or last < 1):
            raise ArgumentError(
                f"a history has at least one entry; got last={last!r}; name a number from 1 on, or leave it out"
            )
        log = folder.log(name)

        def read(number: int) -> IndexLogEntry | str:
            try:
                return log.entry(number)
            except MetaIndexError as error:
                return str(error)

        numbers = log.numbers()
        shown = numbers if last is None else numbers[len(numbers) - min(last, len(numbers)) :]
        # One more before the first shown, so that it is known what that one changed.
        before = [n for n in numbers if shown and n < shown[0]][-1:]
        with ThreadPoolExecutor(_THREADS if "://" in log.storage.root else 1) as pool:
            each = list(pool.map(read, [*before, *shown]))
        entries = []
        previous: IndexLogEntry | None = None
        created_ms = 0
        for number, entry in zip([*before, *shown], each, strict=True):
            if isinstance(entry, IndexLogEntry):
                created_ms = created_ms or (entry.timestamp_ms if number == 1 else 0)
                entries.append(_told(entry, previous, created_ms))
                previous = entry
            else:
                entries.append(HistoryEntry(number, "?", "DAMAGED", 0, problem=entry))
                previous = None
        told = tuple(entries[len(before) :])
        return cls(name, told, Lag.of(told), len(numbers) - len(shown))

    @property
    def brief(self) -> str:
        return f"of {self.index}: {counted(len(self.entries), 'entry')}"

    @property
    def shown(self) -> Sequence[str | TextTable]:
        """Return the output of `metaindex history`."""
        return (history_table(self), *history_remarks(self))

    def to_arrow(self) -> pa.Table:
        """Return a row for each entry."""
        import pyarrow as pa

        return pa.Table.from_pylist([entry.to_json() for entry in self.entries], schema=self.schema())

    @staticmethod
    def schema() -> pa.Schema:
        """The columns of `History.to_arrow`."""
        import pyarrow as pa

        types = {"str": pa.string(), "int": pa.int64()}
        fields = HistoryEntry.__dataclass_fields__.values()
        return pa.schema([pa.field(f.name, types[str(f.type).removesuffix(" | None")]) for f in fields])


def history_table(told: History) -> TextTable:
    """A row an entry of the log, times in UTC."""
    return TextTable(
        (
            Column("entry", right=True),
            Column("when (UTC)"),
            Column("what"),
            Column("took", right=True),
            Column("behind", right=True),
            Column("who"),
            Column("changes"),
        ),
        tuple(
            (
                f"{entry.entry}",
                moment(entry.at_ms).removesuffix(" UTC"),
                entry.verb,
                duration(entry.duration_ms),
                duration(entry.lag_ms),
                entry.who or "-",
                entry.changes or "-",
            )
            for entry in told.entries
        ),
    )


def history_remarks(told: History) -> list[str]:
    """Return the remarks below the table: what is not shown, and the lag."""
    remarks = []
    if told.entries and not told.earlier and told.entries[0].entry > 1:
        first = told.entries[0].entry
        remarks.append(
            f"entries before {first:,} are not kept: clean removes old ones; erase removes all, as they may name values"
        )
    if told.earlier:
        remarks.append(f"{told.earlier:,} earlier entries (--last 0, or last=None, shows all)")
    lag = told.lag
    if lag.versions:
        remarks.append(
            f"lag from the table's commit to the index standing at it: median {duration(lag.median_ms)}, p99"
            f" {duration(lag.p99_ms)}, longest {duration(lag.longest_ms)}, over"
            f" {counted(lag.versions, 'recorded version')}"
        )
    return remarks


def _told(entry: IndexLogEntry, previous: IndexLogEntry | None, created_ms: int) -> HistoryEntry:
    mark = entry.mark(previous)
    changed: dict[str, int | str | None] = {}
    if previous is not None or entry.id == 1:
        changed |= entry.content.runs_since(previous.content if previous is not None else None)
        newest = entry.content.versions[-1] if entry.content.versions else None
        known = {r.version for r in previous.content.versions} if previous is not None else set()
        if newest is not None and newest.version not in known:
            changed["version"] = newest.version.id
            last = (
                previous.content.versions[-1].timestamp_ms if previous is not None and previous.content.versions else 0
            )
            brought_up = any(verb in entry.written_by for verb in _BRINGING_UP)
            if brought_up and newest.timestamp_ms >= max(created_ms - _COARSE_MS, last):
                changed["lag_ms"] = max(entry.timestamp_ms - newest.timestamp_ms, 0)
    began = entry.written_by.startswith("begin")
    return HistoryEntry(
        entry=entry.id,
        verb=entry.written_by or "?",
        state=entry.state.value,
        at_ms=entry.timestamp_ms,
        who=mark.who if mark is not None else "",
        duration_ms=max(entry.timestamp_ms - mark.since_ms, 0) if mark is not None and not began else None,
        **changed,  # type: ignore[arg-type]
    )
