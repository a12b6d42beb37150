"""Which row groups of a file held a row for the filter, found out while the file is read.

A row group is said to hold none only where all of its rows were looked at, those that are deleted at this version
included, or where the file's own footer proves it. A reading that ends before the file does, or fails, says nothing.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pyarrow as pa

from metaindex.expressions.errors import MetaIndexError
from metaindex.expressions.statistics import Mask
from metaindex.expressions.vectors import from_vector, vector
from metaindex.formats.files.listing import RACY_NS
from metaindex.formats.model import Snapshot
from metaindex.formats.storage import ObjectInfo, Storage

from .replaced import seen

if TYPE_CHECKING:
    from .row_filter import RowFilter

_FEW, _SMALL = 8, 1_000
"""Where more rows of a batch match than one of 8, and 1,000, each of its row groups is said to hold one: it mostly
does, and to look costs the filter once more."""
_PLACE = "\x00row"  # no column of a table has that name


class Watches(Protocol):
    """Who is told what a scan's filter found. Nothing is raised."""

    def wants(self, row: int) -> bool:
        """Is a file (its row in the snapshot) to be watched?"""

    def keep(self, row: int, may: Mask) -> None:
        """Of each row group of a file: may a row match, at any version?"""


class WatchedFile:
    """One file that is read with a filter."""

    def __init__(self, applied: RowFilter) -> None:
        self._filter = applied
        self._begun_ns = time.time_ns()
        self.now: ObjectInfo | None = None  # what a local file was when it was opened
        self._starts: list[int] = []  # of the row groups, and behind the last one
        self._may = np.ones(0, np.bool_)
        self._left = -1  # rows that are not seen yet

    def opened(self, starts: Sequence[int], kept: Sequence[range], *, proved: bool) -> None:
        """Where the row groups begin, with the end of the last; and those that will be read. `proved`: the file's own
        footer proves that no row of the others matches."""
        self._starts = list(starts)
        self._may = np.full(len(starts) - 1, not proved)
        for run in kept:
            self._may[run.start : run.stop] = False
        self._left = sum(starts[run.stop] - starts[run.start] for run in kept)

    def matching(self, batch: pa.RecordBatch, first: int, live: Mask | None) -> pa.RecordBatch:
        """The live rows of a batch that match; `first`: the place of its first row in the file."""
        count = batch.num_rows
        self._left -= count
        groups = self._groups(first, count)
        matched = self._filter.matching(batch if live is None else batch.filter(pa.array(live)))
        if matched.num_rows:
            if len(groups) == 1 or matched.num_rows > max(count // _FEW, _SMALL):
                self._may[groups.start : groups.stop] = True
            else:  # once more, each row with where it stands
                numbered = self._numbered(batch, first)
                self._found_at(self._filter.matching(numbered if live is None else numbered.filter(pa.array(live))))
        if live is not None and not self._may[groups.start : groups.stop].all():
            self._of_dead(self._numbered(batch, first).filter(pa.array(~live)), groups)
        return matched

    @staticmethod
    def _numbered(batch: pa.RecordBatch, first: int) -> pa.RecordBatch:
        return batch.append_column(_PLACE, from_vector(np.arange(first, first + batch.num_rows), None, pa.int64()))

    def _found_at(self, matched: pa.RecordBatch) -> None:
        if matched.num_rows:
            places = vector(matched.column(_PLACE), np.int64)
            self._may[np.unique(np.searchsorted(self._starts, places, side="right") - 1)] = True

    def _of_dead(self, dead: pa.RecordBatch, groups: range) -> None:
        """Of rows that are deleted now: another version may have them. Where the filter fails on one, it cannot be
        told."""
        try:
            matched = self._filter.matching(dead)
        except Exception:  # noqa: BLE001 - nobody asked for these rows
            self._may[groups.start : groups.stop] = True
        else:
            self._found_at(matched)

    def _groups(self, first: int, count: int) -> range:
        """The row groups of which a batch has rows."""
        if not count:
            return range(0)
        return range(bisect_right(self._starts, first) - 1, bisect_right(self._starts, first + count - 1))

    def outcome(self, storage: Storage, snapshot: Snapshot, row: int) -> Mask | None:
        """Of each row group; None where not all rows were seen, or the file may have been another in the meantime."""
        return self._may if self._left == 0 and self._is_same(storage, snapshot, row) else None

    def _is_same(self, storage: Storage, snapshot: Snapshot, row: int) -> bool:
        """Is the file the one that the snapshot lists, and was it when it was opened? A file of a plain folder that was
        written just before may have been written again without a sign."""
        plain, local = snapshot.format == "files", "://" not in storage.root
        if not plain and not local:
            return True
        try:
            later = seen(storage, snapshot, row)
        except MetaIndexError:
            return False
        if not local:
            return True
        if self.now is None or self.now != later:
            return False
        return not plain or self.now.modified_ns <= self._begun_ns - RACY_NS  # as indexes believe a file
