"""delete (soft), restore, vacuum (a deleted index), enable, disable, cancel.

`cancel` ends every operation under way, for when a writer has died, and goes back to what is stable:

    begin    one entry that takes all marks out and puts CANCELLING in their place: from here on the writers, should
             they wake up, fail at their commit
    run      remove what they wrote; after a vacuum everything, as some of it is gone
    commit   the stable state: what it was; DOESNOTEXIST after a vacuum, and where nothing was stable before
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace

from metaindex.core import IndexStateError, counted
from metaindex.index.log.entry import Content, IndexLogEntry, UnderWay
from metaindex.index.log.liveness import heartbeat_path, is_nonce
from metaindex.index.log.operation_log import OperationLog
from metaindex.index.log.states import CANCELLED, Operation, State
from metaindex.index.store.layout import is_run

from .action import Action, Change, Ended, Outcome, append, end, missing, now_ms, who
from .removal import remove_everything, remove_runs


@dataclass(slots=True)
class Transition(Action):
    """A change of state without new runs: after a delete no query uses the index any more; its files stay, and a
    restore brings it back."""

    name: str
    operation: Operation
    rebases = False

    def run(self, begun: IndexLogEntry) -> Change:
        return Change()


@dataclass(slots=True)
class Vacuum(Transition):
    """Removes the files of a deleted index for good. The operation log stays, so that numbers are never used twice.
    Once begun there is no way back: where it fails half way the index stays VACUUMING, until vacuum is run again or
    cancel goes forward."""

    log: OperationLog | None = None
    operation: Operation = Operation.VACUUM
    forward_only = True

    def run(self, begun: IndexLogEntry) -> Change:
        assert self.log is not None
        left = remove_everything(self.log, begun.under_way[-1].nonce)
        return Change(empty=True, notes=(f"{counted(len(begun.content.runs), 'run')} removed", *left))


def set_enabled(log: OperationLog, name: str, enabled: bool) -> Outcome:
    """Lets queries use an index, or not, at once; everything else goes on. Any operation may be under way."""
    verb = "enable" if enabled else "disable"
    latest = log.latest()
    if latest is not None and latest.stable is State.ACTIVE and latest.enabled is enabled:
        return Outcome(name, verb, False, latest, (f"it is {verb}d",))

    def change(base: IndexLogEntry | None) -> IndexLogEntry:
        if base is None or base.stable is State.DOESNOTEXIST:
            raise missing(verb, name)
        if base.stable is not State.ACTIVE:
            raise IndexStateError(
                f"{verb} needs state ACTIVE; index {name!r} is {base.stable.value} (entry {base.id}); restore it first"
            )
        return replace(base, enabled=enabled)

    return Outcome(name, verb, True, append(log, verb, secrets.token_hex(8), change))


def cancel(log: OperationLog, name: str, *, dead_alone: bool = False) -> Outcome:
    """Ends all operations under way; `dead_alone`: those whose writers give no sign of life. A cancel whose writer died
    is ended by another one. Where the latest entry cannot be read the log first goes on from the newest one that can.
    IndexStateError where none is under way."""
    revived = log.mended()
    goes_on = ("the latest log entry could not be read; the log goes on from the newest that could",)
    if revived is not None and not revived.under_way:
        return Outcome(name, "cancel", True, revived, goes_on)
    nonce = secrets.token_hex(8)
    ended: list[UnderWay] = []

    def begin(latest: IndexLogEntry | None) -> IndexLogEntry:
        if latest is None:
            raise missing("cancel", name)
        ended[:] = [mark for mark in latest.under_way if not dead_alone or log.suspected(mark)]
        if not ended:
            raise IndexStateError(
                f"cancel needs an operation under way; index {name!r} is {latest.stable.value}; there is nothing to"
                " cancel"
            )
        others = tuple(mark for mark in latest.under_way if mark not in ended)
        live = {run.run for run in latest.content.runs} | {run for mark in others for run in mark.runs}
        runs = tuple(sorted({run for mark in ended for run in mark.runs if is_run(run)} - live))
        mark = UnderWay(Operation.CANCEL, latest.id + 1, nonce, who(), now_ms(), runs)
        gone = any(CANCELLED[u.operation] is State.DOESNOTEXIST for u in ended) and latest.stable is not State.ACTIVE
        return replace(
            latest,
            under_way=(*others, mark),
            stable=State.DOESNOTEXIST if gone else latest.stable,
            content=Content() if gone else latest.content,
        )

    begun = append(log, "begin cancel", secrets.token_hex(8), begin)
    mark = begun.under_way[-1]
    notes = remove_everything(log, nonce) if begun.stable is State.DOESNOTEXIST else ()
    remove_runs(log.storage, mark.runs)
    for ended_mark in ended:
        if is_nonce(ended_mark.nonce):
            log.storage.delete(heartbeat_path(ended_mark.nonce))

    word = "cancel " + ", ".join(u.operation.value for u in ended)
    try:
        told = (*(goes_on if revived is not None else ()), *notes)
        return Outcome(name, "cancel", True, end(log, mark, lambda latest: latest, word), told)
    except Ended as ended_by:  # another cancel, which did the same
        return Outcome(name, "cancel", False, ended_by.latest or begun, ("another cancel did the same",))
