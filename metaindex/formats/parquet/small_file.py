"""A small Parquet file in memory, to which pages of another file are copied byte for byte: Arrow reads it as any."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import pyarrow as pa

from .chunks import LeafForm
from .schema import varint

CODECS = {"UNCOMPRESSED": 0, "SNAPPY": 1, "GZIP": 2, "BROTLI": 4, "ZSTD": 6, "LZ4": 7}  # as Arrow names them
_SCHEMA = b"ARROW:schema"


_NO_PAGES = "UNCOMPRESSED", 0, 0, 0
CopiedPages: TypeAlias = tuple[str, int, int, int]
"""Pages of one column: their codec, their bytes unpacked and packed, and those of the first if it is a dictionary."""


def small_file(
    prefix: bytes,
    forms: Sequence[LeafForm],
    rows: Sequence[int],
    groups: Sequence[Mapping[int, CopiedPages]],
    created_by: str,
    arrow_schema: bytes | None,
) -> tuple[pa.Buffer, memoryview]:
    """Return a file of row groups of so many `rows`, of these columns each, and its bytes: from the fourth on the pages
    are to be put, one behind the other. `prefix`: what a footer of its schema begins with."""
    said, at = list[bytes](), 4
    for count, columns in zip(rows, groups, strict=True):
        chunks = {}
        for column, pages in columns.items():
            chunks[column] = _column(forms[column], pages, count, at)
            at += pages[2]
        # Of what is not read: Arrow 25 takes the rows of a row group for those of its first column.
        every = [chunks.get(place) or _column(form, _NO_PAGES, count, 4) for place, form in enumerate(forms)]
        said += [b"\x19", _list(12, len(every)), *every, b"\x16", _zigzag(1), b"\x16", _zigzag(count), b"\x00"]
    told = b"" if arrow_schema is None else b"\x18" + _sized(_SCHEMA) + b"\x18" + _sized(arrow_schema) + b"\x00"
    footer = b"".join(
        (
            prefix,
            b"\x16" + _zigzag(sum(rows)),
            b"\x19" + _list(12, len(groups)),
            *said,
            b"\x19" + _list(12, 1) + told if told else b"",
            (b"\x18" if told else b"\x28") + _sized(created_by.encode()),
            b"\x00",
        )
    )
    small = pa.allocate_buffer(at + len(footer) + 8)
    view = memoryview(small).cast("B")
    view[:4], view[at:] = b"PAR1", footer + len(footer).to_bytes(4, "little") + b"PAR1"
    return small, view


def _column(form: LeafForm, pages: CopiedPages, values: int, at: int) -> bytes:
    codec, unpacked, packed, dictionary = pages
    return b"".join(
        (
            b"\x26" + _zigzag(0),
            b"\x1c\x15" + _zigzag(form.physical),
            b"\x19" + _list(5, 3) + b"\x00\x06\x10",  # PLAIN, RLE, RLE_DICTIONARY
            b"\x19" + form.path,
            b"\x15" + _zigzag(CODECS[codec]),
            b"\x16" + _zigzag(values),
            b"\x16" + _zigzag(unpacked),
            b"\x16" + _zigzag(packed),
            b"\x26" + _zigzag(at + dictionary),
            b"\x26" + _zigzag(at) if dictionary else b"",
            b"\x00\x00",
        )
    )


def _zigzag(value: int) -> bytes:
    return bytes([value << 1]) if value < 64 else varint(value << 1)


def _list(kind: int, size: int) -> bytes:
    return bytes([size << 4 | kind]) if size < 15 else bytes([0xF0 | kind]) + varint(size)


def _sized(value: bytes) -> bytes:
    return varint(len(value)) + value
