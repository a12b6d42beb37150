"""Spark's order of values, for Arrow: NaN is the greatest number and equals itself, the two zeros are one, and the
caller of a sort gives the place of NULL.

Of floats integers are compared that stand in that order; what is made of them again has 0.0 for either zero.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from metaindex.core import Vector, dataclass
from metaindex.expressions import physical_type

_WITHOUT_SIGN = np.int64(2**63 - 1)


@dataclass(frozen=True, slots=True)
class Direction:
    """Sort direction of a column. `nulls_first`: NULL stands before every value."""

    descending: bool = False
    nulls_first: bool = True


def has_order(type_: pa.DataType) -> bool:
    """Return whether values of the type can be compared here, as Spark compares them."""
    return physical_type(type_) is not None


def as_compared(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Values whose order and equality, as Arrow has them, are Spark's."""
    values = Vector(values).array
    if pa.types.is_floating(values.type):
        return _float_keys(values)
    if pa.types.is_string_view(values.type):
        return values.cast(pa.string())
    if pa.types.is_binary_view(values.type):
        return values.cast(pa.binary())
    return values


def compared_type(type_: pa.DataType) -> pa.DataType:
    """The type of `as_compared` values."""
    return as_compared(pa.nulls(0, type_)).type


def as_shown(values: pa.Array | pa.ChunkedArray, type_: pa.DataType) -> pa.Array:
    """Return the values from which `as_compared` made these."""
    values = Vector(values).array
    return _floats(values).cast(type_) if pa.types.is_floating(type_) else values.cast(type_)


def _float_keys(values: pa.Array) -> pa.Array:
    doubles = Vector(values.cast(pa.float64())).items(np.float64)
    doubles = np.where(doubles == 0, 0.0, doubles)
    bits = np.where(np.isnan(doubles), np.nan, doubles).view(np.int64)
    keys = np.where(bits < 0, bits ^ _WITHOUT_SIGN, bits)
    return Vector.arrow(keys, Vector(values).valid, pa.int64())


def _floats(keys: pa.Array) -> pa.Array:
    whole = Vector(keys).items(np.int64)
    bits = np.where(whole < 0, whole ^ _WITHOUT_SIGN, whole)
    return Vector.arrow(bits.view(np.float64), Vector(keys).valid, pa.float64())


def sorted_places(columns: Sequence[pa.Array | pa.ChunkedArray], by: Sequence[Direction]) -> pa.Array:
    """The places of rows in the order of their columns, the first one first; rows that are equal in all of them are in
    any order."""
    arrays, names = [], []
    for number, (column, direction) in enumerate(zip(columns, by, strict=True)):
        if column.null_count:
            arrays.append(pc.is_null(column) if direction.nulls_first else pc.is_valid(column))
            names.append((f"n{number}", "descending"))
        arrays.append(as_compared(column))
        names.append((f"c{number}", "descending" if direction.descending else "ascending"))
    table = pa.Table.from_arrays([Vector(array).array for array in arrays], names=[name for name, _ in names])
    return pc.sort_indices(table, sort_keys=names)
