"""Reads what a footer states of one column in each row group, from its bytes: Arrow's accessors end the process where a
footer contradicts itself, and to look at every column first (`chunks.look`) takes longer than a look-up in an index.

The chunks of a column are found by its path, and a pattern reads what stands behind it, as Arrow writes it. Where the
path is found elsewhere, too (in the bounds of texts), the footer is walked as Thrift.

What is stated may be wrong, and serves to find pages, which Arrow reads: it raises for those that are no such pages.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

from pyarrow._parquet import ColumnSchema

from .chunks import path_texts
from .page_headers import Data, hold_pages, zigzag
from .schema import Compact
from .small_file import CODECS

_MOST_WALKED = 4 << 20  # bytes of a footer: each may become an object
_NAMES = {number: name for name, number in CODECS.items()}
_VALUES = {
    physical: struct.Struct(form)
    for physical, form in {"BOOLEAN": "<?", "INT32": "<i", "INT64": "<q", "FLOAT": "<f", "DOUBLE": "<d"}.items()
}
_ROW_GROUPS, _COLUMNS, _META_DATA, _I64, _LIST, _STRUCT = 4, 1, 3, 6, 9, 12
_NULLS, _MAX_VALUE, _MIN_VALUE = 3, 5, 6


@dataclass(frozen=True, slots=True)
class StatedColumn:
    """A column in each row group. Its methods raise ValueError, LookupError or struct.error for what no footer of an
    index states."""

    hold_pages: ClassVar = staticmethod(hold_pages)

    physical: str  # as Arrow names it
    width: int  # of values that are bytes; 0 where it varies
    heads: tuple[re.Match[bytes], ...]

    @classmethod
    def of(cls, footer: bytes, leaf: ColumnSchema, place: int, groups: int) -> StatedColumn:
        """`place`: of the column among those of a row group. It is in no other column."""
        path = b"\x19" + path_texts((leaf.path.encode(),))
        behind = footer.split(path, groups + 1)[1:]
        if len(behind) != groups:
            behind = _walked(footer, path, place)
        packed = _VALUES.get(leaf.physical_type)
        heads = tuple(filter(None, map(_head(packed.size if packed else leaf.length), behind)))
        if len(heads) != groups:
            raise ValueError("row groups of other columns than the schema's")
        return cls(leaf.physical_type, leaf.length, heads)

    def codec(self, group: int) -> str:
        """Return how pages are packed, as Arrow names it."""
        return _NAMES[self.heads[group][1][0] >> 1]

    def size(self, group: int) -> int:
        """Return the bytes of all pages."""
        return zigzag(self.heads[group][2])

    def span(self, group: int) -> tuple[int, int]:
        """Return the first and last byte of the pages."""
        size, data, dictionary = map(zigzag, self.heads[group].groups(b"\0")[1:4])
        start = min(data, dictionary or data)
        return start, start + size

    def hold(self, group: int, data: Data) -> None:
        """Raise ValueError where the pages of a row group, in the file's bytes, unpack to more than they may."""
        if self.heads[group][0][3:4] != b"\0":  # of a column without values Arrow reads no page
            hold_pages(data, *self.span(group))

    def statistics(self) -> tuple[list[int], list[Any], list[Any]]:
        """Return of each row group how many NULLs there are (-1: not stated) and its bounds (None: not stated)."""
        packed = _VALUES.get(self.physical)
        width = packed.size if packed else self.width
        said = [head.group(6, 7, 8) if head[6] or not head[5] else _any_statistics(head, width) for head in self.heads]
        counts = [-1 if count is None else 0 if count == b"\0" else zigzag(count) for count, _, _ in said]
        bounds: list[list[Any]] = [[some[end] if None not in some else None for some in said] for end in (2, 1)]
        if packed is None:
            return counts, bounds[0], bounds[1]
        least, greatest = ([None if value is None else packed.unpack(value)[0] for value in some] for some in bounds)
        return counts, least, greatest

    def offset_index(self, group: int) -> int:
        """Return where the offset index of a row group begins."""
        head = self.heads[group]
        walk, number = Compact(head.string, head.end()), 12 if head[5] else 11 if head[4] else 9
        if head[5] and not head[6]:
            walk.struct()
        number, kind = walk.field(number)
        while kind:
            walk.value(kind)
            number, kind = walk.field(number)
        if walk.field(_META_DATA) != (_META_DATA + 1, _I64):
            raise ValueError("a column without an offset index")
        return walk.zigzag()


def _any_statistics(head: re.Match[bytes], width: int) -> tuple[bytes | None, bytes | None, bytes | None]:
    """Read statistics of any form: how many NULLs, the greatest and the least value. `width`: of a value, 0 where it
    varies."""
    walk = Compact(head.string, head.end(5))
    said, number, kind = dict[int, bytes](), 0, 0
    while True:
        number, kind = walk.field(number)
        if not kind:
            break
        start, value = walk.at, walk.value(kind)
        if number == _NULLS and not isinstance(value, int):
            raise ValueError("a number of NULLs that is no number")
        said[number] = value if isinstance(value, bytes) else walk.data[start : walk.at]
    greatest, least = said.get(_MAX_VALUE), said.get(_MIN_VALUE)
    if width and any(bound is not None and len(bound) != width for bound in (greatest, least)):
        raise ValueError("a bound of another width than the values")
    return said.get(_NULLS), greatest, least


def _walked(footer: bytes, path: bytes, place: int) -> list[bytes]:
    """Return what stands behind the column's path in each row group."""
    if len(footer) > _MOST_WALKED:
        raise ValueError("a footer too large to be walked")
    walk, behind = Compact(footer), list[bytes]()
    number, kind = walk.field(0)
    while number != _ROW_GROUPS:
        walk.value(kind)
        number, kind = walk.field(number)
    for _ in range(walk.items(_STRUCT)):
        if walk.field(0) != (_COLUMNS, _LIST):
            raise ValueError("a row group without columns")
        for column in range(walk.items(_STRUCT)):
            start = walk.at
            walk.struct()
            if column == place:
                behind.append(footer[start : walk.at].partition(path)[2])
        number, kind = walk.field(_COLUMNS)
        while kind:
            walk.value(kind)
            number, kind = walk.field(number)
    return behind


_ANY = rb"[\x80-\xff]{0,9}[\x00-\x7f]"
_V = rb"(" + _ANY + rb")"
# Codec, values, bytes unpacked and packed, the first page of data, that of a dictionary.
_SIZES = rb"\x15([\x00-\x7f])\x16" + _ANY + rb"\x16" + _ANY + rb"\x16" + _V + rb"\x26" + _V + rb"(?:\x26" + _V + rb")?"


@lru_cache(maxsize=64)
def _head(width: int) -> Callable[[bytes], re.Match[bytes] | None]:
    """A pattern of what stands behind a path, up to the statistics: those of old, how many NULLs, the greatest and the
    least value, whether these are exact. `width`: of a value."""
    bound = re.escape(bytes([width % 128])) + b"(.{%d})" % width
    old = (rb"\x18" + re.escape(bytes([width % 128])) + b".{%d}" % width) * 2
    bounds = rb"\x28" + bound + rb"\x18" + bound + rb"[\x11\x12]{0,2}"
    statistics = rb"(?:" + old + rb"\x16|\x36)" + _V + rb"(?:" + bounds + rb")?\x00"
    return re.compile(_SIZES + rb"(?:(\x1c|\x3c)(?:" + statistics + rb")?)?", re.DOTALL).match
