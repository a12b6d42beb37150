"""Replay: the live files of a version from its log segment.

The last action on a key (path, deletion vector id) wins. Commits are few and become dictionaries; the checkpoint stays
columns, and what the commits touched is taken out of it by one anti-join. A snapshot is whole or an error.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa

from metaindex.core import CorruptTableError, ObjectNotFoundError
from metaindex.formats.columns import among, kept, rows_array, strings, take, unchunked, where
from metaindex.formats.damage import must_exist
from metaindex.storage import ObjectInfo, Storage, each_at

from .actions import Commit, FileAction, FileKey, Metadata, Protocol, file_columns, no_files, parse_commit
from .checkpoint import CheckpointReader, joined, open_checkpoint
from .log_segment import LogSegment, commit_fingerprint, commit_path, stored_commit_fingerprint


@dataclass(frozen=True, slots=True)
class Header:
    """Statements of a version about the table, before any file is read."""

    protocol: Protocol
    metadata: Metadata
    commits: tuple[Commit, ...]
    checkpoint: CheckpointReader | None
    fingerprint: str
    in_commit_timestamp_ms: int | None
    as_listed: bool
    """Whether a store says so of all that was read."""


@dataclass(frozen=True, slots=True)
class ReplayedFiles:
    """Live files (LIVE_SCHEMA), where the checkpoint's statistics are, and the statistics of the other files."""

    table: pa.Table
    parts: tuple[str, ...]
    loose: pa.Array


@dataclass(frozen=True, slots=True)
class StoredCommit:
    """A commit as it was read."""

    content: Commit
    size_bytes: int
    fingerprint: str
    etag: str | None  # that a store said with it

    def is_listed(self, listed: ObjectInfo | None) -> bool:
        """Return whether it is, as a store said, what a listing showed. A disk does not say."""
        return listed is not None and self.etag is not None and listed.etag == self.etag


def read_commit(storage: Storage, table: str, version: int) -> StoredCommit:
    """Read one commit. Raises CorruptTableError for a missing one, which is a gap in the log."""
    path = commit_path(version)
    gap = f"every commit after a checkpoint must be there; {table} lacks version {version} ({path}); its log has a gap"
    with must_exist(gap), storage.open_input(path) as source:
        data = source.read()
    commit = parse_commit(data, f"{table} version {version}, {path}")
    info: ObjectInfo | None = getattr(source, "info", None)
    return StoredCommit(commit, len(data), commit_fingerprint(data), None if info is None else info.etag)


def read_header(storage: Storage, table: str, segment: LogSegment) -> Header:
    """Protocol and metadata of a version, checked: what cannot be read whole is refused here."""
    commits: list[Commit] = []
    fingerprint: str | None = None
    as_listed = segment.checkpoint is None
    read = each_at(storage.root, segment.commits, partial(read_commit, storage, table))
    for version, commit in zip(segment.commits, read, strict=True):
        listed = segment.listing.commits.get(version)
        if listed is not None and listed.size_bytes != commit.size_bytes:
            raise CorruptTableError(
                f"a commit never changes; {table} version {version} ({listed.path}) was listed with {listed.size_bytes}"
                f" bytes and read with {commit.size_bytes}; its writer is still at it: read again"
            )
        as_listed &= commit.is_listed(listed)
        commits.append(commit.content)
        if version == segment.version:
            fingerprint = commit.fingerprint
    # Gates first: the checkpoint of a table that must be refused need not be readable.
    protocol = next((c.protocol for c in reversed(commits) if c.protocol), None)
    metadata = next((c.metadata for c in reversed(commits) if c.metadata), None)
    if protocol is not None:
        protocol.check(table)
    checkpoint = None if segment.checkpoint is None else open_checkpoint(storage, table, segment.checkpoint)
    if checkpoint is not None:
        protocol, metadata = protocol or checkpoint.protocol, metadata or checkpoint.metadata
    for action, name in ((protocol, "protocol"), (metadata, "metaData")):
        if action is None:
            raise CorruptTableError(f"a Delta table has a {name} action; {table} version {segment.version} has none")
    assert protocol is not None
    assert metadata is not None
    protocol.check(table)
    metadata.check(table)
    stamp = commits[-1].in_commit_timestamp_ms if commits else None
    if fingerprint is None:
        assert segment.checkpoint is not None
        fingerprint = version_fingerprint(storage, segment)
        if segment.version in segment.listing.commits and in_commit_timestamps(metadata):
            stamp = read_commit(storage, table, segment.version).content.in_commit_timestamp_ms
    return Header(protocol, metadata, tuple(commits), checkpoint, fingerprint, stamp, as_listed)


def in_commit_timestamps(metadata: Metadata) -> bool:
    return metadata.configuration.get("delta.enableInCommitTimestamps", "").lower() == "true"


def version_fingerprint(storage: Storage, segment: LogSegment) -> str:
    """Return the fingerprint of the version's commit, or of its checkpoint once the commit is cleaned up."""
    try:
        return stored_commit_fingerprint(storage, segment.version)
    except ObjectNotFoundError:
        if segment.checkpoint is None or segment.checkpoint.version != segment.version:
            raise
        return segment.checkpoint.fingerprint


def live_files(header: Header, table: str) -> ReplayedFiles:
    """Replays."""
    live: dict[FileKey, FileAction] = {}
    gone: set[FileKey] = set()
    for commit in header.commits:
        for added, key, body in commit.files:
            if added:
                live[key] = body
                gone.discard(key)
            else:
                live.pop(key, None)
                gone.add(key)
    _check_unique(list(live), table)
    checkpoint = header.checkpoint
    partitioned = bool(header.metadata.partition_columns)
    base, stats = (no_files(), []) if checkpoint is None else checkpoint.files(partitioned)
    added_files, more = file_columns(list(live.items()), first_loose=len(stats))
    files = joined([_without(base, live, gone, table), added_files])
    return ReplayedFiles(files, () if checkpoint is None else tuple(checkpoint.parts), strings([*stats, *more]))


def _without(base: pa.Table, live: dict[FileKey, FileAction], gone: set[FileKey], table: str) -> pa.Table:
    """The checkpoint's files that no later action touched."""
    touched = strings(list({path for path, _ in live} | {path for path, _ in gone}))
    if len(touched) == 0 or base.num_rows == 0:
        return base
    hits = where(among(base.column("path"), touched))
    if len(hits) == 0:
        return base
    candidates = take(base.select(["path", "deletes"]), rows_array(hits))
    keys = zip(unchunked(candidates["path"]).to_pylist(), unchunked(candidates["deletes"]).to_pylist(), strict=True)
    dropped = [key in gone or key in live for key in keys]
    keep = np.ones(base.num_rows, np.bool_)
    keep[hits[np.array(dropped, np.bool_)]] = False
    left = set(unchunked(kept(candidates["path"], ~np.array(dropped, np.bool_))).to_pylist())
    if twice := left & {path for path, _ in live}:
        raise _twice(table, min(twice))
    return kept(base, keep)


def _check_unique(keys: list[FileKey], table: str) -> None:
    paths = {path for path, _ in keys}
    if len(paths) != len(keys):
        seen: set[str] = set()
        raise _twice(table, next(path for path, _ in keys if path in seen or seen.add(path)))  # type: ignore[func-returns-value]


def _twice(table: str, path: str) -> CorruptTableError:
    return CorruptTableError(
        f"a file is live at most once in a Delta version; {table} holds {path!r} with two deletion vectors; the log is"
        " damaged"
    )
