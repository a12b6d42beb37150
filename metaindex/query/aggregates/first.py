"""The first rows of a scan: which files are read first, so that few have to be opened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow.compute as pc

from metaindex.core import ArgumentError, Mask, Vector
from metaindex.index import FileStatistics, KnownCounts, OpenIndex
from metaindex.query.readers.first_rows import FirstRows
from metaindex.query.readers.scan import Scan

from .order_by import Sorted, sort_keys

_MOST = 1 << 62
"""More rows than any table has."""


def first_rows(scan: Scan, limit: object) -> Scan:
    """The scan, of at most `limit` rows. Files of which every row matches come first, those without a live row last;
    else they keep their order. Raises ArgumentError for what is no number of rows."""
    rows = _limit(limit)
    # An index may have recorded other files: to find that out, every footer would be opened.
    scan = replace(scan.whole(), anew=None)
    files = scan.file_rows
    certain = certain_files(scan)[files]
    live = KnownCounts.physical(scan.snapshot.files).less(KnownCounts.deleted(scan.snapshot.files))
    empty = (live.known & (live.values == 0))[files]
    order = np.argsort(np.where(empty, 2, np.where(certain, 0, 1)), kind="stable")
    sure = int(np.count_nonzero(certain & ~empty)) if scan.predicate is not None else 0
    return replace(scan, rows=files[order], first=FirstRows(rows, sure))


def first_in_order(scan: Scan, limit: object, order_by: object, indexes: Sequence[OpenIndex]) -> Scan:
    """The scan, of the first `limit` rows in an order (`order_by.sort_keys`). Files that cannot hold any are left out
    as far as bounds and counts prove it, the others stand in the order of the best row that each may have."""
    snapshot = scan.snapshot
    keys = sort_keys(order_by, snapshot.schema, snapshot.version)
    if limit is None:
        raise ArgumentError(
            "order_by says which rows are the first, and limit= how many; no limit was given; say one, or sort what"
            " the scan gives"
        )
    rows = _limit(limit)
    leaf = next(leaf for leaf in snapshot.schema.leaves() if leaf.parts == (keys[0].column,))
    (told,) = FileStatistics(snapshot, indexes, storage=scan.storage, opens=False).columns([leaf])
    deleted = KnownCounts.deleted(snapshot.files)
    counted = KnownCounts.of(told.facts.column("value_count"))
    live = KnownCounts.agreed([KnownCounts.physical(snapshot.files), counted]).less(deleted)
    column = Sorted.of(told, keys[0].direction)
    best, files = column.best(), scan.file_rows
    threshold = column.threshold(rows, live, deleted, certain_files(scan))
    if threshold is not None:
        files = files[~best.behind(threshold.place)[files]]
    files = files[best.take(files).best_first()]
    return replace(scan, rows=files, first=FirstRows(rows, keys=keys, best=best.take(files)))


def _limit(limit: object) -> int:
    if isinstance(limit, bool) or not isinstance(limit, int | np.integer) or limit < 0:
        raise ArgumentError(f"a limit is a number of rows, 0 or more; got {limit!r}; leave it out for all rows")
    return min(int(limit), _MOST)


def certain_files(scan: Scan) -> Mask:
    """The files of the snapshot of which every row matches."""
    files = scan.snapshot.files
    if scan.keys is not None:  # the answer is of what the keys say of files, which more rows may match
        return np.zeros(len(files), np.bool_)
    if scan.result is None:
        return np.ones(len(files), np.bool_)
    certain = pc.is_in(files.paths, value_set=scan.result.certain.paths.combine_chunks())
    return Vector(certain).truths(null=False)
