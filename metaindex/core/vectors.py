"""Arrow arrays as NumPy vectors and back, by their buffers.

`pa.array`, `pa.scalar` and `Array.to_numpy` import pandas on first use, which costs a look-up a second; these functions
do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

# What pyarrow.compute calls; that module wraps every function there is, which takes longer than most look-ups.
from pyarrow._compute import call_function

Mask = npt.NDArray[np.bool_]
Matrix = npt.NDArray[np.bool_]
"""Answers to many questions: a row a question, a column a file."""
Vector = npt.NDArray[Any]

_DTYPES: dict[str, Any] = {"int8": np.int8, "int32": np.int32, "int64": np.int64, "double": np.float64}


def compute(function: str, *arguments: Any, options: Any = None) -> Any:
    """An Arrow compute function by name, over arrays, chunked arrays, tables or scalars. `Array.take`, `cast`, `filter`
    and their like load pyarrow.compute."""
    return call_function(function, list(arguments), options)


def one_array(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    """A chunked array as one array."""
    if isinstance(values, pa.ChunkedArray):
        return values.chunk(0) if values.num_chunks == 1 else pa.concat_arrays(values.chunks or [_empty(values.type)])
    return values


def _empty(type_: pa.DataType) -> pa.Array:
    return pa.nulls(0, type_)


def valid_mask(values: pa.Array) -> Mask | None:
    """True where a value stands; None when none is null."""
    bitmap = values.buffers()[0] if values.null_count else None
    return None if bitmap is None else _bits(bitmap, values.offset, len(values))


def _bits(bitmap: pa.Buffer, offset: int, length: int) -> Mask:
    first, last = offset // 8, (offset + length + 7) // 8
    packed = np.frombuffer(bitmap, np.uint8, last - first, first)
    unpacked = np.unpackbits(packed, bitorder="little")[offset % 8 : offset % 8 + length]
    return unpacked.view(np.bool_)


def vector(values: pa.Array, dtype: npt.DTypeLike, width: int = 1) -> Vector:
    """The values buffer of a fixed-width array (`width` items of `dtype` each), a view; what stands under a null is
    arbitrary."""
    item = np.dtype(dtype)
    data = values.buffers()[1]
    if data is None or len(values) == 0:
        return np.zeros(len(values) * width, item)
    return np.frombuffer(data, item, len(values) * width, values.offset * width * item.itemsize)


def numbers(values: pa.Array | pa.ChunkedArray) -> Vector:
    """The values of an integer or double column as a vector of its own type, a view where it is one array; what stands
    under a null is arbitrary."""
    values = one_array(values)
    return vector(values, _DTYPES[str(values.type)])


def truths(values: pa.Array, null: bool) -> Mask:
    """A boolean array as a mask, nulls counted as `null`."""
    data = values.buffers()[1]
    out = np.zeros(len(values), np.bool_) if data is None else _bits(data, values.offset, len(values))
    valid = valid_mask(values)
    if valid is None:
        return out
    return out | ~valid if null else out & valid


def from_truths(mask: Mask) -> pa.Array:
    """A mask as a boolean array without nulls."""
    return pa.Array.from_buffers(pa.bool_(), len(mask), [None, pa.py_buffer(np.packbits(mask, bitorder="little"))])


def from_vector(values: Vector, valid: Mask | None, type_: pa.DataType) -> pa.Array:
    """A fixed-width Arrow array over a NumPy vector; null where `valid` is False."""
    data = pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(type_, len(values), [_bitmap(valid), data])


def from_rows(rows: npt.NDArray[np.uint8], valid: Mask | None) -> pa.Array:
    """A binary array of rows of one width, from a matrix of bytes."""
    count, width = rows.shape
    offsets = np.arange(count + 1, dtype=np.int32) * np.int32(width)
    buffers = [_bitmap(valid), pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(rows))]
    return pa.Array.from_buffers(pa.binary(), count, buffers)


def from_bytes(values: Sequence[bytes | None], type_: pa.DataType | None = None) -> pa.Array:
    """A binary array of Python bytes (large_binary when asked); None is null."""
    large = type_ is not None and pa.types.is_large_binary(type_)
    there = np.fromiter((v is not None for v in values), np.bool_, len(values))
    contents = [v or b"" for v in values]
    offsets = np.zeros(len(values) + 1, np.int64 if large else np.int32)
    np.cumsum([len(v) for v in contents], out=offsets[1:])
    buffers = [_bitmap(there), pa.py_buffer(offsets), pa.py_buffer(b"".join(contents))]
    return pa.Array.from_buffers(pa.large_binary() if large else pa.binary(), len(values), buffers)


def _bitmap(valid: Mask | None) -> pa.Buffer | None:
    if valid is None or bool(valid.all()):
        return None
    return pa.py_buffer(np.packbits(valid, bitorder="little"))
