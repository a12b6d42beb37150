"""Brings the indexes of a table to its present version: what every hook and `watch` call. Asks cheaply first: a table
whose version is recorded is not read.

one listing of the table's indexes, the latest entry of each, and the table's version (Delta: the commits behind the
newest recorded one; Iceberg: the metadata; plain files: a listing)
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace

from metaindex.core import BoundedCache, ConcurrentWriteError, IndexStateError, MetaIndexError, first_line
from metaindex.formats import At, Version
from metaindex.index import KINDS, BuilderChoice, IndexFolder, IndexLogEntry, OpenIndex
from metaindex.query import Handle
from metaindex.table import Table, handle_of, refresh

logger = logging.getLogger("metaindex.hooks")

IndexKey = tuple[str | None, str]
"""An index of a table: its namespace, and its name."""


@dataclass(frozen=True, slots=True)
class Kept:
    """The outcome for one index. `changed`: it was refreshed; else it stood at the version already, or `error` says why
    not: it is stale then, and no more than that. `notes`: of the refresh, such as files that could not be read."""

    table: str
    index: str
    version: str
    changed: bool
    seconds: float = 0.0
    error: str = ""
    namespace: str | None = None
    notes: tuple[str, ...] = ()


def keep(
    table: Table,
    indexes: Collection[str] | None = None,
    builder: BuilderChoice = "local",
) -> tuple[Version, list[Kept]]:
    """Refreshes the indexes of a table that are not at its present version: those named, or all that are ACTIVE,
    disabled ones too. One that fails does not keep the others from it.

    Raises MetaIndexError where the table, or the list of its indexes, cannot be read.
    """
    there = [
        (member, name, entry)
        for member in in_namespaces(table)
        for name, entry in living_or_why(member)
        if indexes is None or name in indexes
    ]
    version = _newest(table, [entry for _, _, entry in there if not isinstance(entry, str)])
    kept = []
    for member, name, entry in there:
        if isinstance(entry, str):
            logger.warning("index %r of %s is not kept fresh: %s", name, member.path, entry)
            told = Kept(member.path, name, version.id, False, error=entry)
        else:
            told = _refreshed(member, name, entry, version, builder)
        kept.append(replace(told, namespace=member.config.namespace))
    return version, kept


def in_namespaces(table: Table) -> list[Table]:
    """The table as every namespace sees it; as the one that its configuration names sees it."""
    if table.config.namespace is not None:
        return [table]
    return [table, *(table.reopened(replace(table.config, namespace=name)) for name in table.namespaces())]


def no_index_named(name: str, there: Collection[str], *, all_answered: bool = True) -> str:
    """Why nothing is kept fresh by a name that is not among the indexes that are there."""
    none = f"there is no index named {name}" if all_answered else f"no table that answers has an index named {name}"
    return f"{none}; there are: {', '.join(sorted(there)) or 'none'}"


def names_in(table: Table) -> set[str]:
    """Return the names of the indexes that are kept fresh, or would be if their logs could be read."""
    return {name for member in in_namespaces(table) for name, _ in living_or_why(member)}


def living(table: Table) -> Iterator[tuple[str, IndexLogEntry]]:
    """The indexes that a refresh may be begun on, with their latest entry. One whose log cannot be read is passed
    over."""
    for name, entry in living_or_why(table):
        if not isinstance(entry, str):
            yield name, entry


def living_or_why(table: Table) -> Iterator[tuple[str, IndexLogEntry | str]]:
    """Yield the live indexes, each with its entry, or why its log cannot be read."""
    folder = handle_of(table).indexes()
    for name in folder.names():
        try:
            entry = folder.log(name).latest()
        except MetaIndexError as error:
            yield name, str(error)
            continue
        if entry is not None and entry.active and entry.table.format == table.format:
            yield name, entry


def unusable(table: Table, name: str, entry: IndexLogEntry) -> str:
    """Why queries leave out an index that has recorded the table's version, as far as its entry and the manifests of
    its runs tell; empty where these are sound. No refresh would find it, as there is nothing to refresh."""
    try:
        IndexFolder.check(entry)
        index = OpenIndex.of(name, entry, handle_of(table).indexes().log(name).storage)
        for run in index.entry.content.runs:
            index.reader(run).kinds()
    except Exception as error:  # noqa: BLE001 - whatever is stored: the other indexes are kept
        return f"no query uses it: {OpenIndex.why_not(error)}"
    return ""


def stands_at(table: Table, name: str, entry: IndexLogEntry, version: Version) -> bool:
    """Return whether the index has recorded the version, and covers its files (a quick refresh only names them)."""
    recorded = OpenIndex(name, entry, handle_of(table).indexes().log(name).storage).versions.find(version)
    return recorded is not None and not recorded.record.unknown


def _able(handle: Handle, entry: IndexLogEntry, builder: BuilderChoice) -> BuilderChoice:
    """Return the builder: a covering index needs Spark, the session with which the table was opened, if any."""
    needing = builder == "local" and any(KINDS.of(spec).needs_spark for spec in entry.kinds)
    return "spark" if needing and handle.spark is not None else builder


def _newest(table: Table, entries: Sequence[IndexLogEntry]) -> Version:
    """The table's version now, found from those that its indexes recorded last."""
    handle = handle_of(table)
    known = [record.version for entry in entries for record in entry.content.versions]
    return handle.table_format.newest(handle.ref, known)


def _refreshed(table: Table, name: str, entry: IndexLogEntry, version: Version, builder: BuilderChoice) -> Kept:
    started = time.perf_counter()
    try:
        ended = _ended(table, name, entry)
        if stands_at(table, name, entry, version):
            return Kept(table.path, name, version.id, bool(ended), time.perf_counter() - started, notes=ended)
        handle = handle_of(table)
        at = At(version.id) if handle.table_format.numbered else At()  # named so, it is not looked for again
        builder = _able(handle, entry, builder)
        try:
            outcome = refresh(handle.as_built(entry), name, "incremental", at, builder)
        except ConcurrentWriteError as lost:
            logger.debug("once more: %s", lost)
            outcome = refresh(handle.as_built(entry), name, "incremental", at, builder)
    except Exception as error:
        why = first_line(error)
        logger.warning("index %r of %s stays as it was: %s", name, table.path, why)
        logger.debug("the refresh that failed", exc_info=True)
        return Kept(table.path, name, version.id, False, time.perf_counter() - started, why)
    seconds = time.perf_counter() - started
    return Kept(table.path, name, version.id, outcome.changed, seconds, notes=(*ended, *outcome.notes))


def is_left_over(table: Table, name: str, entry: IndexLogEntry) -> bool:
    """Return whether the index has a mark of a writer that seems dead."""
    log = handle_of(table).indexes().log(name)
    return any(log.suspected(mark) for mark in entry.under_way)


def _ended(table: Table, name: str, entry: IndexLogEntry) -> tuple[str, ...]:
    """Take the marks of dead writers away, and return what there is to say of it."""
    if not is_left_over(table, name, entry):
        return ()
    try:
        outcome = handle_of(table).indexes().actions(name).cancel(dead_alone=True)
    except (IndexStateError, ConcurrentWriteError):  # somebody else did
        return ()
    return ("ended what a dead writer had begun", *outcome.notes)


TABLES = 8
USES = 64
"""Tables kept, and how often one is used: what a handle knows of runs that are merged since is let go then."""

_kept: BoundedCache[Hashable, tuple[Table, int]] = BoundedCache(TABLES)


def use(key: Hashable, opened: Callable[[], Table], job: Callable[[Table], list[Kept]]) -> list[Kept]:
    """Do a job with the table of the key: with the cached handle, or a new one. Raises what `opened` or `job` raise
    with a new one. A writer commits to the same few tables again and again, and opening one, and reading the runs of
    its indexes, costs as much as what is new. A handle is taken out while it is used, so that no two threads share one;
    it keeps what is immutable, and nothing of the state of the table or an index."""
    table, uses = _kept.take(key) or (None, 0)
    if table is not None:
        try:
            done = job(table)
        except MetaIndexError:
            done = None
        if done is not None and not any(kept.error for kept in done):
            _put(key, table, uses + 1)
            return done
    table = opened()
    done = job(table)
    if not any(kept.error for kept in done):
        _put(key, table, 1)
    return done


def _put(key: Hashable, table: Table, uses: int) -> None:
    handle = handle_of(table)
    # Without its log the handle fails; a plain folder may have become another table unseen.
    if uses < USES and handle.table_format.numbered:
        handle.forget()
        _kept.keep(key, (table, uses))
