"""Appends entries to the log: under the next number, again if another writer took it, and with a defined answer if the
storage does not respond."""

from __future__ import annotations

import os
import secrets
import socket
import time
from collections.abc import Callable
from dataclasses import replace

from metaindex.core import ConcurrentWriteError, StorageError
from metaindex.index.log.entry import IndexLogEntry, UnderWay
from metaindex.index.log.operation_log import OperationLog
from metaindex.index.log.states import Operation
from metaindex.storage import back_off

TRIES = 64
"""Numbers that a writer may lose to others before it gives up."""


class Ended(Exception):
    """The operation is not under way any more: others cancelled it, or did the same first."""

    def __init__(self, latest: IndexLogEntry | None) -> None:
        super().__init__()
        self.latest = latest


def amend(
    log: OperationLog, name: str, word: str, change: Callable[[IndexLogEntry | None], IndexLogEntry]
) -> IndexLogEntry:
    """Append one entry that changes something at once, without an operation under way. `change` maps the latest entry
    to the next one's content, or raises."""
    nonce = secrets.token_hex(8)
    for attempt in range(TRIES):
        latest = log.latest()
        changed = change(latest)
        base = latest.id if latest is not None else 0
        before = latest.timestamp_ms if latest is not None else 0
        entry = replace(
            changed, id=base + 1, nonce=f"{nonce}.{base + 1}", timestamp_ms=max(now_ms(), before), written_by=word
        )
        try:
            log.append(entry)
        except ConcurrentWriteError:
            pause(attempt)
            continue
        return entry
    raise busy(word, name)


def end(
    log: OperationLog, mark: UnderWay, change: Callable[[IndexLogEntry], IndexLogEntry], written_by: str
) -> IndexLogEntry:
    """Append one entry without the operation. Raises Ended if it is not under way in the latest one."""
    for attempt in range(TRIES):
        latest = log.latest()
        if latest is None or all(u.nonce != mark.nonce for u in latest.under_way):
            raise Ended(latest)
        changed = change(latest)
        ended = replace(
            changed,
            id=latest.id + 1,
            nonce=f"{mark.nonce}.{latest.id + 1}.{written_by}",
            timestamp_ms=max(now_ms(), latest.timestamp_ms),
            written_by=written_by,
            under_way=tuple(u for u in changed.under_way if u.nonce != mark.nonce),
        )
        try:
            log.append(ended)
        except ConcurrentWriteError:
            pause(attempt)
            continue
        return ended
    raise busy(written_by, latest.name if latest is not None else "")


def names(entry: IndexLogEntry, mark: UnderWay) -> bool:
    """Return whether the entry's content names something that the operation wrote."""
    content = entry.content
    objects = [segment.object for segment in content.segments] + [
        r.bits for r in content.versions if r.bits is not None
    ]
    named = {run.run for run in content.runs} | {object_.path.split("/")[1] for object_ in objects}
    return not named.isdisjoint(mark.runs)


def abandon(
    log: OperationLog, mark: UnderWay, operation: Operation, remove: Callable[[], None]
) -> IndexLogEntry | None:
    """End a failed operation, so that no user has to cancel it; if this fails too, `cancel` does it. What it wrote is
    removed only once none of its commits can take effect any more. Return the entry of the commit if that did take
    effect after all."""
    try:
        end(log, mark, lambda latest: latest, f"abandon {operation.value}")
    except Ended as ended:
        try:
            landed = _commit_of(log, mark, operation, ended.latest)
        except StorageError:
            return None
        if landed is None and ended.latest is not None and not names(ended.latest, mark):
            undo(remove)
        return landed
    except Exception:  # noqa: BLE001 - the first error is on its way; this one says nothing new
        return None
    undo(remove)
    return None


def undo(remove: Callable[[], None]) -> None:
    try:
        remove()
    except StorageError:
        return  # it is garbage, for `clean`


def _commit_of(
    log: OperationLog, mark: UnderWay, operation: Operation, latest: IndexLogEntry | None
) -> IndexLogEntry | None:
    """The commit of the operation, looked for in the entries since its begin. StorageError where those cannot be read,
    so that it is not known."""
    word = f"commit {operation.value}"
    for number in range(latest.id if latest is not None else 0, mark.began, -1):
        entry = log.entry(number)
        if entry.nonce == f"{mark.nonce}.{number}.{word}":
            return entry
    return None


def busy(word: str, name: str) -> ConcurrentWriteError:
    return ConcurrentWriteError(
        f"{word} needs an entry number of its own; {TRIES} were taken by others; index {name!r} is busy; try again"
        " later"
    )


def pause(attempt: int) -> None:
    """Waits a little and at random, longer each time: the loser of a number lets others go first."""
    if attempt:
        back_off(attempt, 0.002, 0.5)


def who() -> str:
    """Return the name of this writer for people."""
    return f"{socket.gethostname()}:{os.getpid()}"


def now_ms() -> int:
    return int(time.time() * 1000)
