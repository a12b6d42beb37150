"""Sizes that the pages of a Parquet file take in memory, read from their headers before one is unpacked: a stranger's
footer claims what it likes, and Arrow allocates what a page's own header says.

Only pages as files of a query log have them are read: data pages of the first version and dictionaries, plain or by
dictionary. Of other encodings a few bytes may hold texts without end.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any, Final

import pyarrow.parquet as pq

from metaindex.core import dataclass
from metaindex.formats import Compact

WRITER: Final = "parquet-cpp-arrow"
"""Who writes such files. Of those of some older writers Arrow reads more bytes than their footers say."""

MOST_PAGES: Final = 10_000
_I32, _STRUCT = 5, 12
_DATA, _DICTIONARY = 0, 2
_OF_DATA, _OF_DICTIONARY = 5, 7
_PLAIN, _BY_DICTIONARY = (0, 2), (0, 2, 8)
_VALUES: Mapping[int, int] = {1: _I32, 2: _I32}
_PLACES = {1: _I32, 2: _I32, 3: _I32, 6: _STRUCT, 8: _STRUCT}
_HEADER: Mapping[int, Any] = {**_PLACES, _OF_DATA: _VALUES, _OF_DICTIONARY: _VALUES}


@dataclass(frozen=True, slots=True)
class PageSizes:
    """The sum over all pages of a file: bytes unpacked, and values."""

    size_bytes: int
    values: int


def page_sizes(data: bytes, metadata: pq.FileMetaData) -> PageSizes:
    """Read the page sizes of a file in memory. Raises ValueError, LookupError for pages of no query log."""
    if not str(metadata.created_by).startswith(WRITER):
        raise ValueError("another writer's file")
    size_bytes = values = pages = 0
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        for chunk in map(group.column, range(group.num_columns)):
            start, end = _span(chunk, len(data))
            walk = Compact(data, start)
            while walk.at < end:
                pages += 1
                if pages > MOST_PAGES:
                    raise ValueError(f"more than {MOST_PAGES:,} pages")
                page = _header(walk)
                size_bytes += page.size_bytes
                values += page.values
            if walk.at > end:
                raise ValueError("a page beyond the last")
    return PageSizes(size_bytes, values)


def _span(chunk: pq.ColumnChunkMetaData, size: int) -> tuple[int, int]:
    """Return where a chunk's pages begin, and where the last one ends."""
    start = chunk.data_page_offset
    if chunk.has_dictionary_page and chunk.dictionary_page_offset:
        start = min(start, chunk.dictionary_page_offset)
    end = start + chunk.total_compressed_size
    if not 0 <= start <= end <= size:
        raise ValueError("pages outside the file")
    return start, end


def _header(walk: Compact) -> PageSizes:
    """Read the header of the page that begins here, and step behind the page."""
    try:
        header = walk.struct(_HEADER)
    except (struct.error, RecursionError) as error:
        raise ValueError("a page without a header") from error
    kind, unpacked, packed = header[1], header[2], header[3]
    if kind not in (_DATA, _DICTIONARY):
        raise ValueError("pages of another kind")
    told = header[_OF_DATA if kind == _DATA else _OF_DICTIONARY]
    if told[2] not in (_BY_DICTIONARY if kind == _DATA else _PLAIN):
        raise ValueError("values of another encoding")
    if not all(0 <= number < 1 << 31 for number in (unpacked, packed, told[1])):
        raise ValueError("a page of no size")
    walk.at += packed
    return PageSizes(unpacked, told[1])
