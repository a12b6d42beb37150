"""Arrow arrays as NumPy vectors and back, by their buffers.

`pa.array`, `pa.scalar` and `Array.to_numpy` import pandas on first use, which costs a look-up a second; this module
does not.
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
"""A yes or no for each file or row. Answers to many questions are one: a row a question, a column a file."""

_DTYPES: dict[str, Any] = {"int8": np.int8, "int32": np.int32, "int64": np.int64, "double": np.float64}


def compute(function: str, *arguments: Any, options: Any = None) -> Any:
    """An Arrow compute function by name, over arrays, chunked arrays, tables or scalars. `Array.take`, `cast`, `filter`
    and their like load pyarrow.compute."""
    return call_function(function, list(arguments), options)


class Vector:
    """An Arrow array as NumPy sees it. `array`: as one array where it was chunked. What stands under a null is
    arbitrary."""

    __slots__ = ("array",)

    def __init__(self, values: pa.Array | pa.ChunkedArray) -> None:
        if isinstance(values, pa.ChunkedArray):
            one = values.num_chunks == 1
            values = values.chunk(0) if one else pa.concat_arrays(values.chunks or [pa.nulls(0, values.type)])
        self.array: pa.Array = values

    @property
    def valid(self) -> Mask | None:
        """True where a value stands; None when none is null."""
        values = self.array
        bitmap = values.buffers()[0] if values.null_count else None
        return None if bitmap is None else _bits(bitmap, values.offset, len(values))

    @property
    def present(self) -> Mask:
        """True where a value stands."""
        valid = self.valid
        return np.ones(len(self.array), np.bool_) if valid is None else valid

    @property
    def numbers(self) -> npt.NDArray[Any]:
        """The values of an integer or double column as a vector of its own type, a view."""
        return self.items(_DTYPES[str(self.array.type)])

    def items(self, dtype: npt.DTypeLike, width: int = 1) -> npt.NDArray[Any]:
        """The values buffer of a fixed-width array (`width` items of `dtype` each), a view."""
        item, values = np.dtype(dtype), self.array
        data = values.buffers()[1]
        if data is None or len(values) == 0:
            return np.zeros(len(values) * width, item)
        return np.frombuffer(data, item, len(values) * width, values.offset * width * item.itemsize)

    def truths(self, null: bool) -> Mask:
        """A boolean array as a mask, nulls counted as `null`."""
        data = self.array.buffers()[1]
        out = np.zeros(len(self.array), np.bool_) if data is None else _bits(data, self.array.offset, len(self.array))
        valid = self.valid
        if valid is None:
            return out
        return out | ~valid if null else out & valid

    @staticmethod
    def distinct(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the values, of any shape, in order, each once. `np.unique` loads numpy.ma: more than a look-up."""
        ordered = np.sort(values, axis=None)
        return ordered[_new(ordered)]

    @staticmethod
    def numbered(values: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
        """Return the values in order, each once, and the place of each one among them."""
        order = np.argsort(values, kind="stable")
        ordered = values[order]
        new = _new(ordered)
        places = np.empty(len(order), np.int64)
        places[order] = np.cumsum(new) - 1
        return ordered[new], places

    @staticmethod
    def arrow(
        values: npt.NDArray[Any] | Sequence[bytes | None], valid: Mask | None = None, type_: pa.DataType | None = None
    ) -> pa.Array:
        """An Arrow array of `type_` (None: the numbers' own), null where `valid` is False: of numbers, or of the words
        of one value a row; of a mask; of a matrix of bytes, a binary row each; or of Python's bytes, where None is null
        (large_binary when asked)."""
        if not isinstance(values, np.ndarray):
            return _binaries(values, type_)
        if values.ndim == 2 and type_ is None:
            count, width = values.shape
            offsets = np.arange(count + 1, dtype=np.int32) * np.int32(width)
            buffers = [_bitmap(valid), pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(values))]
            return pa.Array.from_buffers(pa.binary(), count, buffers)
        type_ = pa.from_numpy_dtype(values.dtype) if type_ is None or values.dtype == np.bool_ else type_
        data = np.packbits(values, bitorder="little") if values.dtype == np.bool_ else np.ascontiguousarray(values)
        return pa.Array.from_buffers(type_, len(values), [_bitmap(valid), pa.py_buffer(data)])


def _new(ordered: npt.NDArray[Any]) -> Mask:
    """Return a mask of the values that differ from the one before."""
    new = np.ones(len(ordered), np.bool_)
    new[1:] = ordered[1:] != ordered[:-1]
    return new


def _binaries(values: Sequence[bytes | None], type_: pa.DataType | None) -> pa.Array:
    large = type_ is not None and pa.types.is_large_binary(type_)
    there = np.fromiter((v is not None for v in values), np.bool_, len(values))
    contents = [v or b"" for v in values]
    offsets = np.zeros(len(values) + 1, np.int64 if large else np.int32)
    np.cumsum([len(v) for v in contents], out=offsets[1:])
    buffers = [_bitmap(there), pa.py_buffer(offsets), pa.py_buffer(b"".join(contents))]
    return pa.Array.from_buffers(pa.large_binary() if large else pa.binary(), len(values), buffers)


def _bits(bitmap: pa.Buffer, offset: int, length: int) -> Mask:
    first, last = offset // 8, (offset + length + 7) // 8
    packed = np.frombuffer(bitmap, np.uint8, last - first, first)
    unpacked = np.unpackbits(packed, bitorder="little")[offset % 8 : offset % 8 + length]
    return unpacked.view(np.bool_)


def _bitmap(valid: Mask | None) -> pa.Buffer | None:
    if valid is None or bool(valid.all()):
        return None
    return pa.py_buffer(np.packbits(valid, bitorder="little"))
