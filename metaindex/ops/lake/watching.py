"""Keeps the indexes of tables fresh: of those that are named, or of a whole lake, within a budget of bytes and
processor time an hour.

Asking a table is cheap (Delta: one listing from the last known commit's folder and one small read; Iceberg: the
metadata; a plain folder has no log and is listed), and it never takes more than a twentieth of the time: a folder whose
listing takes a second is asked every twenty. A quiet table is asked less and less often, up to `Pace.idle`; one that
fails likewise, up to `Pace.error`. Pauses vary at random, so that many watchers do not ask together.

The tables of a lake are found again now and then, and what is behind is refreshed one index after another: first the
one where a byte of upkeep spares most of what noted queries read, and where no queries are noted the one that is most
behind. The next one is waited for until it fits the budget.

Several watchers of a lake need not know of each other. Each looks at the latest entry of an index before it begins:
where another is at work it is left to that one, and where another was quicker that is an ordinary answer. A watcher
that dies leaves a stale index and an operation that seems to be under way; after `patience_seconds` without a sign of
life another one brings the index up. Right answers hang on none of this.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from metaindex.core import ArgumentError, MetaIndexError, counted, duration, human_bytes
from metaindex.formats import At
from metaindex.index import BuilderChoice, IndexFolder, IndexLogEntry
from metaindex.ops.hooks.keep import IndexKey, is_left_over, keep, living, no_index_named, stands_at
from metaindex.table import Table, handle_of

from .asking import LakePlace
from .opening import LakeAsked, places_of
from .side_by_side import SideBySide, Unanswered
from .upkeep import (
    ITSELF,
    Event,
    EventKind,
    Failures,
    Pace,
    TableState,
    UpkeepBudget,
    UpkeepNeed,
    counted_failing,
    needs_of,
)

PACE: Final = Pace(every=10.0, idle=300.0, error=900.0)
FIND_SECONDS: Final = 300.0
"""How often the tables are found again."""
_AT_ONCE: Final = 64
"""Tables that are asked before something is refreshed."""
_TICK_SECONDS: Final = 5.0
Key = tuple[str, str | None, str]


@dataclass(slots=True)
class _Followed:
    """A table: when it is asked next, and what was seen."""

    place: LakePlace
    due: float = 0.0
    version: str | None = None
    quiet: int = 0
    failures: int = 0
    indexes: int | None = None
    sound: frozenset[tuple[IndexKey, int]] = frozenset()
    """Indexes that queries can use, as their entries stood when that was looked at."""
    failed: Failures = field(default_factory=Failures)
    news: bool = False
    """Is it to be told that every index stands at the version, once none is behind?"""
    said: dict[IndexKey, str] = field(default_factory=dict)
    """What else was told of an index that waits: it is not told again."""


class Watcher:
    """Follows tables, or those of a lake, until `stop`. Never raises what a table, an index or a store does wrong: that
    is an event, and retried later. `indexes`: only those of these names; a name that no table has is reported once, as
    it may be a typo, or come later. `find_seconds` and `patience_seconds` are for a lake. Tables that are named are
    also reported fresh, and refreshed in their order, whoever else is at work."""

    def __init__(
        self,
        tables: LakeAsked | Sequence[Table | LakePlace],
        on_event: Callable[[Event], None] = lambda event: None,
        *,
        budget: UpkeepBudget | None = None,
        indexes: Sequence[str] | None = None,
        builder: BuilderChoice = "local",
        pace: Pace | None = None,
        find_seconds: float = FIND_SECONDS,
        patience_seconds: float = IndexFolder.SUSPECT_SECONDS,
    ) -> None:
        if not tables:
            raise ArgumentError("a watcher follows at least one table; none was given")
        self._lake = tables if isinstance(tables, LakeAsked) else None
        named = (
            []
            if isinstance(tables, LakeAsked)
            else [LakePlace.of(table) if isinstance(table, Table) else table for table in tables]
        )
        self._tables = {place.name: _Followed(place) for place in named}
        self._name = self._lake.said if self._lake is not None else named[0].path if len(named) == 1 else ""
        self._tell = on_event
        self._budget = budget or UpkeepBudget()
        self._indexes, self._builder = indexes, builder
        self._pace = pace or (Pace() if self._lake is None else PACE)
        self._find_seconds, self._patience = find_seconds, patience_seconds
        self._stop = threading.Event()
        self._needs: dict[Key, UpkeepNeed] = {}
        self._found_at: float | None = None
        self._unfound = ""
        self._noted: list[str] = []
        self._refreshed = 0
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
        """Return the tables that could not be read, or an index of which failed when last tried, by their paths or
        their names in the lake; the lake itself if its tables could not be found."""
        tables = (name for name, table in self._tables.items() if table.failed)
        return (*([self._name] if self._unfound else []), *(tables if self._lake is None else sorted(tables)))

    def once(self) -> bool:
        """Ask every table once, refresh what is behind as far as the budget of one hour goes, and return whether all
        went well. What is left for the budget's sake is reported, and counts as well."""
        self._find()
        every, left = list(self._tables.values()), 0
        for some in [every] if self._lake is not None else [[table] for table in every]:
            self._ask(some)
            while self._needs and not self.stopping:
                need = self._next()
                if self._budget.wait_seconds(need.cost_bytes) > 0:
                    left += 1  # a smaller one may fit
                    del self._needs[_key(need)]
                    continue
                self._refresh(need)
        if left:
            many = counted(left, "index")
            self._tell(Event("left", self._name, message=f"{many} behind: the budget of an hour is used up"))
        self._tell_nowhere()
        if not self._unfound and (self._lake is not None or self.failing != self._summed):
            self._sum_up()
        return not self.failing and not self._nowhere

    def run(self) -> None:
        """Run until `stop`."""
        while not self.stopping:
            now = time.monotonic()
            pause = self._budget.wait_seconds(0.0)
            if self._found_at is None or (now - self._found_at > self._find_seconds and not pause):
                self._find()
            due = sorted((table for table in self._tables.values() if table.due <= now), key=lambda table: table.due)
            if due and not pause:
                self._ask(due[:_AT_ONCE])
            self._tell_nowhere()
            if self._needs and not self.stopping:
                need = self._next()
                pause = self._budget.wait_seconds(need.cost_bytes)
                if not pause:
                    self._refresh(need)
                    continue
                self._say_waiting(need, pause)
            if len(due) > _AT_ONCE and not pause:
                continue
            if self.failing != self._summed and not self._unfound:
                self._sum_up()
            next_due = min((table.due for table in self._tables.values()), default=now + _TICK_SECONDS)
            self._stop.wait(min(max(next_due - time.monotonic(), pause if due else 0.0, 0.05), _TICK_SECONDS))
        if self._lake is not None:
            self._tell(Event("stopped", self._name))
            return
        for table in self._tables.values():
            self._tell(Event("stopped", table.place.path, version=table.version or ""))

    # -- finding and asking --------------------------------------------------------------------------------------------

    def _find(self) -> None:
        self._found_at = time.monotonic()
        if self._lake is None:
            return
        notes: list[str] = []
        try:
            places = {place.name: place for place in places_of(self._lake, notes)}
        except MetaIndexError as error:
            if str(error) != self._unfound:
                self._tell(Event("unreadable", self._name, message=str(error)))
            self._unfound = str(error)
            return
        self._unfound = ""
        new = places.keys() - self._tables.keys()
        gone = self._tables.keys() - places.keys()
        for name in gone:
            del self._tables[name]
        for name, place in places.items():
            if name in new:
                self._tables[name] = _Followed(place)
            else:
                self._tables[name].place = place
        self._needs = {key: need for key, need in self._needs.items() if key[0] not in gone}
        if new or gone or notes != self._noted:
            said = [f"{counted(len(places), 'table')}, {len(new):,} new, {len(gone):,} gone", *notes]
            self._tell(Event("looked", self._name, message="; ".join(said)))
        self._noted = notes

    def _ask(self, tables: list[_Followed]) -> None:
        """Note which indexes are behind. Tables of a lake are asked concurrently, each with its timeout."""
        if self._lake is None:
            for table in tables:
                self._take(table, needs_of(table.place, self._indexes, table.sound, weigh=False))
                if self.stopping:
                    return
            return
        asked = SideBySide[TableState](
            [table.place.store for table in tables],
            lambda number: needs_of(tables[number].place, self._indexes, tables[number].sound),
            threads=4,
            timeout_seconds=self._lake.timeout_seconds,
        )
        for number, answer in asked.answers():
            state = TableState(problem=answer.why) if isinstance(answer, Unanswered) else answer
            self._take(tables[number], state)
            if self.stopping:
                return

    def _take(self, table: _Followed, state: TableState) -> None:
        name = table.place.name
        self._needs = {key: need for key, need in self._needs.items() if key[0] != name}
        if state.gone:
            self._tables.pop(name, None)
            return
        self._there |= state.names
        came = self._nowhere & state.names
        self._nowhere -= came
        if state.problem:
            table.failures += 1
            if table.failed.is_news(ITSELF, state.problem):
                self._tell(Event("unreadable", table.place.path, message=state.problem, seconds=state.seconds))
        else:
            changed = state.version != table.version
            news = changed or bool(state.needs) or table.failures > 0
            table.quiet = 0 if news and state.indexes else table.quiet + 1
            self._take_answer(table, state, changed=changed)
            table.version, table.indexes, table.sound = state.version, state.indexes, state.sound
            for key in (key for key, _ in state.sound if key[1] in came & self._told_nowhere):
                self._tell(Event("fresh", table.place.path, key[1], state.version, namespace=key[0]))
            self._told_nowhere -= came
        self._needs |= {_key(need): need for need in state.needs}
        table.due = time.monotonic() + self._pace.after(table.quiet, table.failures, state.seconds)
        if not state.problem:
            self._tell_fresh(table)

    def _take_answer(self, table: _Followed, state: TableState, *, changed: bool) -> None:
        """Take a table's state: a failed index that is neither damaged nor behind is mended. One that fails again is
        retried less and less often."""
        path, behind = table.place.path, {need.key for need in state.needs}
        mended = table.failed.all_but({key for key, _ in state.damaged} | behind)
        for key, why in state.damaged:
            if table.failed.is_news(key, why):
                self._tell(Event("failed", path, key[1], state.version, state.seconds, why, namespace=key[0]))
        sound = {key for key, _ in state.sound}
        if self._lake is None:
            table.news = (bool(mended) or changed) and (self._indexes is None or state.indexes > 0)
        else:
            table.news = bool(mended and sound) and not behind
        for key in mended if table.failed or behind else []:
            if key in sound:
                self._tell(Event("fresh", path, key[1], state.version, namespace=key[0]))
        if state.damaged and len(state.damaged) == state.indexes:  # else the others are followed at their pace
            table.failures += 1
        elif not state.needs:
            table.failures = 0

    def _tell_fresh(self, table: _Followed) -> None:
        """Report the table as fresh once none of its indexes is behind."""
        if any(key[0] == table.place.name for key in self._needs):
            return
        if table.news and not table.failed:
            self._tell(Event("fresh", table.place.path, version=table.version or ""))
        table.news = False

    def _tell_nowhere(self) -> None:
        """Names without an index, once every table was asked."""
        tables = self._tables.values()
        answered = [table.indexes is not None for table in tables if table.indexes is not None or table.failures]
        if self._unfound or self.stopping or len(answered) < len(tables) or not (any(answered) or not tables):
            return
        for name in sorted(self._nowhere - self._told_nowhere):
            why = no_index_named(name, self._there, all_answered=all(answered))
            self._tell(Event("failed", self._name, name, message=why))
            self._told_nowhere.add(name)

    def _sum_up(self) -> None:
        """Report how many tables fail, and for a lake what was done since; nothing for a single table."""
        failing, parts = self.failing, counted_failing(len(self._tables), self.failing)
        if self._lake is not None:
            bare = sum(table.indexes == 0 for table in self._tables.values())
            parts += [f"{counted(self._refreshed, 'index')} refreshed"] if self._refreshed else []
            parts += [f"{bare:,} without an index that is followed"] if bare else []
        if self._lake is not None or len(self._tables) > 1:
            self._tell(Event("summed", "" if self._lake is None else self._name, message=", ".join(parts)))
        self._summed, self._refreshed = failing, 0

    # -- refreshing ----------------------------------------------------------------------------------------------------

    def _next(self) -> UpkeepNeed:
        """Return the need that is worth most; of equals any, so that watchers that start together begin with different
        ones. Tables that are named come in their order."""
        if self._lake is None:
            return next(iter(self._needs.values()))
        best = max(need.rank for need in self._needs.values())
        return random.choice([need for need in self._needs.values() if need.rank == best])  # noqa: S311 - no secret

    def _refresh(self, need: UpkeepNeed) -> None:
        """Brings one index up, unless another watcher does, or did."""
        del self._needs[_key(need)]
        table = self._tables.get(need.place.name)
        self._budget.settle()
        started = time.perf_counter()
        try:
            opened = need.place.open()
            own = opened.config.namespace == need.namespace
            member = opened if own else opened.reopened(replace(opened.config, namespace=need.namespace))
            before = _entry(member, need.index)
            if before is None or (self._lake is not None and self._left_to_others(need, member, before)):
                return
            version, kept = keep(member, [need.index], self._builder)
            after = _entry(member, need.index)
        except Exception as error:  # noqa: BLE001 - the other tables are followed
            self._fail(need, table, str(error) or type(error).__name__)
            return
        cost = need.cost_bytes if after is None else _cost(need, before, after)
        self._budget.refreshed(cost, self._budget.settle())
        seconds = time.perf_counter() - started
        for told in kept:
            if told.changed:
                said = told.notes if self._lake is None else (_worth(need, cost), *told.notes)
                self._tell(_event("refreshed", need, version.id, seconds, "; ".join(said)))
                self._refreshed += 1
                self._is_up(need, table)
            elif told.error and (after is None or not stands_at(member, need.index, after, version)):
                self._fail(need, table, told.error, version.id, seconds)
            else:
                if self._lake is not None:
                    self._tell(_event("shared", need, version.id, message="another was quicker"))
                self._is_up(need, table)
        if table is not None:
            table.quiet, table.version = 0, version.id
            self._tell_fresh(table)

    def _left_to_others(self, need: UpkeepNeed, member: Table, entry: IndexLogEntry) -> bool:
        """Return whether another watcher, or a hook, brings the index up, or did."""
        table = self._tables.get(need.place.name)
        handle = handle_of(member).as_built(entry)
        version = handle.table_format.resolve(handle.ref, At())
        if stands_at(member, need.index, entry, version) and not is_left_over(member, need.index, entry):
            self._tell(_event("shared", need, version.id, message="another was quicker"))
            self._is_up(need, table)
            return True
        who = handle_of(member).indexes().log(need.index).refreshed_by(entry, self._patience)
        if who:
            self._say(need, table, _event("shared", need, version.id, message=f"{who} is at work on it"))
            if table is not None:
                table.quiet = 0
        return bool(who)

    def _is_up(self, need: UpkeepNeed, table: _Followed | None) -> None:
        if table is not None:
            table.failed.forget(need.key)
            table.said.pop(need.key, None)
            table.failures = table.failures if table.failed else 0

    def _fail(
        self, need: UpkeepNeed, table: _Followed | None, why: str, version: str = "", seconds: float = 0.0
    ) -> None:
        if table is None or table.failed.is_news(need.key, why):
            self._tell(_event("failed", need, version, seconds, why))
        if table is not None:
            table.failures += 1
            table.due = time.monotonic() + self._pace.after(0, table.failures, 0.0)

    def _say_waiting(self, need: UpkeepNeed, pause: float) -> None:
        said = f"waits {duration(round(pause * 1000))} for the budget: it takes {human_bytes(round(need.cost_bytes))}"
        event = _event("left", need, message=said)
        self._say(need, self._tables.get(need.place.name), event, "waits")

    def _say(self, need: UpkeepNeed, table: _Followed | None, event: Event, what: str = "") -> None:
        """Report a waiting index once; `what` stands for words that differ each time."""
        key, what = need.key, what or event.message
        if table is None or table.said.get(key) != what:
            self._tell(event)
        if table is not None:
            table.said[key] = what


def _key(need: UpkeepNeed) -> Key:
    return need.place.name, need.namespace, need.index


def _event(kind: EventKind, need: UpkeepNeed, version: str = "", seconds: float = 0.0, message: str = "") -> Event:
    return Event(kind, need.place.path, need.index, version, seconds, message, namespace=need.namespace)


def _entry(table: Table, index: str) -> IndexLogEntry | None:
    """The latest entry of an index that can be kept fresh."""
    return next((entry for name, entry in living(table) if name == index), None)


def _cost(need: UpkeepNeed, before: IndexLogEntry, after: IndexLogEntry) -> float:
    """Bytes of the files that came (a builder may read less of them) and of the runs that were written, those of merges
    too. What came since it was asked is not known, and little."""
    old = {run.run for run in before.content.runs}
    written = sum(run.size_bytes for run in after.content.runs if run.run not in old)
    return need.new_bytes + written


def _worth(need: UpkeepNeed, cost: float) -> str:
    worth = "" if need.spared_bytes_a_day is None else f", spares {human_bytes(round(need.spared_bytes_a_day))} a day"
    return f"{human_bytes(round(cost))} read and written{worth}"
