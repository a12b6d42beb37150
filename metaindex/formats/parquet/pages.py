"""Reads some rows of a large row group by the pages that hold them: no other page is unpacked.

A page's header says how many rows it has. The pages with rows that are asked for are copied, byte for byte, into a
small file in memory with a footer of its own, and Arrow reads that. So the same reader as ever makes the values, of
whoever's file, and nothing is asked of statistics. What cannot be told by headers (columns inside others, what is
encrypted, pages that do not add up) is read whole.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from metaindex.core import Vector

from .chunks import look
from .file import FileSchema
from .page_headers import MOST_HEADER, page_header
from .small_file import CODECS

Rows = npt.NDArray[np.int64]

_HEADER = 256
_TEXT = 32  # of bytes to unpack take as long as a text to make
_MOST_BYTES = 64 << 20  # of pages that are held at once
LARGE_BYTES = 1 << 20  # a row group from here on is not read whole for some of its rows
_PAGE_BYTES = 120  # of memory
_MOST_KEPT = 1_000  # of a column in a row group
_MOST_PAGES = 10_000  # of one that are looked at: headers can be made that have no end
_MOST_CHUNKS = 4_000  # that a small file's footer lists: each of its row groups names every column
_CODED = 0.5  # values a byte, at least: a text by itself takes four bytes for its length
_SCHEMA = b"ARROW:schema"


@dataclass(frozen=True, slots=True)
class Page:
    first: int  # row
    rows: int  # -1 of a dictionary
    start: int  # its header
    end: int
    unpacked: int
    by_dictionary: bool


@dataclass(slots=True)
class KnownPages:
    """Pages of a file that were looked for before, by row group and column. `encrypted`: columns; None: not known."""

    encrypted: frozenset[int] | None = None
    of_chunk: dict[tuple[int, int], tuple[Page, ...]] = field(default_factory=dict)
    size_bytes: int = 0
    grown: Callable[[], None] | None = None  # told of each chunk that is kept

    def keep(self, chunk: tuple[int, int], pages: tuple[Page, ...]) -> None:
        self.of_chunk[chunk] = pages
        self.size_bytes += _PAGE_BYTES * len(pages)
        if self.grown is not None:
            self.grown()


@dataclass(frozen=True, slots=True)
class _Chosen:
    """The pages of a column that hold the rows: their bytes in the file, those of the dictionary first if they need it.
    `places`: of the rows, among those of the pages."""

    column: int
    spans: tuple[tuple[int, int], ...]
    unpacked: int
    dictionary: int  # bytes of its page, 0 without one
    places: Rows

    @property
    def packed(self) -> int:
        return sum(end - start for start, end in self.spans)

    @property
    def rows(self) -> int:
        """Return how many rows are made: of the last page as far as rows are asked for."""
        return int(self.places[-1]) + 1


@dataclass(frozen=True, slots=True)
class FilePages:
    """The pages of an open file. `raw`: its footer, and `schema`: the footer's."""

    source: pa.NativeFile
    metadata: pq.FileMetaData
    raw: bytes
    schema: FileSchema
    known: KnownPages

    def read(self, group: int, columns: Sequence[int], rows: Rows) -> dict[int, pa.ChunkedArray]:
        """Return the columns, by their ordinals among the file's, of some rows of a row group (sorted, counted from its
        first). Those are missing for which it does not pay or cannot be done."""
        chosen = self._holding(group, columns, rows)
        return self._decoded(chosen, self.metadata.row_group(group)) if chosen else {}

    def taken(self, group: int, columns: Sequence[int], row: int) -> dict[int, tuple[int, int, int]]:
        """Return the bytes, packed and unpacked, and the values that `read` makes of each column for one row. Those are
        missing that it does not read by pages. Raises ValueError for pages that do not add up."""
        chosen = self._holding(group, columns, np.array([row], np.int64))
        return {some.column: (some.packed, some.unpacked, some.rows) for some in chosen}

    def _holding(self, group: int, columns: Sequence[int], rows: Rows) -> list[_Chosen]:
        """The pages of each column that hold the rows, where it pays to read those alone."""
        known, hidden = self.known, self.hidden
        told = self.metadata.row_group(group)
        chosen: list[_Chosen] = []
        left = _MOST_BYTES
        for column in columns:
            if column in hidden or self.schema.forms[column].repetition:
                continue
            chunk = told.column(column)
            if chunk.num_values != told.num_rows or chunk.compression not in CODECS or chunk.file_path:
                continue
            pages = known.of_chunk.get((group, column))
            if pages is None:
                pages = self._pages(chunk)
                if len(pages) <= _MOST_KEPT:
                    known.keep((group, column), pages)
            some = self._chosen(chunk, column, pages, rows, left)
            if some is not None:
                chosen.append(some)
                left -= some.unpacked
        return chosen

    def coded(self, columns: Sequence[int]) -> list[int]:
        """Return those of the columns whose texts are stored as places in dictionaries that are small, in every row
        group: to hand them on as such takes a tenth of the time of making texts."""
        groups = [self.metadata.row_group(group) for group in range(self.metadata.num_row_groups)]
        hidden = self.hidden

        def is_coded(column: int) -> bool:
            chunks = (group.column(column) for group in groups)
            return all(_CODED * chunk.total_uncompressed_size < chunk.num_values for chunk in chunks)

        return [at for at in columns if at not in hidden and is_coded(at)] if groups else []

    @property
    def hidden(self) -> frozenset[int]:
        """The columns that are encrypted. Nothing may be asked of a footer that was not looked through."""
        if self.known.encrypted is None:
            self.known.encrypted = look(self.raw, len(self.schema.prefix), self.schema.forms).encrypted
        return self.known.encrypted

    def _chosen(
        self, chunk: pq.ColumnChunkMetaData, column: int, pages: tuple[Page, ...], rows: Rows, left: int
    ) -> _Chosen | None:
        """The pages that hold the rows; None if to read all takes little longer, or they are more than `left` bytes."""
        value = _TEXT if self.schema.forms[column].texts else 0
        most = min(left, (chunk.total_uncompressed_size + value * chunk.num_values) * 2 // 3)
        dictionary = next((page for page in pages if page.rows < 0), None)
        data = [page for page in pages if page.rows > 0]
        firsts = np.array([page.first for page in data], np.int64)
        at = np.searchsorted(firsts, rows, side="right") - 1
        asked, page_of = Vector.numbered(at)
        read = [data[page] for page in asked.tolist()]
        most -= sum(page.unpacked + value * page.rows for page in read)
        before = np.cumsum([0, *(page.rows for page in read)])[:-1]
        places = rows - firsts[at] + before[page_of]
        by_dictionary = any(page.by_dictionary for page in read)
        if by_dictionary and dictionary is not None:
            most -= dictionary.unpacked
            read = [dictionary, *read]
        if most < 0 or (by_dictionary and dictionary is None):
            return None
        spans = tuple((page.start, page.end) for page in read)
        sized = dictionary.end - dictionary.start if by_dictionary and dictionary is not None else 0
        return _Chosen(column, spans, sum(page.unpacked for page in read), sized, places)

    def _pages(self, chunk: pq.ColumnChunkMetaData) -> tuple[Page, ...]:
        """Return all pages in their order. Raises ValueError if they have not the rows that the footer says."""
        at, first = chunk.data_page_offset, 0
        if chunk.has_dictionary_page and 0 < (chunk.dictionary_page_offset or 0) < at:
            at = chunk.dictionary_page_offset
        end, pages = min(at + chunk.total_compressed_size, self.source.size()), list[Page]()
        while at < end:
            if len(pages) == _MOST_PAGES:
                raise ValueError("more pages than are looked at")
            data = self.source.read_at(_HEADER, at)
            header = page_header(data) or page_header(self.source.read_at(MOST_HEADER, at))
            if header is None or header.packed < 0 or at + header.length + header.packed > end:
                raise ValueError("a page behind the end of its column")
            stop = at + header.length + header.packed
            pages.append(Page(first, header.rows, at, stop, header.unpacked, header.by_dictionary))
            at, first = stop, first + max(header.rows, 0)
        if first != chunk.num_values:
            raise ValueError("pages of other rows than the footer's")
        return tuple(pages)

    def _decoded(self, chosen: list[_Chosen], told: pq.RowGroupMetaData) -> dict[int, pa.ChunkedArray]:
        together: dict[int, list[_Chosen]] = {}  # a row group of the small file: columns of so many rows
        for some in chosen:
            together.setdefault(some.rows, []).append(some)
        if len(together) * len(self.schema.forms) > _MOST_CHUNKS:
            return {}
        groups = [
            {
                some.column: (told.column(some.column).compression, some.unpacked, some.packed, some.dictionary)
                for some in columns
            }
            for columns in together.values()
        ]
        keys = self.metadata.metadata or {}
        small, view = self.schema.small_file(list(together), groups, self.metadata.created_by, keys.get(_SCHEMA))
        at = 4
        for start, end in (span for columns in together.values() for some in columns for span in some.spans):
            self.source.seek(start)
            if self.source.readinto(view[at : at + end - start]) != end - start:
                return {}
            at += end - start
        reader = pq.ParquetReader()
        reader.open(pa.BufferReader(small), coerce_int96_timestamp_unit="us")
        out: dict[int, pa.ChunkedArray] = {}
        for number, (count, columns) in enumerate(together.items()):
            for some in columns:
                table = reader.read_row_groups([number], column_indices=[some.column], use_threads=False)
                if table.num_columns == 1 and table.num_rows == count:
                    out[some.column] = table.column(0).take(Vector.arrow(some.places))
        return out
