"""Partition columns as keys: every row of a file shows the partition's value."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from metaindex.expressions.physical import from_physical
from metaindex.formats.model import Leaf

from .local import without_value
from .protocol import BuildRequest


def partition_constants(request: BuildRequest, leaf: Leaf) -> tuple[pa.Array, pa.Array]:
    """The value of a partition column in each partition of the run (by `partition_ord`), and for which partitions it is
    known. NULL is a value that is known."""
    count = request.partitions.num_rows
    values: list[object] = [None] * count
    known = np.zeros(count, np.bool_)
    ords, rows = np.unique(request.partition_ord, return_index=True)
    null = without_value(request, leaf)
    bounds = request.snapshot.details.partition_bounds(leaf)
    for ordinal, row in zip(ords.tolist(), rows.tolist(), strict=True):
        if null[row]:
            known[ordinal] = True
        elif bounds is not None and bounds.lower is not None and bounds.upper is not None:
            at = int(request.snapshot_rows[row])
            low, high = bounds.lower[at].as_py(), bounds.upper[at].as_py()
            exact = bounds.lower_exact is not None and bounds.lower_exact[at].as_py()
            if low is not None and low == high and exact:
                values[ordinal], known[ordinal] = from_physical(low, leaf.type), True
    return _typed(values, known, leaf.type)


def _typed(
    values: list[object], known: np.ndarray[tuple[int], np.dtype[np.bool_]], type_: pa.DataType
) -> tuple[pa.Array, pa.Array]:
    try:
        return pa.array(values, type_), pa.array(known)
    except (pa.ArrowException, TypeError, ValueError):
        pass
    typed = []
    for at, value in enumerate(values):  # one of them is beyond the type, or beyond Python's calendar
        try:
            typed.append(pa.array([value], type_))
        except (pa.ArrowException, TypeError, ValueError):
            typed.append(pa.nulls(1, type_))
            known[at] = False
    return pa.concat_arrays(typed), pa.array(known)
