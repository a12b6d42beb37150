"""How fast a table grows, by its own history: what is in it now and was not in an older version."""

from __future__ import annotations

import numpy as np

from metaindex.expressions.errors import MetaIndexError
from metaindex.expressions.vectors import numbers, one_array, valid_mask
from metaindex.formats.diff import compare
from metaindex.formats.model import Snapshot
from metaindex.formats.protocol import At, TableFormat, TableRef

from .answer import Rate

_COMMITS = 100
"""How far back is looked."""
_DAY_MS = 86_400_000
_LEAST_MS = 3_600_000
"""Less of a history says nothing of a day."""


def rate_of(table_format: TableFormat, ref: TableRef, snapshot: Snapshot) -> Rate:
    """From the versions that can still be read. Of plain files, which have none but those that indexes remember, from
    the times of the files."""
    try:
        if snapshot.format == "files":
            return _by_files(snapshot)
        versions = list(table_format.versions(ref))
        at = next((number for number, one in enumerate(versions) if one.id == snapshot.version.id), len(versions) - 1)
        first = max(0, at - _COMMITS)
        if at - first < 1:
            return Rate(reason="no older version can be read")
        before = table_format.snapshot(ref, At.of(versions[first]))
    except MetaIndexError as error:
        return Rate(reason=f"no older version can be read ({error})")
    return _rate(snapshot.timestamp_ms - before.timestamp_ms, at - first, compare(before, snapshot).appended.size_bytes)


def _by_files(snapshot: Snapshot) -> Rate:
    """A commit is all files of one minute."""
    modified = one_array(snapshot.files.table.column("modified_ms"))
    if len(modified) < 2 or valid_mask(modified) is not None:
        return Rate(reason="the times of its files do not tell")
    times = numbers(modified)
    minutes = np.unique(times // 60_000)
    later = times // 60_000 > minutes[0]
    sizes = numbers(snapshot.files.table.column("size_bytes"))
    return _rate(int(times.max() - times.min()), len(minutes) - 1, int(sizes[later].sum()))


def _rate(milliseconds: int, commits: int, added_bytes: int) -> Rate:
    if milliseconds < _LEAST_MS:
        return Rate(reason="its history is shorter than an hour")
    return Rate(milliseconds / _DAY_MS, commits, added_bytes)
