"""Checks that Spark and an index mean the same by a condition and a row. If they may not, the index is not used. Of
Parquet, in plain files or Delta's, that Spark shows what stands in the files, under the names that an index knows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

from metaindex.expressions import Predicate
from metaindex.formats import Leaf, Schema
from metaindex.spark.readers.spark import CALENDARS, as_written
from metaindex.table import Table, handle_of

from . import text_scans
from .reasons import Reason
from .request import Delta, Files, Iceberg


def judged_of_files(table: Table, filters: Sequence[Predicate], source: Files) -> list[Predicate] | Reason:
    """The filters that say of plain files what an index of them can judge, or why none does."""
    asked = [condition for condition in filters if not source.catalog or not _of_partitions(condition, source)]
    if not asked:
        return Reason.NOTHING_PROVED  # the catalog has left out what its partitions say
    types = types_of(source)
    schemas = [schema for _, schema in handle_of(table).recorded()]
    if source.text and not all(text_scans.same_columns(schema, source.text, source) for schema in schemas):
        return Reason.OTHER_TYPES
    if source.text and not text_scans.same_zone(table, source):
        types = {parts: type_ for parts, type_ in types.items() if not text_scans.has_instants(type_)}
    asked = [condition for condition in asked if all(_as_spark_reads(condition, schema, types) for schema in schemas)]
    return asked or Reason.OTHER_TYPES


def are_columns_alike(table: Table, columns: Sequence[Leaf], source: Delta | Iceberg | Files) -> bool:
    """Return whether Spark reads the same in these columns of plain files as the index; True for tables with a log."""
    if not isinstance(source, Files):
        return True
    if source.catalog and any(leaf.field.partition for leaf in columns):
        return False  # the catalog says what it holds
    if source.text and any(text_scans.has_instants(leaf.type) for leaf in columns):
        return text_scans.same_zone(table, source) and _same_everywhere(table, columns, source)
    return _same_everywhere(table, columns, source)


def _same_everywhere(table: Table, columns: Sequence[Leaf], source: Files) -> bool:
    """Return whether the columns agree in all schemas that indexes have recorded."""
    types = types_of(source)
    schemas = [schema for _, schema in handle_of(table).recorded()]
    if source.text and not all(text_scans.same_columns(schema, source.text, source) for schema in schemas):
        return False
    return all(
        any(leaf.parts == other.parts and _alike(other.type, types.get(leaf.parts, pa.null())) for other in of.leaves())
        for leaf in columns
        for of in schemas
    )


def are_rows_alike(table: Table, source: Delta | Iceberg | Files) -> bool:
    """Return whether Spark's rows of text files are the index's, column for column."""
    if not isinstance(source, Files) or source.text is None:
        return True
    schemas = [schema for _, schema in handle_of(table).recorded()]
    return text_scans.same_zone(table, source) and all(
        text_scans.same_columns(schema, source.text, source) for schema in schemas
    )


def _of_partitions(condition: Predicate, source: Files) -> bool:
    """Return whether a condition names a partition column: its values are the catalog's, which may differ from the
    folders' names."""
    names = {name.lower() for name in source.partitions.names}
    return any(column.parts[0].lower() in names for column in condition.columns)


def is_read_as_written(source: Delta | Iceberg | Files) -> bool:
    """Return whether Spark shows what stands in the files, as the index read it. Iceberg reads independently of the
    session."""
    if isinstance(source, Files) and source.text is not None:
        return text_scans.usual_session(source.session)
    return isinstance(source, Iceberg) or read_as_written(source)


def _as_spark_reads(condition: Predicate, schema: Schema, types: Mapping[tuple[str, ...], pa.DataType]) -> bool:
    ours = {leaf.parts: leaf.type for leaf in schema.leaves()}
    return all(
        column.parts in ours and column.parts in types and _alike(ours[column.parts], types[column.parts])
        for column in condition.columns
    )


def _alike(ours: pa.DataType, theirs: pa.DataType) -> bool:
    """Return whether a predicate sees one type: timestamps of any unit with (or without) a zone, texts of any width."""
    is_ = pa.types
    if is_.is_timestamp(ours) and is_.is_timestamp(theirs):
        return (ours.tz is None) == (theirs.tz is None)
    for family in (
        (is_.is_string, is_.is_large_string, is_.is_string_view),
        (is_.is_binary, is_.is_large_binary, is_.is_fixed_size_binary),
    ):
        if any(check(ours) for check in family):
            return any(check(theirs) for check in family)
    return bool(ours == theirs)


_NO_MEANING: Final = frozenset(
    {"path", "basepath", "serialization.format", "mergeschema", "schema", "inferschema", *CALENDARS}
)
"""Options of a Parquet relation that do not change what its columns mean; those of calendars by their values."""
_BY_ID: Final = "spark.sql.parquet.fieldid.read.enabled"
_ID: Final = "parquet.field.id"
"""A column is found by its number where the session says so (as Delta's extension does) and the schema has numbers:
else by its name."""
_SHOWN_WHERE_ABSENT: Final = "EXISTS_DEFAULT"
"""In a field's metadata: what Spark shows in files that are older than the column, which hold nothing of it (ALTER
TABLE ADD COLUMN ... DEFAULT)."""


def read_as_written(scan: Delta | Files) -> bool:
    """Return whether a scan of Parquet files, or Delta's, shows what stands in the files. False for a relation of
    another session, whose settings are unknown."""
    if scan.session is None:
        return False
    set_ = scan.session.settings
    if isinstance(scan, Files):
        if scan.format != "ParquetFileFormat" or not {name.lower() for name in scan.options} <= _NO_MEANING:
            return False
        if any(name.lower() == _BY_ID for name in set_) and not scan.schema.notes(_ID):
            set_ = {name: value for name, value in set_.items() if name.lower() != _BY_ID}
    return as_written(set_, scan.options, delta=isinstance(scan, Delta))


def types_of(scan: Files) -> dict[tuple[str, ...], pa.DataType]:
    """Return the type of every column as Spark reads it from the files: a session may be given another schema than they
    have. Columns that show a default where a file has none are not included."""
    types_: dict[tuple[str, ...], pa.DataType] = {}
    for part in (scan.schema, scan.partitions):
        types_.update(_leaves((), part.types, part.fields))
    return types_


def _leaves(parts: tuple[str, ...], types: Any, fields: Any) -> Iterator[tuple[tuple[str, ...], pa.DataType]]:
    for arrow, spark in zip(types, fields, strict=True):
        if _SHOWN_WHERE_ABSENT in (spark.get("metadata") or {}):
            continue
        yield (*parts, arrow.name), arrow.type
        if isinstance(spark["type"], dict) and spark["type"]["type"] == "struct":
            yield from _leaves((*parts, arrow.name), arrow.type, spark["type"]["fields"])
