"""Sums, sketches and different values that indexes keep of whole files, which no bound could give.

A row is believed of exactly the bytes that it was made of, and under the type that it was made under: files are found
by their full identity. What goes wrong in an index leaves that index out, and is told; its files are read then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TypeVar

import numpy as np
import pyarrow as pa

from metaindex.core import DamagedIndexError, Mask, Vector, dataclass
from metaindex.formats import Leaf
from metaindex.index.kinds.canonical import answers_for, plain_type
from metaindex.index.kinds.exact_sums import SUM_BYTES, scale_of, totals
from metaindex.index.kinds.kind import KeepsValues
from metaindex.index.kinds.of_files import FileAggregate, OfFilesKind, of_key
from metaindex.index.kinds.registry import KINDS
from metaindex.index.kinds.theta.sketch import Theta
from metaindex.index.log.entry import CoveredKey, RunRef
from metaindex.index.open_index import OpenIndex, Ordinals

from .bounds import FileStatistics

_T = TypeVar("_T")
_SKETCHES_AT_ONCE = 256


@dataclass(frozen=True, slots=True)
class _Place:
    """A key of a run, and the files that it answers for: rows of the snapshot, and ordinals."""

    index: OpenIndex
    run: RunRef
    key: CoveredKey
    rows: Ordinals
    ordinals: Ordinals

    def of_run(self, fresh: Mask) -> _OfRun:
        """Return the rows of the key, of the `fresh` files alone."""
        rows = np.full(self.run.files, -1, np.int64)
        rows[self.ordinals[fresh]] = self.rows[fresh]
        return _OfRun(self.index, self.run, self.key, rows)


@dataclass(frozen=True, slots=True)
class _OfRun:
    """The rows of one key of one run. `rows`: by ordinal, of the snapshot; -1 where they are not asked."""

    index: OpenIndex
    run: RunRef
    key: CoveredKey
    rows: Ordinals

    @property
    def entries(self) -> int:
        """Return the number of stored rows, all of which are read, however few files are needed."""
        parts = self.index.reader(self.run).parts(self.key.kind)
        return sum(part.rows for part in parts if part.first_key == self.key.key_id)

    def mine(self, wanted: Mask) -> Ordinals:
        """Return the wanted rows of the snapshot that it answers for."""
        rows = self.rows[self.rows >= 0]
        return rows[wanted[rows]]

    def sketches(self, wanted: Mask) -> Iterator[tuple[int, Theta, bool]]:
        """Yield the sketches of the wanted files by row group: all of them may be more than memory holds."""
        reader, given = self.index.reader(self.run), 0
        for part in reader.parts(self.key.kind):
            for group in range(len(reader.footer(part).rows)) if part.first_key == self.key.key_id else ():
                ordinals = Vector(reader.read(part, [group], ["ordinal"], keep=False).column("ordinal")).numbers
                rows = self.rows[ordinals]
                at = np.flatnonzero((rows >= 0) & wanted[np.maximum(rows, 0)])
                if not len(at):
                    continue
                table = reader.read(part, [group], ["sketch", "has_empty"], keep=False)
                for start in range(0, len(at), _SKETCHES_AT_ONCE):
                    some = at[start : start + _SKETCHES_AT_ONCE]
                    columns = table.take(Vector.arrow(some, None, pa.int64())).columns
                    told = zip(rows[some].tolist(), *(column.to_pylist() for column in columns), strict=True)
                    for row, data, empty in told:
                        yield row, Theta.from_bytes(data), empty is True
                        given += 1
        if given != len(self.mine(wanted)):
            raise DamagedIndexError.for_repair(
                f"an index has a sketch of each file that it counts; run {self.run.run} has not"
            )

    def values(self, wanted: Mask) -> Iterator[tuple[Ordinals, pa.Array]]:
        """Yield the values of the wanted files as `KeepsValues` does, by rows of the snapshot."""
        asked = (self.rows >= 0) & wanted[np.maximum(self.rows, 0)]
        rows = KINDS.rows_of(self.key)
        assert issubclass(rows, KeepsValues)
        for ordinals, keys in rows.each_value(self.index.reader(self.run), self.key) if asked.any() else ():
            some = np.flatnonzero(asked[ordinals])
            if len(some):
                yield self.rows[ordinals[some]], keys.take(Vector.arrow(some, None, pa.int64()))


@dataclass(frozen=True, slots=True)
class Kept:
    """Sums, sketches of different values, or each of these (lists of values, and values that are looked up in their
    order), as indexes keep them of a column in whole files, deleted rows included: each file's from one index. `known`:
    a mask of the files; `rows`: how many rows a sum or a sketch is of (int64; NULL where none is known); `totals`: the
    sums (decimal256 of the column's scale; NULL where there is no value)."""

    known: Mask
    bounds: FileStatistics
    of_runs: tuple[_OfRun, ...]
    rows: pa.Array
    totals: pa.Array | None = None

    @staticmethod
    def may_be_summed(type_: pa.DataType) -> bool:
        """Return whether there are sums of values of this type."""
        return FileAggregate.SUM.takes(type_)

    @staticmethod
    def may_be_told_apart(type_: pa.DataType) -> bool:
        """Return whether different values of this type may be counted."""
        return FileAggregate.DISTINCT_VALUES.takes(type_)

    @classmethod
    def sums(cls, bounds: FileStatistics, leaf: Leaf) -> Kept | None:
        """Return the sums that indexes keep of a column; None if there are none."""
        if not FileAggregate.SUM.takes(leaf.type):
            return None
        count, held = len(bounds.snapshot.files), 0
        at, pieces, runs = np.full(count, -1, np.int64), [], []
        for place, table in _kept(bounds, leaf, FileAggregate.SUM, _of_one_scale, ("sum", "row_count"), _with_totals):
            fresh = at[place.rows] < 0
            at[place.rows[fresh]] = held + np.flatnonzero(fresh)
            runs += [place.of_run(fresh)] if fresh.any() else []
            held += table.num_rows
            pieces.append(table)
        if not pieces:
            return None
        table = pa.concat_tables(pieces).take(Vector.arrow(np.maximum(at, 0), at >= 0, pa.int64()))
        counts, totals_ = (Vector(table.column(name)).array for name in ("row_count", "total"))
        return cls(at >= 0, bounds, tuple(runs), counts, totals_)

    @classmethod
    def sketches(cls, bounds: FileStatistics, leaf: Leaf) -> Kept | None:
        """Return the sketches that indexes keep of a column; None if there are none."""
        if not FileAggregate.DISTINCT_VALUES.takes(leaf.type):
            return None
        counted = np.full(len(bounds.snapshot.files), -1, np.int64)
        runs = []
        for place, counts in _kept(bounds, leaf, FileAggregate.DISTINCT_VALUES, _same, ("row_count",), _counts):
            fresh = counted[place.rows] < 0
            counted[place.rows[fresh]] = counts[fresh]
            runs.append(place.of_run(fresh))
        known = counted >= 0
        return cls(known, bounds, tuple(runs), Vector.arrow(counted, known, pa.int64())) if runs else None

    @classmethod
    def values(cls, bounds: FileStatistics, leaf: Leaf) -> Kept | None:
        """Return the values that indexes keep of a column; None if there are none."""
        known, runs = np.zeros(len(bounds.snapshot.files), np.bool_), []
        for index in bounds.indexes:
            for place in bounds.asked_of(index, partial(_keeping_values, bounds, index, leaf)):
                fresh = ~known[place.rows]
                known[place.rows] = True
                runs.append(place.of_run(fresh))
        return cls(known, bounds, tuple(runs), pa.nulls(len(known), pa.int64())) if runs else None

    @property
    def indexes(self) -> frozenset[str]:
        """Their names."""
        return frozenset(run.index.name for run in self.of_runs)

    def worth(self, wanted: Mask, counts: Ordinals) -> Mask:
        """Return the wanted files whose values pay to read. `counts`: their rows. A run is read as a whole: not if it
        has more than twice as many entries as these files have rows. Asked inside of `FileStatistics.settled`."""
        out = np.zeros(len(wanted), np.bool_)
        for run in self.of_runs:
            mine = run.mine(wanted)
            with self.bounds.damage_leaves_out(run.index):
                out[mine] = run.entries <= 2 * int(counts[mine].sum())
        return out

    def entries(self, wanted: Mask) -> int:
        """Return the number of entries that `each_value` reads. Asked inside of `FileStatistics.settled`."""
        count = 0
        for run in self.of_runs:
            if len(run.mine(wanted)):
                with self.bounds.damage_leaves_out(run.index):
                    count += run.entries
        return count

    def each_sketch(self, wanted: Mask) -> Iterator[tuple[int, Theta, bool]]:
        """Yield the sketches of the wanted files, each once: rows of the snapshot, and whether an empty text is among
        the values. Asked inside of `FileStatistics.settled`."""
        for run in self.of_runs:
            with self.bounds.damage_leaves_out(run.index):
                yield from run.sketches(wanted)

    def each_value(self, wanted: Mask) -> Iterator[tuple[Ordinals, pa.Array]]:
        """Yield the values of the wanted files as `KeepsValues` does, by rows of the snapshot. Asked inside of
        `FileStatistics.settled`."""
        for run in self.of_runs:
            with self.bounds.damage_leaves_out(run.index):
                yield from run.values(wanted)


def _keys_of(index: OpenIndex, leaf: Leaf) -> Iterator[tuple[RunRef, CoveredKey, pa.DataType]]:
    """Yield the keys of the column alone that can be read, and the type at write time."""
    for run in index.entry.content.runs:
        for key in KINDS.keyed(run) if run.files else ():
            if [column.stable for column in key.columns] == [leaf.stable] and KINDS.readable(key):
                stored = key.columns[0].type
                if stored is not None:
                    yield run, key, stored


def _kept(
    bounds: FileStatistics,
    leaf: Leaf,
    tells: FileAggregate,
    fits: Callable[[pa.DataType, pa.DataType], bool],
    names: Sequence[str],
    decoded: Callable[[pa.Table, pa.DataType], _T],
) -> Iterator[tuple[_Place, _T]]:
    """Yield, for each key of the column in any index, its place and the decoded columns of the files that are found."""
    now = plain_type(leaf.type)

    def of_index(index: OpenIndex) -> list[tuple[_Place, _T]]:
        pairs = []
        for run, key, stored in _keys_of(index, leaf):
            rows_kept = KINDS.rows_of(key)
            if not (issubclass(rows_kept, OfFilesKind) and rows_kept.tells is tells):
                continue
            if not (stored == now or (fits(stored, now) and not index.of_text)):
                continue
            table = of_key(index.reader(run), key, ["ordinal", *names])
            at = _by_ordinal(table, run, key.kind)
            places = bounds.places(index, run)
            rows = np.flatnonzero((places >= 0) & (at[np.maximum(places, 0)] >= 0))
            if len(rows):
                some = table.take(Vector.arrow(at[places[rows]], None, pa.int64()))
                pairs.append((_Place(index, run, key, rows, places[rows]), decoded(some, stored)))
        return pairs

    for index in bounds.indexes:
        yield from bounds.asked_of(index, partial(of_index, index))


def _keeping_values(bounds: FileStatistics, index: OpenIndex, leaf: Leaf) -> list[_Place]:
    """Return the index's keys that keep values of the column, with the files that each keys."""
    places_kept = []
    for run, key, stored in _keys_of(index, leaf):
        if issubclass(KINDS.rows_of(key), KeepsValues) and stored == plain_type(leaf.type):
            places = bounds.places(index, run)
            keyed_files = ~index.unkeyed_files(run, key)
            rows = np.flatnonzero((places >= 0) & keyed_files[np.maximum(places, 0)])
            if len(rows):
                places_kept.append(_Place(index, run, key, rows, places[rows]))
    return places_kept


def _by_ordinal(table: pa.Table, run: RunRef, kind: str) -> Ordinals:
    """Return for each file of a run its position in a table of its rows; -1 if it has none."""
    ordinals = Vector(table.column("ordinal")).numbers.astype(np.int64)
    if len(ordinals) and not (ordinals[0] >= 0 and ordinals[-1] < run.files and (np.diff(ordinals) > 0).all()):
        raise DamagedIndexError.for_repair(f"an index has a row a file; run {run.run} has {kind} of other files")
    at = np.full(run.files, -1, np.int64)
    at[ordinals] = np.arange(len(ordinals))
    return at


def _with_totals(rows: pa.Table, stored: pa.DataType) -> pa.Table:
    total = totals(Vector(rows.column("sum").cast(pa.binary(SUM_BYTES))).array, stored)
    return pa.table({"total": total, "row_count": rows.column("row_count").cast(pa.int64())})


def _counts(rows: pa.Table, stored: pa.DataType) -> Ordinals:
    counts: Ordinals = Vector(rows.column("row_count").cast(pa.int64())).numbers
    return counts


def _of_one_scale(stored: pa.DataType, now: pa.DataType) -> bool:
    """Return whether sums under the stored type are those of the same values under the type of now."""
    return FileAggregate.SUM.takes(stored) and scale_of(stored) == scale_of(now) and answers_for(stored, now)


def _same(stored: pa.DataType, now: pa.DataType) -> bool:
    return bool(stored == now)
