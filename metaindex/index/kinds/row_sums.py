"""A sum over rows by which a lost row shows, and one that is there twice: beside their number, of a number for each row
that is far from those of others."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from metaindex.core import dataclass

_WHOLE = 1 << 64


@dataclass(frozen=True, slots=True)
class RowSum:
    """Equal of the same rows, in whatever order they came."""

    rows: int = 0
    total: int = 0

    def __add__(self, other: RowSum) -> RowSum:
        return RowSum(self.rows + other.rows, (self.total + other.total) % _WHOLE)


def sum_of_files(ordinals: npt.NDArray[np.integer]) -> RowSum:
    """Sum rows by their files."""
    return RowSum(len(ordinals), _sum(weights(ordinals)))


def sum_of_counts(ordinals: npt.NDArray[np.integer], rows: npt.NDArray[np.int64]) -> RowSum:
    """Sum so many rows of each file."""
    with np.errstate(over="ignore"):
        return RowSum(int(rows.sum()), _sum(weights(ordinals) * rows.astype(np.uint64)))


def sum_of_rows(ordinals: npt.NDArray[np.integer], rows: npt.NDArray[np.integer]) -> RowSum:
    """Sum rows by file and row number."""
    with np.errstate(over="ignore"):
        return RowSum(len(ordinals), _sum(weights(weights(ordinals) + rows.astype(np.int64).view(np.uint64))))


def weights(numbers: npt.NDArray[np.integer]) -> npt.NDArray[np.uint64]:
    """A number for each, far from those of others: the finalizer of splitmix64."""
    with np.errstate(over="ignore"):
        z = (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return np.asarray(z ^ (z >> np.uint64(31)), np.uint64)


def _sum(values: npt.NDArray[np.uint64]) -> int:
    return int(np.add.reduce(values, dtype=np.uint64))
