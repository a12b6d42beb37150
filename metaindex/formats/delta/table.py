"""The Delta format: versions, snapshots and diffs from `_delta_log`, without a JVM.

A `Version` of Delta is its number and a fingerprint of its commit file, whose bytes hold its time and transaction id.
`table_uuid`, the metadata's id, is in the version of a snapshot and of changes; a version that is only resolved lacks
it, because asking for it would cost a replay.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING

from metaindex.core import (
    ArgumentError,
    CorruptTableError,
    Cure,
    NotATableError,
    ObjectNotFoundError,
    VersionNotFoundError,
)
from metaindex.formats.format import At, Format, TableRef
from metaindex.formats.model import Base, Changes, Snapshot, Version
from metaindex.storage import ObjectInfo, Storage, both_at

from .log_segment import (
    LOG,
    LogListing,
    LogSegment,
    commit_number,
    find_segment,
    following,
    has_log,
    list_log,
    newest_of,
    stored_commit_fingerprint,
)

if TYPE_CHECKING:
    from metaindex.formats.glimpse import Glimpse

    from .replay import Header

_LISTINGS = 10  # tried before the last word
_FOLLOWED = 100  # commits looked for one by one; a log that is so far ahead is listed

# What only a snapshot needs (Parquet, compute) is imported where it is needed: resolving a version stays cheap in a
# cold process.


class DeltaFormat(Format):
    """Delta tables by path."""

    name = "delta"
    mark = "_delta_log"
    rewritten_by = "optimize"
    numbered = True
    one_file_format = True
    library = "deltalake"
    named_by_path = True
    shown_as_iceberg = True

    def __init__(self) -> None:
        self._newest: tuple[Version, Mapping[int, ObjectInfo]] | None = None  # as resolved last, and the listing

    def detect(self, ref: TableRef) -> bool:
        return has_log(ref.storage)

    def recognized(self, ref: TableRef, seen: Glimpse) -> bool | None:
        self.indexes_seen = seen.root.below("_metaindex")
        newest = newest_of(seen.root.below(LOG))
        if newest is None:
            return False if seen.root.whole else None
        if newest >= 0:
            self._newest = _version(newest, ""), {}
        return True

    def resolve(self, ref: TableRef, at: At) -> Version:
        wanted = _wanted(ref, at)
        if wanted is not None:
            try:
                return _version(wanted, stored_commit_fingerprint(ref.storage, wanted))
            except ObjectNotFoundError:
                pass  # cleaned, perhaps: its checkpoint may still stand
        if wanted is None:
            self._newest = newest = self._going_on(ref.storage) or self._resolved(ref, None)
            return newest[0]
        return self._resolved(ref, wanted)[0]

    def _going_on(self, storage: Storage) -> tuple[Version, Mapping[int, ObjectInfo]] | None:
        """Return the newest version if its log goes on from the one that was resolved last, or seen: that one's commit
        is there unchanged. A listing then begins there, by no hint."""
        if self._newest is None:
            return None
        last = self._newest[0]
        number = int(last.id)
        try:
            listing, fingerprint = both_at(
                storage.root,
                lambda: list_log(storage, start_after=f"{LOG}/{number:020d}"),
                lambda: stored_commit_fingerprint(storage, number),
            )
            if last.fingerprint not in ("", fingerprint) or number not in listing.commits:
                return None
            latest = listing.latest
            fingerprint = fingerprint if latest == number else stored_commit_fingerprint(storage, latest)
            return _version(latest, fingerprint), listing.commits
        except ObjectNotFoundError:  # cleaned
            return None

    @staticmethod
    def _resolved(ref: TableRef, wanted: int | None) -> tuple[Version, Mapping[int, ObjectInfo]]:
        from .replay import version_fingerprint

        segment = find_segment(ref.storage, ref.path, wanted)
        version = _version(segment.version, version_fingerprint(ref.storage, segment))
        return version, segment.listing.commits

    def newest(self, ref: TableRef, known: Sequence[Version]) -> Version:
        """Return the newest version; see `Format.newest`. Commits are numbered without gaps: the newest
        is the one without a successor. The log is listed only if the known commit is gone, or a checkpoint follows it:
        then commits between may have been cleaned up."""
        numbered = ((number, v) for v in known if (number := commit_number(v.id)) is not None)
        number, version = max(numbered, key=itemgetter(0), default=(0, None))
        if version is not None and following(ref.storage, version):
            for _ in range(_FOLLOWED):
                number += 1
                try:
                    version = _version(number, stored_commit_fingerprint(ref.storage, number))
                except ObjectNotFoundError:
                    return version
        return self.resolve(ref, At())

    def read_options(self, ref: TableRef) -> Mapping[str, object]:
        return {"file_format": "parquet"}

    def root(self, ref: TableRef) -> str:
        return ref.storage.uri("")

    def commits_since(self, ref: TableRef, now: Version) -> Callable[[str], int | None]:
        def since(id_: str) -> int | None:
            known = commit_number(id_)
            return None if known is None else max(int(now.id) - known, 0)

        return since

    def snapshot(self, ref: TableRef, at: At) -> Snapshot:
        from .snapshot import build

        return _consistently(
            ref,
            _wanted(ref, at),
            lambda segment, header: build(
                ref, segment, header, Version(header.metadata.id, str(segment.version), header.fingerprint)
            ),
        )

    def without_files(self, ref: TableRef, now: Snapshot, most: int) -> Sequence[Snapshot]:
        from .without_files import without_files

        return without_files(ref, now, most)

    def changes(self, ref: TableRef, bases: Sequence[Base], target: At, to: Version | None = None) -> Changes | None:
        from .changes import changes_from_log

        to = self.resolve(ref, target) if to is None else to
        newest = self._newest
        return changes_from_log(ref, bases, to, newest[1] if newest is not None and newest[0] == to else {})

    def versions(self, ref: TableRef) -> Sequence[Version]:
        listing = _listed(ref.storage, ref.path)
        return [
            _version(
                number,
                stored_commit_fingerprint(ref.storage, number)
                if number in listing.commits
                else listing.checkpoints[number].fingerprint,
            )
            for number in listing.readable()
        ]


def _consistently(ref: TableRef, wanted: int | None, make: Callable[[LogSegment, Header], Snapshot]) -> Snapshot:
    """A log may be cleaned or written anew, or its newest commit still be under a writer's pen, between its listing and
    its reading: then another listing shows something else."""
    from .replay import read_header

    segment = find_segment(ref.storage, ref.path, wanted)
    for _ in range(_LISTINGS):
        try:
            header = read_header(ref.storage, ref.path, segment)
            made = make(segment, header)
            if header.as_listed or segment.stands(ref.storage):
                return made
            segment = find_segment(ref.storage, ref.path, wanted)
        except CorruptTableError:
            again = find_segment(ref.storage, ref.path, wanted)
            if again.files == segment.files:
                raise
            segment = again
    raise CorruptTableError(
        f"a snapshot is of one log; that of {ref.path} changed each of {_LISTINGS} times that it was read; ask again"
    )


def _version(number: int, fingerprint: str) -> Version:
    return Version("", str(number), fingerprint)


def _wanted(ref: TableRef, at: At) -> int | None:
    """The number of the version asked, None for the newest."""
    if at.timestamp_ms is not None:
        if at.version is not None:
            raise ArgumentError("ask for a version or for a time, not for both")
        return _at_time(ref, at.timestamp_ms)
    if at.version is None:
        return None
    text = str(at.version)
    if not text.isascii() or not text.isdigit() or len(text) > 20:
        raise VersionNotFoundError(
            f"versions of a Delta table are numbers from 0; {ref.path} has no version {text!r}; of a time say"
            f" {Cure('argument', 'timestamp')}"
        )
    return int(text)


def _at_time(ref: TableRef, timestamp_ms: int) -> int:
    from .history import version_at
    from .replay import read_header

    listing = _listed(ref.storage, ref.path)
    segment = find_segment(ref.storage, ref.path, None)
    header = read_header(ref.storage, ref.path, segment)
    return version_at(ref.storage, ref.path, listing, header.metadata, timestamp_ms)


def _listed(storage: Storage, path: str) -> LogListing:
    listing = list_log(storage)
    if listing.latest < 0:
        raise NotATableError(f"a Delta table has commits under _delta_log; {path} has none; check the path")
    return listing
