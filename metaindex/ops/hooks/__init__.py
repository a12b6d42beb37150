"""Indexes that follow the commits of their tables, from the writer's side.

    mi.hooks.enable(spark)                     every successful write of the session, batch or streaming, to a table
                                               that has indexes
    mi.hooks.deltalake.write_deltalake(...)    deltalake's writer;  mi.hooks.pyiceberg.append(table, rows) and its like:
                                                                    pyiceberg's
    mi.hooks.after_commit(table)               anyone;              with mi.hooks.commits(table): ...   around some
                                                                    writes
    metaindex watch TABLE...                   a process of its own, that follows the tables' logs

A hook never fails the writer and, in the background, never makes it wait. It only triggers: what changed is asked of
the table's log, so that nothing is lost where a trigger is.
"""

from metaindex.index import Written

from . import deltalake, pyiceberg
from .after_commit import after_commit, commits, counts, flush
from .keep import Kept
from .spark import disable, enable
from .worker import Counts

__all__ = [
    "Counts",
    "Kept",
    "Written",
    "after_commit",
    "commits",
    "counts",
    "deltalake",
    "disable",
    "enable",
    "flush",
    "pyiceberg",
]
