"""Changes from the commits alone: the last word on every file that they name.

The base is proved by the fingerprint of its commit; a table that was dropped and created anew at the same place has
another. What a commit says is understood with the schema of the base until a commit says another. Nothing is read but
the base's commit (a few bytes of it) and the commits behind it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from operator import itemgetter
from typing import Final

import pyarrow as pa

from metaindex.core import CorruptTableError, MetaIndexError, ObjectNotFoundError, StorageError
from metaindex.formats.columns import integers, strings
from metaindex.formats.damage import parse_json
from metaindex.formats.format import TableRef
from metaindex.formats.model import Base, Changes, FileTable, Version
from metaindex.storage import ObjectInfo, both_at, each_at, is_remote

from .actions import Commit, FileAction, FileKey, Metadata, file_columns
from .log_segment import LOG, commit_number, commit_path, stored_commit_fingerprint
from .replay import ReplayedFiles, StoredCommit, read_commit
from .schema import TableSchema, parse_schema
from .snapshot import snapshot_of

_MOST = 1000  # commits; a log that long has a checkpoint, which is read sooner
_TRIES = 3  # bases whose commit is looked at: the nearest below the target, then older ones


def changes_from_log(
    ref: TableRef, bases: Sequence[Base], to: Version, listed: Mapping[int, ObjectInfo]
) -> Changes | None:
    """Return the changes since a base; see `Format.changes`. `listed`: commits, as `to` was resolved by them."""
    ahead = partial(_read_ahead, ref, bases, to)
    base, (read, counted) = both_at(ref.storage.root, partial(_proved, ref, bases, to), ahead)
    if base is None:
        return None
    versions = range(int(base.version.id) + 1, int(to.id) + 1)
    if len(versions) > _MOST:
        return None
    said = _Said()
    fingerprint = base.version.fingerprint
    try:
        read = read if len(read) == len(versions) else _commits(ref, versions)
        for stored in read:
            fingerprint = stored.fingerprint
            if not said.take(stored.content, ref.path):
                return None
    except CorruptTableError as error:
        if isinstance(error.__cause__, ObjectNotFoundError):
            return None  # cleaned
        raise
    last = fingerprint
    if is_remote(ref.storage.root) and not all(map(StoredCommit.is_listed, read[:-1], map(listed.get, versions))):
        last = stored_commit_fingerprint(ref.storage, int(to.id))  # read last, as on a disk
    if not fingerprint == last == to.fingerprint:
        return None  # the log was written anew while it was read
    timestamp_ms = said.stamp
    if timestamp_ms is None:
        timestamp_ms = (listed.get(int(to.id)) or ref.storage.head(commit_path(int(to.id)))).modified_ns // 1_000_000
    return _changes(ref, base, to, said, timestamp_ms, _counted(ref, to) if counted is _UNASKED else counted)


def _commits(ref: TableRef, versions: range) -> list[StoredCommit]:
    return each_at(ref.storage.root, versions, partial(read_commit, ref.storage, ref.path))


_UNASKED: Final = -1


def _read_ahead(ref: TableRef, bases: Sequence[Base], to: Version) -> tuple[list[StoredCommit], int | None]:
    """Read of a store what is needed if the nearest base is proved: the commits behind it, and the count of files. An
    error is met again where they are needed."""
    numbers = [n for base in bases if (n := commit_number(base.version.id)) is not None and n <= int(to.id)]
    versions = range(max(numbers) + 1, int(to.id) + 1) if numbers else range(0)
    if not is_remote(ref.storage.root) or not 0 < len(versions) <= _MOST:
        return [], _UNASKED
    try:
        return both_at(ref.storage.root, partial(_commits, ref, versions), partial(_counted, ref, to))
    except MetaIndexError:
        return [], _UNASKED


@dataclass(slots=True)
class _Said:
    """Content of the commits read so far."""

    live: dict[str, tuple[FileKey, FileAction]] = field(default_factory=dict)  # by path
    sizes: dict[str, int] = field(default_factory=dict)  # of every path named, what was said last
    removed: dict[str, str | None] = field(
        default_factory=dict
    )  # by path: with which deletion vector it was taken out last
    metadata: Metadata | None = None
    stamp: int | None = None

    def take(self, commit: Commit, table: str) -> bool:
        """False where an action does not say which file it means."""
        if commit.protocol is not None:
            commit.protocol.check(table)
        if commit.metadata is not None:
            commit.metadata.check(table)
            self.metadata = commit.metadata
        self.stamp = commit.in_commit_timestamp_ms
        for added, key, body in commit.files:
            path, size = key[0], body.get("size")
            if isinstance(size, int):
                self.sizes[path] = size
            elif path not in self.sizes:
                return False  # a remove without a size, of a file added before the base
            if added:
                self.live[path] = (key, body)
                continue
            self.removed[path] = key[1]
            if path in self.live and self.live[path][0] == key:
                del self.live[path]
        return True


def _proved(ref: TableRef, bases: Sequence[Base], to: Version) -> Base | None:
    """The nearest base at or below the target whose commit is the one that was seen."""
    numbered = [(number, base) for base in bases if (number := commit_number(base.version.id)) is not None]
    below = [(number, base) for number, base in numbered if number <= int(to.id)]
    for number, base in sorted(below, key=itemgetter(0), reverse=True)[:_TRIES]:
        try:
            if stored_commit_fingerprint(ref.storage, number) == base.version.fingerprint:
                return base
        except ObjectNotFoundError:
            return None  # cleaned, and so are the older ones
    return None


def _changes(ref: TableRef, base: Base, to: Version, said: _Said, timestamp_ms: int, counted: int | None) -> Changes:
    schema = _schema(ref, base, said)
    rows, stats = file_columns(list(said.live.values()))
    table_uuid = said.metadata.id if said.metadata is not None else base.version.table_uuid
    configuration = said.metadata.configuration if said.metadata is not None else {}
    to = replace(to, table_uuid=table_uuid)
    live = ReplayedFiles(rows, (), strings(stats))
    touched = snapshot_of(ref, to, timestamp_ms, schema, live, configuration)
    return Changes(base.version, touched, _gone(said, touched.files.table.schema), counted)


def _gone(said: _Said, schema: pa.Schema) -> FileTable:
    """Return every path named, except the live ones."""
    paths = [path for path in said.sizes if path not in said.live]
    made = {
        "path": strings(paths),
        "size_bytes": integers([said.sizes[path] for path in paths]),
        "partition": strings([""] * len(paths)),
        "deletes": strings([said.removed.get(path) for path in paths]),
    }
    columns = [made[f.name] if f.name in made else pa.nulls(len(paths), f.type) for f in schema]
    return FileTable(pa.table(columns, names=schema.names))


def _counted(ref: TableRef, to: Version) -> int | None:
    """Return the number of files in the version checksum, if there is one."""
    try:
        said = parse_json(ref.storage.read(f"{LOG}/{int(to.id):020d}.crc"))
    except (StorageError, ValueError):
        return None
    count = said.get("numFiles") if isinstance(said, dict) else None
    return count if isinstance(count, int) else None


def _schema(ref: TableRef, base: Base, said: _Said) -> TableSchema:
    if said.metadata is not None:
        return parse_schema(said.metadata, ref.path)
    by_name = {f.name: f for f in base.schema.fields}
    sources = tuple(by_name[name].source or name for name in base.partition_columns)
    # Which doubles were once floats is not kept: any may have been.
    doubles = frozenset(leaf.source for leaf in base.schema.leaves() if pa.types.is_float64(leaf.type))
    return TableSchema(base.schema, base.partition_columns, sources, doubles)
