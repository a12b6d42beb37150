"""Keyed look-ups (RFC-27): id -> file, id -> partition, and the prefix searches [column] and [column][partition]. Each
reads only the row groups that can hold the key."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from expressions.vectors import numbers
from metaindex.keys import column_id
from metaindex.kinds.rows import COLUMN_STATS, FILES, PARTITIONS
from metaindex.log.entry import RunRef
from metaindex.log.types import type_from_text
from metaindex.store.reader import Footer

from .open_index import OpenIndex


def files_by_id(index: OpenIndex, ids: Sequence[bytes]) -> pa.Table:
    """The `files` rows of the file ids that the index knows, with their run; ids that it does not know have no row."""
    wanted = sorted(set(ids))
    found = []
    for run in index.entry.content.runs:
        ordinals = []
        for part in index.reader(run).parts("file_ids"):
            groups = _holding(index.reader(run).footer(part), "file_id", wanted)
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
            groups = _holding(index.reader(run).footer(part), "partition_id", wanted)
            if groups:
                table = index.reader(run).read(part, groups, PARTITIONS.names)
                table = table.filter(pc.is_in(table.column("partition_id"), value_set=pa.array(wanted, pa.int64())))
                found.append(table.append_column("run", _text(run.run, table.num_rows)))
    return pa.concat_tables(found) if found else PARTITIONS.append(pa.field("run", pa.string())).empty_table()


def statistics_of(index: OpenIndex, column: str, partition: str | None = None) -> pa.Table:
    """The statistics of a column in every file (of one partition, by its text): path, then the row of `column_stats`
    with the bounds of the column's domain. `column` is the name or the stable name that the index shows; files of all
    runs, live or not."""
    from expressions.physical import physical_type

    out = []
    for run in index.entry.content.runs:
        covered = next((c for c in run.columns if column in (c.name, c.stable) and not c.partition), None)
        if covered is None:
            continue
        type_ = type_from_text(covered.type_text)
        suffix = {"int64": "int", "double": "double"}.get(
            str(physical_type(type_)) if type_ is not None else "", "bytes"
        )
        names = [
            n for n in COLUMN_STATS.names if not n.startswith(("lower_", "upper_")) or n.endswith(("exact", suffix))
        ]
        out.append(_statistics(index, run, column_id(covered.stable), partition, names, suffix))
    return pa.concat_tables(out) if out else pa.table({"path": pa.array([], pa.string())})


def _statistics(
    index: OpenIndex, run: RunRef, column: int, partition: str | None, names: list[str], suffix: str
) -> pa.Table:
    from metaindex.keys import partition_id

    reader = index.reader(run)
    found = []
    for part in reader.parts("column_stats"):
        footer = reader.footer(part)
        groups = _holding(footer, "column_id", [column])
        if partition is not None:
            groups = [g for g in groups if g in _holding(footer, "partition_id", [partition_id(partition)])]
        if groups:
            found.append(reader.read(part, groups, names))
    table = pa.concat_tables(found) if found else pa.schema([COLUMN_STATS.field(n) for n in names]).empty_table()
    table = table.filter(pc.equal(table.column("column_id"), column))
    if partition is not None:
        table = table.filter(pc.equal(table.column("partition_id"), partition_id(partition)))
    table = table.sort_by("ordinal")
    ordinals = numbers(table.column("ordinal")).astype(np.int64)
    table = table.add_column(0, "path", index.rows(run, "files", ordinals, ["path"]).column("path"))
    return table.rename_columns([n.removesuffix(f"_{suffix}") for n in table.column_names])


def _holding(footer: Footer, column: str, keys: Sequence[int] | Sequence[bytes]) -> list[int]:
    """Row groups whose range holds one of the keys."""
    found = footer.range(column)
    return [
        group
        for group in range(len(footer.rows))
        if not found.known[group] or any(found.least[group] <= key <= found.greatest[group] for key in keys)
    ]


def _text(value: str, count: int) -> pa.Array:
    return pa.array([value] * count, pa.string())
