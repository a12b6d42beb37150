"""The statistics of a column, as an index stores them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from metaindex.expressions.vectors import numbers
from metaindex.kinds.registry import FACT_ROWS

from .open_index import OpenIndex


def statistics_of(index: OpenIndex, column: str, partition: str | None = None) -> pa.Table:
    """The statistics of a column in every file (of one partition, by its text): path, then the row that is stored, with
    the bounds of the column's domain. `column` is the name or the stable name that the index shows; files of all runs,
    live or not."""
    out = []
    for run in index.entry.content.runs:
        covered = next((c for c in run.columns if column in (c.name, c.stable) and not c.partition), None)
        if covered is not None:
            table = FACT_ROWS.of_column(index.reader(run), covered, partition)
            ordinals = numbers(table.column("ordinal")).astype(np.int64)
            paths = index.rows(run, "files", ordinals, ["path"]).column("path")
            out.append(table.add_column(0, "path", paths))
    return pa.concat_tables(out) if out else pa.table({"path": pa.array([], pa.string())})
