"""Schemas as JSON. Types are Arrow's; each travels as its text for people and inside one base64 Arrow IPC schema, which
is what is read back."""

from __future__ import annotations

import base64
import datetime as dt
import re
from decimal import Decimal
from typing import Any

import pyarrow as pa

from metaindex.core import Cure, UnsupportedFeatureError
from metaindex.formats import Field, Schema
from metaindex.index.log.fields import Fields, Repeated


def schema_to_json(schema: Schema) -> dict[str, Any]:
    """Return a schema as JSON. Raises UnsupportedFeatureError if it could not be read back."""
    arrow = schema.arrow().serialize()
    try:
        pa.ipc.read_schema(arrow)
    except (OSError, pa.ArrowException) as error:
        raise UnsupportedFeatureError(
            "an index records the table's columns, nested as deep as Arrow reads them (some 120 levels); a column is"
            f" nested deeper; name the others with {Cure('reader', 'schema')}"
        ) from error
    return {
        "arrow": base64.b64encode(arrow.to_pybytes()).decode(),
        "fields": [_field_to_json(f) for f in schema.fields],
    }


def schema_from_json(value: object) -> Schema:
    """ValueError, or what Arrow raises, where it is none."""
    return _schemas(value)


def _schema_from_json(value: object) -> Schema:
    v = Fields(value, "a schema")
    arrow = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(v.text("arrow"), validate=True)))
    fields = v.each("fields")
    v.done()
    if len(fields) != len(arrow):
        raise ValueError(f"a schema: it has {len(arrow)} fields and says something of {len(fields)}")
    return Schema(tuple(_field_from_json(f, arrow.field(i)) for i, f in enumerate(fields)))


_schemas = Repeated(_schema_from_json)


def _field_to_json(f: Field) -> dict[str, Any]:
    out: dict[str, Any] = {"name": f.name, "type": str(f.type)}
    if not f.nullable:
        out["nullable"] = False
    for key in ("stable", "source", "field_id", "comment", "logical"):
        if getattr(f, key) not in ("", None):
            out[key] = getattr(f, key)
    if f.mapped is not None:
        out["mapped"] = list(f.mapped)
    for flag in ("partition", "bucketed"):
        if getattr(f, flag):
            out[flag] = True
    if f.default is not None:
        encoded = _default_to_json(f.default)
        if encoded is None:
            out["default_known"] = False
        else:
            out["default"] = encoded
    if not f.default_known:
        out["default_known"] = False
    if f.children:
        out["children"] = [_field_to_json(c) for c in f.children]
    return out


def _field_from_json(v: Fields, arrow: pa.Field) -> Field:
    children = v.each("children") if v.has("children") else []
    if children and arrow.type.num_fields != len(children):
        raise ValueError(f"a schema: {arrow.name[:40]!r} has other children than its type")
    field = Field(
        name=v.text("name"),
        type=arrow.type,
        nullable=v.flag("nullable") if v.has("nullable") else True,
        stable=v.optional_text("stable") or "",
        source=v.optional_text("source") or "",
        field_id=v.whole("field_id") if v.has("field_id") else None,
        partition=v.has("partition") and v.flag("partition"),
        bucketed=v.has("bucketed") and v.flag("bucketed"),
        default=_default_from_json(v.value("default")) if v.has("default") else None,
        default_known=v.flag("default_known") if v.has("default_known") else True,
        children=tuple(_field_from_json(c, arrow.type.field(i)) for i, c in enumerate(children)),
        comment=v.optional_text("comment") or "",
        logical=v.optional_text("logical") or "",
        mapped=tuple(v.texts("mapped")) if v.has("mapped") else None,
    )
    v.text("type")  # for people
    v.done()
    if field.name != arrow.name:
        raise ValueError(f"a schema: {field.name[:40]!r} has another name in its Arrow schema")
    return field


def _default_to_json(value: object) -> list[str] | None:
    """A default as (kind, text); None where it has no loss-free text: the default then counts as unknown."""
    match value:
        case bool():
            return ["bool", str(value).lower()]
        case int():
            return ["int", str(value)]
        case float():
            return ["float", value.hex()]
        case Decimal():
            return ["decimal", str(value)]
        case str():
            return ["string", value]
        case bytes():
            return ["bytes", base64.b64encode(value).decode()]
        case dt.datetime():
            return ["timestamp", value.isoformat()]
        case dt.date():
            return ["date", value.isoformat()]
        case _:
            return None


def _default_from_json(value: object) -> object:
    if not isinstance(value, list) or len(value) != 2 or not all(isinstance(part, str) for part in value):
        raise ValueError("a schema: a default is a kind and a text")
    kind, text = value
    match kind:
        case "bool":
            return text == "true"
        case "int":
            return int(text)
        case "float":
            return float.fromhex(text)
        case "decimal":
            return Decimal(text)
        case "bytes":
            return base64.b64decode(text)
        case "timestamp":
            return dt.datetime.fromisoformat(text)
        case "date":
            return dt.date.fromisoformat(text)
        case "string":
            return text
        case _:
            raise ValueError(f"a schema: a default of the kind {kind[:40]!r} is not known")


_SIMPLE: dict[str, pa.DataType] = {
    str(t): t
    for t in (
        pa.null(),
        pa.bool_(),
        pa.int8(),
        pa.int16(),
        pa.int32(),
        pa.int64(),
        pa.uint8(),
        pa.uint16(),
        pa.uint32(),
        pa.uint64(),
        pa.float16(),
        pa.float32(),
        pa.float64(),
        pa.string(),
        pa.large_string(),
        pa.string_view(),
        pa.binary(),
        pa.large_binary(),
        pa.binary_view(),
        pa.date32(),
        pa.date64(),
        pa.time32("s"),
        pa.time32("ms"),
        pa.time64("us"),
        pa.time64("ns"),
    )
}
_TIMESTAMP = re.compile(r"timestamp\[(s|ms|us|ns)(?:, tz=(.+))?\]\Z")
_DECIMAL = re.compile(r"decimal(32|64|128|256)\((\d{1,9}), (-?\d{1,9})\)\Z")
_FIXED = re.compile(r"fixed_size_binary\[(\d{1,9})\]\Z")


def type_from_text(text: str) -> pa.DataType | None:
    """The type that `str` shows as `text`; None for what is not a primitive type known here."""
    if text in _SIMPLE:
        return _SIMPLE[text]
    if match := _TIMESTAMP.match(text):
        return pa.timestamp(match[1], match[2])
    if match := _DECIMAL.match(text):
        make = {"32": pa.decimal32, "64": pa.decimal64, "128": pa.decimal128, "256": pa.decimal256}[match[1]]
        return make(int(match[2]), int(match[3]))
    if match := _FIXED.match(text):
        return pa.binary(int(match[1]))
    return None
