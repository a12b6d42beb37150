"""Keeps tables fresh by following their logs: asks each table for its version now and then, and refreshes what is
behind.

Asking is cheap (Delta: one listing from the last known commit's folder and one small read; Iceberg: the metadata; a
plain folder has no log and is listed), and it never takes more than a twentieth of the time: a folder whose listing
takes a second is asked every twenty. A quiet table is asked less and less often, up to `Pace.idle`; one that fails
likewise, up to `Pace.error`. Pauses vary at random, so that many watchers do not ask together.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Literal

from metaindex.expressions.errors import ArgumentError, MetaIndexError
from metaindex.formats.model import Version
from metaindex.formats.protocol import At
from metaindex.table.face import Table, handle_of
from metaindex.views.words import counted

from .failures import ITSELF, Failures, IndexKey
from .keep import Kept, in_namespaces, keep, living_or_why, names_in, no_index_named, stands_at

if TYPE_CHECKING:
    from metaindex.build.protocol import Builder
    from metaindex.config import BuilderName

SHARE = 20
"""A table is asked again after at least this many times the time that the asking took."""
_NAMED = 5


EventKind = Literal["fresh", "refreshed", "failed", "unreadable", "stopped", "summed", "looked", "shared", "left"]


@dataclass(frozen=True, slots=True)
class Event:
    """What a watcher did or saw. `refreshed` and `failed` are of an index, `unreadable` is of a table that could not be
    asked; both come once for what stays as it is. The message of `refreshed` is what the refresh tells. `fresh`: every
    index stands at the version, or the one that is named, which failed before as others still do; `summed`: how many
    tables there are and fail, where that has changed. Of a lake: `looked` for tables; `shared`: another brings the
    index up, or did; `left`: it waits for the budget."""

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


@dataclass(frozen=True, slots=True)
class Unopened:
    """A table that is opened when it is asked: one that is not there is no matter of the others."""

    path: str
    open: Callable[[], Table]


@dataclass(slots=True)
class _Watched:
    table: Table | Unopened
    due: float = 0.0
    known: Version | None = None
    quiet: int = 0
    failures: int = 0
    failed: Failures = field(default_factory=Failures)

    def opened(self) -> Table:
        if isinstance(self.table, Unopened):
            self.table = self.table.open()
        return self.table


class Watcher:
    """Follows some tables until `stop`. Never raises what a table, an index or a store does wrong: that is an event,
    and asked again later. `indexes`: only those of these names; that none of the tables has one of a name is told once,
    as it may be a slip, or come later."""

    def __init__(
        self,
        tables: Sequence[Table | Unopened],
        on_event: Callable[[Event], None] = lambda event: None,
        *,
        indexes: Sequence[str] | None = None,
        builder: BuilderName | Builder = "local",
        pace: Pace | None = None,
    ) -> None:
        if not tables:
            raise ArgumentError("a watcher follows at least one table; none was given")
        self._watched = [_Watched(table) for table in tables]
        self._tell = on_event
        self._indexes = indexes
        self._builder = builder
        self._pace = pace or Pace()
        self._stop = threading.Event()
        self._summed: tuple[str, ...] = ()
        self._nowhere = set(indexes or ())
        self._told_nowhere: set[str] = set()
        self._there: set[str] = set()

    def stop(self) -> None:
        """Ends `run` after the refresh that is under way. May be called from any thread, and from a signal's
        handler."""
        self._stop.set()

    @property
    def stopping(self) -> bool:
        return self._stop.is_set()

    @property
    def failing(self) -> tuple[str, ...]:
        """The tables that could not be asked, or of which an index failed, when that was tried last."""
        return tuple(watched.table.path for watched in self._watched if watched.failed)

    def once(self) -> bool:
        """Asks every table once and refreshes what is behind. Did everything go well?"""
        for watched in self._watched:
            if not self.stopping:
                self._visit(watched)
        self._tell_nowhere()
        self._sum_up()
        return not self.failing and not self._nowhere

    def run(self) -> None:
        """Until `stop`."""
        while not self.stopping:
            watched = min(self._watched, key=lambda w: w.due)
            if not self._stop.wait(max(watched.due - time.monotonic(), 0.0)):
                self._visit(watched)
                if all(other.due for other in self._watched):  # not in the midst of the first round
                    self._tell_nowhere()
                    self._sum_up()
        for watched in self._watched:
            self._tell(
                Event("stopped", watched.table.path, version=watched.known.id if watched.known is not None else "")
            )

    def _visit(self, watched: _Watched) -> None:
        started = time.perf_counter()
        asking = 0.0
        try:
            table = watched.opened()
            handle = handle_of(table)
            version = handle.table_format.resolve(handle.ref, At())
            came = self._came(table)
            news = bool(came) or version != watched.known or watched.failures > 0
            news = news or self._behind(watched, table, version)
            asking = time.perf_counter() - started
            watched.quiet = 0 if news else watched.quiet + 1
            if news or watched.failed:  # a damaged index may have been mended; the others are asked at their pace
                version, kept = keep(table, self._indexes, self._builder, manifests=True)
                self._report(watched, version, kept)
                self._tell_came(came, kept)
        except MetaIndexError as error:
            watched.failures += 1
            if watched.failed.is_news(ITSELF, str(error)):
                seconds = time.perf_counter() - started
                self._tell(Event("unreadable", watched.table.path, message=str(error), seconds=seconds))
        watched.due = time.monotonic() + self._pace.after(watched.quiet, watched.failures, asking)

    def _behind(self, watched: _Watched, table: Table, version: Version) -> bool:
        """Was an index made, restored, put back or damaged, while the table stood still?"""
        return any(
            not watched.failed.knows((member.config.namespace, name), entry)
            if isinstance(entry, str)
            else not stands_at(member, name, entry, version)
            for member in in_namespaces(table)
            for name, entry in living_or_why(member)
            if self._indexes is None or name in self._indexes
        )

    def _came(self, table: Table) -> set[str]:
        """Names that were asked, had no index anywhere, and have one in this table. Each is looked for until it is
        found once."""
        if not self._nowhere:
            return set()
        there = names_in(table)
        self._there |= there
        came = self._nowhere & there
        self._nowhere -= came
        return came

    def _tell_came(self, came: set[str], kept: Sequence[Kept]) -> None:
        """Of a name that was told to be none. One that had to be refreshed has its own event."""
        for each in kept:
            if each.index in came & self._told_nowhere and not each.changed and not each.error:
                self._tell(Event("fresh", each.table, each.index, each.version, namespace=each.namespace))
        self._told_nowhere -= came

    def _tell_nowhere(self) -> None:
        """Names without an index, once every table was asked."""
        table = self._watched[0].table.path if len(self._watched) == 1 else ""
        answered = [watched.known is not None for watched in self._watched]
        for name in sorted(self._nowhere - self._told_nowhere) if any(answered) else []:
            why = no_index_named(name, self._there, all_answered=all(answered))
            self._tell(Event("failed", table, name, message=why))
            self._told_nowhere.add(name)

    def _report(self, watched: _Watched, version: Version, kept: Sequence[Kept]) -> None:
        path = watched.table.path

        def tell(kind: EventKind, key: IndexKey, seconds: float = 0.0, message: str = "") -> None:
            self._tell(Event(kind, path, key[1], version.id, seconds, message, namespace=key[0]))

        mended = watched.failed.all_but([each.key for each in kept if each.error])
        for each in kept:
            if each.error and watched.failed.is_news(each.key, each.error):
                tell("failed", each.key, each.seconds, each.error)
            elif each.changed:
                tell("refreshed", each.key, each.seconds, "; ".join(each.notes))
        if not watched.failed:
            none_asked = self._indexes is not None and not kept  # a name may be a slip
            if (mended or version != watched.known) and not none_asked:
                tell("fresh", ITSELF)
        else:
            for key in (each.key for each in kept if each.key in mended and not each.changed):
                tell("fresh", key)
        watched.failures = watched.failures + 1 if any(each.error and each.tried for each in kept) else 0
        watched.known = version

    def _sum_up(self) -> None:
        """Of several tables, where others fail than before."""
        failing = self.failing
        if failing != self._summed and len(self._watched) > 1:
            self._tell(Event("summed", "", message=", ".join(counted_failing(len(self._watched), failing))))
        self._summed = failing


def counted_failing(tables: int, failing: Sequence[str]) -> list[str]:
    """How many tables there are, and how many of them fail, by name while they are few."""
    if not failing:
        return [counted(tables, "table")]
    more = [f"{len(failing) - _NAMED:,} more"] if len(failing) > _NAMED else []
    names = ", ".join([*failing[:_NAMED], *more])
    return [counted(tables, "table"), f"{len(failing):,} {'fails' if len(failing) == 1 else 'fail'} ({names})"]
