"""Parquet footers as a reader needs them: parsed once, and cached for the next query while the file is unchanged.

A local file may be replaced under its name, in place or by another. So a footer is taken again only for a file of the
same size, time, inode and time of change, looked at after the file was opened; and none is held of a file that was
changed so lately that it may change again without a sign. Of a store nothing is held: opening an object fetches its end
anyway.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from operator import add
from typing import Any, ClassVar, Protocol, TypeVar

import pyarrow as pa

# What pq.ParquetFile is made of: that one lists all columns by their names for each file, which is not asked here.
from pyarrow._parquet import FileMetaData, ParquetReader

from metaindex.core import BoundedCache, MetaIndexError
from metaindex.formats.files.listing import RACY_NS
from metaindex.formats.older_calendar import read_in_older_calendar
from metaindex.formats.parquet.chunks import forms_of, look, stored_bytes
from metaindex.formats.parquet.file import read_footer
from metaindex.formats.parquet.pages import KnownPages
from metaindex.formats.parquet.schema import read_schema
from metaindex.storage import ObjectInfo

_T = TypeVar("_T")

_PARSED = 12
"""Bytes in memory for each byte of a footer, about: Thrift's objects, and the columns as Arrow's."""
_OVERHEAD = 4096
_SHAPES = 8  # kept at most
_MOST_CHUNKS = 10_000  # of a footer whose row groups are told apart by their places
_MAGIC = b"PAR1"
_FOLLOWED = 3  # all columns of a query, those that tell which rows are left, and the others

# Whatever a footer can make of its reader: no reason to lose a query.
DOUBTS = (MetaIndexError, pa.ArrowException, OSError, ValueError, TypeError, ArithmeticError, LookupError)


@dataclass(slots=True)
class FileShape:
    """The columns of files that are alike. Immutable but for what follows from them."""

    schema: pa.Schema
    leaves: int
    fields: tuple[pa.Field, ...]
    _followed: tuple[tuple[tuple[Any, ...], Any], ...] = ()

    def following(self, key: tuple[Any, ...], make: Callable[[], _T]) -> _T:
        """Return a value derived from the columns and `key`. The last ones are cached, since queries of a handle mostly
        use the same columns. `make` may raise: nothing is kept then."""
        for asked, held in self._followed:
            if asked == key:
                followed: _T = held
                return followed
        followed = make()
        self._followed = ((key, followed), *self._followed[: _FOLLOWED - 1])
        return followed


class FileFooter:
    """A parsed footer. Immutable; what follows from it is worked out when first asked for. `raw`: its bytes, for who
    reads statistics or pages by it, where they were read apart."""

    def __init__(self, metadata: FileMetaData, shape: FileShape, raw: bytes = b"") -> None:
        self.metadata = metadata
        self.shape = shape
        self.raw = raw
        self.pages = KnownPages()
        self.spans: tuple[list[tuple[int, int]] | None] | None = None  # once they are known

    @property
    def size_bytes(self) -> int:
        """Approximate size in memory, with the pages that are known by now."""
        return _OVERHEAD + _PARSED * int(self.metadata.serialized_size) + self.pages.size_bytes

    @cached_property
    def groups(self) -> list[tuple[int, int]]:
        """Return each row group's first row in the file, and its uncompressed bytes: one a row, at least, to which few
        may unpack. The last entry holds the number of all rows."""
        out, first = [], 0
        for number in range(self.metadata.num_row_groups):
            group = self.metadata.row_group(number)
            out.append((first, max(group.total_byte_size, group.num_rows)))
            first += group.num_rows
        return [*out, (first, 0)]

    @cached_property
    def julian(self) -> bool:
        """True if Spark wrote dates and timestamps by the Julian calendar."""
        return read_in_older_calendar(self.metadata)

    def bytes_of(self, groups: Iterable[int]) -> int:
        """The size of row groups, uncompressed."""
        return sum(self.groups[group][1] for group in groups)


@dataclass(slots=True)
class HeldFooters:
    """Footers by the path of their file, up to `limit_bytes` of memory (`BoundedCache`). For threads."""

    limit_bytes: int = 32 << 20
    _held: BoundedCache[str, tuple[ObjectInfo, FileFooter]] = field(init=False)
    _shapes: list[FileShape] = field(default_factory=list)  # the one seen last at the end

    def __post_init__(self) -> None:
        self._held = BoundedCache(limit_bytes=self.limit_bytes)

    def find(self, now: ObjectInfo) -> FileFooter | None:
        """The footer of a file that is as it was when it was read."""
        held = self._held.find(now.path)
        return held[1] if held is not None and held[0] == now else None

    def keep(self, then: ObjectInfo, footer: FileFooter) -> None:
        """`then`: as the file was before its footer was read."""
        if _lately_changed(then) or footer.size_bytes > self.limit_bytes // 4:
            self._held.take(then.path)
            return
        footer.pages.grown = lambda: self._grown(then)
        self._held.keep(then.path, (then, footer), footer.size_bytes)

    def _grown(self, then: ObjectInfo) -> None:
        if (footer := self.find(then)) is not None:
            self.keep(then, footer)

    def shape(self, schema: pa.Schema, leaves: int) -> FileShape:
        """The columns of a file, as others of a table mostly have them, too."""
        for shape in reversed(self._shapes):
            if shape.leaves == leaves and shape.schema.equals(schema, check_metadata=True):
                return shape
        shape_ = FileShape(schema, leaves, tuple(schema))
        self._shapes = [*self._shapes[1 - _SHAPES :], shape_]
        return shape_

    def open(self, source: pa.NativeFile, now: ObjectInfo | None, *, gather: bool, stated: bool) -> OpenedFile:
        """`now`: what the file is, looked at after it was opened; None: its footer is neither held nor taken from those
        that are. `gather`: reads of a row group's columns are joined. `stated`: the footer's statistics will be
        read."""
        if now is not None and now.size_bytes != source.size():
            now = None  # another file has come to its name since
        footer = None if now is None else self.find(now)
        raw, metadata = (b"", None) if footer is None else (footer.raw, footer.metadata)
        if stated and not raw:
            with suppress(*DOUBTS):  # the reader finds out what is wrong with the file, if anything
                raw, metadata = read_footer(lambda start, length: source.read_at(length, start), source.size())
        reader = ParquetReader()
        reader.open(source, metadata=metadata, coerce_int96_timestamp_unit="us", pre_buffer=gather)
        if footer is None or raw is not footer.raw:
            metadata = reader.metadata
            footer = FileFooter(metadata, self.shape(reader.schema_arrow, metadata.num_columns), raw)
            if now is not None:
                self.keep(now, footer)
        return OpenedFile(reader, footer)


@dataclass(frozen=True, slots=True)
class OpenedFile:
    """A Parquet file that is opened for reading."""

    DOUBTS: ClassVar[tuple[type[Exception], ...]] = DOUBTS

    reader: ParquetReader
    footer: FileFooter

    def coded(self, source: pa.NativeFile, columns: list[int]) -> OpenedFile:
        """Return the file opened anew, with these columns (by their numbers) read as dictionaries."""
        reader = ParquetReader()
        reader.open(
            source,
            metadata=self.footer.metadata,
            coerce_int96_timestamp_unit="us",
            pre_buffer=not isinstance(source, pa.OSFile),
            read_dictionary=columns,
        )
        return OpenedFile(reader, self.footer)

    def raw_footer(self, source: pa.NativeFile) -> bytes:
        """Return the footer's bytes. They are read once."""
        if not self.footer.raw:
            self.footer.raw, _ = read_footer(lambda start, length: source.read_at(length, start), source.size())
        return self.footer.raw

    def group_spans(self, source: pa.NativeFile) -> list[tuple[int, int]] | None:
        """Return the bytes of each row group: one behind another, with the beginning of each in them, and its middle as
        readers of parts of a file reckon it, who take the row groups whose middle lies in their part. None where the
        footer tells of no such file, where it is long, and where columns are encrypted. Raises what is in DOUBTS."""
        if self.footer.spans is None:
            self.footer.spans = (self._group_spans(source),)
        return self.footer.spans[0]

    def _group_spans(self, source: pa.NativeFile) -> list[tuple[int, int]] | None:
        metadata, raw = self.footer.metadata, self.raw_footer(source)
        if metadata.num_row_groups * metadata.num_columns > _MOST_CHUNKS:
            return None
        root, at = read_schema(raw)
        rests: list[int] = []
        if look(raw, at, forms_of(root), rests=rests).encrypted:
            return None
        spans: list[tuple[int, int]] = []
        for group, rest in zip(map(metadata.row_group, range(metadata.num_row_groups)), rests, strict=True):
            chunks = [group.column(column) for column in range(group.num_columns)]
            if any(chunk.file_path for chunk in chunks):
                return None
            sizes = [chunk.total_compressed_size for chunk in chunks]
            starts = [
                min(chunk.data_page_offset, chunk.dictionary_page_offset)
                if chunk.has_dictionary_page
                else chunk.data_page_offset
                for chunk in chunks
            ]
            first, end = starts[0], max(map(add, starts, sizes))
            stored = stored_bytes(raw, rest)
            middles = [first + size // 2 for size in (sum(sizes), sum(sizes) if stored is None else stored)]
            before = spans[-1][1] if spans else len(_MAGIC)
            if min(starts) != first or first < before or not all(first <= middle < end for middle in middles):
                return None
            spans.append((first, end))
        return spans if not spans or spans[-1][1] <= source.size() - len(raw) - 2 * len(_MAGIC) else None


def _lately_changed(info: ObjectInfo) -> bool:
    """Return whether the file changed too recently, by its change time if its etag has one, which nobody can set back;
    True without one."""
    changed = (info.etag or "").rpartition("-")[2]
    since = time.time_ns() - RACY_NS
    return not changed.isdecimal() or len(changed) > 20 or int(changed) > since


class RowGroupChoice(Protocol):
    """Choice of the row groups that are read from a file."""

    def open(
        self, source: pa.NativeFile, path: str = "", now: ObjectInfo | None = None
    ) -> tuple[OpenedFile, list[range]]:
        """The file, and the runs of neighbouring row groups to read."""
        ...
