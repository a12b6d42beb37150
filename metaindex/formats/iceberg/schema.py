"""Iceberg schemas as `model.Schema`: field ids are the stable names, types in Arrow's terms, initial defaults as
values.

Lists and maps have no children (nothing inside them is indexed); variant, geometry, geography, unknown and types newer
than us are kept as opaque columns without leaves, so that no predicate, statistic or partition can claim anything about
them.
"""

from __future__ import annotations

import datetime as dt
import re
import uuid
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from metaindex.formats.damage import as_damage
from metaindex.formats.model import NOTHING, VARIANT, Field, Leaf, Schema

_PRIMITIVE = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "date": pa.date32(),
    "time": pa.time64("us"),
    "timestamp": pa.timestamp("us"),
    "timestamptz": pa.timestamp("us", "UTC"),
    "timestamp_ns": pa.timestamp("ns"),
    "timestamptz_ns": pa.timestamp("ns", "UTC"),
    "string": pa.string(),
    "uuid": pa.binary(16),
    "binary": pa.binary(),
    "variant": VARIANT,
}
_DECIMAL = re.compile(r"decimal\(\s*(\d+)\s*,\s*(\d+)\s*\)")
_FIXED = re.compile(r"fixed\[\s*(\d+)\s*\]")


def read_schema(content: Mapping[str, Any], table: str, mapped: Mapping[int, tuple[str, ...]] | None = None) -> Schema:
    """The schema of one `schemas` entry. `mapped`: the names that fields have in files without ids."""
    with as_damage(f"an Iceberg schema must follow the specification; a schema of {table} does not (", ")"):
        return Schema(tuple(_field(field, mapped) for field in content["fields"]))


def leaf_by_id(schema: Schema, field_id: int) -> Leaf | None:
    """The leaf with this field id."""
    return next((leaf for leaf in schema.leaves() if leaf.field.field_id == field_id), None)


def _field(field: Mapping[str, Any], mapped: Mapping[int, tuple[str, ...]] | None, *, inside: bool = False) -> Field:
    kind = field["type"]
    children: tuple[Field, ...] = ()
    if isinstance(kind, Mapping) and kind["type"] == "struct":
        children = tuple(_field(child, mapped, inside=True) for child in kind["fields"])
        arrow: pa.DataType = pa.struct([pa.field(c.name, c.type, c.nullable) for c in children])
    else:
        arrow = _type(kind)
    field_id = int(field["id"])
    required = bool(field.get("required", False))
    default, known = None, not required  # a required column without a default has no value in a file that lacks it
    if field.get("initial-default") is not None and not children:
        default, known = _default(kind, field["initial-default"])
    if inside and default is not None:
        known = False  # NULL where the struct itself is NULL, the default where it is not
    return Field(
        name=_named(field),
        type=arrow,
        nullable=not required,
        stable=f"id:{field_id}",
        source=compatible_name(_named(field)),
        field_id=field_id,
        default=default,
        default_known=known,
        children=children,
        comment=str(field.get("doc") or ""),
        logical="uuid" if kind == "uuid" else "",
        mapped=None if mapped is None else mapped.get(field_id, ()),
    )


def _named(field: Mapping[str, Any]) -> str:
    name = field["name"]
    if not isinstance(name, str):
        raise TypeError(f"the name of field {field['id']} is no text")
    return name


def _type(kind: Any) -> pa.DataType:
    if isinstance(kind, Mapping):
        match kind["type"]:
            case "struct":
                return pa.struct(
                    [
                        # Readers know a field inside a list or map by its Arrow type only.
                        pa.field(
                            f["name"],
                            _type(f["type"]),
                            not f.get("required", False),
                            metadata={"PARQUET:field_id": str(f["id"])},
                        )
                        for f in kind["fields"]
                    ]
                )
            case "list":
                return pa.list_(pa.field("element", _type(kind["element"]), not kind.get("element-required", False)))
            case "map":
                return pa.map_(_type(kind["key"]), _type(kind["value"]))
            case _:
                return NOTHING
    name = str(kind)
    if name in _PRIMITIVE:
        return _PRIMITIVE[name]
    if match := _DECIMAL.fullmatch(name):
        return pa.decimal128(int(match[1]), int(match[2]))
    if match := _FIXED.fullmatch(name):
        return pa.binary(int(match[1]))
    return NOTHING


def _default(kind: Any, value: Any) -> tuple[object, bool]:
    """A default in the specification's JSON form as a Python value; (None, False) where we cannot tell what it is."""
    try:
        return _single_value(str(kind), value), True
    except (ValueError, TypeError, ArithmeticError):
        return None, False


_READERS: Mapping[str, Callable[[Any], object]] = {
    **dict.fromkeys(("int", "long"), int),
    **dict.fromkeys(("float", "double"), float),
    "string": str,
    "date": dt.date.fromisoformat,
    "time": dt.time.fromisoformat,
    **dict.fromkeys(("timestamp", "timestamptz"), dt.datetime.fromisoformat),
    "uuid": lambda value: uuid.UUID(value).bytes,
    "binary": bytes.fromhex,
}


def _single_value(kind: str, value: Any) -> object:
    if kind == "boolean" and isinstance(value, bool):
        return value
    if kind in _READERS:
        return _READERS[kind](value)
    if kind in ("timestamp_ns", "timestamptz_ns"):
        plain = re.sub(r"(\+00:00|Z)$", "", value)
        if "+" in plain or "-" in plain.partition("T")[2]:
            raise ValueError(f"{value} is not in UTC")
        nanos = int(np.datetime64(plain, "ns").astype(np.int64))  # Python's times end at microseconds
        return pa.scalar(nanos, pa.int64()).cast(_PRIMITIVE[kind])
    if _DECIMAL.fullmatch(kind):
        return Decimal(str(value))
    if _FIXED.fullmatch(kind):
        return bytes.fromhex(value)
    raise ValueError(kind)


def compatible_name(name: str) -> str:
    """The name under which Iceberg's Parquet writers put the column: letters, digits and `_` stay, the rest is `_x` and
    its hexadecimal number."""
    if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        return name
    out = []
    for position, char in enumerate(name):
        if char.isalpha() or char == "_" or (position and char.isdigit()):
            out.append(char)
        elif char.isdigit():
            out.append("_" + char)
        else:
            out.append(f"_x{ord(char):X}")
    return "".join(out)
