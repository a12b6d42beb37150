"""Types as Spark's catalog writes them (`struct<a:bigint,b:array<string>>`)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

_NAMES: Final = {
    "tinyint": "byte",
    "smallint": "short",
    "int": "integer",
    "bigint": "long",
    **dict.fromkeys(("boolean", "float", "double", "string", "binary", "date", "timestamp", "timestamp_ntz")),
}
_DECIMAL: Final = re.compile(r"decimal\(\d{1,2},-?\d{1,2}\)")
_TEXT: Final = re.compile(r"(?:char|varchar)\(\d+\)")
_DEEPEST: Final = 50


def fields_of(text: str) -> dict[str, str]:
    """The fields of a struct and their types, as they are written; of a text that is cut those that are whole."""
    fields: dict[str, str] = {}
    if not text.startswith("struct<"):
        return fields
    whole = text.endswith(">") and text.count("<") == text.count(">")
    parts = [*_members(text[len("struct<") : -1 if whole else None])]
    for part in parts if whole else parts[:-1]:
        name, colon, type_ = part.partition(":")
        if colon:
            fields[name] = type_
    return fields


def json_type(text: str, depth: int = 0) -> Any:
    """Return the type as in Spark's JSON; None for a type whose conditions are not read."""
    if text in _NAMES:
        return _NAMES[text] or text
    if _DECIMAL.fullmatch(text):
        return text
    if _TEXT.fullmatch(text):
        return "string"
    if not text.startswith("struct<") or depth > _DEEPEST:
        return None
    fields = [
        {"name": name, "type": json_type(type_, depth + 1), "nullable": True, "metadata": {}}
        for name, type_ in fields_of(text).items()
    ]
    return {"type": "struct", "fields": fields}


def leaves_of(name: str, text: str, depth: int = 0) -> Iterator[tuple[str, ...]]:
    """The paths of the fields that are no structs."""
    fields = fields_of(text) if depth <= _DEEPEST else {}
    if not fields:
        yield (name,)
    for inner, type_ in fields.items():
        yield from ((name, *rest) for rest in leaves_of(inner, type_, depth + 1))


def _members(text: str) -> Iterator[str]:
    start = depth = 0
    for sign in re.finditer(r"[<(,>)]", text):
        if sign[0] == ",":
            if depth == 0:
                yield text[start : sign.start()]
                start = sign.end()
        else:
            depth += 1 if sign[0] in "<(" else -1
    if start < len(text):
        yield text[start:]
