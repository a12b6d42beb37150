"""Positions of rows in a sort order, derived from bounds: the best row that a file may have, and the last of the rows
taken so far.

    rank 0   NULL, where it comes first; and whatever may stand anywhere
    rank 1   NaN, where the greatest come first
    rank 2   numbers, texts, times: by their physical value (`physical`)
    rank 3   NaN, where the least come first
    rank 4   NULL, where it comes last

Physical values may be coarser than values (nanoseconds): what is best is rounded to better, what was taken to worse, so
that "behind" stays a proof.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metaindex.core import Mask, Vector, compute, dataclass
from metaindex.expressions import to_physical

from .order import Direction

Ranks = npt.NDArray[np.int8]
NULL_FIRST, NAN_FIRST, VALUE, NAN_LAST, NULL_LAST = range(5)


def null_rank(direction: Direction) -> int:
    return NULL_FIRST if direction.nulls_first else NULL_LAST


def nan_rank(direction: Direction) -> int:
    return NAN_FIRST if direction.descending else NAN_LAST


@dataclass(frozen=True, slots=True)
class OrderPlace:
    """A position in a sort order. `value`: only with rank VALUE."""

    rank: int
    value: int | float | bytes | None = None

    def is_behind(self, other: OrderPlace, direction: Direction, *, or_level: bool) -> bool:
        """Return whether it comes later; `or_level`: or at the same place."""
        if self.rank != other.rank:
            return self.rank > other.rank
        mine, theirs = self.value, other.value
        if mine is None or theirs is None or mine == theirs:
            return or_level
        return bool(mine < theirs) is direction.descending  # type: ignore[operator]


@dataclass(frozen=True, slots=True)
class OrderPlaces:
    """Many places, of one column and direction. `values`: bounds in the physical domain, null of other ranks than
    VALUE."""

    ranks: Ranks
    values: pa.Array
    direction: Direction

    def __len__(self) -> int:
        return len(self.ranks)

    def __getitem__(self, at: int) -> OrderPlace:
        rank = int(self.ranks[at])
        return OrderPlace(rank, self.values[at].as_py() if rank == VALUE else None)

    def take(self, rows: npt.NDArray[np.int64]) -> OrderPlaces:
        return OrderPlaces(self.ranks[rows], self.values.take(Vector.arrow(rows, None, pa.int64())), self.direction)

    def best_first(self) -> npt.NDArray[np.int64]:
        """The order of the places; those at one place in that of now."""
        import pyarrow.compute as pc

        sides = ("ascending", "descending")
        keys = [("rank", sides[0]), ("value", sides[self.direction.descending]), ("at", sides[0])]
        at = Vector.arrow(np.arange(len(self)), None, pa.int64())
        table = pa.table({"rank": Vector.arrow(self.ranks, None, pa.int8()), "value": self.values, "at": at})
        return Vector(pc.sort_indices(table, sort_keys=keys)).items(np.uint64).astype(np.int64)

    def behind(self, place: OrderPlace) -> Mask:
        """Mask of the positions that come after a place."""
        level = self.ranks == place.rank
        if place.value is not None:
            less = "less" if self.direction.descending else "greater"
            limit = pa.scalar(place.value, self.values.type)
            level &= Vector(compute(less, self.values, limit)).truths(null=False)
        else:
            level = np.zeros(len(self), np.bool_)
        out: Mask = (self.ranks > place.rank) | level
        return out


def place_of(row: pa.Array | pa.ChunkedArray, type_: pa.DataType, direction: Direction) -> OrderPlace | None:
    """Return the position of one value that was read, at worst. None if it is unknown."""
    row = Vector(row).array
    value: Any = row[0].as_py() if pa.types.is_floating(type_) else None
    if row.null_count:
        return OrderPlace(null_rank(direction))
    if value is not None and value != value:
        return OrderPlace(nan_rank(direction))
    physical = to_physical(row, type_, upper=not direction.descending)[0].as_py()
    return None if physical is None else OrderPlace(VALUE, physical)
