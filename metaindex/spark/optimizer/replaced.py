"""Plain files that are not any more what an index knows of them. Spark's lists say path, size and time of a file, which
`cp -p`, `rsync -t` and archives give to other bytes, too; on a local disk inode and time of change tell them apart.

It is asked when the query is planned, of those files alone that would not be read, and again whenever the plan runs
(`Facts.java`). In stores nobody but the store says when an object was written, and a look at each would be a request.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import numpy as np
import pyarrow.compute as pc

from metaindex.core import Mask, TooLate
from metaindex.formats import FileTable
from metaindex.query import PruneResult

from .replies import normal, signs

_LOOK_EVERY: Final = 1_000  # files
_local = threading.local()


def replaced(files: FileTable, root: str) -> Mask:
    """Return a mask of the files that changed, are gone, or cannot be looked at; False for those of an object store.

    A plan waits for this: of what it takes, three quarters are the calls of `os.stat` themselves. To ask by the names
    in an opened folder is no faster, to list folders slower, and nothing that was seen holds for another query.
    """
    paths = normal(files, root)
    is_replaced: Mask = pc.invert(pc.starts_with(paths, "//")).to_numpy()
    if is_replaced.any():
        pairs = zip(_now(paths.to_pylist()), signs(files).to_pylist(), strict=True)
        is_replaced &= np.fromiter((now != sign for now, sign in pairs), np.bool_, len(paths))
    return is_replaced


@contextmanager
def looked_at_once() -> Iterator[None]:
    """Look at each file only once while this thread plans one query inside."""
    _local.seen = {}
    try:
        yield
    finally:
        _local.seen = None


def _now(paths: Sequence[str]) -> list[str | None]:
    seen: dict[str, str | None] | None = getattr(_local, "seen", None)
    new = [path for path in paths if path not in seen] if seen else paths
    looks: list[str | None] = []
    for start in range(0, len(new), _LOOK_EVERY):
        TooLate.check()
        looks += [_sign(path) for path in new[start : start + _LOOK_EVERY]]
    if seen is None:
        return looks
    seen.update(zip(new, looks, strict=True))
    return [seen[path] for path in paths]


def proved_now(result: PruneResult) -> PruneResult:
    """Files that are others now than those that were proved out are read."""
    changed = replaced(result.dropped, result.table) if result.dropped_files else None
    return result if changed is None or not changed.any() else result.reading(changed)


def _sign(path: str) -> str | None:
    """Return the sign of the file that is there now; None if there is none."""
    try:
        now = os.stat(path)
    except (OSError, ValueError):
        return None
    return f"{now.st_size}:{now.st_mtime_ns // 1_000_000}:{now.st_ino}-{now.st_ctime_ns}"
