"""Arrow columns from Python values, by their buffers: `pa.array` imports pandas, a second for a log of ten lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

# The methods of arrays of the same names load pyarrow.compute, which takes longer than the snapshot of a small table.
from pyarrow._compute import CastOptions, SetLookupOptions, StructFieldOptions

from metaindex.core import Mask, Vector, compute
from metaindex.expressions import from_physical

Rows = npt.NDArray[np.int64]
STRETCH = 1 << 20


def strings(values: Sequence[str | None]) -> pa.Array:
    """A string column; None is null."""
    data = [None if value is None else value.encode() for value in values]
    if sum(len(text) for text in data if text) > 2**31 - 1:
        raise OverflowError("a column of strings holds at most 2 GiB")
    return Vector.arrow(data).view(pa.string())


def long_strings(values: Sequence[str | None]) -> pa.ChunkedArray:
    """Strings of any number, cut into stretches that stay below 2 GiB."""
    return pa.chunked_array([strings(values[at : at + STRETCH]) for at in range(0, len(values), STRETCH)], pa.string())


def repeated(text: str, count: int) -> pa.Array:
    """Return an array that repeats one text."""
    data = text.encode()
    offsets = np.arange(count + 1, dtype=np.int32) * len(data)
    return pa.Array.from_buffers(pa.string(), count, [None, pa.py_buffer(offsets), pa.py_buffer(data * count)])


def numbers(values: Sequence[int]) -> pa.Array:
    """Return int64 values without nulls."""
    return Vector.arrow(np.array(values, np.int64), None, pa.int64())


def integers(values: Sequence[int | None], type_: pa.DataType | None = None) -> pa.Array:
    """Return an integer column, by default int64."""
    type_ = type_ or pa.int64()
    valid = np.fromiter((v is not None for v in values), np.bool_, len(values))
    numbers = np.fromiter((0 if v is None else v for v in values), np.int64, len(values))
    return Vector.arrow(numbers.astype(type_.to_pandas_dtype()), valid, type_)


def values_of(values: Sequence[Any], type_: pa.DataType) -> pa.Array:
    """A column of texts or of integers."""
    return strings(values) if pa.types.is_string(type_) else integers(values, type_)


def text_map(values: Sequence[Mapping[str, str | None]]) -> pa.Array:
    """A map<string, string> column."""
    offsets = np.zeros(len(values) + 1, np.int32)
    np.cumsum([len(v) for v in values], out=offsets[1:])
    keys = strings([k for v in values for k in v])
    items = strings([x for v in values for x in v.values()])
    return pa.MapArray.from_arrays(Vector.arrow(offsets, None, pa.int32()), keys, items)


def leaf_types(type_: pa.DataType) -> Iterator[pa.DataType]:
    """Yield the types of what is inside structs, lists and maps; of anything else itself."""
    if not pa.types.is_nested(type_):
        yield type_
        return
    for at in range(type_.num_fields):
        yield from leaf_types(type_.field(at).type)


def with_inside(type_: pa.DataType, change: Callable[[pa.DataType], pa.DataType]) -> pa.DataType:
    """The type with its fields, elements or entries changed."""
    is_ = pa.types
    if is_.is_struct(type_):
        return pa.struct([pa.field(field.name, change(field.type)) for field in type_])
    if is_.is_map(type_):
        return pa.map_(change(type_.key_type), change(type_.item_type))
    listed = is_.is_list(type_) or is_.is_large_list(type_) or is_.is_fixed_size_list(type_) or is_.is_list_view(type_)
    return pa.list_(change(type_.value_type)) if listed else type_


def from_domain(physical: pa.Array, type_: pa.DataType) -> pa.Array:
    """Values out of their physical domain; days and microseconds beyond Python's calendar too."""
    if pa.types.is_decimal(type_):
        return pa.array([from_physical(value, type_) for value in physical.to_pylist()], type_)
    return (physical.cast(pa.int32()) if pa.types.is_date32(type_) else physical).cast(type_)


def take(values: Any, rows: pa.Array) -> Any:
    """Rows of an array or a table by their numbers."""
    return compute("take", values, rows)


def kept(values: Any, mask: npt.NDArray[np.bool_]) -> Any:
    """Rows of an array or a table where the mask is true."""
    return compute("filter", values, Vector.arrow(mask))


def cast_to(values: pa.Array, type_: pa.DataType) -> pa.Array:
    """Cast to another type. Raises ArrowInvalid if a value does not fit."""
    return values if values.type == type_ else compute("cast", values, options=CastOptions.safe(type_))


def among(values: pa.Array | pa.ChunkedArray, members: pa.Array) -> pa.Array | pa.ChunkedArray:
    """True where a value is one of `members`."""
    return compute("is_in", values, options=SetLookupOptions(members, skip_nulls=False))


def child(values: pa.Array, field: int | str) -> pa.Array:
    """A field of a struct column, null where the struct is."""
    return compute("struct_field", values, options=StructFieldOptions([field]))


def where(mask: pa.Array | pa.ChunkedArray) -> Rows:
    """The rows where a boolean column is true."""
    return np.flatnonzero(Vector(unchunked(mask)).truths(null=False)).astype(np.int64)


def unchunked(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    return Vector(values).array


def rows_array(rows: Rows, valid: npt.NDArray[np.bool_] | None = None) -> pa.Array:
    """Row numbers to `take` by."""
    return Vector.arrow(rows.astype(np.int64, copy=False), valid, pa.int64())


def consistent(
    lower: pa.Array, upper: pa.Array, nulls: Rows, known: Mask, rows: Rows, rows_known: Mask
) -> tuple[Mask, Mask]:
    """Return where bounds, and where counts of NULLs, contradict neither each other nor the number of rows. A file
    cannot be all NULL and have bounds: then one of the two is wrong."""
    crossed = np.zeros(len(rows), np.bool_)
    crossed[where(compute("greater", lower, upper))] = True
    known = known & (nulls >= 0) & (~rows_known | (nulls <= rows))
    contradiction = known & rows_known & (nulls == rows) & (Vector(lower).present | Vector(upper).present)
    return ~crossed & ~contradiction, known & ~contradiction


_MILLISECOND = 1000
_OFFSET_REST = 59_000_000
_OLD_DATES_END = 94_694_400_000_000
"""1973-01-01: the last zone with seconds in its offset changed in 1972."""


def uncut_times(lower: pa.Array, upper: pa.Array, *, finer: bool = False) -> tuple[pa.Array, pa.Array]:
    """Return bounds of times, in microseconds, as wide as they were before a log could cut them. A bound on a whole
    millisecond may have lost the rest of it, towards zero; one before 1973 may have lost the seconds of its zone's
    offset, too. Formats copy bounds from each other: what one cuts, no other has. `finer`: of nanoseconds, whose upper
    bound may have lost those."""
    (low, low_known), (high, high_known) = int64_values(lower), int64_values(upper)
    limits = np.iinfo(np.int64)
    rest = np.where(low < _OLD_DATES_END, _OFFSET_REST, 0) + np.where(low <= 0, _MILLISECOND - 1, 0)
    rest = np.where(low % _MILLISECOND == 0, rest, 0)
    low = np.where(low > limits.min + rest, low - rest, limits.min)
    rest = np.where(high < _OLD_DATES_END, _OFFSET_REST, 0) + (_MILLISECOND - 1)
    rest = np.where(high % _MILLISECOND == 0, rest, 0) + finer
    high = np.where(high < limits.max - rest, high + rest, limits.max)
    return Vector.arrow(low, low_known, pa.int64()), Vector.arrow(high, high_known, pa.int64())


def some_rows(counts: pa.Array) -> pa.Array:
    """Counts of rows; 0 is unknown: writers without statistics say it, too."""
    numbers, known = int64_values(counts)
    return Vector.arrow(numbers, known & (numbers > 0), pa.int64())


def constant(value: int, count: int, type_: pa.DataType) -> pa.Array:
    return Vector.arrow(np.full(count, value, type_.to_pandas_dtype()), None, type_)


def int64_values(values: pa.Array) -> tuple[Rows, npt.NDArray[np.bool_]]:
    """An int64 column as numbers and which of them stand."""
    return Vector(values).items(np.int64), Vector(values).present


def map_values(maps: pa.Array, key: str) -> pa.Array:
    """Return each row's map value under `key`: null if the value is null or the key is missing."""
    count = len(maps)
    if count == 0:
        return pa.nulls(0, pa.string())
    offsets = Vector(maps.offsets).items(np.int32).astype(np.int64)
    first, last = int(offsets[0]), int(offsets[-1])
    keys, items = maps.keys.slice(first, last - first), maps.items.slice(first, last - first)
    places = where(among(keys, strings([key])))
    rows = np.searchsorted(offsets, places + first, side="right") - 1
    positions = np.zeros(count, np.int64)
    valid = np.zeros(count, np.bool_)
    positions[rows] = places
    valid[rows] = True
    if (whole := Vector(maps).valid) is not None:
        valid &= whole
    return take(items, rows_array(positions, valid))
