"""The types of columns that are stored to be read by Spark in the table's place: those that Arrow, Parquet and Spark
carry without a change, and their names in Spark's schemas (the JSON of `StructType`).

    Arrow                                stored as              Spark
    bool, int8 ... int64                 the same               boolean, byte, short, integer, long
    float, double                        the same               float, double
    text, binary of any kind             string, binary         string, binary
    date32                               the same               date
    timestamp[us] with a zone            timestamp[us, UTC]     timestamp
    timestamp[us] without                the same               timestamp_ntz
    decimal up to 38 digits              decimal128             decimal(p,s)
    list, struct, map of these           of the stored ones     array, struct, map

All else is refused: Spark shows it as something else, or in several ways.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from metaindex.core import DamagedIndexError, first_line

_PLAIN: dict[pa.DataType, str] = {
    pa.bool_(): "boolean",
    pa.int8(): "byte",
    pa.int16(): "short",
    pa.int32(): "integer",
    pa.int64(): "long",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.string(): "string",
    pa.binary(): "binary",
    pa.date32(): "date",
    pa.timestamp("us", "UTC"): "timestamp",
    pa.timestamp("us"): "timestamp_ntz",
}
_VARIANT = {("metadata", pa.binary()), ("value", pa.binary())}
_UUID_BYTES = 16


def stored_type(t: pa.DataType) -> pa.DataType | None:
    """The type that a column of this type is stored as; None where it is refused."""
    is_ = pa.types
    if t in _PLAIN:
        return t
    if is_.is_large_string(t) or is_.is_string_view(t):
        return pa.string()
    if is_.is_large_binary(t) or is_.is_binary_view(t):
        return pa.binary()
    if is_.is_fixed_size_binary(t):
        return pa.binary() if t.byte_width != _UUID_BYTES else None  # Iceberg's uuid is a text to Spark
    if is_.is_timestamp(t):
        return None if t.unit != "us" else pa.timestamp("us", "UTC") if t.tz else t
    if is_.is_decimal(t):
        return pa.decimal128(t.precision, t.scale) if t.precision <= 38 and 0 <= t.scale <= t.precision else None
    return _nested(t)


def _nested(t: pa.DataType) -> pa.DataType | None:
    is_ = pa.types
    if is_.is_list(t) or is_.is_large_list(t):
        element = stored_type(t.value_type)
        return None if element is None else pa.list_(pa.field("element", element))
    if is_.is_map(t):
        key, value = stored_type(t.key_type), stored_type(t.item_type)
        if key is None or value is None:
            return None
        return pa.map_(pa.field("key", key, nullable=False), pa.field("value", value))
    if is_.is_struct(t) and t.num_fields:
        inner = [t.field(at) for at in range(t.num_fields)]
        if {(field.name, field.type) for field in inner} == _VARIANT or len(
            {field.name.lower() for field in inner}
        ) < len(inner):
            return None
        types = [stored_type(field.type) for field in inner]
        if any(type_ is None for type_ in types):
            return None
        return pa.struct([pa.field(field.name, stored) for field, stored in zip(inner, types, strict=True)])
    return None


def spark_type(t: pa.DataType) -> Any:
    """A stored type in the JSON of Spark's schemas."""
    if t in _PLAIN:
        return _PLAIN[t]
    if pa.types.is_decimal(t):
        return f"decimal({t.precision},{t.scale})"
    if pa.types.is_list(t):
        return {"type": "array", "elementType": spark_type(t.value_type), "containsNull": True}
    if pa.types.is_map(t):
        described = {"type": "map", "keyType": spark_type(t.key_type), "valueType": spark_type(t.item_type)}
        return {**described, "valueContainsNull": True}
    fields = [t.field(at) for at in range(t.num_fields)]
    return {"type": "struct", "fields": [_field(field.name, field.type) for field in fields]}


def spark_schema(fields: Sequence[pa.Field]) -> str:
    """Columns of stored types as the JSON of a StructType."""
    return json.dumps(
        {"type": "struct", "fields": [_field(field.name, field.type) for field in fields]}, separators=(",", ":")
    )


def arrow_schema(text: str) -> pa.Schema:
    """The stored columns that the JSON of a StructType names: what `spark_schema` was made of. DamagedIndexError."""
    try:
        return pa.schema([pa.field(name, _arrow(type_)) for name, type_ in stored_types(text).items()])
    except DamagedIndexError:
        raise
    except Exception as error:
        raise _damaged(error) from error


def stored_types(text: str) -> dict[str, Any]:
    """The type of each of them by its name, as JSON of Spark's. DamagedIndexError."""
    try:
        return {field["name"]: field["type"] for field in json.loads(text)["fields"]}
    except Exception as error:
        raise _damaged(error) from error


def _damaged(error: Exception) -> DamagedIndexError:
    return DamagedIndexError.for_repair(
        "the columns of stored rows are a StructType of Spark; those of one index are not"
        f" ({first_line(error, named=True)})"
    )


def _field(name: str, t: pa.DataType) -> dict[str, Any]:
    return {"name": name, "type": spark_type(t), "nullable": True, "metadata": {}}


_BACK = {name: t for t, name in _PLAIN.items()}


def _arrow(said: Any) -> pa.DataType:
    if isinstance(said, str):
        if said in _BACK:
            return _BACK[said]
        precision, _, scale = said.removeprefix("decimal(").removesuffix(")").partition(",")
        return pa.decimal128(int(precision), int(scale))
    match said["type"]:
        case "array":
            return pa.list_(pa.field("element", _arrow(said["elementType"])))
        case "map":
            return pa.map_(
                pa.field("key", _arrow(said["keyType"]), nullable=False), pa.field("value", _arrow(said["valueType"]))
            )
        case _:
            return pa.struct([pa.field(field["name"], _arrow(field["type"])) for field in said["fields"]])
