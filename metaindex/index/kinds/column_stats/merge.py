"""Merges the statistics of runs: which columns go together, and the rows of each, few at once or one by one.

Merges all columns of a few files at once, for the merges that refreshes after commits make: the rows are those of
`merge_columns`, at a fraction of the calls.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from metaindex.core import DamagedIndexError, Mask
from metaindex.expressions import physical_type
from metaindex.index.kinds.column_stats.merge_columns import owners, placed, unknown_rows, with_counts
from metaindex.index.kinds.column_stats.schemas import COLUMN_STATS
from metaindex.index.kinds.column_stats.together import in_stored_order
from metaindex.index.kinds.described import MergedFiles
from metaindex.index.kinds.facts import MOST_ROWS
from metaindex.index.log.entry import CoveredColumn
from metaindex.index.log.schema_codec import type_from_text
from metaindex.index.store.kway import stream
from metaindex.index.store.layout import PartInfo
from metaindex.index.store.reader import RunReader
from metaindex.index.store.writer import RunSink

from .merge_columns import merge_column, merge_partition_column
from .writer import streams


def together(a: Sequence[CoveredColumn], b: Sequence[CoveredColumn]) -> tuple[CoveredColumn, ...] | None:
    """The columns of a run merged of two that cover these; None where a column's bounds are not of one physical domain
    and scale, so that the runs stay apart."""
    columns = {column.stable: column for column in a}
    for column in b:
        before = columns.get(column.stable)
        if before is not None and (
            before.partition != column.partition or not _same_domain(before.type_text, column.type_text)
        ):
            return None
        columns[column.stable] = (
            column if before is None or before.type_text == column.type_text else _wider(before, column)
        )
    return tuple(columns.values())


def merge(
    columns: Sequence[CoveredColumn],
    sources: Sequence[RunReader],
    files: MergedFiles,
    blank: Mapping[str, Mask],
    sink: RunSink,
) -> list[PartInfo]:
    """Writes the rows of all columns."""
    stats, aggregates = streams(sink)
    ordered = sorted(columns, key=lambda c: c.column_id)
    few = len(files.partition_ord) * len(ordered) <= MOST_ROWS
    small = merge_columns([c for c in ordered if not c.partition], sources, files, blank) if few else {}
    for column in ordered:
        if column.partition:
            aggregates.add(merge_partition_column(sources, files, column))
        elif column in small:
            stats.add(small[column][0])
            aggregates.add(small[column][1])
        else:
            aggregates.add(merge_column(sources, files, column, stats, blank))
    covered = bool(columns)
    return [*stats.close(needed=covered), *aggregates.close(needed=covered)]


def _same_domain(a: str, b: str) -> bool:
    """Return whether bounds of one type may be read as those of the other, or of the wider of both."""
    if a == b:
        return True
    first, second = type_from_text(a), type_from_text(b)
    if first is None or second is None or physical_type(first) != physical_type(second):
        return False
    integers = all(pa.types.is_signed_integer(t) for t in (first, second))
    floats = all(t in (pa.float32(), pa.float64()) for t in (first, second))
    decimals = (
        all(pa.types.is_decimal(t) for t in (first, second))
        and first.scale == second.scale
        and physical_type(first) == pa.int64()
    )
    return bool(integers or floats or decimals)


def _wider(a: CoveredColumn, b: CoveredColumn) -> CoveredColumn:
    def width(column: CoveredColumn) -> int:
        type_ = column.type
        return int(type_.precision if pa.types.is_decimal(type_) else type_.bit_width) if type_ is not None else 0

    return replace(b, type_text=a.type_text) if width(a) > width(b) else b


def merge_columns(
    columns: Sequence[CoveredColumn], sources: Sequence[RunReader], files: MergedFiles, blank: Mapping[str, Mask]
) -> dict[CoveredColumn, tuple[pa.Table, pa.Table]]:
    """The rows of each column in their stored order, and its aggregates. `columns` by ascending column id."""
    count = len(files.partition_ord)
    ids = np.array([column.column_id for column in columns], np.int64)
    owner = owners(columns, sources, files, blank)
    tables = [COLUMN_STATS.empty_table()]
    for number, source in enumerate(sources):
        for table in stream(source, "column_stats", COLUMN_STATS, None, 1):
            stored = np.asarray(table.column("column_id").to_numpy())
            at = np.minimum(np.searchsorted(ids, stored), max(len(ids) - 1, 0))
            places = files.ordinals[number][np.asarray(table.column("ordinal").to_numpy())]
            kept = np.flatnonzero(places >= 0)  # of files that stay
            kept = kept[(ids[at[kept]] == stored[kept]) & (owner[at[kept], places[kept]] == number)]
            tables.append(placed(table.take(pa.array(kept)), files, places[kept]))
    column, place = np.nonzero(owner < 0)
    if len(column):
        tables.append(unknown_rows(files, ids[column], place))
    rows = pa.concat_tables(tables).combine_chunks()
    if rows.num_rows != count * len(columns):
        raise DamagedIndexError.for_refresh(
            f"a run has one row a file and covered column; {rows.num_rows} rows were found for {count} files and"
            f" {len(columns)} columns"
        )
    return _in_order(columns, rows, ids, files)


def _in_order(
    columns: Sequence[CoveredColumn],
    rows: pa.Table,
    ids: np.ndarray[tuple[int], np.dtype[np.int64]],
    files: MergedFiles,
) -> dict[CoveredColumn, tuple[pa.Table, pa.Table]]:
    at = np.searchsorted(ids, np.asarray(rows.column("column_id").to_numpy()))
    pairs = in_stored_order(rows, at, len(columns), len(files.partition_ord), files.partitions.num_rows)
    return {
        column: (stored, with_counts(totals, files)) for column, (stored, totals) in zip(columns, pairs, strict=True)
    }
