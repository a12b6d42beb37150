"""Parquet in a Spark plan, in plain files or Delta's: checks that Spark shows what stands in the files, under the names
that an index knows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pyarrow as pa

from metaindex.spark.readers.spark_parquet import CALENDARS, as_written

from .request import Delta, Files

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
    for columns in (scan.schema, scan.partitions):
        struct, types = columns.types
        types_.update(_leaves((), types, struct))
    return types_


def _leaves(parts: tuple[str, ...], types: Any, struct: Any) -> Iterator[tuple[tuple[str, ...], pa.DataType]]:
    for arrow, spark in zip(types, struct, strict=True):
        if _SHOWN_WHERE_ABSENT in (spark.metadata or {}):
            continue
        yield (*parts, arrow.name), arrow.type
        if spark.dataType.typeName() == "struct":
            yield from _leaves((*parts, arrow.name), arrow.type, spark.dataType)
