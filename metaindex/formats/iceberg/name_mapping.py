"""A table's name mapping: how columns are found in files without field ids, which `add_files` and migrations bring.

It is a property: it changes without a snapshot and without a schema, and then the same bytes are other columns. So it
is part of what a version and a file of such a table are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import xxhash

from metaindex.core import CorruptTableError
from metaindex.formats.damage import as_damage, parse_json
from metaindex.formats.parquet.projection import names_by_id

from .metadata import TableMetadata

NAME_MAPPING = "schema.name-mapping.default"
"""The property that imports set."""


def mapping_text(metadata: TableMetadata) -> str | None:
    """The mapping as JSON, None where there is none. CorruptTableError where it is no mapping."""
    text = metadata.properties.get(NAME_MAPPING)
    if text is None:
        return None
    with as_damage(
        f"a name mapping is a list of fields in JSON; property {NAME_MAPPING} of {metadata.location} is none (",
        f") in {metadata.file}; set it right",
    ):
        _check(parse_json(text))
    return text


def mapped_names(metadata: TableMetadata) -> Mapping[int, tuple[str, ...]] | None:
    """Return the names that each field id may have. None if the table does not tell: without a mapping, or with an
    unreadable one."""
    try:
        text = mapping_text(metadata)
    except CorruptTableError:
        return None
    return None if text is None else dict(names_by_id(parse_json(text)))


def mapping_sign(metadata: TableMetadata) -> str:
    """Return a sign that differs for different mappings, "" if there is none."""
    text = metadata.properties.get(NAME_MAPPING)
    return "" if text is None else xxhash.xxh64_hexdigest(text.encode("utf-8", "surrogatepass"))


def _check(fields: Any) -> None:
    for field in fields if isinstance(fields, list) else [fields]:
        int(field.get("field-id", 0))
        if not all(isinstance(name, str) for name in field.get("names", [])):
            raise TypeError("names are texts")
        _check(field.get("fields") or [])
    if not isinstance(fields, list):
        raise TypeError("it is no list")
