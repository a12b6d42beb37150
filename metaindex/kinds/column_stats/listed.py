"""Rows of statistics as people read them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from metaindex.expressions.physical import from_physical, physical_type
from metaindex.expressions.statistics import Mask
from metaindex.expressions.vectors import numbers
from metaindex.keys import partition_id
from metaindex.kinds.facts import domain_of
from metaindex.log.entry import CoveredColumn
from metaindex.log.types import type_from_text
from metaindex.store.reader import RunReader
from metaindex.store.stream import groups_holding, part_groups

from .rows import STORED_AS
from .schemas import COLUMN_STATS, SHOWN

_STATES = pa.array(["unknown", "all null", "values"])
_AT_ONCE = 1 << 17
_COUNTS = ["lower_exact", "upper_exact", "null_count", "nan_count", "value_count", "compressed_bytes"]


def listed(run: RunReader, files: pa.Table, live: Mask) -> Iterator[pa.Table]:
    """SHOWN. `files`: of the run by ordinal, with path, partition and run; `live`: of those that are told of."""
    columns = {c.column_id: c for c in run.run.columns}
    for part in run.parts("column_stats"):
        for table in part_groups(run, part):
            yield from _by_column(table, table.column("ordinal"), files, live, columns)
    first = np.cumsum(np.bincount(numbers(files.column("partition_ord")), minlength=run.run.partitions))
    for part in run.parts("partition_stats"):
        for table in part_groups(run, part):
            ords, ids = numbers(table.column("partition_ord")), numbers(table.column("column_id"))
            mine = [row for row, number in enumerate(ids) if columns[int(number)].partition]
            start = np.concatenate(([0], first))
            for some, ordinals in _files_of_partitions(np.array(mine, np.int64), start, ords):
                yield from _by_column(table.take(pa.array(some)), ordinals, files, live, columns)


def of_column(run: RunReader, column: CoveredColumn, partition: str | None) -> pa.Table:
    """The rows of a column in every file (of one partition, by its text), by ordinal, with the bounds of its domain."""
    type_ = type_from_text(column.type_text)
    suffix = STORED_AS[domain_of(type_)] if type_ is not None and physical_type(type_) is not None else "bytes"
    names = [n for n in COLUMN_STATS.names if not n.startswith(("lower_", "upper_")) or n.endswith(("exact", suffix))]
    tables = [pa.schema([COLUMN_STATS.field(n) for n in names]).empty_table()]
    wanted = {"column_id": column.column_id} | ({} if partition is None else {"partition_id": partition_id(partition)})
    for part in run.parts("column_stats"):
        footer = run.footer(part)
        held = [set(groups_holding(footer, name, [key])) for name, key in wanted.items()]
        groups = sorted(set.intersection(*held))
        if groups:
            tables.append(run.read(part, groups, names))
    table = pa.concat_tables(tables[1:] or tables)
    for name, key in wanted.items():
        table = table.filter(pc.equal(table.column(name), key))
    return table.sort_by("ordinal").rename_columns([n.removesuffix(f"_{suffix}") for n in names])


def _files_of_partitions(
    rows: npt.NDArray[np.int64], start: npt.NDArray[np.int64], ords: npt.NDArray[np.int32]
) -> Iterator[tuple[npt.NDArray[np.int64], pa.ChunkedArray]]:
    """Each row of a partition once for each of its files, with the file's ordinal; so many at a time."""
    counts = start[ords[rows] + 1] - start[ords[rows]]
    ends = np.cumsum(counts)
    for low in range(0, int(ends[-1]) if len(ends) else 0, _AT_ONCE):
        place = np.arange(low, min(low + _AT_ONCE, int(ends[-1])))
        which = np.searchsorted(ends, place, side="right")
        ordinals = start[ords[rows[which]]] + place - (ends[which] - counts[which])
        yield rows[which], pa.chunked_array([pa.array(ordinals, pa.int32())])


def _by_column(
    table: pa.Table,
    ordinals: pa.ChunkedArray,
    files: pa.Table,
    live: Mask,
    columns: Mapping[int, CoveredColumn],
) -> Iterator[pa.Table]:
    """Rows of statistics with the names of what they are of, column by column."""
    ids, kept = numbers(table.column("column_id")), live[numbers(ordinals)]
    for number in np.unique(ids):
        at = np.flatnonzero((ids == number) & kept)
        if not len(at):
            continue
        column, some = columns[int(number)], table.take(at)
        of = files.take(ordinals.take(at))
        texts = {end: _texts(some, end, column.type_text) for end in ("lower", "upper")}
        states = _STATES.take(some.column("state").combine_chunks().cast(pa.int32()))
        held = {
            "path": of.column("path"),
            "partition": of.column("partition"),
            "column": pa.array([column.name] * len(at), pa.string()),
            "type": pa.array([column.type_text] * len(at), pa.string()),
            "state": states,
            **texts,
            **{name: some.column(name) for name in _COUNTS},
            "run": of.column("run"),
        }
        yield pa.table([held[name] for name in SHOWN.names], schema=SHOWN)


def _texts(table: pa.Table, end: str, type_text: str) -> pa.Array:
    """Bounds as people read them."""
    t = type_from_text(type_text)
    domain = physical_type(t) if t is not None else None
    if t is None or domain is None:
        return pa.nulls(table.num_rows, pa.string())
    values = table.column(f"{end}_{STORED_AS[domain]}").to_pylist()
    shown = [from_physical(value, t) for value in values]
    return pa.array([None if v is None else v.hex() if isinstance(v, bytes) else str(v) for v in shown], pa.string())
