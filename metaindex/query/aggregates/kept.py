"""Sums and sketches that indexes keep of whole files, which no bound could give.

A row is believed of exactly the bytes that it was made of, and under the type that it was made under: files are found
by their full identity. What goes wrong in an index leaves that index out, and is told; its files are read then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metaindex.core import DamagedIndexError, Mask, Vector, arrow_array, dataclass
from metaindex.formats import Leaf
from metaindex.index import (
    SUM_BYTES,
    CoveredKey,
    OfFilesKind,
    OpenIndex,
    RunRef,
    Theta,
    Told,
    answers_for,
    can_be_sketched,
    can_be_summed,
    keyed,
    of_key,
    plain_type,
    readable,
    rows_of,
    scale_of,
    totals,
)
from metaindex.query.bounds import BoundsOf

from .live import KnownCounts

Rows = npt.NDArray[np.int64]
_T = TypeVar("_T")
_SKETCHES_AT_ONCE = 256


@dataclass(frozen=True, slots=True)
class KeptSums:
    """The sum of a column by file, deleted rows included: `totals` (decimal256 of the column's scale; NULL where there
    is no value) where it is `known`. `rows`: how many rows it is of; `indexes`: names of those that keep them."""

    totals: pa.Array
    known: Mask
    rows: KnownCounts
    indexes: frozenset[str]


class LeftOut(Exception):
    """Raised when what an index keeps is damaged: it was left out, and what is known has to be collected again."""


@contextmanager
def damage_leaves_out(bounds: BoundsOf, index: OpenIndex) -> Iterator[None]:
    """LeftOut where what is read of an index inside is damaged."""
    try:
        yield
    except Exception as error:
        bounds.leave_out(index, error)
        raise LeftOut from error


@dataclass(frozen=True, slots=True)
class _SketchesOfRun:
    """The sketches of one key of one run. `rows`: by ordinal, of the snapshot; -1 where they are not asked."""

    index: OpenIndex
    run: RunRef
    key: CoveredKey
    rows: Rows

    def each(self, wanted: Mask) -> Iterator[tuple[int, Theta, bool]]:
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
                    columns = table.take(arrow_array(some, None, pa.int64())).columns
                    told = zip(rows[some].tolist(), *(column.to_pylist() for column in columns), strict=True)
                    for row, data, empty in told:
                        yield row, Theta.from_bytes(data), empty is True
                        given += 1
        if given != int(wanted[self.rows[self.rows >= 0]].sum()):
            raise DamagedIndexError(
                f"an index has a sketch of each file that it counts; run {self.run.run} has not; refresh it with"
                " mode='full'"
            )


@dataclass(frozen=True, slots=True)
class KeptSketches:
    """A mask of the files for which an index keeps a sketch of a column's different values, deleted rows included.
    `rows`: how many rows it is of."""

    known: Mask
    rows: KnownCounts
    bounds: BoundsOf
    of_runs: tuple[_SketchesOfRun, ...]

    def each(self, wanted: Mask) -> Iterator[tuple[int, Theta, bool]]:
        """The sketches of the wanted files, each once: rows of the snapshot, and whether an empty text is among the
        values. LeftOut where one is damaged."""
        for run in self.of_runs:
            with damage_leaves_out(self.bounds, run.index):
                yield from run.each(wanted)


def sums_of(bounds: BoundsOf, leaf: Leaf) -> KeptSums | None:
    """Return the sums that indexes keep of a column; None if there are none."""
    if not can_be_summed(leaf.type):
        return None
    count, held = len(bounds.snapshot.files), 0
    at, pieces, indexes = np.full(count, -1, np.int64), [], set()
    for place, table in _kept(bounds, leaf, Told.SUM, _of_one_scale, ("sum", "row_count"), _with_totals):
        rows = place.rows
        fresh = at[rows] < 0
        at[rows[fresh]] = held + np.flatnonzero(fresh)
        indexes |= {place.index.name} if fresh.any() else set()
        held += table.num_rows
        pieces.append(table)
    if not pieces:
        return None
    table = pa.concat_tables(pieces).take(arrow_array(np.maximum(at, 0), at >= 0, pa.int64()))
    rows_of = KnownCounts.of(table.column("row_count"))
    return KeptSums(Vector(table.column("total")).array, at >= 0, rows_of, frozenset(indexes))


def sketches_of(bounds: BoundsOf, leaf: Leaf) -> KeptSketches | None:
    """Return the sketches that indexes keep of a column; None if there are none."""
    if not can_be_sketched(leaf.type):
        return None
    counted = np.full(len(bounds.snapshot.files), -1, np.int64)
    runs = []
    for place, counts in _kept(bounds, leaf, Told.DIFFERENT_VALUES, _same, ("row_count",), _counts):
        fresh = counted[place.rows] < 0
        counted[place.rows[fresh]] = counts[fresh]
        of_ordinals = np.full(place.run.files, -1, np.int64)
        of_ordinals[place.ordinals[fresh]] = place.rows[fresh]
        runs.append(_SketchesOfRun(place.index, place.run, place.key, of_ordinals))
    known = counted >= 0
    return KeptSketches(known, KnownCounts(np.maximum(counted, 0), known), bounds, tuple(runs)) if runs else None


@dataclass(frozen=True, slots=True)
class _Place:
    """A key of a run, and of the files that are found in it: rows of the snapshot, and ordinals."""

    index: OpenIndex
    run: RunRef
    key: CoveredKey
    stored: pa.DataType
    rows: Rows
    ordinals: Rows


def _kept(
    bounds: BoundsOf,
    leaf: Leaf,
    told: Told,
    fits: Callable[[pa.DataType, pa.DataType], bool],
    names: Sequence[str],
    decoded: Callable[[pa.Table, pa.DataType], _T],
) -> Iterator[tuple[_Place, _T]]:
    """Yield, for each key of the column in any index, its place and the decoded columns of the files that are found."""

    def of_index(index: OpenIndex) -> list[tuple[_Place, _T]]:
        told_of = []
        for run in index.entry.content.runs:
            for key in keyed(run) if run.files else ():
                stable = [column.stable for column in key.columns]
                if stable != [leaf.stable] or not readable(key) or not _tells(key, told):
                    continue
                stored = key.columns[0].type
                now = plain_type(leaf.type)
                if stored is None or not (stored == now or (fits(stored, now) and not index.of_text)):
                    continue
                table = of_key(index.reader(run), key, ["ordinal", *names])
                at = _by_ordinal(table, run, key.kind)
                places = bounds.places(index, run)
                rows = np.flatnonzero((places >= 0) & (at[np.maximum(places, 0)] >= 0))
                if len(rows):
                    some = table.take(arrow_array(at[places[rows]], None, pa.int64()))
                    told_of.append((_Place(index, run, key, stored, rows, places[rows]), decoded(some, stored)))
        return told_of

    for index in bounds.indexes:
        yield from bounds.asked_of(index, partial(of_index, index))


def _tells(key: CoveredKey, told: Told) -> bool:
    rows = rows_of(key)
    return issubclass(rows, OfFilesKind) and rows.tells is told


def _by_ordinal(table: pa.Table, run: RunRef, kind: str) -> Rows:
    """Return for each file of a run its position in a table of its rows; -1 if it has none."""
    ordinals = Vector(table.column("ordinal")).numbers.astype(np.int64)
    if len(ordinals) and not (ordinals[0] >= 0 and ordinals[-1] < run.files and (np.diff(ordinals) > 0).all()):
        raise DamagedIndexError(
            f"an index has a row a file; run {run.run} has {kind} of other files; refresh it with mode='full'"
        )
    at = np.full(run.files, -1, np.int64)
    at[ordinals] = np.arange(len(ordinals))
    return at


def _with_totals(rows: pa.Table, stored: pa.DataType) -> pa.Table:
    total = totals(Vector(rows.column("sum").cast(pa.binary(SUM_BYTES))).array, stored)
    return pa.table({"total": total, "row_count": rows.column("row_count").cast(pa.int64())})


def _counts(rows: pa.Table, stored: pa.DataType) -> Rows:
    counts: Rows = Vector(rows.column("row_count").cast(pa.int64())).numbers
    return counts


def _of_one_scale(stored: pa.DataType, now: pa.DataType) -> bool:
    """Return whether sums under the stored type are those of the same values under the type of now."""
    return can_be_summed(stored) and scale_of(stored) == scale_of(now) and answers_for(stored, now)


def _same(stored: pa.DataType, now: pa.DataType) -> bool:
    return bool(stored == now)
