"""The uncertainty of sums over drawn queries, which stand for others with other literals.

What each of the others has is what one of those drawn has, each as often as they do by chance (Pólya's urn: a Bayesian
bootstrap of a finite number), but for some that are like none of them, as if half a query more had been drawn: one of
nothing for the lower bound, and one of the most that may be for the upper one. So a few that were drawn say less than
many, those that are alike leave a little open all the same, and where all were asked nothing is. Mean and variance of
such a sum are known; the bounds are those of the middle 90% of a normal distribution.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from metaindex.advisor.workloads.asked import Stands
from metaindex.core import dataclass

from .posterior import Estimate, Floats

_UNLIKE: Final = 0.5
"""Queries that are like none of those drawn: as if so many of them had been."""
_Z: Final = 1.645


@dataclass(frozen=True, slots=True)
class Spread:
    """The weights of queries, in their order. `seen`: how often each came, or its share."""

    seen: Floats
    stands: tuple[Stands | None, ...]

    @classmethod
    def of(cls, seen: Sequence[int], stands: Sequence[Stands | None]) -> Spread:
        return cls(np.array(seen, np.float64), tuple(stands))

    @property
    def is_open(self) -> bool:
        """Return whether some query stands for others."""
        return any(stand is not None for stand in self.stands)

    def total(self, each: Sequence[Estimate], most: Sequence[float]) -> Estimate:
        """Sum over the queries, each as often as it came. `most`: that a query may have. The bounds are the sums of
        theirs, wider by what the queries they stand for may have."""
        low, expected, high = (
            float(self.seen @ np.array([getattr(estimate, end) for estimate in each], np.float64))
            for end in ("low", "expected", "high")
        )
        values = np.array([estimate.expected for estimate in each], np.float64)
        below, above = self._off(values, 0.0 * values), self._off(values, np.array(most, np.float64))
        return Estimate(max(low - max(below[0], 0.0), 0.0), expected, high + max(above[1], 0.0))

    def share(self, some: Estimate, parts: Sequence[float], every: Sequence[float]) -> Estimate:
        """Estimate the ratio of two sums, of which `some` is the share by those drawn: a part is at least nothing, and
        at most all, of its whole."""
        mine, whole = np.array(parts, np.float64), np.array(every, np.float64)
        total = float(self.seen @ whole)
        if not self.is_open or not total:
            return some
        rest = mine - some.expected * whole
        below, above = self._off(rest, -some.expected * whole), self._off(rest, (1 - some.expected) * whole)
        low, high = some.low - max(below[0], 0.0) / total, some.high + max(above[1], 0.0) / total
        return Estimate(max(low, 0.0), some.expected, max(min(high, 1.0), some.expected))

    def _off(self, values: Floats, ends: Floats) -> tuple[float, float]:
        """Return how far below and above the expected a sum may be, if the unlike one of a group has the outermost of
        `ends`; no further than if all others have the least, or the most."""
        off = variance = least = most = 0.0
        groups: dict[int, list[int]] = {}
        for place, stand in enumerate(self.stands):
            if stand is not None:
                groups.setdefault(stand.group, []).append(place)
        for places in groups.values():
            drawn = np.array([stand.drawn for place in places if (stand := self.stands[place])], np.float64)
            others = max(float(self.seen[places].sum() - drawn.sum()), 0.0)
            end = ends[places][np.abs(ends[places]).argmax()]
            own, weights = np.array([*values[places], end]), np.array([*drawn, _UNLIKE])
            mean = float(np.average(own, weights=weights))
            known = float(drawn @ values[places] - self.seen[places] @ values[places])
            off += known + others * mean
            least += known + others * float(own.min())
            most += known + others * float(own.max())
            spread = float(np.average((own - mean) ** 2, weights=weights))
            variance += others * spread * (weights.sum() + others) / (weights.sum() + 1)
        wide = _Z * float(np.sqrt(variance))
        return min(wide - off, -least), min(wide + off, most)


def most_read(now: float, size_bytes: int, files: int) -> float:
    """Estimate the most a query may read if a similar one reads so many bytes now: the geometric mean of those and the
    whole table. A day may have twice the rows of another one, and hardly those of all days."""
    return float(np.sqrt(max(now, size_bytes / max(files, 1)) * size_bytes))
