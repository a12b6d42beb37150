"""Answers for many files at once, from their bounds and counts as Arrow columns.

Every answer starts from "True for all" and turns False where a proof stands. What the statistics say against themselves
is believed in no part:

* a NaN bound, or a lower bound above the upper one: neither bound is known;
* counts that are negative, or more NULLs and NaNs than rows: the count is not known;
* all NULL, or no rows, although a bound is there: neither is known.

No pandas: values are read by their buffers (see `vectors`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metaindex.core import Mask, Vector, compute

from .literals import Literal
from .physical import Family, physical_type
from .places import EMPTY, PhysicalInterval, physical_points
from .statistics import ColumnBounds, Interval, ManyFiles, Question
from .tree import ColumnRef

_NO_NANS: tuple[Any, Any] = (np.int64(0), np.bool_(True))
_End: TypeAlias = tuple[int, Any, bool]
"""Of an interval by its number: where it ends, and is that end open?"""
_FEW = 16  # up to so many values are compared one by one, more are searched in a sorted list


class ArrowStatistics(ManyFiles):
    """`PruningStatistics` of `count` files. A column without bounds is unknown. Columns are prepared when first asked
    for, then kept."""

    def __init__(self, count: int, columns: Mapping[ColumnRef, ColumnBounds]) -> None:
        super().__init__(count)
        self._bounds = columns
        self._ready: dict[ColumnRef, _Column] = {}

    def _ask(self, question: Question) -> Mask:
        known = self._column(question.column)
        if known is None:
            return self.constant(True)
        match question.name:
            case "some_null":
                return ~known.no_null
            case "some_value":
                return ~known.no_value
            case "some_nan":
                return ~known.no_nan
            case name:
                answer: Mask = getattr(known, name)(*question.arguments)
                return answer

    def many(self, questions: Sequence[Question]) -> Mask:
        """A row a question. Those that ask whether a value, or one of an interval, is in a column are compared as a
        matrix."""
        out = np.ones((len(questions), self.count), np.bool_)
        for (_, name), (places, some) in Question.grouped(((id(q.column), q.name), q) for q in questions).items():
            known = self._column(some[0].column)
            if known is None:
                continue
            if len(some) == 1 or name not in ("some_among", "some_between"):
                for place, question in zip(places, some, strict=True):
                    out[place] = question.ask(self)
            elif name == "some_between":
                out[places] = known.each_between([question.arguments[0] for question in some])
            else:
                out[places] = known.each_among([question.arguments[0] for question in some])
        return out

    def _column(self, column: ColumnRef) -> _Column | None:
        ready = self._ready.get(column)
        if ready is None:
            bounds = self._bounds.get(column)
            if bounds is None:
                return None
            ready = self._ready[column] = _Column(self.count, bounds)
        return ready


if TYPE_CHECKING:
    from .statistics import PruningStatistics

    _: Callable[..., PruningStatistics[Mask]] = ArrowStatistics


class _Column:
    """Statistics of one column, prepared for questions: which bounds are known, and what the counts prove."""

    def __init__(self, count: int, bounds: ColumnBounds) -> None:
        self._type = bounds.type
        domain = physical_type(bounds.type)
        self._lower = _ends(count, bounds.lower, domain, bounds.type)
        self._upper = _ends(count, bounds.upper, domain, bounds.type)
        some_bound = self._lower.known | self._upper.known
        self._doubt_contradicting_bounds()

        has_nan = Family.may_be_nan(bounds.type)
        nulls, nulls_known = _counts(count, bounds.null_count)
        rows, rows_known = _counts(count, bounds.row_count)
        nans, nans_known = _counts(count, bounds.nan_count) if has_nan else _NO_NANS
        no_rows = rows == 0
        if no_rows.any():
            rows_known = rows_known & ~(no_rows & (some_bound | (nulls > 0) | (nans > 0)))
        not_numbers = nulls + nans if has_nan else nulls
        too_many = rows_known & (not_numbers > rows)
        if too_many.any():
            nulls_known = nulls_known & ~too_many
            nans_known = nans_known & ~too_many if has_nan else nans_known

        empty = rows_known & no_rows
        full = rows_known & nulls_known & ~some_bound
        self.no_value: Mask = empty | (full & (nulls == rows))
        self.no_null: Mask = empty | (nulls_known & (nulls == 0))
        self.no_nan: Mask = self.no_value | (nans_known & (nans == 0))
        self._no_number: Mask = (
            self.no_value | (full & nans_known & (not_numbers == rows)) if has_nan else self.no_value
        )

    def _doubt_contradicting_bounds(self) -> None:
        lower, upper = self._lower, self._upper
        wrong = lower.known & upper.known & lower.exceeds(upper)
        for side in (lower, upper):
            if side.nan is not None:
                wrong = wrong | side.nan
        if wrong.any():
            lower.known = lower.known & ~wrong
            upper.known = upper.known & ~wrong

    def some_between(self, interval: Interval) -> Mask:
        inside = PhysicalInterval.of(interval, self._type)
        out: Mask = ~self._no_number
        if inside is None:
            return out
        if inside.empty:
            return np.zeros_like(out)
        if inside.low is not None:
            out &= ~(self._upper.known & self._upper.below(inside.low, or_equal=inside.low_open))
        if inside.high is not None:
            out &= ~(self._lower.known & self._lower.above(inside.high, or_equal=inside.high_open))
        return out

    def some_among(self, values: Sequence[Literal]) -> Mask:
        points = self._points([value for value in values if not value.is_nan])
        out: Mask
        if points is None:
            out = ~self._no_number
        elif not points:
            out = np.zeros_like(self.no_value)
        else:
            # The list is narrowed by both bounds: a point must lie in between, it is not enough that bounds straddle
            # the list.
            out = ~self._no_number
            if len(points) <= _FEW:
                some = np.zeros_like(out)
                for point in points:
                    below = self._upper.known & self._upper.below(point, or_equal=False)
                    some |= ~(below | (self._lower.known & self._lower.above(point, or_equal=False)))
                out &= some
            else:
                first = np.where(self._lower.known, self._lower.points_below(points, or_equal=False), 0)
                last = np.where(self._upper.known, self._upper.points_below(points, or_equal=True), len(points))
                out &= first < last
        if any(value.is_nan for value in values):
            out |= ~self.no_nan
        return out

    def each_among(self, lists: Sequence[Sequence[Literal]]) -> Mask:
        """Return `among` for each of many lists. The rank of a value among all values, in order, is compared with how
        many of them are below the bounds."""
        out = np.empty((len(lists), len(self.no_value)), np.bool_)
        alone = [place for place, values in enumerate(lists) if len(values) == 1 and not values[0].is_nan]
        points = physical_points([lists[place][0] for place in alone], self._type)
        told = [] if points is None else alone
        for place in sorted(set(range(len(lists))) - set(told)):
            out[place] = self.some_among(lists[place])
        if points is not None and told:
            ends = [(row, point, False) for row, point in enumerate(points) if point is not None]
            empty = [row for row, point in enumerate(points) if point is None]
            inside = self._each_inside(len(told), ends, ends, empty)
            if len(told) == len(lists):
                return inside
            out[told] = inside
        return out

    def each_between(self, intervals: Sequence[Interval]) -> Mask:
        """`between` for each of many intervals."""
        inside = PhysicalInterval.of_each(intervals, self._type)
        known = [EMPTY if interval is None else interval for interval in inside]
        lows = [
            (row, interval.low, interval.low_open) for row, interval in enumerate(known) if interval.low is not None
        ]
        highs = [
            (row, interval.high, interval.high_open) for row, interval in enumerate(known) if interval.high is not None
        ]
        out = self._each_inside(len(known), lows, highs, [row for row, interval in enumerate(known) if interval.empty])
        unknown = [place for place, interval in enumerate(inside) if interval is None]
        if unknown:
            out[unknown] = ~self._no_number
        return out

    def _each_inside(self, count: int, lows: Sequence[_End], highs: Sequence[_End], empty: Sequence[int]) -> Mask:
        """Return whether a number may be inside of each of `count` intervals. Each end, open or not, is compared by its
        rank among all of them with how many of them are below a file's bound."""
        points: list[Any] = sorted({end for _, end, _ in (lows if lows is highs else (*lows, *highs))})
        places = {point: place for place, point in enumerate(points)}
        out = np.repeat((~self._no_number)[None], count, axis=0)
        out[list(empty)] = False
        for side, ends, is_low in ((self._upper, lows, True), (self._lower, highs, False)):
            for is_open in (False, True):
                some = [(row, places[end]) for row, end, open_ in ends if open_ is is_open]
                if not some:
                    continue
                stands = np.array([place for _, place in some], np.int32)[:, None]
                # The upper bound reaches a low end, or lies above an open one; the lower bound the same from below.
                limit = side.points_below(points, or_equal=is_open != is_low)
                limit = np.where(side.known, limit, len(points) if is_low else 0).astype(np.int32)
                reaches = stands < limit if is_low else stands >= limit
                if len(some) == count:
                    out &= reaches
                else:
                    out[[row for row, _ in some]] &= reaches
        return out

    def some_other(self, values: Sequence[Literal]) -> Mask:
        nan_among = any(value.is_nan for value in values)
        numbers = [value for value in values if not value.is_nan]
        # A value that no row can equal excludes nothing, one that cannot be compared neither.
        points = sorted({p for value in numbers for p in self._points([value]) or ()})
        out: Mask = ~self.no_value
        if nan_among:
            out &= ~self._no_number
        if points:
            # Both bounds equal v: min >= v and max <= v, so every non-NULL, non-NaN value is v, attained or not.
            same = self._lower.known & self._upper.known & self._lower.equals(self._upper)
            among = np.zeros_like(out)
            for point in points if len(points) <= _FEW else ():
                among |= same & ~self._lower.below(point, or_equal=False) & ~self._lower.above(point, or_equal=False)
            if len(points) > _FEW and same.any():
                low = self._lower
                among = same & (low.points_below(points, or_equal=True) > low.points_below(points, or_equal=False))
            out &= ~(among if nan_among else among & self.no_nan)
        return out

    def _points(self, values: Sequence[Literal]) -> list[Any] | None:
        """Return the values in the physical domain, sorted, without those that no row can equal. None: one cannot be
        compared."""
        points: set[Any] = set()
        for value in values:
            at = PhysicalInterval.of(Interval(value, value), self._type)
            if at is None:
                return None
            if not at.empty:
                assert at.low is not None
                points.add(at.low)
        return sorted(points)


def _counts(count: int, values: pa.Array | None) -> tuple[npt.NDArray[Any], Mask]:
    if values is None:
        return np.zeros(count, np.int64), np.zeros(count, np.bool_)
    values = _checked(count, values, pa.int64(), "counts")
    numbers = Vector(values).items(np.int64)
    known = (numbers >= 0) & Vector(values).present
    return numbers if known.all() else np.where(known, numbers, 0), known


def _checked(count: int, values: pa.Array, domain: pa.DataType, what: str) -> pa.Array:
    values = Vector(values).array
    if len(values) != count:
        raise ValueError(
            f"{what} have one value a file; got {len(values)} for {count} files; align them with the files asked"
        )
    if values.type != domain and not (pa.types.is_binary(domain) and pa.types.is_large_binary(values.type)):
        raise TypeError(f"{what} are kept as {domain}; got {values.type}; convert them with to_physical")
    return values


def _ends(count: int, values: pa.Array | None, domain: pa.DataType | None, t: pa.DataType) -> _Numbers | _Bytes:
    if values is None or domain is None or pa.types.is_null(values.type):
        unknown = np.zeros(count, np.bool_)
        if domain is not None and pa.types.is_binary(domain):
            return _Bytes(pa.nulls(count, domain), unknown)
        return _Numbers(np.zeros(count, np.int64), unknown)
    values = _checked(count, values, domain, f"bounds of {t}")
    known = Vector(values).present
    if pa.types.is_int64(domain):
        return _Numbers(Vector(values).items(np.int64), known)
    if pa.types.is_float64(domain):
        return _Numbers(Vector(values).items(np.float64), known)
    return _Bytes(values, known)


class _Numbers:
    """Lower (or upper) bounds of all files as a NumPy vector. Answers where the bound is not `known` mean nothing."""

    def __init__(self, values: npt.NDArray[Any], known: Mask) -> None:
        self.values = values
        self.known = known

    @property
    def nan(self) -> Mask | None:
        """Mask of the bounds that are NaN; None for types that have no NaN."""
        return self.known & np.isnan(self.values) if self.values.dtype.kind == "f" else None

    def below(self, point: Any, *, or_equal: bool) -> Mask:
        out: Mask = self.values <= point if or_equal else self.values < point
        return out

    def above(self, point: Any, *, or_equal: bool) -> Mask:
        out: Mask = self.values >= point if or_equal else self.values > point
        return out

    def exceeds(self, other: _Numbers | _Bytes) -> Mask:
        assert isinstance(other, _Numbers)
        out: Mask = self.values > other.values
        return out

    def equals(self, other: _Numbers | _Bytes) -> Mask:
        assert isinstance(other, _Numbers)
        out: Mask = self.values == other.values
        return out

    def points_below(self, points: Sequence[Any], *, or_equal: bool) -> npt.NDArray[Any]:
        """Return for each bound how many of the sorted points are below it (or equal to it)."""
        return np.searchsorted(np.array(points, self.values.dtype), self.values, "right" if or_equal else "left")


class _Bytes:
    """Bounds as a binary Arrow array, with the interface of `_Numbers`."""

    def __init__(self, values: pa.Array, known: Mask) -> None:
        self.values = values
        self.known = known

    @property
    def nan(self) -> Mask | None:
        return None

    def below(self, point: Any, *, or_equal: bool) -> Mask:
        return self._compared("less_equal" if or_equal else "less", self._scalar(point))

    def above(self, point: Any, *, or_equal: bool) -> Mask:
        return self._compared("greater_equal" if or_equal else "greater", self._scalar(point))

    def exceeds(self, other: _Numbers | _Bytes) -> Mask:
        return self._compared("greater", other.values) if isinstance(other, _Bytes) else np.zeros_like(self.known)

    def equals(self, other: _Numbers | _Bytes) -> Mask:
        return self._compared("equal", other.values) if isinstance(other, _Bytes) else np.zeros_like(self.known)

    def points_below(self, points: Sequence[Any], *, or_equal: bool) -> npt.NDArray[Any]:
        """Return for each bound how many of the sorted points are below it (or equal to it): both are sorted as one
        list, in which the sort keeps the order of equals."""
        values = self.values.cast(pa.large_binary())
        listed = Vector.arrow(points, None, pa.large_binary())
        both = pa.concat_arrays([listed, values] if or_equal else [values, listed])
        order = Vector(compute("array_sort_indices", both)).items(np.uint64)
        is_point = order < len(points) if or_equal else order >= len(values)
        seen = np.cumsum(is_point)
        out = np.zeros(len(values), np.int64)
        out[order[~is_point] - (len(points) if or_equal else 0)] = seen[~is_point]
        return out

    def _scalar(self, point: bytes) -> pa.Scalar:
        return Vector.arrow([point], None, self.values.type)[0]

    def _compared(self, compare: str, other: pa.Array | pa.Scalar) -> Mask:
        return Vector(compute(compare, self.values, other)).truths(null=False)
