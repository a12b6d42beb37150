"""The first rows of a scan: which files are read first, so that few have to be opened."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow.compute as pc

from metaindex.expressions.errors import ArgumentError
from metaindex.expressions.vectors import Mask, one_array, truths
from metaindex.readers.first_rows import FirstRows
from metaindex.readers.scan import Scan

from .live import deleted_rows, physical_rows

_MOST = 1 << 62
"""More rows than any table has."""


def first_rows(scan: Scan, limit: object) -> Scan:
    """The scan, of at most `limit` rows. Files of which every row matches come first, those without a live row last;
    else they keep their order. ArgumentError for what is no number of rows."""
    rows = _limit(limit)
    # An index may have recorded other files: to find that out, every footer would be opened.
    scan = replace(scan.whole(), anew=None)
    files = scan.file_rows
    certain = certain_files(scan)[files]
    live = physical_rows(scan.snapshot.files).less(deleted_rows(scan.snapshot.files))
    empty = (live.known & (live.values == 0))[files]
    order = np.argsort(np.where(empty, 2, np.where(certain, 0, 1)), kind="stable")
    sure = int(np.count_nonzero(certain & ~empty)) if scan.predicate is not None else 0
    return replace(scan, rows=files[order], first=FirstRows(rows, sure))


def _limit(limit: object) -> int:
    if isinstance(limit, bool) or not isinstance(limit, int | np.integer) or limit < 0:
        raise ArgumentError(f"a limit is a number of rows, 0 or more; got {limit!r}; leave it out for all rows")
    return min(int(limit), _MOST)


def certain_files(scan: Scan) -> Mask:
    """The files of the snapshot of which every row matches."""
    files = scan.snapshot.files
    if scan.result is None:
        return np.ones(len(files), np.bool_)
    certain = pc.is_in(files.paths, value_set=scan.result.certain.paths.combine_chunks())
    return truths(one_array(certain), null=False)
