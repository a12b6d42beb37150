"""A table format: how its tables are found, which versions and files they have, and what is true of them all. A new
format is a folder, a line in `names.FORMATS`, and a subclass of the contract tests."""

from __future__ import annotations

import datetime as dt
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from functools import cache, partial
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from metaindex.core import (
    ArgumentError,
    Cure,
    ExpressionError,
    UnsupportedFeatureError,
    VersionNotFoundError,
    dataclass,
)
from metaindex.storage import Confines, ObjectInfo, Storage

from .files.globs import escape
from .model import Base, Changes, FileTable, Snapshot, Version
from .names import FORMATS, PLAIN

if TYPE_CHECKING:
    from .diff import Diff  # which reading a table does without
    from .glimpse import Glimpse


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

    @classmethod
    def asked(cls, version: Version | str | int | None = None, timestamp: str | int | dt.date | None = None) -> At:
        """The version asked; a `Version`, such as an answer names, with the schema that it was read with. Raises
        VersionNotFoundError for both at once, ExpressionError for what is no time, ArgumentError for what is no
        version. A date is its first moment."""
        if version is not None and timestamp is not None:
            raise VersionNotFoundError("a version is asked by number or by time, not by both; leave one out")
        if isinstance(version, Version):
            return cls.of(version)
        if version is not None and (isinstance(version, bool) or not isinstance(version, str | int)):
            raise ArgumentError(f"a version is a number, or text as {Cure('version')}; got {type(version).__name__}")
        if isinstance(version, int) and version.bit_length() > 64:
            raise VersionNotFoundError("a version is a number of 64 bits at most; got a longer one", Cure("versions"))
        if isinstance(timestamp, str):
            with suppress(ValueError):
                timestamp = dt.datetime.fromisoformat(timestamp)
        if isinstance(timestamp, dt.date):
            time = timestamp if isinstance(timestamp, dt.datetime) else dt.datetime.combine(timestamp, dt.time())
            time = time.replace(tzinfo=time.tzinfo or dt.UTC)
            return cls(timestamp_ms=int(time.timestamp() * 1000))
        if timestamp is not None and (isinstance(timestamp, bool) or not isinstance(timestamp, int)):
            raise ExpressionError(
                "a timestamp is ISO 8601 (UTC where it names no zone), whole milliseconds, a datetime or a date; got"
                f" {timestamp!r}"
            )
        return cls(version, timestamp)


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

    literal: ClassVar = staticmethod(escape)

    @staticmethod
    def options_in(catalog: object, name: str) -> dict[str, str]:
        """Return storage options that an Iceberg catalog gives for a table. A wrong name or catalog is reported when
        the table is opened."""
        from .iceberg.configured import storage_options, table_in

        table = table_in(catalog, name)
        return {} if table is None else storage_options(str(table.location()), dict(table.io.properties))

    @staticmethod
    def options_of(location: str, properties: Mapping[str, str]) -> dict[str, str]:
        """Return storage options by properties of Iceberg's FileIO; none for a store that those are not known of."""
        from .iceberg.configured import storage_options

        return storage_options(location, properties)

    def of_catalog(self) -> Any:
        """Return pyiceberg's table, loaded anew; None where the table was opened by its path."""
        from .iceberg.configured import identifier_of

        catalog: Any = self.options.get("catalog")
        name = self.options.get("identifier") or self.path
        return None if catalog is None else catalog.load_table(identifier_of(name))

    def __reduce__(self) -> tuple[object, ...]:
        """A catalog holds connections: another process loads it anew, by its name and properties, if it has those."""
        catalog: Any = self.options.get("catalog")
        name, properties = getattr(catalog, "name", None), getattr(catalog, "properties", None)
        if isinstance(name, str) and isinstance(properties, Mapping):
            kind: Any = type(catalog)
            catalog = partial(kind, name, **properties)
        options = {key: value for key, value in self.options.items() if key != "catalog"}
        return _sent, (catalog, self.storage, self.path, options, self.patterns, self.history, self.confines)


def _sent(catalog: Any, storage: Storage, path: str, options: dict[str, object], *places: Any) -> TableRef:
    if catalog is not None:
        options["catalog"] = catalog() if isinstance(catalog, partial) else catalog
    return TableRef(storage, path, options, *places)


@dataclass(frozen=True, slots=True)
class Resolved:
    """A version, and how its snapshot is had without resolving it again."""

    version: Version
    load: Callable[[], Snapshot]


class Format(ABC):
    """A table format. It reads logs and footers, never data pages; a TableRef goes in, values come out.

    The abstract methods make a format. All else is an ability, whose default is safe for a log that tells nothing more.
    """

    name: ClassVar[str]
    has_log: ClassVar[bool] = True
    """Versions come from a log: no file is replaced under its name, older versions can be read, and indexes lie inside
    the table. Without one a version is a listing of the folder, and indexes lie beside it."""
    mark: ClassVar[str] = ""
    """The folder inside a table's by which it is found below others, if it holds a file whose name ends in one of
    `mark_files`, or those are none."""
    mark_files: ClassVar[tuple[str, ...]] = ()
    numbered: ClassVar[bool] = False
    """Versions are commits, each found by its id alone."""
    reader_options: ClassVar[bool] = False
    """Reader options given when a table is opened decide how its files are read."""
    one_file_format: ClassVar[bool] = False
    """All data files are of the format of `read_options`, whatever their names."""
    partitions_in_files: ClassVar[bool] = False
    """A file may hold a partition column itself, if it was written under another partitioning."""
    rewritten_by: ClassVar[Literal["", "optimize", "procedure", "copy"]] = ""
    """How Spark writes the rows of a table in another order: by OPTIMIZE, by a catalog's procedure, as a copy; empty:
    none is advised."""
    indexes_seen: Mapping[str, ObjectInfo] = MappingProxyType({})
    """Objects at any depth of the folder of the table's indexes, by their paths in it, as they were seen when the table
    was recognized."""
    library: ClassVar[str] = ""
    """The Python library that takes a scan of a table."""
    shown_as_iceberg: ClassVar[bool] = False
    """Parquet files of its tables were read right by Iceberg's clients, which were told what the table's log says."""
    named_by_path: ClassVar[bool] = False
    """Spark's SQL names a table by its path, as in parquet.`path`; else by its name in a catalog."""

    @staticmethod
    def named(name: str) -> Format:
        """Return a format by its name; its modules are imported on first use."""
        if name not in FORMATS:
            raise UnsupportedFeatureError(
                f"the formats are {', '.join((*FORMATS, *PLAIN))}; got {name!r}; name one of these"
            )
        module, _, of = FORMATS[name].rpartition(".")
        made: Format = getattr(import_module(f".{module}", __package__), of)()
        return made

    @abstractmethod
    def detect(self, ref: TableRef) -> bool:
        """Return whether there is a table of this format at the path, by one or two storage calls."""

    def recognized(self, ref: TableRef, seen: Glimpse) -> bool | None:
        """Return `detect` by the first objects at a path; None if those do not tell. What they tell of the versions and
        indexes that will be asked for is kept as a guess."""
        return None

    @abstractmethod
    def resolve(self, ref: TableRef, at: At) -> Version:
        """Return the version, without loading its files if the format allows it (Delta: one listing, none for a number,
        and one small read; Iceberg: the metadata file; plain files: the listing). Raises VersionNotFoundError if there
        is none."""

    @abstractmethod
    def snapshot(self, ref: TableRef, at: At) -> Snapshot:
        """Return all live files at the version, or raise; never a part of them."""

    @abstractmethod
    def versions(self, ref: TableRef) -> Sequence[Version]:
        """Return the versions that can still be read, oldest first."""

    def newest(self, ref: TableRef, known: Sequence[Version]) -> Version:
        """Return the newest version, from known ones if that saves a listing. That they still exist is checked."""
        return self.resolve(ref, At())

    def without_files(self, ref: TableRef, now: Snapshot, most: int) -> Sequence[Snapshot]:
        """Return the newest versions up to `now`, oldest first, each with its time and its columns but no files: at
        most so many, fewer where the log does not say more. By default `now` alone."""
        return [replace(now, files=FileTable.empty())]

    def changes(self, ref: TableRef, bases: Sequence[Base], target: At, to: Version | None = None) -> Changes | None:
        """Return what the log says of the files since the base from which the way is shortest. That base is proved to
        lie on the target's own line of versions: the same table, not re-created, not another branch. None if the log
        cannot serve this (no such base, commits that were cleaned, a log that does not say enough): the caller loads
        the snapshot. `to`: the target as it was resolved before, which is not done again."""
        return None

    def diff(self, ref: TableRef, base: Snapshot, target: At) -> Diff | None:
        """Return what the log says changed, at the cost of the commits since `base`. None if it cannot serve the range,
        such as backwards in time: the caller compares two snapshots."""
        from .diff import of_changes  # which a snapshot does without

        return of_changes(self.changes(ref, [Base(base.version, base.schema, base.partition_columns)], target), base)

    def resolved(self, ref: TableRef, at: At) -> Resolved:
        """Return the version and its snapshot on demand, from one listing if that makes both."""
        return Resolved(self.resolve(ref, at), lambda: self.snapshot(ref, at))

    def version_named(self, ref: TableRef, id_: str) -> Version | None:
        """Return the version that would have this id; None if the table has to be asked."""
        return None

    def is_named(self, ref: TableRef, version: Version) -> bool:
        """Return whether this is the version with its id. Raises what `version_named` raises."""
        return self.version_named(ref, version.id) == version

    def read_options(self, ref: TableRef) -> Mapping[str, object] | None:
        """Return `SnapshotDetails.read_options` of every version; None if that takes a snapshot."""
        return None

    def options_kept(
        self, ref: TableRef, options: Mapping[str, object], snapshot: Callable[[], Snapshot]
    ) -> dict[str, object]:
        """Return the reader options that an index of the table keeps, of those with which it is opened."""
        return dict(options)

    def check_indexable(self, snapshot: Snapshot, *, by_spark: bool) -> None:
        """Raise UnsupportedFeatureError if no file can be read: no query would use an index. `by_spark`: Spark builds
        it, by a reader of its own."""
        return None

    def root(self, ref: TableRef) -> str | None:
        """Return `Snapshot.table`; None if that takes a snapshot."""
        return None

    def commits_since(self, ref: TableRef, now: Version) -> Callable[[str], int | None]:
        """Return a function that counts the commits from the version of an id to `now`; None if they are unknown."""

        @cache
        def order() -> Mapping[str, int]:
            return {version.id: place for place, version in enumerate(self.versions(ref))}

        def since(id_: str) -> int | None:
            known = order() if id_ else {}
            return max(known[now.id] - known[id_], 0) if id_ in known and now.id in known else None

        return since

    def remember(self, ref: TableRef, snapshot: Snapshot) -> None:
        """Keep what makes the version readable later, which a log does by itself."""
        return None

    def forget(self, ref: TableRef, whole: Callable[[FileTable], bool]) -> int:
        """Remove what `remember` kept of versions that are not `whole`. Return how many."""
        return 0

    def called(self, file_format: str) -> str:
        """Return the name that engines have for a table with files of this format."""
        return self.name
