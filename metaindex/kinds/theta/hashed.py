"""Which values are told apart, and by which hashes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from metaindex.expressions.physical import physical_type
from metaindex.expressions.vectors import compute
from metaindex.kinds.canonical import UnkeyedValuesError, plain_type

from .murmur import Hashes, hash_values


def can_be_sketched(type_: pa.DataType) -> bool:
    """Values that have an order, but for times that are finer than a microsecond."""
    type_ = plain_type(type_)
    fine = (pa.types.is_timestamp(type_) or pa.types.is_time(type_)) and type_.unit == "ns"
    narrow = pa.types.is_decimal(type_) and not pa.types.is_decimal128(type_)  # Arrow finds no different ones of those
    return physical_type(type_) is not None and not fine and not narrow


def different(values: pa.Array, type_: pa.DataType) -> tuple[bool, Iterator[Hashes]]:
    """Is there an empty text among values, and the hashes of all others as values of the type. NULL is none.
    UnkeyedValuesError where they are of no such type."""
    type_ = plain_type(type_)
    if values.type != type_:
        if not can_be_sketched(values.type):
            raise UnkeyedValuesError(f"sketches are of values that have an order; these are {values.type}")
        values = values.cast(type_)
    if not can_be_sketched(type_):
        raise UnkeyedValuesError(f"sketches are of values that have an order; these are {type_}")
    values = compute("unique", values).drop_null()
    empty = False
    if _is_text(type_):
        filled = np.asarray(compute("binary_length", values).to_numpy(zero_copy_only=False)) > 0
        empty = bool((~filled).any())
        values = values.filter(pa.array(filled)) if empty else values
    return empty, hash_values(values)


def _is_text(type_: pa.DataType) -> bool:
    is_ = pa.types
    return bool(
        is_.is_string(type_) or is_.is_large_string(type_) or is_.is_binary(type_) or is_.is_large_binary(type_)
    )
