"""The statistics of a column, as an index stores them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from metaindex.core import Vector
from metaindex.expressions import ColumnRef
from metaindex.index import OpenIndex


def statistics_of(index: OpenIndex, column: str, partition: str | None = None) -> pa.Table:
    """The statistics of a column in every file (of one partition, by its text): path, then the row that is stored, with
    the bounds of the column's domain; as texts where the column has had several. `column` is the name or the stable
    name of the newest version that the index recorded, or of the newest run that had it; files of all runs, live or
    not."""
    out = []
    stable = _stable(index, column)
    for run in index.entry.content.runs:
        covered = next((c for c in run.columns if c.stable == stable and not c.partition), None)
        if covered is not None:
            table = index.column_rows(run, covered, partition)
            ordinals = Vector(table.column("ordinal")).numbers.astype(np.int64)
            paths = index.rows(run, "files", ordinals, ["path"]).column("path")
            out.append(table.add_column(0, "path", paths))
    if not out:
        return pa.table({"path": pa.array([], pa.string())})
    if any(not table.schema.equals(out[0].schema) for table in out):
        out = [_in_texts(table) for table in out]
    return pa.concat_tables(out)


def _stable(index: OpenIndex, column: str) -> str:
    """Return the stable name of a column: runs have the names of their time, which may be other columns' by now."""
    newest = index.versions.newest()
    recorded = None if newest is None else index.versions.find(newest.version)
    now = () if recorded is None else recorded.schema.columns
    named = {ColumnRef(leaf.parts).name: leaf.stable for leaf in now}
    before = {c.name: c.stable for run in index.entry.content.runs for c in run.columns}
    return named.get(column) or before.get(column) or column


def _in_texts(table: pa.Table) -> pa.Table:
    for name in ("lower", "upper"):
        bounds = table.column(name)
        if pa.types.is_binary(bounds.type):
            texts = pa.array([None if value is None else value.hex() for value in bounds.to_pylist()], pa.string())
        else:
            texts = bounds.cast(pa.string())
        table = table.set_column(table.schema.get_field_index(name), name, texts)
    return table
