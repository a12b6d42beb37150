"""Families of Arrow's types: texts and bytes of any width are one kind of value, however they are held."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

UUID: Final = pa.uuid()
"""The type of a column whose 16 bytes are a UUID, as predicates are bound to it. Rows hold the bytes."""


def is_text(t: pa.DataType) -> bool:
    """A text, of any width; not in a dictionary."""
    return bool(pa.types.is_string(t) or pa.types.is_large_string(t) or pa.types.is_string_view(t))


def is_bytes(t: pa.DataType) -> bool:
    """Bytes, of any width or of a fixed one; not in a dictionary."""
    is_ = pa.types
    return bool(is_.is_binary(t) or is_.is_large_binary(t) or is_.is_binary_view(t) or is_.is_fixed_size_binary(t))


def is_uuid(t: pa.DataType) -> bool:
    """A UUID, not bytes that may be one."""
    return bool(t == UUID)
