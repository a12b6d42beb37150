"""The handle behind a table's face: the format's reader, the indexes beside the table, and caches of immutable things.
The verbs, the queries and the rooms above (`hooks`, `rule`) work with it; users hold a `Table`."""

from __future__ import annotations

import logging
import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar

from metaindex.core import (
    ArgumentError,
    BoundedCache,
    Config,
    IndexNotFoundError,
    MetaIndexError,
    UnsupportedFeatureError,
    VersionNotFoundError,
    dataclass,
)
from metaindex.formats import (
    At,
    FileTable,
    Format,
    ReadOptions,
    Resolved,
    Schema,
    Snapshot,
    TableRef,
    Version,
    open_ref,
)
from metaindex.index import IndexFolder, OpenIndex
from metaindex.storage import Confines, both_at, confined, is_remote, local_path, own_folder

from .pruning.quarantine import QuarantinedIndexes
from .pruning.report import IndexReport

if TYPE_CHECKING:  # what writes is loaded by the verbs that write: a reader's start is short
    from pyspark.sql import SparkSession

    from metaindex.index import IndexLogEntry, Written

logger = logging.getLogger("metaindex")
_Made = TypeVar("_Made")
_LOGS = ("_delta_log", "_change_data", ".hoodie")
_CATALOG_OPTIONS: Final = {"catalog", "identifier"}


@dataclass(repr=False, eq=False)
class Handle:
    """A table as it is opened. Holds no state of the table but caches of immutable things. One thread's."""

    table_format: Format
    ref: TableRef
    config: Config
    spark: SparkSession | Callable[[], SparkSession] | None = None
    """The session that builds, or what makes one; None: the one of this process."""
    storage_options: dict[str, str] = field(default_factory=dict)
    trust_index: bool = False
    written: Written | None = None  # what is known of a commit by whoever made it: for the refresh behind it
    suspects: QuarantinedIndexes = field(default_factory=QuarantinedIndexes)
    opened: ReadOptions | None = None
    """The reader options that were said, if those of the indexes are read with instead."""
    _snapshots: BoundedCache[Version, Snapshot] = field(default_factory=lambda: BoundedCache(4))
    _folder: IndexFolder | None = None
    _made: dict[object, Any] = field(default_factory=dict)
    _looked: tuple[list[OpenIndex], list[IndexReport]] | None = None
    _resolved: dict[At, Resolved] = field(default_factory=dict)  # in the same look

    def __post_init__(self) -> None:
        if (self.config.confine or self.config.confine_to) and self.ref.confines is None:
            confines = Confines.of(self.ref.storage, self.config.confine_to)
            self.ref = replace(self.ref, storage=confined(self.ref.storage, confines), confines=confines)
        if not self.table_format.has_log and (self.config.index_location is not None or self.ref.confines is not None):
            # Listings are kept where the indexes are.
            folder = f"{self.indexes_folder()}/_history"
            options = self.storage_options if is_remote(folder) else None
            kept = own_folder(folder, self.indexes_folder(), self.root(None), options)
            self.ref = replace(self.ref, history=kept)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
        *,
        format: str | None = None,  # noqa: A002 - the word of every reader in the field
        catalog: object = None,
        storage_options: Mapping[str, str] | None = None,
        spark: SparkSession | Callable[[], SparkSession] | None = None,
        config: Config | None = None,
        **options: object,
    ) -> Self:
        """Open a table, as `open_table` does. Options may have any name: where Spark has read it already, it ignores
        those that it does not know. Raises what `open_table` raises."""
        if catalog is not None:
            options["catalog"] = catalog
            storage_options = {**TableRef.options_in(catalog, str(path)), **(storage_options or {})}
        config = config or Config()
        stores = dict(storage_options or {})
        if config.single_writer:
            stores["single_writer"] = "true"
        trust = str(options.pop("trust_index", False)).lower() == "true"
        table_format, ref = open_ref(path, format=format, storage_options=stores, **options)
        if trust and table_format.has_log:
            raise UnsupportedFeatureError(
                f"trust_index is for plain files; {ref.path!r} is a {table_format.name} table, whose log says at once"
                " what is new; leave it out"
            )
        if not table_format.reader_options and (unknown := sorted(options.keys() - _CATALOG_OPTIONS)):
            raise ArgumentError(
                f"reader options are for plain files; {ref.path!r} is a {table_format.name} table; leave out"
                f" {', '.join(unknown)}"
            )
        return cls(table_format, ref, config, cache(spark) if callable(spark) else spark, stores, trust)

    def __reduce__(self) -> tuple[object, ...]:
        """Another process opens the table for itself: what is kept here of it, and a Spark session, stay here."""
        return _opened, (self.format, self.ref, self.config, self.storage_options, self.trust_index)

    @property
    def format(self) -> str:
        return self.table_format.name

    @property
    def path(self) -> str:
        return self.ref.path

    # -- other handles on the same table ---------------------------------------------------------------------------

    def reopened(self, config: Config | None = None) -> Handle:
        """Return a handle of its own, for another thread, or with another configuration."""
        if not isinstance(config, Config | None):
            raise ArgumentError(f"config= is a metaindex.Config; got {config!r}; write mi.Config(...)")
        config = config or self.config
        return Handle(self.table_format, self.ref, config, self.spark, self.storage_options, self.trust_index)

    def with_options(self, file_format: str, options: Mapping[str, object], *, trust_index: bool) -> Handle:
        """Return the plain files, read with other options. Raises NotATableError, UnsupportedFeatureError."""
        table_format, ref = open_ref(self.path, format=file_format, storage_options=self.storage_options, **options)
        return Handle(table_format, ref, self.config, self.spark, self.storage_options, trust_index)

    @property
    def read(self) -> ReadOptions:
        """The reader options that the table was opened with."""
        return ReadOptions.of(self.ref.options)

    def as_built(self, entry: IndexLogEntry) -> Handle:
        """Return a handle with the reader options of an index, if they differ: whoever keeps an index may know no more
        than a path."""
        built = ReadOptions.of(entry.table.options)
        if not built.differing(self.read) and not built.lends_schema(self.read):
            return self
        return self.with_options(built.file_format, built.said, trust_index=False)

    def as_said(self, entry: IndexLogEntry) -> Handle:
        """Return `as_built` if the table was opened without reader options, as its indexes have several."""
        built = ReadOptions.of(entry.table.options)
        return self.as_built(entry) if self.read.or_of(built) is built else self

    def as_indexed(self, *, needed: bool = False) -> Handle:
        """Return a handle with the reader options of the table's indexes, if none were said here and all indexes have
        the same ones. `needed`: of text files alone, and only where nothing can be read without: then no index, and no
        damage to one, changes rows that are read. Problems of the indexes are reported elsewhere."""
        if not self.table_format.reader_options or self.read.said:
            return self
        try:
            entries = [entry for entry in self.entries() if entry.active]
            built = {(read := ReadOptions.of(entry.table.options)).fingerprint: read for entry in entries}
            if len(built) != 1 or (needed and not next(iter(built.values())).reads_texts_whole):
                return self
            handle = self.as_said(entries[0])
        except MetaIndexError:
            return self
        if needed and handle is not self:
            try:
                self.snapshot(At())
                return self
            except MetaIndexError as error:
                if error.missing is None:
                    return self
        handle.opened, handle.trust_index = self.read, self.trust_index
        return handle

    # -- versions --------------------------------------------------------------------------------------------------

    def snapshot(self, at: At) -> Snapshot:
        """Return the live files at a version. Raises VersionNotFoundError."""
        if self.trust_index and at == At():
            try:
                return self.loaded(self.resolved(self.trusted(at, self.open_indexes(None)[0])))
            except VersionNotFoundError as error:
                logger.warning(
                    "the listing that the index recorded is not kept any more, so the folder is listed: %s", error
                )
        return self.loaded(self.resolved(at))

    def loaded(self, resolved: Resolved) -> Snapshot:
        """The snapshot of a version; the last few are kept."""
        snapshot = self._snapshots.find(resolved.version)
        if snapshot is None:
            snapshot = resolved.load()
            self.confined(snapshot.files)
            self._snapshots.keep(snapshot.version, snapshot)
        return snapshot

    def confined(self, files: FileTable) -> None:
        """Raise OutsideTableError if a file lies where those of the table may not: an index, too, may name one."""
        if self.ref.confines is not None:
            self.ref.confines.check(files.paths.to_pylist())

    def trusted(self, at: At, indexes: Sequence[OpenIndex]) -> At:
        """Return the version to read if the caller vouches for the indexes: "now" is the newest version that one of
        them recorded."""
        if not self.trust_index or at != At():
            return at
        records = [record for index in indexes if (record := index.versions.newest()) is not None]
        newest = max(records, key=lambda record: record.timestamp_ms, default=None)
        return at if newest is None else At.of(newest.version)

    def resolved(self, at: At, indexes: Sequence[OpenIndex] = ()) -> Resolved:
        """Resolve a version, with its snapshot on demand; plain files that an index has listed are not listed."""
        named = None if at.version is None else self.table_format.version_named(self.ref, str(at.version))
        if named is not None and any(index.versions.find(named) is not None for index in indexes):
            return Resolved(named, lambda: self.snapshot(at))
        resolved = self._resolved.get(at) or self.table_format.resolved(self.ref, at)
        if self._looked is not None:
            self._resolved[at] = resolved
        return resolved

    # -- commands --------------------------------------------------------------------------------------------------

    def command(self, verb: str, *words: str, reader: bool = True) -> str:
        """Return `metaindex VERB TABLE WORDS`, quoted for a shell. Options of a store are left out: they may be
        secrets. `reader`: include reader options? A verb on an index knows them."""
        return shlex.join(["metaindex", verb, self.path, *words, *self.opening_words(reader=reader)])

    def opening_words(self, *, reader: bool = True) -> Iterator[str]:
        """Yield the options of a command that open the table as it is open."""
        options, config = self.ref.options, self.config
        catalog = getattr(options.get("catalog"), "name", None)
        if isinstance(catalog, str) and catalog:
            yield from ("--catalog", catalog)
        if reader and isinstance(named := options.get("format"), str):
            yield from ("--format", named)
        if reader and self.table_format.reader_options:
            for name, value in self.read.in_text.items():
                yield from ("--option", f"{name}={str(value).lower() if isinstance(value, bool) else value}")
        if config.index_location is not None:
            yield from ("--index-location", os.fspath(config.index_location))
        if config.namespace is not None:
            yield from ("--namespace", config.namespace)

    # -- indexes ---------------------------------------------------------------------------------------------------

    @contextmanager
    def looked_at_once(self) -> Iterator[None]:
        """Inside, the indexes and each version are looked at once, whatever is asked: for several questions of one
        query. Inside of itself it does nothing."""
        if self._looked is not None:
            yield
            return
        self._looked = self.open_indexes(None)
        try:
            yield
        finally:
            self._looked = None
            self._resolved.clear()

    def open_indexes(self, only: Iterable[str] | None) -> tuple[list[OpenIndex], list[IndexReport]]:
        """The indexes that a query may use, and a report of each that it may not. Raises IndexNotFoundError for a name
        in `only` that is none."""
        if not self.config.use_indexes:
            return [], []
        if self._looked is None:
            indexes, why_not = self.indexes().readable(self.ref, only)
            return self.suspects.taken_out(indexes, [IndexReport(name, False, why) for name, why in why_not.items()])
        indexes, refused = self.suspects.taken_out(*self._looked)
        if only is None:
            return list(indexes), list(refused)
        wanted = set(only)
        if missing := wanted - {index.name for index in indexes} - {report.name for report in refused}:
            raise IndexNotFoundError(
                f"there is no index named {', '.join(sorted(missing))} that was found a moment ago; look again"
            )
        return [index for index in indexes if index.name in wanted], [
            report for report in refused if report.name in wanted
        ]

    def opened_at(
        self, at: At, only: Iterable[str] | None
    ) -> tuple[Sequence[OpenIndex], Sequence[IndexReport], Resolved]:
        """The indexes that a query may use, reports of those that it may not, and the version that it asks."""
        needs_indexes = self.trust_index or not (self.table_format.has_log or at == At())
        if needs_indexes or self._looked is not None or not self.config.use_indexes:
            indexes, refused = self.open_indexes(only)
            return indexes, refused, self.resolved(self.trusted(at, indexes), indexes)
        self.indexes()  # a catalog is asked in the thread that it was made in
        opened, resolved = both_at(self.ref.storage.root, lambda: self.open_indexes(only), lambda: self.resolved(at))
        return *opened, resolved

    def open_index(self, name: str) -> OpenIndex:
        """IndexNotFoundError, with the reason, where a query may not use it."""
        self.indexes().log(name)  # says what is wrong with the name
        indexes, refused = self.open_indexes([name])
        if not indexes:
            why = refused[0].reason if refused else "it does not exist any more"
            raise IndexNotFoundError(f"a look-up needs an index that can be read; {name!r} cannot be: {why}")
        return indexes[0]

    def recorded(self) -> list[tuple[Version, Schema]]:
        """The newest version that each usable index has recorded, and the schema that the table had."""
        newest = [(index, index.versions.newest()) for index in self.open_indexes(None)[0]]
        seen = [(record, index.versions.find(record.version)) for index, record in newest if record is not None]
        return [(record.version, version.schema) for record, version in seen if version is not None]

    def entries(self) -> list[IndexLogEntry]:
        """The latest entry of each index of the table, whatever options it was built with; those that cannot be read
        are left out."""
        return self.indexes().entries()

    def indexes(self) -> IndexFolder:
        """The folder of the indexes."""
        if self._folder is None:
            root = self.root(None)
            self._folder = IndexFolder(
                self.indexes_folder(root),
                self.table_format,
                self.ref,
                self.storage_options,
                self.config,
                root,
                self.spark,
            )
        return self._folder

    def no_index(self, name: str) -> IndexNotFoundError:
        """The error of a name that is no index, with those that are."""
        return self.indexes().missing(f"there is no index named {name!r}", name)

    def forget(self) -> None:
        """Keeps only what can never change: the next verb looks at every log anew."""
        self.written = None
        if self._folder is not None:
            self._folder.forget()

    def made(self, of: Callable[[Handle], _Made]) -> _Made:
        """Return what a class makes of this handle, once: `made(Queries)`, whose caches serve again, and
        `made(TableQueryLog)`."""
        if of not in self._made:
            self._made[of] = of(self)
        held: _Made = self._made[of]
        return held

    # -- places ----------------------------------------------------------------------------------------------------

    def root(self, snapshot: Snapshot | None) -> str:
        """The table's folder or URI, as answers name it."""
        if snapshot is not None:
            return snapshot.table
        return self.table_format.root(self.ref) or self.snapshot(At()).table

    def check_outside(self, place: str, what: str, root: str | None = None) -> None:
        """Raise ArgumentError if a place lies in the table's folder and readers do not skip it: they would take what
        lies there for data, and a vacuum would delete it. `what` is to be there."""
        root = root or self.path
        below = _below(place, root)
        if below is not None and not _is_hidden(below):
            raise ArgumentError(
                f"{what} outside of the table, or in a folder of it whose name begins with '_', as other readers take"
                f" all else for data; {place} is in {root}; choose another folder"
            )

    def indexes_folder(self, root: str | None = None) -> str:
        """Return the folder of the indexes. Raises ArgumentError if it is among the table's files."""
        location = self.config.index_location
        root = root or self.root(None)
        if location is not None and not self.ref.patterns:
            self.check_outside(os.fspath(location), "indexes lie", root)
        return IndexFolder.beside(
            root, self.table_format.has_log, None if location is None else os.fspath(location), self.ref.patterns
        )


def _opened(
    table_format: str, ref: TableRef, config: Config, storage_options: dict[str, str], trust_index: bool
) -> Handle:
    return Handle(Format.named(table_format), ref, config, None, storage_options, trust_index)


def _below(place: str, root: str) -> Sequence[str] | None:
    """Return the names from the root down to the place; None if it lies elsewhere."""
    plain, top = _plain(place), _plain(root)
    if plain == top:
        return ()
    start = top.rstrip("/") + "/"
    return plain[len(start) :].split("/") if plain.startswith(start) else None


def _plain(path: str) -> str:
    """Resolve the links of a local path."""
    local = None if is_remote(path) else local_path(path)
    return path.rstrip("/") if local is None else os.path.realpath(local)


def _is_hidden(names: Sequence[str]) -> bool:
    """Return whether engines would skip one of the folders, unless it looks like a partition column or is a log."""
    hidden = [name for name in names if name.startswith(("_", ".")) and "=" not in name]
    return bool(hidden) and not any(name in _LOGS for name in names)
