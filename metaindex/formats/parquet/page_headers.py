"""Headers of pages: their bytes, packed and unpacked, and their rows. Arrow allocates what they say."""

from __future__ import annotations

import re
from mmap import mmap
from typing import NamedTuple, TypeAlias

from metaindex.formats.unpacked import hold

from .schema import Compact

Data: TypeAlias = bytes | memoryview | mmap

_DATA, _DICTIONARY, _DATA_V2 = 0, 2, 3
_BY_DICTIONARY = (2, 8)
MOST_HEADER = 1 << 16


class PageHeader(NamedTuple):
    length: int
    unpacked: int
    packed: int
    rows: int  # -1 of a dictionary
    by_dictionary: bool
    values: int


def page_header(data: Data, at: int = 0) -> PageHeader | None:
    """Read the header that begins there; None if it ends behind `data`. ValueError for one that no page has."""
    return _plain_header(data, at) or _any_header(data, at)


def hold_pages(data: Data, start: int, end: int) -> None:
    """Raise ValueError where what stands there is no pages, or they unpack to more than they may."""
    at, unpacked = start, 0
    while at < end:
        header = page_header(data, at)
        if header is None or header.packed < 0 or at + header.length + header.packed > end:
            raise ValueError("a page behind the end of its column")
        if header.unpacked < 0 or (header.rows < 0 and not 0 <= header.values <= header.unpacked):
            raise ValueError("a page of other bytes than its values")
        at += header.length + header.packed
        unpacked += header.unpacked
    hold(unpacked, end - start)


def _any_header(data: Data, at: int) -> PageHeader | None:
    walk = Compact(bytes(data[at : at + MOST_HEADER]))
    try:
        said = walk.struct()
    except (IndexError, RecursionError):
        return None
    kind, length = said[1], walk.at
    if kind == _DICTIONARY:
        return PageHeader(length, said[2], said[3], -1, True, said[7][1])
    if kind not in (_DATA, _DATA_V2):
        return PageHeader(length, said[2], said[3], 0, False, 0)
    about = said[5 if kind == _DATA else 8]
    rows, encoding = about[1], about[2 if kind == _DATA else 4]
    if rows < 0 or (kind == _DATA_V2 and about[3] != rows):
        raise ValueError("a page of other rows than values")
    return PageHeader(length, said[2], said[3], rows, encoding in _BY_DICTIONARY, rows)


def _plain_header(data: Data, start: int) -> PageHeader | None:
    """Like `_any_header`, by patterns that common writers follow; None if it does not."""
    head = _HEAD(data, start)
    if head is None:
        head = _DICTIONARY_HEAD(data, start)
        if head is None:
            return None
        unpacked, packed, values = map(zigzag, head.group(1, 2, 3))
        return PageHeader(head.end() - start, unpacked, packed, -1, True, values)
    at = head.end()
    if data[at - 1]:  # statistics
        try:
            while what := data[at]:
                at += 1
                kind = what & 15
                if kind == 8:
                    if data[at] > 127:
                        return None
                    at += 1 + data[at]
                elif kind == 6:
                    while data[at] > 127:
                        at += 1
                    at += 1
                elif what < 16 or not 1 <= kind <= 2:
                    return None
        except IndexError:
            return None
        at += 2
    if data[at : at + 1] != b"\0":
        return None
    unpacked, packed, rows = map(zigzag, head.group(1, 2, 3))
    return PageHeader(at + 1 - start, unpacked, packed, rows, head[4][0] >> 1 in _BY_DICTIONARY, rows)


_V = rb"([\x80-\xff]{0,4}[\x00-\x7f])"
_SIZES = rb"\x15" + _V + rb"\x15" + _V  # unpacked and packed, maybe a checksum
_CHECKSUM = rb"\x15[\x80-\xff]{0,4}[\x00-\x7f]"
# A page of data: how many values, their encoding and those of levels.
_HEAD = re.compile(
    rb"\x15\x00" + _SIZES + rb"(?:" + _CHECKSUM + rb"\x1c|\x2c)\x15" + _V
    + rb"\x15([\x00-\x7f])\x15[\x00-\x7f]\x15[\x00-\x7f](?:\x00|\x1c)",
    re.DOTALL,
).match  # fmt: skip
# A dictionary: how many values, their encoding, whether they are sorted.
_DICTIONARY_HEAD = re.compile(
    rb"\x15\x04" + _SIZES + rb"(?:" + _CHECKSUM + rb"\x4c|\x5c)\x15" + _V + rb"\x15[\x00-\x7f][\x11\x12]?\x00\x00",
    re.DOTALL,
).match  # fmt: skip


def zigzag(said: bytes) -> int:
    """Decode a number, seven bits a byte, the sign last."""
    value = 0
    for byte in reversed(said):
        value = value << 7 | byte & 0x7F
    return (value >> 1) ^ -(value & 1)
