"""The contract of a table format. A new format is a folder, a line in `registry.FORMATS`, and a subclass of the
contract tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import cache
from typing import Protocol, TypeGuard, runtime_checkable

from metaindex.core import dataclass
from metaindex.storage import Confines, Storage

from .model import Snapshot, Version


@dataclass(frozen=True, slots=True)
class At:
    """A version to look up: by its id or by a time; without either the current one. `version` is the format's own id as
    text or number (an Iceberg branch or tag name too), `schema_id` the schema that it is to be read with (None: as the
    format has it for what is asked)."""

    version: str | int | None = None
    timestamp_ms: int | None = None
    schema_id: int | None = None

    @classmethod
    def of(cls, version: Version) -> At:
        """Exactly this version. An Iceberg snapshot is another version under another schema: its id alone asks for its
        own."""
        return cls(version.id, schema_id=version.schema_id)


@dataclass(frozen=True, slots=True)
class TableRef:
    """A table's location, and how to open it. `options`: what the user said beside the path (header, delimiter, catalog
    handle ...), all of it plain data but `catalog`."""

    storage: Storage
    path: str  # as the user named it, absolute
    options: Mapping[str, object] = field(default_factory=dict)
    patterns: tuple[
        str, ...
    ] = ()  # of plain files: which files and folders below the storage's root are the table (Hadoop's globs); none: all
    history: Storage | None = None  # of plain files: the folder that keeps their listings; None: beside the table
    confines: Confines | None = None  # where its files may lie; None: anywhere in its store

    def __reduce__(self) -> tuple[object, ...]:
        """A catalog holds connections: another process loads it anew, by its name and properties."""
        from .sent_catalog import SentCatalog

        options = dict(self.options)
        if (catalog := options.get("catalog")) is not None:
            options["catalog"] = SentCatalog(catalog)
        return TableRef, (self.storage, self.path, options, self.patterns, self.history, self.confines)


@dataclass(frozen=True, slots=True)
class Resolved:
    """A version, and how its snapshot is had without resolving it again."""

    version: Version
    load: Callable[[], Snapshot]


class TableFormat(Protocol):
    """Reads logs and footers, never data pages. Stateless: a TableRef goes in, values come out."""

    @property
    def name(self) -> str: ...

    def detect(self, ref: TableRef) -> bool:
        """Return whether there is a table of this format at the path, by one or two storage calls."""

    def resolve(self, ref: TableRef, at: At) -> Version:
        """Return the version, without loading its files if the format allows it (Delta: one listing, none for a number,
        and one small read; Iceberg: the metadata file; plain files: the listing). Raises VersionNotFoundError if there
        is none."""

    def snapshot(self, ref: TableRef, at: At) -> Snapshot:
        """Return all live files at the version, or raise; never a part of them."""

    def versions(self, ref: TableRef) -> Sequence[Version]:
        """Versions that can still be read, oldest first."""


@runtime_checkable
class FollowsLog(Protocol):
    """Format whose versions are numbered commits, each named by its id: the newest is found from a known one, without a
    listing."""

    def newest(self, ref: TableRef, known: Sequence[Version]) -> Version:
        """The newest version, as `resolve(ref, At())`. `known`: versions that were there; that they still are is
        checked."""


@runtime_checkable
class ListsOnce(Protocol):
    """Format whose version is a listing: the listing that finds the version also makes the snapshot."""

    def resolved(self, ref: TableRef, at: At) -> Resolved: ...


def lists_once(table_format: TableFormat) -> TypeGuard[ListsOnce]:
    """Return whether it lists once, as `isinstance` would, which looks at every name of the protocol each time."""
    return _offers(type(table_format), ListsOnce)


def tells_reading(table_format: TableFormat) -> TypeGuard[TellsReading]:
    """Return whether the format implements `TellsReading`."""
    return _offers(type(table_format), TellsReading)


@cache
def _offers(kind: type, ability: type) -> bool:
    return issubclass(kind, ability)


@runtime_checkable
class TellsReading(Protocol):
    """Format that tells without a snapshot how the data files of any of its versions are read."""

    def read_options(self, ref: TableRef) -> Mapping[str, object]:
        """Return how files are read, like `SnapshotDetails.read_options`."""
