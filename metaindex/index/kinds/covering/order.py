"""Spark's order of rows, in Arrow: NULL first, numbers by value with -0.0 as 0.0 and NaN above all, texts and bytes by
their bytes."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from metaindex.core import Vector
from metaindex.index.kinds.served import ORDINAL, ROW

SORT = "_mi_sort"
_SIGN = np.uint64(1 << 63)


def sort_columns(table: pa.Table, indexed: int) -> pa.Table:
    """The table with columns behind its own (`SORT`) that sort as its first `indexed` columns do."""
    for place in range(indexed):
        table = table.append_column(f"{SORT}{place}", sort_column(table.column(place)))
    return table


def sort_column(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Values that Arrow and Python compare as Spark does these."""
    t = values.type
    if pa.types.is_floating(t):
        return pa.chunked_array([_ordered(chunk) for chunk in values.chunks], pa.int64())
    if pa.types.is_date32(t):
        return pa.chunked_array([chunk.view(pa.int32()) for chunk in values.chunks], pa.int32())
    if pa.types.is_timestamp(t):
        return pa.chunked_array([chunk.view(pa.int64()) for chunk in values.chunks], pa.int64())
    return values


def in_spark_order(table: pa.Table, keys: list[str]) -> pa.Table:
    """Rows with `sort_columns`, sorted by them and by lineage."""
    by = [(name, "ascending", "at_start") for name in (*keys, ORDINAL, ROW)]
    return table.take(pc.sort_indices(table, by))


def out_of_order(table: pa.Table, keys: list[str]) -> bool:
    """Return whether a row with `sort_columns` is less than the one before it, by these columns and by lineage."""
    earlier, later = table.slice(0, max(table.num_rows - 1, 0)), table.slice(1)
    undecided = pa.chunked_array([pa.repeat(True, earlier.num_rows)])
    wrong = pa.chunked_array([pa.repeat(False, earlier.num_rows)])
    for name in (*keys, ORDINAL, ROW):
        a, b = earlier.column(name), later.column(name)
        less = pc.fill_null(pc.less(b, a), False)
        less = pc.or_(less, pc.and_(pc.is_null(b), pc.is_valid(a)))
        same = pc.or_(pc.fill_null(pc.equal(a, b), False), pc.and_(pc.is_null(a), pc.is_null(b)))
        wrong = pc.or_(wrong, pc.and_(undecided, less))
        undecided = pc.and_(undecided, same)
    return bool(pc.any(wrong, min_count=0).as_py())


class Ascending:
    """Checks that rows ascend, table by table. `keys`: the columns by which they do, before lineage."""

    def __init__(self, keys: list[str]) -> None:
        self._keys = keys
        self._last: pa.Table | None = None

    def broken(self, table: pa.Table) -> bool:
        """Return whether one of the next rows, with these columns, is below the one before it."""
        if not table.num_rows:
            return False
        seen = table.select([*self._keys, ORDINAL, ROW])
        joined = seen if self._last is None else pa.concat_tables([self._last, seen])
        self._last = seen.slice(seen.num_rows - 1)
        return out_of_order(joined, self._keys)


def _ordered(chunk: pa.Array) -> pa.Array:
    """Doubles as integers in their order."""
    doubles = Vector(chunk.cast(pa.float64())).items(np.float64).copy()
    doubles += 0.0  # -0.0 is 0.0
    doubles[np.isnan(doubles)] = np.nan
    words = doubles.view(np.uint64)
    words = np.where(words & _SIGN != 0, ~words, words | _SIGN) ^ _SIGN
    return Vector.arrow(words.view(np.int64), Vector(chunk).valid, pa.int64())
