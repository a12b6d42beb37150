"""The exact sum of integers or decimals, whatever their number: an integer without bounds, of the unscaled values."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metaindex.core import DamagedIndexError, Vector
from metaindex.index.kinds.canonical import UnkeyedValuesError, plain_type

SUM_BYTES = 32
_HALF = np.uint64(0xFFFFFFFF)


def can_be_summed(type_: pa.DataType) -> bool:
    """Integers and decimals: the order in which floats are added changes the sum."""
    type_ = plain_type(type_)
    return bool(pa.types.is_integer(type_) or (pa.types.is_decimal(type_) and type_.precision <= 38))


def scale_of(type_: pa.DataType) -> int:
    """Return the number of digits after the decimal point."""
    type_ = plain_type(type_)
    return int(type_.scale) if pa.types.is_decimal(type_) else 0


class SumOfFile:
    """Sums a file's values; see `of_files.OfFile`."""

    def __init__(self, type_: pa.DataType) -> None:
        self._type = plain_type(type_)
        self._rows = self._values = self._sum = 0

    def add(self, values: pa.Array) -> None:
        if not can_be_summed(values.type) or scale_of(values.type) != scale_of(self._type):
            raise UnkeyedValuesError(f"sums are of integers and decimals of one scale; these are {values.type}")
        self._rows += len(values)
        there = values.drop_null()
        self._values += len(there)
        self._sum += sum_of(there)

    def row(self) -> Mapping[str, object]:
        total = self._sum.to_bytes(SUM_BYTES, "little", signed=True) if self._values else None
        return {"row_count": self._rows, "value_count": self._values, "sum": total}


def sum_of(values: pa.Array) -> int:
    """Sum integers, or unscaled decimals, without NULLs. Halves of words are added separately: below 2^31 rows nothing
    overflows."""
    type_ = values.type
    if not len(values):
        return 0
    if pa.types.is_decimal(type_):
        words = Vector(values.cast(pa.decimal128(38, type_.scale))).items(np.uint64, 2).reshape(-1, 2)
        return _unsigned(words[:, 0]) + (_signed(words[:, 1].view(np.int64)) << 64)
    if pa.types.is_uint64(type_):
        return _unsigned(Vector(values).items(np.uint64))
    return _signed(Vector(values.cast(pa.int64())).items(np.int64))


def _unsigned(words: npt.NDArray[np.uint64]) -> int:
    return int((words & _HALF).sum(dtype=np.uint64)) + (int((words >> np.uint64(32)).sum(dtype=np.uint64)) << 32)


def _signed(words: npt.NDArray[np.int64]) -> int:
    low = int((words.view(np.uint64) & _HALF).sum(dtype=np.uint64))
    return low + (int((words >> 32).sum(dtype=np.int64)) << 32)


def totals(sums: pa.Array, type_: pa.DataType) -> pa.Array:
    """Stored sums of a column of this type, as decimals of 76 digits. DamagedIndexError for one that has more."""
    words = Vector(sums).items(np.uint64, 4).reshape(-1, 4)
    high = words[:, 3].view(np.int64)[Vector(sums).present]
    if (np.abs(high) >> 55).any():  # 2^247: below 10^75
        raise DamagedIndexError.for_repair(
            "a sum has as many digits as so many numbers can have; one of an index has more"
        )
    return Vector.arrow(words, Vector(sums).valid, pa.decimal256(76, scale_of(type_)))
