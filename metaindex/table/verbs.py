"""The verbs that change an index. Loaded by those who call one: a reader's start is short."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Literal

from metaindex.core import (
    ArgumentError,
    ConcurrentWriteError,
    Cure,
    IndexExistsError,
    MetaIndexError,
    StorageError,
    UnsupportedFeatureError,
    first_line,
)
from metaindex.formats import At, ReadOptions, Schema
from metaindex.index import KINDS, IndexFolder, Kind, Outcome
from metaindex.query import Handle, TableQueryLog
from metaindex.storage import both_at, is_remote

if TYPE_CHECKING:
    from metaindex.core import Progress
    from metaindex.index import BuilderChoice


def create(
    handle: Handle,
    name: str,
    kinds: Sequence[Kind],
    at: At,
    builder: BuilderChoice | None,
    progress: Progress | None,
    *,
    history: bool,
    if_not_exists: bool,
) -> Outcome:
    """Implement `Table.create_index`."""
    IndexFolder.check_name(name)
    KINDS.check(kinds)
    target = handle.indexes().target(at)
    snapshot = target.snapshot()
    for kind in kinds:
        kind.check_columns(snapshot.schema)
    handle.table_format.check_indexable(snapshot, by_spark=handle.indexes().builders.is_spark(builder, kinds))
    if history and any(KINDS.serves_rows(kind.name) for kind in kinds):
        raise ArgumentError(
            "history=True is for kinds that prune; a covering index copies rows; create it without, as an index of its"
            " own"
        )
    indexes = handle.indexes()
    if if_not_exists and (like := indexes.like(name)) is not None:
        there = _there_already(handle, like, kinds, snapshot.schema)
        if there is not None:
            return there
    indexes.check_told_apart(name)
    actions = indexes.actions(name)
    if if_not_exists and (there := _there_already(handle, name, kinds, snapshot.schema)) is not None:
        return there
    _check_free(handle, name)  # is said before a Spark is started
    built_by = handle.indexes().builders.builder(builder, kinds)
    said = {**handle.read.said, "file_format": str(snapshot.details.read_options().get("file_format", ""))}
    options = handle.table_format.options_kept(handle.ref, said, target.snapshot)
    handle.indexes().remember(target)
    specs = [kind.sized(snapshot.schema, snapshot.files.size_bytes).spec() for kind in kinds]
    try:
        outcome = actions.create(target, specs, built_by, options, progress)
    except (ConcurrentWriteError, IndexExistsError):
        if if_not_exists and (there := _there_already(handle, name, kinds, snapshot.schema)) is not None:
            return there  # another writer made it meanwhile
        raise
    return actions.add_past(outcome, target, built_by, progress) if history else outcome


def _check_free(handle: Handle, name: str) -> None:
    """Check that the name is free. A refresh with other reader options would be refused, and send users back here."""
    actions = handle.indexes().actions(name)
    base = actions.log.latest()
    try:
        actions.check("create", base)
    except IndexExistsError:
        if base is None or not ReadOptions.of(base.table.options).differing(handle.read):
            raise
        raise IndexExistsError(
            f"an index name is used once a table; {name!r} is {base.stable.value}, and was built with other reader"
            f" options; {Cure('vacuum_it') if base.deleted else Cure('anew')}, or choose another name"
        ) from None


def _there_already(handle: Handle, name: str, kinds: Sequence[Kind], schema: Schema) -> Outcome | None:
    """Return the outcome if the index exists. Raises IndexExistsError if it is of other kinds."""
    base = handle.indexes().actions(name).there_already(kinds, schema)
    if base is None:
        return None
    notes = ["it exists, of the same kinds"]
    if ReadOptions.of(base.table.options).differing(handle.read):
        notes.append(
            "it was built with other reader options, so queries of the table as it is opened do not use it;"
            f" {Cure('anew')}, or choose another name"
        )
    return Outcome(name, "create", False, base, tuple(notes))


def refresh(
    handle: Handle,
    name: str,
    mode: Literal["incremental", "quick", "full", "identity"],
    at: At,
    builder: BuilderChoice | None = None,
    progress: Progress | None = None,
    *,
    where: object = None,
    under: str | None = None,
) -> Outcome:
    """Implement `Table.refresh_index`."""
    if not isinstance(mode, str) or mode not in ("incremental", "quick", "full", "identity"):
        raise ArgumentError(f"a refresh is quick, incremental, full or identity, not {mode!r}")
    if mode != "incremental" and not (where is None and under is None):
        raise ArgumentError(
            f"a refresh of some files is incremental, not {mode}; leave out {Cure('argument', 'where')} and"
            f" {Cure('argument', 'under')}, or {Cure('argument', 'mode')}"
        )
    actions = handle.indexes().actions(name)
    ahead = partial(handle.indexes().target_ahead, at, where, under)
    base, ready = both_at(handle.ref.storage.root, actions.log.latest, ahead)
    if base is None:
        raise handle.indexes().missing(f"refresh needs an index; there is none named {name!r}", name)
    actions.check("refresh", base, handle.format)
    built = ReadOptions.of(base.table.options)
    asked = handle.read.or_of(built)
    if other := built.why_not(asked):
        cure = built.cure(asked, otherwise="or without any, ")
        raise UnsupportedFeatureError(
            f"an index is refreshed with the reader options that it was built with; of {name!r} {other}; {cure}"
            f" {Cure('same_name')}"
        )
    before, handle = handle, handle.as_built(base)
    target = ready if ready is not None and handle is before else handle.indexes().target(at, where, under)
    if mode != "full" and target.limit is None and target.settled:
        there = actions.recorded(base, target.version, mode)
        if there is not None:
            return there
    if target.limit is not None and handle.indexes().builders.starts_spark(builder):
        target.limit(target.snapshot())  # what is wrong with it is said before that
    kinds = [] if mode == "quick" else [KINDS.of(spec) for spec in base.kinds]  # a quick refresh builds nothing
    built_by = handle.indexes().builders.builder("local" if mode == "quick" else builder, kinds)
    options = handle.table_format.options_kept(handle.ref, base.table.options, target.snapshot)
    remember = partial(handle.indexes().remember, target)
    if not is_remote(handle.ref.storage.root):
        remember()
    return actions.refresh(base, target, built_by, options, mode, handle.written, progress, remember)


def optimize(
    handle: Handle,
    name: str,
    mode: Literal["quick", "full"],
    builder: BuilderChoice | None,
    progress: Progress | None,
) -> Outcome:
    """Implement `Table.optimize_index`."""
    if not isinstance(mode, str) or mode not in ("quick", "full"):
        raise ArgumentError(f"an optimize is quick or full, not {mode!r}")
    return handle.indexes().actions(name).optimize(mode, lambda: handle.indexes().builders.merging(builder), progress)


def clean(handle: Handle, name: str, retention: dt.timedelta | float | None) -> Outcome:
    """Implement `Table.clean_index`."""
    seconds = retention.total_seconds() if isinstance(retention, dt.timedelta) else retention
    if seconds is not None and (not isinstance(seconds, int | float) or not 0 <= seconds < 1e10):
        raise ArgumentError(f"a retention is a timedelta, or 0 or more seconds; got {retention!r}")
    outcome = handle.indexes().actions(name).clean(seconds)
    try:
        cleaned = handle.made(TableQueryLog).clean()
    except MetaIndexError as error:  # the index is clean
        return replace(outcome, notes=(*outcome.notes, f"the query log is not cleaned: {error}"))
    if not (cleaned or cleaned.left):
        return outcome
    notes = (*outcome.notes, str(cleaned), *cleaned.left)
    return replace(outcome, changed=outcome.changed or bool(cleaned), notes=notes)


def erase(handle: Handle, name: str, builder: BuilderChoice | None, progress: Progress | None) -> Outcome:
    """Implement `Table.erase_index`."""
    table_format, ref, actions = handle.table_format, handle.ref, handle.indexes().actions(name)
    snapshot = table_format.snapshot(ref, At())
    outcome = actions.erase(table_format, ref, snapshot, lambda: handle.indexes().builders.merging(builder), progress)
    return replace(outcome, notes=(*outcome.notes, *_still_noted(handle)))


def _still_noted(handle: Handle) -> tuple[str, ...]:
    """Return a note if a query log may hold erased values."""
    try:
        kept = handle.made(TableQueryLog).is_kept
    except StorageError as error:
        return (f"whether the table has a query log cannot be told: {first_line(error)}",)
    cure = "metaindex queries TABLE --clean --keep 0s empties it"
    return (f"the query log may hold values that conditions named: {cure}",) if kept else ()
