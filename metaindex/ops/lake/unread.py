"""Files that a builder could not read, of those that the table still has. An index counts them in each run and records
no names: such a file shows by nothing at all being known of it. Only runs that count some are looked at."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow.compute as pc

from metaindex.core import Mask, Vector
from metaindex.formats import Snapshot
from metaindex.index import FileIdentities, OpenIndex, RunRef, StatState


def unread_files(index: OpenIndex, snapshot: Snapshot, identities: Callable[[], FileIdentities]) -> tuple[int, str]:
    """Return how many files of the snapshot the index could not read, at least, and the first of them; "" if it is
    unknown which they are. `identities`: the snapshot's, for all its indexes. Raises MetaIndexError if the index cannot
    be read."""
    runs = [run for run in index.entry.content.runs if run.uncovered_files]
    if not runs:
        return 0, ""
    files = identities()
    unread, first = 0, ""
    for run in runs:
        here = index.locate(run, files)
        live = np.flatnonzero(here >= 0)
        every = _unknown(index, run)
        unknown = live[every[here[live]]]
        # A file may be read, and be known by nothing all the same: then it is not told which of them were not, and as
        # many of those as there are may have left the table.
        is_told = int(every.sum()) <= run.uncovered_files
        gone = int(every.sum()) - len(unknown)
        unread += len(unknown) if is_told else max(run.uncovered_files - gone, 0)
        if is_told and len(unknown) and not first:
            first = str(snapshot.files.table.column("path")[int(unknown[0])].as_py())
    return unread, first


def _unknown(index: OpenIndex, run: RunRef) -> Mask:
    """Return by ordinal whether the keys of the run, and the first of its columns, know nothing of the file."""
    unknown = np.ones(run.files, np.bool_)
    column = next((column for column in run.columns if not column.partition), None)
    if column is not None:
        rows = index.column_rows(run, column)
        rows = rows.filter(
            pc.or_(pc.not_equal(rows.column("state"), int(StatState.UNKNOWN)), rows["value_count"].is_valid())
        )
        unknown[Vector(rows.column("ordinal")).numbers] = False
    for key in run.keys:
        unknown &= index.unkeyed_files(run, key)
    return unknown
