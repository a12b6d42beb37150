"""The log entry: one immutable value that says everything of an index at one number of its operation log.

The latest entry holds the stable content and the operations under way, so a reader needs one entry and a writer rebases
on one. What can be derived is not stored: the state that people see is the transient state of an operation under way,
else the stable one.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from dataclasses import field, replace

import pyarrow as pa
import xxhash

from metaindex.core import Plain, dataclass, moment
from metaindex.formats import Schema, Version

from .schema_codec import type_from_text
from .states import TRANSIENT, Operation, State

FORMAT_VERSION = 3
"""Of the entries and of the version objects they name. A reader refuses what is newer, and 1 and 2, which no release
ever wrote."""

MAX_NUMBER = 10**18 - 1
"""The greatest number that an entry may have: below what 20 digits and 64 bits hold, so that the next number can always
be written down and told to be too much."""


KNOWN_NEEDS: frozenset[str] = frozenset()
"""Features that a reader must know before it may trust a byte of a run, by name: those that this metaindex reads. None
has a name yet: all that format 3 says is taken for known.

A newer metaindex that lays out a run in another way, or stores another kind in it, names what is new there in
`reader_needs`; a reader that does not know one of the names leaves out that run, with the reason, and keeps its files.
The names stand in the entry, so that nothing of such a run is read, and in its manifest, which says with them what the
run is.
"""


def why_unknown(run: str, needs: Iterable[str]) -> str | None:
    """Return why a run with such needs cannot be read here, or None."""
    lacking = [need for need in needs if need not in KNOWN_NEEDS]
    names = ", ".join(repr(need[:80]) for need in lacking[:5])
    said = f"run {run!r} was written by a newer metaindex: to read it one must know {names}; upgrade metaindex"
    return said if lacking else None


@dataclass(frozen=True, slots=True)
class KindSpec(Plain):
    """A kind of the index as the user requested it: a name and a version, never a class path, and plain properties."""

    name: str
    version: int
    properties: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CoveredColumn:
    """A column that a run covers: every file of the run has a row for it. `type_text` is the Arrow type at write time,
    as text of `schema_codec`."""

    stable: str
    column_id: int
    name: str
    type_text: str
    partition: bool = False  # rows in partition_stats only

    @property
    def type(self) -> pa.DataType | None:
        """The type, or None for one that is not known here."""
        return type_from_text(self.type_text)


@dataclass(frozen=True, slots=True)
class CoveredKey:
    """A key that a run covers: the values of one column, or of several together, in every file but `unkeyed_files` of
    them (whose ordinals stand in the metadata partition `unkeyed`).

    `kind` is the metadata partition that holds its rows. `layout` is what its reader has to know of them (bits of a
    packed entry and the like): plain numbers and texts.
    """

    kind: str
    key_id: int
    columns: tuple[CoveredColumn, ...]
    layout: Mapping[str, int | str] = field(default_factory=dict)
    unkeyed_files: int = 0


@dataclass(frozen=True, slots=True)
class RunRef:
    """An immutable sorted run: the index rows of a set of files, written by one action."""

    run: str
    files: int
    partitions: int
    size_bytes: int
    manifest_bytes: int
    manifest_digest: str
    files_digest: str  # of the file ids in ordinal order: two runs that agree number the same files alike
    columns: tuple[CoveredColumn, ...]
    created_ms: int
    builder: str
    uncovered_files: int = 0
    keys: tuple[CoveredKey, ...] = ()
    table_uuid: str = ""  # of the table that the files are of: what calls itself otherwise is another table
    reader_needs: tuple[str, ...] = ()  # features that a reader has to know to believe a byte of it
    trusted: int = 0  # revision of the table of writers (`Footer.REVISION`) by which footers were believed

    @property
    def unknown(self) -> str | None:
        """Return why the run is ignored, or None: who cannot read it does not merge, replace or mend it."""
        return why_unknown(self.run, self.reader_needs)

    @property
    def listed_only(self) -> bool:
        """A run of a quick refresh: it names its files, and no kind covers them."""
        return not self.builder


@dataclass(frozen=True, slots=True)
class ObjectRef:
    """An immutable object beside the log that an entry names: its path below the index folder, its size and the sha256
    of its bytes."""

    path: str
    size_bytes: int
    digest: str


@dataclass(frozen=True, slots=True)
class VersionRecord:
    """A table version whose set of files the index has seen: its parent's files, plus `added` runs and `restored`
    files, less `removed` ones.

    Bitmaps are pyroaring's portable serialization in base64, of ordinals inside the run. They are sets: removing what
    is not live, or restoring what is, changes nothing. `with_deletes` and `without_deletes`: files that have rows
    deleted at this version and had none at the parent, and the other way round.
    """

    version: Version
    timestamp_ms: int
    schema: int  # position in `Content.schemas`, or in the segment's
    parent: Version | None
    added: tuple[str, ...]
    removed: Mapping[str, str] = field(default_factory=dict)
    restored: Mapping[str, str] = field(default_factory=dict)
    with_deletes: Mapping[str, str] = field(default_factory=dict)
    without_deletes: Mapping[str, str] = field(default_factory=dict)
    files: int = 0
    size_bytes: int = 0
    unknown: int = (
        0  # of the files, how many no kind of the index covers: they are named and always read (a quick refresh)
    )
    partition_columns: tuple[str, ...] = ()
    bits: ObjectRef | None = (
        None  # where the bitmaps are when they are too large for an entry; the four mappings are empty then
    )


@dataclass(frozen=True, slots=True)
class SegmentRef:
    """Records of older versions, moved out of the entry into an immutable object. `tags`: `version_tag` of each, 8
    characters, one behind the other."""

    object: ObjectRef
    tags: str
    runs: tuple[str, ...]  # that its records name

    @property
    def count(self) -> int:
        return len(self.tags) // _TAG

    def may_hold(self, version: Version) -> bool:
        tag = version_tag(version)
        return any(self.tags[at : at + _TAG] == tag for at in range(0, len(self.tags), _TAG))


_TAG = 8


def version_tag(version: Version) -> str:
    """48 bits of a version's hash, as text: tells in which segment a version may be."""
    text = "\0".join((version.id, version.fingerprint))
    return base64.b64encode(xxhash.xxh3_64_digest(text.encode("utf-8", "surrogatepass"))[:6]).decode()


@dataclass(frozen=True, slots=True)
class Content:
    """Content of a stable index. `versions` are the newest recorded ones, the last recorded last; older ones are in
    `segments`, the oldest first."""

    runs: tuple[RunRef, ...] = ()
    versions: tuple[VersionRecord, ...] = ()
    schemas: tuple[Schema, ...] = ()
    segments: tuple[SegmentRef, ...] = ()

    def runs_since(self, before: Content | None) -> dict[str, int]:
        """Return what became of the runs: how many came and went, of how many files and bytes."""
        old = {run.run: run for run in before.runs} if before is not None else {}
        new = {run.run: run for run in self.runs}
        added = [run for name, run in new.items() if name not in old]
        removed = [run for name, run in old.items() if name not in new]
        return {
            "runs_added": len(added),
            "runs_removed": len(removed),
            "files_added": sum(run.files for run in added),
            "bytes_added": sum(run.size_bytes for run in added),
            "bytes_removed": sum(run.size_bytes for run in removed),
        }

    def run(self, name: str) -> RunRef:
        return next(run for run in self.runs if run.run == name)

    def record(self, version: Version) -> VersionRecord | None:
        """The record of exactly this version where it is in the entry, else None: `log.versions.Versions` looks
        into segments too."""
        return next((r for r in reversed(self.versions) if r.version == version), None)


@dataclass(frozen=True, slots=True)
class UnderWay:
    """An operation between its begin and its commit. `runs` are the folders it writes: work under way, not garbage."""

    operation: Operation
    began: int
    nonce: str
    who: str
    since_ms: int
    runs: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Say who runs it, and since when."""
        since = moment(self.since_ms // 1000 * 1000)
        return f"{self.operation.value} by {self.who} since {since} (entry {self.began})"


@dataclass(frozen=True, slots=True)
class TableInfo:
    """The table that the index is of. `options` are the plain reader options given when it was created."""

    path: str
    format: str
    table_uuid: str = ""
    options: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class IndexLogEntry:
    """A log entry. `derived` fields of the Hyperspace specification: name, kinds (derivedDataset), content, table
    (source), properties, state, enabled."""

    id: int
    name: str
    index_uuid: str
    nonce: str  # of the writer's attempt: tells a lost answer from a lost race
    stable: State
    table: TableInfo
    kinds: tuple[KindSpec, ...]
    content: Content = Content()
    under_way: tuple[UnderWay, ...] = ()
    enabled: bool = True
    timestamp_ms: int = 0
    written_by: str = ""  # "begin create", "commit refresh" ...
    properties: Mapping[str, str] = field(default_factory=dict)
    previous: str = field(default="", compare=False)
    """The digest of the entry before, as it lies on storage: a log that was put together of two is told by it. Empty
    for the first; the log fills it in."""

    @property
    def state(self) -> State:
        """The visible state: the transient state of the latest operation under way, else the stable state."""
        return TRANSIENT[self.under_way[-1].operation] if self.under_way else self.stable

    @property
    def active(self) -> bool:
        """Return whether the index is there and not deleted."""
        return self.stable is State.ACTIVE

    @property
    def deleted(self) -> bool:
        """Return whether it waits to be restored or vacuumed."""
        return self.stable is State.DELETED

    @property
    def gone(self) -> bool:
        """Return whether there is no index, and none is being created."""
        return self.stable is State.DOESNOTEXIST and not self.under_way

    @property
    def readable(self) -> bool:
        """True if a query may use this content: not while creating or restoring, not when deleted or disabled; yes
        while refreshing (the stable copy)."""
        return self.active and self.enabled

    def mark(self, previous: IndexLogEntry | None) -> UnderWay | None:
        """Return the operation that began or ended with this entry, which follows on another one."""
        now = {mark.nonce for mark in self.under_way}
        began = next((mark for mark in self.under_way if mark.began == self.id), None)
        ended = [mark for mark in previous.under_way if mark.nonce not in now] if previous is not None else []
        own = [mark for mark in ended if self.nonce.startswith(mark.nonce)]
        return began or next(iter(own or ended), None)

    def following(self) -> IndexLogEntry:
        """The next number with the same content; who appends it says the rest."""
        return replace(self, id=self.id + 1, nonce="", timestamp_ms=0, written_by="")
