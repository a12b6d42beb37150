"""Keys of distinct values, as an index that keeps values has them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from metaindex.core import Mask, Vector, arrow_array, dataclass
from metaindex.expressions import Family, family_of, physical_type

from .bound_values import bound_values
from .canonical import plain_type
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
        if family_of(self.column) is not Family.FLOAT:
            return bound_values(keys if keys.type == pa.int64() else keys.cast(pa.binary()), self.column)
        try:
            bytes_ = Vector(keys.cast(pa.binary(8)))
        except pa.ArrowException:
            return None
        words = bytes_.items(np.uint8, 8).reshape(-1, 8).copy().view(">u8").ravel()
        return arrow_array(doubles(words.astype(np.uint64)), Vector(keys).valid, pa.float64()).cast(self.column)

    @staticmethod
    def may_be_cut(keys: pa.Array) -> Mask:
        """Return a mask of an index's keys that may be of a truncated text."""
        if keys.type == pa.int64():
            return np.zeros(len(keys), np.bool_)
        return np.asarray(Vector(pc.binary_length(keys)).numbers >= CUT)
