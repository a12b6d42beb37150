"""Scans of Spark's queries, noted for the query logs of their tables.

A row is a scan of a plan that metaindex answered for: once a plan is made, whether it is run after that or not. What
Spark runs again from a plan that it has (a cached table, the same DataFrame collected twice, stages that are planned
anew as they run) is no new row; `metaindex.explain` makes none.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeAlias

from metaindex.core import TELEMETRY, QueryLog
from metaindex.expressions import without_said
from metaindex.query import PruneResult, QueryRow, TableQueryLog
from metaindex.table import Table, handle_of

from .covers import Cover
from .reasons import Reason
from .request import Group, JoinSide, SparkScan
from .settings import Noted

NotedScan: TypeAlias = tuple[TableQueryLog, QueryRow]


def setting_of(given: QueryLog | None, word: Noted) -> QueryLog | None:
    """Return the query log's setting: the session's own, else the given one. Raises ArgumentError if values are to be
    hashed without a salt."""
    if word == "off" or word == "":
        return None if word else given
    return replace(given or QueryLog(), literals=word)


def note(noted: Sequence[NotedScan]) -> None:
    """Note what was planned, once it was answered."""
    for log, row in noted:
        log.note(row)


def noted_scans(
    setting: QueryLog | None,
    scans: Sequence[SparkScan],
    answers: Sequence[tuple[PruneResult | Reason, Cover | None]],
    tables: Sequence[Table | None],
    seconds: float,
    limit: int | None,
) -> Sequence[NotedScan]:
    """A row for each scan whose table was opened. `answers`: what is proved about its files, and the index that stands
    for it; of the time each scan has an equal share."""
    noted = []
    for scan, (answer, cover), table in zip(scans, answers, tables, strict=True):
        if table is None:
            continue
        log = handle_of(table).made(TableQueryLog).with_setting(setting)
        if log.recorder is not None or TELEMETRY.is_listening():
            noted.append((log, replace(_row(scan, answer, cover, seconds * 1000 / len(scans)), limit=limit)))
    return noted


def _row(scan: SparkScan, answer: PruneResult | Reason, cover: Cover | None, milliseconds: float) -> QueryRow:
    conditions = scan.conditions
    named = [column.name for condition in conditions for column in condition.columns]
    row = QueryRow(
        at_us=time.time_ns() // 1_000,
        engine="spark",
        predicate=without_said(conditions) if conditions else None,
        columns=tuple(dict.fromkeys((*(need.name for need in scan.needs), *named))),
        join_keys=_keys(key for want in scan.wants if isinstance(want, JoinSide) for key in want.keys),
        group_keys=_keys(key for want in scan.wants if isinstance(want, Group) for key in want.keys),
        order=scan.order,
        bytes_read=scan.bytes,
        version=scan.source.version,
        milliseconds=milliseconds,
    )
    if cover is not None:
        return _covered(row, cover)
    if not isinstance(answer, PruneResult):
        return row
    return replace(
        row,
        files_read=answer.kept_files,
        files_left_out=answer.dropped_files,
        bytes_read=answer.kept_bytes,
        bytes_left_out=answer.total_bytes - answer.kept_bytes,
        indexes=answer.helpers,
        version=str(answer.version.id),
    )


def _covered(row: QueryRow, cover: Cover) -> QueryRow:
    """Return the row for a covering index that is read in the table's place."""
    served = cover.candidate.serving
    return replace(
        row,
        files_read=served.total_files - len(served.files),
        files_left_out=len(served.files),
        bytes_read=cover.read_bytes,
        bytes_left_out=max(cover.source_bytes - cover.read_bytes, 0),
        indexes=(cover.index,),
        version=str(served.version.id),
    )


def _keys(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
