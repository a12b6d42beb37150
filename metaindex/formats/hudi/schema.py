"""The columns of a table: the Avro schema of its commits, with Hudi's own columns before them.

Base files are read by the names of columns. What a file has under another type, because its column was widened after it
was written, is read as Hudi reads it or not at all: a float that became a double is another number there (through its
text), and a number that became a text is not read here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from metaindex.core import UnsupportedFeatureError
from metaindex.formats.column_names import alike
from metaindex.formats.damage import as_damage, parse_json
from metaindex.formats.model import Field, Schema

from .properties import TableConfig

META_FIELDS = (
    "_hoodie_commit_time",
    "_hoodie_commit_seqno",
    "_hoodie_record_key",
    "_hoodie_partition_path",
    "_hoodie_file_name",
)
_PLAIN = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "bytes": pa.binary(),
    "string": pa.string(),
}
_LOGICAL = {
    ("int", "date"): pa.date32(),
    ("long", "timestamp-millis"): pa.timestamp("us", "UTC"),
    ("long", "timestamp-micros"): pa.timestamp("us", "UTC"),
    ("long", "local-timestamp-millis"): pa.timestamp("us"),
    ("long", "local-timestamp-micros"): pa.timestamp("us"),
    ("string", "uuid"): pa.string(),
}
_WIDER = {pa.int32(): (pa.int64(), pa.float64())}
_DEEPEST = 100
_MOST_TYPES = 200_000


def parse_schema(text: str, where: str, config: TableConfig) -> Schema:
    """Return the columns of a table: Hudi's own, those of the files, and the partition columns, whose values are those
    of the partition paths, as in Spark. Raises CorruptTableError, UnsupportedFeatureError."""
    rule = f"the columns of a Hudi table are a record in Avro's JSON; those of {where} are not ("
    with as_damage(rule, "); restore the commit"):
        record = parse_json(text)
        if not isinstance(record, dict) or record.get("type") != "record":
            raise ValueError("it is no record")
        fields = list(_Reader(where, {}).fields(record, 0))
    have = {alike(field.name) for field in fields}
    if len(have) < len(fields):
        raise UnsupportedFeatureError(f"names of columns differ by more than case; those of {where} do not; rename one")
    if config.dropped:  # the schema of the files; the columns are texts then
        fields += [Field(name, pa.string()) for name in config.partition_fields if alike(name) not in have]
    by_name = {alike(field.name): field for field in fields}
    missing = [name for name in config.partition_fields if alike(name) not in by_name]
    if missing:
        raise UnsupportedFeatureError(
            f"partition columns are columns of the table; {where} has no {missing[0]!r}; read it with Hudi"
        )
    parts = [by_name[alike(name)] for name in config.partition_fields]
    meta = [Field(name, pa.string()) for name in META_FIELDS if name not in have] if config.meta_fields else []
    plain = [field for field in fields if field not in parts]
    return Schema((*meta, *plain, *(replace(field, partition=True) for field in parts)))


def check_written(written: Schema, now: Schema, path: str, where: str) -> None:
    """Raise UnsupportedFeatureError where a file may hold a column under a type that Hudi reads otherwise."""
    for name, was, is_ in _changed(written.fields, now.fields, ""):
        raise UnsupportedFeatureError(
            f"a column has one type in all files, or grew from int; {name} is {is_} and was {was} when {path!r} of"
            f" {where} was written; rewrite the file, as clustering does"
        )


def _changed(
    before: tuple[Field, ...], after: tuple[Field, ...], above: str
) -> Iterator[tuple[str, pa.DataType, pa.DataType]]:
    was = {alike(field.name): field for field in before}
    for field in after:
        old = was.get(alike(field.name))
        if old is None:
            continue
        name = f"{above}{field.name}"
        if old.children and field.children:
            yield from _changed(old.children, field.children, f"{name}.")
        elif not _reads_as(old.type, field.type):
            yield name, old.type, field.type


def _reads_as(old: pa.DataType, new: pa.DataType) -> bool:
    """Return whether values of one type are read as those of another: the same, or whole numbers that got wider."""
    is_ = pa.types
    if old == new or new in _WIDER.get(old, ()):
        return True
    if is_.is_list(old) and is_.is_list(new):
        return _reads_as(old.value_type, new.value_type)
    if is_.is_map(old) and is_.is_map(new):
        return bool(old.key_type == new.key_type) and _reads_as(old.item_type, new.item_type)
    if is_.is_struct(old) and is_.is_struct(new):
        named = {alike(member.name): member.type for member in old}
        return all(_reads_as(named.get(alike(member.name), member.type), member.type) for member in new)
    return False


@dataclass(slots=True)
class _Reader:
    """Reads types. `named`: those that are used again by their names; `left`: how many more there may be, for some
    lines in which each type names the one before twice would be more than there is memory for."""

    where: str
    named: dict[str, Any]
    left: int = _MOST_TYPES

    def fields(self, record: Mapping[str, Any], depth: int) -> Iterator[Field]:
        for member in record["fields"]:
            name = member["name"]
            if not isinstance(name, str) or not name:
                raise ValueError("a column without a name")
            type_, children = self.type(member["type"], depth + 1)
            yield Field(name, type_, children=children)

    def type(self, said: Any, depth: int) -> tuple[pa.DataType, tuple[Field, ...]]:
        """Return the type, and the fields of a struct."""
        self.left -= 1
        if depth > _DEEPEST or self.left < 0:
            raise ValueError(f"more than {_MOST_TYPES:,} types, or more than {_DEEPEST} inside each other")
        match said:
            case str() if said in _PLAIN:
                return _PLAIN[said], ()
            case str():
                if said not in self.named:
                    raise ValueError(f"no type {said[:80]!r}")
                return self.type(self.named[said], depth + 1)
            case list():
                branches = [branch for branch in said if branch != "null"]
                if len(branches) != 1:
                    raise UnsupportedFeatureError(
                        f"a column has one type, or is NULL; {self.where} has one of {len(branches)} types; read it"
                        " with Hudi"
                    )
                return self.type(branches[0], depth + 1)
            case {"type": "record", "fields": _}:
                children = tuple(self.fields(said, depth))
                self._remember(said)
                return pa.struct([pa.field(child.name, child.type) for child in children]), children
            case {"type": "array", "items": items}:
                return pa.list_(self.type(items, depth + 1)[0]), ()
            case {"type": "map", "values": values}:
                return pa.map_(pa.string(), self.type(values, depth + 1)[0]), ()
            case {"type": "enum"}:
                self._remember(said)
                return pa.string(), ()
            case {"type": "fixed" | "bytes", "logicalType": "decimal", "precision": int(precision)}:
                self._remember(said)
                scale = said.get("scale", 0)
                if not isinstance(scale, int) or not 1 <= precision <= 38 or not 0 <= scale <= precision:
                    raise ValueError(f"a decimal of {precision} digits, {scale!r} of them behind the point")
                return pa.decimal128(precision, scale), ()
            case {"type": "fixed"} if "logicalType" not in said:
                self._remember(said)
                return pa.binary(), ()
            case {"type": str(plain), "logicalType": logical}:
                if (plain, logical) not in _LOGICAL:
                    raise UnsupportedFeatureError(
                        f"columns of the types of Spark are read; {self.where} has {str(logical)[:80]!r} of"
                        f" {plain[:80]!r}; read it with Hudi"
                    )
                return _LOGICAL[plain, logical], ()
            case {"type": inner}:
                return self.type(inner, depth + 1)
            case _:
                raise ValueError("a type that is none of Avro's")

    def _remember(self, said: Mapping[str, Any]) -> None:
        name, space = said.get("name"), said.get("namespace")
        if isinstance(name, str):
            self.named[name] = said
            if isinstance(space, str):
                self.named[f"{space}.{name}"] = said
