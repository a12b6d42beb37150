"""Overlap of the ranges of files, and what a query reads of them: whole columns at a time, sorted and swept.

The range of a file is closed: from its lower to its upper bound. Files are vectors of equal length here, in any order;
all have a range. The definitions:

    depth at a point       how many ranges hold the point
    depth of a file        the greatest depth at a point of its range: 1 where no other range touches it
    overlaps of a file     how many other ranges share a point with its own
    read by a value        the ranges that hold it
    read by a range        the ranges that share a point with it

What values and ranges lie where is taken from the rows. Bounds do not tell how rows lie between them, so the rows of a
file are taken to lie at `places`: spread evenly from its lower to its upper bound, in equal portions, each at its
middle. A range over 1% of the rows begins anywhere among the rows so that 1% of them follow, and what it reads is the
mean over where it begins."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metaindex.core import Vector, compute, dataclass

Numbers = npt.NDArray[np.float64] | npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_PLACES = 1 << 22
"""About so many places in all: four a file of a million, 64 at most."""


class Ranges:
    """The ranges of files, sorted once. What is told of each file is in the order in which the files were given."""

    def __init__(self, lower: Numbers, upper: Numbers) -> None:
        self.lower, self.upper = lower, upper
        self.begun, self.ended = np.argsort(lower), np.argsort(upper)  # places of the files by where they begin, or end
        self.begins, self.ends = lower[self.begun], upper[self.ended]

    def __len__(self) -> int:
        return len(self.lower)

    def depths(self) -> Ints:
        """The depth of each file."""
        if not len(self):
            return np.zeros(0, np.int64)
        # Depth grows at lower bounds alone, so that the greatest in a range is at one of them.
        at = _up_to(self.begins, self.begins) - self._ended_before
        return _greatest(at, self._scattered(self.begun, _below(self.begins, self.begins)), self._begun_until - 1)

    def overlaps(self) -> Ints:
        """Return how many other files each one overlaps."""
        return self._begun_until - self._scattered(self.begun, self._ended_before) - 1

    @cached_property
    def _begun_until(self) -> Ints:
        """Return for each file how many begin before it has ended."""
        return self._scattered(self.ended, _up_to(self.begins, self.ends))

    @cached_property
    def _ended_before(self) -> Ints:
        """Return for each file, by where it begins, how many have ended before."""
        return _below(self.ends, self.begins)

    def _scattered(self, order: Ints, values: Ints) -> Ints:
        out = np.empty(len(values), np.int64)
        out[order] = values
        return out


def histogram(depth: Ints) -> dict[int, int]:
    """Count the files with a depth of 1, of 2, of 3 to 4, of 5 to 8 and so on, by the greatest depth of each step."""
    if not len(depth):
        return {}
    steps = np.ceil(np.log2(depth)).astype(np.int64)
    return {1 << step: int(number) for step, number in enumerate(np.bincount(steps)) if number}


@dataclass(frozen=True, slots=True)
class RowPlaces:
    """The places of rows in ascending order, and the share of all rows at each."""

    places: Numbers
    shares: Floats

    @classmethod
    def of(cls, lower: Numbers, upper: Numbers, weights: Floats, fractions: Floats | None = None) -> RowPlaces:
        """The rows of files, `weights` of them in each. `fractions`: where between its bounds a file's rows lie, in
        equal portions; evenly where not given."""
        if fractions is None:
            fractions = even_fractions(len(lower))
        places = np.concatenate([_between(lower, upper, float(fraction)) for fraction in fractions])
        shares = np.tile(weights, len(fractions))
        order = np.argsort(places)
        return cls(places[order], shares[order] / max(float(shares.sum()), 1e-300))

    @classmethod
    def at(cls, places: Numbers, weights: Floats) -> RowPlaces:
        """Rows that were seen."""
        order = np.argsort(places)
        return cls(places[order], weights[order] / max(float(weights.sum()), 1e-300))


def even_fractions(files: int) -> Floats:
    """The middles of equal portions: of few files many, of many files few."""
    portions = int(np.clip(_PLACES // max(files, 1), 4, 64))
    middles: Floats = (2 * np.arange(portions, dtype=np.float64) + 1) / (2 * portions)
    return middles


class OverlapReads:
    """The reads of queries over files whose rows lie so. `weights`: what each file counts, such as 1 or its bytes;
    several of them share one order."""

    def __init__(self, ranges: Ranges, rows: RowPlaces) -> None:
        self._ranges = ranges
        self._shares = rows.shares
        self._after = np.cumsum(rows.shares)
        # Of each place: how many ranges have begun there, how many have ended before it.
        self._first = _up_to(ranges.begins, rows.places)
        self._last = _below(ranges.ends, rows.places)

    def by_value(self, weights: Floats) -> float:
        """Return what a value that some row has reads on average."""
        return self._begun(weights, self._shares) - self._ended(weights, self._shares)

    def by_range(self, weights: Floats, share: float) -> float:
        """Return what a range over this share of the rows reads, on average over where it begins."""
        if not 0 < share < 1:
            raise ValueError(f"a range is over a share of the rows between 0 and 1; got {share}")
        # Of all beginnings between 0 and 1 - share, how much has its end (or its beginning) at a place.
        ends_at = np.diff(np.clip(self._after, share, 1.0), prepend=share)
        begins_at = np.diff(np.clip(self._after, 0.0, 1.0 - share), prepend=0.0)
        begun, ended = self._begun(weights, ends_at), self._ended(weights, begins_at)
        return begun / float(ends_at.sum()) - ended / float(begins_at.sum())

    def _begun(self, weights: Floats, parts: Floats) -> float:
        """The weight of what has begun, on average over the places, each with its part."""
        return float(np.dot(_summed(weights[self._ranges.begun])[self._first], parts))

    def _ended(self, weights: Floats, parts: Floats) -> float:
        return float(np.dot(_summed(weights[self._ranges.ended])[self._last], parts))


def _summed(weights: Floats) -> Floats:
    """The sums of the first none, one, two, ... of them."""
    sums = np.zeros(len(weights) + 1)
    np.cumsum(weights, out=sums[1:])
    return sums


def _between(lower: Numbers, upper: Numbers, fraction: float) -> Numbers:
    """Return for each range the place that far from its lower bound: a whole number if the bounds are such."""
    if lower.dtype.kind == "f":
        least, most = (np.clip(bound, -1e308, 1e308) for bound in (lower, upper))
        places: Floats = np.clip(least * (1.0 - fraction) + most * fraction, lower, upper)
        return places
    width = upper.view(np.uint64) - lower.view(np.uint64)  # as unsigned numbers it fits, however far apart they are
    steps = np.floor((width.astype(np.float64) + 1.0) * fraction)
    inside = steps < width.astype(np.float64)
    whole = np.where(inside, steps, 0.0).astype(np.uint64)
    places_: Ints = (lower.view(np.uint64) + np.where(inside, whole, width)).view(np.int64)
    return places_


def _greatest(values: Ints, first: Ints, last: Ints) -> Ints:
    """The greatest of `values[first:last + 1]` for each pair: from the greatest of stretches of 1, 2, 4, ... values,
    two of which make up any stretch."""
    length = last - first + 1
    step = np.floor(np.log2(length)).astype(np.int64)
    out = np.zeros(len(first), np.int64)
    order = np.argsort(step, kind="stable")
    ends = np.searchsorted(step[order], np.arange(int(step.max()) + 1), side="right")
    start, stretch = 0, values
    for level, end in enumerate(ends.tolist()):
        if level:
            stretch = np.maximum(stretch[: -(1 << level - 1)], stretch[1 << level - 1 :])
        some = order[start:end]
        out[some] = np.maximum(stretch[first[some]], stretch[last[some] - (1 << level) + 1])
        start = end
    return out


def _up_to(values: Numbers, points: Numbers) -> Ints:
    """Count the sorted values that are at most each point."""
    return np.searchsorted(values, points, side="right").astype(np.int64)


def _below(values: Numbers, points: Numbers) -> Ints:
    """Count the sorted values that are less than each point."""
    return np.searchsorted(values, points, side="left").astype(np.int64)


_SPARE = 3
"""Bits of the eight bytes that give way: to the sign, and so that millions of neighbours can be told apart."""


def numbers_of(parts: Sequence[pa.Array]) -> list[Numbers]:
    """Arrays of one physical domain, without NULL, as vectors that compare with each other."""
    if not pa.types.is_binary(parts[0].type):
        dtype = np.float64 if pa.types.is_float64(parts[0].type) else np.int64
        return [Vector(part).items(dtype) for part in parts]
    placed = _placed(pa.concat_arrays([part.cast(pa.large_binary()) for part in parts]))
    return list(np.split(placed, np.cumsum([len(part) for part in parts])[:-1]))


def _placed(values: pa.Array) -> Ints:
    """Texts as whole numbers."""
    count = len(values)
    if not count:
        return np.zeros(0, np.int64)
    order = Vector(compute("array_sort_indices", values)).items(np.uint64).astype(np.int64)
    ordered = compute("take", values, Vector.arrow(order, None, pa.int64()))
    grows = np.ones(count, np.bool_)
    grows[1:] = Vector(compute("not_equal", ordered.slice(1), ordered.slice(0, count - 1))).truths(null=True)
    # Each stands at least one behind the one before it, so that those which differ beyond the eight bytes differ, too.
    number = np.cumsum(grows) - 1
    placed = np.empty(count, np.int64)
    placed[order] = np.maximum.accumulate(_eight_bytes(ordered) - number) + number
    return placed


def _eight_bytes(ordered: pa.Array) -> Ints:
    """Return the eight bytes behind the common beginning of sorted texts."""
    first, last = ordered[0].as_py(), ordered[-1].as_py()
    begin = next((place for place, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
    offsets = np.frombuffer(ordered.buffers()[1], np.int64, len(ordered) + 1, ordered.offset * 8)
    data = np.frombuffer(ordered.buffers()[2] or b"\0", np.uint8)
    words = np.zeros(len(ordered), np.uint64)
    for place in range(begin, begin + 8):
        at = offsets[:-1] + place
        byte = np.where(at < offsets[1:], data[np.minimum(at, len(data) - 1)], 0)
        words = (words << np.uint64(8)) | byte.astype(np.uint64)
    return (words >> np.uint64(_SPARE)).astype(np.int64)
