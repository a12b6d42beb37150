"""The different values of whole files, where an index keeps them as they are: lists of values, and values that are
looked up in their order.

A row is believed of exactly the bytes that it was made of, and under the type that it was made under, as look-ups
believe it. What goes wrong in an index leaves that index out, and is told; its files are read then.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metaindex.core import Mask, arrow_array, dataclass
from metaindex.formats import Leaf
from metaindex.index import (
    CoveredKey,
    KeepsValues,
    OpenIndex,
    RunRef,
    looked_up,
    plain_type,
    readable,
    rows_of,
)
from metaindex.query.bounds import BoundsOf
from metaindex.query.pruning.run_coverage import unkeyed_files

from .kept import damage_leaves_out

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _ValuesOfRun:
    """The values of one key of one run. `rows`: by ordinal, of the snapshot; -1 where they are not asked."""

    index: OpenIndex
    run: RunRef
    key: CoveredKey
    rows: Rows

    @property
    def entries(self) -> int:
        """Return the number of entries, all of which are read, however few files are needed."""
        parts = self.index.reader(self.run).parts(self.key.kind)
        return sum(part.rows for part in parts if part.first_key == self.key.key_id)

    def each(self, wanted: Mask) -> Iterator[tuple[Rows, pa.Array]]:
        asked = (self.rows >= 0) & wanted[np.maximum(self.rows, 0)]
        rows = rows_of(self.key)
        assert issubclass(rows, KeepsValues)
        for ordinals, keys in rows.each_value(self.index.reader(self.run), self.key) if asked.any() else ():
            some = np.flatnonzero(asked[ordinals])
            if len(some):
                yield self.rows[ordinals[some]], keys.take(arrow_array(some, None, pa.int64()))


@dataclass(frozen=True, slots=True)
class KeptValues:
    """A mask of the files for which an index keeps each different value of a column, those of deleted rows included."""

    known: Mask
    bounds: BoundsOf
    of_runs: tuple[_ValuesOfRun, ...]

    @property
    def indexes(self) -> frozenset[str]:
        """Their names."""
        return frozenset(run.index.name for run in self.of_runs)

    def worth(self, wanted: Mask, counts: Rows) -> Mask:
        """Return the wanted files whose values pay to read. `counts`: their rows. A run is read as a whole: not if it
        has more than twice as many entries as these files have rows. Raises LeftOut for a damaged index."""
        out = np.zeros(len(wanted), np.bool_)
        for run in self.of_runs:
            mine = run.rows[run.rows >= 0]
            mine = mine[wanted[mine]]
            with damage_leaves_out(self.bounds, run.index):
                out[mine] = run.entries <= 2 * int(counts[mine].sum())
        return out

    def entries(self, wanted: Mask) -> int:
        """Return the number of entries that `each` reads. Raises LeftOut for a damaged index."""
        count = 0
        for run in self.of_runs:
            if wanted[run.rows[run.rows >= 0]].any():
                with damage_leaves_out(self.bounds, run.index):
                    count += run.entries
        return count

    def each(self, wanted: Mask) -> Iterator[tuple[Rows, pa.Array]]:
        """Yield the values of the wanted files as `KeepsValues` does, by rows of the snapshot. Raises LeftOut for a
        damaged index."""
        for run in self.of_runs:
            with damage_leaves_out(self.bounds, run.index):
                yield from run.each(wanted)


def values_of(bounds: BoundsOf, leaf: Leaf) -> KeptValues | None:
    """Return the values that indexes keep of a column, each file's from one index; None if there are none."""
    known, runs = np.zeros(len(bounds.snapshot.files), np.bool_), []
    for index in bounds.indexes:
        for run, key, ordinals, rows in bounds.asked_of(index, partial(_of_index, bounds, index, leaf)):
            fresh = ~known[rows]
            of_ordinals = np.full(run.files, -1, np.int64)
            of_ordinals[ordinals[fresh]] = rows[fresh]
            known[rows] = True
            runs.append(_ValuesOfRun(index, run, key, of_ordinals))
    return KeptValues(known, bounds, tuple(runs)) if runs else None


def _of_index(bounds: BoundsOf, index: OpenIndex, leaf: Leaf) -> list[tuple[RunRef, CoveredKey, Rows, Rows]]:
    """Return the index's keys that keep values of the column, with the files that each keys: ordinals, rows of the
    snapshot."""
    told = []
    for run in index.entry.content.runs:
        for key in looked_up(run) if run.files else ():
            if [column.stable for column in key.columns] != [leaf.stable] or not readable(key):
                continue
            stored = key.columns[0].type
            if not issubclass(rows_of(key), KeepsValues) or stored != plain_type(leaf.type):
                continue
            places = bounds.places(index, run)
            keyed = ~unkeyed_files(index, run, key)
            rows = np.flatnonzero((places >= 0) & keyed[np.maximum(places, 0)])
            if len(rows):
                told.append((run, key, places[rows], rows))
    return told
