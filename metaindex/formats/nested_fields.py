"""Fields inside of a column: by which of them a stored struct, or a list or map of structs, can stand for the table's.

Rows are stored with the names of such fields. Where a table tells fields apart by ids, one that was dropped and added
again, or took another's name, is another field of that name: so the ids are noted beside the rows, and compared.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

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
