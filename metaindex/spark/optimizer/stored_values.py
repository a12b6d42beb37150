"""Values as texts that the rule makes Spark's rows of (`Values.java`)."""

from __future__ import annotations

import base64

import numpy as np
import pyarrow as pa

from metaindex.core import Vector, arrow_array


def as_texts(values: pa.Array | pa.ChunkedArray) -> list[str | None]:
    """Numbers in digits (of floats: the bits of the double), days since 1970, microseconds, base64 of bytes."""
    values = Vector(values).array
    type_ = values.type
    if pa.types.is_floating(type_):
        bits = Vector(values.cast(pa.float64())).items(np.float64).view(np.int64)
        return _texts(arrow_array(bits, Vector(values).valid, pa.int64()))
    if pa.types.is_date(type_):
        return _texts(values.cast(pa.date32()).cast(pa.int32()))
    if pa.types.is_timestamp(type_):
        return _texts(values.cast(pa.timestamp("us", type_.tz)).cast(pa.int64()))
    if pa.types.is_binary(type_) or pa.types.is_large_binary(type_):
        return [None if value is None else base64.b64encode(value).decode() for value in values.to_pylist()]
    if pa.types.is_decimal(type_):
        return [None if value is None else str(value) for value in values.to_pylist()]
    if pa.types.is_boolean(type_):
        return [None if value is None else str(value).lower() for value in values.to_pylist()]
    return _texts(values)


def _texts(values: pa.Array) -> list[str | None]:
    texts: list[str | None] = values.cast(pa.string()).to_pylist()
    return texts
