"""Bounds of columns as values again."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from metaindex.core import Vector
from metaindex.expressions import Family, family_of


def bound_values(bounds: pa.Array, type_: pa.DataType) -> pa.Array | None:
    """Bounds in the physical domain of a type, as values of it. None if they say less than the values did
    (nanoseconds), or are none of the type."""
    try:
        match family_of(type_):
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
    return _of_words(np.ascontiguousarray(big_endian[:, ::-1]), bounds, type_)


def _of_words(words: npt.NDArray[Any], bounds: pa.Array, type_: pa.DataType) -> pa.Array:
    """Decimals of 16 little-endian bytes each; null where the bounds are."""
    valid = Vector(bounds).valid
    bitmap = None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little"))
    of_bits = pa.Array.from_buffers(
        pa.decimal128(type_.precision, type_.scale), len(bounds), [bitmap, pa.py_buffer(words)]
    )
    return of_bits.cast(type_)
