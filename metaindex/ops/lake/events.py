"""Events of a watcher, the pace of its questions, the failures that it has reported already, and the hourly budgets of
a store and a processor that upkeep may use."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from metaindex.core import ArgumentError, Plain, counted
from metaindex.ops.hooks.keep import IndexKey

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
