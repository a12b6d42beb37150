"""The live rows of an index with names and texts in the place of ids and bytes: of files, of statistics, and of keys.
Row group by row group: what is held of a run are the names of its files."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from expressions.physical import from_physical, physical_type
from expressions.statistics import Mask
from expressions.vectors import numbers
from metaindex.log.entry import CoveredColumn, RunRef
from metaindex.log.types import type_from_text
from metaindex.pruning.open_index import OpenIndex
from metaindex.store.layout import PartInfo

_SUFFIX = {"int64": "int", "double": "double", "binary": "bytes"}
_STATES = pa.array(["unknown", "all null", "values"])

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
COLUMN_STATS = pa.schema(
    [
        ("path", pa.string()),
        ("partition", pa.string()),
        ("column", pa.string()),
        ("type", pa.string()),
        ("state", pa.string()),
        ("lower", pa.string()),
        ("upper", pa.string()),
        ("lower_exact", pa.bool_()),
        ("upper_exact", pa.bool_()),
        ("null_count", pa.int64()),
        ("nan_count", pa.int64()),
        ("value_count", pa.int64()),
        ("compressed_bytes", pa.int64()),
        ("run", pa.string()),
    ]
)
Live = Callable[[RunRef], Mask]
"""True for each file of a run that is live."""

_AT_ONCE = 1 << 17
_COUNTS = ["lower_exact", "upper_exact", "null_count", "nan_count", "value_count", "compressed_bytes"]


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


def column_stats(index: OpenIndex, live: Live) -> Iterator[pa.Table]:
    """COLUMN_STATS."""
    for run in index.entry.content.runs:
        if run.listed_only:
            continue
        files, mask = files_of(index, run), live(run)
        columns = {c.column_id: c for c in run.columns}
        reader = index.reader(run)
        for part in reader.parts("column_stats"):
            for table in groups_of(index, run, part):
                yield from _by_column(table, table.column("ordinal"), files, mask, columns, run)
        first = np.cumsum(np.bincount(numbers(files.column("partition_ord")), minlength=run.partitions))
        for part in reader.parts("partition_stats"):
            for table in groups_of(index, run, part):
                ords, ids = numbers(table.column("partition_ord")), numbers(table.column("column_id"))
                mine = [row for row, number in enumerate(ids) if columns[int(number)].partition]
                start = np.concatenate(([0], first))
                for some, ordinals in _files_of_partitions(np.array(mine, np.int64), start, ords):
                    yield from _by_column(table.take(pa.array(some)), ordinals, files, mask, columns, run)


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


def groups_of(index: OpenIndex, run: RunRef, part: PartInfo) -> Iterator[pa.Table]:
    """A part, row group by row group."""
    reader = index.reader(run)
    footer = reader.footer(part)
    for group in range(len(footer.rows)):
        yield reader.read(part, [group], list(footer.columns), keep=False)


def _by_column(
    table: pa.Table,
    ordinals: pa.ChunkedArray,
    files: pa.Table,
    live: Mask,
    columns: dict[int, CoveredColumn],
    run: RunRef,
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
        yield pa.table([held[name] for name in COLUMN_STATS.names], schema=COLUMN_STATS)


def _texts(table: pa.Table, end: str, type_text: str) -> pa.Array:
    """Bounds as people read them."""
    t = type_from_text(type_text)
    domain = physical_type(t) if t is not None else None
    if t is None or domain is None:
        return pa.nulls(table.num_rows, pa.string())
    values = table.column(f"{end}_{_SUFFIX[str(domain)]}").to_pylist()
    shown = [from_physical(value, t) for value in values]
    return pa.array([None if v is None else v.hex() if isinstance(v, bytes) else str(v) for v in shown], pa.string())
