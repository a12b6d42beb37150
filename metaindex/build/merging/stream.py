"""The rows of a run, in order and a few row groups at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from metaindex.kinds.rows import COLUMN_STATS, FILES, PARTITION_STATS, PARTITIONS
from metaindex.store.reader import RunReader

Ordinals = npt.NDArray[np.int32]
Mask = npt.NDArray[np.bool_]

_ROWS = {"files": 1 << 17}  # of all streams together; a file's row is wide
_MOST_ROWS = 1 << 19
_SMALL_PART_ROWS = 1 << 14
_SCHEMAS = {"files": FILES, "partitions": PARTITIONS, "column_stats": COLUMN_STATS, "partition_stats": PARTITION_STATS}


def stream(source: RunReader, kind: str, names: Sequence[str], column: int | None, among: int) -> Iterator[pa.Table]:
    """The rows of a metadata partition, those of one column where one is asked. `among`: how many streams share the
    memory. Small parts hold many columns and stay in the cache."""
    schema = _SCHEMAS[kind]
    rows_at_once = _ROWS.get(kind, _MOST_ROWS) // max(among, 1)
    for part in source.parts(kind):
        if column is not None and (
            part.first_key is None or part.last_key is None or not part.first_key <= column <= part.last_key
        ):
            continue
        footer = source.footer(part)
        groups = list(range(len(footer.rows)))
        at_once = max(1, rows_at_once // max(int(footer.rows.max(initial=1)), 1))
        if column is not None:
            ids = footer.range("column_id")
            groups = [g for g in groups if not ids.known[g] or ids.least[g] <= column <= ids.greatest[g]]
        for start in range(0, len(groups), at_once):
            table = source.read(part, groups[start : start + at_once], names, keep=part.rows <= _SMALL_PART_ROWS)
            if column is not None:
                table = table.filter(pc.equal(table.column("column_id"), column))
            yield table.cast(pa.schema([schema.field(n) for n in names]))
