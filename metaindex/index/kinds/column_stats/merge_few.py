"""Merges all columns of a few files at once, for the merges that refreshes after commits make: the rows are those of
`merge_columns`, at a fraction of the calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from metaindex.core import DamagedIndexError, Mask
from metaindex.index.kinds.described import MergedFiles
from metaindex.index.log.entry import CoveredColumn
from metaindex.index.store.kway import stream
from metaindex.index.store.reader import RunReader

from .merge_columns import owners, placed, unknown_rows, with_counts
from .schemas import COLUMN_STATS
from .together import in_stored_order


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
