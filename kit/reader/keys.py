"""Keys of values: hashes, bytes, units."""

from __future__ import annotations

import datetime as dt
import math
import struct
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any

import xxhash

from .lies import Run, Unknown
from .statistics import carried
from .values import domain, family, micros, placed, wide


def form(value: Any, t: str) -> bytes:
    """The canonical form."""
    if isinstance(value, float) and family(t) == "double":
        if math.isnan(value):
            return struct.pack("<Q", 0x7FF8000000000000)
        if not math.isfinite(value) or value != int(value) or not -(2**63) <= value < 2**63:
            return struct.pack("<d", value)
        value = int(value)
    if isinstance(value, bool | int | float | Decimal):
        number = Decimal(value)
        if number == int(number):
            whole = int(number)
            return whole.to_bytes(8 if -(2**63) <= whole < 2**63 else 16, "little", signed=True)
        sign, figures, exponent = number.normalize().as_tuple()
        magnitude = int("".join(map(str, figures))) * (-1 if sign else 1)
        return magnitude.to_bytes(16, "little", signed=True) + bytes([-int(exponent)])
    if isinstance(value, dt.date | dt.time):
        return struct.pack("<q", micros(value))
    return value.encode() if isinstance(value, str) else bytes(value)


def hashed(values: Iterable[Any], types: list[str]) -> int:
    each = [xxhash.xxh64_intdigest(form(v, t)) for v, t in zip(values, types, strict=True)]
    return each[0] if len(each) == 1 else xxhash.xxh64_intdigest(struct.pack(f"<{len(each)}Q", *each))


def cut(data: bytes) -> bytes:
    return data if len(data) <= 255 else data[:248] + xxhash.xxh64_digest(data)


def key_bytes(value: Any, t: str) -> bytes:
    """A value as a key in bytes."""
    at = placed(value, t)
    if isinstance(at, float):
        if math.isnan(at):
            return b"\xff" * 8
        bits = int.from_bytes(struct.pack(">d", at + 0.0), "big")
        return (bits ^ (2**64 - 1 if bits >> 63 else 1 << 63)).to_bytes(8, "big")
    if isinstance(at, int):
        return (at + 2**63).to_bytes(8, "big")
    return cut(at) if family(t) == "bytes" else bytes(at)


def same_value(old: str, new: str) -> bool:
    """May keys of one type answer for another?"""
    if old == new:
        return True
    try:
        carried(0 if domain(old) != "bytes" else wide(0), old, new)
    except Unknown:
        return False
    return not (new == "double" and old == "int64")


def units_of(run: Run, key: dict[str, Any], op: str, values: list[Any]) -> set[int] | None:
    """Units that may hold a match; None: this key does not answer."""
    kind, layout, number = key["kind"], key["layout"], int(key["key_id"])
    types = [c["type"] for c in key["columns"]]
    tuples = [v if isinstance(v, tuple) else (v,) for v in values]
    if kind == "values":
        if op not in ("=", "in") or layout["by"] != "hash":
            return None
        bits = layout["unit_bits"]
        heads = {hashed(v, types) >> (64 - layout["hash_bits"]) for v in tuples}
        found = [row["entry"] for row in run.of("values", "key_id", number)]
        return {entry & ((1 << bits) - 1) for entry in found if entry >> bits in heads}
    if kind not in ("value_keys", "value_lists") or layout["by"] != "value":
        return None
    integers = layout.get("key") == "int64"
    if "key" in layout and not integers:
        return None
    column = "key_int" if integers else "key"
    rows = run.of(kind, "key_id", number, f"{kind}_int" if integers else kind)
    encode: Callable[[Any], Any] = lambda v: placed(v, types[0]) if integers else key_bytes(v, types[0])  # noqa: E731
    if len(types) > 1:
        if op not in ("=", "in"):
            return None
        parts = [[key_bytes(v, t) for v, t in zip(one, types, strict=True)] for one in tuples]
        wanted = {cut(b"".join(struct.pack(">H", len(part)) + part for part in one)) for one in parts}
        return {row["unit"] for row in rows if row[column] in wanted}
    if op == "is null":
        return {row["unit"] for row in rows if row[column] is None}
    rows = [row for row in rows if row[column] is not None]
    if op == "is not null":
        return {row["unit"] for row in rows}
    if op in ("=", "in"):
        wanted = {encode(v) for v in values}
        return {row["unit"] for row in rows if row[column] in wanted}

    def uncut(stored: Any) -> bool:
        return integers or family(types[0]) != "bytes" or len(stored) < 256

    if op == "prefix":
        prefix = values[0].encode()[:248]
        return {row["unit"] for row in rows if row[column].startswith(prefix)}
    end = encode(values[0])
    nan = b"\xff" * 8
    tests: dict[str, Callable[[Any], bool]] = {
        "<": lambda k: bool(k < end),
        "<=": lambda k: bool(k <= end),
        ">": lambda k: bool(k > end),
        ">=": lambda k: bool(k >= end),
        "<>": lambda k: bool(k != end),
    }
    if not uncut(end) or (family(types[0]) == "double" and end == nan):
        return None
    return {row["unit"] for row in rows if not uncut(row[column]) or tests[op](row[column])}
