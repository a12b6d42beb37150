"""Values that are sketched."""

from __future__ import annotations

import pyarrow as pa

from metaindex.expressions import physical_type
from metaindex.index.kinds.canonical import UnkeyedValuesError, plain_type


def can_be_sketched(type_: pa.DataType) -> bool:
    """Values that have an order, but for times that are finer than a microsecond."""
    type_ = plain_type(type_)
    fine = (pa.types.is_timestamp(type_) or pa.types.is_time(type_)) and type_.unit == "ns"
    narrow = pa.types.is_decimal(type_) and not pa.types.is_decimal128(type_)  # Arrow finds no different ones of those
    return physical_type(type_) is not None and not fine and not narrow


def as_sketched(values: pa.Array, type_: pa.DataType) -> pa.Array:
    """Return the non-null values in the given type. Raises UnkeyedValuesError if they have another one. Views become
    texts before different values are looked for: Arrow takes a NULL among views for an empty text there."""
    type_ = plain_type(type_)
    for each in (values.type, type_):
        if not can_be_sketched(each):
            raise UnkeyedValuesError(f"sketches are of values that have an order; these are {each}")
    return (values if values.type == type_ else values.cast(type_)).drop_null()
