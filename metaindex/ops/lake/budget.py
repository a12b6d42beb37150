"""Hourly budgets: what upkeep may take of a store and a processor.

A purse holds an hour's budget and fills up evenly. What fits is taken out; what turns out to cost more than was thought
leaves a debt, which is waited for: over any longer time no more is spent than the budget, and one thing besides. What
costs more than a whole budget is done when the purse is full."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from metaindex.core import ArgumentError

_HOUR: Final = 3600.0


@dataclass(slots=True)
class TokenBucket:
    """`per_hour`: None for no limit."""

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
