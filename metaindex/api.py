"""The public face: a table, and the verbs on its indexes. Only delegates.

table = mi.open_table("s3://lake/flights")
table.create_index("stats", mi.ColumnStats())
result = table.prune("tailnum = 'N14228' AND dep_delay > 60")
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from typing import TYPE_CHECKING

from expressions.errors import ArgumentError, UnsupportedFeatureError, VersionNotFoundError
from expressions.records import dataclass
from formats.model import Diff, FileTable, Schema, Snapshot, Version
from formats.protocol import At, Resolved, TableFormat, TableRef, lists_once
from formats.registry import catalog_options, open_ref
from formats.storage import is_remote, parent_of
from formats.storage_confined import Confines, confined
from formats.storage_own import own_folder

from .apart import check_apart, check_no_index
from .asked import TimestampLike, VersionLike, at_version
from .config import Config, sealing
from .errors import IndexNotFoundError
from .folder import IndexFolder
from .log.operation_log import OperationLog
from .lookups import LookUps
from .pruning.open_index import OpenIndex
from .pruning.remembered import Remembered
from .pruning.result import IndexReport
from .store.layout import indexes_folder, list_namespaces, namespace_folder
from .store.reader import StoreCache
from .suspects import Suspects
from .upkeep import IndexUpkeep

if TYPE_CHECKING:  # what writes is loaded by the verbs that write: a reader's start is short
    from pyspark.sql import SparkSession

    from .actions.written import Written
    from .log.entry import IndexLogEntry
    from .readers.footer import HeldFooters

logger = logging.getLogger("metaindex")
_CATALOG_OPTIONS = {"catalog", "identifier"}


def open_table(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    format: str | None = None,  # noqa: A002 - the word of every reader in the field
    catalog: object = None,
    storage_options: Mapping[str, str] | None = None,
    spark: SparkSession | Callable[[], SparkSession] | None = None,
    config: Config | None = None,
    **options: object,
) -> Table:
    """Opens the table at a path: Delta, Iceberg, or a folder of Parquet, CSV or JSON files, detected unless `format`
    says.

    Plain files may also be named by a pattern (`/data/2024-*/part-*.parquet`, as Hadoop reads them), a list of paths,
    or with `basePath`: all files that fit are one table, whose paths are relative to the deepest folder above them (or
    to `basePath`); `store.layout` says where its indexes lie. A path that exists as it stands is no pattern.

    `catalog` is a pyiceberg catalog (`path` is then the table's identifier). `storage_options` are the object store's.
    `spark` is the session that builds indexes, or what makes one when it is needed (default: one is started).
    `trust_index`: the caller promises that plain files have not changed since an index was last created or refreshed;
    "now" is then the newest version that an index has recorded, and the folder is not listed. Where none is recorded,
    it is. Other options are the reader's (`header`, `delimiter`, `schema` ...).
    Raises NotATableError, UnsupportedFeatureError, StorageError; ArgumentError for what is no path, format or option.
    """
    _check_opening(path, format, storage_options, config)
    if catalog is not None:
        options["catalog"] = catalog
        storage_options = {**catalog_options(catalog, str(path)), **(storage_options or {})}
    stores = dict(storage_options or {})
    if config is not None and config.single_writer:
        stores["single_writer"] = "true"
    trust = str(options.pop("trust_index", False)).lower() == "true"
    table_format, ref = open_ref(path, format=format, storage_options=stores, **options)
    if trust and table_format.name != "files":
        raise UnsupportedFeatureError(
            f"trust_index is for plain files; {ref.path!r} is a {table_format.name} table, whose log says at once what is new; leave it out"
        )
    if table_format.name != "files" and (unknown := sorted(options.keys() - _CATALOG_OPTIONS)):
        raise ArgumentError(
            f"reader options are for plain files; {ref.path!r} is a {table_format.name} table; leave out {', '.join(unknown)}"
        )
    return Table(table_format, ref, config or Config(), spark, stores, trust)


def _check_opening(path: object, table_format: object, storage_options: object, config: object) -> None:
    """Are the words of `open_table` of their types? What they name is looked at later."""
    paths = list(path) if isinstance(path, Sequence) and not isinstance(path, str | bytes) else [path]
    for one in paths:
        text = os.fspath(one) if isinstance(one, str | os.PathLike) else None
        if not isinstance(text, str) or not text:
            raise ArgumentError(f"a table is opened by its path or URI, or a list of them; got {one!r}; name a folder")
    if not isinstance(table_format, str | None):
        raise ArgumentError(f"format is delta, iceberg, parquet, csv or json; got {table_format!r}; name one of these")
    if not isinstance(storage_options, Mapping | None):
        raise ArgumentError(
            f"storage options are names and values, as in {{'region': 'eu-west-1'}}; got {type(storage_options).__name__}"
        )
    if not isinstance(config, Config | None):
        raise ArgumentError(f"config= is a metaindex.Config; got {type(config).__name__}; write mi.Config(...)")


@dataclass(repr=False)
class Table(LookUps, IndexUpkeep):
    """A table of the lake and its indexes. Opened by `open_table`; holds no state of the table but caches of immutable
    things."""

    _format: TableFormat
    _ref: TableRef
    config: Config
    _spark: SparkSession | Callable[[], SparkSession] | None = field(default=None, repr=False)
    _storage_options: dict[str, str] = field(default_factory=dict, repr=False)
    _trust_index: bool = False
    _snapshots: dict[Version, Snapshot] = field(default_factory=dict, repr=False)
    _cache: StoreCache = field(default_factory=StoreCache, repr=False)
    _held_footers: HeldFooters | None = field(default=None, repr=False)
    _answers_held: Remembered | None = field(default=None, repr=False)
    _folder: IndexFolder | None = field(default=None, repr=False)
    _looked: tuple[list[OpenIndex], list[IndexReport]] | None = field(default=None, repr=False)
    _suspects: Suspects = field(default_factory=Suspects, repr=False)
    written: Written | None = field(
        default=None, repr=False
    )  # what is known of a commit by whoever made it: for the refresh behind it

    def __repr__(self) -> str:
        return f"<{self.format} table at {self.path}>"

    def __post_init__(self) -> None:
        self._cache.limit_bytes = self.config.cache_bytes
        if (self.config.confine or self.config.confine_to) and self._ref.confines is None:
            confines = Confines.of(self._ref.storage, self.config.confine_to)
            self._ref = replace(self._ref, storage=confined(self._ref.storage, confines), confines=confines)
        if self.format == "files" and (self.config.index_location is not None or self._ref.confines is not None):
            # Listings are kept where the indexes are.
            folder = f"{self._indexes_folder()}/_history"
            options = self._storage_options if is_remote(folder) else None
            kept = own_folder(folder, self._indexes_folder(), self._root(None), options)
            self._ref = replace(self._ref, history=kept)

    # -- the table -------------------------------------------------------------------------------------------------

    @property
    def path(self) -> str:
        return self._ref.path

    @property
    def format(self) -> str:
        return self._format.name

    def snapshot(self, version: VersionLike = None, timestamp: TimestampLike = None) -> Snapshot:
        """The live files at a version (default: now). VersionNotFoundError where there is none."""
        return self._snapshot(at_version(version, timestamp))

    def diff(
        self,
        base: VersionLike = None,
        target: VersionLike = None,
        *,
        base_timestamp: TimestampLike = None,
        target_timestamp: TimestampLike = None,
    ) -> Diff:
        """What changed from one version to another (default: now), in either direction: from the log where it serves
        the range, else by comparing snapshots. `base`, or its time, has to be said. `Diff.positions(row)`: the rows of
        file `row` of `deletes_changed` that were deleted and restored."""
        if base is None and base_timestamp is None:
            raise VersionNotFoundError(
                "a diff starts at a version; none was given; say which: base=, or base_timestamp="
            )
        start, end = self._snapshot(at_version(base, base_timestamp)), at_version(target, target_timestamp)
        found = self._format.diff(self._ref, start, end)
        from formats.diff import compare, with_positions

        if found is not None:
            return with_positions(found, start, lambda: self._snapshot(end))
        return compare(start, self._snapshot(end))

    def versions(self) -> Sequence[Version]:
        """Versions that can be read, oldest first."""
        return self._format.versions(self._ref)

    def reopened(self, config: Config | None = None) -> Table:
        """The same table as a handle of its own: for another thread, or with another configuration."""
        config = config or self.config
        return Table(self._format, self._ref, config, self._spark, self._storage_options, self._trust_index)

    def recorded(self) -> list[tuple[Version, Schema]]:
        """The newest version that each usable index has recorded, and the schema that the table had."""
        found = [(index, index.versions.newest()) for index in self._open_indexes(None)[0]]
        seen = [(one, index.versions.find(one.version)) for index, one in found if one is not None]
        return [(record.version, version.schema) for record, version in seen if version is not None]

    def usable_indexes(self) -> list[str]:
        """Names of the indexes that a query may use now, sorted."""
        return [index.name for index in self._open_indexes(None)[0]]

    def entries(self) -> list[IndexLogEntry]:
        """The latest entry of each index of the table, whatever options it was built with; those that cannot be read
        are left out."""
        return self._indexes().entries()

    def with_options(self, file_format: str, options: Mapping[str, object]) -> Table:
        """The same plain files, read with other options. NotATableError, UnsupportedFeatureError."""
        table_format, ref = open_ref(self.path, format=file_format, storage_options=self._storage_options, **options)
        return Table(table_format, ref, self.config, self._spark, self._storage_options, self._trust_index)

    def forget(self) -> None:
        """Keeps only what can never change: the next verb looks at every log anew."""
        self._folder, self.written = None, None

    def namespaces(self) -> list[str]:
        """Names of the namespaces (`Config.namespace`) that have indexes of this table, beside the common one."""
        return list_namespaces(self._indexes_folder(), self._storage_options)

    # -- inside ----------------------------------------------------------------------------------------------------

    def _snapshot(self, at: At) -> Snapshot:
        if self._trust_index and at == At():
            try:
                return self._loaded(self._resolved(self._trusted(at, self._open_indexes(None)[0])))
            except VersionNotFoundError as error:
                logger.warning(
                    "the listing that the index recorded is not kept any more, so the folder is listed: %s", error
                )
        return self._loaded(self._resolved(at))

    def _loaded(self, resolved: Resolved) -> Snapshot:
        found = self._snapshots.get(resolved.version)
        if found is None:
            found = resolved.load()
            self._confined(found.files)
            if len(self._snapshots) >= 4:
                self._snapshots.pop(next(iter(self._snapshots)))
            self._snapshots[found.version] = found
        return found

    def _confined(self, files: FileTable) -> None:
        if self._ref.confines is not None:
            self._ref.confines.check(files.paths.to_pylist())

    def _trusted(self, at: At, found: Sequence[OpenIndex]) -> At:
        """What is asked, where the caller vouches for the indexes: "now" is the newest version that one of them
        recorded."""
        if not self._trust_index or at != At():
            return at
        records = [record for index in found if (record := index.versions.newest()) is not None]
        newest = max(records, key=lambda record: record.timestamp_ms, default=None)
        return at if newest is None else At.of(newest.version)

    def _resolved(self, at: At, found: Sequence[OpenIndex] = ()) -> Resolved:
        """Which version is asked, and its snapshot when it is needed. For plain files an index that recorded the
        listing says so, and nothing is listed; else they are listed once."""
        if self.format == "files" and at.version is not None:
            from formats.files.table import version_named

            named = version_named(self._ref, str(at.version))
            if any(index.versions.find(named) is not None for index in found):
                return Resolved(named, lambda: self._snapshot(at))
        if lists_once(self._format):
            return self._format.resolved(self._ref, at)
        return Resolved(self._format.resolve(self._ref, at), lambda: self._format.snapshot(self._ref, at))

    @contextmanager
    def looked_at_once(self) -> Iterator[None]:
        """Inside, the indexes are looked at once, whatever is asked: for several questions of one query. A handle is
        one thread's; inside of itself it does nothing."""
        if self._looked is not None:
            yield
            return
        self._looked = self._open_indexes(None)
        try:
            yield
        finally:
            self._looked = None

    def _open_indexes(self, only: Iterable[str] | None) -> tuple[list[OpenIndex], list[IndexReport]]:
        if not self.config.use_indexes:
            return [], []
        if self._looked is None:
            return self._suspects.taken_out(*self._indexes().readable(self._ref, only))
        found, refused = self._suspects.taken_out(*self._looked)
        if only is None:
            return list(found), list(refused)
        wanted = set(only)
        if missing := wanted - {one.name for one in found} - {one.name for one in refused}:
            raise IndexNotFoundError(
                f"there is no index named {', '.join(sorted(missing))} that was found a moment ago; look again"
            )
        return [one for one in found if one.name in wanted], [one for one in refused if one.name in wanted]

    def _open_index(self, name: str) -> OpenIndex:
        found, refused = self._open_indexes([name])
        if not found:
            why = refused[0].reason if refused else "it does not exist any more"
            raise IndexNotFoundError(f"a look-up needs an index that can be read; {name!r} cannot be: {why}")
        return found[0]

    def _indexes(self) -> IndexFolder:
        if self._folder is None:
            root = self._root(None)
            folder = namespace_folder(self._indexes_folder(root), self.config.namespace)
            key = sealing(self.config.seal_key)
            self._folder = IndexFolder(folder, self.format, self._storage_options, self._cache, root, key)
        return self._folder

    def _check_target(self, target: str) -> None:
        if not isinstance(target, str | os.PathLike) or not os.fspath(target):
            raise ArgumentError(f"an export goes to a folder or URI; got {target!r}; name one")
        if not self._ref.patterns:
            check_apart(os.fspath(target), self._root(None), "an export is written")
        check_no_index(os.fspath(target), self._indexes_folder())

    def _indexes_folder(self, root: str | None = None) -> str:
        location = self.config.index_location
        root = root or self._root(None)
        if location is not None and not self._ref.patterns:
            check_apart(os.fspath(location), root, "indexes lie")
        return indexes_folder(root, self.format, None if location is None else os.fspath(location), self._ref.patterns)

    def _log(self, name: str) -> OperationLog:
        return self._indexes().log(name)

    def _root(self, snapshot: Snapshot | None) -> str:
        if snapshot is not None:
            return snapshot.table
        if self.format != "iceberg":
            return self._ref.storage.uri("") if self.format == "delta" else self._ref.storage.root
        if "catalog" in self._ref.options:
            return self._snapshot(At()).table
        if self._ref.path.endswith(".json"):
            return parent_of(parent_of(self._ref.path))
        return self._ref.path
