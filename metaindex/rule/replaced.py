"""Plain files that are not any more what an index knows of them. Spark's lists say path, size and time of a file, which
`cp -p`, `rsync -t` and archives give to other bytes, too; on a local disk inode and time of change tell them apart.

It is asked when the query is planned, of those files alone that would not be read. In stores nobody but the store says
when an object was written, and a look at each would be a request.
"""

from __future__ import annotations

import os
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from metaindex.expressions.deadline import look
from metaindex.expressions.statistics import Mask
from metaindex.formats.model import FileTable
from metaindex.pruning.result import PruneResult

from .replies import normal

_LOOK_EVERY: Final = 1_000  # files


def replaced(files: FileTable, root: str) -> Mask:
    """Which of these files are others now, or gone, or cannot be looked at. None of a store's.

    A plan waits for this: of what it takes, three quarters are the calls of `os.stat` themselves. To ask by the names
    in an opened folder is no faster, to list folders slower, and nothing that was seen holds a moment later.
    """
    paths, known = normal(files, root).to_pylist(), _signs(files)
    found: list[bool] = []
    for start in range(0, len(paths), _LOOK_EVERY):
        look()
        some = slice(start, start + _LOOK_EVERY)
        found += [_is_other(path, sign) for path, sign in zip(paths[some], known[some], strict=True)]
    return np.array(found, np.bool_)


def proved_now(result: PruneResult) -> PruneResult:
    """Files that are others now than those that were proved out are read."""
    changed = replaced(result.dropped, result.table) if result.dropped_files else None
    return result if changed is None or not changed.any() else result.reading(changed)


def _signs(files: FileTable) -> list[str]:
    """Size, time, and inode with time of change (`info_of`), put together once for all; "" where one is not known."""
    parts = [files.table.column(name).cast(pa.string()) for name in ("size_bytes", "modified_ms", "etag")]
    signs: list[str] = pc.binary_join_element_wise(*parts, ":").fill_null("").to_pylist()
    return signs


def _is_other(path: str, sign: str) -> bool:
    if path.startswith("//"):
        return False
    try:
        now = os.stat(path)
    except (OSError, ValueError):
        return True
    return f"{now.st_size}:{now.st_mtime_ns // 1_000_000}:{now.st_ino}-{now.st_ctime_ns}" != sign
