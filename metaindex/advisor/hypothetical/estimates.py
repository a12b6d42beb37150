"""Estimates for the whole table from a sample of its files: how many would be kept?

Of `total` files that a query reads now, `sampled` were tried, and the candidate keeps `kept` of them. How many of the
others it keeps follows by Bayes:

    nothing more is known    any share of them is as likely before (Jeffreys' prior)
    the query names values   files keep such a value each by itself with a share p. How p is spread follows from values
                             that were drawn from rows of the sample and asked of the sampled files that they were not
                             drawn from (`DrawResult`): see `shares_of`. The value asked has a home, a file in which it
                             is, which may be a sampled one or another one. It may also (`ABSENT`) be in no file, which
                             are then kept by chance alone, and with a little weight (`UNLIKE`) it is like none of those
                             drawn

The answer is the median and the range that 90% of the particles are in: numbers of a generator with a fixed seed, so
that equal questions have equal answers. Where all files were tried the number stands as it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from metaindex.advisor.workloads.table_queries import Stands
from metaindex.core import Plain, dataclass, human_bytes

Floats = npt.NDArray[np.float64]

PARTICLES = 20_000
ABSENT = 0.1
"""How likely a value that is asked is in no row of the table."""
UNLIKE = 0.05
_SEED = 17
_ALIKE = (0.5, 50.0)
"""By as many files values are thought to be like each other, at least and at most."""
_EXACT = 0.9
_BY_CHANCE = 0.05
"""Of files without a value, a share that a filter keeps all the same, at most."""


@dataclass(frozen=True, slots=True)
class Estimate(Plain):
    """A number as it is expected, and the bounds between which it is with 90%."""

    low: float
    expected: float
    high: float

    @classmethod
    def exactly(cls, value: float) -> Estimate:
        return cls(value, value, value)

    @classmethod
    def of(cls, particles: Floats) -> Estimate:
        """Make an estimate from particles: the bounds of the middle 90%, and the mean between them: means of queries
        add up to that of a workload, which medians do not, and outliers do not move it."""
        low, high = (float(bound) for bound in np.quantile(particles, (0.05, 0.95), method="inverted_cdf"))
        return cls(low, float(particles[(low <= particles) & (particles <= high)].mean()), high)

    @property
    def exact(self) -> bool:
        return self.low == self.high


NOTHING = Estimate.exactly(0.0)


def sum_of(several: Sequence[Estimate], times: Iterable[float] | None = None) -> Estimate:
    """Sum estimates, each so many times; the bounds are the sums of theirs."""
    weights = list(times) if times is not None else [1.0] * len(several)
    ends = ((each.low, each.expected, each.high) for each in several)
    weighted = [[weight * end for end in three] for weight, three in zip(weights, ends, strict=True)]
    return Estimate(*(float(sum(column)) for column in zip(*weighted, strict=True))) if weighted else NOTHING


def less(before: Estimate, then: Estimate) -> Estimate:
    """Return the difference, never less than nothing."""
    ends = (before.low - then.high, before.expected - then.expected, before.high - then.low)
    return Estimate(*(max(end, 0.0) for end in ends))


def share_of(part: Estimate, whole: float) -> Estimate:
    """Return the share that a part has of its whole."""
    low, expected, high = (end / max(whole, 1.0) for end in (part.low, part.expected, part.high))
    return Estimate(low, expected, max(min(high, 1.0), expected))


def in_words(estimate: Estimate, form: Callable[[float], str]) -> str:
    """Format the number, with its bounds if it is an estimate."""
    low, expected, high = map(form, (estimate.low, estimate.expected, estimate.high))
    return expected if low == high else f"{expected} [{low} to {high}]"


def in_bytes(size: float) -> str:
    return human_bytes(round(size))


def in_numbers(number: float) -> str:
    return f"{round(number):,}"


@dataclass(frozen=True, slots=True)
class DrawResult:
    """The results of drawn values: of how many sampled files beside its own each was asked, and how many it kept.
    `values`: how many a query names."""

    kept: tuple[int, ...]
    trials: tuple[int, ...]
    values: int = 1


@dataclass(frozen=True, slots=True)
class TrialCount:
    """The sample's result for one query: of `total` files that it reads now, `sampled` were tried, `kept` of them are
    read with the candidate, too. `larger`: the size of the other files as a multiple, as larger files hold more values.
    `chance`: what is kept of files that have no such value."""

    total: int
    sampled: int
    kept: int
    drawn: DrawResult | None = None
    larger: float = 1.0
    chance: DrawResult | None = None

    def others(self) -> Floats:
        """Particles of how many files that were not tried are kept."""
        rng = np.random.default_rng(_SEED)
        left, missed = self.total - self.sampled, self.sampled - self.kept
        if not left:
            return np.zeros(1)
        drawn = self.drawn
        shares = rng.beta(self.kept + 0.5, missed + 0.5, PARTICLES)
        outside = np.zeros(PARTICLES, np.int64)
        if drawn is not None and drawn.kept and drawn.values <= self.total // 4:
            like_drawn = np.where(rng.random(PARTICLES) < UNLIKE, rng.random(PARTICLES), shares_of(rng, drawn))
            absent = rng.random(PARTICLES) < ABSENT
            like_drawn = np.where(absent, shares_by_chance(rng, self.chance), like_drawn)
            homes = np.where(absent, 0, drawn.values)
            inside = np.minimum(rng.binomial(homes, self.sampled / self.total), self.sampled)
            outside = np.minimum(homes - inside, left)
            likely = _likely(self.kept - inside, self.sampled - inside, like_drawn)
            if likely.any():  # else it is like nothing that was drawn
                chosen = rng.choice(PARTICLES, PARTICLES, p=likely / likely.sum())
                shares, outside = like_drawn[chosen], outside[chosen]
        elsewhere = 1 - (1 - shares) ** self.larger
        return (outside + rng.binomial(left - outside, elsewhere)).astype(np.float64)


def shares_by_chance(rng: np.random.Generator, chance: DrawResult | None) -> Floats:
    """Particles of the share of files that are kept although they have no such value. Files whose filters are alike
    keep the same values by chance, so that the shares of values differ more than chance alone would have it."""
    if chance is None:
        return np.where(rng.random(PARTICLES) < 0.5, 0.0, _BY_CHANCE * rng.random(PARTICLES))
    shares = shares_of(rng, chance)
    return shares if any(chance.kept) else np.where(rng.random(PARTICLES) < _EXACT, 0.0, shares)


def kept_by_chance(files: int, chance: DrawResult) -> Floats:
    """Particles of how many of so many files are kept although they have no such value."""
    rng = np.random.default_rng(_SEED + 1)
    return rng.binomial(files, shares_by_chance(rng, chance)).astype(np.float64)


def with_nan(files: int, tried: int) -> Floats:
    """Return particles of how many of so many files are kept for a NaN, if no tried file has any: most columns have
    none at all."""
    rng = np.random.default_rng(_SEED + 4)
    shares = np.where(rng.random(PARTICLES) < _EXACT, 0.0, rng.beta(0.5, tried + 0.5, PARTICLES))
    return rng.binomial(files, shares).astype(np.float64)


def shares_of(rng: np.random.Generator, drawn: DrawResult) -> Floats:
    """Particles of the share of files that are kept for a value: that of one of those drawn, as far as the files that
    it was asked of tell, and as many more that are as those of all values, as these are alike."""
    kept, trials = np.array(drawn.kept, np.float64), np.array(drawn.trials, np.float64)
    mean = rng.beta(kept.sum() + 0.25, (trials - kept).sum() + 0.5, PARTICLES)
    more = _alike(kept[trials > 0], trials[trials > 0])
    which = rng.integers(len(kept), size=PARTICLES)
    shares: Floats = rng.beta(kept[which] + more * mean, (trials - kept)[which] + more * (1 - mean))
    return shares


def _alike(kept: Floats, trials: Floats) -> float:
    """The sum of both numbers of the Beta distribution that shares differ by, from how much more those that were seen
    differ than chance alone has it."""
    mean, size = kept.sum() / trials.sum(), float(trials.mean())
    chance = max(mean * (1 - mean), 1e-9)
    more = (float((kept / trials).var()) / chance - 1 / size) / (1 - 1 / size) if size > 1 else 0.0
    return float(np.clip(1 / max(more, 1e-3) - 1, *_ALIKE))


def _likely(kept: npt.NDArray[np.int64], trials: npt.NDArray[np.int64], shares: Floats) -> Floats:
    """Return the likelihood that so many of those asked are kept, each with its share; 0 for what cannot be."""
    possible = (kept >= 0) & (kept <= trials)
    kept, trials = np.where(possible, kept, 0), np.where(possible, trials, 0)
    likely: Floats = shares**kept * (1 - shares) ** (trials - kept) * _ways(trials, kept)
    return np.where(possible, likely, 0.0)


def _ways(trials: npt.NDArray[np.int64], kept: npt.NDArray[np.int64]) -> Floats:
    """Return the number of ways to choose so many of them, relative to the greatest."""
    most = int(trials.max(initial=0)) + 1
    logs = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, most + 1)))])
    logged = logs[trials] - logs[kept] - logs[trials - kept]
    out: Floats = np.exp(logged - logged.max(initial=0.0))
    return out


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
        total = sum_of(each, self.seen.tolist())
        values = np.array([estimate.expected for estimate in each], np.float64)
        below, above = self._off(values, 0.0 * values), self._off(values, np.array(most, np.float64))
        return Estimate(max(total.low - max(below[0], 0.0), 0.0), total.expected, total.high + max(above[1], 0.0))

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
