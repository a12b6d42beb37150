"""An operator's questions about the indexes of a table: which there are and how far behind, what happened to them,
whether they are right; and their repair."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from metaindex.core import ArgumentError, Cure, MetaIndexError
from metaindex.formats import At, Version
from metaindex.index import IndexFolder, IndexLogEntry, OpenIndex, Outcome, Verification
from metaindex.query import Handle, Queries
from metaindex.table.views.history import History
from metaindex.table.views.info import IndexInfo, IndexList

from .verbs import refresh

if TYPE_CHECKING:
    from metaindex.core import Progress
    from metaindex.index import BuilderChoice

_AGAIN = 8
"""Recorded versions that a repair records again: each may index files that only it has."""

logger = logging.getLogger("metaindex")


def indexes(
    handle: Handle,
    names: Sequence[str] = (),
    at: At = At(),  # noqa: B008 - a value
    *,
    staleness: bool = False,
    vacuumed: bool = False,
) -> IndexList:
    """Implement `Table.indexes`."""
    only = _only(handle, names)
    entries = {entry.name: entry for entry in handle.entries()} if handle.table_format.reader_options else {}
    looks: dict[str, tuple[IndexFolder, Version | None]] = {}

    def told(name: str) -> IndexInfo:
        """Describe an index; files that were opened without options are read as the index reads them."""
        try:
            own = handle.as_said(entries[name]) if name in entries else handle
        except Exception as error:  # noqa: BLE001 - whatever options are stored: the other indexes are described
            problem = f"the table cannot be read with its reader options: {OpenIndex.why_not(error)}"
            return replace(IndexInfo.of(name, handle.indexes(), None), state="UNREADABLE", problem=problem)
        look = str(own.read)
        if look not in looks:
            looks[look] = own.indexes(), _version_asked(own, at)
        of_files = name in entries
        return IndexInfo.of(
            name,
            *looks[look],
            at if staleness else None,
            options=own.read if of_files else None,
            opened=(handle.opened or handle.read) if of_files else None,
        )

    infos = IndexList(told(name) for name in only or handle.indexes().names())
    return IndexList(info for info in infos if vacuumed or only or info.exists)


def _version_asked(handle: Handle, at: At) -> Version | None:
    try:
        return handle.resolved(at).version
    except MetaIndexError as error:
        if at != At():
            raise
        logger.warning("the table's version is not known, so staleness is not either: %s", error)
        return None


def _only(handle: Handle, names: Sequence[str]) -> list[str]:
    """Return these names, each once, sorted. Raises IndexNotFoundError for one that never was an index."""
    for name in names:
        if not isinstance(name, str):
            raise ArgumentError(
                f"an index is asked for by its name, as in indexes('by_user'); got {name!r}; a version is said as"
                f" {Cure('argument', 'version')}"
            )
    there = set(handle.indexes().names()) if names else set()
    for name in names:
        if name not in there:
            raise handle.no_index(name)
    return sorted(set(names))


def history_of(handle: Handle, name: str, last: int | None) -> History:
    """Implement `Table.history`."""
    entries = History.of(name, handle.indexes(), last)
    if not entries.entries:
        raise handle.no_index(name)
    return entries


def verify_index(
    handle: Handle,
    name: str,
    files: int | None,
    progress: Progress | None,
    versions: Literal["newest", "all"] = "newest",
    predicates: Sequence[object] = (),
    verb: str = "verify",
) -> Verification:
    """Implement `Table.verify_index`. `verb`: for which it is verified."""
    log = handle.indexes().log(name)
    numbers = log.numbers()
    if not numbers:
        raise handle.no_index(name)
    if files is not None and (isinstance(files, bool) or not isinstance(files, int) or files < 0):
        raise ArgumentError(f"files is a number of data files to read, None for all; got {files!r}")
    if versions not in ("newest", "all"):
        raise ArgumentError(f"the versions that are compared are 'newest' or 'all'; got {versions!r}; say one of them")
    if isinstance(predicates, str) or not isinstance(predicates, Iterable):
        predicates = (predicates,)
    entry = log.newest_readable()
    if entry is not None and entry.id >= numbers[-1]:  # else its log is damaged, which is a finding
        _check_there(handle, entry, name, verb)
    table = handle if entry is None else handle.as_built(entry)
    snapshot = table.snapshot(At())
    every = versions == "all"
    report = handle.indexes().actions(name).verify(table.table_format, table.ref, snapshot, files, every, progress)
    for predicate in predicates:
        table.made(Queries).check_dropped(predicate, name, report)
    return report


def _check_there(handle: Handle, entry: IndexLogEntry, name: str, verb: str) -> None:
    """IndexNotFoundError, IndexStateError of an index that no query could use: it has nothing that may be right."""
    if entry.gone:
        last = entry.written_by
        why = " (it was vacuumed)" if "vacuum" in last else " (its creation never finished)" if "create" in last else ""
        raise handle.indexes().missing(f"there is no index named {name!r}{why}", name)
    if not entry.active:
        handle.indexes().actions(name).check(verb, entry)


def repair(
    handle: Handle,
    name: str,
    files: int | None,
    builder: BuilderChoice | None,
    progress: Progress | None,
) -> Outcome:
    """Implement `Table.repair_index`."""
    report = verify_index(handle, name, files, progress, verb="repair")
    indexes = handle.indexes()
    outcome, entry, used = indexes.actions(name).repair(
        report,
        lambda entry: (built := handle.as_built(entry).indexes()).remember(built.target(At())),
        lambda kinds: indexes.builders.builder(builder, kinds),
        progress,
    )
    return outcome if used is None else _again(handle.as_built(entry), outcome, entry, used)


def _again(handle: Handle, outcome: Outcome, before: IndexLogEntry, builder: BuilderChoice) -> Outcome:
    """The newest of the versions that a repair took out of the entry, recorded again where the table keeps them. Files
    of a plain folder at an older listing may be gone: not those."""
    lost = [r.version for r in before.content.versions if outcome.entry.content.record(r.version) is None]
    notes, entry = list(outcome.notes), outcome.entry
    for version in lost[-_AGAIN:] if handle.table_format.has_log else ():
        try:
            entry = refresh(handle, outcome.index, "incremental", At.of(version), builder).entry
        except MetaIndexError as error:
            notes.append(f"version {version} is not recorded any more ({error})")
    return replace(outcome, operation="repair", entry=entry, notes=tuple(notes))
