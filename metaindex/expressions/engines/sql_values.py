"""Meaning of a literal's text in Spark SQL: numbers, typed strings, casts, LIKE patterns.

Each reader takes the plain forms only and raises `NotReadable` for the rest (`DATE 'today'`, a cast that rounds), so
that what is read is read exactly.
"""

from __future__ import annotations

import datetime as dt
import re
import struct
from collections.abc import Iterator
from decimal import ROUND_DOWN, Context, Decimal, InvalidOperation
from itertools import takewhile
from typing import Final

from metaindex.expressions.clock_texts import day_in, moment_in, time_in
from metaindex.expressions.literals import Literal, LiteralValue, NotReadable
from metaindex.expressions.zones import zone_of

_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_REAL: Final = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_BLOB: Final = re.compile(r"(\\x[0-9A-Fa-f]{2}|[ -\[\]-~])*")
_BLOB_BYTE: Final = re.compile(r"\\x(..)|(.)")
_INTEGER_BITS: Final = {"TINYINT": 8, "SMALLINT": 16, "INT": 32, "BIGINT": 64}
_SPECIAL: Final = {"nan": "nan", "inf": "inf", "+inf": "inf", "-inf": "-inf"}
_SPECIAL_LONG: Final = {"infinity": "inf", "+infinity": "inf", "-infinity": "-inf"}
_EXACT: Final = Context(prec=400, rounding=ROUND_DOWN)


def number_value(text: str) -> int | float | Decimal:
    """An unsuffixed number: digits are an integer, a point makes a decimal, an exponent a double."""
    if _INTEGER.fullmatch(text):
        if len(text) > 38:
            raise NotReadable
        return int(text)
    if not _REAL.fullmatch(text):
        raise NotReadable
    return float(text) if "e" in text.lower() else _decimal(text)


def cast_text(literal: Literal, type_name: str, timezone: str) -> Literal | None:
    """Cast a literal that is text, and leave others. None where the text is no value of the type."""
    if not isinstance(literal.value, str):
        return literal
    try:
        return Literal(cast_value(literal.value, type_name, timezone))
    except (NotReadable, ValueError, OverflowError):
        return None


def cast_value(value: LiteralValue, type_name: str, timezone: str) -> LiteralValue:
    """CAST of a literal, where it loses nothing; the type as Spark writes it."""
    name = type_name.upper().replace(" ", "")
    if value is None:
        return None
    if name in _INTEGER_BITS:
        return _as_integer(value, _INTEGER_BITS[name])
    if name in {"DOUBLE", "FLOAT"}:
        return _as_float(value, name)
    if name.startswith("DECIMAL"):
        return _as_decimal(value, name)
    if name == "BOOLEAN" and isinstance(value, str) and value.lower() in {"true", "false"}:
        return value.lower() == "true"
    if name == "STRING" and isinstance(value, str | bytes):
        return value if isinstance(value, str) else _text(value)
    if name == "DATE" and isinstance(value, str):
        return date_value(value)
    if name == "TIME" and isinstance(value, str):
        return time_value(value)
    if name in {"TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ"} and isinstance(value, str):
        return timestamp_value(value, None if name == "TIMESTAMP_NTZ" else timezone)
    if {"BOOLEAN": bool, "DATE": dt.date, "BINARY": bytes}.get(name) is type(value):
        return value
    raise NotReadable


def blob_value(text: str) -> bytes:
    r"""DuckDB's text of a BLOB: ASCII with \xHH for the other bytes."""
    if not _BLOB.fullmatch(text):
        raise NotReadable
    return bytes(int(pair, 16) if pair else ord(plain) for pair, plain in _BLOB_BYTE.findall(text))


def date_value(text: str) -> dt.date:
    day = day_in(text) if text.count("-") == 2 else None
    if day is None:
        raise NotReadable
    return day


def time_value(text: str) -> dt.time:
    clock = time_in(text)
    if clock is None:
        raise NotReadable
    return clock


def timestamp_value(text: str, timezone: str | None) -> dt.datetime:
    """An instant (in UTC), read in the session zone unless the text names one; without a session zone naive."""
    day = day_in(text) if text.count("-") == 2 else None
    moment = moment_in(text) if day is None else dt.datetime(day.year, day.month, day.day)
    if moment is None or (timezone is None and moment.tzinfo is not None):
        raise NotReadable
    if timezone is None:
        return moment
    zone = moment.tzinfo or zone_of(timezone)
    try:
        if zone is None:
            raise NotReadable
        return moment.replace(tzinfo=zone).astimezone(dt.UTC)
    except (ValueError, OverflowError):
        raise NotReadable from None


def pattern_parts(pattern: str, escape: str) -> Iterator[tuple[str, bool]]:
    """Yield the characters of a LIKE pattern, and whether each is a wildcard. NotReadable for one that Spark refuses
    when it runs."""
    characters = iter(pattern)
    for character in characters:
        if character == escape:
            escaped = next(characters, None)
            if escaped not in ("%", "_", escape):
                raise NotReadable
            yield escaped, False
        else:
            yield character, character in ("%", "_")


def like_pattern(pattern: str, escape: str) -> tuple[str, bool]:
    """Return (text, is a prefix). Wildcards except for one run of % at the end are not supported."""
    parts = [*pattern_parts(pattern, escape)]
    text = "".join(character for character, _ in takewhile(lambda part: not part[1], parts))
    if any(part != ("%", True) for part in parts[len(text) :]):
        raise NotReadable
    return text, len(text) < len(parts)


def _text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise NotReadable from None


def _decimal(text: str) -> Decimal:
    try:
        value = Decimal(text)
    except InvalidOperation:
        raise NotReadable from None
    if not value.is_finite() or len(value.as_tuple().digits) > 38 or not -38 <= _exponent(value) <= 38:
        raise NotReadable
    return value if value else value.copy_abs()


def _exponent(value: Decimal) -> int:
    exponent = value.as_tuple().exponent
    return exponent if isinstance(exponent, int) else 1 << 30


def _as_integer(value: LiteralValue, bits: int) -> int:
    if isinstance(value, str) and _INTEGER.fullmatch(value) and len(value) < 30:
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not -(1 << bits - 1) <= value < 1 << bits - 1:
        raise NotReadable
    return value


def _as_float(value: LiteralValue, name: str) -> float:
    if isinstance(value, str):
        special = (_SPECIAL | _SPECIAL_LONG).get(value.lower())
        if special is None and not _REAL.fullmatch(value):
            raise NotReadable
        value = float(special or value)
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
        raise NotReadable
    number = float(value)
    if name == "DOUBLE":
        return number
    try:
        return float(struct.unpack("<f", struct.pack("<f", number))[0])
    except OverflowError:
        raise NotReadable from None


def _as_decimal(value: LiteralValue, name: str) -> Decimal:
    written = re.findall(r"[0-9]+", name)
    if any(len(size) > 2 for size in written):
        raise NotReadable  # no decimal has so many digits
    sizes = [int(size) for size in written]
    precision, scale = [*sizes, 0][:2] if sizes else (10, 0)
    if isinstance(value, str) and _REAL.fullmatch(value):
        value = _decimal(value)
    if isinstance(value, (bool, float)) or not isinstance(value, (int, Decimal)):
        raise NotReadable
    number = _decimal(str(value))
    fitted = number.quantize(Decimal(1).scaleb(-scale), context=_EXACT)
    if fitted != number or len(fitted.as_tuple().digits) > precision:
        raise NotReadable
    return fitted
