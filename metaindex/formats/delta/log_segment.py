"""Files of `_delta_log` that make up a version.

A version is a complete checkpoint at or below it plus every commit after that checkpoint. Log compaction files
(`N.M.compacted.json`) are never read: they may hold an add and a remove of one key, and commits say the same. A
multi-part checkpoint counts only when all its parts are there, an empty one never (Spark and the kernel pass it over,
too). `_last_checkpoint` is a hint that shortens the listing; it is dropped when what it names is not there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import xxhash

from metaindex.core import (
    NotATableError,
    ObjectNotFoundError,
    StorageError,
    StorageUnavailableError,
    VersionNotFoundError,
)
from metaindex.formats.model import Version
from metaindex.storage import ObjectInfo, Storage

LOG = "_delta_log"
_NAME = re.compile(
    r"^(?P<version>\d{20})\.(?:(?P<commit>json)"
    r"|checkpoint\.(?:(?P<classic>parquet)"
    r"|(?P<part>\d{10})\.(?P<parts>\d{10})\.parquet"
    r"|(?P<uuid>[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})\.(?:json|parquet)))$"
)
_EDGE = 8192
_MAX_HINT = 16 << 20


@dataclass(frozen=True, slots=True)
class CheckpointFiles:
    """The files of one complete checkpoint, in order."""

    version: int
    files: tuple[ObjectInfo, ...]

    @property
    def fingerprint(self) -> str:
        """A sign of the version where its commit file is gone; never equal to a commit's."""
        said = "\n".join(f"{_name(f.path)} {f.size_bytes}" for f in self.files)
        return "checkpoint-" + xxhash.xxh64_hexdigest(said.encode())


@dataclass(frozen=True, slots=True)
class LogListing:
    """Result of a listing of the log: commits and complete checkpoints by version."""

    commits: dict[int, ObjectInfo] = field(default_factory=dict)
    checkpoints: dict[int, CheckpointFiles] = field(default_factory=dict)

    @property
    def latest(self) -> int:
        return max([*self.commits, *self.checkpoints], default=-1)

    def base(self, version: int) -> CheckpointFiles | None:
        """Return the newest checkpoint that is not after the version."""
        below = [v for v in self.checkpoints if v <= version]
        return self.checkpoints[max(below)] if below else None

    def readable(self) -> list[int]:
        """Versions that can be made of what is there, ascending."""
        out: list[int] = []
        previous: int | None = -1  # the last version that can be made; -1: the empty table before commit 0
        for version in sorted(self.commits.keys() | self.checkpoints.keys()):
            made = version in self.checkpoints or (previous is not None and version == previous + 1)
            if made:
                out.append(version)
            previous = version if made else None
        return out


@dataclass(frozen=True, slots=True)
class LogSegment:
    """Files of one version: a checkpoint or none, and the commits after it."""

    version: int
    checkpoint: CheckpointFiles | None
    commits: range
    listing: LogListing

    @property
    def files(self) -> tuple[object, ...]:
        """Return the listed files of the version: segments that differ here may have different content."""
        return (self.version, self.checkpoint, *(self.listing.commits.get(v) for v in self.commits))

    def stands(self, storage: Storage) -> bool:
        """Return whether the log lists these files as before, by one listing: what was read in between is of one log,
        and not of two tables that followed each other at the place."""
        first = self.commits.start if self.checkpoint is None else self.checkpoint.version
        now = list_log(storage, start_after=f"{LOG}/{first:020d}")
        checkpoint = None if self.checkpoint is None else now.checkpoints.get(self.checkpoint.version)
        return replace(self, checkpoint=checkpoint, listing=now).files == self.files


def commit_path(version: int) -> str:
    return f"{LOG}/{version:020d}.json"


def commit_number(id_: str) -> int | None:
    """The number of the commit that a version names; None for what no commit is called: an index's log, which names
    versions too, may be a stranger's."""
    return int(id_) if len(id_) <= 20 and id_.isascii() and id_.isdecimal() else None


def list_log(storage: Storage, start_after: str = "") -> LogListing:
    """List the log's own folder once."""
    commits: dict[int, ObjectInfo] = {}
    by_version: dict[int, list[tuple[int, tuple[ObjectInfo, ...]]]] = {}
    multi: dict[tuple[int, int], dict[int, ObjectInfo]] = {}
    for info in storage.list(LOG, recursive=False, start_after=start_after):
        match = _NAME.match(_name(info.path))
        if match is None:
            continue
        version = int(match["version"])
        if match["commit"]:
            commits[version] = info
        elif info.size_bytes == 0:
            continue  # what a crashed writer left
        elif match["parts"]:
            multi.setdefault((version, int(match["parts"])), {})[int(match["part"])] = info
        else:
            by_version.setdefault(version, []).append((2 if match["uuid"] else 0, (info,)))
    for (version, count), parts in multi.items():
        if count > 0 and parts.keys() == set(range(1, count + 1)):
            by_version.setdefault(version, []).append((1, tuple(parts[n] for n in sorted(parts))))
    checkpoints = {
        # Several checkpoints of one version say the same; the choice only has to be the same every time.
        version: CheckpointFiles(version, max(kinds, key=lambda k: (k[0], len(k[1]), k[1][0].path))[1])
        for version, kinds in by_version.items()
    }
    return LogListing(commits, checkpoints)


def newest_of(names: Iterable[str]) -> int | None:
    """Return the newest commit among names of a log's files, -1 where these do not make a version; None where none is
    of a log."""
    matches = [match for name in names if (match := _NAME.match(name))]
    commits = {int(match["version"]) for match in matches if match["commit"]}
    readable = 0 in commits or len(commits) < len(matches)
    return None if not matches else max(commits, default=-1) if readable else -1


def has_log(storage: Storage, folder: str = "") -> bool:
    """Return whether the log holds a commit or checkpoint."""
    log = f"{folder}/{LOG}" if folder else LOG
    return any(_NAME.match(_name(info.path)) for info in storage.list(log, recursive=False))


def log_of_nothing(storage: Storage, folder: str = "") -> bool:
    """Return whether there is a log folder without a commit in it."""
    return LOG in storage.folders(folder) and not has_log(storage, folder)


def without_commits(table: str) -> str:
    """Return the error text for a table whose log is a folder without commits, which no format opens."""
    return (
        f"the files of a Delta table are those that its commits name; {LOG} of {table!r} holds no commit; restore the"
        f" log, or remove {LOG} where this never was a Delta table"
    )


def find_segment(storage: Storage, table: str, version: int | None = None) -> LogSegment:
    """The segment of a version, or of the newest one."""
    listing = _listing(storage, version)
    latest = listing.latest
    if latest < 0:
        raise NotATableError(f"a Delta table has commits under {LOG}; {table} has none; check the path")
    wanted = latest if version is None else version
    if wanted > latest or wanted < 0:
        raise VersionNotFoundError(f"{table} has no version {wanted}; the newest is {latest}")
    base = listing.base(wanted)
    first = 0 if base is None else base.version + 1
    if base is None and 0 not in listing.commits:
        readable = listing.readable()
        said = (
            f"the oldest readable version is {readable[0]}" if readable else "commit 0 and every checkpoint are missing"
        )
        raise VersionNotFoundError(f"{table} version {wanted} can no longer be read: its log was cleaned; {said}")
    return LogSegment(wanted, base, range(first, wanted + 1), listing)


def following(storage: Storage, version: Version) -> bool:
    """Return whether the log can be followed commit by commit from a version: its commit is unchanged, and no later
    checkpoint is known."""
    number, hint = int(version.id), _last_checkpoint(storage)
    if hint is not None and hint > number:
        return False
    try:
        return stored_commit_fingerprint(storage, number) == version.fingerprint
    except ObjectNotFoundError:
        return False


def _listing(storage: Storage, version: int | None) -> LogListing:
    hint = _last_checkpoint(storage)
    if hint is not None and (version is None or hint <= version):
        listing = list_log(storage, start_after=f"{LOG}/{hint:020d}")
        if hint in listing.checkpoints:
            return listing
    return list_log(storage)


def _last_checkpoint(storage: Storage) -> int | None:
    """None for whatever is no hint: it only shortens a listing, and no table is unreadable by it."""
    try:
        data = storage.read(f"{LOG}/_last_checkpoint", 0, _MAX_HINT + 1)
        hint = json.loads(data) if len(data) <= _MAX_HINT else None
    except StorageUnavailableError:
        raise  # nor will the log be listed
    except (StorageError, ValueError, RecursionError):
        return None
    version = hint.get("version") if isinstance(hint, dict) else None
    return version if isinstance(version, int) and 0 <= version < 10**20 else None


def commit_fingerprint(data: bytes) -> str:
    """A sign of a commit's bytes: its size and both its ends, where the writer's time and transaction id stand."""
    return _digest(len(data), data[:_EDGE], data[-_EDGE:])


def stored_commit_fingerprint(storage: Storage, version: int) -> str:
    """Like `commit_fingerprint`, but reads only the edges of a large commit. ObjectNotFoundError without one."""
    path = commit_path(version)
    head = storage.read(path, 0, 2 * _EDGE)
    if len(head) < 2 * _EDGE:
        return commit_fingerprint(head)
    size = storage.head(path).size_bytes
    return _digest(size, head[:_EDGE], storage.read(path, size - _EDGE, _EDGE))


def _digest(size: int, first: bytes, last: bytes) -> str:
    return xxhash.xxh64_hexdigest(b"%d:%b%b" % (size, first, last))


def _name(path: str) -> str:
    return path.rpartition("/")[2]
