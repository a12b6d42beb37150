"""Partition columns: every row of a file has the partition's value. As stored of them, and as keys."""

from __future__ import annotations

from urllib.parse import quote

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metaindex.expressions import from_physical
from metaindex.formats import Leaf
from metaindex.index.kinds.described import PartitionColumn

from .protocol import BuildRequest


def partition_column(request: BuildRequest, leaf: Leaf) -> PartitionColumn:
    """Return what the table states about a partition column."""
    return PartitionColumn(
        leaf,
        request.snapshot.details.partition_bounds(leaf),
        request.snapshot_rows,
        _without_value(request, leaf),
        request.partition_ord,
        request.files.table.column("record_count"),
        request.partitions,
    )


def partition_constants(request: BuildRequest, leaf: Leaf) -> tuple[pa.Array, pa.Array]:
    """The value of a partition column in each partition of the run (by `partition_ord`), and for which partitions it is
    known. NULL is a value that is known."""
    count = request.partitions.num_rows
    values: list[object] = [None] * count
    known = np.zeros(count, np.bool_)
    ords, rows = np.unique(request.partition_ord, return_index=True)
    null = _without_value(request, leaf)
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


def _without_value(request: BuildRequest, leaf: Leaf) -> npt.NDArray[np.bool_]:
    """Mask of the files whose partition text makes the column NULL."""
    names = {quote(name, safe="") for name in (leaf.field.name, leaf.field.source) if name}
    said = {f"{name}=__HIVE_DEFAULT_PARTITION__" for name in names}
    texts = request.partitions.sort_by("partition_ord").column("partition").to_pylist()
    null = np.array([not said.isdisjoint(text.split("/")) for text in texts], np.bool_)
    return null[request.partition_ord] if len(null) else np.zeros(0, np.bool_)


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
