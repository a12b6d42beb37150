"""Parquet footers changed by hand: read as Thrift's compact protocol with every type kept, changed, and written back
behind the same data."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# Kinds of the compact protocol.
TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, STRUCT = 1, 2, 3, 4, 5, 6, 7, 8, 9, 12

# Field numbers of parquet.thrift.
VERSION, SCHEMA, ROWS, ROW_GROUPS, KEY_VALUES, CREATED_BY, COLUMN_ORDERS = range(1, 8)
COLUMNS, META_DATA, STATISTICS = 1, 3, 12
OLD_MAX, OLD_MIN, NULL_COUNT, DISTINCT_COUNT, MAX_VALUE, MIN_VALUE, MAX_EXACT, MIN_EXACT = range(1, 9)


@dataclass
class Struct:
    """Fields by number: (kind, value)."""

    fields: dict[int, tuple[int, Any]]

    def __getitem__(self, number: int) -> Any:
        return self.fields[number][1]

    def put(self, number: int, kind: int, value: Any) -> None:
        self.fields[number] = (kind, value)

    def drop(self, *numbers: int) -> None:
        for number in numbers:
            self.fields.pop(number, None)

    def move(self, number: int, to: int) -> None:
        if number in self.fields:
            self.fields[to] = self.fields.pop(number)


@dataclass
class Items:
    """A list and the kind of what is in it."""

    kind: int
    values: list[Any]


def change(path: Path, operate: Callable[[Struct], None]) -> None:
    """Replaces the file's footer by what `operate` makes of it."""
    data = path.read_bytes()
    size = int.from_bytes(data[-8:-4], "little")
    footer, at = _read_struct(data[-8 - size : -8], 0)
    assert at == size
    assert _struct(footer) == data[-8 - size : -8], "what is read is written back byte by byte"
    operate(footer)
    new = _struct(footer)
    path.write_bytes(data[: -8 - size] + new + len(new).to_bytes(4, "little") + b"PAR1")


def statistics(footer: Struct) -> list[Struct]:
    """Of every column of every row group."""
    return [
        column[META_DATA][STATISTICS]
        for group in footer[ROW_GROUPS].values
        for column in group[COLUMNS].values
        if STATISTICS in column[META_DATA].fields
    ]


def written(struct: Struct) -> bytes:
    return _struct(struct)


def _read_struct(data: bytes, at: int) -> tuple[Struct, int]:
    fields: dict[int, tuple[int, Any]] = {}
    number = 0
    while data[at]:
        head = data[at]
        at += 1
        kind = head & 15
        if head >> 4:
            number += head >> 4
        else:
            number, at = _zigzag(data, at)
        value, at = (kind == TRUE, at) if kind in (TRUE, FALSE) else _read(data, at, kind)
        fields[number] = (kind, value)
    return Struct(fields), at + 1


def _read(data: bytes, at: int, kind: int) -> tuple[Any, int]:
    match kind:
        case 1 | 2 | 3:
            return data[at], at + 1
        case 4 | 5 | 6:
            return _zigzag(data, at)
        case 7:
            return data[at : at + 8], at + 8
        case 8:
            size, at = _varint(data, at)
            return data[at : at + size], at + size
        case 9:
            head = data[at]
            size, at = (head >> 4, at + 1) if head >> 4 < 15 else _varint(data, at + 1)
            values = []
            for _ in range(size):
                value, at = _read(data, at, head & 15)
                values.append(value)
            return Items(head & 15, values), at
        case _:
            assert kind == STRUCT
            return _read_struct(data, at)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return value, at


def _zigzag(data: bytes, at: int) -> tuple[int, int]:
    value, at = _varint(data, at)
    return (value >> 1) ^ -(value & 1), at


def _struct(struct: Struct) -> bytes:
    out = b""
    last = 0
    for number, (kind, value) in sorted(struct.fields.items()):
        if kind in (TRUE, FALSE):
            kind = TRUE if value else FALSE
        step = number - last
        out += bytes([step << 4 | kind]) if 0 < step < 16 else bytes([kind]) + _number(number << 1)
        out += b"" if kind in (TRUE, FALSE) else _written(kind, value)
        last = number
    return out + b"\0"


def _written(kind: int, value: Any) -> bytes:
    match kind:
        case 1 | 2 | 3:
            return bytes([value])
        case 4 | 5 | 6:
            return _number(value << 1 if value >= 0 else (-value << 1) - 1)
        case 7:
            return bytes(value)
        case 8:
            return _number(len(value)) + value
        case 9:
            size = len(value.values)
            head = bytes([size << 4 | value.kind]) if size < 15 else bytes([0xF0 | value.kind]) + _number(size)
            return head + b"".join(_written(value.kind, one) for one in value.values)
        case _:
            return _struct(value)


def _number(value: int) -> bytes:
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])
