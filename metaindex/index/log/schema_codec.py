"""Schemas as JSON. Types are Arrow's; each travels as its text for people and inside one base64 Arrow IPC schema, which
is what is read back."""

from __future__ import annotations

import base64
import datetime as dt
import re
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from functools import lru_cache
from typing import Any

import pyarrow as pa

from metaindex.core import Cure, UnsupportedFeatureError
from metaindex.formats import Field, Schema
from metaindex.index.log.fields import FLAG, TEXT, TEXTS, WHOLE, Fields, Form, Member, Repeated


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


_DEFAULTS: dict[str, tuple[type, Callable[[Any], str], Callable[[str], object]]] = {
    "bool": (bool, lambda value: str(value).lower(), lambda text: text == "true"),
    "int": (int, str, int),
    "float": (float, float.hex, float.fromhex),
    "decimal": (Decimal, str, Decimal),
    "string": (str, str, str),
    "bytes": (bytes, lambda value: base64.b64encode(value).decode(), base64.b64decode),
    "timestamp": (dt.datetime, dt.datetime.isoformat, dt.datetime.fromisoformat),
    "date": (dt.date, dt.date.isoformat, dt.date.fromisoformat),
}
"""Of a default, by its kind: its type, a text that has all of it, and the way back. The first kind that fits is its
kind. A default of none has no such text, and counts as unknown."""


def _default_to_json(value: object) -> list[str] | None:
    fitting = ((kind, write) for kind, (type_, write, _) in _DEFAULTS.items() if isinstance(value, type_))
    return next(([kind, write(value)] for kind, write in fitting), None)


def _default_from_json(v: Fields, name: str) -> object:
    value = v.value(name)
    if not isinstance(value, list) or len(value) != 2 or not all(isinstance(part, str) for part in value):
        raise ValueError("a schema: a default is a kind and a text")
    kind, text = value
    if kind not in _DEFAULTS:
        raise ValueError(f"a schema: a default of the kind {kind[:40]!r} is not known")
    return _DEFAULTS[kind][2](text)


def _field_to_json(f: Field) -> dict[str, Any]:
    lost = f.default is not None and _default_to_json(f.default) is None
    return _FIELD.to_json(replace(f, default=None, default_known=False) if lost else f)


def _field_from_json(v: Fields, arrow: pa.Field) -> Field:
    each = v.each("children") if v.has("children") else []
    if each and arrow.type.num_fields != len(each):
        raise ValueError(f"a schema: {arrow.name[:40]!r} has other children than its type")
    children = tuple(_field_from_json(child, arrow.type.field(at)) for at, child in enumerate(each))
    v.text("type")  # for people
    field = _FIELD.taken(v, type=arrow.type, children=children)
    if field.name != arrow.name:
        raise ValueError(f"a schema: {field.name[:40]!r} has another name in its Arrow schema")
    return field


_FIELD = Form(
    Field,
    "a field",
    name=TEXT,
    type=Member(Fields.text, str),
    nullable=FLAG.unless(True),
    stable=TEXT.unless(""),
    source=TEXT.unless(""),
    field_id=WHOLE.unless(None),
    comment=TEXT.unless(""),
    logical=TEXT.unless(""),
    mapped=TEXTS.unless(None),
    partition=FLAG.unless(False),
    bucketed=FLAG.unless(False),
    default=Member(_default_from_json, _default_to_json, default=None),
    default_known=FLAG.unless(True),
    children=Member(Fields.many, lambda children: list(map(_field_to_json, children)), default=()),
)

_SIMPLE = re.compile(
    r"null|bool|u?int(8|16|32|64)|halffloat|float|double|(large_)?(string|binary)|(string|binary)_view"
    r"|date32\[day\]|date64\[ms\]|time32\[m?s\]|time64\[[un]s\]"
)
_TIMESTAMP = re.compile(r"timestamp\[(s|ms|us|ns)(?:, tz=(.+))?\]\Z")
_DECIMAL = re.compile(r"decimal(32|64|128|256)\((\d{1,9}), (-?\d{1,9})\)\Z")
_FIXED = re.compile(r"fixed_size_binary\[(\d{1,9})\]\Z")


@lru_cache(1024)
def type_from_text(text: str) -> pa.DataType | None:
    """The type that `str` shows as `text`; None for what is not a primitive type known here."""
    if _SIMPLE.fullmatch(text):
        return pa.type_for_alias(text)
    if match := _TIMESTAMP.match(text):
        return pa.timestamp(match[1], match[2])
    if match := _DECIMAL.match(text):
        make = {"32": pa.decimal32, "64": pa.decimal64, "128": pa.decimal128, "256": pa.decimal256}[match[1]]
        return make(int(match[2]), int(match[3]))
    if match := _FIXED.match(text):
        return pa.binary(int(match[1]))
    return None
