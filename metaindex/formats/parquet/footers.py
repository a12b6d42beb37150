"""Statistics from Parquet footers, for many files at once: bounds with what is not to be believed left out, counts
and sizes.

One tail read a file (two where a footer is large); nothing is cached. Bounds are in the physical domain of the
*table's* type (`metaindex.expressions.physical`), converted from the type at write time, and a doubt about a file never
touches another file. A file that cannot be read is told in `failures`.

    the footer says                        answer
    bounds of every row group              the least and the greatest
    a row group without bounds             unknown for the file, never "all NULL"
    null count = values, everywhere        known all NULL: bounds null, counts known
    no such column                         what the table shows for it: NULL, a default, or unknown
    floats                                 bounds of the numbers; the NaN count is unknown (`needs_scan`)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from metaindex.core import (
    CorruptTableError,
    Mask,
    StorageError,
    StorageUnavailableError,
    UnsupportedFeatureError,
    Vector,
    compute,
    first_line,
)
from metaindex.expressions import ColumnBounds, Family, physical_type, to_physical
from metaindex.formats.model import Leaf
from metaindex.formats.older_calendar import may_be_in_older_calendar, predates, read_in_older_calendar
from metaindex.storage import Storage, each_at, is_remote

from .bounds import DOUBTS, FileColumn, aggregate
from .chunks import forms_of, look
from .costs import RowCost
from .file import TAIL, FileSchema, Layouts, Shape, ShapeKey, askable, collect, names_of, read_footer, shape_of
from .pages import FilePages, KnownPages
from .schema import read_schema
from .trust import AbsentLeaf, Doubt, Form, Found
from .writers import REVISION, reconsidered

_CHUNK = 1000  # files whose raw statistics are Python objects at the same time
_NEVER_SCANNED = (Doubt.LEGACY_CALENDAR, Doubt.NOT_MAPPED, Doubt.AMBIGUOUS, Doubt.OTHER_TYPE, Doubt.ENCRYPTED)
_FAILURES = (CorruptTableError, StorageError, UnsupportedFeatureError, pa.ArrowException, OSError)


@dataclass(frozen=True, slots=True)
class FooterColumn:
    """A leaf over the files of a request. `doubt`: sentence of `Doubt` where the bounds are unknown, null where they
    (or "all NULL") are known.

    `present`: does the file hold the column (null: unknown)? Counts and sizes are null where the file could not be
    read, and zero where it has no such column. `form`: of its column, `Form` as int8; null: unknown.
    """

    leaf: Leaf
    bounds: ColumnBounds
    present: pa.Array
    compressed_bytes: pa.Array
    uncompressed_bytes: pa.Array
    form: pa.Array
    doubt: pa.Array

    def needs_scan(self) -> pa.Array:
        """Return whether reading the column's values would tell more: bounds or null count are unknown, or the NaN
        count of a column of numbers that may hold NaN."""
        import pyarrow.compute as pc

        unknown = pc.or_(pc.is_valid(self.doubt), pc.is_null(self.bounds.null_count))
        if self.bounds.nan_count is not None:
            unknown = pc.or_(unknown, pc.is_null(self.bounds.nan_count))
        return unknown

    def to_scan(self, *, floats: bool) -> Mask:
        """Return a mask of the files whose data would tell more; with `floats` also if that is the NaN count alone.
        False without the column, and if a doubt is about the meaning of values."""
        import pyarrow.compute as pc

        wanted = self.needs_scan() if floats else pc.is_valid(self.doubt)
        if not pc.any(wanted).as_py():
            return np.zeros(len(wanted), np.bool_)
        hopeless = pc.is_in(self.doubt.cast(pa.string()), pa.array([doubt.value for doubt in _NEVER_SCANNED]))
        wanted = pc.and_not(pc.and_(wanted, pc.fill_null(self.present, False)), hopeless)
        return np.asarray(wanted.to_numpy(zero_copy_only=False), np.bool_)


@dataclass(frozen=True, slots=True)
class FooterStatistics:
    """Statistics from the footers of some files. `failures`: why a file could not be read, null where it was."""

    columns: tuple[FooterColumn, ...]
    failures: pa.Array


def read_footers(
    storage: Storage,
    paths: Sequence[str],
    leaves: Sequence[Leaf],
    *,
    sizes: Sequence[int] | None = None,
    threads: int = 1,
) -> FooterStatistics:
    """The statistics of `leaves` in the files `paths`. `sizes` (from a listing) saves a call a file, and a file of
    another size is a failure."""
    jobs = list(_chunks(zip(paths, sizes if sizes is not None else [None] * len(paths), strict=True)))
    layouts = Layouts(tuple(leaves))
    work = partial(_read_chunk, storage, layouts)
    if len(jobs) == 1 and threads > 1 and len(jobs[0]) > 2 * threads:
        step = -(-len(jobs[0]) // threads)
        jobs = [jobs[0][at : at + step] for at in range(0, len(jobs[0]), step)]
    return _joined(each_at(storage.root, jobs or [[]], work, of_store=threads, of_disk=threads))


def read_metadata(storage: Storage, path: str) -> pq.FileMetaData:
    """The footer of one file by a read or two of its end."""
    return _open(storage, path, None).metadata


def _open(storage: Storage, path: str, size: int | None) -> Footer:
    if size is None and is_remote(storage.root):
        with storage.open_input(path) as source:  # its size comes with its end
            return Footer.of(source)
    return Footer.read(partial(storage.read, path), storage.head(path).size_bytes if size is None else size)


@dataclass(frozen=True, slots=True)
class Footer:
    """A Parquet footer: its bytes, and what Arrow makes of them."""

    TAIL: ClassVar[int] = TAIL
    REVISION: ClassVar[int] = REVISION
    reconsidered: ClassVar = staticmethod(reconsidered)

    raw: bytes
    metadata: pq.FileMetaData

    @classmethod
    def read(cls, read: Callable[[int, int], bytes], size: int) -> Footer:
        """`read`: (offset, length) of the file of `size` bytes."""
        return cls(*read_footer(read, size))

    @classmethod
    def of(cls, source: pa.NativeFile) -> Footer:
        """Read the footer of an open file."""
        return cls.read(lambda start, length: bytes(source.read_at(length, start)), source.size())

    of_files: ClassVar = staticmethod(read_footers)

    @property
    def in_older_calendar(self) -> bool:
        """Return whether dates and times are of the calendar before 1582: Spark shifts them, most readers do not."""
        return read_in_older_calendar(self.metadata)

    def schema_in(self, layouts: Layouts) -> FileSchema:
        """Return the file's columns as its writer said them, parsed once for all files of `layouts` alike."""
        return layouts.schema_of(self.raw)

    def row_cost(self, source: pa.NativeFile | None, group: int, *columns: Callable[[str], bool]) -> RowCost:
        """Return what one row of a row group takes. `source`: the open file, none in a store, which is asked for row
        groups and not for pages; `columns` as of `RowCost.of`, which says what is raised."""
        opened = pa.BufferReader(b"") if source is None else source
        pages = FilePages(opened, self.metadata, self.raw, Layouts(()).schema_of(self.raw), KnownPages())
        return RowCost.of(pages, group, *columns)

    def columns(self, layouts: Layouts) -> list[FooterColumn]:
        """Return the statistics of `layouts.leaves` in each row group, with the doubts that hold for whole files."""
        shape, chunks = shape_of(layouts, self.raw, self.metadata, {})
        collect(shape, self.metadata, chunks)
        count = self.metadata.num_row_groups
        shape.ordinals, shape.groups, shape.legacy = list(range(count)), [1] * count, shape.legacy * count
        rows = Vector.arrow(np.array(shape.group_rows, np.int64), None, pa.int64())
        return [_column(leaf, position, [shape], rows) for position, leaf in enumerate(layouts.leaves)]

    def chunk_bytes(self) -> dict[str, int]:
        """Return the compressed size of each leaf's chunks, by its dotted path in the file; encrypted ones are missing.
        Raises CorruptTableError."""
        by_column: dict[str, int] = {}
        for chunk in self._chunks(lambda _: True):
            by_column[chunk.path_in_schema] = by_column.get(chunk.path_in_schema, 0) + chunk.total_compressed_size
        return by_column

    def chunk_spans(self, is_asked: Callable[[str], bool]) -> list[tuple[int, int]]:
        """Return first and last byte of the chunks of leaves that are asked, by their dotted paths in the file.
        Encrypted ones are missing. Raises CorruptTableError, also for a chunk that is in another file."""
        spans = []
        for chunk in self._chunks(is_asked):
            if chunk.file_path:
                raise CorruptTableError("a Parquet file holds its column chunks itself")
            dictionary = chunk.dictionary_page_offset if chunk.has_dictionary_page else None
            start = min(filter(None, (chunk.data_page_offset, dictionary)), default=0)
            spans.append((start, start + chunk.total_compressed_size))
        return spans

    def _chunks(self, is_asked: Callable[[str], bool]) -> Iterator[pq.ColumnChunkMetaData]:
        root, end = read_schema(self.raw)
        hidden = look(self.raw, end, forms_of(root)).encrypted
        paths = [self.metadata.schema.column(at).path for at in range(self.metadata.num_columns)]
        places = [at for at, path in enumerate(paths) if at not in hidden and is_asked(path)]
        for group in map(self.metadata.row_group, range(self.metadata.num_row_groups)):
            yield from map(group.column, places)

    @staticmethod
    def unasked(source: pa.NativeFile) -> tuple[tuple[str, ...], bool]:
        """Return the names of the columns that are encrypted, and whether a bound is shorter than values: Arrow may not
        be asked of these, whoever opened the file."""
        chunks, root = askable(lambda start, length: bytes(source.read_at(length, start)), source.size())
        return tuple(name for at, name in enumerate(names_of(root)) if at in chunks.encrypted), bool(chunks.unstated)

    @staticmethod
    def is_old(metadata: pq.FileMetaData, least: pa.Array, *, int96: bool) -> bool:
        """Return whether the least value predates today's calendar (an instant: today's zone offsets), and the file may
        use an older one."""
        return predates(least) and may_be_in_older_calendar(metadata, int96=int96)


def _chunks(files: Iterable[tuple[str, int | None]]) -> Iterator[list[tuple[str, int | None]]]:
    iterator = iter(files)
    while chunk := list(islice(iterator, _CHUNK)):
        yield chunk


def _read_chunk(storage: Storage, layouts: Layouts, files: list[tuple[str, int | None]]) -> FooterStatistics:
    shapes: dict[ShapeKey, Shape] = {}
    failures: list[str | None] = [None] * len(files)
    rows: list[int | None] = [None] * len(files)
    for ordinal, (path, size) in enumerate(files):
        try:
            footer = _open(storage, path, size)
            metadata = footer.metadata
            shape, chunks = shape_of(layouts, footer.raw, metadata, shapes)
            collect(shape, metadata, chunks)
        except StorageUnavailableError:
            raise  # says nothing of the file
        except _FAILURES as error:
            failures[ordinal] = f"cannot read the footer of {path!r}: {first_line(error)}"
            continue
        shape.ordinals.append(ordinal)
        rows[ordinal] = metadata.num_rows
    num_rows = pa.array(rows, pa.int64())
    columns = (_column(leaf, place, list(shapes.values()), num_rows) for place, leaf in enumerate(layouts.leaves))
    return FooterStatistics(tuple(columns), pa.array(failures, pa.string()))


def _column(leaf: Leaf, position: int, shapes: list[Shape], num_rows: pa.Array) -> FooterColumn:
    """Puts the columns of all layouts back into the order of the files."""
    files = len(num_rows)
    domain = physical_type(leaf.type)
    parts: list[_Part] = []
    for shape in shapes:
        place = shape.places[position]
        if isinstance(place, Found):
            column = aggregate(
                shape.of_leaf[position],
                np.array(shape.groups, np.int64),
                np.array(shape.group_rows, np.int64),
                np.array(shape.legacy, np.bool_),
                leaf.type,
            )
            parts.append(_Part(shape.ordinals, True, column, Form.of(place.type.arrow, numbered=place.numbered)))
        else:
            rows = num_rows.take(pa.array(shape.ordinals, pa.int64()))
            absent, form = _absent_column(place, rows, leaf.type), 0 if place.known else None
            parts.append(_Part(shape.ordinals, False if place.known else None, absent, form))
    missing = np.ones(files, np.bool_)
    for part in parts:
        missing[part.ordinals] = False
    if missing.any() or not parts:  # files that could not be read are in no layout
        failed = np.flatnonzero(missing).tolist()
        parts.append(_Part(failed, None, _unknown_column(len(failed), domain, Doubt.UNREADABLE), sized=False))
    order = np.argsort(np.concatenate([np.asarray(p.ordinals, np.int64) for p in parts]), kind="stable")
    back = pa.array(order, pa.int64()) if len(parts) > 1 else None

    def gather(pick: list[pa.Array]) -> pa.Array:
        return pick[0] if back is None else pa.concat_arrays(pick).take(back)

    columns = [p.column for p in parts]
    nulls = gather([c.nulls for c in columns])
    lower = gather([c.lower for c in columns]) if domain is not None else None
    upper = gather([c.upper for c in columns]) if domain is not None else None
    doubts = gather([Vector.arrow(c.doubt, c.doubt >= 0, pa.int8()) for c in columns])
    exact = gather([pa.array(c.exact) for c in columns])
    nans = _nan_count(leaf.type, nulls, num_rows)
    if nans is not None and any(c.nans is not None for c in columns):
        stated = gather([pa.nulls(len(c.nulls), pa.int64()) if c.nans is None else c.nans for c in columns])
        nans = compute("coalesce", nans, stated)
    bounds = ColumnBounds(leaf.type, lower, upper, nulls, nans, num_rows, exact, exact)
    return FooterColumn(
        leaf,
        bounds,
        gather([pa.array([p.present] * len(p.ordinals), pa.bool_()) for p in parts]),
        gather([p.counts(p.column.compressed) for p in parts]),
        gather([p.counts(p.column.uncompressed) for p in parts]),
        gather([pa.array([p.form] * len(p.ordinals), pa.int8()) for p in parts]),
        pa.DictionaryArray.from_arrays(doubts, pa.array([d.value for d in DOUBTS])),
    )


@dataclass(frozen=True, slots=True)
class _Part:
    ordinals: list[int]
    present: bool | None
    column: FileColumn
    form: int | None = None
    sized: bool = True

    def counts(self, values: npt.NDArray[np.int64]) -> pa.Array:
        return pa.array(values, pa.int64()) if self.sized else pa.nulls(len(values), pa.int64())


def _absent_column(place: AbsentLeaf, rows: pa.Array, table: pa.DataType) -> FileColumn:
    """A column that the files do not hold: NULL throughout, the default throughout, or unknown."""
    domain, count = physical_type(table), len(rows)
    unknown = _unknown_column(count, domain, place.doubt or Doubt.NOT_MAPPED)
    known = replace(unknown, doubt=np.full(count, -1, np.int8))
    if not place.known or place.default is None:
        return replace(known, nulls=rows) if place.known else unknown
    zeros = pa.array(np.zeros(count, np.int64))
    try:
        value = pa.array([place.default], table)
        low, high = (to_physical(value, table, upper=upper).take(zeros) for upper in (False, True))
    except (pa.ArrowException, TypeError, ValueError):
        return unknown
    return (
        _unknown_column(count, domain, Doubt.NAN)
        if low.null_count
        else replace(known, lower=low, upper=high, nulls=zeros)
    )


def _unknown_column(count: int, domain: pa.DataType | None, why: Doubt) -> FileColumn:
    nothing = None if domain is None else pa.nulls(count, domain)
    zeros = np.zeros(count, np.int64)
    doubt = np.full(count, DOUBTS.index(why), np.int8)
    return FileColumn(nothing, nothing, np.zeros(count, np.bool_), pa.nulls(count, pa.int64()), zeros, zeros, doubt)


def _nan_count(table: pa.DataType, nulls: pa.Array, rows: pa.Array) -> pa.Array | None:
    """Footers do not count NaN; where every row is NULL there is none."""
    if not Family.may_be_nan(table):
        return None
    import pyarrow.compute as pc

    none = pc.fill_null(pc.equal(nulls, rows), False)
    return Vector.arrow(np.zeros(len(rows), np.int64), Vector(pc.if_else(none, 0, None)).valid, pa.int64())


def _joined(parts: list[FooterStatistics]) -> FooterStatistics:
    if len(parts) == 1:
        return parts[0]

    def join(arrays: Iterable[pa.Array | None]) -> pa.Array | None:
        known = [a for a in arrays if a is not None]
        return pa.concat_arrays(known) if known else None

    columns = []
    for same in zip(*(p.columns for p in parts), strict=True):
        names = ("lower", "upper", "null_count", "nan_count", "row_count", "lower_exact", "upper_exact")
        bounds = ColumnBounds(same[0].leaf.type, *(join(getattr(c.bounds, name) for c in same) for name in names))
        rest = ("present", "compressed_bytes", "uncompressed_bytes", "form", "doubt")
        columns.append(FooterColumn(same[0].leaf, bounds, *(join(getattr(c, name) for c in same) for name in rest)))
    return FooterStatistics(tuple(columns), join(p.failures for p in parts))
