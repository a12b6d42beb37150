"""Recovery of a log whose newest entries cannot be read: it goes on after them, from the newest readable one."""

from __future__ import annotations

import secrets
from dataclasses import replace

from metaindex.core import (
    DamagedIndexError,
    ForeignIndexError,
    MetaIndexError,
    StorageError,
    StoragePermissionError,
    StorageUnavailableError,
)

from .entry import IndexLogEntry, UnderWay
from .operation_log import OperationLog


def newest_readable(log: OperationLog) -> IndexLogEntry | None:
    """The newest entry that can be read: the latest, unless that is damaged."""
    for number in reversed(log.numbers()):
        try:
            return log.entry(number)
        except MetaIndexError:
            continue
    return None


def revive(log: OperationLog, newest: IndexLogEntry, under_way: tuple[UnderWay, ...] = ()) -> IndexLogEntry:
    """An entry behind those that cannot be read, with the content of the newest one that can. What they hold is lost by
    it: so it raises where they may only not be for this program to read (a newer version's, under another seal), or not
    now."""
    numbers = log.numbers()
    for number in numbers:
        if number > newest.id:
            try:
                log.entry(number)
            except (ForeignIndexError, StorageUnavailableError, StoragePermissionError):
                raise
            except MetaIndexError:
                continue
    number = numbers[-1] + 1
    entry = replace(
        newest, id=number, nonce=f"{secrets.token_hex(8)}.{number}", under_way=under_way, written_by="repair"
    )
    log.append(entry)
    return entry


def mended(log: OperationLog) -> IndexLogEntry | None:
    """Goes on from the newest entry that can be read, with what was under way there, where the latest cannot. None
    where nothing has to be done; raises where no entry can be read."""
    try:
        log.latest()
    except (DamagedIndexError, StorageError):
        newest = newest_readable(log)
        if newest is None:
            raise
        return revive(log, newest, newest.under_way)
    return None
