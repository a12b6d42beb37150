"""Exported Iceberg tables, written by pyiceberg: version 2, without partitions and without a catalog. The metadata lie
as a Hadoop catalog has them (`metadata/v3.metadata.json`, `version-hint.text`), so that Spark, DuckDB and others read
the folder, and a catalog registers the newest file. A version is created put-if-absent."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from metaindex.expressions.errors import ArgumentError, MetaIndexError, MissingDependencyError, ObjectExistsError
from metaindex.formats.storage import Storage
from metaindex.formats.written import WRITER, Part, in_the_way

if TYPE_CHECKING:
    from pyiceberg.table import Table
    from pyiceberg.table.metadata import TableMetadata

_METADATA = re.compile(r"(?:^|/)v(\d{1,18})\.metadata\.json$", re.ASCII)
_PROPERTY = "written-by"


class IcebergTables:
    """Tables in local folders and in stores."""

    DATA = "data"

    def check(self, target: Storage, name: str, overwrite: bool) -> None:
        try:
            import pyiceberg  # noqa: F401 - is it there?
        except ImportError as error:
            raise MissingDependencyError(
                "Iceberg tables are written by pyiceberg; it is not installed; install metaindex with the extra:"
                " metaindex[iceberg]"
            ) from error
        newest = _newest(target, name)
        if newest is None:
            if any(True for _ in target.list(f"{name}/metadata")):
                raise in_the_way(target, name, False)
            return
        ours = _is_ours(target, name, newest)
        if not (ours and overwrite):
            raise in_the_way(target, name, ours)

    def commit(self, target: Storage, name: str, schema: pa.Schema, parts: Sequence[Part]) -> None:
        from pyiceberg.io.pyarrow import parquet_files_to_data_files

        from .written_io import location_of

        version = _newest(target, name)
        table = _opened(target, name, schema, version)
        before = [task.file for task in table.scan().plan_files()] if version is not None else []
        about = {_PROPERTY: WRITER}
        with (
            table.transaction() as change,
            change.update_snapshot(snapshot_properties=about).overwrite() as made,
        ):
            for file in before:
                made.delete_data_file(file)
            paths = [location_of(target, part.path) for part in parts if part.rows]
            for file in parquet_files_to_data_files(table.io, table.metadata, iter(paths)):
                made.append_data_file(file)


def _newest(target: Storage, name: str) -> int | None:
    numbers = [int(m[1]) for info in target.list(f"{name}/metadata") if (m := _METADATA.search(info.path))]
    return max(numbers, default=None)


def _is_ours(target: Storage, name: str, newest: int) -> bool:
    try:
        said: Any = json.loads(target.read(_path(name, newest)))
        return bool(said["properties"].get(_PROPERTY) == WRITER)
    except (ValueError, KeyError, AttributeError, TypeError, MetaIndexError):
        return False


def _path(name: str, version: int) -> str:
    return f"{name}/metadata/v{version}.metadata.json"


def _opened(target: Storage, name: str, schema: pa.Schema, version: int | None) -> Table:
    """The table as it is, or a new one of which nothing is written yet."""
    from pyiceberg.catalog.noop import NoopCatalog
    from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC
    from pyiceberg.schema import Schema, assign_fresh_schema_ids
    from pyiceberg.table import CommitTableResponse, Table
    from pyiceberg.table.metadata import new_table_metadata
    from pyiceberg.table.sorting import UNSORTED_SORT_ORDER
    from pyiceberg.table.update import update_table_metadata
    from pyiceberg.types import BooleanType, LongType, NestedField, StringType

    from .written_io import StorageIO, location_of

    types = {pa.string(): StringType(), pa.int64(): LongType(), pa.bool_(): BooleanType()}
    location = location_of(target, name)

    class Folder(NoopCatalog):
        """Commits to the folder: the next number is taken once."""

        def commit_table(self, table: Table, requirements: Any, updates: Any) -> CommitTableResponse:
            for requirement in requirements:
                requirement.validate(table.metadata)
            number = (version or 0) + 1
            made = update_table_metadata(table.metadata, updates, metadata_location=table.metadata_location or None)
            put(target, name, number, made)
            answer: dict[str, Any] = {"metadata": made, "metadata-location": target.uri(_path(name, number))}
            return CommitTableResponse(**answer)

    if version is None:
        fields = [NestedField(number, f.name, types[f.type], required=False) for number, f in enumerate(schema, 1)]
        made = assign_fresh_schema_ids(Schema(*fields))
        properties = {_PROPERTY: WRITER, "schema.name-mapping.default": made.name_mapping.model_dump_json()}
        metadata = new_table_metadata(made, UNPARTITIONED_PARTITION_SPEC, UNSORTED_SORT_ORDER, location, properties)
        where = ""
    else:
        from pyiceberg.table.metadata import TableMetadataUtil

        metadata = TableMetadataUtil.parse_raw(target.read(_path(name, version)).decode())
        where = target.uri(_path(name, version))
    return Table((name,), metadata, where, StorageIO(target), Folder("export"))


def put(target: Storage, name: str, number: int, metadata: TableMetadata) -> None:
    """ArgumentError where the number is taken."""
    try:
        target.put_if_absent(_path(name, number), metadata.model_dump_json().encode())
    except ObjectExistsError as error:
        raise ArgumentError(
            f"an export is a new version of its table; {target.uri(name)} has another one by now; export again"
        ) from error
    target.put(f"{name}/metadata/version-hint.text", str(number).encode())
