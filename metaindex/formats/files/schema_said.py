"""A schema given by the user, as plain data: an index stores it, and cannot be used with another one."""

from __future__ import annotations

from functools import lru_cache

import pyarrow as pa

from metaindex.core import UnsupportedFeatureError

from .schema import plain_type
from .schema_text import TYPES, parse_ddl

_WORDS = {t: word for word, t in reversed(TYPES.items())}


@lru_cache(maxsize=64)
def schema_said(schema: object) -> str:
    """Return one text for all schemas with the same columns, in the same order, with the same types: a schema text, or
    if there is none (a type that Spark lacks), one that `parse_ddl` refuses."""
    try:
        named = parse_ddl(schema) if isinstance(schema, str) else schema
    except UnsupportedFeatureError:
        return str(schema)
    if not isinstance(named, pa.Schema):
        return str(schema)
    plain = pa.schema([pa.field(field.name, plain_type(field.type)) for field in named])
    written = ", ".join(f"{_quoted(field.name)} {_written(field.type)}" for field in plain)
    try:
        known = not len(plain) or parse_ddl(written) == plain
    except UnsupportedFeatureError:
        known = False
    return written if known else f"? {written}"


def _written(t: pa.DataType) -> str:
    is_ = pa.types
    if t in _WORDS:
        return _WORDS[t]
    if is_.is_decimal128(t):
        return f"decimal({t.precision},{t.scale})"
    if is_.is_struct(t):
        fields = (t.field(at) for at in range(t.num_fields))
        return f"struct<{', '.join(f'{_quoted(field.name)}: {_written(field.type)}' for field in fields)}>"
    if is_.is_map(t):
        return f"map<{_written(t.key_type)}, {_written(t.item_type)}>"
    return f"array<{_written(t.value_type)}>" if is_.is_list(t) else str(t)


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"
