"""The needs of a table's indexes, and what upkeep is worth, found cheaply by latest entries and the table's log;
how often a table is asked, the hourly budgets, and events that tell of it."""

from __future__ import annotations

import datetime as dt
import random
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from metaindex.advisor import computed_savings
from metaindex.core import ArgumentError, DamagedIndexError, MetaIndexError, Plain, counted
from metaindex.formats import At, Version
from metaindex.index import IndexLogEntry, OpenIndex
from metaindex.ops.hooks.keep import IndexKey, in_namespaces, is_left_over, living_or_why, stands_at, unusable
from metaindex.query import TableQueryLog
from metaindex.table import Table, handle_of

from .asking import LakePlace, Problem

_DAY_MS: Final = 86_400_000
_SINCE_DAYS: Final = 30
_MOST_ROWS: Final = 100_000


@dataclass(frozen=True, slots=True)
class UpkeepNeed:
    """An index that is behind; of one that is not weighed no more is known. `new_bytes`: of files that came;
    `cost_bytes`: these, and what a refresh of so many writes by what the index takes now; `spared_bytes_a_day`: what
    noted queries of the last 30 days would be spared of the files that came, None if none is noted; `stale_share`: of
    the bytes of the table."""

    place: LakePlace
    namespace: str | None
    index: str
    new_bytes: int = 0
    cost_bytes: float = 0.0
    spared_bytes_a_day: float | None = None
    stale_share: float = 0.0

    @property
    def key(self) -> IndexKey:
        return self.namespace, self.index

    @property
    def rank(self) -> tuple[float, float]:
        """Return the rank, greatest first: by what is spared a day for a byte of upkeep, or else by staleness."""
        return (self.spared_bytes_a_day or 0.0) / max(self.cost_bytes, 1.0), self.stale_share


@dataclass(frozen=True, slots=True)
class TableState:
    """A table as it was asked. `problem`: why it, or the list of its indexes, cannot be; `indexes`: that are followed;
    `damaged`: those of them that cannot be kept fresh, or that no query can use, and why; `sound`: entries of which no
    more need be looked at; `gone`: it is no table any more; `names`: of all its indexes."""

    version: str = ""
    indexes: int = 0
    needs: tuple[UpkeepNeed, ...] = ()
    damaged: tuple[tuple[IndexKey, str], ...] = ()
    sound: frozenset[tuple[IndexKey, int]] = frozenset()
    problem: str = ""
    seconds: float = 0.0
    gone: bool = False
    names: frozenset[str] = frozenset()


def needs_of(
    place: LakePlace,
    only: Collection[str] | None,
    sound: Collection[tuple[IndexKey, int]] = (),
    *,
    weigh: bool = True,
) -> TableState:
    """Return the needs of a table's indexes; raises nothing. `sound`: the previous answer; `weigh`: compute what a need
    is worth? That takes the table's files and its query log."""
    started = time.perf_counter()
    answer = place.answer(lambda: _asked(place, only, sound, weigh))
    state = TableState(problem=answer.why) if isinstance(answer, Problem) else answer or TableState(gone=True)
    return replace(state, seconds=time.perf_counter() - started)


def _asked(
    place: LakePlace, only: Collection[str] | None, sound: Collection[tuple[IndexKey, int]], weigh: bool
) -> TableState:
    table = place.open()
    handle = handle_of(table)
    there = [(member, name, entry) for member in in_namespaces(table) for name, entry in living_or_why(member)]
    names = frozenset(name for _, name, _ in there)
    members = [each for each in there if only is None or each[1] in only]
    if not members and weigh:  # of a table that is named its version is told all the same
        return TableState(names=names)
    version = handle.table_format.resolve(handle.ref, At())
    needs: list[UpkeepNeed] = []
    damaged: list[tuple[IndexKey, str]] = []
    looked_at = set()
    for member, name, entry in members:
        key = (member.config.namespace, name)
        if isinstance(entry, str):
            damaged.append((key, entry))
            continue
        # A text file means what its options make of it: so does a version of such files.
        built = Table(handle_of(member).as_built(entry))
        own = handle_of(built)
        now = version if own.ref is handle.ref else own.table_format.resolve(own.ref, At())
        try:
            if not stands_at(built, name, entry, now) or is_left_over(built, name, entry):
                need = _need(place, built, name, entry, now) if weigh else UpkeepNeed(place, key[0], name)
                needs.append(need)
                continue
            problem = "" if (key, entry.id) in sound else unusable(built, name, entry)
        except DamagedIndexError as error:  # the other indexes are brought up
            problem = str(error)
        if problem:
            damaged.append((key, problem))
        else:
            looked_at.add((key, entry.id))
    return TableState(version.id, len(members), tuple(needs), tuple(damaged), frozenset(looked_at), names=names)


def _need(place: LakePlace, table: Table, name: str, entry: IndexLogEntry, version: Version) -> UpkeepNeed:
    handle = handle_of(table)
    index = OpenIndex.of(name, entry, handle.indexes().log(name).storage)
    late = handle.indexes().staleness(index, At.of(version), version)
    newest = index.versions.newest()
    size = newest.size_bytes if newest is not None else 0
    stored = sum(run.size_bytes for run in entry.content.runs)
    written = stored * late.new_bytes / size if size else 0.0
    return UpkeepNeed(
        place,
        table.config.namespace,
        name,
        late.new_bytes,
        late.new_bytes + written,
        _spared(table, name, late.new_bytes),
        (late.new_bytes + late.gone_bytes) / max(size + late.new_bytes, 1),
    )


def _spared(table: Table, name: str, new_bytes: int) -> float | None:
    """Queries a day that the index helps, times what it leaves out of what these would read of the files that came."""
    handle = handle_of(table)
    try:
        queries = handle.made(TableQueryLog).read(dt.timedelta(days=_SINCE_DAYS), _MOST_ROWS)
        if not queries.rows.num_rows:
            return None
        told = computed_savings(handle.path, queries, (), {})
        spared = next((each.spared for each in told.indexes if each.name == name), None)
    except MetaIndexError:
        return None  # it is told where savings are asked for; freshness does not hang on it
    if spared is None:
        return 0.0
    read = spared.bytes_read + spared.bytes_left_out
    return spared.helped / _SINCE_DAYS * new_bytes * (spared.bytes_left_out / read if read else 0.0)


ITSELF: Final[IndexKey] = (None, "")
"""In place of an index: the table."""
SHARE: Final = 20
"""A table is asked again after at least this many times the time that the asking took."""
_NAMED: Final = 5

EventKind = Literal["fresh", "refreshed", "failed", "unreadable", "stopped", "summed", "looked", "shared", "left"]


@dataclass(frozen=True, slots=True)
class Event(Plain):
    """An action or observation of a watcher. `refreshed` and `failed` are of an index, `unreadable` is of a table that
    could not be read; both come once for what stays as it is. The message of `refreshed` is what the refresh tells.
    `fresh`: every index stands at the version, or the one that is named, which failed before as others still do;
    `summed`: how many tables there are and fail, if that has changed. Of a lake: `looked` for tables; `shared`: another
    brings the index up, or did; `left`: it waits for the budget."""

    kind: EventKind
    table: str
    index: str = ""
    version: str = ""
    seconds: float = 0.0
    message: str = ""
    at_ms: int = field(default_factory=lambda: int(time.time() * 1000))
    namespace: str | None = None


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds between two questions to one table: `every` while it changes, doubling to `idle` while it does not, and
    to `error` while it cannot be read."""

    every: float = 2.0
    idle: float = 30.0
    error: float = 300.0

    def after(self, quiet: int, failures: int, asking_seconds: float) -> float:
        """The pause after `quiet` questions without news, or `failures` in a row."""
        limit = self.error if failures else self.idle
        pause = min(self.every * float(1 << min(failures or quiet, 30)), max(limit, self.every))
        return max(pause, asking_seconds * SHARE) * random.uniform(0.75, 1.25)  # noqa: S311 - jitter


@dataclass(slots=True)
class Failures:
    """Failures of one table, each reported once while it stays as it is, and anew if it fails otherwise."""

    _why: dict[IndexKey, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self._why)

    def is_news(self, key: IndexKey, why: str) -> bool:
        """Note a failure, and return whether it is new. An unreadable table says nothing of its indexes."""
        news = self._why.get(key) != why
        if key == ITSELF:
            self._why.clear()
        self._why[key] = why
        return news

    def all_but(self, failing: Collection[IndexKey]) -> list[IndexKey]:
        """Return, and forget, the failures that are none of these: they are mended."""
        mended = [key for key in self._why if key not in failing]
        for key in mended:
            del self._why[key]
        return mended

    def forget(self, key: IndexKey) -> None:
        """Forget a failure that is mended, and was reported so."""
        self._why.pop(key, None)


def counted_failing(tables: int, failing: Sequence[str]) -> list[str]:
    """Return how many tables there are, and how many of them fail, by name while they are few."""
    if not failing:
        return [counted(tables, "table")]
    more = [f"{len(failing) - _NAMED:,} more"] if len(failing) > _NAMED else []
    names = ", ".join([*failing[:_NAMED], *more])
    return [counted(tables, "table"), f"{len(failing):,} {'fails' if len(failing) == 1 else 'fail'} ({names})"]


_HOUR: Final = 3600.0


@dataclass(slots=True)
class TokenBucket:
    """A bucket that holds an hour's budget and fills up evenly. What fits is taken out; what costs more than was
    expected leaves a debt, which is waited for: over any longer time no more is spent than the budget, and one thing
    besides. What costs more than a whole budget is done when the bucket is full. `per_hour`: None for no limit."""

    per_hour: float | None
    clock: Callable[[], float] = time.monotonic
    _level: float = field(init=False, default=0.0)
    _at: float = field(init=False, default=0.0)

    def __post_init__(self) -> None:
        if self.per_hour is not None and not 0 < self.per_hour < 1e18:
            raise ArgumentError(f"a budget an hour is a number above 0, or None; got {self.per_hour!r}; give one")
        self._level, self._at = self.per_hour or 0.0, self.clock()

    @property
    def level(self) -> float:
        """Return what is in it now; below 0 a debt."""
        if self.per_hour is None:
            return float("inf")
        now = self.clock()
        self._level = min(self._level + (now - self._at) * self.per_hour / _HOUR, self.per_hour)
        self._at = now
        return self._level

    def wait_seconds(self, cost: float) -> float:
        """Return the seconds until so much fits."""
        if self.per_hour is None:
            return 0.0
        lacking = min(cost, self.per_hour) - self.level
        return max(lacking, 0.0) * _HOUR / self.per_hour if lacking > 0 else 0.0

    def spend(self, cost: float) -> None:
        """Takes out what was used."""
        if self.per_hour is not None:
            self._level = self.level - cost


@dataclass(slots=True)
class UpkeepBudget:
    """A budget of bytes (of files that came, and those written to indexes) and of processor seconds."""

    bytes_per_hour: float | None = None
    cpu_seconds_per_hour: float | None = None
    clock: Callable[[], float] = time.monotonic
    cpu_clock: Callable[[], float] = time.process_time
    bytes: TokenBucket = field(init=False)
    cpu: TokenBucket = field(init=False)
    _spent: float = field(init=False, default=0.0)
    _cpu_of_bytes: float = field(init=False, default=0.0)  # seconds a byte, as refreshes have taken

    def __post_init__(self) -> None:
        self.bytes = TokenBucket(self.bytes_per_hour, self.clock)
        self.cpu = TokenBucket(self.cpu_seconds_per_hour, self.clock)
        self._spent = self.cpu_clock()

    def wait_seconds(self, cost_bytes: float) -> float:
        """Return the seconds until a refresh of so many bytes fits. Other threads of our process count as ours."""
        self.settle()
        least = max(cost_bytes * self._cpu_of_bytes, 1e-9)
        return max(self.bytes.wait_seconds(cost_bytes), self.cpu.wait_seconds(least))

    def settle(self) -> float:
        """Takes out the processor time since the last call; returns it."""
        now = self.cpu_clock()
        used, self._spent = now - self._spent, now
        self.cpu.spend(used)
        return used

    def refreshed(self, cost_bytes: float, cpu_seconds: float) -> None:
        """A refresh has read and written so much; its processor time is taken out already."""
        self.bytes.spend(cost_bytes)
        if cost_bytes > 0:
            rate = cpu_seconds / cost_bytes
            self._cpu_of_bytes = rate if not self._cpu_of_bytes else 0.7 * self._cpu_of_bytes + 0.3 * rate
