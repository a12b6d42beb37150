"""Upkeep that a refresh does, so that an index refreshed every minute for a year stays fast: due merges of small runs
(size-tiered), and moving old entries behind a tombstone. Nothing that a query may read is removed: that is for `clean`.
What goes wrong here is for the next refresh."""

from __future__ import annotations

import logging

from metaindex.core import MetaIndexError
from metaindex.index.build.protocol import Builder
from metaindex.index.log.entry import IndexLogEntry
from metaindex.index.log.operation_log import OperationLog
from metaindex.index.store.reader import StoreCache

from .action import execute
from .clean import KEPT_ENTRIES, trim
from .merge_policy import ON_REFRESH, quick_groups
from .optimize import Optimize

logger = logging.getLogger("metaindex")


def upkeep(
    log: OperationLog, name: str, entry: IndexLogEntry, cache: StoreCache, builder: Builder | None = None
) -> tuple[str, ...]:
    """Do the upkeep after a refresh's commit by the builder, and return notes on it."""
    notes: tuple[str, ...] = ()
    try:
        if quick_groups(entry.content.runs, ON_REFRESH):
            notes = execute(log, Optimize(name, log.storage, "quick", ON_REFRESH, cache=cache, builder=builder)).notes
        if entry.id % (KEPT_ENTRIES // 4) < 4:  # a refresh writes two entries, a merge two more
            trim(log, KEPT_ENTRIES)
    except MetaIndexError as error:
        logger.warning("upkeep of index %r is left to the next refresh: %s", name, error)
    return notes
