"""The columns of plain files: those of the first file in path order, then what the newest file has besides.

Spark (without mergeSchema) takes the first file alone; a column added later is then not to be asked for. What a
single file lacks, or has under another type, is the business of whoever reads that file: bounds are converted from
the type at write time or unknown. A schema that the user names always wins.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from expressions.errors import CorruptTableError, FormatError
from formats.footers import read_metadata
from formats.model import Field, Schema
from formats.storage import Storage

from .listing import Listing
from .options import FilesOptions
from .partitions import Partitions
from .text_schema import csv_schema, json_schema


def read_schema(
    storage: Storage, listing: Listing, file_format: str, options: FilesOptions, parts: Partitions
) -> Schema:
    """Columns of the data, then partition columns; a partition column that the data holds too stands where the data
    has it, with the partition's type."""
    data = options.schema
    if data is None:
        data = _of_files(storage, listing, file_format, options)
    return with_partitions(data, parts)


def with_partitions(data: pa.Schema, parts: Partitions) -> Schema:
    by_name = {name.casefold(): (name, t) for name, t in zip(parts.names, parts.types, strict=True)}
    fields = []
    for one in data:
        partition = by_name.pop(one.name.casefold(), None)
        if partition is None:
            fields.append(field_of(one.name, one.type))
        else:
            fields.append(Field(one.name, partition[1], partition=True, source=partition[0]))
    fields += [Field(name, t, partition=True) for name, t in by_name.values()]
    twice = {f.name.casefold() for f in fields}
    if len(twice) < len(fields):
        names = sorted(f.name for f in fields)
        raise FormatError(
            f"column names differ by more than case; got {', '.join(names)}; name the columns with schema="
        )
    return Schema(tuple(fields))


def field_of(name: str, t: pa.DataType) -> Field:
    """A column of a file: nullable whatever the file says, as another file may lack it."""
    t = plain_type(t)
    children = (
        tuple(field_of(t.field(i).name, t.field(i).type) for i in range(t.num_fields)) if pa.types.is_struct(t) else ()
    )
    return Field(name, t, children=children)


def plain_type(t: pa.DataType) -> pa.DataType:
    """The type without what is only a way of storing it: dictionaries, large and view layouts, extensions."""
    is_ = pa.types
    if isinstance(t, pa.BaseExtensionType):
        return plain_type(t.storage_type)
    if is_.is_dictionary(t):
        return plain_type(t.value_type)
    if is_.is_large_string(t) or is_.is_string_view(t):
        return pa.string()
    if is_.is_large_binary(t) or is_.is_binary_view(t):
        return pa.binary()
    if is_.is_struct(t):
        return pa.struct([pa.field(t.field(i).name, plain_type(t.field(i).type)) for i in range(t.num_fields)])
    if is_.is_map(t):
        return pa.map_(plain_type(t.key_type), plain_type(t.item_type))
    if is_.is_list(t) or is_.is_large_list(t) or is_.is_fixed_size_list(t) or is_.is_list_view(t):
        return pa.list_(plain_type(t.value_type))
    return t


def _of_files(storage: Storage, listing: Listing, file_format: str, options: FilesOptions) -> pa.Schema:
    newest = max(range(len(listing)), key=lambda i: (listing.modified_ns[i], listing.paths[i]))
    chosen = [listing.paths[0]] + ([listing.paths[newest]] if newest else [])
    match file_format:
        case "parquet":
            return _united([_parquet(storage, path) for path in chosen])
        case "csv":
            return csv_schema(storage, chosen, options.reader)
        case _:
            return json_schema(storage, chosen)


def _parquet(storage: Storage, path: str) -> pa.Schema:
    try:
        metadata = read_metadata(storage, path)
        schema = metadata.schema.to_arrow_schema()
    except (pa.ArrowException, CorruptTableError) as error:
        raise CorruptTableError(
            f"the columns of {storage.root!r} are read from {path!r}, which is no Parquet file: {str(error).splitlines()[0]}; "
            "remove it, or name the columns with schema="
        ) from error
    # An INT96 is an instant, which Arrow forgets.
    old = {
        metadata.schema.column(i).path
        for i in range(metadata.num_columns)
        if metadata.schema.column(i).physical_type == "INT96"
    }
    return pa.schema([pa.field(f.name, pa.timestamp("us", "UTC") if f.name in old else f.type) for f in schema])


def _united(schemas: Sequence[pa.Schema]) -> pa.Schema:
    fields = list(schemas[0])
    have = {f.name.casefold() for f in fields}
    for schema in schemas[1:]:
        fields += [f for f in schema if f.name.casefold() not in have]
        have |= {f.name.casefold() for f in schema}
    return pa.schema(fields)
