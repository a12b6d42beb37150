"""The effect of another layout: the rows of a sample are put in that order in memory, cut into as many files as the
table has, and measured like the files of now. Nothing is written.

A rewrite works inside partitions and keeps the number of files, so the rows of a partition are sorted among themselves.
Rows lie at their ranks: of a sorted sample, how many rows are below says the same as the value.

    sort     by the first column, rows with the same value by the next
    zorder   Delta: the bits of each column's rank among a thousand ranges, taken in turn
             Iceberg: the bits of the values themselves, taken in turn
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metaindex.core import Vector, arrow_array, compute, dataclass
from metaindex.expressions import Family
from metaindex.formats import Leaf

from .overlap import Floats, Ints, Numbers, OverlapReads, Ranges, RowPlaces, even_fractions, numbers_of
from .sample import SampleRows

Words = npt.NDArray[np.uint64]
Curve = Literal["sort", "ranks", "bits"]
"""How rows are ordered by several columns."""

_RANGES = 1000  # of a column in Delta's Z-order: spark.databricks.io.skipping.mdc.rangeId.max
_LEAST = 16
"""Rows of the sample that a file then needs at least, to say what its bounds would be."""


@dataclass(frozen=True, slots=True)
class SampleColumns:
    """The columns of a sample, ready to be sorted. `ranks`: of each row its value's number among the distinct ones, -1
    for NULL; `bits`: as unsigned numbers of the same order."""

    ranks: tuple[Ints, ...]
    bits: tuple[Words, ...]

    @classmethod
    def of(cls, sample: SampleRows) -> SampleColumns:
        made = [_prepared(values) for values in sample.values]
        return cls(tuple(ranks for ranks, _ in made), tuple(bits for _, bits in made))


@dataclass(frozen=True, slots=True)
class SamplePartitions:
    """The partitions that the sample has rows of: of each row its partition, of each partition the files that the table
    has in it."""

    of_row: Ints
    files: Ints

    @classmethod
    def of(cls, sample: SampleRows, partitions: pa.Array) -> SamplePartitions:
        """`partitions`: of each file of the table, as text."""
        codes = Vector(compute("dictionary_encode", partitions).indices).items(np.int32).astype(np.int64)
        there, of_row = np.unique(codes[sample.file], return_inverse=True)
        return cls(of_row, np.bincount(codes)[there])

    @property
    def enough(self) -> bool:
        """Return whether some partition has rows for more than one file: a single file has no other layout."""
        return bool((np.minimum(self.files, np.bincount(self.of_row) // _LEAST) > 1).any())


def files_then(
    columns: SampleColumns, groups: SamplePartitions, by: Sequence[int], curve: Curve, share: float, *, whole: bool
) -> Floats:
    """The share of the files that a range over this share of the rows reads of each column, once the rows are ordered
    by the columns `by`. `whole`: the sample is the table."""
    order = _order(columns, groups, by, curve)
    rows_of = np.bincount(groups.of_row)
    pieces = np.maximum(np.minimum(groups.files, rows_of // _LEAST), 1)
    starts, weights, rows_in = _cut(rows_of, pieces, groups.files)
    shares_ = []
    for ranks in columns.ranks:
        there = ranks >= 0
        if not there.any():
            shares_.append(0.0)
            continue
        ordered = ranks[order]
        most = int(ranks.max()) + 1
        lower = np.minimum.reduceat(np.where(ordered < 0, most, ordered), starts)
        upper = np.maximum.reduceat(ordered, starts)
        some = upper >= 0
        low, high = lower[some].astype(np.float64), upper[some].astype(np.float64)
        ranges = Ranges(*((low, high) if whole else _widened(low, high, rows_in[some], most)))
        # Each partition counts by its files, whatever share of its rows the sample has.
        of_row = (groups.files / rows_of)[groups.of_row][there]
        reads = OverlapReads(ranges, RowPlaces.at(ranks[there].astype(np.float64), of_row))
        shares_.append(reads.by_range(weights[some], share) / float(groups.files.sum()))
    shares: Floats = np.clip(np.array(shares_, np.float64), 0.0, 1.0)
    return shares


def fractions_of(values: Numbers, lower: Numbers, upper: Numbers, count: int) -> Floats:
    """Return where between the bounds of its file a row lies, by the sample: the middles of equal portions. `lower` and
    `upper`: of the file of each row, as numbers of the same order; `count`: files that will be asked."""
    wide = upper > lower
    even = even_fractions(count)
    if np.count_nonzero(wide) < _LEAST:
        return even
    span = upper[wide].astype(np.float64) - lower[wide].astype(np.float64)
    inside = np.clip((values[wide].astype(np.float64) - lower[wide].astype(np.float64)) / span, 0.0, 1.0)
    finite = inside[np.isfinite(inside)]
    return np.asarray(np.quantile(finite, even)) if len(finite) >= _LEAST else even


def _prepared(values: pa.Array) -> tuple[Ints, Words]:
    mask = Vector(values).valid
    valid = np.ones(len(values), np.bool_) if mask is None else mask
    kept = compute("filter", values, arrow_array(valid))
    (known,) = numbers_of([kept])
    ranks = np.full(len(values), -1, np.int64)
    ranks[valid] = np.unique(known, return_inverse=True)[1]
    bits = np.zeros(len(values), np.uint64)
    bits[valid] = _bits(kept, known)
    return ranks, bits


def _bits(values: pa.Array, known: Numbers) -> Words:
    """64 bits whose order as unsigned numbers is that of the values: of texts the first eight bytes."""
    if pa.types.is_binary(values.type):
        padded = [text[:8].ljust(8, b"\0") for text in values.to_pylist()]
        return np.frombuffer(b"".join(padded), ">u8").astype(np.uint64)
    bits = np.ascontiguousarray(known).view(np.uint64)
    top = np.uint64(1 << 63)
    if known.dtype.kind == "f":
        return np.where(bits & top, ~bits, bits | top)
    return bits ^ top


def _order(columns: SampleColumns, groups: SamplePartitions, by: Sequence[int], curve: Curve) -> Ints:
    """The rows, partition by partition, in the order of the layout."""
    keys: Sequence[Words | Ints]
    if curve == "sort":
        keys = [columns.ranks[place] for place in by]
    elif curve == "bits":
        keys = _interleaved([columns.bits[place] for place in by], 64)
    else:
        # Rows that are the same to the curve lie as chance will have it, and not as they lie now.
        chance = np.random.default_rng(0).permutation(len(groups.of_row))
        width = int(_RANGES - 1).bit_length()
        keys = [*_interleaved([_ranges(columns.ranks[place]) for place in by], width), chance]
    return np.lexsort([*reversed(keys), groups.of_row]).astype(np.int64)


def _ranges(ranks: Ints) -> Words:
    """Return for each row the number of its range, of a thousand with as many rows each; NULL comes first."""
    order = np.sort(ranks)
    return (np.searchsorted(order, ranks, side="left") * _RANGES // max(len(ranks), 1)).astype(np.uint64)


def _interleaved(words: Sequence[Words], width: int) -> list[Words]:
    """The bits of all words in turn, the highest first, 64 in each of the words that come out."""
    out: list[Words] = []
    filled = 64
    for bit in range(width - 1, -1, -1):
        for word in words:
            if filled == 64:
                out.append(np.zeros(len(words[0]), np.uint64))
                filled = 0
            out[-1] = (out[-1] << np.uint64(1)) | ((word >> np.uint64(bit)) & np.uint64(1))
            filled += 1
    return out


def _cut(rows: Ints, pieces: Ints, files: Ints) -> tuple[Ints, Floats, Ints]:
    """Return where each new file begins among the sorted rows, how many files of the table it stands for, and how many
    rows of the sample it has."""
    ends = np.cumsum(rows)
    starts = [
        end - count + np.arange(number) * count // number
        for end, count, number in zip(ends.tolist(), rows.tolist(), pieces.tolist(), strict=True)
    ]
    first = np.concatenate(starts).astype(np.int64)
    return first, np.repeat(files / pieces, pieces), np.diff(first, append=int(ends[-1]))


def _widened(lower: Floats, upper: Floats, rows: Ints, most: int) -> tuple[Floats, Floats]:
    """Bounds as all rows of a file would have them: those of some rows lie inside of them, by one part of as many as
    there are rows."""
    more = (upper - lower) / np.maximum(rows - 1, 1)
    return np.maximum(lower - more, 0.0), np.minimum(upper + more, float(most - 1))


def in_zorder(leaf: Leaf) -> bool:
    """Return whether Iceberg has an order of bytes for the type."""
    return Family.of(leaf.type) not in (Family.DECIMAL, Family.WIDE_DECIMAL, Family.UINT64, Family.TIME)
