"""Fields inside of a column: by which of them a stored struct, or a list or map of structs, can stand for the table's.

Rows are stored with the names of such fields. Where a table tells fields apart by ids, one that was dropped and added
again, or took another's name, is another field of that name: so the ids are noted beside the rows, and compared.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

import pyarrow as pa

from .model import Field, Leaf

FIELD_ID = b"PARQUET:field_id"
PHYSICAL_NAME = b"delta.columnMapping.physicalName"
"""In the metadata of Arrow's fields: by what files know them."""


def inner_fields(leaf: Leaf) -> str:
    """Return what identifies the fields inside a column, in the order of its type, as a JSON list: ids, or names in
    files that are never reused. Empty if there are no fields, or names are all there is."""
    if not leaf.stable.startswith("id:"):
        return ""
    inside = [*_inside(leaf.field)]
    return noted(text for text in inside if text) if all(inside) else ""


def noted(fields: Iterable[str]) -> str:
    """Return the fields as `inner_fields` writes them; empty if there are none."""
    listed = [*fields]
    return json.dumps(listed, separators=(",", ":")) if listed else ""


def _inside(field: Field) -> Iterator[str]:
    """Yield the identity of each field inside; "" for one identified by its name alone."""
    if not field.children:
        yield from told_apart(field.type)
    for child in field.children:
        yield child.stable if child.stable.startswith("id:") else ""
        yield from _inside(child)


def told_apart(type_: pa.DataType) -> Iterator[str]:
    """Yield the identity of each struct field inside lists and maps, which are known by their Arrow types only; "" for
    one identified by its name."""
    if pa.types.is_map(type_):
        yield from told_apart(type_.key_type)
        yield from told_apart(type_.item_type)
    elif pa.types.is_struct(type_):
        for field in type_:
            said = field.metadata or {}
            number = said.get(FIELD_ID)
            yield f"id:{number.decode()}" if number else said.get(PHYSICAL_NAME, b"").decode()
            yield from told_apart(field.type)
    elif pa.types.is_nested(type_):
        yield from told_apart(type_.value_type)
