"""Keys of distinct values, as an index that keeps values has them.

Bounds of columns are values again, too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from metaindex.core import Mask, Vector, dataclass
from metaindex.expressions import Family, physical_type

from .canonical import hash_values, plain_type
from .values.encoding import CUT, doubles, encode_values


@dataclass(frozen=True, slots=True)
class DistinctKeys:
    """Keys of a column's values, without NULL, that are equal if the values are. `column`: the column's type."""

    column: pa.DataType

    @property
    def type(self) -> pa.DataType:
        """Return the type of the keys."""
        return pa.int64() if physical_type(plain_type(self.column)) == pa.int64() else pa.large_binary()

    def of(self, values: pa.Array) -> pa.Array:
        """Return the keys of values; of a long text the whole text. UnkeyedValuesError for a value without a key."""
        type_ = plain_type(self.column)
        if pa.types.is_dictionary(values.type):
            values = values.dictionary_decode()
        texts = physical_type(type_) == pa.binary() and not pa.types.is_decimal(type_) and not pa.types.is_uint64(type_)
        keys = values if texts else encode_values(values, type_)
        return keys.cast(self.type).drop_null()

    def values(self, keys: pa.Array) -> pa.Array | None:
        """Return the values of keys, none of them cut; 0.0 stands for either zero, and there is one NaN. None if a key
        is of no value of the type."""
        if Family.of(self.column) is not Family.FLOAT:
            return bound_values(keys if keys.type == pa.int64() else keys.cast(pa.binary()), self.column)
        try:
            bytes_ = Vector(keys.cast(pa.binary(8)))
        except pa.ArrowException:
            return None
        words = bytes_.items(np.uint8, 8).reshape(-1, 8).copy().view(">u8").ravel()
        return Vector.arrow(doubles(words.astype(np.uint64)), Vector(keys).valid, pa.float64()).cast(self.column)

    @staticmethod
    def hashes(values: pa.Array) -> npt.NDArray[np.int64]:
        """Return a hash of each value of any column; any number where it is NULL."""
        return hash_values(values)[0].view(np.int64)

    @staticmethod
    def may_be_cut(keys: pa.Array) -> Mask:
        """Return a mask of an index's keys that may be of a truncated text."""
        if keys.type == pa.int64():
            return np.zeros(len(keys), np.bool_)
        return np.asarray(Vector(pc.binary_length(keys)).numbers >= CUT)


def bound_values(bounds: pa.Array, type_: pa.DataType) -> pa.Array | None:
    """Bounds in the physical domain of a type, as values of it. None if they say less than the values did
    (nanoseconds), or are none of the type."""
    try:
        match Family.of(type_):
            case Family.BOOL | Family.INTEGER | Family.FLOAT:
                return bounds.cast(type_)
            case Family.TEXT | Family.BYTES:
                return bounds.cast(type_)
            case Family.DATE:
                return bounds.cast(pa.int32()).view(pa.date32()).cast(type_)
            case Family.TIME if type_.unit != "ns":
                return bounds.view(pa.time64("us")).cast(type_)
            case Family.TIMESTAMP if type_.unit != "ns":
                return bounds.view(pa.timestamp("us", type_.tz)).cast(type_)
            case Family.DECIMAL:
                return _decimals(bounds, type_)
            case Family.WIDE_DECIMAL:
                return _wide(bounds, type_)
            case _:
                return None
    except (pa.ArrowException, ValueError):
        return None


def _decimals(bounds: pa.Array, type_: pa.DataType) -> pa.Array:
    low = Vector(bounds).items(np.int64)
    words = np.stack([low, low >> 63], axis=1)
    return _of_words(words, bounds, type_)


def _wide(bounds: pa.Array, type_: pa.DataType) -> pa.Array:
    whole = pc.fill_null(bounds, bytes(16)).cast(pa.binary(16))
    big_endian = Vector(whole).items(np.uint8, 16).reshape(-1, 16).copy()
    big_endian[:, 0] ^= 0x80
    return _of_words(big_endian[:, ::-1], bounds, type_)


def _of_words(words: npt.NDArray[Any], bounds: pa.Array, type_: pa.DataType) -> pa.Array:
    """Decimals of 16 little-endian bytes each; null where the bounds are."""
    return Vector.arrow(words, Vector(bounds).valid, pa.decimal128(type_.precision, type_.scale)).cast(type_)
