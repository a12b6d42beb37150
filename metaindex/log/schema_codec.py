"""Schemas as JSON. Types are Arrow's; each travels as its text for people and inside one base64 Arrow IPC schema, which is what is read back."""

from __future__ import annotations

import base64
import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa

from formats.model import Field, Schema


def schema_to_json(schema: Schema) -> dict[str, Any]:
    return {
        "arrow": base64.b64encode(schema.arrow().serialize().to_pybytes()).decode(),
        "fields": [_field_to_json(f) for f in schema.fields],
    }


def schema_from_json(value: dict[str, Any]) -> Schema:
    arrow = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(value["arrow"])))
    return Schema(tuple(_field_from_json(f, arrow.field(i).type) for i, f in enumerate(value["fields"])))


def _field_to_json(f: Field) -> dict[str, Any]:
    out: dict[str, Any] = {"name": f.name, "type": str(f.type)}
    if not f.nullable:
        out["nullable"] = False
    for key in ("stable", "source", "field_id", "comment"):
        if getattr(f, key) not in ("", None):
            out[key] = getattr(f, key)
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


def _field_from_json(value: dict[str, Any], arrow_type: pa.DataType) -> Field:
    children = value.get("children", ())
    return Field(
        name=value["name"],
        type=arrow_type,
        nullable=value.get("nullable", True),
        stable=value.get("stable", ""),
        source=value.get("source", ""),
        field_id=value.get("field_id"),
        partition=value.get("partition", False),
        bucketed=value.get("bucketed", False),
        default=_default_from_json(value["default"]) if "default" in value else None,
        default_known=value.get("default_known", True),
        children=tuple(_field_from_json(c, arrow_type.field(i).type) for i, c in enumerate(children)),
        comment=value.get("comment", ""),
    )


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


def _default_from_json(value: list[str]) -> object:
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
        case _:
            return text
