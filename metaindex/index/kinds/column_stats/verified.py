"""The rows of statistics read back: whether they fit the files and each other, and whether they are true.

column_stats     one row for every file and covered column, in order
partition_stats  the aggregate of those, and one row for every partition and partition column
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from metaindex.index.kinds.described import Ordinals
from metaindex.index.kinds.facts import domain_of, sure
from metaindex.index.kinds.kind import Mismatch
from metaindex.index.kinds.states import StatState
from metaindex.index.log.entry import CoveredColumn
from metaindex.index.store.kway import stream
from metaindex.index.store.reader import RunReader

from .rows import STORED_AS, aggregates, sorted_rows
from .schemas import COLUMN_STATS, LATER, PARTITION_STATS


def check(run: RunReader, partition_ord: Ordinals) -> Iterator[int]:
    """Check both levels column by column, and yield how many are done. Memory: the rows of one column."""
    seen = 0
    for done, (column, rows) in enumerate(_of_columns(run, partition_ord)):
        seen += _check_aggregates(run, column, rows)
        yield done + 1
    for column in run.run.columns:
        if column.partition:
            stored = _column(run, "partition_stats", PARTITION_STATS, column.column_id)
            if not np.array_equal(stored.column("partition_ord").to_numpy(), np.arange(run.run.partitions)):
                raise Mismatch(f"column {column.name!r} has not one row for each partition", "partition_stats")
            seen += stored.num_rows
    total = sum(part.rows for part in run.parts("partition_stats"))
    if seen != total:
        raise Mismatch(f"it has {total} rows, {seen} of them of covered columns", "partition_stats")


def _check_aggregates(run: RunReader, column: CoveredColumn, rows: pa.Table) -> int:
    """Check the aggregates of a column, and return their number."""
    stored = _column(run, "partition_stats", PARTITION_STATS, column.column_id)
    if not stored.equals(aggregates(rows)):
        raise Mismatch(f"the aggregates of column {column.name!r} are not those of its files", "partition_stats")
    return int(stored.num_rows)


def _of_columns(run: RunReader, partition_ord: Ordinals) -> Iterator[tuple[CoveredColumn, pa.Table]]:
    """The COLUMN_STATS rows of each covered column, checked against the files."""
    columns = sorted((c for c in run.run.columns if not c.partition), key=lambda c: c.column_id)
    total = sum(part.rows for part in run.parts("column_stats"))
    if total != len(columns) * run.run.files:
        raise Mismatch(f"it has {total} rows for {len(columns)} columns of {run.run.files} files", "column_stats")
    for column in columns:
        rows = _column(run, "column_stats", COLUMN_STATS, column.column_id)
        ordinals = rows.column("ordinal").to_numpy()
        if not np.array_equal(np.sort(ordinals), np.arange(run.run.files)):
            raise Mismatch(f"column {column.name!r} has not one row for each file", "column_stats")
        if not np.array_equal(rows.column("partition_ord").to_numpy(), partition_ord[ordinals]):
            raise Mismatch(f"column {column.name!r} has files in other partitions than they are in", "column_stats")
        if not sorted_rows(rows).column("ordinal").equals(rows.column("ordinal")):
            raise Mismatch(f"the rows of column {column.name!r} are not in order", "column_stats")
        yield column, rows


def wrong(
    run: RunReader, column: CoveredColumn, type_: pa.DataType, ordinals: Ordinals, truth: pa.Table
) -> Iterator[tuple[int, str]]:
    """Yield files whose stored statistics contradict their rows: the file's place, and the difference."""
    stored = _column(run, "column_stats", COLUMN_STATS, column.column_id)
    stored = stored.take(pc.index_in(pa.array(ordinals, pa.int32()), value_set=stored.column("ordinal")))
    for row in np.flatnonzero(_wrong(stored, truth, type_)).tolist():
        said, true = stored.slice(row, 1).to_pylist()[0], truth.slice(row, 1).to_pylist()[0]
        yield row, f"the index says {_told(said, domain_of(type_))}; its rows say {_told(true, None)}"


def _wrong(stored: pa.Table, truth: pa.Table, type_: pa.DataType) -> npt.NDArray[np.bool_]:
    """Rows where what is stored is not true."""
    suffix = STORED_AS[domain_of(type_)]
    state, true_state = stored.column("state"), truth.column("state")
    bounded = pc.and_(pc.equal(true_state, int(StatState.VALUES)), pc.is_valid(truth.column("lower")))
    wrong = [pc.and_(pc.equal(state, int(StatState.ALL_NULL)), pc.not_equal(true_state, int(StatState.ALL_NULL)))]
    valued = pc.equal(state, int(StatState.VALUES))
    for side, beyond in (("lower", pc.greater), ("upper", pc.less)):
        said, true = stored.column(f"{side}_{suffix}"), truth.column(side)
        # No bounds: every value is NaN.
        wrong.append(pc.and_(pc.and_(valued, bounded), pc.or_(pc.is_null(said), sure(beyond(said, true)))))
        exact = pc.and_(
            pc.and_(valued, bounded), pc.and_(stored.column(f"{side}_exact"), truth.column(f"{side}_exact"))
        )
        wrong.append(pc.and_(exact, sure(pc.not_equal(said, true))))
    wrong += [pc.not_equal(stored.column(n), truth.column(n)) for n in ("null_count", "nan_count", "value_count")]
    out = np.zeros(stored.num_rows, np.bool_)
    for mask in wrong:
        out |= np.asarray(sure(mask).to_numpy(), np.bool_)
    return out


def _told(row: dict[str, Any], domain: pa.DataType | None) -> str:
    suffix = f"_{STORED_AS[domain]}" if domain is not None else ""
    state = StatState(row["state"])
    values = f" {row[f'lower{suffix}']!r} to {row[f'upper{suffix}']!r}" if state is StatState.VALUES else ""
    return f"{state.name}{values}, {row['null_count']} NULLs, {row['nan_count']} NaNs of {row['value_count']}"


def _column(run: RunReader, kind: str, schema: pa.Schema, column: int) -> pa.Table:
    """The rows of a column, as stored."""
    tables = [schema.empty_table(), *stream(run, kind, schema, column, 1, later=LATER)]
    return pa.concat_tables(tables).combine_chunks()
