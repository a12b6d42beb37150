"""An action is one state change of an index: validate, begin, run, commit, under optimistic concurrency (Hyperspace,
VLDB 2021). docs/operation-log.md is the protocol.

    begin    append latest + 1 with the operation under way; refused where an incompatible one is
    run      write new immutable runs; nobody sees them
    commit   append latest + 1 with the change applied to whatever is latest then; the operation must still be under way
             there

A change is a difference and never the state, so that it can be applied to content that others changed meanwhile. Losing
a number is ordinary: read, check, try again. Where the storage does not respond the answer is defined, too.
"""

from __future__ import annotations

import os
import secrets
import socket
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from metaindex.core import (
    TELEMETRY,
    ConcurrentWriteError,
    Cure,
    ForeignIndexError,
    IndexExistsError,
    IndexNotFoundError,
    IndexStateError,
    MetaIndexError,
    Plain,
    Shown,
    StorageError,
)
from metaindex.index.log.entry import IndexLogEntry, UnderWay
from metaindex.index.log.liveness import Heartbeat
from metaindex.index.log.operation_log import OperationLog
from metaindex.index.log.states import COMPATIBLE, LEAVES, NEEDS, ONCE, Operation, State
from metaindex.storage import back_off, beside, is_remote

from .change import Change as Change
from .change import Overtaken, merged
from .removal import remove_runs

RUNS = 4
"""Times that an action computes its change anew because others took away what it stood on."""

TRIES = 64
"""Numbers that a writer may lose to others before it gives up."""


class Action(ABC):
    """A state change of an index; this module runs them all alike."""

    name: str
    operation: Operation
    verb = ""
    """Of users, where it is not the operation's."""
    forward_only = False
    """A failure leaves the operation under way: what it did cannot be undone, only run again or cancelled."""
    latest: IndexLogEntry | None = None
    """The latest entry, as `run` read it beside its last writes."""
    rebases = True
    """Run again on what others made of the content; else being overtaken is a lost race."""

    def first_entry(self, base: IndexLogEntry | None) -> IndexLogEntry:
        """Return the entry to begin with, numbered behind `base` (or 1), not yet marked as under way."""
        if base is None:
            raise missing(self.verb or self.operation.verb, self.name)
        return base.following()

    def runs(self) -> tuple[str, ...]:
        """Return the run folders that the action will write: where it fails they are removed."""
        return ()

    def look_ahead(self, base: IndexLogEntry) -> None:
        """Read of a store, while the begin is written, what `run` will need. Raises nothing."""
        return None

    @abstractmethod
    def run(self, begun: IndexLogEntry) -> Change:
        """Write, and return what changes in the content of `begun`. May be called again with a later entry."""


@dataclass(frozen=True, slots=True, repr=False)
class Outcome(Shown, Plain):
    """Result of an action: the entry it left, and what it did. `changed` is False if there was nothing to do."""

    JSON = "index operation changed state=entry.state.value entry=entry.id files size_bytes notes"
    index: str
    operation: str
    changed: bool
    entry: IndexLogEntry
    notes: tuple[str, ...] = ()

    @property
    def files(self) -> int:
        """Return the number of files of the newest recorded version."""
        content = self.entry.content
        return content.versions[-1].files if content.versions else sum(run.files for run in content.runs)

    @property
    def size_bytes(self) -> int:
        """Return the size of the index's runs."""
        return sum(run.size_bytes for run in self.entry.content.runs)

    def _printed(self) -> str:
        what = f"{self.operation} of index {self.index!r}: " + ("done" if self.changed else "nothing to do")
        gone = self.entry.state is State.DOESNOTEXIST
        is_now = "the index is gone" if gone and self.changed else self.entry.state.value
        is_now += "" if self.entry.enabled or gone else ", disabled"
        return "; ".join((f"{what}, {is_now} (entry {self.entry.id})", *self.notes))


class Ended(Exception):
    """The operation is not under way any more: others cancelled it, or did the same first."""

    def __init__(self, latest: IndexLogEntry | None) -> None:
        super().__init__()
        self.latest = latest


class NothingToDo(Exception):
    """Raised by `run` where the index stands at the asked version already."""

    def __init__(self, note: str) -> None:
        super().__init__(note)
        self.note = note


def execute(log: OperationLog, action: Action, base: IndexLogEntry | None = None) -> Outcome:
    """Runs an action to its end. Raises IndexStateError, IndexExistsError, IndexNotFoundError, ConcurrentWriteError, or
    what `run` raises; the index's stable content is then what it was, and the operation is no longer under way (but for
    `forward_only` ones). `base`: the latest entry, as it was read a moment ago."""
    with TELEMETRY.action(action.operation.value, log.storage.root, _word):
        return _execute(log, action, base)


def _word(error: BaseException | None) -> str:
    if error is None:
        return "done"
    return "lost_race" if isinstance(error, ConcurrentWriteError) else "failed"


def _execute(log: OperationLog, action: Action, base: IndexLogEntry | None) -> Outcome:
    root = log.storage.root
    ahead = partial(action.look_ahead, base) if base is not None and is_remote(root) else lambda: None
    with beside(root, ahead) as looked:
        begun, mark = _begin(log, action, base)
        with Heartbeat(log.storage, mark.nonce):
            try:
                looked()
                return _run_and_commit(log, action, begun, mark)
            except Ended as ended:
                return _ended(log, action, mark, ended.latest)
            except BaseException as error:
                landed = None if action.forward_only else abandon(log, mark, action)
                if landed is not None and isinstance(error, StorageError):
                    return Outcome(
                        begun.name, action.operation.verb, True, landed
                    )  # only the answer to the commit was lost
                raise


def _begin(log: OperationLog, action: Action, base: IndexLogEntry | None) -> tuple[IndexLogEntry, UnderWay]:
    nonce = secrets.token_hex(8)

    def begun(base: IndexLogEntry | None) -> IndexLogEntry:
        entry = action.first_entry(base)
        validate(action.operation, base, entry.name, action.verb)
        mark = UnderWay(action.operation, entry.id, nonce, who(), now_ms(), action.runs())
        return replace(entry, under_way=(*(base.under_way if base is not None else ()), mark))

    def lost(entry: IndexLogEntry) -> None:
        abandon(log, entry.under_way[-1], action)  # its answer may be all that was lost

    entry = append(log, f"begin {_verb(action)}", nonce, begun, ".begin", lost, base)
    return entry, entry.under_way[-1]


def _verb(action: Action) -> str:
    """Return the verb that the user called, for the readers of the log."""
    return action.verb or action.operation.value


def _run_and_commit(log: OperationLog, action: Action, begun: IndexLogEntry, mark: UnderWay) -> Outcome:
    operation, base = action.operation.verb, begun
    for _ in range(RUNS):
        try:
            change = action.run(base)
        except NothingToDo as nothing:
            entry = end(log, mark, lambda latest: latest, f"nothing to {_verb(action)}")
            undo(log, action)
            return Outcome(begun.name, operation, False, entry, (nothing.note,))
        try:
            latest, action.latest = action.latest, None
            entry = end(log, mark, partial(_apply, action, change, base), f"commit {_verb(action)}", latest)
        except Overtaken as overtaken:
            if not action.rebases:
                raise ConcurrentWriteError(
                    f"{operation} builds on content that stays; {overtaken}: another writer was first; index"
                    f" {begun.name!r} is as that one left it; try again"
                ) from overtaken
            base = log.latest() or base
            continue
        if change.add_runs and not names(entry, mark):
            undo(log, action)  # others had recorded the same version
        if change.record is not None:
            TELEMETRY.lag(log.storage.root, max(entry.timestamp_ms - change.record.timestamp_ms, 0) / 1000)
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


def _ended(log: OperationLog, action: Action, mark: UnderWay, latest: IndexLogEntry | None) -> Outcome:
    """Others ended the operation. Where they did what it wanted to do, that is as good; else it has failed."""
    operation = action.operation
    if latest is not None and names(latest, mark):
        return Outcome(
            latest.name, operation.verb, True, latest
        )  # only the answer to the commit was lost, and the commit itself is cleaned away
    undo(log, action)
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


def append(
    log: OperationLog,
    word: str,
    nonce: str,
    change: Callable[[IndexLogEntry | None], IndexLogEntry],
    attempt_of: str = "",
    lost: Callable[[IndexLogEntry], None] | None = None,
    base: IndexLogEntry | None = None,
) -> IndexLogEntry:
    """Append what `change` makes of the latest entry, or raises, under the next number: again if another writer took
    it. The nonce and `attempt_of` name the attempt. `lost`: called with the entry if the log raises something else.
    `base`: the latest entry, as it was read a moment ago: the number behind it proves that it still is."""
    name = ""
    for attempt in range(TRIES):
        latest, changed = (None, None) if base is None or attempt else (base, _changed(change, base))
        if changed is None:
            latest = log.latest()
            changed = change(latest)
        number = latest.id + 1 if latest is not None else 1
        name = changed.name
        before = latest.timestamp_ms if latest is not None else 0
        entry = replace(
            changed,
            id=number,
            nonce=f"{nonce}.{number}{attempt_of}",
            timestamp_ms=max(now_ms(), before),
            written_by=word,
        )
        try:
            log.append(entry)
        except ConcurrentWriteError:
            if attempt:  # the loser of a number lets others go first, longer each time and at random
                back_off(attempt, 0.002, 0.5)
            continue
        except BaseException:
            if lost is not None:
                lost(entry)
            raise
        return entry
    raise ConcurrentWriteError(
        f"{word} needs an entry number of its own; {TRIES} were taken by others; index {name!r} is busy; try again"
        " later"
    )


def _changed(change: Callable[[IndexLogEntry | None], IndexLogEntry], base: IndexLogEntry) -> IndexLogEntry | None:
    """Return None where the change is refused: of the latest entry that may be otherwise by now."""
    try:
        return change(base)
    except MetaIndexError:
        return None


def end(
    log: OperationLog,
    mark: UnderWay,
    change: Callable[[IndexLogEntry], IndexLogEntry],
    written_by: str,
    latest: IndexLogEntry | None = None,
) -> IndexLogEntry:
    """Append one entry without the operation. Raises Ended if it is not under way in the latest one. `latest`: as it
    was read a moment ago."""

    def ended(latest: IndexLogEntry | None) -> IndexLogEntry:
        if latest is None or all(u.nonce != mark.nonce for u in latest.under_way):
            raise Ended(latest)
        changed = change(latest)
        return replace(changed, under_way=tuple(u for u in changed.under_way if u.nonce != mark.nonce))

    return append(log, written_by, mark.nonce, ended, f".{written_by}", base=latest)


def names(entry: IndexLogEntry, mark: UnderWay) -> bool:
    """Return whether the entry's content names something that the operation wrote."""
    content = entry.content
    objects = [segment.object for segment in content.segments] + [
        r.bits for r in content.versions if r.bits is not None
    ]
    named = {run.run for run in content.runs} | {object_.path.split("/")[1] for object_ in objects}
    return not named.isdisjoint(mark.runs)


def abandon(log: OperationLog, mark: UnderWay, action: Action) -> IndexLogEntry | None:
    """End a failed operation, so that no user has to cancel it; if this fails too, `cancel` does it. What it wrote is
    removed only once none of its commits can take effect any more. Return the entry of the commit if that did take
    effect after all."""
    try:
        end(log, mark, lambda latest: latest, f"abandon {action.operation.value}")
    except Ended as ended:
        try:
            landed = _commit_of(log, mark, action, ended.latest)
        except StorageError:
            return None
        if landed is None and ended.latest is not None and not names(ended.latest, mark):
            undo(log, action)
        return landed
    except Exception:  # noqa: BLE001 - the first error is on its way; this one says nothing new
        return None
    undo(log, action)
    return None


def undo(log: OperationLog, action: Action) -> None:
    """Remove what it wrote: best effort, for what stays is garbage and never data."""
    try:
        remove_runs(log.storage, action.runs())
    except StorageError:
        return  # it is garbage, for `clean`


def _commit_of(log: OperationLog, mark: UnderWay, action: Action, latest: IndexLogEntry | None) -> IndexLogEntry | None:
    """The commit of the action, looked for in the entries since its begin. StorageError where those cannot be read,
    so that it is not known."""
    word = f"commit {_verb(action)}"
    for number in range(latest.id if latest is not None else 0, mark.began, -1):
        entry = log.entry(number)
        if entry.nonce == f"{mark.nonce}.{number}.{word}":
            return entry
    return None


def who() -> str:
    """Return the name of this writer for people."""
    return f"{socket.gethostname()}:{os.getpid()}"


def now_ms() -> int:
    return int(time.time() * 1000)


def validate(operation: Operation, base: IndexLogEntry | None, name: str, verb: str = "") -> None:
    """IndexStateError, IndexExistsError or IndexNotFoundError where the operation cannot begin; ForeignIndexError where
    it would change what this metaindex cannot read. `verb`: what the user asked for, where it is not the
    operation's."""
    verb = verb or operation.verb
    stable = base.stable if base is not None else State.DOESNOTEXIST
    for other in base.under_way if base is not None else ():
        if operation not in COMPATIBLE[other.operation]:
            raise IndexStateError(
                f"{verb} does not go beside {other.operation.verb}; index {name!r} is"
                f" {base.state.value if base else ''}: {other}; wait for it, or cancel it if its writer is dead"
            )
    needs = NEEDS[operation]
    writes = operation in (Operation.REFRESH, Operation.OPTIMIZE) and verb != "repair"  # which leaves such runs alone
    for run in base.content.runs if base is not None and stable is needs and writes else ():
        if (why := run.unknown) is not None:
            raise ForeignIndexError(f"{verb} needs runs that this metaindex can read; of index {name!r} {why}")
    if needs is None or stable is needs:
        return
    if operation is Operation.CREATE:
        cure = "restore it, vacuum it, or choose another name"
        if stable is State.ACTIVE:
            cure = f"refresh it, choose another name, or keep it with {Cure('argument', 'if_not_exists', True)}"
        raise IndexExistsError(f"an index name is used once a table; {name!r} is {stable.value}; {cure}")
    if stable is State.DOESNOTEXIST:
        raise missing(verb, name)
    is_now = f"{verb} needs state {needs.value}; index {name!r} is {stable.value}"
    entry = f"(entry {base.id if base else 0})"
    if operation is Operation.DELETE and verb == operation.verb:
        cure = "no query uses it; vacuum it to remove its files, or restore it"
        raise IndexStateError(f"{is_now} already {entry}; {cure}")
    if operation is Operation.RESTORE:
        raise IndexStateError(f"{is_now} already {entry}; there is nothing to restore")
    raise IndexStateError(
        f"{is_now} {entry}; " + {State.ACTIVE: "drop it first", State.DELETED: "restore it first"}[stable]
    )


def missing(verb: str, name: str) -> IndexNotFoundError:
    return IndexNotFoundError(f"{verb} needs an index; there is none named {name!r}", Cure("indexes"))
