"""Tables that hooks have opened: a writer commits to the same few again and again, and finding out what is at a path,
and reading the runs of its indexes, costs as much as what is new.

A handle is taken out while it is used, so that no two threads share one. It keeps what is immutable and nothing of the
table's or an index's state; where anything goes wrong with it, the table is opened anew.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

from metaindex.core import MetaIndexError
from metaindex.table import Table, handle_of

from .keep import Kept

TABLES = 8
USES = 64
"""Tables kept, and how often one is used: what a handle knows of runs that are merged since is let go then."""

_kept: dict[Hashable, tuple[Table, int]] = {}


def use(key: Hashable, opened: Callable[[], Table], job: Callable[[Table], list[Kept]]) -> list[Kept]:
    """Do a job with the table of the key: with the cached handle, or a new one. Raises what `opened` or `job` raise
    with a new one."""
    table, uses = _kept.pop(key, (None, 0))
    if table is not None:
        try:
            done = job(table)
        except MetaIndexError:
            done = None
        if done is not None and not any(kept.error for kept in done):
            _put(key, table, uses + 1)
            return done
    table = opened()
    done = job(table)
    if not any(kept.error for kept in done):
        _put(key, table, 1)
    return done


def _put(key: Hashable, table: Table, uses: int) -> None:
    handle = handle_of(table)
    # Without its log the handle fails; a plain folder may have become another table unseen.
    if uses < USES and handle.table_format.numbered:
        handle.forget()
        _kept[key] = (table, uses)
        for oldest in list(_kept)[:-TABLES]:
            _kept.pop(oldest, None)
