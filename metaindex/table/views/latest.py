"""Descriptions of an index from its latest entry, and from what lies on storage."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from metaindex.core import DamagedIndexError, MetaIndexError
from metaindex.formats import ReadOptions, Version
from metaindex.index import (
    CoveredKey,
    IndexFolder,
    IndexLogEntry,
    OpenIndex,
    OperationLog,
    State,
    asked,
    stored_kind,
    why_not_read,
)

from .info import IndexInfo

if TYPE_CHECKING:
    from metaindex.index import Staleness


def index_info(
    name: str,
    log: OperationLog,
    version: Version | None,
    behind: Callable[[OpenIndex], Staleness] | None = None,
    options: ReadOptions | None = None,
    opened: ReadOptions | None = None,
) -> IndexInfo:
    """Describe an index by its latest entry; errors are told in it, not raised. With `behind`, its staleness and size
    on storage; with `options`, whether it is of the table as these read it, and how it was built otherwise than the
    table is `opened` (default: with these)."""
    where = log.storage.uri("")
    try:
        entry = log.latest()
        if entry is None:
            return IndexInfo(name, State.DOESNOTEXIST.value, location=where)
        built = ReadOptions.of(entry.table.options)
        other = () if options is None else built.differing(options)
        told = _told(name, log, entry, None if other else version, behind, other)
        if options is None:
            return told
        with_, without = built.apart(options if opened is None else opened)
        return replace(told, built_with=with_, built_without=without)
    except Exception as error:  # noqa: BLE001 - whatever is stored: the other indexes are told of
        state = "UNREADABLE" if IndexFolder.not_looked_at(error) else "DAMAGED"
        return IndexInfo(name, state, location=where, problem=why_not_read(error))


def _told(
    name: str,
    log: OperationLog,
    entry: IndexLogEntry,
    version: Version | None,
    behind: Callable[[OpenIndex], Staleness] | None,
    other_options: tuple[str, ...],
) -> IndexInfo:
    where, content = log.storage.uri(""), entry.content
    index = OpenIndex.of(name, entry, log.storage)
    recorded = index.versions
    problem = "; ".join(index.left_out)
    try:
        versions = tuple(record.version.id for record, _ in recorded.all())
    except MetaIndexError as error:
        versions, problem = tuple(record.version.id for record in content.versions), str(error)
    late = stored = old = None
    try:
        IndexFolder.check(entry)
    except Exception as error:  # noqa: BLE001 - it is told why no query uses it
        problem, behind = why_not_read(error), None
    if behind is not None:
        try:
            late = behind(index) if version is not None and entry.stable is State.ACTIVE else None
            stored, old = log.stored_bytes(entry)
        except Exception as error:  # noqa: BLE001 - the entry itself can be told of
            problem = why_not_read(error)
    columns = {column.name: None for run in content.runs for column in run.columns}
    newest = recorded.newest()
    return IndexInfo(
        name=name,
        state=entry.state.value,
        enabled=entry.enabled,
        kinds=tuple(kind.name for kind in entry.kinds),
        columns=tuple(columns),
        keys=tuple(dict.fromkeys(_said(key) for run in content.runs for key in run.keys)),
        versions=versions,
        newest_version=newest.version.id if newest is not None else None,
        newest_ms=newest.timestamp_ms if newest is not None else None,
        fresh=None if version is None else recorded.find(version) is not None,
        new_files=late.new_files if late is not None else None,
        new_bytes=late.new_bytes if late is not None else None,
        gone_files=late.gone_files if late is not None else None,
        gone_bytes=late.gone_bytes if late is not None else None,
        files=newest.files if newest is not None else sum(run.files for run in content.runs),
        runs=len(content.runs),
        size_bytes=sum(run.size_bytes for run in content.runs),
        stored_bytes=stored,
        old_bytes=old,
        uncovered_files=sum(run.uncovered_files for run in content.runs),
        entry=entry.id,
        changed_ms=entry.timestamp_ms,
        location=where,
        under_way=tuple(str(mark) for mark in entry.under_way),
        suspected=tuple(str(mark) for mark in entry.under_way if log.suspected(mark)),
        problem=problem,
        other_options=other_options,
    )


def _said(key: CoveredKey) -> str:
    rows = stored_kind(key.kind)
    try:
        return asked(key.kind, partial(rows.said, key)) if rows is not None else key.kind
    except DamagedIndexError:  # its class cannot say it; the index can be told of all the same
        return key.kind
