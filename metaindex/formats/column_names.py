"""Resolves a name to columns of a file: one rule for the index, for bounds from footers and for readers, so that none
finds a column that another shows as absent.

Spark's: names are alike when their small letters are (`lower`, as Java's toLowerCase; `casefold` would make `ß` of one
file the `ss` of another). Columns alike are ambiguous, one of the very name among them or not.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa


def alike(name: str) -> str:
    """Equal for names that mean one column."""
    return name.lower()


# Fields inside of a column: rows are stored with their names. Where a table tells fields apart by ids, one that was
# dropped and added again, or took another's name, is another field of that name: the ids are noted, and compared.

FIELD_ID = b"PARQUET:field_id"
PHYSICAL_NAME = b"delta.columnMapping.physicalName"
"""In the metadata of Arrow's fields: by what files know them."""


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
