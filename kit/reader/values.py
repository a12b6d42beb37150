"""Types and values."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from .lies import Unknown


def family(t: str) -> str:
    if t in ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32"):
        return "int"
    if t == "uint64":
        return "uint64"
    if t in ("halffloat", "float", "double"):
        return "double"
    if t.startswith("date"):
        return "date"
    if t.startswith(("timestamp", "time")):
        return "instant"
    if t.startswith("decimal"):
        return "decimal" if digits(t)[0] <= 18 else "wide"
    if t in ("string", "large_string", "string_view", "binary", "large_binary", "binary_view") or t.startswith("fixed"):
        return "bytes"
    raise Unknown(t)


def digits(t: str) -> tuple[int, int]:
    precision, scale = re.findall(r"\((\d+), (-?\d+)\)", t)[0]
    return int(precision), int(scale)


def domain(t: str) -> str:
    return {"double": "double", "bytes": "bytes", "wide": "bytes", "uint64": "bytes"}.get(family(t), "int")


def wide(number: int) -> bytes:
    return (number + 2**127).to_bytes(16, "big")


def micros(value: dt.datetime | dt.date | dt.time) -> int:
    if isinstance(value, dt.time):
        value = dt.datetime.combine(dt.date(1970, 1, 1), value)
    if not isinstance(value, dt.datetime):
        value = dt.datetime.combine(value, dt.time())
    start = dt.datetime(1970, 1, 1, tzinfo=value.tzinfo and dt.UTC)
    return (value - start) // dt.timedelta(microseconds=1)


def whole(value: Any) -> int:
    """A literal that has no exact place among the column's values is not asked here."""
    if value != int(value):
        raise Unknown("between two values")
    return int(value)


def unscaled(value: Any, t: str) -> int:
    return whole(Decimal(value).scaleb(digits(t)[1]))


def placed(value: Any, t: str) -> Any:
    """A literal in the domain of a type."""
    match family(t):
        case "int":
            return whole(value)
        case "uint64":
            return wide(whole(value))
        case "double":
            return float(value)
        case "date":
            return whole(Decimal(micros(value)) / 86_400_000_000)
        case "instant":
            return micros(value)
        case "decimal":
            return unscaled(value, t)
        case "wide":
            return wide(unscaled(value, t))
        case _:
            return value.encode() if isinstance(value, str) else value


def typed(said: list[str]) -> Any:
    """A literal of the kit: its kind and its text."""
    kind, text = said
    make: dict[str, Callable[[str], Any]] = {
        "null": lambda _: None,
        "bool": lambda s: s == "true",
        "int": int,
        "float": float,
        "decimal": Decimal,
        "text": str,
        "bytes": bytes.fromhex,
        "date": dt.date.fromisoformat,
        "time": dt.time.fromisoformat,
        "timestamp": dt.datetime.fromisoformat,
    }
    return make[kind](text)
