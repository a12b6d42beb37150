"""The live files of a version: the instants replayed, and the result compared with the files that are there.

A file group has one live file, that of the last instant that wrote it; a replaced one has none. Each write names the
instant whose file it takes the place of, so that a missing instant is noticed. Files that are there and belong to no
instant of the timeline would be live or not by an instant that nobody knows any more: then the version is not read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from metaindex.core import CorruptTableError, UnsupportedFeatureError, VersionNotFoundError
from metaindex.storage import Storage

from .commits import BASE_FILE, Commit, Write
from .properties import FOLDER
from .timeline import Timeline

Key = tuple[str, str]


@dataclass(slots=True)
class Replay:
    """File groups while instants are applied in their order."""

    table: str
    live: dict[Key, Write] = field(default_factory=dict)
    dead: set[Key] = field(default_factory=set)

    def apply(self, commit: Commit) -> None:
        """Apply the next instant. Raises CorruptTableError where an instant before it is missing."""
        where = commit.described(self.table)
        written = {write.key for write in commit.writes}
        for key in commit.replaced:
            if key in written:
                raise UnsupportedFeatureError(
                    f"a file group is replaced by others; {where} replaces {key[1]!r} and writes it; read it with Hudi"
                )
            if self.live.pop(key, None) is None and key not in self.dead:
                raise _missing(f"a replaced file group was written before; {where} replaces {key[1]!r}, which was not")
            self.dead.add(key)
        for write in commit.writes:
            if write.key in self.dead:
                raise UnsupportedFeatureError(
                    f"a replaced file group is not written again; {where} writes {write.path!r}; read it with Hudi"
                )
            before = self.live.get(write.key)
            if write.before != ("" if before is None else before.instant):
                last = "none" if before is None else before.instant
                raise _missing(
                    f"an instant writes a file group in the place of its last file; {where} writes {write.path!r} in"
                    f" that of {write.before or 'none'}, the last is of {last}"
                )
            self.live[write.key] = write


@dataclass(frozen=True, slots=True)
class Present:
    """The base files that are there: size by path."""

    sizes: Mapping[str, int]

    @classmethod
    def listed(cls, storage: Storage, table: str) -> Present:
        """List the table. Raises UnsupportedFeatureError for log files that hold rows."""
        sizes: dict[str, int] = {}
        for info in storage.list(""):
            folder, _, name = info.path.rpartition("/")
            if folder.partition("/")[0] == FOLDER:
                continue
            if name.startswith("."):
                _check_log(table, info.path, name)
            elif (match := BASE_FILE.match(name)) is not None and match["kind"] == "parquet":
                sizes[info.path] = info.size_bytes
        return cls(sizes)

    def holds(self, live: Iterable[Write]) -> bool:
        """Return whether all of these files are there."""
        return all(write.path in self.sizes for write in live)

    def check(self, table: str, timeline: Timeline, commits: Sequence[Commit]) -> None:
        """Raise CorruptTableError for a file of which the instants do not tell whether it is live."""
        named = {write.path for commit in commits for write in commit.writes}
        known = {commit.instant.begun for commit in commits}
        newest = max([*known, *timeline.completed], default="")
        for path in sorted(self.sizes.keys() - named):
            match = BASE_FILE.match(path.rpartition("/")[2])
            assert match is not None
            instant = match["instant"]
            later = instant in timeline.completed and instant not in known
            if later or instant in timeline.pending or instant > newest:
                continue
            said = "does not name it" if instant in known else "is not in the timeline"
            raise _missing(f"a file is of an instant that names it; {path!r} of {table} is of {instant}, which {said}")


def live_at(table: str, commits: Iterable[Commit]) -> list[Write]:
    """Return the live files after these instants, in the order of their paths."""
    replay = Replay(table)
    for commit in sorted(commits, key=lambda commit: commit.instant.order):
        replay.apply(commit)
    return sorted(replay.live.values(), key=lambda write: write.path)


def check_present(table: str, id_: str, live: Sequence[Write], present: Present, *, newest: bool) -> None:
    """Raise where a live file is not there as it was written: of the newest version it is damage, an older one was
    cleaned."""
    for write in live:
        size = present.sizes.get(write.path)
        if size is None and not newest:
            raise VersionNotFoundError(
                f"a version is read while its files are there; {table} as of {id_} has lost {write.path!r}, which the"
                " cleaner removes; ask for a newer one"
            )
        if size is None or (write.size_bytes is not None and size != write.size_bytes):
            had = "is not there" if size is None else f"has {size:,} B"
            raise CorruptTableError(
                f"a live file is there as it was written, of {write.size_bytes or 0:,} B; {write.path!r} of {table} as"
                f" of {id_} {had}; restore it"
            )


def _missing(fact: str) -> CorruptTableError:
    return CorruptTableError(f"{fact}; restore the timeline and its archive, or remove what a failed write left")


def _check_log(table: str, path: str, name: str) -> None:
    """A log file holds rows that are merged; one of changes (CDC) repeats those of base files."""
    if ".log." in name and not name.endswith((".crc", "cdc")):
        raise UnsupportedFeatureError(
            f"Hudi tables are read if no row is merged from log files; {table} has {path!r}; read it with Hudi"
        )
