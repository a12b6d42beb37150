"""Questions that a predicate's walk asks of statistics, and their answers over whole columns of files.

One family of questions: "may some row of the file ...?". Every answer errs towards True: **False is a proof**, unknown
is True. From these questions alone `skipping.may_match` proves files out, and `skipping.must_match` proves that every
row matches (no row may fail).

    answer    means
    False     proved: no physical row of the file is such
    True      some row is, or nothing is known
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

import numpy as np
import pyarrow as pa

from metaindex.core import Mask, dataclass

from .literals import Literal
from .tree import ColumnRef

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Interval:
    """The non-null, non-NaN values between two bounds; None is unbounded. `Interval(Literal(5), None, low_open=True)`
    is `> 5`."""

    low: Literal | None
    high: Literal | None
    low_open: bool = False
    high_open: bool = False


class PruningStatistics(Protocol[T]):
    """The questions. T is bool for one file, a Mask for many; a source that knows nothing of a column answers True
    throughout."""

    def some_between(self, column: ColumnRef, interval: Interval) -> T:
        """Return whether some row may hold a non-null, non-NaN value inside the interval."""

    def some_among(self, column: ColumnRef, values: Sequence[Literal]) -> T:
        """Return whether some row may equal one of the values (no NULL; NaN equals NaN, -0.0 equals 0.0)."""

    def some_other(self, column: ColumnRef, values: Sequence[Literal]) -> T:
        """Return whether some row may hold a non-null value, or NaN, that equals none of the values."""

    def some_null(self, column: ColumnRef) -> T:
        """Return whether some row may be NULL."""

    def some_value(self, column: ColumnRef) -> T:
        """Return whether some row may be other than NULL (NaN is a value)."""

    def some_nan(self, column: ColumnRef) -> T:
        """Return whether some row may be NaN. Proved False for types that have no NaN."""

    def constant(self, value: bool) -> T:
        """Return the same answer for every file."""

    def all_of(self, parts: Sequence[T]) -> T: ...

    def any_of(self, parts: Sequence[T]) -> T: ...


class ManyFiles:
    """Combines the answers for `count` files: the part of `PruningStatistics[Mask]` that does not depend on the
    source."""

    def __init__(self, count: int) -> None:
        self.count = count

    def constant(self, value: bool) -> Mask:
        return np.full(self.count, value, np.bool_)

    def all_of(self, parts: Sequence[Mask]) -> Mask:
        answer = self.constant(True)
        for part in parts:
            answer &= part
        return answer

    def any_of(self, parts: Sequence[Mask]) -> Mask:
        answer = self.constant(False)
        for part in parts:
            answer |= part
        return answer


@dataclass(frozen=True, slots=True)
class ColumnBounds:
    """Statistics of one column in each of N files: Arrow arrays of length N, in the physical domain of `type`; null is
    unknown.

    * `lower`, `upper`: int64, double or binary (see `literals.physical_type`): no non-null, non-NaN value lies outside.
      They may be loose, unless the matching `exact` array says that the bound is attained (None: none is exact).
    * `null_count`, `nan_count`: int64; null is unknown. None: unknown for all. NaN counts are ignored for types without
      NaN.
    * `row_count`: int64, physical rows, NULLs included.

    A file is known to be all NULL when null_count = row_count, both known; bounds are then null and mean "no values",
    not "unknown".
    """

    type: pa.DataType
    lower: pa.Array | None
    upper: pa.Array | None
    null_count: pa.Array | None = None
    nan_count: pa.Array | None = None
    row_count: pa.Array | None = None
    lower_exact: pa.Array | None = None
    upper_exact: pa.Array | None = None
