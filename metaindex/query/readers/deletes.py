"""Deleted rows of a file at the snapshot: by position, and by value (equality deletes, where NULL equals NULL and NaN
equals NaN)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from metaindex.core import Mask, Vector

if TYPE_CHECKING:
    from pyroaring import BitMap64


@dataclass(frozen=True, slots=True)
class DeletedPositions:
    """Sorted positions of deleted rows, counted from the file's first row."""

    positions: npt.NDArray[np.uint64]

    @classmethod
    def of(cls, positions: BitMap64) -> DeletedPositions:
        return cls(np.fromiter(positions, dtype=np.uint64, count=len(positions)))

    def live(self, first: int, count: int) -> Mask | None:
        """Return a mask of the rows [first, first + count) that are not deleted; None: none is deleted."""
        start, end = np.searchsorted(self.positions, np.array([first, first + count], dtype=np.uint64))
        if start == end:
            return None
        mask = np.ones(count, dtype=np.bool_)
        mask[(self.positions[start:end] - np.uint64(first)).astype(np.int64)] = False
        return mask


class ValueDeletes:
    """The rows of one equality delete, made ready to be looked for in many batches. `keys` are its columns, those of a
    field inside a struct as structs of that field."""

    def __init__(self, keys: Sequence[pa.ChunkedArray | pa.Array]) -> None:
        self._values: list[pa.Array] = []
        self._known: list[npt.NDArray[np.int64]] = []
        places: npt.NDArray[np.int64] | None = None
        for column in _flat([Vector(key).array for key in keys]):
            values = column.unique()
            combined = _combined(places, _places(column, values), len(values))
            # Numbered anew after each column, so that the numbers stay small however many columns there are.
            known, places = Vector.numbered(combined)
            self._values.append(values)
            self._known.append(known)

    def live(self, columns: Sequence[pa.Array]) -> Mask:
        """Return a mask of the rows that equal no deleted row; `columns` in the order and types of the keys."""
        places: npt.NDArray[np.int64] | None = None
        for column, values, known in zip(_flat(columns), self._values, self._known, strict=True):
            if not len(known):
                return np.ones(len(column), dtype=np.bool_)
            combined = _combined(places, _places(column, values), len(values))
            at = np.minimum(np.searchsorted(known, combined), len(known) - 1)
            places = np.where(known[at] == combined, at, -1)
        assert places is not None, "an equality delete has a column"
        return np.asarray(places < 0)


def _flat(columns: Sequence[pa.Array]) -> list[pa.Array]:
    """Primitive columns: of a struct whether it is there, then its field."""
    out = []
    for column in columns:
        while pa.types.is_struct(column.type):
            out.append(column.is_valid())
            column = pc.struct_field(column, [0])
        out.append(_comparable(column))
    return out


def _places(column: pa.Array, values: pa.Array) -> npt.NDArray[np.int64]:
    """The place of each value among `values`, NULL among them; -1 where it is not there."""
    places = pc.fill_null(pc.index_in(column, value_set=values), -1)
    return Vector(places).items(np.int32).astype(np.int64)


def _combined(above: npt.NDArray[np.int64] | None, places: npt.NDArray[np.int64], size: int) -> npt.NDArray[np.int64]:
    if above is None:
        return places
    return np.where((above < 0) | (places < 0), -1, above * size + places)


def _comparable(column: pa.Array) -> pa.Array:
    """Floats as their bits with one NaN: -0.0 and 0.0 are two values, as in Iceberg's own comparison."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_floating(column.type):
        wide = column.cast(pa.float64())
        doubles = Vector(wide).items(np.float64).copy()
        doubles[np.isnan(doubles)] = np.nan
        return Vector.arrow(doubles.view(np.int64), Vector(wide).valid, pa.int64())
    return column
