"""delete (soft), restore, vacuum (a deleted index), cancel (an operation whose writer is dead)."""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass, replace

from formats.storage import Storage
from metaindex.errors import ConcurrentWriteError, IndexNotFoundError, IndexStateError
from metaindex.log.entry import IndexLogEntry
from metaindex.log.operation_log import OperationLog
from metaindex.log.states import Operation, State

from .action import Change, Outcome, validate
from .runs import remove_run


@dataclass(slots=True)
class _Transition:
    """A change of state without new runs."""

    name: str
    operation: Operation

    def first_entry(self, base: IndexLogEntry | None) -> IndexLogEntry:
        if base is None:
            validate(self.operation, None, self.name)
            raise IndexNotFoundError(f"there is no index named {self.name!r}")
        return base.following(nonce="", timestamp_ms=0, written_by="")

    def runs(self) -> tuple[str, ...]:
        return ()

    def run(self, begun: IndexLogEntry) -> Change:
        return Change()

    def undo(self) -> None:
        """Nothing was written."""


@dataclass(slots=True)
class Delete(_Transition):
    """No query uses the index any more; its files stay and `restore` brings it back."""

    operation: Operation = Operation.DELETE


@dataclass(slots=True)
class Restore(_Transition):
    operation: Operation = Operation.RESTORE


@dataclass(slots=True)
class Vacuum(_Transition):
    """Removes the files of a deleted index for good. The operation log stays, so that numbers are never used twice."""

    storage: Storage | None = None
    operation: Operation = Operation.VACUUM

    def run(self, begun: IndexLogEntry) -> Change:
        assert self.storage is not None
        remove_all_runs(self.storage)
        return Change(empty=True, notes=(f"{len(begun.content.runs)} runs removed",))


def remove_all_runs(storage: Storage) -> None:
    """Every object below the index folder but its log."""
    for info in list(storage.list("_manifests")):
        storage.delete(info.path)
    for folder in storage.folders(""):
        if folder != "_log":
            for info in list(storage.list(folder)):
                storage.delete(info.path)


def cancel(log: OperationLog, storage: Storage, name: str) -> Outcome:
    """Ends every operation under way and goes back to the stable state; from VACUUMING forward to DOESNOTEXIST, as its files may be gone. An operation that
    still runs finds at its commit that it was cancelled, and fails."""
    for _ in range(64):
        latest = log.latest()
        if latest is None:
            raise IndexNotFoundError(f"cancel needs an index; there is none named {name!r}; list them with indexes()")
        if not latest.under_way:
            raise IndexStateError(
                f"cancel needs an operation under way; index {name!r} is {latest.stable.value}; there is nothing to cancel"
            )
        vacuuming = any(u.operation is Operation.VACUUM for u in latest.under_way)
        garbage = {run for u in latest.under_way for run in u.runs} - {r.run for r in latest.content.runs}
        if vacuuming:
            remove_all_runs(storage)  # before the log says so: nobody else may write until it does
        ended = replace(
            latest,
            id=latest.id + 1,
            nonce=secrets.token_hex(8),
            timestamp_ms=max(int(time.time() * 1000), latest.timestamp_ms),
            written_by="cancel " + ", ".join(u.operation.value for u in latest.under_way),
            under_way=(),
            stable=State.DOESNOTEXIST if vacuuming else latest.stable,
        )
        try:
            log.append(ended)
        except ConcurrentWriteError:
            continue
        for run in garbage:
            remove_run(storage, run)
        return Outcome(name, "cancel", True, ended)
    raise ConcurrentWriteError(
        f"cancel needs a number of its own; all were taken by others; index {name!r} is busy; try again later"
    )
