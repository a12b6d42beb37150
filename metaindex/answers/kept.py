"""What an index keeps of whole files that no bound tells: the sum of a column, and a sketch of its different values.

A row is believed of exactly the bytes that it was made of, and under the type that it was made under: files are found
by their full identity. What goes wrong in an index leaves that index out, and is told; its files are read then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metaindex.advice.bounds import BoundsOf
from metaindex.errors import DamagedIndexError
from metaindex.expressions.records import dataclass
from metaindex.expressions.vectors import Mask, from_vector, numbers, one_array
from metaindex.formats.model import Leaf
from metaindex.kinds.canonical import answers_for
from metaindex.kinds.of_files import OfFilesKind, of_key
from metaindex.kinds.registry import looked_up, readable
from metaindex.kinds.sketches.sketched import can_be_sketched
from metaindex.kinds.sketches.spec import Sketches
from metaindex.kinds.sketches.theta import Theta
from metaindex.kinds.sums.added import SUM_BYTES, can_be_summed, scale_of, totals
from metaindex.kinds.sums.spec import Sums
from metaindex.log.types import type_from_text
from metaindex.pruning.open_index import OpenIndex

from .live import KnownCounts

Rows = npt.NDArray[np.int64]
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class KeptSums:
    """Of each file the sum of a column, deleted rows included: `totals` (decimal256 of the column's scale; NULL where
    there is no value) where it is `known`. `rows`: how many rows it is of."""

    totals: pa.Array
    known: Mask
    rows: KnownCounts


@dataclass(frozen=True, slots=True)
class KeptSketches:
    """Of each file that is `known` a sketch of a column's different values, and whether an empty text is among them;
    deleted rows included."""

    sketches: dict[int, tuple[Theta, bool]]
    known: Mask
    rows: KnownCounts


def sums_of(bounds: BoundsOf, leaf: Leaf) -> KeptSums | None:
    """What indexes keep of a column; None where none does."""
    if not can_be_summed(leaf.type):
        return None
    count, held = len(bounds.snapshot.files), 0
    at, pieces = np.full(count, -1, np.int64), []
    for rows, table in _kept(bounds, leaf, Sums, _of_one_scale, _with_totals):
        fresh = at[rows] < 0
        at[rows[fresh]] = held + np.flatnonzero(fresh)
        held += table.num_rows
        pieces.append(table)
    if not pieces:
        return None
    place = from_vector(np.maximum(at, 0), at >= 0, pa.int64())
    table = pa.concat_tables(pieces).take(place)
    return KeptSums(one_array(table.column("total")), at >= 0, KnownCounts.of(table.column("row_count")))


def sketches_of(bounds: BoundsOf, leaf: Leaf) -> KeptSketches | None:
    """What indexes keep of a column; None where none does."""
    if not can_be_sketched(leaf.type):
        return None
    found: dict[int, tuple[Theta, bool]] = {}
    counted = np.full(len(bounds.snapshot.files), -1, np.int64)
    for rows, stored in _kept(bounds, leaf, Sketches, _same, _with_sketches):
        for row, (sketch, empty, count) in zip(rows.tolist(), stored, strict=True):
            if row not in found:
                found[row], counted[row] = (sketch, empty), count
    if not found:
        return None
    known = counted >= 0
    return KeptSketches(found, known, KnownCounts(np.maximum(counted, 0), known))


def _kept(
    bounds: BoundsOf,
    leaf: Leaf,
    kind: type[OfFilesKind],
    fits: Callable[[pa.DataType, pa.DataType], bool],
    decoded: Callable[[pa.Table, pa.DataType], _T],
) -> Iterator[tuple[Rows, _T]]:
    """Of the keys of a column in all indexes: rows of the snapshot, and what is stored of each."""

    def of_index(index: OpenIndex) -> list[tuple[Rows, _T]]:
        found = []
        for run in index.entry.content.runs:
            for key in looked_up(run):
                stable = [column.stable for column in key.columns]
                if key.kind != kind.name or stable != [leaf.stable] or not readable(key):
                    continue
                stored = type_from_text(key.columns[0].type_text)
                if stored is None or not (stored == leaf.type or (fits(stored, leaf.type) and not index.of_text)):
                    continue
                table = of_key(index.reader(run), key, kind.schema.names)
                ordinals = numbers(table.column("ordinal")).astype(np.int64)
                if len(ordinals) and not (
                    ordinals[0] >= 0 and ordinals[-1] < run.files and (np.diff(ordinals) > 0).all()
                ):
                    raise DamagedIndexError(
                        f"an index has a row a file; run {run.run} has {kind.name} of other files; refresh it with"
                        " mode='full'"
                    )
                at = np.full(run.files, -1, np.int64)
                at[ordinals] = np.arange(len(ordinals))
                places = bounds.places(index, run)
                rows = np.flatnonzero((places >= 0) & (at[np.maximum(places, 0)] >= 0))
                if len(rows):
                    some = table.take(from_vector(at[places[rows]], None, pa.int64()))
                    found.append((rows, decoded(some, stored)))
        return found

    for index in bounds.indexes:
        yield from bounds.asked_of(index, partial(of_index, index))


def _with_totals(rows: pa.Table, stored: pa.DataType) -> pa.Table:
    total = totals(one_array(rows.column("sum").cast(pa.binary(SUM_BYTES))), stored)
    return pa.table({"total": total, "row_count": rows.column("row_count").cast(pa.int64())})


def _with_sketches(rows: pa.Table, stored: pa.DataType) -> list[tuple[Theta, bool, int]]:
    columns = (rows.column(name).to_pylist() for name in ("sketch", "has_empty", "row_count"))
    return [(Theta.from_bytes(data), empty is True, int(count)) for data, empty, count in zip(*columns, strict=True)]


def _of_one_scale(stored: pa.DataType, now: pa.DataType) -> bool:
    """Are sums of the one those of the same values under the other?"""
    return can_be_summed(stored) and scale_of(stored) == scale_of(now) and answers_for(stored, now)


def _same(stored: pa.DataType, now: pa.DataType) -> bool:
    return bool(stored == now)
