"""A Delta schema (JSON) as `metaindex.formats.model.Schema`.

Under column mapping a column's stable name is its id and its source the physical name; without, both are the name.
Types that nothing can be proved about (variant, void, collated strings, geometry, intervals, types of users, and what
is newer than this) become a struct without children, so that they have no leaf.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from metaindex.core import CorruptTableError, UnsupportedFeatureError
from metaindex.formats.damage import as_damage, parse_json
from metaindex.formats.files.schema_text import TYPES
from metaindex.formats.model import COLLATED, NOTHING, VARIANT, Field, Schema

from .actions import Metadata

_PRIMITIVES = {name: type_ for name, type_ in TYPES.items() if name not in ("real", "timestamp_ltz")}
_DECIMAL = re.compile(r"^decimal\(\s*(\d+)\s*,\s*(\d+)\s*\)$")
_TEXT = re.compile(r"^(?:var)?char\(\s*\d+\s*\)$")
_CHAR = re.compile(r"(?<!var)char\(", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class TableSchema:
    """The schema, and what only Delta's own reading of statistics and partition values needs."""

    schema: Schema
    partition_columns: tuple[str, ...]  # logical, in the metadata's order
    partition_sources: tuple[str, ...]  # the keys of `partitionValues`
    once_float: frozenset[tuple[str, ...]]
    """Sources of double leaves that were float: their statistics may be printed floats."""
    generated: Mapping[str, str] = field(default_factory=dict)  # of columns that Delta generates, the expression


def parse_schema(metadata: Metadata, table: str) -> TableSchema:
    mode = metadata.configuration.get("delta.columnMapping.mode", "none").lower()
    once_float: set[tuple[str, ...]] = set()
    with as_damage(f"the schemaString of {table} is no Delta schema: ", ""):
        raw_fields = parse_json(metadata.schema_string)["fields"]
        if mode not in ("none", "id", "name"):
            raise UnsupportedFeatureError(f"column mapping is none, id or name; {table} says {mode!r}")
        reader = _SchemaReader(mode, table, once_float)
        fields = tuple(reader.field(raw, ()) for raw in raw_fields)
    fields, names, sources = _with_partitions(fields, metadata.partition_columns, table)
    said = {raw["name"]: (raw.get("metadata") or {}).get("delta.generationExpression") for raw in raw_fields}
    generated = {name: text for name, text in said.items() if isinstance(text, str)}
    return TableSchema(Schema(fields), names, sources, frozenset(once_float), generated)


def _with_partitions(
    fields: tuple[Field, ...], wanted: tuple[str, ...], table: str
) -> tuple[tuple[Field, ...], tuple[str, ...], tuple[str, ...]]:
    exact = {f.name: f for f in fields}
    folded = {f.name.lower(): f for f in fields}
    chosen: list[Field] = []
    for name in wanted:
        column = exact.get(name) or folded.get(name.lower())
        if column is None:
            raise CorruptTableError(f"partition columns stand in the schema; {table} has none named {name!r}")
        chosen.append(column)
    names = {f.name for f in chosen}
    marked = tuple(replace(f, partition=True) if f.name in names else f for f in fields)
    return marked, tuple(f.name for f in chosen), tuple(f.source for f in chosen)


@dataclass(frozen=True, slots=True)
class _SchemaReader:
    mode: str
    table: str
    once_float: set[tuple[str, ...]]

    def field(self, raw: Mapping[str, Any], above: tuple[str, ...], *, padded: bool = False) -> Field:
        name = raw["name"]
        if not isinstance(name, str):
            raise CorruptTableError(f"a column of {self.table} has a name that is no text")
        extra = raw.get("metadata") or {}
        stable, number = name, None
        source: Any = name
        if self.mode != "none":
            source = extra.get("delta.columnMapping.physicalName")
            number = extra.get("delta.columnMapping.id")
            if not isinstance(source, str) or not isinstance(number, int):
                raise CorruptTableError(
                    f"under column mapping every column has an id and a physical name; {self.table}.{name} lacks one"
                )
            stable = f"id:{number}"
        path = (*above, source)
        # Spark says it of the top-level column, of all that is below: "struct<x:char(5)>".
        padded = padded or _CHAR.search(str(extra.get("__CHAR_VARCHAR_TYPE_STRING") or "")) is not None
        children: tuple[Field, ...] = ()
        said, logical = raw["type"], ""
        if isinstance(said, Mapping) and said.get("type") == "struct":
            children = tuple(self.field(child, path, padded=padded) for child in said["fields"])
            type_ = pa.struct([pa.field(c.name, c.type, c.nullable) for c in children])
        elif extra.get("__COLLATIONS") or (padded and said == "string"):
            # Values that are equal under a collation differ in bytes, and so do texts of CHAR(n), which Spark fills up
            # with blanks on both sides of a comparison: nothing that compares bytes may speak of the column.
            type_, logical = NOTHING, COLLATED if said == "string" else ""
        else:
            type_ = self.type(said)
            logical = COLLATED if str(said).startswith("string collate ") else ""
        if any(change.get("fromType") == "float" for change in extra.get("delta.typeChanges") or ()):
            self.once_float.add(path)
        return Field(
            name=name,
            type=type_,
            nullable=bool(raw.get("nullable", True)),
            stable=stable,
            source=source,
            field_id=number if self.mode == "id" else None,
            children=children,
            comment=str(extra.get("comment") or ""),
            logical=logical,
        )

    def type(self, said: Any) -> pa.DataType:
        if isinstance(said, str):
            return self.primitive(said)
        match said.get("type"):
            case "struct":
                fields = [self.field(child, ("",)) for child in said["fields"]]
                return pa.struct([pa.field(f.name, f.type, f.nullable, metadata=self.in_files(f)) for f in fields])
            case "array":
                return pa.list_(
                    pa.field("element", self.type(said["elementType"]), bool(said.get("containsNull", True)))
                )
            case "map":
                value = pa.field("value", self.type(said["valueType"]), bool(said.get("valueContainsNull", True)))
                return pa.map_(self.type(said["keyType"]), value)
            case _:
                return NOTHING

    def in_files(self, f: Field) -> dict[str, str] | None:
        """Return the metadata by which files name a field inside a list or map, known by its Arrow type only."""
        if self.mode == "none":
            return None
        named = {"delta.columnMapping.physicalName": f.source}
        return named if f.field_id is None else {**named, "PARQUET:field_id": str(f.field_id)}

    def primitive(self, said: str) -> pa.DataType:
        if (known := _PRIMITIVES.get(said)) is not None:
            return known
        if match := _DECIMAL.match(said):
            precision, scale = int(match[1]), int(match[2])
            if not (1 <= precision <= 38 and 0 <= scale <= precision):
                raise CorruptTableError(f"decimals have precision 1 to 38; {self.table} has {said}")
            return pa.decimal128(precision, scale)
        if said == "decimal":
            return pa.decimal128(10, 0)
        if _TEXT.match(said):
            return pa.string()
        if said == "variant":
            return VARIANT
        return NOTHING
