"""The live rows of an index with names and texts in the place of ids and bytes: of files, of facts, and of keys.
Row group by row group: what is held of a run are the names of its files."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa

from metaindex.expressions.statistics import Mask
from metaindex.kinds.registry import FACT_ROWS
from metaindex.log.entry import RunRef
from metaindex.pruning.open_index import OpenIndex
from metaindex.store.layout import PartInfo
from metaindex.store.stream import part_groups

FILES = pa.schema(
    [
        ("path", pa.string()),
        ("partition", pa.string()),
        ("size_bytes", pa.int64()),
        ("modified_ms", pa.int64()),
        ("record_count", pa.int64()),
        ("run", pa.string()),
    ]
)
Live = Callable[[RunRef], Mask]
"""True for each file of a run that is live."""


def files(index: OpenIndex, live: Live) -> Iterator[pa.Table]:
    """FILES."""
    for run in index.entry.content.runs:
        if not run.listed_only:
            yield files_of(index, run).filter(pa.array(live(run))).select(FILES.names)


def files_of(index: OpenIndex, run: RunRef) -> pa.Table:
    """All files of a run, by ordinal."""
    names = ["path", "partition", "size_bytes", "modified_ms", "record_count", "partition_ord"]
    table = index.rows(run, "files", np.arange(run.files), names)
    return table.append_column("run", pa.array([run.run] * run.files, pa.string()))


def facts(index: OpenIndex, live: Live) -> Iterator[pa.Table]:
    """`FactRows.shown`."""
    for run in index.entry.content.runs:
        if not run.listed_only:
            yield from FACT_ROWS.listed(index.reader(run), files_of(index, run), live(run))


def groups_of(index: OpenIndex, run: RunRef, part: PartInfo) -> Iterator[pa.Table]:
    """A part, row group by row group."""
    return part_groups(index.reader(run), part)
