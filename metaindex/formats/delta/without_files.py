"""The newest versions of a table, each with its time and its columns but no files: one listing, and one read of each
commit, where a snapshot of each would replay the log as often."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import takewhile

from metaindex.core import MetaIndexError
from metaindex.formats.format import TableRef
from metaindex.formats.model import FileTable, Snapshot, Version
from metaindex.storage import each_at

from .actions import Metadata
from .history import file_times
from .log_segment import LogListing, find_segment, list_log
from .replay import StoredCommit, in_commit_timestamps, read_commit, read_header
from .schema import parse_schema


def without_files(ref: TableRef, now: Snapshot, most: int) -> list[Snapshot]:
    """Implement `Format.without_files`. Older versions are an offer: none is made where their commits are damaged."""
    listing, last = list_log(ref.storage), int(now.version.id)
    readable = {version for version in listing.readable() if version in listing.commits}
    numbers = [*takewhile(readable.__contains__, range(last - 1, last - most, -1))]
    try:
        older = _older(ref, listing, numbers[::-1]) if numbers else []
    except MetaIndexError:
        older = []
    return [*older, replace(now, files=FileTable.empty())]


def _older(ref: TableRef, listing: LogListing, numbers: list[int]) -> list[Snapshot]:
    commits = each_at(ref.storage.root, numbers, partial(read_commit, ref.storage, ref.path))
    metadata = read_header(ref.storage, ref.path, find_segment(ref.storage, ref.path, numbers[0])).metadata
    times = file_times(listing)
    made = []
    for number, commit in zip(numbers, commits, strict=True):
        metadata = commit.content.metadata or metadata
        metadata.check(ref.path)
        made.append(_header(ref, number, commit, metadata, times[number]))
    return made


def _header(ref: TableRef, number: int, commit: StoredCommit, metadata: Metadata, file_ms: int) -> Snapshot:
    schema, stamp = parse_schema(metadata, ref.path), commit.content.in_commit_timestamp_ms
    snapshot = Snapshot.plain(
        ref.path,
        "delta",
        Version(metadata.id, str(number), commit.fingerprint),
        stamp if stamp is not None and in_commit_timestamps(metadata) else file_ms,
        schema.schema,
        FileTable.empty(),
        {"file_format": "parquet"},
    )
    properties = {**metadata.configuration, "table_uuid": metadata.id}
    return replace(snapshot, partition_columns=schema.partition_columns, properties=properties)
