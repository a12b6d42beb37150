"""An action is one state change of an index: validate, begin, run, commit, under optimistic concurrency (Hyperspace, VLDB 2021).

    begin    append latest + 1 with the operation under way; refused where an incompatible one is
    run      write new immutable runs; nobody sees them
    commit   append latest + 1 with the change applied to whatever is latest then; the operation must still be under way there

A change is a difference and never the state, so that it can be applied to content that others changed meanwhile. Losing a number is ordinary: read, check, try again.
"""

from __future__ import annotations

import os
import random
import secrets
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from formats.model import Schema
from metaindex.errors import ConcurrentWriteError, IndexExistsError, IndexNotFoundError, IndexStateError
from metaindex.log.entry import Content, IndexLogEntry, RunRef, UnderWay, VersionRecord
from metaindex.log.operation_log import OperationLog
from metaindex.log.states import COMPATIBLE, LEAVES, NEEDS, Operation, State

_TRIES = 64


@dataclass(frozen=True, slots=True)
class Change:
    """The difference that an action makes, applied at commit to the latest content."""

    add_runs: tuple[RunRef, ...] = ()
    drop_runs: frozenset[str] = frozenset()
    record: VersionRecord | None = None  # its `schema` is taken from here
    schema: Schema | None = None
    empty: bool = False  # nothing of the content is left
    notes: tuple[str, ...] = ()


class Action(Protocol):
    """One verb. Each is a file; this module runs them all alike."""

    operation: Operation

    def first_entry(self, base: IndexLogEntry | None) -> IndexLogEntry:
        """The entry to begin with, numbered behind `base` (or 1), not yet marked as under way."""

    def runs(self) -> tuple[str, ...]:
        """Run folders that the action will write."""

    def run(self, begun: IndexLogEntry) -> Change: ...

    def undo(self) -> None:
        """Removes what was written, where the action fails: best effort, for what stays is garbage and never data."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of an action: the entry it left, and what it did. `changed` is False where there was nothing to do."""

    index: str
    operation: str
    changed: bool
    entry: IndexLogEntry
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        what = f"{self.operation} of index {self.index!r}: " + ("done" if self.changed else "nothing to do")
        return "; ".join((f"{what}, {self.entry.state.value} (entry {self.entry.id})", *self.notes))


class NothingToDo(Exception):
    """Raised by `run` where the index stands at the asked version already."""

    def __init__(self, note: str) -> None:
        super().__init__(note)
        self.note = note


def execute(log: OperationLog, action: Action) -> Outcome:
    """Runs an action to its end. Raises IndexStateError, IndexExistsError, IndexNotFoundError, ConcurrentWriteError, or what `run` raises; the index's
    stable content is then what it was, and the operation is no longer under way."""
    begun, mark = _begin(log, action)
    try:
        change = action.run(begun)
    except NothingToDo as nothing:
        entry = _end(log, mark, lambda latest: latest, f"nothing to {action.operation.value}")
        return Outcome(begun.name, action.operation.value, False, entry, (nothing.note,))
    except BaseException:
        _abandon(log, mark, action)
        raise
    try:
        entry = _end(log, mark, lambda latest: _apply(action, change, latest), f"commit {action.operation.value}")
    except BaseException:
        _abandon(log, mark, action)
        raise
    return Outcome(begun.name, action.operation.value, True, entry, change.notes)


def validate(action_operation: Operation, base: IndexLogEntry | None, name: str) -> None:
    """Is the operation possible on top of this entry? Rule, fact, cure."""
    stable = base.stable if base is not None else State.DOESNOTEXIST
    needs = NEEDS[action_operation]
    if base is not None:
        for other in base.under_way:
            if action_operation not in COMPATIBLE[other.operation]:
                raise IndexStateError(
                    f"{action_operation.value} does not go beside {other.operation.value}; index {name!r} is {base.state.value} by {other.who} "
                    f"since entry {other.began}; wait for it, or cancel it if its writer is dead"
                )
    if stable is needs:
        return
    if action_operation is Operation.CREATE:
        cure = (
            "refresh it, choose another name"
            if stable is State.ACTIVE
            else "restore it, vacuum it, choose another name"
        )
        raise IndexExistsError(f"an index name is used once a table; {name!r} is {stable.value}; {cure}")
    if stable is State.DOESNOTEXIST:
        raise IndexNotFoundError(
            f"{action_operation.value} needs an index; there is none named {name!r}; list them with indexes()"
        )
    raise IndexStateError(
        f"{action_operation.value} needs state {needs.value}; index {name!r} is {stable.value} (entry {base.id if base else 0}); "
        + {State.ACTIVE: "delete it first", State.DELETED: "restore it first"}[stable]
    )


def _begin(log: OperationLog, action: Action) -> tuple[IndexLogEntry, UnderWay]:
    nonce = secrets.token_hex(8)
    for attempt in range(_TRIES):
        base = log.latest()
        entry = action.first_entry(base)
        validate(action.operation, base, entry.name)
        mark = UnderWay(action.operation, entry.id, nonce, _who(), _now_ms(), action.runs())
        under_way = (*(base.under_way if base is not None else ()), mark)
        begun = replace(
            entry,
            nonce=nonce + ".begin",
            timestamp_ms=mark.since_ms,
            written_by=f"begin {action.operation.value}",
            under_way=under_way,
        )
        try:
            log.append(begun)
        except ConcurrentWriteError:
            _pause(attempt)
            continue
        return begun, mark
    raise ConcurrentWriteError(
        f"an operation begins with a number of its own; {_TRIES} were taken by others; try again later"
    )


def _end(
    log: OperationLog, mark: UnderWay, change: Callable[[IndexLogEntry], IndexLogEntry], written_by: str
) -> IndexLogEntry:
    for attempt in range(_TRIES):
        latest = log.latest()
        if latest is None or mark not in latest.under_way:
            raise ConcurrentWriteError(
                f"a commit needs its operation under way; {mark.operation.value} begun at entry {mark.began} was cancelled; run it again"
            )
        ended = replace(
            change(latest),
            id=latest.id + 1,
            nonce=f"{mark.nonce}.{latest.id + 1}",
            timestamp_ms=max(_now_ms(), latest.timestamp_ms),
            written_by=written_by,
            under_way=tuple(u for u in latest.under_way if u != mark),
        )
        try:
            log.append(ended)
        except ConcurrentWriteError:
            _pause(attempt)
            continue
        return ended
    raise ConcurrentWriteError(f"a commit needs a number of its own; {_TRIES} were taken by others; try again later")


def _apply(action: Action, change: Change, latest: IndexLogEntry) -> IndexLogEntry:
    """The change on top of the latest content."""
    if latest.stable is not NEEDS[action.operation] and action.operation in (
        Operation.CREATE,
        Operation.RESTORE,
        Operation.VACUUM,
    ):
        raise ConcurrentWriteError(
            f"{action.operation.value} needs state {NEEDS[action.operation].value}; another writer left index {latest.name!r} {latest.stable.value}; look at it and try again"
        )
    # A delete that was committed meanwhile stands: a refresh changes the content of a deleted index and never its state.
    stable = LEAVES[action.operation] if latest.stable is NEEDS[action.operation] else latest.stable
    content = Content() if change.empty else _merged(latest.content, change)
    begun = action.first_entry(latest) if action.operation is Operation.CREATE else latest
    return replace(begun, stable=stable, content=content, under_way=latest.under_way)


def _merged(content: Content, change: Change) -> Content:
    if change.record is not None and not change.drop_runs and content.record(change.record.version) is not None:
        return content  # somebody indexed the same version meanwhile: a file indexed twice counts once
    runs = tuple(r for r in content.runs if r.run not in change.drop_runs) + change.add_runs
    live = {r.run for r in runs}
    versions = list(content.versions)
    if change.drop_runs:
        versions = [v for v in versions if _runs_of(content, v) <= live]
    schemas = list(content.schemas)
    if change.record is not None and change.schema is not None:
        record = change.record
        if record.parent is not None and all(v.version != record.parent for v in versions):
            raise ConcurrentWriteError(
                f"a refresh builds on a recorded version; {record.parent} was taken out by another writer; refresh again"
            )
        if change.schema not in schemas:
            schemas.append(change.schema)
        versions = [v for v in versions if v.version != record.version]
        versions.append(replace(record, schema=schemas.index(change.schema)))
    return Content(runs, tuple(versions), tuple(schemas))


def _runs_of(content: Content, record: VersionRecord) -> set[str]:
    by_version = {v.version: v for v in content.versions}
    runs: set[str] = set()
    at: VersionRecord | None = record
    while at is not None:
        runs |= {*at.added, *at.removed, *at.restored}
        at = by_version.get(at.parent) if at.parent is not None else None
    return runs


def _abandon(log: OperationLog, mark: UnderWay, action: Action) -> None:
    """Ends an operation that failed, so that nobody has to cancel it. If this fails too, `cancel` does it."""
    try:
        _end(log, mark, lambda latest: latest, f"abandon {action.operation.value}")
    except Exception:  # noqa: BLE001 - the first error is on its way; this one says nothing new
        return
    action.undo()


def _pause(attempt: int) -> None:
    if attempt:
        time.sleep(random.uniform(0, min(0.002 * 2**attempt, 0.5)))  # noqa: S311 - jitter


def _who() -> str:
    return f"{socket.gethostname()}:{os.getpid()}"


def _now_ms() -> int:
    return int(time.time() * 1000)
