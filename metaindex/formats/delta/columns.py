"""Arrow columns from Python values, without `pa.array`: that one imports pandas, a second's work for a log of ten
lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

# The methods of arrays of the same names load pyarrow.compute, which takes longer than the snapshot of a small table.
from pyarrow._compute import CastOptions, SetLookupOptions, StructFieldOptions

from metaindex.core import Vector, arrow_array, compute

Rows = npt.NDArray[np.int64]


def strings(values: Sequence[str | None]) -> pa.Array:
    """A string column."""
    data = [b"" if v is None else v.encode("utf-8", "surrogatepass") for v in values]
    offsets = np.zeros(len(data) + 1, np.int64)
    np.cumsum([len(d) for d in data], out=offsets[1:])
    if len(data) and offsets[-1] > 2**31 - 1:
        raise OverflowError("a column of log strings holds at most 2 GiB")
    return pa.Array.from_buffers(
        pa.string(),
        len(data),
        [_bitmap(values), pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(b"".join(data))],
    )


def integers(values: Sequence[int | None], type_: pa.DataType | None = None) -> pa.Array:
    """Return an integer column, by default int64."""
    type_ = type_ or pa.int64()
    valid = np.fromiter((v is not None for v in values), np.bool_, len(values))
    numbers = np.fromiter((0 if v is None else v for v in values), np.int64, len(values))
    return arrow_array(numbers.astype(type_.to_pandas_dtype()), valid, type_)


def text_map(values: Sequence[Mapping[str, str | None]]) -> pa.Array:
    """A map<string, string> column."""
    offsets = np.zeros(len(values) + 1, np.int32)
    np.cumsum([len(v) for v in values], out=offsets[1:])
    keys = strings([k for v in values for k in v])
    items = strings([x for v in values for x in v.values()])
    return pa.MapArray.from_arrays(arrow_array(offsets, None, pa.int32()), keys, items)


def take(values: Any, rows: pa.Array) -> Any:
    """Rows of an array or a table by their numbers."""
    return compute("take", values, rows)


def kept(values: Any, mask: npt.NDArray[np.bool_]) -> Any:
    """Rows of an array or a table where the mask is true."""
    return compute("filter", values, booleans(mask))


def cast_to(values: pa.Array, type_: pa.DataType) -> pa.Array:
    """Cast to another type. Raises ArrowInvalid if a value does not fit."""
    return values if values.type == type_ else compute("cast", values, options=CastOptions.safe(type_))


def among(values: pa.Array | pa.ChunkedArray, members: pa.Array) -> pa.Array | pa.ChunkedArray:
    """True where a value is one of `members`."""
    return compute("is_in", values, options=SetLookupOptions(members, skip_nulls=False))


def child(values: pa.Array, field: int | str) -> pa.Array:
    """A field of a struct column, null where the struct is."""
    return compute("struct_field", values, options=StructFieldOptions([field]))


def present(values: pa.Array) -> npt.NDArray[np.bool_]:
    """Mask of the values that are not null."""
    valid = Vector(values).valid
    return np.ones(len(values), np.bool_) if valid is None else valid


def where(mask: pa.Array | pa.ChunkedArray) -> Rows:
    """The rows where a boolean column is true."""
    return np.flatnonzero(Vector(unchunked(mask)).truths(null=False)).astype(np.int64)


def unchunked(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    return Vector(values).array


def rows_array(rows: Rows, valid: npt.NDArray[np.bool_] | None = None) -> pa.Array:
    """Row numbers to `take` by."""
    return arrow_array(rows.astype(np.int64, copy=False), valid, pa.int64())


def booleans(mask: npt.NDArray[np.bool_]) -> pa.Array:
    """A boolean column without nulls."""
    packed = np.packbits(mask, bitorder="little")
    return pa.Array.from_buffers(pa.bool_(), len(mask), [None, pa.py_buffer(packed)])


def constant(value: int, count: int, type_: pa.DataType) -> pa.Array:
    return arrow_array(np.full(count, value, type_.to_pandas_dtype()), None, type_)


def int64_values(values: pa.Array) -> tuple[Rows, npt.NDArray[np.bool_]]:
    """An int64 column as numbers and which of them stand."""
    return Vector(values).items(np.int64), present(values)


def map_values(maps: pa.Array, key: str) -> pa.Array:
    """Return each row's map value under `key`: null if the value is null or the key is missing."""
    count = len(maps)
    if count == 0:
        return pa.nulls(0, pa.string())
    offsets = Vector(maps.offsets).items(np.int32).astype(np.int64)
    first, last = int(offsets[0]), int(offsets[-1])
    keys, items = maps.keys.slice(first, last - first), maps.items.slice(first, last - first)
    places = where(among(keys, strings([key])))
    width = (last - first) // count
    even = last - first == width * count and bool((offsets[1:] - offsets[:-1] == width).all())
    if even and width == 1 and len(places) == count and not maps.null_count:
        return items
    rows = places // width if even else np.searchsorted(offsets, places + first, side="right") - 1
    positions = np.zeros(count, np.int64)
    valid = np.zeros(count, np.bool_)
    positions[rows] = places
    valid[rows] = True
    if (whole := Vector(maps).valid) is not None:
        valid &= whole
    return take(items, rows_array(positions, valid))


def _bitmap(values: Sequence[object]) -> pa.Buffer | None:
    valid = np.fromiter((v is not None for v in values), np.bool_, len(values))
    return None if valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little"))
