"""The processor time that one row of a row group takes, by what the footer and the headers of pages count.

The constants are those of the machine of docs/measurements.md; `python -m benchmarks row_groups` fits them anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from .pages import LARGE_BYTES, FilePages

CHUNK_MS = 0.02  # of a column in a row group
PACKED_MS = 1.2e-6  # of a byte that is compressed
UNPACKED_MS = 0.2e-6  # of a byte that it becomes
VALUE_MS = 1.5e-6
TEXT_MS = 12e-6  # of a text, more than of another value
PAGES_MS = 0.5  # of a column that is read by pages: headers looked at, a small file made
FILE_MS = 0.7  # to open a file
LARGE_MS = 2.0  # of a row group of which some rows are read: another pass
TELL_MS = 1e-6  # of a value of a condition, to tell whether its row matches

UNPACKED = 0.98  # of its bytes, what is stored as it is may take by the pages' headers
_MOST_ROWS = 1 << 31
_MOST_BYTES = 1 << 40
_LOOKED_AT = 32
"""Columns whose pages are looked at, those that take longest to read whole; the others are thought to be like them."""
_MANY_VALUES = 2
"""Bytes a value: in fewer lie places in a dictionary that is so small that each row group has most of it."""


@dataclass(frozen=True, slots=True)
class _Chunk:
    column: int
    packed: int
    unpacked: int
    values: int
    texts: bool

    @property
    def whole_ms(self) -> float:
        return decoding_ms(self.packed, self.unpacked, self.values, texts=self.texts)


@dataclass(frozen=True, slots=True)
class RowCost:
    """The cost of one row of a row group: milliseconds to find it by the columns that are asked, and to read the others
    for it, which take `others_whole_ms` for all rows. `by_pages`: whether any column is read so; `has_many`: whether
    the columns that a value is looked up in may have many."""

    rows: int
    stored_bytes: int
    size_bytes: int
    find_ms: float
    others_ms: float
    others_whole_ms: float
    by_pages: bool
    has_many: bool

    @property
    def ms(self) -> float:
        return FILE_MS + self.find_ms + self.others_ms

    def of_rows(self, rows: int) -> float:
        """Return what a row takes where a row group has no more than so many rows like these. Pages stay as they are:
        to read them pays until the whole takes less."""
        share = min(1.0, rows / self.rows)
        return FILE_MS + self.find_ms * share + min(self.others_ms, self.others_whole_ms * share)

    @property
    def whole_ms(self) -> float:
        """Return what it takes to read all of the row group."""
        return self.find_ms + self.others_whole_ms

    @classmethod
    def of(
        cls,
        pages: FilePages,
        group: int,
        asked: Callable[[str], bool],
        sought: Callable[[str], bool],
        read: Callable[[str], bool],
    ) -> RowCost:
        """`asked`, `sought`, `read`: whether a column, by its dotted path in the file, is one that conditions name, one
        in which they look up a value, one that is read. Raises what is in `DOUBTS` for a footer that no file has."""
        told, paths = pages.metadata.row_group(group), pages.metadata.schema
        columns = [at for at in range(told.num_columns) if at not in pages.hidden]
        named = {at: str(paths.column(at).path) for at in columns}
        chunks = [_chunk(pages, told, at) for at in columns if read(named[at]) or asked(named[at])]
        rows, stored = told.num_rows, sum(chunk.packed for chunk in chunks)
        near = isinstance(pages.source, pa.OSFile)
        if not 0 < rows < _MOST_ROWS or stored > (pages.source.size() if near else _MOST_BYTES):
            raise ValueError("sizes that no file has")
        telling = [chunk for chunk in chunks if asked(named[chunk.column])]
        others = sorted((chunk for chunk in chunks if chunk not in telling), key=lambda chunk: -chunk.whole_ms)
        find, whole = (sum(chunk.whole_ms for chunk in some) for some in (telling, others))
        size = sum(chunk.unpacked for chunk in chunks)
        by_page, others_ms = 0, whole
        if near and size >= LARGE_BYTES and telling:
            looked_at = others[:_LOOKED_AT]
            flat = [chunk.column for chunk in looked_at if "." not in named[chunk.column]]
            taken = pages.taken(group, flat, rows // 2)
            by_page, some = len(taken), _by_pages(looked_at, taken)
            others_ms = LARGE_MS + some * whole / max(sum(chunk.whole_ms for chunk in looked_at), CHUNK_MS)
        many = any(chunk.unpacked >= _MANY_VALUES * rows for chunk in telling if sought(named[chunk.column]))
        find += TELL_MS * rows * len(telling)
        return cls(rows, stored, size, find, min(others_ms, whole), whole, by_page > 0, many)


def decoding_ms(packed: int, unpacked: int, values: int, *, texts: bool) -> float:
    """Return the milliseconds that Arrow takes for so many bytes, and the values in them."""
    unpacking = PACKED_MS * packed if packed < UNPACKED * unpacked else 0.0
    return CHUNK_MS + unpacking + UNPACKED_MS * unpacked + (VALUE_MS + (TEXT_MS if texts else 0.0)) * values


def _by_pages(chunks: Iterable[_Chunk], taken: dict[int, tuple[int, int, int]]) -> float:
    milliseconds = 0.0
    for chunk in chunks:
        some = taken.get(chunk.column)
        milliseconds += chunk.whole_ms if some is None else PAGES_MS + decoding_ms(*some, texts=chunk.texts)
    return milliseconds


def _chunk(pages: FilePages, told: pq.RowGroupMetaData, column: int) -> _Chunk:
    chunk = told.column(column)
    packed, unpacked, values = chunk.total_compressed_size, chunk.total_uncompressed_size, chunk.num_values
    if not (packed >= 0 and 0 <= unpacked < _MOST_BYTES and 0 <= values < _MOST_ROWS):
        raise ValueError("sizes that no file has")
    return _Chunk(column, packed, unpacked, values, pages.schema.forms[column].texts)
