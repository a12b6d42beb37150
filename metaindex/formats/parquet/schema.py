"""The schema of a Parquet footer from its own bytes: names, ids, repetition and types as the writer said them.

A footer begins with its schema and ends with the column orders, so two footers with the same first bytes have the
same schema: a reader of a million footers parses one and compares the others. The parser knows Thrift's compact
protocol and nothing else.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import lru_cache
from typing import Any, TypeAlias

import pyarrow as pa

from metaindex.core import CorruptTableError
from metaindex.formats.column_names import alike
from metaindex.formats.damage import as_damage

Struct: TypeAlias = dict[int, Any]
Kinds: TypeAlias = Mapping[int, "int | Kinds"]  # of a struct's fields, by number; of structs those of their fields

_PHYSICAL = ("BOOLEAN", "INT32", "INT64", "INT96", "FLOAT", "DOUBLE", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY")
_ELEMENT = dict.fromkeys((1, 2, 3, 5, 6, 7, 8, 9), 5) | {4: 8, 10: 12}  # kinds of a schema element's fields
_WIDTHS = (1, 4, 8, 12, 4, 8, 0)
_UNITS = {1: "ms", 2: "us", 3: "ns"}


class Coding(Enum):
    """Decoding of a statistic's raw value to the file's type."""

    NUMBER = auto()  # int, float or bool as it is
    UNSIGNED = auto()  # an integer whose sign bit is a digit
    UNSCALED = auto()  # decimal in an integer
    BYTES = auto()
    DECIMAL_BYTES = auto()  # decimal in big-endian two's complement
    HALF = auto()  # float16 in two bytes
    NONE = auto()  # no statistics that could be understood


@dataclass(frozen=True, slots=True)
class FileType:
    """A leaf's type in a file: the Arrow type of its values and how raw statistics hold them."""

    arrow: pa.DataType
    coding: Coding
    physical: str
    width: int = 0  # bytes of a value, 0 where they vary

    @property
    def number(self) -> int:
        """The physical type as a footer says it."""
        return _PHYSICAL.index(self.physical)


@dataclass(frozen=True, slots=True)
class Node:
    """An element of the schema tree. `column`: the ordinal of the leaf among the file's columns, None for groups."""

    name: str
    field_id: int | None
    repeated: bool
    optional: bool
    children: tuple[Node, ...] = ()
    column: int | None = None
    type: FileType | None = None
    by_name: Mapping[str, tuple[Node, ...]] = field(
        default_factory=dict, repr=False, compare=False
    )  # the children, those of names alike together


def read_schema(footer: bytes) -> tuple[Node, int]:
    """The schema's root and the number of bytes, from the footer's first, that say it."""
    reader = Compact(footer)
    with as_damage("the schema in the Parquet footer cannot be read (", "): the file is damaged"):
        field, kind = reader.field(0)
        if field == 1:  # version
            reader.value(kind)
            field, kind = reader.field(1)
        if (field, kind) != (2, 9):
            raise CorruptTableError("a Parquet footer begins with its schema; this one does not: the file is damaged")
        elements = [reader.struct(_ELEMENT) for _ in range(reader.items(12))]
        root, used = _node(elements, 0, iter(range(len(elements))))
    if used != len(elements):
        raise CorruptTableError("the schema in the Parquet footer has elements left over: the file is damaged")
    return root, reader.at


@lru_cache(maxsize=256)
def type_defined_order(created_by: str, columns: int) -> bytes:
    """The last bytes of a footer that says `created_by` and then TYPE_DEFINED_ORDER for each of its columns.

    Only then are statistics of byte arrays and unsigned numbers in the order of their types; older writers compared
    them as signed bytes. A footer that ends otherwise (encryption, fields of newer writers) leaves the order unknown.
    """
    text = created_by.encode()
    head = bytes([columns << 4 | 12]) if columns < 15 else b"\xfc" + varint(columns)
    return varint(len(text)) + text + b"\x19" + head + b"\x1c\x00\x00" * columns + b"\x00"


def in_total_order(tail: bytes, ending: bytes, floats: Sequence[bool]) -> bool:
    """Return whether a footer's last bytes are the `ending` above, but for columns of floats in the total order of
    IEEE 754."""
    at = len(ending) - 3 * len(floats) - 1
    orders = [tail[start : start + 3] for start in range(at, len(ending) - 1, 3)]
    ordered = all(
        order == b"\x1c\x00\x00" or (isfloat and order == b"\x2c\x00\x00")
        for order, isfloat in zip(orders, floats, strict=True)
    )
    return tail[:at] == ending[:at] and ordered and tail[-1:] == b"\0"


def _node(elements: list[Struct], at: int, columns: Iterator[int]) -> tuple[Node, int]:
    element = elements[at]
    repetition = element.get(3, 0)
    about = (element[4].decode(), element.get(9), repetition == 2, repetition == 1)
    if 5 not in element and 1 in element:
        return Node(*about, column=next(columns), type=_file_type(element)), at + 1
    children = []
    at += 1
    for _ in range(element.get(5, 0)):
        child, at = _node(elements, at, columns)
        children.append(child)
    by_name: dict[str, tuple[Node, ...]] = {}
    for child in children:
        key = alike(child.name)
        by_name[key] = (*by_name.get(key, ()), child)
    return Node(*about, children=tuple(children), by_name=by_name), at


def _file_type(element: Struct) -> FileType:
    number = element[1]
    if not 0 <= number < len(_PHYSICAL):
        raise KeyError(f"physical type {number}")
    physical = _PHYSICAL[number]
    logical: Struct = element.get(10) or {}
    converted = element.get(6)
    arrow, coding = _meaning(physical, element, logical, converted)
    width = _WIDTHS[number] if number < len(_WIDTHS) else element.get(2, 0)
    return FileType(arrow, coding, physical, width)


def _meaning(physical: str, element: Struct, logical: Struct, converted: int | None) -> tuple[pa.DataType, Coding]:
    decimal: Struct | None = logical.get(5)
    if decimal is None and converted == 5 and not logical:
        decimal = {1: element.get(7, 0), 2: element.get(8, 0)}
    if decimal is not None:
        scale, precision = decimal.get(1, 0), decimal.get(2, 0)
        if not (1 <= precision <= 38 and 0 <= scale <= precision):
            return pa.binary(), Coding.NONE
        coding = Coding.UNSCALED if physical in ("INT32", "INT64") else Coding.DECIMAL_BYTES
        return pa.decimal128(precision, scale), coding
    if physical in _PLAIN:
        return _PLAIN[physical], Coding.NUMBER
    if physical in ("INT32", "INT64"):
        return _integers(64 if physical == "INT64" else 32, logical, converted)
    if physical == "INT96":
        return pa.timestamp("ns"), Coding.NONE
    if 15 in logical:
        return pa.float16(), Coding.HALF
    if converted == 21 or logical.keys() - {1, 4, 12, 13, 14}:
        return pa.binary(), Coding.NONE  # interval, geometry, what is newer than this reader
    text = bool(logical.keys() & {1, 4, 12}) or converted in (0, 4, 19)
    return (pa.string() if text else pa.binary()), Coding.BYTES


_PLAIN = {"BOOLEAN": pa.bool_(), "FLOAT": pa.float32(), "DOUBLE": pa.float64()}
_CONVERTED = {
    6: pa.date32(),
    7: pa.time32("ms"),
    8: pa.time64("us"),
    9: pa.timestamp("ms", "UTC"),  # without a logical type: adjusted to UTC
    10: pa.timestamp("us", "UTC"),
}


def _integers(bits: int, logical: Struct, converted: int | None) -> tuple[pa.DataType, Coding]:
    signed = pa.int64() if bits == 64 else pa.int32()
    unsigned = pa.uint64() if bits == 64 else pa.uint32()
    if not logical and converted in _CONVERTED:
        return _CONVERTED[converted], Coding.NUMBER
    if not logical and converted in (11, 12, 13, 14):
        return unsigned, Coding.UNSIGNED
    if not logical:
        return signed, Coding.NUMBER if converted in (None, 15, 16, 17, 18) else Coding.NONE
    if 6 in logical:
        return pa.date32(), Coding.NUMBER
    if 7 in logical:
        unit = _UNITS[next(iter(logical[7][2]))]
        return (pa.time32(unit) if unit == "ms" else pa.time64(unit)), Coding.NUMBER
    if 8 in logical:
        unit = _UNITS[next(iter(logical[8][2]))]
        return pa.timestamp(unit, "UTC" if logical[8].get(1) else None), Coding.NUMBER
    if 10 in logical:
        return (signed, Coding.NUMBER) if logical[10].get(2) else (unsigned, Coding.UNSIGNED)
    return pa.null() if 11 in logical else signed, Coding.NONE


def varint(value: int) -> bytes:
    """A number that is not negative, seven bits a byte, as Thrift and Avro write it."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


class Compact:
    """Thrift's compact protocol: structs as dictionaries by field number, lists as lists. What only damage or malice
    writes, so that two readers may read two things, raises."""

    def __init__(self, data: bytes, at: int = 0) -> None:
        self.data = data
        self.at = at

    def byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def varint(self) -> int:
        value = 0
        for shift in range(0, 70, 7):
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
        raise ValueError("a number of more than 64 bits")

    def zigzag(self) -> int:
        value = self.varint()
        return (value >> 1) ^ -(value & 1)

    def field(self, last: int) -> tuple[int, int]:
        """Number and kind of the next field; kind 0 ends the struct."""
        head = self.byte()
        kind = head & 0x0F
        if kind == 0:
            return 0, 0
        number = last + (head >> 4) if head >> 4 else self.zigzag()
        if not 0 < number < 1 << 15:
            raise ValueError("a field of no number")
        return number, kind

    def value(self, kind: int) -> Any:
        match kind:
            case 1 | 2:
                return kind == 1
            case 3:
                return self.byte()
            case 4 | 5 | 6:
                return self.zigzag()
            case 7:
                self.at += 8
                return struct.unpack("<d", self.data[self.at - 8 : self.at])[0]
            case 8:
                size = self.varint()
                self.at += size
                if self.at > len(self.data):
                    raise IndexError("text beyond the end")
                return self.data[self.at - size : self.at]
            case 9 | 10:
                head = self.byte()
                size = self.varint() if head >> 4 == 15 else head >> 4
                element = head & 0x0F
                if (
                    element == 3
                ):  # numbers of a byte: Parquet has no such list, and who expects other numbers reads others
                    raise ValueError("a list of bytes")
                # Booleans in lists take a byte each, unlike those in structs.
                return [self.byte() == 1 if element in (1, 2) else self.value(element) for _ in range(size)]
            case 12:
                return self.struct()
            case _:
                raise KeyError(f"Thrift kind {kind}")

    def struct(self, kinds: Kinds = {}) -> Struct:  # noqa: B006 - never changed
        """Read the fields up to the struct's end. Arrow ignores a field of an unknown kind: one of `kinds` raises."""
        out: Struct = {}
        number = 0
        while True:
            number, kind = self.field(number)
            if not kind:
                return out
            if number in out:
                raise ValueError("a field that is said twice")
            known = kinds.get(number, kind)
            if (known if isinstance(known, int) else 12) != kind:
                raise ValueError("a field of another kind")
            out[number] = self.value(kind) if isinstance(known, int) else self.struct(known)

    def items(self, kind: int) -> int:
        """The size of the list that begins here, of elements of this kind."""
        head = self.byte()
        if head and head & 0x0F != kind:
            raise ValueError("a list of other things")
        return self.varint() if head >> 4 == 15 else head >> 4
