"""The columns of plain files: those of the first file in path order, then what the newest file has besides.

Spark (without mergeSchema) takes the first file alone; a column added later is then not to be asked for. What a
single file lacks, or has under another type, is the business of whoever reads that file: bounds are converted from
the type at write time or unknown. With `mergeSchema` the columns are those of all files, as Spark merges them. A schema
that the user names always wins.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa

from metaindex.core import CorruptTableError, Cure, FormatError, UnsupportedFeatureError, first_line
from metaindex.formats.column_names import alike
from metaindex.formats.format import TableRef
from metaindex.formats.model import Field, Schema, Snapshot
from metaindex.formats.parquet.footers import read_metadata
from metaindex.storage import Storage, each_at

from .beginnings import NAME_COLUMNS
from .csv_schema import csv_schema, look_for_data
from .header import LooksLikeData
from .json_schema import json_schema
from .options import FilesOptions, by_its_name
from .partitions import Partitions
from .schema_text import merged_type, plain_type


class UntoldColumns(CorruptTableError):
    """A damaged file should tell the columns, which the user may name instead."""


def data_schema(
    storage: Storage, paths: Sequence[str], times: Sequence[int], file_format: str, options: FilesOptions
) -> pa.Schema:
    """The columns of the data files, in path order. `times`: when each was modified; only the first and the newest file
    are opened, save with Spark's mergeSchema; of texts the first that has a line."""
    if options.schema is not None:
        if file_format == "csv" and "header" not in options.reader:
            look_for_data(storage, [paths[0], *_newest(paths, times)], options.reader, options.schema)
        return options.schema
    newest = _newest(paths, times)
    match file_format:
        case "parquet":
            if options.reader.get("mergeschema", "false").lower() == "true":
                return merged(list(zip(paths, each_at(storage.root, paths, partial(_parquet, storage)), strict=True)))
            return _united(each_at(storage.root, (paths[0], *newest), partial(_parquet, storage)))
        case "csv":
            return csv_schema(storage, paths, [paths[0], *newest][-1], options.reader)
        case _:
            return json_schema(storage, paths, [paths[0], *newest][-1], options.reader)


def needs_header(ref: TableRef, snapshot: Snapshot) -> bool:
    """Return whether an explicit header setting is redundant, as the default reads the files in the same way. False if
    the first row looks like data, or the files have no header. Raises what reading them raises."""
    said = FilesOptions.of(ref.options)
    unsaid = {name: value for name, value in said.reader.items() if name != "header"}
    paths, times = snapshot.files.paths.to_pylist(), snapshot.files.table.column("modified_ms").to_pylist()
    try:
        data_schema(ref.storage, paths, times, "csv", replace(said, reader=unsaid))
    except LooksLikeData:
        return True
    return False


def _newest(paths: Sequence[str], times: Sequence[int]) -> list[str]:
    """The newest file, the last of several; none where it is the first of all."""
    newest = len(paths) - 1 - int(np.argmax(np.asarray(times, np.int64)[::-1]))
    return [paths[newest]] if newest else []


def with_partitions(data: pa.Schema, parts: Partitions, file_format: str) -> Schema:
    """Columns of the data, then partition columns; a partition column that the data holds too stands where the data
    has it, with the partition's type.

    A column of CSV is the values at a place in each line, whatever a file's header calls it: its stable name says
    where, for the schema names what is there by the first file, or by the user's word, and that may change.
    """
    by_name = {alike(name): (name, t) for name, t in zip(parts.names, parts.types, strict=True)}
    fields = []
    for place, field in enumerate(data):
        partition = by_name.pop(alike(field.name), None)
        if partition is None:
            column = field_of(field.name, field.type)
            fields.append(replace(column, stable=f"{place}:{field.name}") if file_format == "csv" else column)
        else:
            fields.append(Field(field.name, partition[1], partition=True, source=partition[0]))
    fields += [Field(name, t, partition=True) for name, t in by_name.values()]
    twice = {alike(f.name) for f in fields}
    if len(twice) < len(fields):
        names = sorted(f.name for f in fields)
        raise FormatError(
            f"column names differ by more than case; got {', '.join(names)}; rename one of them where it stands (in the"
            f" files, in {Cure('reader', 'schema')}, or as a partition)"
        )
    return Schema(tuple(fields))


def field_of(name: str, t: pa.DataType) -> Field:
    """A column of a file: nullable whatever the file says, as another file may lack it."""
    t = plain_type(t)
    children = (
        tuple(field_of(t.field(i).name, t.field(i).type) for i in range(t.num_fields)) if pa.types.is_struct(t) else ()
    )
    return Field(name, t, children=children)


def _parquet(storage: Storage, path: str) -> pa.Schema:
    try:
        metadata = read_metadata(storage, path)
        _refuse_collations(storage, path, metadata.metadata or {})
        schema = metadata.schema.to_arrow_schema()
        columns = [metadata.schema.column(i) for i in range(metadata.num_columns)]
        # An INT96 is an instant, which Arrow forgets.
        old = {column.path for column in columns if column.physical_type == "INT96"}
        return pa.schema([pa.field(f.name, pa.timestamp("us", "UTC") if f.name in old else f.type) for f in schema])
    except (pa.ArrowException, CorruptTableError, ValueError) as error:
        named = by_its_name(path, "parquet")
        fact = error.args[0] if isinstance(error, CorruptTableError) else first_line(error)
        raise (CorruptTableError if named else UntoldColumns)(
            f"the columns of plain files are those of the first and the newest of them; {path!r} of {storage.root!r} is"
            f" no Parquet file ({fact})",
            named or f"write it again, remove it, or {NAME_COLUMNS}",
        ) from error


def _refuse_collations(storage: Storage, path: str, said: Mapping[bytes, bytes]) -> None:
    """Spark writes the collation of a text into the footer, and compares by it when it reads the files again: equal
    texts then differ in bytes, by which everything is compared here."""
    if b'"__COLLATIONS"' in said.get(_SPARK_ROW, b""):
        raise UnsupportedFeatureError(
            f"texts are compared by their bytes; Spark wrote {path!r} of {storage.root!r} with a collation;"
            f" {NAME_COLUMNS}, where that is what is meant"
        )


_SPARK_ROW = b"org.apache.spark.sql.parquet.row.metadata"


def _united(schemas: Sequence[pa.Schema]) -> pa.Schema:
    fields = list(schemas[0])
    have = {alike(f.name) for f in fields}
    for schema in schemas[1:]:
        fields += [f for f in schema if alike(f.name) not in have]
        have |= {alike(f.name) for f in schema}
    return pa.schema(fields)


def merged(schemas: Sequence[tuple[str, pa.Schema]]) -> pa.Schema:
    """Merge the columns of all files, in order of appearance. As in Spark, a column has one type in all files, but
    decimals of one scale, which take the widest."""
    fields: dict[str, pa.Field] = {}
    seen: dict[str, str] = {}
    for path, schema in schemas:
        for field in schema:
            key = alike(field.name)
            was, t = fields.get(key), plain_type(field.type)
            try:
                wider = t if was is None else merged_type(was.type, t, _widest)
            except TypeError as error:
                raise FormatError(
                    f"with mergeSchema a column has one type; {field.name!r} is {fields[key].type} in {seen[key]!r} and"
                    f" {t} in {path!r}",
                    NAME_COLUMNS,
                ) from error
            fields[key] = pa.field(field.name if was is None else was.name, wider)
            seen.setdefault(key, path)
    return pa.schema(list(fields.values()))


def _widest(a: pa.DataType, b: pa.DataType) -> pa.DataType:
    if pa.types.is_decimal(a) and pa.types.is_decimal(b) and a.scale == b.scale:
        return max(a, b, key=lambda t: int(t.precision))
    raise TypeError(f"{a} and {b}")
