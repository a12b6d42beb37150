"""Adversarial columns, in plain Python of any version and as text for writers of other languages.

A column is of a type and has batches: lists of values, one after the other. A value is None or a number (an integer in
the unit of its type, a decimal without its point), the bits of a float, or bytes; of a struct it is a tuple of one.

    bool int8..int64 uint8..uint64 half float double decimal(p,s) date time_ms|us|ns ts_ms|us|ns utc_ms|us|ns
    text bytes fixed4 category (texts, in a dictionary: of each batch, or shared) struct<T>
"""

# ruff: noqa: UP006, UP028, UP031, UP035 - of any version of Python
from __future__ import annotations

import os
import random
import re
import struct
import sys
from typing import Any, Dict, Iterator, List, NamedTuple

Values = List[Any]


class Column(NamedTuple):
    type: str
    shape: str
    batches: List[Values]

    @property
    def name(self) -> str:
        return re.sub("[^a-z0-9]+", "-", self.type) + "." + re.sub("[^a-z0-9]+", "-", self.shape)


def bits(value: float, width: str = "d") -> int:
    """The bits of a float of 64 (d), 32 (f) or 16 (e) bits."""
    return int.from_bytes(struct.pack(">" + width, value), "big")


def _floats(width: str, greatest: float, least: float) -> Values:
    nan, inf = float("nan"), float("inf")
    return [bits(v, width) for v in (1.5, -1.5, 0.0, -0.0, inf, -inf, greatest, -greatest, least, -least, 3.0, nan)]


def _decimals(precision: int) -> Values:
    most = 10**precision - 1
    return [0, 1, -1, most, -most, most // 2, -(most // 3), 100 % (most + 1), 255 % (most + 1), -128, 127, 12, -7]


_DAY = {"ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}
_SECOND = {"ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}


def _moments(unit: str) -> Values:
    second = _SECOND[unit]
    wide = [] if unit == "ns" else [-62_135_596_800 * second, 253_402_300_799 * second + second - 1]
    near = [1, -1, second - 1, -second + 1, 1_577_836_800 * second, 1_577_836_800 * second + second - 1]
    return [*near, *wide, -1_600_000_000 * second - 1, 1_999_999_999 * second + second // 2 + 1]


POOLS: Dict[str, Values] = {
    "bool": [True, False, True],
    "half": _floats("e", 65504.0, 6e-8),
    "float": _floats("f", 3.4028234663852886e38, 1e-45),
    "double": _floats("d", 1.7976931348623157e308, 5e-324),
    "date": [0, -1, 1, 18262, -719162, 2932896, -141428, -141427, 100, 200],
    "text": [
        b"", b"a", b"az", "aé".encode(), b"~", "\uffff".encode(), "\U00010000".encode(), "\ud7ff".encode(),
        "\U0010ffff".encode() * 40, b"z" * 100, "é".encode() * 60, "\U0001f600".encode() * 33, b"\0", b"m" * 3000,
        "\U0010ffff".encode() * 41,
    ],
    "bytes": [b"", b"\0", b"\xff", b"\xff" * 100, b"\x7f", b"\x80", b"\xc3\x28", b"a" * 2000, b"\xff\0", b"\xfe" * 64],
    "fixed4": [b"\0\0\0\0", b"\xff\xff\xff\xff", b"\x7f\0\0\0", b"\x80\0\0\0", b"abcd", b"\0\0\0\1"],
}  # fmt: skip
for _bits in (8, 16, 32, 64):
    _half, _whole = 2 ** (_bits - 1), 2**_bits
    POOLS["int%d" % _bits] = [0, 1, -1, -_half, _half - 1, 77, -78]
    POOLS["uint%d" % _bits] = [0, 1, _half - 1, _half, _half + 1, _whole - 1, 77]
for _digits, _scale in ((2, 1), (4, 2), (9, 2), (18, 4), (19, 0), (24, 3), (38, 10), (38, 38)):
    POOLS["decimal(%d,%d)" % (_digits, _scale)] = _decimals(_digits) if _digits > 2 else [0, 1, -1, 99, -99, 12, -7]
for _unit in ("ms", "us", "ns"):
    POOLS["time_" + _unit] = [0, 1, _DAY[_unit] - 1, _DAY[_unit] // 2, 1_234_567, 999]
    POOLS["ts_" + _unit] = POOLS["utc_" + _unit] = _moments(_unit)

_WORDS = [b"Lima", b"Oslo", b"Accra", b"Zagreb", "Évora".encode(), b"", b"\xf0\x9f\x98\x80", b"Quito"]


def _spread(pool: Values, count: int, every: int, seed: int) -> Values:
    """`count` values of a pool without order, each `every`th NULL (0: none)."""
    choose = random.Random(seed)
    return [None if every and at % every == every - 1 else choose.choice(pool) for at in range(count)]


def _shapes(type_: str, pool: Values) -> Iterator[Column]:
    yield Column(type_, "mixed", [_spread(pool, 120, 5, 1)])
    yield Column(type_, "full", [pool * 2])
    yield Column(type_, "null pages", [[None] * 150 + pool + [None] * 150])
    yield Column(type_, "all null", [[None] * 40])
    yield Column(type_, "empty", [[]])
    yield Column(type_, "one", [[pool[1]]])
    yield Column(type_, "ends", [[None, *pool[1:4], None], [pool[0]], pool[4:]])
    small = [value for value in pool if not isinstance(value, bytes) or len(value) < 30]
    yield Column(type_, "few", [_spread(small[:3], 900, 7, 2), _spread(small[2:5] or small, 900, 11, 3)])
    yield Column(type_, "many", [_spread(small, 6000, 13, 4)])
    yield Column(
        type_, "halves", [[None, *sorted(pool, key=_order)[:3]] * 9, [*sorted(pool, key=_order)[3:], None] * 9]
    )
    if type_ in ("half", "float", "double"):
        width = {"half": "e", "float": "f", "double": "d"}[type_]
        one, nan, zero, minus = (bits(value, width) for value in (1.0, float("nan"), 0.0, -0.0))
        named = {
            "nan first": [nan, one, bits(2.0, width)], "nan last": [one, bits(-2.0, width), nan], "nan only": [nan] * 9,
            "nan and null": [nan, None, nan], "no nan": [one, bits(-1.0, width), None], "minus zero": [minus, minus],
            "zero": [zero, zero], "zeros": [zero, minus, zero, None], "nan alone in a page": [one] * 99 + [nan] * 99,
        }  # fmt: skip
        for shape, values in named.items():
            yield Column(type_, shape, [values])


def _order(value: Any) -> Any:
    return (value, 0) if isinstance(value, bytes) else value


def columns() -> Iterator[Column]:
    for type_, pool in POOLS.items():
        for column in _shapes(type_, pool):
            yield column
    for at, (shape, parts) in enumerate(
        {
            "a dictionary a batch": [_WORDS[:2], _WORDS[2:4], _WORDS[4:]],
            "later is less": [[b"m", b"n"], [None, b"a"], [b"z", None, None]],
            "first of nulls": [[None, None], [b"a", b"b", None]],
            "one dictionary": [_WORDS],
            "all null": [[None] * 9, [None] * 5],
            "few": [_spread(_WORDS[:3], 700, 7, 5), _spread(_WORDS, 700, 3, 6)],
            "empty": [[]],
            "shared, others later": [[b"Lima", None, b"Oslo"], [b"Zagreb", b"Accra", None]],
            "shared, of nulls first": [[None, None], [b"Zagreb", None], [b"Accra"]],
            "shared, few": [
                _spread(_WORDS[:1], 300, 7, 8),
                _spread(_WORDS[1:2], 300, 5, 9),
                _spread(_WORDS, 300, 3, 9),
            ],
        }.items()
    ):
        yield Column("category", shape, parts)
        yield Column("struct<category>", shape, [_inside(part, at) for part in parts])
    for type_ in ("int32", "int64", "double", "text", "decimal(9,2)", "decimal(38,10)", "ts_us", "bool"):
        pool = [value for value in POOLS[type_] if not isinstance(value, bytes) or len(value) < 30]
        for shape, part in (("mixed", _spread(pool, 90, 4, 7)), ("full", pool), ("all null", [None] * 9)):
            yield Column("struct<%s>" % type_, shape, [_inside(part, 3), _inside(part, 0)])
            yield Column("struct<%s>" % type_, "whole, " + shape, [[(value,) for value in part]])


def _inside(values: Values, seed: int) -> Values:
    """Values inside a struct, of which some are NULL themselves."""
    choose = random.Random(seed)
    return [None if choose.random() < 0.3 else (value,) for value in values]


def as_text() -> Iterator[str]:
    """The columns by line: `column TYPE SHAPE`, `batch`, and values: `~` NULL, `!` a struct that is NULL, numbers,
    bytes in hex behind an `x`."""

    def said(value: Any) -> str:
        if value is None:
            return "~"
        return "x" + value.hex() if isinstance(value, bytes) else str(int(value))

    for column in columns():
        yield "column\t%s\t%s" % (column.type, column.shape)
        for batch in column.batches:
            yield "batch"
            for value in batch:
                if column.type.startswith("struct"):
                    yield "!" if value is None else said(value[0])
                else:
                    yield said(value)


if __name__ == "__main__":
    with open(os.path.join(sys.argv[1], "columns.txt"), "w") as out:
        out.writelines(line + "\n" for line in as_text())
