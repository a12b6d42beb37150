"""An action is one state change of an index: validate, begin, run, commit, under optimistic concurrency (Hyperspace,
VLDB 2021). docs/operation-log.md is the protocol.

    begin    append latest + 1 with the operation under way; refused where an incompatible one is
    run      write new immutable runs; nobody sees them
    commit   append latest + 1 with the change applied to whatever is latest then; the operation must still be under way
             there

A change is a difference and never the state, so that it can be applied to content that others changed meanwhile. Losing
a number is ordinary: read, check, try again.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol, runtime_checkable

from metaindex.core import ConcurrentWriteError, Shown, StorageError, record_action, record_lag
from metaindex.index.log.entry import IndexLogEntry, UnderWay
from metaindex.index.log.liveness import Heartbeat
from metaindex.index.log.operation_log import OperationLog
from metaindex.index.log.states import LEAVES, NEEDS, ONCE, Operation, State

from .appending import TRIES, Ended, abandon, busy, end, names, now_ms, pause, undo, who
from .change import Change as Change
from .change import merged
from .renumber import Overtaken
from .validation import validate as validate

RUNS = 4
"""Times that an action computes its change anew because others took away what it stood on."""


class Action(Protocol):
    """A state change of an index. Each is a file; this module runs them all alike."""

    operation: Operation
    forward_only: (
        bool  # a failure leaves the operation under way: what it did cannot be undone, only run again or cancelled
    )
    rebases: bool  # `run` again on what others made of the content; else being overtaken is a lost race

    def first_entry(self, base: IndexLogEntry | None) -> IndexLogEntry:
        """The entry to begin with, numbered behind `base` (or 1), not yet marked as under way."""

    def runs(self) -> tuple[str, ...]:
        """Run folders that the action will write."""

    def run(self, begun: IndexLogEntry) -> Change:
        """Writes, and says what changes in the content of `begun`. May be called again with a later entry."""

    def undo(self) -> None:
        """Removes what was written, where the action fails: best effort, for what stays is garbage and never data."""


@runtime_checkable
class OtherVerb(Protocol):
    """An action with another verb for users than that of its operation."""

    verb: str


@dataclass(frozen=True, slots=True, repr=False)
class Outcome(Shown):
    """Result of an action: the entry it left, and what it did. `changed` is False if there was nothing to do."""

    index: str
    operation: str
    changed: bool
    entry: IndexLogEntry
    notes: tuple[str, ...] = ()

    def _printed(self) -> str:
        what = f"{self.operation} of index {self.index!r}: " + ("done" if self.changed else "nothing to do")
        gone = self.entry.state is State.DOESNOTEXIST
        is_now = "the index is gone" if gone and self.changed else self.entry.state.value
        is_now += "" if self.entry.enabled or gone else ", disabled"
        return "; ".join((f"{what}, {is_now} (entry {self.entry.id})", *self.notes))


class NothingToDo(Exception):
    """Raised by `run` where the index stands at the asked version already."""

    def __init__(self, note: str) -> None:
        super().__init__(note)
        self.note = note


def execute(log: OperationLog, action: Action) -> Outcome:
    """Runs an action to its end. Raises IndexStateError, IndexExistsError, IndexNotFoundError, ConcurrentWriteError, or
    what `run` raises; the index's stable content is then what it was, and the operation is no longer under way (but for
    `forward_only` ones)."""
    with record_action(action.operation.value, log.storage.root, _word):
        return _execute(log, action)


def _word(error: BaseException | None) -> str:
    if error is None:
        return "done"
    return "lost_race" if isinstance(error, ConcurrentWriteError) else "failed"


def _execute(log: OperationLog, action: Action) -> Outcome:
    begun, mark = _begin(log, action)
    with Heartbeat(log.storage, mark.nonce):
        try:
            return _run_and_commit(log, action, begun, mark)
        except Ended as ended:
            return _ended(action, mark, ended.latest)
        except BaseException as error:
            landed = None if action.forward_only else abandon(log, mark, action.operation, action.undo)
            if landed is not None and isinstance(error, StorageError):
                return Outcome(
                    begun.name, action.operation.verb, True, landed
                )  # only the answer to the commit was lost
            raise


def _begin(log: OperationLog, action: Action) -> tuple[IndexLogEntry, UnderWay]:
    nonce = secrets.token_hex(8)
    for attempt in range(TRIES):
        base = log.latest()
        entry = action.first_entry(base)
        validate(action.operation, base, entry.name, action.verb if isinstance(action, OtherVerb) else "")
        mark = UnderWay(action.operation, entry.id, nonce, who(), now_ms(), action.runs())
        under_way = base.under_way if base is not None else ()
        begun = replace(
            entry,
            nonce=f"{nonce}.{entry.id}.begin",
            timestamp_ms=max(mark.since_ms, base.timestamp_ms if base is not None else 0),
            written_by=f"begin {_verb(action)}",
            under_way=(*under_way, mark),
        )
        try:
            log.append(begun)
        except ConcurrentWriteError:
            pause(attempt)
            continue
        except BaseException:
            abandon(log, mark, action.operation, action.undo)  # its answer may be all that was lost
            raise
        return begun, mark
    raise busy(f"begin {action.operation.value}", entry.name)


def _verb(action: Action) -> str:
    """Return the verb that the user called, for the readers of the log."""
    return action.verb if isinstance(action, OtherVerb) else action.operation.value


def _run_and_commit(log: OperationLog, action: Action, begun: IndexLogEntry, mark: UnderWay) -> Outcome:
    operation, base = action.operation.verb, begun
    for _ in range(RUNS):
        try:
            change = action.run(base)
        except NothingToDo as nothing:
            entry = end(log, mark, lambda latest: latest, f"nothing to {_verb(action)}")
            undo(action.undo)
            return Outcome(begun.name, operation, False, entry, (nothing.note,))
        try:
            entry = end(log, mark, partial(_apply, action, change, base), f"commit {_verb(action)}")
        except Overtaken as overtaken:
            if not action.rebases:
                raise ConcurrentWriteError(
                    f"{operation} builds on content that stays; {overtaken}: another writer was first; index"
                    f" {begun.name!r} is as that one left it; try again"
                ) from overtaken
            base = log.latest() or base
            continue
        if change.add_runs and not names(entry, mark):
            action.undo()  # others had recorded the same version
        if change.record is not None:
            record_lag(log.storage.root, max(entry.timestamp_ms - change.record.timestamp_ms, 0) / 1000)
        return Outcome(begun.name, operation, True, entry, change.notes)
    raise ConcurrentWriteError(
        f"{operation} builds on content that stays; other writers took it away {RUNS} times; index {begun.name!r} is"
        " busy; try again later"
    )


def _apply(action: Action, change: Change, base: IndexLogEntry, latest: IndexLogEntry) -> IndexLogEntry:
    """The change, computed on `base`, on top of the latest content."""
    operation = action.operation
    needs, leaves = NEEDS[operation], LEAVES[operation]
    if latest.stable is not needs and operation in (Operation.CREATE, Operation.RESTORE, Operation.VACUUM):
        raise ConcurrentWriteError(
            f"{operation.value} needs state {needs.value if needs else ''}; another writer left index {latest.name!r}"
            f" {latest.stable.value}; look at it and try again"
        )
    # A delete that was committed meanwhile stands: a refresh changes the content of a deleted index and never its
    # state.
    stable = leaves if latest.stable is needs and leaves is not None else latest.stable
    begun = action.first_entry(latest) if operation is Operation.CREATE else latest
    under_way = tuple(u for u in latest.under_way if operation not in ONCE or u.operation is not operation)
    return replace(begun, stable=stable, content=merged(latest.content, change, base.content), under_way=under_way)


def _ended(action: Action, mark: UnderWay, latest: IndexLogEntry | None) -> Outcome:
    """Others ended the operation. Where they did what it wanted to do, that is as good; else it has failed."""
    operation = action.operation
    if latest is not None and names(latest, mark):
        return Outcome(
            latest.name, operation.verb, True, latest
        )  # only the answer to the commit was lost, and the commit itself is cleaned away
    undo(action.undo)
    if latest is not None and operation in ONCE and latest.stable is LEAVES[operation]:
        if operation is Operation.CREATE:
            raise ConcurrentWriteError(
                f"create needs state {State.DOESNOTEXIST.value}; another writer left index {latest.name!r}"
                f" {latest.stable.value}; look at it and try again"
            )
        return Outcome(latest.name, operation.verb, False, latest, ("another writer did the same",))
    raise ConcurrentWriteError(
        f"a commit needs its operation under way; {operation.value} begun at entry {mark.began} was cancelled; run it"
        " again"
    )
