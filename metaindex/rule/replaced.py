"""Plain files that are not any more what an index knows of them. Spark's lists say path, size and time of a file, which
`cp -p`, `rsync -t` and archives give to other bytes, too; on a local disk inode and time of change tell them apart.

It is asked when the query is planned, of those files alone that would not be read. In stores nobody but the store says
when an object was written, and a look at each would be a request.
"""

from __future__ import annotations

import os

import numpy as np

from expressions.deadline import look
from expressions.statistics import Mask
from formats.model import FileTable
from formats.storage_local import info_of
from metaindex.pruning.result import PruneResult

from .replies import normal

_LOOK_EVERY = 1_000  # files
_SIGNS = ["size_bytes", "modified_ms", "etag"]


def replaced(files: FileTable, root: str) -> Mask:
    """Which of these files are others now, or gone, or cannot be looked at. None of a store's."""
    paths = normal(files, root).to_pylist()
    known = zip(*(files.table.column(name).to_pylist() for name in _SIGNS), strict=True)
    found = np.zeros(len(paths), np.bool_)
    for at, (path, sign) in enumerate(zip(paths, known, strict=True)):
        if at % _LOOK_EVERY == 0:
            look()
        found[at] = not path.startswith("//") and _sign(path) != sign
    return found


def proved_now(result: PruneResult) -> PruneResult:
    """Files that are others now than those that were proved out are read."""
    changed = replaced(result.dropped, result.table) if result.dropped_files else None
    return result if changed is None or not changed.any() else result.reading(changed)


def _sign(path: str) -> tuple[int, int, str | None] | None:
    try:
        now = info_of(path, os.stat(path))
    except (OSError, ValueError):
        return None
    return now.size_bytes, now.modified_ns // 1_000_000, now.etag
