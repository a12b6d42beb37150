"""Timestamps of versions: in-commit timestamps if the table has them, else the commits' file times, made strictly
increasing."""

from __future__ import annotations

from bisect import bisect_right

from metaindex.core import CorruptTableError, VersionNotFoundError, moment
from metaindex.storage import Storage

from .actions import Metadata
from .log_segment import LogListing
from .replay import in_commit_timestamps, read_commit


def file_times(listing: LogListing) -> dict[int, int]:
    """Version to milliseconds, by file times: a commit is at least a millisecond later than the one before."""
    out: dict[int, int] = {}
    last: int | None = None
    for version in sorted(listing.commits):
        stamp = listing.commits[version].modified_ns // 1_000_000
        last = stamp if last is None or stamp > last else last + 1
        out[version] = last
    return out


def version_at(storage: Storage, table: str, listing: LogListing, metadata: Metadata, timestamp_ms: int) -> int:
    """The newest readable version that is not later than the time."""
    versions = [v for v in listing.readable() if v in listing.commits]
    if not versions:
        raise VersionNotFoundError(f"{table} has no commit whose time is known; ask for a version number")
    inside: list[int] = []
    if in_commit_timestamps(metadata):
        since = _number(metadata, "delta.inCommitTimestampEnablementVersion")
        inside = [v for v in versions if since is None or v >= since]
    if inside:
        # These increase, so a few commits are read.
        later = bisect_right(inside, timestamp_ms, key=lambda version: _stamp(storage, table, version))
        if later:
            return inside[later - 1]
        versions = versions[: len(versions) - len(inside)]
    times = file_times(listing)
    below = [v for v in versions if times[v] <= timestamp_ms]
    if not below:
        raise VersionNotFoundError(
            f"{table} has no version as old as {moment(timestamp_ms, exact=True)}; ask for a later time, or for a"
            " version number"
        )
    return below[-1]


def _stamp(storage: Storage, table: str, version: int) -> int:
    stamp = read_commit(storage, table, version).content.in_commit_timestamp_ms
    if stamp is None:
        raise CorruptTableError(
            f"in-commit timestamps are on; {table} version {version} has none; ask for a version number"
        )
    return stamp


def _number(metadata: Metadata, key: str) -> int | None:
    text = metadata.configuration.get(key)
    try:
        return None if text is None else int(text)
    except ValueError:
        return None
