"""Keyed look-ups (RFC-27): id -> file, id -> partition, and the prefix searches [column] and [column][partition]. Each
reads only the row groups that can hold the key."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from metaindex.expressions.vectors import numbers
from metaindex.kinds.registry import FACT_ROWS
from metaindex.store.rows import FILES, PARTITIONS
from metaindex.store.stream import groups_holding

from .open_index import OpenIndex


def files_by_id(index: OpenIndex, ids: Sequence[bytes]) -> pa.Table:
    """The `files` rows of the file ids that the index knows, with their run; ids that it does not know have no row."""
    wanted = sorted(set(ids))
    found = []
    for run in index.entry.content.runs:
        ordinals = []
        for part in index.reader(run).parts("file_ids"):
            groups = groups_holding(index.reader(run).footer(part), "file_id", wanted)
            if groups:
                table = index.reader(run).read(part, groups, ["file_id", "ordinal"])
                hit = pc.is_in(table.column("file_id"), value_set=pa.array(wanted, pa.binary(16)))
                ordinals.append(numbers(table.filter(hit).column("ordinal")))
        if ordinals and len(at := np.sort(np.concatenate(ordinals)).astype(np.int64)):
            found.append(index.rows(run, "files", at, FILES.names).append_column("run", _text(run.run, len(at))))
    return pa.concat_tables(found) if found else FILES.append(pa.field("run", pa.string())).empty_table()


def partitions_by_id(index: OpenIndex, ids: Sequence[int]) -> pa.Table:
    """The `partitions` rows of the partition ids, with their run: one row for each run that has files of the
    partition."""
    wanted = sorted(set(ids))
    found = []
    for run in index.entry.content.runs:
        for part in index.reader(run).parts("partitions"):
            groups = groups_holding(index.reader(run).footer(part), "partition_id", wanted)
            if groups:
                table = index.reader(run).read(part, groups, PARTITIONS.names)
                table = table.filter(pc.is_in(table.column("partition_id"), value_set=pa.array(wanted, pa.int64())))
                found.append(table.append_column("run", _text(run.run, table.num_rows)))
    return pa.concat_tables(found) if found else PARTITIONS.append(pa.field("run", pa.string())).empty_table()


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


def _text(value: str, count: int) -> pa.Array:
    return pa.array([value] * count, pa.string())
