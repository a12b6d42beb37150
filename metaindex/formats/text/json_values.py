"""Values of JSON -> values of a column's type, by the rules of Spark's reader."""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from metaindex.core import ScanError
from metaindex.formats.columns import leaf_types, with_inside

from .values import Doubts, Uncertain, ValueRules, count_lost, decimal_value, typed

_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")
_NO_BASE64 = re.compile(
    r"(?:[A-Za-z0-9+/]{4})*[A-Za-z0-9+/]{2,3}|[A-Za-z0-9+/]*[!-*,\-.:-<>-@\[-`{-~].*", re.DOTALL
)  # which Spark knows before it has read the quote behind it
_HALF = re.compile("[\ud800-\udfff]")
_NAMED = re.compile(rb"\s*:")
MOST_DIGITS = 1000
"""Of a number, with all else that is written of it."""
MOST_OF_NAME = 50_000
MOST_OF_TEXT = 20_000_000
_SPECIAL = {
    "NaN": math.nan,
    "Infinity": math.inf,
    "+Infinity": math.inf,
    "+INF": math.inf,
    "-Infinity": -math.inf,
    "-INF": -math.inf,
}


class Bad(Exception):
    """The value is none of its column's type."""


class BadBytes(Bad):
    """Raised for text that is no base64: to Spark the whole array around the record is broken."""


def has_long_texts(line: bytes) -> bool:
    """Return whether a name or text in it may be too long for Spark's parser. For lines with paired quotes."""
    if len(line) <= MOST_OF_NAME:
        return False
    plain = line.replace(b"\\\\", b"__").replace(b'\\"', b"__") if b"\\" in line else line
    quotes = np.flatnonzero(np.frombuffer(plain, np.uint8) == ord('"'))
    if len(quotes) % 2:
        return True
    begins, ends = quotes[::2], quotes[1::2]
    for place in np.flatnonzero(ends - begins > MOST_OF_NAME).tolist():
        if ends[place] - begins[place] > MOST_OF_TEXT or _NAMED.match(plain, ends[place] + 1):
            return True
    return False


class LongNumber(ValueError):
    """A number of more digits than Spark's parser takes."""


class OddName(ValueError):
    """A name that holds half a surrogate pair, or is longer than Spark's parser takes."""


class _Twice(dict[str, Any]):
    """An object in which a name stands twice; `pairs` has all its values."""

    pairs: list[tuple[str, Any]]


class _Number(str):
    """A number as it is written; `whole` tells an integer, `anew` one that a column of texts shows in another form."""

    __slots__ = ("anew", "whole")
    whole: bool
    anew: bool


def _number(text: str, *, whole: bool, anew: bool) -> _Number:
    if len(text) > MOST_DIGITS:
        raise LongNumber
    number = _Number(text)
    number.whole = whole
    number.anew = anew and (not whole or text == "-0")
    return number


def hold_name(name: str) -> None:
    """OddName where Spark takes the name, and with it the line, for broken."""
    if len(name) > MOST_OF_NAME or (not name.isascii() and _HALF.search(name)):
        raise OddName
    if len(name) > MOST_OF_NAME // 4 and len(name.encode()) > MOST_OF_NAME:
        raise OddName


def _named(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    once = dict(pairs)
    for name in once:
        hold_name(name)
    if len(once) == len(pairs):
        return once
    twice = _Twice(once)
    twice.pairs = pairs
    return twice


def decoder(*, anew: bool = False) -> json.JSONDecoder:
    """Numbers stay as they are written, and an object says whether a name stands twice in it. `anew`: Spark shows what
    is no text in its own form where a text is wanted, as it cannot go back to the bytes."""
    integer, fraction = partial(_number, whole=True, anew=anew), partial(_number, whole=False, anew=anew)
    return json.JSONDecoder(parse_int=integer, parse_float=fraction, parse_constant=fraction, object_pairs_hook=_named)


def holds_bytes(t: pa.DataType) -> bool:
    return any(pa.types.is_binary(of) or pa.types.is_large_binary(of) for of in leaf_types(t))


def are_bytes(value: Any) -> bool:
    """Return whether every text of the value is base64, or clearly is not before its end. For any other text Spark
    reads on after the closing quote."""
    match value:
        case _Number():
            return True
        case str():
            return bool(_BASE64.fullmatch(value) or _NO_BASE64.fullmatch(value))
        case list():
            return all(map(are_bytes, value))
        case dict():
            return all(map(are_bytes, value.values()))
        case _:
            return True


def converter(t: pa.DataType, path: tuple[str, ...], rules: ValueRules, lost: Doubts) -> Callable[[Any, str], object]:
    """Return a function from a value and its text to what `array_of` takes; it raises Bad. `lost`: gets what is lost
    inside structs."""
    is_, name = pa.types, ".".join(path)
    if is_.is_string(t) or is_.is_large_string(t):
        return _text
    if is_.is_binary(t) or is_.is_large_binary(t):
        return _bytes
    if is_.is_boolean(t):
        return lambda v, _: v if isinstance(v, bool) else _bad()
    if is_.is_signed_integer(t):
        width = t.bit_width
        return lambda v, _: _whole(v, width)
    if is_.is_floating(t) and t.bit_width >= 32:
        read = rules.reader(t, name)
        return lambda v, _: _double(v, read)
    if is_.is_decimal(t):
        read_decimal = rules.reader(t, name)
        return lambda v, _: _known(decimal_value(v, t) if isinstance(v, _Number) else read_decimal(_plain_text(v)))
    if is_.is_date32(t):
        read_day = rules.reader(t, name)
        return lambda v, _: _known(read_day(_plain_text(v)))
    if is_.is_timestamp(t):
        read_micros = rules.reader(t, name)
        return lambda v, _: _instant(v, t.tz is not None, read_micros)
    if is_.is_struct(t):
        inner = {
            t.field(i).name: converter(t.field(i).type, (*path, t.field(i).name), rules, lost)
            for i in range(t.num_fields)
        }
        return lambda v, _: _struct(v, inner, path, lost)
    if is_.is_list(t):
        element = converter(t.value_type, (*path, "element"), rules, lost)
        return lambda v, _: [_element(e, element) for e in v] if isinstance(v, list) else _bad()
    if is_.is_map(t) and is_.is_string(t.key_type):
        item = converter(t.item_type, (*path, "value"), rules, lost)
        return lambda v, _: _map(v, item)
    raise ScanError.for_spark(f"column {name!r} is of type {t}, which JSON files are not read as here")


def _bad() -> object:
    raise Bad


def _known(value: object) -> object:
    return _bad() if value is None else value


_LONGS = range(-(1 << 63), 1 << 63)


def _plain_text(v: Any) -> str:
    if not isinstance(v, str) or isinstance(v, _Number):
        raise Bad
    return v


def _text(v: Any, text: str) -> str:
    if isinstance(v, _Number) and v.anew:
        raise Uncertain("a number that Spark writes anew where a text is wanted")
    if isinstance(v, str):
        if len(v) > MOST_OF_TEXT:
            raise Uncertain(f"a text of more than {MOST_OF_TEXT:,} characters")
        return str(v)
    if isinstance(v, bool):
        return "true" if v else "false"
    if not text:
        raise Uncertain("an object or a list that is written anew, or is inside another, where a text is wanted")
    return text


def _bytes(v: Any, _: str) -> bytes:
    text = _plain_text(v)
    if not _BASE64.fullmatch(text):
        raise BadBytes
    return base64.b64decode(text)


def _whole(v: Any, width: int) -> int:
    if not isinstance(v, _Number) or not v.whole or len(v) > 4000:
        raise Bad
    number = int(v)
    if width == 8 and 128 <= number <= 255:
        return number - 256  # Spark takes a byte without sign too
    if not -(1 << (width - 1)) <= number < 1 << (width - 1):
        raise Bad
    return number


def _double(v: Any, read: Callable[[str], object]) -> object:
    if isinstance(v, _Number):
        return _SPECIAL[v] if v in _SPECIAL else read(v.lstrip("-") if v.whole and not v.strip("-0") else v)
    return _SPECIAL.get(_plain_text(v)) if _plain_text(v) in _SPECIAL else _bad()


def _instant(v: Any, zoned: bool, read: Callable[[str], object]) -> object:
    if isinstance(v, _Number):
        if zoned and v.whole and int(v) in _LONGS:
            return (int(v) * 1_000_000 - _LONGS.start) % (1 << 64) + _LONGS.start  # as Java multiplies
        raise Bad
    return _known(read(_plain_text(v)))


def _struct(
    v: Any, inner: dict[str, Callable[[Any, str], object]], path: tuple[str, ...], lost: Doubts
) -> dict[str, object]:
    if not isinstance(v, dict):
        raise Bad
    out = {}
    for name, convert in inner.items():
        value = v.get(name)
        try:
            out[name] = None if value is None else convert(value, "")
        except Bad:
            if isinstance(v, _Twice):
                raise Uncertain("an object with two values of a name") from None
            count_lost(lost, (*path, name), 1)
            out[name] = None
    return out


def _map(v: Any, convert: Callable[[Any, str], object]) -> list[tuple[str, object]]:
    """Return a map; a repeated name stays: the map's reader takes its first value, or the last."""
    if not isinstance(v, dict):
        raise Bad
    pairs = v.pairs if isinstance(v, _Twice) else v.items()
    return [(name, _element(value, convert)) for name, value in pairs]


def _element(v: Any, convert: Callable[[Any, str], object]) -> object:
    return None if v is None else convert(v, "")


def array_of(values: list[Any], t: pa.DataType) -> pa.Array:
    """Nested values keep days and microseconds as numbers, so the array is made of those and cast."""
    if pa.types.is_nested(t):
        return pa.array(values, _plain(t)).cast(t)
    return typed(values, t)


def _plain(t: pa.DataType) -> pa.DataType:
    if pa.types.is_date32(t):
        return pa.int32()
    return pa.timestamp("us") if pa.types.is_timestamp(t) else with_inside(t, _plain)
