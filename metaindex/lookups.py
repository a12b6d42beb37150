"""Look-ups, as methods of a table: where a value is, in which columns a text stands, and the rows of an index by its
keys."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal

from formats.model import Version

from .asked import TimestampLike, VersionLike, names_of
from .pruning.open_index import OpenIndex
from .queries import Queries

if TYPE_CHECKING:
    import pyarrow as pa

    from .export import Exported
    from .locate import Located
    from .search import Searched


class LookUps(Queries):
    """The look-ups of `Table`: made of its queries."""

    _storage_options: dict[str, str]

    @abstractmethod
    def versions(self) -> Sequence[Version]: ...

    @abstractmethod
    def _open_index(self, name: str) -> OpenIndex: ...

    @abstractmethod
    def _check_target(self, target: str) -> None:
        """ArgumentError where an export would lie among files of the table or its indexes."""

    def locate(
        self,
        predicate: object,
        version: VersionLike = None,
        timestamp: TimestampLike = None,
        *,
        all_versions: bool = False,
        exact: bool = False,
        indexes: Iterable[str] | None = None,
    ) -> Located:
        """The live files and row groups that may hold matching rows, at a version (default: now) or at all versions
        that can still be read.

        Only kept files are opened, and of them only the footers. `exact` reads the row groups that are left, leaves out
        those without a live match, and counts the matches; a file that stays from version to version is read once.
        Raises what `prune` and `scan` raise; with `all_versions`, a version that cannot be asked is a note.
        """
        from .locate import locate

        return locate(self, predicate, version, timestamp, all_versions=all_versions, exact=exact, indexes=indexes)

    def search(
        self,
        text: str,
        version: VersionLike = None,
        timestamp: TimestampLike = None,
        *,
        exact: bool = False,
        indexes: Iterable[str] | None = None,
    ) -> Searched:
        """In which columns, files and row groups does a text stand, of all columns that an index keys? It is read as
        each column's type reads it. IndexNotFoundError where no index keys any."""
        from .search import search

        only = names_of(indexes, "indexes")
        found, _ = self._open_indexes(only)
        zone = self.config.time_zone
        return search(self, found, text, version, timestamp, exact=exact, indexes=only, time_zone=zone)

    def files_by_id(self, index: str, ids: Sequence[bytes]) -> pa.Table:
        """The index's rows of the given file ids (`metaindex.keys.file_ids`): ordinal, partition, path, size, times,
        run. Unknown ids have no row."""
        from .pruning.lookup import files_by_id

        return files_by_id(self._open_index(index), ids)

    def partitions_by_id(self, index: str, ids: Sequence[int]) -> pa.Table:
        """The index's rows of the given partition ids (`metaindex.keys.partition_id`): number, text, files, bytes,
        run."""
        from .pruning.lookup import partitions_by_id

        return partitions_by_id(self._open_index(index), ids)

    def statistics(self, index: str, column: str, partition: str | None = None) -> pa.Table:
        """The statistics that an index holds of a column, file by file: path, state, bounds, counts of values, NULLs
        and NaNs, sizes, trust."""
        from .pruning.lookup import statistics_of

        return statistics_of(self._open_index(index), column, partition)

    def export_index(
        self,
        index: str,
        target: str,
        *,
        format: Literal["delta", "iceberg"] = "delta",  # noqa: A002
        overwrite: bool = False,
    ) -> Exported:
        """Writes what an index knows of the live files as plain Delta (or, with pyiceberg,
        Iceberg) tables below `target`, a folder or URI: `files`, `column_stats` and, of indexes with keys, `keys` and
        `key_values`; with the names of columns, and values as text, for tools that know nothing of indexes.
        `overwrite`: a new version of the tables of an earlier export. ArgumentError where such a table is there
        already, or one that no export wrote, and for a folder of the table or of another one."""
        from formats.storage import is_remote, storage_for

        from .export import export

        self._check_target(target)
        options = self._storage_options if is_remote(target) else None
        return export(self._open_index(index), storage_for(target, options)[0], format, overwrite=overwrite)
