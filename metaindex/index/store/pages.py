"""Rows of a part by their position, by the pages that hold them: no other page is read or unpacked.

Behind its last row group such a part has Parquet's own offset index, which the digest of its footer covers: it says
where each page begins, and with which row. The pages are copied into a small file in memory, which Arrow reads with
their checksums, whatever row group they are of: hence none of its columns has a dictionary.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow._parquet import FileMetaData, ParquetReader

from metaindex.core import Vector, compute, dataclass
from metaindex.formats import Compact, Layouts

Ints: TypeAlias = npt.NDArray[np.int64]

_ROW_GROUPS, _COLUMNS, _OFFSET_INDEX = 4, 1, 4  # fields of a footer, of a row group in it, of a column in that
_PAGE = (0x16, 0x15, 0x16, 0)  # what stands before each number of a page's location, and behind them
_LIST, _NUMBERS, _STRUCTS = 0x19, 6, 12  # of an offset index: its next field is a list, and of what
_MOST_DIGITS = 9  # of a number, seven bits each


@dataclass(frozen=True, slots=True)
class _Pages:
    """Pages of a column: their rows, from the first to behind the last, and where they stand, in bytes."""

    codec: str
    firsts: Ints
    lasts: Ints
    starts: Ints
    ends: Ints

    def holding(self, rows: Ints) -> tuple[_Pages, Ints]:
        """Return those that hold some rows (ascending), and the places of these among theirs."""
        at = np.searchsorted(self.firsts, rows, side="right") - 1
        begins = np.diff(at, prepend=-1) != 0
        pages = at[begins]
        some = _Pages(self.codec, self.firsts[pages], self.lasts[pages], self.starts[pages], self.ends[pages])
        counts = some.lasts - some.firsts
        before = np.cumsum(counts) - counts
        return some, rows - self.firsts[at] + before[np.cumsum(begins) - 1]

    @property
    def rows(self) -> int:
        return int((self.lasts - self.firsts).sum())

    @property
    def size(self) -> int:
        return int((self.ends - self.starts).sum())


class PlacedPages:
    """The pages of a part, which has `size` bytes and ends with `end`. Raises ValueError or LookupError where they are
    not told as Arrow tells them."""

    def __init__(self, end: bytes, size: int, metadata: FileMetaData) -> None:
        footer = end[-8 - metadata.serialized_size : -8]
        self._schema = Layouts(()).schema_of(footer)
        self._metadata = metadata
        self.columns = {metadata.schema.column(at).path: at for at in range(metadata.num_columns)}
        self._groups = [metadata.row_group(group) for group in range(metadata.num_row_groups)]
        self._lasts = np.cumsum([group.num_rows for group in self._groups])
        self._bytes = np.frombuffer(end, np.uint8)
        self._ends = np.flatnonzero(self._bytes < 0x80)  # of numbers, and of each byte that stands between them
        self._located = self._locations(end, _first_index(footer, len(self._schema.prefix)) - size + len(end))

    def read(self, rows: Ints, names: Sequence[str], copy: Callable[[Ints, Ints, memoryview], None]) -> pa.Table | None:
        """Return these columns of some rows (ascending); None if to read all of them takes little longer, or it is not
        told as the footer has it where their pages stand. `copy` copies stretches of the part's bytes, from their
        starts to their ends, one behind the other."""
        columns = [self.columns[name] for name in names]
        groups = Vector.distinct(np.searchsorted(self._lasts, rows, side="right")).tolist()
        try:
            chosen = [pages.holding(rows) for pages in self._pages(columns, groups)]
        except (ValueError, LookupError):
            return None
        pages = [some for some, _ in chosen]
        whole = sum(group.column(column).total_compressed_size for group in self._groups for column in columns)
        if 2 * sum(some.size for some in pages) > whole:
            return None
        small, view = self._schema.small_file(
            [some.rows for some in pages],
            [{at: (some.codec, some.size, some.size, 0)} for at, some in zip(columns, pages, strict=True)],
            self._metadata.created_by,
        )
        starts, ends = (np.concatenate([getattr(some, side) for some in pages]) for side in ("starts", "ends"))
        copy(starts, ends, view[4:])
        reader = ParquetReader()
        reader.open(pa.BufferReader(small), page_checksum_verification=True)
        out = []
        for number, (column, (some, places)) in enumerate(zip(columns, chosen, strict=True)):
            table = reader.read_row_groups([number], column_indices=[column], use_threads=False)
            if table.num_rows != some.rows:
                raise OSError(f"{table.num_rows} rows are there, {some.rows} are expected")
            out.append(compute("take", table.column(0), Vector.arrow(places)))
        return pa.table(out, names=list(names))

    def _pages(self, columns: Sequence[int], groups: Sequence[int]) -> list[_Pages]:
        """Decode the locations of pages. They are those that the footer tells of, and of as many rows."""
        told = [[self._located[group][column] for group in groups] for column in columns]
        numbers = self._numbers([located for of_column in told for located in of_column])
        out, at = [], 0
        for column, of_column in zip(columns, told, strict=True):
            lists: tuple[list[Ints], ...] = ([], [], [], [])
            codecs = set()
            for group, (_, _, count) in zip(groups, of_column, strict=True):
                starts, sizes, firsts = (values[at : at + count] for values in numbers)
                at += count
                row_group = self._groups[group]
                chunk = row_group.column(column)
                codecs.add(chunk.compression)
                ends, lasts = starts + sizes, np.append(firsts[1:], row_group.num_rows)
                whole = starts[0] == chunk.data_page_offset and ends[-1] - starts[0] == chunk.total_compressed_size
                if not whole or firsts[0] or (lasts <= firsts).any() or (starts[1:] != ends[:-1]).any():
                    raise ValueError("pages of another form")  # a dictionary before them, for one
                before = int(self._lasts[group]) - row_group.num_rows
                for some, values in zip(lists, (firsts + before, lasts + before, starts, ends), strict=True):
                    some.append(values)
            if len(codecs) != 1:
                raise ValueError("pages of two codecs")
            out.append(_Pages(codecs.pop(), *map(np.concatenate, lists)))
        return out

    def _locations(self, end: bytes, at: int) -> list[list[tuple[int, int, int]]]:
        """Return where the page locations of each column of each row group begin, in bytes and among the numbers, and
        how many these are: the offset indexes stand one behind the other."""
        if at < 0:
            raise ValueError("an offset index before the end")
        ends = self._ends

        def counted(at: int, kind: int) -> tuple[int, int]:
            """Return the size of a list, and where its first item stands."""
            size, at = end[at] >> 4, at + 1
            if end[at - 1] & 15 != kind:
                raise ValueError("a list of other things")
            if size == 15:
                walk = Compact(end, at)
                size, at = walk.varint(), walk.at
            return size, at

        def behind(at: int, count: int) -> int:
            """Return what follows so many numbers."""
            return int(ends[int(ends.searchsorted(at)) + count - 1]) + 1 if count else at

        def next_index() -> tuple[int, int, int]:
            nonlocal at
            if end[at] != _LIST:
                raise ValueError("an offset index of another form")
            count, start = counted(at + 1, _STRUCTS)
            if not count:
                raise ValueError("a column without pages")
            at = behind(start, 7 * count)
            if end[at] == _LIST:  # bytes of texts in each page
                sizes, at = counted(at + 1, _NUMBERS)
                at = behind(at, sizes)
            if end[at]:
                raise ValueError("an offset index of another form")
            at += 1
            return start, int(ends.searchsorted(start)), count

        return [[next_index() for _ in self.columns] for _ in self._groups]

    def _numbers(self, located: Sequence[tuple[int, int, int]]) -> tuple[Ints, Ints, Ints]:
        """Decode page locations: where each page starts, its size, and its first row; seven bits a byte."""
        ends = np.concatenate([self._ends[first : first + 7 * count] for _, first, count in located]).reshape(-1, 7)
        before = np.empty(len(ends), np.int64)  # what ends before each location
        before[1:] = ends[:-1, 6]
        before[np.cumsum([0, *(count for _, _, count in located[:-1])])] = [start - 1 for start, _, _ in located]
        if (
            any((self._bytes[ends[:, 2 * at]] != byte).any() for at, byte in enumerate(_PAGE))
            or (np.diff(ends[:, ::2], axis=1) < 2).any()
            or (ends[:, 0] != before + 1).any()
        ):
            raise ValueError("locations of another form")
        return self._told(ends, 1), self._told(ends, 3), self._told(ends, 5)

    def _told(self, ends: Ints, at: int) -> Ints:
        """Decode one number of each location, which is never negative."""
        start, digits = ends[:, at - 1] + 1, ends[:, at] - ends[:, at - 1] - 1
        if digits.max() >= _MOST_DIGITS:
            raise ValueError("a number of more than 64 bits")
        out = (self._bytes[start] & 0x7F).astype(np.int64)
        for place in range(1, int(digits.max()) + 1):
            some = np.flatnonzero(digits >= place)
            out[some] |= (self._bytes[start[some] + place] & 0x7F).astype(np.int64) << (7 * place)
        return out >> 1


def _first_index(footer: bytes, at: int) -> int:
    """Return where the first column's offset index stands, in the file: those of the others follow. `at`: where the
    schema ends."""
    walk = Compact(footer, at)
    number, kind = walk.field(2)
    while number != _ROW_GROUPS:
        walk.value(kind)
        number, kind = walk.field(number)
    walk.items(12)
    if walk.field(0)[0] != _COLUMNS:
        raise ValueError("a row group without columns")
    walk.items(12)
    return int(walk.struct()[_OFFSET_INDEX])
