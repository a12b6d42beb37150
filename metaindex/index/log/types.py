"""Primitive Arrow types as text and back: `str(type)` one way, this grammar the other."""

from __future__ import annotations

import re

import pyarrow as pa

_SIMPLE: dict[str, pa.DataType] = {
    str(t): t
    for t in (
        pa.null(),
        pa.bool_(),
        pa.int8(),
        pa.int16(),
        pa.int32(),
        pa.int64(),
        pa.uint8(),
        pa.uint16(),
        pa.uint32(),
        pa.uint64(),
        pa.float16(),
        pa.float32(),
        pa.float64(),
        pa.string(),
        pa.large_string(),
        pa.string_view(),
        pa.binary(),
        pa.large_binary(),
        pa.binary_view(),
        pa.date32(),
        pa.date64(),
        pa.time32("s"),
        pa.time32("ms"),
        pa.time64("us"),
        pa.time64("ns"),
    )
}
_TIMESTAMP = re.compile(r"timestamp\[(s|ms|us|ns)(?:, tz=(.+))?\]\Z")
_DECIMAL = re.compile(r"decimal(32|64|128|256)\((\d{1,9}), (-?\d{1,9})\)\Z")
_FIXED = re.compile(r"fixed_size_binary\[(\d{1,9})\]\Z")


def type_from_text(text: str) -> pa.DataType | None:
    """The type that `str` shows as `text`; None for what is not a primitive type known here."""
    if text in _SIMPLE:
        return _SIMPLE[text]
    if match := _TIMESTAMP.match(text):
        return pa.timestamp(match[1], match[2])
    if match := _DECIMAL.match(text):
        make = {"32": pa.decimal32, "64": pa.decimal64, "128": pa.decimal128, "256": pa.decimal256}[match[1]]
        return make(int(match[2]), int(match[3]))
    if match := _FIXED.match(text):
        return pa.binary(int(match[1]))
    return None
