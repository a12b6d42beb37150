"""Between Arrow arrays and numpy views without pandas: `pa.array`, `pa.scalar` and `to_numpy` import it, which costs a second in a fresh process."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

_DTYPES: dict[str, Any] = {"int8": np.int8, "int32": np.int32, "int64": np.int64, "double": np.float64}


def one(column: pa.ChunkedArray) -> pa.Array:
    """The column as one array."""
    return (
        column.chunk(0)
        if column.num_chunks == 1
        else column.combine_chunks()
        if column.num_chunks
        else _none(column.type)
    )


def values(array: pa.Array) -> npt.NDArray[Any]:
    """The values of a fixed-width array, nulls as whatever lies there. A view where possible."""
    buffer = array.buffers()[1]
    dtype = _DTYPES[str(array.type)]
    if buffer is None:
        return np.zeros(len(array), dtype)
    return np.frombuffer(buffer, dtype, array.offset + len(array))[array.offset :]


def valid(array: pa.Array) -> npt.NDArray[np.bool_]:
    """True where the array is not null."""
    buffer = array.buffers()[0]
    if buffer is None or array.null_count == 0:
        return np.ones(len(array), np.bool_)
    bits = np.unpackbits(np.frombuffer(buffer, np.uint8), bitorder="little")
    return bits[array.offset : array.offset + len(array)].astype(np.bool_)


def array(data: npt.NDArray[Any], is_valid: npt.NDArray[np.bool_] | None, type_: pa.DataType) -> pa.Array:
    """An Arrow array over numpy data."""
    mask = None
    if is_valid is not None and not is_valid.all():
        mask = pa.py_buffer(np.packbits(is_valid, bitorder="little"))
    return pa.Array.from_buffers(type_, len(data), [mask, pa.py_buffer(np.ascontiguousarray(data))])


def binary(data: list[bytes | None]) -> pa.Array:
    """An Arrow binary array of few values."""
    is_valid = np.fromiter((d is not None for d in data), np.bool_, len(data))
    sizes = np.fromiter((len(d) if d is not None else 0 for d in data), np.int64, len(data))
    offsets = np.zeros(len(data) + 1, np.int32)
    np.cumsum(sizes, out=offsets[1:])
    mask = None if is_valid.all() else pa.py_buffer(np.packbits(is_valid, bitorder="little"))
    joined = b"".join(d for d in data if d is not None)
    return pa.Array.from_buffers(pa.binary(), len(data), [mask, pa.py_buffer(offsets), pa.py_buffer(joined)])


def _none(type_: pa.DataType) -> pa.Array:
    return pa.chunked_array([], type=type_).combine_chunks()
