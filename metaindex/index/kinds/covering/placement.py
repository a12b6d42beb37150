"""Placement of rows in a bucket, or in all ranges: their order, and the bounds of each part.

    ByColumns   by the indexed columns, in Spark's order
    ByCurve     by where they are on a curve through the grid of the indexed columns' ranks (`cuts`)

Rows that are the same so far stand in the order of `_mi_ordinal` and `_mi_row`.
"""

from __future__ import annotations

from functools import cached_property
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from metaindex.core import Vector, dataclass
from metaindex.index.kinds.values.encoding import KEPT, as_bytes, encode_values

from .bounds import Bounds, Extremes, FirstAndLast
from .cuts import BITS, CutPoints, cut_by, cut_points, numbers_of
from .order import SORT, sort_columns

POINT = "_mi_curve"
"""Where a row is on the curve."""


class Placement(Protocol):
    """Order of rows and bounds of parts; see the module."""

    @property
    def indexed(self) -> int:
        """Number of indexed columns, which come first."""

    @property
    def sorted_by(self) -> list[str]:
        """The columns that `sorting` adds."""

    @property
    def first(self) -> int:
        """Place of the first column in a part's bounds (`bounds.bounds_of`)."""

    @property
    def counts_keys(self) -> bool:
        """True if rows with the same indexed values are adjacent."""

    def sorting(self, rows: pa.Table) -> pa.Table:
        """Rows with columns behind their own by which they ascend."""

    def leading(self, rows: pa.Table) -> pa.Array:
        """Return the sort keys of rows, as bytes that compare as the bounds of parts do; NULL is empty."""

    def bounds(self) -> Bounds:
        """Return an empty collector of a part's bounds."""


@dataclass(frozen=True, slots=True)
class ByColumns:
    """Placement in the order of the indexed columns."""

    indexed: int

    first = 0
    counts_keys = True

    @property
    def sorted_by(self) -> list[str]:
        return [f"{SORT}{place}" for place in range(self.indexed)]

    def sorting(self, rows: pa.Table) -> pa.Table:
        return sort_columns(rows, self.indexed)

    def leading(self, rows: pa.Table) -> pa.Array:
        column = Vector(rows.column(0)).array
        keys = as_bytes(encode_values(column, column.type))
        return pc.fill_null(pc.binary_slice(keys, 0, KEPT), b"")

    def bounds(self) -> Bounds:
        return FirstAndLast()


@dataclass(frozen=True)
class ByCurve:
    """Placement along a curve. `cuts`: of each indexed column, as in `CutPoints.text`."""

    bits: int
    cuts: tuple[str, ...]

    first = 1
    counts_keys = False
    sorted_by = [POINT]  # noqa: RUF012 - nobody changes it

    @classmethod
    def of(cls, sample: list[pa.Array]) -> ByCurve:
        """Return the placement by the quantiles of a sample, given by columns."""
        bits = BITS[len(sample)]
        return cls(bits, tuple(cut_by(column, bits).text() for column in sample))

    @cached_property
    def points(self) -> list[CutPoints]:
        """Cut points of each indexed column. Raises ValueError for an invalid text."""
        return [cut_points(text, self.bits) for text in self.cuts]

    @property
    def indexed(self) -> int:
        return len(self.cuts)

    def places(self, columns: list[pa.Array]) -> pa.Array:
        """Return the rows' positions on the curve, from their indexed columns."""
        ranks = [points.ranks(column) for points, column in zip(self.points, columns, strict=True)]
        return Vector.arrow(numbers_of(ranks, self.bits).view(np.int64), None, pa.int64())

    def sorting(self, rows: pa.Table) -> pa.Table:
        return rows.append_column(POINT, self.places(self._columns(rows)))

    def leading(self, rows: pa.Table) -> pa.Array:
        return as_bytes(self.places(self._columns(rows)))

    def bounds(self) -> Bounds:
        return _OnCurve(self)

    def _columns(self, rows: pa.Table) -> list[pa.Array]:
        return [Vector(column).array for column in rows.columns[: self.indexed]]


class _OnCurve:
    """The place on the curve, then each indexed column."""

    def __init__(self, placement: ByCurve) -> None:
        self._placement, self._extremes = placement, Extremes()

    def add(self, rows: pa.Table) -> None:
        columns = self._placement._columns(rows)
        self._extremes.add([self._placement.places(columns), *columns])

    def said(self) -> tuple[str, str]:
        return self._extremes.said()
