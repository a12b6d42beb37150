"""delete (soft), restore, vacuum (a deleted index), enable, disable."""

from __future__ import annotations

from dataclasses import dataclass, replace

from metaindex.core import IndexStateError, counted
from metaindex.index.log.entry import IndexLogEntry
from metaindex.index.log.operation_log import OperationLog
from metaindex.index.log.states import Operation, State

from .action import Change, Outcome, validate
from .appending import amend
from .removal import remove_everything
from .validation import missing


@dataclass(slots=True)
class _Transition:
    """A change of state without new runs."""

    name: str
    operation: Operation
    forward_only: bool = False
    rebases: bool = False

    def first_entry(self, base: IndexLogEntry | None) -> IndexLogEntry:
        if base is None:
            validate(self.operation, None, self.name)
            raise missing(self.operation.verb, self.name)
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
    """Removes the files of a deleted index for good. The operation log stays, so that numbers are never used twice.
    Once begun there is no way back: where it fails half way the index stays VACUUMING, until vacuum is run again or
    cancel goes forward."""

    log: OperationLog | None = None
    operation: Operation = Operation.VACUUM
    forward_only: bool = True

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

    return Outcome(name, verb, True, amend(log, name, verb, change))
