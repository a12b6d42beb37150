"""Bucket partitions: a file whose rows were hashed into bucket 3 holds no value that hashes elsewhere.

    asked                 proved by
    x = v, x IN (v, w)    no file of another bucket than those of v and w; no file of bucket NULL (there x is NULL)
    anything else         nothing: neighbours in order are no neighbours in buckets

The hash is Murmur3 with 32 bits over the specification's bytes of the value (Appendix B). Whoever widened an int to a
long, or a decimal by digits, left the hashes as they were; a column that ever had two types of different hashes is not
asked about.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from metaindex.core import Mask
from metaindex.expressions import ColumnRef, Family, Interval, Literal, ManyFiles, PhysicalInterval
from metaindex.formats.model import Leaf

from .metadata import PartitionSpec
from .transforms import made_of

if TYPE_CHECKING:
    import polars as pl


def buckets_of(
    data: pl.DataFrame, specs: Mapping[int, PartitionSpec], types: Mapping[int, set[str]], leaf: Leaf
) -> list[Buckets]:
    """The bucket fields made from the column, from the columns p<field id> of `data`. `types`: all that each column
    ever was."""
    field_id = leaf.field.field_id
    if field_id is None or not _hashed_alike(types.get(field_id, set())):
        return []
    out = []
    for files, made in made_of(data, specs, field_id):
        for transform, values in made:
            if transform.name == "bucket" and transform.parameter > 0 and values.dtype.is_integer():
                numbers = values.fill_null(-1).to_numpy().astype(np.int64)
                out.append(Buckets(files, numbers, transform.parameter))
    return out


@dataclass(frozen=True, slots=True)
class Buckets:
    """The files of one spec and the bucket of each; -1 where the bucket is NULL."""

    files: np.ndarray[Any, np.dtype[np.intp]]
    buckets: np.ndarray[Any, np.dtype[np.int64]]
    count: int

    def hold(self, hashes: Sequence[int]) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Mask of the `files` that may hold a value with one of these hashes."""
        return np.isin(self.buckets, [(hashed & 0x7FFFFFFF) % self.count for hashed in hashes])


class BucketStatistics(ManyFiles):
    """`PruningStatistics` of `count` files by their buckets."""

    def __init__(self, count: int, columns: Mapping[ColumnRef, tuple[pa.DataType, Sequence[Buckets]]]) -> None:
        super().__init__(count)
        self._columns = columns

    def some_among(self, column: ColumnRef, values: Sequence[Literal]) -> Mask:
        answer = self.constant(True)
        if column not in self._columns:
            return answer
        of, fields = self._columns[column]
        hashes = hashes_of(values, of)
        if hashes is None:
            return answer
        for field in fields:
            answer[field.files] &= field.hold(hashes)
        return answer

    def some_between(self, column: ColumnRef, interval: Interval) -> Mask:
        if interval.low is not None and interval.low == interval.high:
            return self.some_among(column, (interval.low,))
        return self.constant(True)


def hashes_of(values: Sequence[Literal], of: pa.DataType) -> list[int] | None:
    """The hashes of those literals that a value of the type can equal; None: one of them cannot be compared, or the
    type has no hash."""
    out = []
    for value in values:
        place = PhysicalInterval.of(Interval(value, value), of)
        if place is None:
            return None
        if place.empty:
            continue
        data = None if place.low is None or place.low != place.high else hashed_bytes(place.low, of)
        if data is None:
            return None
        out.append(murmur3(data))
    return out


def hashed_bytes(value: int | float | bytes, of: pa.DataType) -> bytes | None:
    """Return the bytes that the specification hashes for a value in its physical domain; None for types that are not
    hashed. Nanoseconds count as microseconds, as the domain has them."""
    if pa.types.is_decimal(of):
        return None if isinstance(value, float) else _shortest(Family.whole(value))
    if isinstance(value, bytes):
        return value
    hashed = pa.types.is_integer(of) or pa.types.is_date(of) or pa.types.is_time(of) or pa.types.is_timestamp(of)
    return value.to_bytes(8, "little", signed=True) if hashed and isinstance(value, int) else None


def _shortest(value: int) -> bytes:
    """Two's complement, big-endian, in as few bytes as hold it with its sign."""
    bits = (value if value >= 0 else ~value).bit_length() + 1
    return value.to_bytes((bits + 7) // 8, "big", signed=True)


def _hashed_alike(types: set[str]) -> bool:
    if len(types) < 2 or types <= {"int", "long"}:
        return True
    scales = {t.rstrip(") ").rpartition(",")[2].strip() for t in types}
    return all(t.startswith("decimal(") for t in types) and len(scales) == 1


def murmur3(data: bytes) -> int:
    """Murmur3, the variant with 32 bits for x86, seed 0; unsigned."""
    whole = len(data) - len(data) % 4
    hash_ = 0
    for at in range(0, whole, 4):
        hash_ ^= _mixed(int.from_bytes(data[at : at + 4], "little"))
        hash_ = (_rotated(hash_, 13) * 5 + 0xE6546B64) & 0xFFFFFFFF
    if whole < len(data):
        hash_ ^= _mixed(int.from_bytes(data[whole:], "little"))
    hash_ ^= len(data)
    hash_ = ((hash_ ^ hash_ >> 16) * 0x85EBCA6B) & 0xFFFFFFFF
    hash_ = ((hash_ ^ hash_ >> 13) * 0xC2B2AE35) & 0xFFFFFFFF
    return hash_ ^ hash_ >> 16


def _mixed(word: int) -> int:
    return _rotated(word * 0xCC9E2D51 & 0xFFFFFFFF, 15) * 0x1B873593 & 0xFFFFFFFF


def _rotated(word: int, by: int) -> int:
    return (word << by | word >> (32 - by)) & 0xFFFFFFFF
