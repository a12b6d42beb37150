"""Values told apart: what is the same where they are equal, as an index that keeps values has them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from metaindex.core import Mask, from_vector, numbers, valid_mask, vector
from metaindex.expressions import physical_type

from .canonical import plain_type
from .values.encoding import CUT, doubles, encode_values


def keys_type(type_: pa.DataType) -> pa.DataType:
    """Of `value_keys`."""
    return pa.int64() if physical_type(plain_type(type_)) == pa.int64() else pa.large_binary()


def value_keys(values: pa.Array, type_: pa.DataType) -> pa.Array:
    """Of values that are no NULL what is the same where they are equal, of `keys_type`; of a long text it is the whole
    text. UnkeyedValuesError for a value that has none."""
    type_ = plain_type(type_)
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    texts = physical_type(type_) == pa.binary() and not pa.types.is_decimal(type_) and not pa.types.is_uint64(type_)
    keys = values if texts else encode_values(values, type_)
    return keys.cast(keys_type(type_)).drop_null()


def key_floats(keys: pa.Array) -> pa.Array | None:
    """Of keys of floats the doubles: 0.0 for either zero, and one NaN. None where some are no such keys."""
    try:
        words = vector(keys.cast(pa.binary(8)), np.uint8, 8).reshape(-1, 8).copy().view(">u8").ravel()
    except pa.ArrowException:
        return None
    return from_vector(doubles(words.astype(np.uint64)), valid_mask(keys), pa.float64())


def may_be_cut(keys: pa.Array) -> Mask:
    """Which of an index's keys may be of a text that was cut."""
    if keys.type == pa.int64():
        return np.zeros(len(keys), np.bool_)
    return np.asarray(numbers(pc.binary_length(keys)) >= CUT)
