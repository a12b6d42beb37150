"""Events of a watcher, the pace of its questions, and the failures that it has reported already."""

from __future__ import annotations

import random
import time
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, field
from typing import Final, Literal

from metaindex.core import counted
from metaindex.ops.hooks.keep import IndexKey

ITSELF: Final[IndexKey] = (None, "")
"""In place of an index: the table."""
SHARE: Final = 20
"""A table is asked again after at least this many times the time that the asking took."""
_NAMED: Final = 5

EventKind = Literal["fresh", "refreshed", "failed", "unreadable", "stopped", "summed", "looked", "shared", "left"]


@dataclass(frozen=True, slots=True)
class Event:
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

    def to_json(self) -> dict[str, object]:
        """Plain data for machines."""
        return asdict(self)


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
