"""The difference that an action makes, and how it is applied to whatever content is latest at its commit.

Runs are added, dropped, or replaced by one that holds the same files under other ordinals; a version is recorded. A
difference that speaks of runs or versions that others took away meanwhile is `Overtaken`: the action computes it anew,
or has lost the race.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from metaindex.formats import Schema
from metaindex.index.log.entry import Content, RunRef, VersionRecord
from metaindex.index.log.history import RollOver, may_hold, rolled_over, with_record, without_runs

from .renumber import Overtaken, Replacement, with_replacement


@dataclass(frozen=True, slots=True)
class Change:
    """The difference that an action makes. In this order: runs dropped, replaced, added, a version recorded, older
    versions moved out of the entry."""

    add_runs: tuple[RunRef, ...] = ()
    drop_runs: frozenset[str] = frozenset()
    record: VersionRecord | None = None  # its `schema` is taken from here
    schema: Schema | None = None
    roll_over: RollOver | None = None
    replacement: Replacement | None = None
    history: tuple[tuple[VersionRecord, ...], tuple[Schema, ...]] | None = None  # all recorded versions from now on
    empty: bool = False  # nothing of the content is left
    notes: tuple[str, ...] = field(default=())


def merged(content: Content, change: Change, base: Content) -> Content:
    """The content with the change, which was computed on `base`. Overtaken where it cannot be applied to this
    content."""
    if change.empty:
        return Content()
    if change.record is not None and not change.drop_runs and change.history is None:
        held = content.record(change.record.version)
        if held is not None and (not held.unknown or change.record.unknown):
            return content  # somebody indexed the same version meanwhile: a file indexed twice counts once
    same = (content.versions, content.segments, content.runs) == (base.versions, base.segments, base.runs)
    if change.history is not None and not same:
        raise Overtaken("the index has changed since")
    if change.drop_runs:
        _need(content, change.drop_runs)
        content = without_runs(content, change.drop_runs)
    if change.history is not None:
        content = replace(content, versions=(), segments=(), schemas=())
    if change.replacement is not None:
        content = with_replacement(content, change.replacement)
    if change.history is not None:
        for older, schema in zip(*change.history, strict=True):
            content = with_record(content, older, schema)
    content = replace(content, runs=content.runs + change.add_runs)
    record = change.record
    if record is not None and change.schema is not None:
        if record.parent is not None and not may_hold(content, record.parent):
            raise Overtaken(f"version {record.parent}, on which it builds, is not recorded any more")
        _need(
            content, {*record.added, *record.removed, *record.restored, *record.with_deletes, *record.without_deletes}
        )
        if record.bits is not None:  # which runs it names is not said in it
            _need(content, (run.run for run in base.runs))
        content = with_record(content, record, change.schema)
    if change.roll_over is not None and {run.run for run in base.runs} <= {run.run for run in content.runs}:
        content = rolled_over(content, change.roll_over)
    return content


def _need(content: Content, runs: Iterable[str]) -> None:
    if gone := set(runs) - {run.run for run in content.runs}:
        raise Overtaken(f"{len(gone)} runs, on which it builds, are not there any more")
