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
from metaindex.formats import Compact, Layouts, StatedColumn

Ints: TypeAlias = npt.NDArray[np.int64]

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

    def __init__(self, end: bytes, size: int, metadata: FileMetaData, stated: Callable[[str], StatedColumn]) -> None:
        footer = end[-8 - metadata.serialized_size : -8]
        self._schema = Layouts(()).schema_of(footer)
        self._metadata = metadata
        self.columns = {metadata.schema.column(at).path: at for at in range(metadata.num_columns)}
        self._stated = stated
        self._rows = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
        self._lasts = np.cumsum(self._rows)
        self._bytes = np.frombuffer(end, np.uint8)
        self._ends = np.flatnonzero(self._bytes < 0x80)  # of numbers, and of each byte that stands between them
        self._end, self._before = end, size - len(end)

    def read(self, rows: Ints, names: Sequence[str], copy: Callable[[Ints, Ints, memoryview], None]) -> pa.Table | None:
        """Return these columns of some rows (ascending); None if to read all of them takes little longer, or it is not
        told as the footer has it where their pages stand. `copy` copies stretches of the part's bytes, from their
        starts to their ends, one behind the other."""
        columns = [self.columns[name] for name in names]
        stated = [self._stated(name) for name in names]
        groups = Vector.distinct(np.searchsorted(self._lasts, rows, side="right")).tolist()
        try:
            chosen = [pages.holding(rows) for pages in self._pages(stated, groups)]
        except (ValueError, LookupError):
            return None
        pages = [some for some, _ in chosen]
        whole = sum(column.size(group) for group in range(len(self._rows)) for column in stated)
        if 2 * sum(some.size for some in pages) > whole:
            return None
        small, view = self._schema.small_file(
            [some.rows for some in pages],
            [{at: (some.codec, some.size, some.size, 0)} for at, some in zip(columns, pages, strict=True)],
            self._metadata.created_by,
        )
        starts, ends = (np.concatenate([getattr(some, side) for some in pages]) for side in ("starts", "ends"))
        copy(starts, ends, view[4:])
        at = 4
        for some in pages:
            StatedColumn.hold_pages(view, at, at + some.size)
            at += some.size
        reader = ParquetReader()
        reader.open(pa.BufferReader(small), page_checksum_verification=True)
        out = []
        for number, (column, (some, places)) in enumerate(zip(columns, chosen, strict=True)):
            table = reader.read_row_groups([number], column_indices=[column], use_threads=False)
            if table.num_rows != some.rows:
                raise OSError(f"{table.num_rows} rows are there, {some.rows} are expected")
            out.append(compute("take", table.column(0), Vector.arrow(places)))
        return pa.table(out, names=list(names))

    def _pages(self, stated: Sequence[StatedColumn], groups: Sequence[int]) -> list[_Pages]:
        """Decode the locations of pages. They are those that the footer tells of, and of as many rows."""
        told = [[self._location(of.offset_index(group) - self._before) for group in groups] for of in stated]
        numbers = self._numbers([located for of_column in told for located in of_column])
        out, at = [], 0
        for column, of_column in zip(stated, told, strict=True):
            lists: tuple[list[Ints], ...] = ([], [], [], [])
            codecs = set()
            for group, (_, _, count) in zip(groups, of_column, strict=True):
                starts, sizes, firsts = (values[at : at + count] for values in numbers)
                at += count
                codecs.add(column.codec(group))
                ends, lasts = starts + sizes, np.append(firsts[1:], self._rows[group])
                whole = column.span(group) == (starts[0], ends[-1]) and ends[-1] <= self._before
                if not whole or firsts[0] or (lasts <= firsts).any() or (starts[1:] != ends[:-1]).any():
                    raise ValueError("pages of another form")  # a dictionary before them, for one
                before = int(self._lasts[group]) - self._rows[group]
                for some, values in zip(lists, (firsts + before, lasts + before, starts, ends), strict=True):
                    some.append(values)
            if len(codecs) != 1:
                raise ValueError("pages of two codecs")
            out.append(_Pages(codecs.pop(), *map(np.concatenate, lists)))
        return out

    def _location(self, at: int) -> tuple[int, int, int]:
        """Return where the page locations of an offset index begin, in bytes and among the numbers, and how many these
        are. `at`: where it stands among the bytes."""
        end, ends = self._end, self._ends
        if at < 0 or end[at] != _LIST:
            raise ValueError("an offset index of another form")

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

        count, start = counted(at + 1, _STRUCTS)
        if not count:
            raise ValueError("a column without pages")
        at = behind(start, 7 * count)
        if end[at] == _LIST:  # bytes of texts in each page
            sizes, at = counted(at + 1, _NUMBERS)
            at = behind(at, sizes)
        if end[at]:
            raise ValueError("an offset index of another form")
        return start, int(ends.searchsorted(start)), count

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
