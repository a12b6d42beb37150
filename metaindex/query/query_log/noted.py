"""Rows of the query log, made from the results of queries."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from metaindex.expressions import columns as columns_of
from metaindex.query.pruning.result import PruneResult
from metaindex.query.pruning.walk import LOG
from metaindex.query.readers.plan import ScanPlan

from .row import QueryRow, bounded


def now_us() -> int:
    return time.time_ns() // 1_000


def pruned(result: PruneResult, engine: str, columns: Sequence[str] = ()) -> QueryRow:
    """A query that asked which files to read. `columns`: those that it shows; those of its condition are added."""
    named = (ref.name for ref in columns_of(result.predicate))
    return QueryRow(
        at_us=now_us(),
        engine=engine,
        predicate=bounded(result.predicate),
        columns=tuple(dict.fromkeys((*columns, *named))),
        files_read=result.kept_files,
        files_left_out=result.dropped_files,
        bytes_read=result.kept_bytes,
        bytes_left_out=result.total_bytes - result.kept_bytes,
        indexes=helpers(result),
        version=str(result.version.id),
        milliseconds=result.seconds * 1000,
    )


def scanned(scan: ScanPlan, engine: str, columns: Sequence[str] | None = None) -> QueryRow:
    """A scan that is read. `columns`: those that the engine asks for; None: those of the scan."""
    shown = columns if columns is not None else scan.columns
    if shown is None:
        shown = [field.name for field in scan.snapshot.schema.shown.fields]
    limit = None if scan.first is None else scan.first.limit
    if scan.result is not None:
        return replace(pruned(scan.result, engine, shown), limit=limit)
    files = scan.snapshot.files
    return QueryRow(
        at_us=now_us(),
        engine=engine,
        predicate=None,
        columns=tuple(shown),
        limit=limit,
        files_read=len(files),
        files_left_out=0,
        bytes_read=files.size_bytes,
        bytes_left_out=0,
        version=str(scan.snapshot.version.id),
    )


def helpers(result: PruneResult) -> tuple[str, ...]:
    """The indexes that left something out."""
    return tuple(each.name for each in result.indexes if each.used and each.dropped_files and each.name != LOG)
