"""cancel: ends every operation under way, for when a writer has died, and goes back to what is stable.

begin    one entry that takes all marks out and puts CANCELLING in their place: from here on the writers, should they
         wake up, fail at their commit
run      remove what they wrote; after a vacuum everything, as some of it is gone
commit   the stable state: what it was; DOESNOTEXIST after a vacuum, and where nothing was stable before
"""

from __future__ import annotations

import secrets
from dataclasses import replace

from metaindex.core import IndexStateError
from metaindex.index.log.entry import Content, IndexLogEntry, UnderWay
from metaindex.index.log.liveness import heartbeat_path, is_nonce
from metaindex.index.log.operation_log import OperationLog
from metaindex.index.log.recovery import mended
from metaindex.index.log.states import CANCELLED, Operation, State
from metaindex.index.store.writer import is_run

from .action import Outcome
from .appending import Ended, amend, now_ms, who
from .removal import remove_everything, remove_runs
from .validation import missing


def cancel(log: OperationLog, name: str) -> Outcome:
    """Ends all operations under way. A cancel whose writer died is ended by another one. Where the latest entry cannot
    be read the log first goes on from the newest one that can. IndexStateError where none is under way."""
    revived = mended(log)
    goes_on = ("the latest log entry could not be read; the log goes on from the newest that could",)
    if revived is not None and not revived.under_way:
        return Outcome(name, "cancel", True, revived, goes_on)
    nonce = secrets.token_hex(8)
    ended: list[UnderWay] = []

    def begin(latest: IndexLogEntry | None) -> IndexLogEntry:
        if latest is None:
            raise missing("cancel", name)
        if not latest.under_way:
            raise IndexStateError(
                f"cancel needs an operation under way; index {name!r} is {latest.stable.value}; there is nothing to"
                " cancel"
            )
        ended[:] = latest.under_way
        live = {run.run for run in latest.content.runs}
        runs = tuple(sorted({run for mark in ended for run in mark.runs if is_run(run)} - live))
        mark = UnderWay(Operation.CANCEL, latest.id + 1, nonce, who(), now_ms(), runs)
        gone = any(CANCELLED[u.operation] is State.DOESNOTEXIST for u in ended) and latest.stable is not State.ACTIVE
        return replace(
            latest,
            under_way=(mark,),
            stable=State.DOESNOTEXIST if gone else latest.stable,
            content=Content() if gone else latest.content,
        )

    begun = amend(log, name, "begin cancel", begin)
    (mark,) = begun.under_way
    notes = remove_everything(log, nonce) if begun.stable is State.DOESNOTEXIST else ()
    remove_runs(log.storage, mark.runs)
    for ended_mark in ended:
        if is_nonce(ended_mark.nonce):
            log.storage.delete(heartbeat_path(ended_mark.nonce))

    def end(latest: IndexLogEntry | None) -> IndexLogEntry:
        if latest is None:
            raise missing("cancel", name)
        if all(u.nonce != nonce for u in latest.under_way):
            raise Ended(latest)
        return replace(latest, under_way=tuple(u for u in latest.under_way if u.nonce != nonce))

    word = "cancel " + ", ".join(u.operation.value for u in ended)
    try:
        told = (*(goes_on if revived is not None else ()), *notes)
        return Outcome(name, "cancel", True, amend(log, name, word, end), told)
    except Ended as ended_by:  # another cancel, which did the same
        return Outcome(name, "cancel", False, ended_by.latest or begun, ("another cancel did the same",))
