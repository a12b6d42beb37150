"""Keys as the values that they are of: `encoding`, backwards, for people and other tools. A key that was cut, and one
of several columns that was, is of no certain value."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import pyarrow as pa

from metaindex.expressions.physical import from_physical, physical_type
from metaindex.kinds.canonical import plain_type

from .encoding import CUT

_SIGN = 1 << 63


def decoded(key: int | bytes, types: Sequence[pa.DataType]) -> tuple[object, ...] | None:
    """The value of each column of the key; None where it was cut, or is no key of such columns."""
    if isinstance(key, int):
        return (from_physical(key, plain_type(types[0])),)
    if len(key) >= CUT:
        return None
    if len(types) == 1:
        return (_value(key, types[0]),)
    values: list[object] = []
    for type_ in types:
        if len(key) < 2 or len(key) < 2 + (size := int.from_bytes(key[:2], "big")) or size >= CUT:
            return None
        values.append(_value(key[2 : 2 + size], type_))
        key = key[2 + size :]
    return None if key else tuple(values)


def _value(key: bytes, type_: pa.DataType) -> object:
    t = plain_type(type_)
    domain = physical_type(t)
    if domain == pa.int64():
        return from_physical(int.from_bytes(key, "big") - _SIGN, t)
    if domain == pa.float64():
        word = int.from_bytes(key, "big")
        bits = word ^ _SIGN if word & _SIGN else word ^ (2 * _SIGN - 1)
        return float("nan") if key == b"\xff" * 8 else struct.unpack(">d", bits.to_bytes(8, "big"))[0]
    return from_physical(key, t)
