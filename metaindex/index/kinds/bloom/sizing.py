"""Sizes of filters: as many blocks as the requested false-positive rate takes for the file's distinct values, in size
classes.

The usual formula counts the bits of all blocks as if they were evenly filled; blocks are not (their loads are binomial,
nearly Poisson), and its filters give 1.5 to 2 times the rate that was asked. Here the rate is computed from the loads.
With z blocks and n values, a block has K ~ Binomial(n, 1/z) values, each of its 8 words is hit in vain with probability
1 - q^K, q = 31/32, and

    rate(n, z) = E[(1 - q^K)^8] = sum over j of (-1)^j binom(8, j) (1 - (1 - q^j) / z)^n

Size classes are the numbers 1 to 32 and from there 16 to an octave, in equal steps: whole numbers below 2^26 whose
binary form ends in zeros after 5 digits. A file is in the smallest class whose rate is at most 8/7 of the asked one, so
that over all files the rate is about the asked one, and of none more than a seventh above.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import numpy.typing as npt

_Doubles = npt.NDArray[np.float64]

MOST_BLOCKS = 1 << 26
"""Of one filter, 2 GB: one of more values gives more false positives instead."""

_EXCESS = 8 / 7
_SIGNED_BINOMIALS = np.array([1, -8, 28, -56, 70, -56, 28, -8, 1], np.float64)
_HIT = 1 - (31 / 32) ** np.arange(9, dtype=np.float64)  # that one of j given bits is set by a value of the block


def size_classes() -> npt.NDArray[np.int64]:
    """Return all size classes, ascending, in numbers of blocks."""
    octaves = [np.arange(16, 32, dtype=np.int64) << e for e in range(1, MOST_BLOCKS.bit_length() - 5)]
    return np.concatenate([np.arange(1, 32, dtype=np.int64), *octaves, [MOST_BLOCKS]])


def rate(values: npt.ArrayLike, blocks: npt.ArrayLike) -> _Doubles:
    """The false-positive rate of filters of so many distinct values in so many blocks."""
    n, z = np.asarray(values, np.float64)[..., None], np.asarray(blocks, np.float64)[..., None]
    with np.errstate(divide="ignore"):  # of one block: log(0) where all of its values hit
        powers = np.exp(n * np.log1p(-_HIT / z))
    return np.asarray(np.clip((powers * _SIGNED_BINOMIALS).sum(axis=-1), 0.0, 1.0))


def blocks_for(values: int, fpp: float) -> int:
    """The class of a filter of so many distinct values (at least 1) at an asked rate."""
    classes, most = _capacities(fpp)
    return int(classes[min(int(np.searchsorted(most, values)), len(classes) - 1)])


@lru_cache(maxsize=16)
def _capacities(fpp: float) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The classes, and the most values that each holds at the rate: by bisection, as the rate grows with the values."""
    classes = size_classes()
    low, high = np.zeros(len(classes), np.int64), classes * 256  # with a value a bit every rate is beyond
    while (high - low > 1).any():
        middle = (low + high) // 2
        fits = rate(middle, classes) <= fpp * _EXCESS
        low, high = np.where(fits, middle, low), np.where(fits, high, middle)
    return classes, low
