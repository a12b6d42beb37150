"""Spills of collectors: sorted tables as objects in a storage, read again range by range, so that there may be more
distinct values than memory holds."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from metaindex.index.kinds.keyed import Spill

_GROUP_ROWS = 1 << 16


def write_spill(spill: Spill, table: pa.Table) -> str:
    """A table sorted by its first column, durably. Its path."""
    path = spill.fresh("rows")
    out = pa.BufferOutputStream()
    pq.write_table(
        table,
        out,
        row_group_size=_GROUP_ROWS,
        compression="lz4",
        use_dictionary=False,
        write_statistics=[table.schema.names[0]],
        store_schema=False,
    )
    spill.storage.put(path, out.getvalue().to_pybytes())
    return path


def read_spill(spill: Spill, path: str, low: int | bytes | None, high: int | bytes | None) -> Iterator[pa.Table]:
    """The row groups that may hold rows from `low` on and below `high` (None: no bound)."""
    with spill.storage.open_input(path) as source:
        file = pq.ParquetFile(source, pre_buffer=False)
        wanted = []
        for group in range(file.metadata.num_row_groups):
            said = file.metadata.row_group(group).column(0).statistics
            known = said is not None and said.has_min_max
            if known and ((high is not None and said.min >= high) or (low is not None and said.max < low)):
                continue
            wanted.append(group)
        for group in wanted:
            yield file.read_row_group(group, use_threads=False)


def remove_spills(spill: Spill, paths: tuple[str, ...]) -> None:
    for path in paths:
        spill.storage.delete(path)


def unsigned(column: pa.ChunkedArray) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    """An int64 column without nulls as unsigned words."""
    arrays = [
        np.frombuffer(chunk.buffers()[1], np.uint64, len(chunk), chunk.offset * 8)
        for chunk in column.chunks
        if len(chunk)
    ]
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays or [np.empty(0, np.uint64)])
