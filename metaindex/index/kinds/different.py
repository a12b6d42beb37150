"""Distinct values: keys that are equal if the values are, as an index that keeps values has them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from metaindex.core import Mask, Vector, arrow_array
from metaindex.expressions import physical_type

from .canonical import plain_type
from .values.encoding import CUT, doubles, encode_values


def keys_type(type_: pa.DataType) -> pa.DataType:
    """Return the type of `value_keys`."""
    return pa.int64() if physical_type(plain_type(type_)) == pa.int64() else pa.large_binary()


def value_keys(values: pa.Array, type_: pa.DataType) -> pa.Array:
    """Return keys, of `keys_type`, that are equal if the values are, without NULL; for a long text the whole text.
    UnkeyedValuesError for a value without a key."""
    type_ = plain_type(type_)
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    texts = physical_type(type_) == pa.binary() and not pa.types.is_decimal(type_) and not pa.types.is_uint64(type_)
    keys = values if texts else encode_values(values, type_)
    return keys.cast(keys_type(type_)).drop_null()


def key_floats(keys: pa.Array) -> pa.Array | None:
    """Return the doubles of float keys: 0.0 for either zero, and one NaN. None if some are no such keys."""
    try:
        words = Vector(keys.cast(pa.binary(8))).items(np.uint8, 8).reshape(-1, 8).copy().view(">u8").ravel()
    except pa.ArrowException:
        return None
    return arrow_array(doubles(words.astype(np.uint64)), Vector(keys).valid, pa.float64())


def may_be_cut(keys: pa.Array) -> Mask:
    """Mask of the index's keys that may be of a truncated text."""
    if keys.type == pa.int64():
        return np.zeros(len(keys), np.bool_)
    return np.asarray(Vector(pc.binary_length(keys)).numbers >= CUT)
