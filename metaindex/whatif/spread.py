"""Queries that were drawn stand for others with other literals: how far may a sum over all of them be from what those
that were drawn tell?

What each of the others has is what one of those drawn has, each as often as they do by chance (Pólya's urn: a Bayesian
bootstrap of a finite number), but for some that are like none of them, as if half a query more had been drawn: one of
nothing for the lower bound, and one of the most that may be for the upper one. So a few that were drawn say less than
many, those that are alike leave a little open all the same, and where all were asked nothing is. The bounds are those
of the middle 90% of particles of a generator with a fixed seed: equal questions have equal answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt

from metaindex.expressions.records import dataclass
from metaindex.workloads.asked import Stands

from .posterior import Estimate, Floats

_PARTICLES: Final = 1_000
_UNLIKE: Final = 0.5
"""Queries that are like none of those drawn: as if so many of them had been."""
_SEED: Final = 29


@dataclass(frozen=True, slots=True)
class _DrawnAlike:
    """Places of queries, and particles of how often each of them came, and behind them of those that are like none."""

    places: npt.NDArray[np.int64]
    times: Floats

    def totals(self, values: Floats, most: Floats) -> Floats:
        """`most`: what those have that are like none, by those drawn."""
        totals: Floats = self.times @ np.array([*values[self.places], most[self.places].max()])
        return totals


@dataclass(frozen=True, slots=True)
class Spread:
    """Of queries in their order. `seen`: how often each came, or its share."""

    seen: Floats
    groups: tuple[_DrawnAlike, ...]
    fixed: Floats  # how often those came that stand for themselves

    @classmethod
    def of(cls, seen: Sequence[int], stands: Sequence[Stands | None]) -> Spread:
        """Of queries once: it is asked for each candidate."""
        return _made(tuple(seen), tuple(stands))

    @classmethod
    def made(cls, seen: Sequence[int], stands: Sequence[Stands | None]) -> Spread:
        places: dict[int, list[int]] = {}
        for place, stand in enumerate(stands):
            if stand is not None:
                places.setdefault(stand.group, []).append(place)
        rng = np.random.default_rng(_SEED)
        groups = [_group(some, seen, stands, rng) for some in places.values()]
        fixed = np.array([0 if stand is not None else times for times, stand in zip(seen, stands, strict=True)])
        return cls(np.array(seen, np.float64), tuple(groups), fixed.astype(np.float64))

    @property
    def is_open(self) -> bool:
        """Does any query stand for others?"""
        return bool(self.groups)

    def total(self, each: Sequence[Estimate], most: Sequence[float]) -> Estimate:
        """Of each query as often as it came. `most`: that a query may have. The bounds are the sums of theirs, wider by
        what others may have."""
        ends = (np.array([getattr(estimate, end) for estimate in each]) for end in ("low", "expected", "high"))
        low, expected, high = (float(self.seen @ values) if len(values) else 0.0 for values in ends)
        if not self.groups:
            return Estimate(low, expected, high)
        values = [estimate.expected for estimate in each]
        bounds = self.particles(values, [0.0] * len(values)), self.particles(values, most)
        return _widened(Estimate(low, expected, high), *bounds)

    def share(self, some: Estimate, parts: Sequence[float], every: Sequence[float]) -> Estimate:
        """Of two sums, of which `some` is the share by those drawn: a part has nothing of its whole at least, and all
        of it at most."""
        if not self.groups:
            return some
        whole = self.particles(every, every)
        bounds = (self.particles(parts, end) for end in ([0.0] * len(every), every))
        low, high = (np.divide(part, whole, out=np.full(len(part), some.expected), where=whole > 0) for part in bounds)
        wide = _widened(some, low, high)
        return Estimate(wide.low, wide.expected, max(min(wide.high, 1.0), wide.expected))

    def particles(self, values: Sequence[float], most: Sequence[float]) -> Floats:
        """Of the sum of all; those of one number of particle are of the same queries, whatever is summed."""
        mine, ends = np.array(values, np.float64), np.array(most, np.float64)
        total = np.full(_PARTICLES, float(self.fixed @ mine) if len(mine) else 0.0)
        for group in self.groups:
            total = total + group.totals(mine, ends)
        return total


@lru_cache(maxsize=4)
def _made(seen: tuple[int, ...], stands: tuple[Stands | None, ...]) -> Spread:
    return Spread.made(seen, stands)


def most_read(now: float, size_bytes: int, files: int) -> float:
    """What a query may read where one that is alike reads so many bytes now: in the middle, by the ratio, between those
    and the whole table. A day may have twice the rows of another one, and hardly those of all days."""
    return float(np.sqrt(max(now, size_bytes / max(files, 1)) * size_bytes))


def _widened(estimate: Estimate, lower: Floats, upper: Floats) -> Estimate:
    """By as much as particles of what is expected lie around it; never less than nothing."""
    below, above = float(np.quantile(lower, 0.05)), float(np.quantile(upper, 0.95))
    expected = estimate.expected
    low = estimate.low - max(expected - below, 0.0)
    return Estimate(max(low, 0.0), expected, estimate.high + max(above - expected, 0.0))


def _group(
    places: Sequence[int], seen: Sequence[int], stands: Sequence[Stands | None], rng: np.random.Generator
) -> _DrawnAlike:
    drawn = np.array([stand.drawn for place in places if (stand := stands[place]) is not None], np.float64)
    others = max(sum(seen[place] for place in places) - int(drawn.sum()), 0)
    shares = rng.dirichlet([*drawn, _UNLIKE], _PARTICLES)
    times = rng.multinomial(others, shares).astype(np.float64) + np.array([*drawn, 0.0])
    return _DrawnAlike(np.array(places, np.int64), times)
