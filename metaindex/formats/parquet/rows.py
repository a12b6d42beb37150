"""Parquet files: batches of a file's rows in file order, as the table's columns."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from dataclasses import field as a_field
from typing import ClassVar, TypeAlias

import numpy as np
import pyarrow as pa
from pyarrow._parquet import ParquetReader

from metaindex.core import CorruptTableError, Cure, ScanError, StorageError, Vector
from metaindex.formats.columns import leaf_types
from metaindex.formats.model import Field, Snapshot
from metaindex.formats.older_calendar import predates
from metaindex.formats.parquet.file import Layouts
from metaindex.formats.parquet.footers import Footer
from metaindex.storage import ObjectInfo

from .opened import DOUBTS, HeldFooters, OpenedFile, RowGroupChoice
from .pages import LARGE_BYTES, FilePages, Rows
from .projection import FileNames, Projection, carries_ids, constant

_BATCH_ROWS = 131_072
_AHEAD_BYTES = 64 << 20  # of a file, read ahead of what is asked: Arrow fetches the row groups it is given at once
_THREADS_BYTES = 4 << 20  # below, or of one column, handing columns to threads takes longer than decoding them

Part: TypeAlias = "tuple[int, int, list[pa.Array]]"


@dataclass(frozen=True, slots=True)
class RowChoice:
    """Choice of the rows that are read, as the first `columns` of the fields tell. `left` is given the first row of a
    batch, how many it has, and these columns; it returns the places of the rows that are left in the batch, in order,
    and their columns."""

    columns: int
    left: Callable[[int, int, list[pa.Array]], tuple[Rows, list[pa.Array]]]

    def of(self, part: Part) -> Part:
        """A batch of all fields with the rows that are left."""
        first, count, arrays = part
        places, told = self.left(first, count, arrays[: self.columns])
        others = arrays[self.columns :]
        if len(places) < count and others:
            at = Vector.arrow(places)
            others = [array.take(at) for array in others]
        return first, len(places), [*told, *others]


@dataclass(frozen=True, slots=True)
class ParquetRows:
    """Reads the Parquet files of a snapshot as the table's columns."""

    names: FileNames
    layouts: Layouts = a_field(default_factory=lambda: Layouts(()), compare=False, repr=False)
    Choice: ClassVar = RowChoice
    constant: ClassVar = staticmethod(constant)

    @classmethod
    def of(cls, snapshot: Snapshot) -> ParquetRows:
        return cls(FileNames.of(snapshot))

    def read(
        self,
        source: pa.NativeFile,
        fields: tuple[Field, ...],
        where: str,
        row_groups: RowGroupChoice | None = None,
        *,
        path: str = "",
        now: ObjectInfo | None = None,
        choice: RowChoice | None = None,
    ) -> Iterator[Part]:
        """Yield (first row, rows, one array per field) of each batch. Rows of row groups that cannot match are skipped,
        and those that `choice` does not leave. `path`: of the file, as `row_groups` knows it; `now`: as there. Without
        `row_groups` all are read."""
        try:
            if row_groups is not None:
                file, runs = row_groups.open(source, path, now)
            else:
                file = HeldFooters(0).open(source, now, gather=True, stated=False)
                count = file.footer.metadata.num_row_groups
                runs = [range(count)] if count else []
            if any(pa.types.is_dictionary(f.type) for f in fields):
                file = self._by_dictionary(source, file, fields, where)
            reader = _ColumnReader(file, fields, self.names, where)
            if choice is None:
                for run in runs:
                    yield from reader.read(run)
                return
            yield from self._chosen(source, file, fields, where, runs, choice)
        except pa.ArrowNotImplementedError as error:
            raise ScanError(
                f"a data file's columns must be of types that Arrow reads; {where} has others ({error}); leave them out"
                f" of columns, or {Cure('spark')}"
            ) from error
        except StorageError:
            raise  # a store that does not answer is no damage
        except (pa.ArrowInvalid, OSError) as error:
            _refuse_encrypted(source, where, error)
            raise CorruptTableError(
                f"a data file must be a whole Parquet file; {where} is not ({error}); restore it, or remove it from the"
                " table"
            ) from error

    def coded(
        self, source: pa.NativeFile, fields: tuple[Field, ...], where: str, held: HeldFooters, now: ObjectInfo | None
    ) -> list[str]:
        """Return the names of the fields whose texts the file holds as places in small dictionaries."""
        file = held.open(source, now, gather=False, stated=True)
        flat = _ColumnReader(file, fields, self.names, where).flat
        coded = self._pages(source, file).coded([leaf for leaf, _ in flat])
        return [field.name for leaf, field in flat if leaf in coded]

    def _pages(self, source: pa.NativeFile, file: OpenedFile) -> FilePages:
        raw = file.raw_footer(source)
        return FilePages(source, file.footer.metadata, raw, self.layouts.schema_of(raw), file.footer.pages)

    def _by_dictionary(
        self, source: pa.NativeFile, file: OpenedFile, fields: tuple[Field, ...], where: str
    ) -> OpenedFile:
        """Open the file so that columns that are wanted as dictionaries come as such, where they are stored so."""
        with suppress(*DOUBTS):
            flat = _ColumnReader(file, fields, self.names, where).flat
            wanted = [leaf for leaf, field in flat if pa.types.is_dictionary(field.type)]
            return file.coded(source, self._pages(source, file).coded(wanted))
        return file

    def _chosen(
        self,
        source: pa.NativeFile,
        file: OpenedFile,
        fields: tuple[Field, ...],
        where: str,
        runs: list[range],
        choice: RowChoice,
    ) -> Iterator[Part]:
        every = _ColumnReader(file, fields, self.names, where)
        # A store is asked once for a row group, and not first for some columns and then for others.
        by_places = isinstance(source, pa.OSFile) and choice.columns < len(fields) and every.can_take
        telling = others = pages = None
        for run in runs:
            for is_large, some in itertools.groupby(
                run, lambda group: by_places and file.footer.groups[group][1] >= LARGE_BYTES
            ):
                groups = list(some)
                if not is_large:
                    yield from map(choice.of, every.read(range(groups[0], groups[-1] + 1)))
                    continue
                if telling is None or others is None:
                    telling = _ColumnReader(file, fields[: choice.columns], self.names, where)
                    others = _ColumnReader(file, fields[choice.columns :], self.names, where)
                    with suppress(*DOUBTS):
                        pages = self._pages(source, file)
                for group in groups:
                    yield from _left(group, telling, others, pages, choice)

    def check(
        self, source: pa.NativeFile, fields: tuple[Field, ...], where: str, held: HeldFooters, now: ObjectInfo | None
    ) -> None:
        """Raises where some values of a file's columns may not become the table's, by their types. Its footer is
        read."""
        file = held.open(source, now, gather=False, stated=False)
        _ColumnReader(file, fields, self.names, where).check()


def _refuse_encrypted(source: pa.NativeFile, where: str, error: Exception) -> None:
    """Refuse a file with encrypted columns, which only holders of their keys can read."""
    hidden: tuple[str, ...] = ()
    with suppress(*DOUBTS):  # as its reader said
        hidden, _ = Footer.unasked(source)
    if hidden:
        raise ScanError(
            f"what is encrypted in a data file is not read; {where} has the columns {', '.join(map(repr, hidden[:20]))}"
            f" encrypted ({error}); leave them out of columns and of the predicate, or give Spark the keys and"
            f" {Cure('spark')}"
        ) from error


def _left(
    group: int, telling: _ColumnReader, others: _ColumnReader, pages: FilePages | None, choice: RowChoice
) -> Iterator[Part]:
    """The rows of a row group that are left. The columns that tell are read first, the others for those rows."""
    left: list[tuple[Rows, list[pa.Array]]] = []
    start = None
    for first, count, arrays in telling.read(range(group, group + 1)):
        start = first if start is None else start
        places, told = choice.left(first, count, arrays)
        left.append((places + (first - start), told))
    if start is None:
        return
    rows = np.concatenate([places for places, _ in left])
    columns = [pa.chunked_array([told[at] for _, told in left]) for at in range(len(left[0][1]))]
    for low, high, arrays in others.rows(group, rows, pages):
        told = [column.slice(low, high - low).combine_chunks() for column in columns]
        yield start, high - low, [*told, *arrays]


@dataclass(frozen=True, slots=True)
class _Plan:
    """Mapping from a file's columns to the table's, derived from its footer, the columns and the names in files."""

    with_ids: bool
    places: tuple[int | None, ...]  # of each of the table's columns, among those of the file
    as_they_are: tuple[bool, ...]  # of each of them: is the file's column the table's, without a change?
    names: frozenset[str]  # that are read
    leaves: list[int]  # of theirs
    flat: dict[int, str]  # those that are a column by themselves, whose pages tell their rows
    one_by_one: bool  # Arrow cannot join the dictionaries of two row groups below a struct, list or map
    can_take: bool  # Arrow takes no rows of views, before they are the table's texts

    @classmethod
    def of(cls, file: OpenedFile, fields: tuple[Field, ...], file_names: FileNames, where: str) -> _Plan:
        in_file = file.footer.shape.fields
        projection = Projection(where, file_names, carries_ids(in_file))
        among = projection.among(in_file)
        places = tuple(projection.find(f, among, top=True) for f in fields)
        names = frozenset(in_file[at].name for at in places if at is not None)
        as_it_is = (  # nested types are read field by field
            at is not None and not (f.children or pa.types.is_nested(f.type)) and bool(in_file[at].type.equals(f.type))
            for f, at in zip(fields, places, strict=True)
        )
        one_by_one = any(
            pa.types.is_nested(f.type) and any(map(pa.types.is_dictionary, leaf_types(f.type)))
            for f in in_file
            if f.name in names
        )
        can_take = not any(_is_view(t) for f in in_file if f.name in names for t in leaf_types(f.type))
        leaves, told = _leaves(file.reader, in_file, names)
        flat = (
            {}
            if not told
            else {at: f.name for at, f in zip(told, in_file, strict=True) if f.name in names and _is_flat(f.type)}
        )
        return cls(projection.with_ids, places, tuple(as_it_is), names, leaves, flat, one_by_one, can_take)


class _ColumnReader:
    """Reads one file's columns as the table's."""

    def __init__(self, file: OpenedFile, fields: tuple[Field, ...], names: FileNames, where: str) -> None:
        self._file = file.reader
        self._footer = file.footer
        self._fields = fields
        self._plan = file.footer.shape.following((fields, names), lambda: _Plan.of(file, fields, names, where))
        self._projection = Projection(where, names, self._plan.with_ids)

    @property
    def can_take(self) -> bool:
        return self._plan.can_take

    @property
    def flat(self) -> list[tuple[int, Field]]:
        """The fields that are a column of the file by themselves, each with the number of that column."""
        places = {name: leaf for leaf, name in self._plan.flat.items()}
        in_file = self._footer.shape.fields
        stored = ((at, f) for f, at in zip(self._fields, self._plan.places, strict=True) if at is not None)
        return [(places[in_file[at].name], f) for at, f in stored if in_file[at].name in places]

    def read(self, groups: range) -> Iterator[tuple[int, int, list[pa.Array]]]:
        first, end = self._footer.groups[groups.start][0], self._footer.groups[groups.stop][0]
        if not self._plan.names:
            for at in range(first, end, _BATCH_ROWS):
                count = min(end - at, _BATCH_ROWS)
                yield at, count, [self._projection.missing(f, count) for f in self._fields]
            return
        for batch in self._raw_batches(groups, self._plan.leaves):
            yield first, batch.num_rows, self._columns(_by_name(batch), batch.num_rows)
            first += batch.num_rows
        self._whole(end - first)

    def rows(self, group: int, rows: Rows, pages: FilePages | None) -> Iterator[tuple[int, int, list[pa.Array]]]:
        """Read some rows of a row group, sorted and counted from its first: yields which of them, and their columns."""
        if not len(rows):
            yield 0, 0, self._columns(self._nothing(), 0)
            return
        by_page: dict[int, pa.ChunkedArray] = {}
        if pages is not None and 2 * len(rows) < self._footer.groups[group + 1][0] - self._footer.groups[group][0]:
            with suppress(*DOUBTS):  # the reader of whole columns finds out what is wrong with the file, if anything
                by_page = pages.read(group, list(self._plan.flat), rows)
        whole = [leaf for leaf in self._plan.leaves if leaf not in by_page]
        if not whole:
            for low in range(0, len(rows), _BATCH_ROWS):
                high = min(low + _BATCH_ROWS, len(rows))
                yield low, high, self._among(by_page, low, high, {})
            return
        first, low = 0, 0
        for batch in self._raw_batches(range(group, group + 1), whole):
            high = int(np.searchsorted(rows, first + batch.num_rows))
            if high > low:
                taken = batch if high - low == batch.num_rows else batch.take(Vector.arrow(rows[low:high] - first))
                yield low, high, self._among(by_page, low, high, _by_name(taken))
            first, low = first + batch.num_rows, high
        self._whole(self._footer.groups[group + 1][0] - self._footer.groups[group][0] - first)

    def _among(
        self, by_page: Mapping[int, pa.ChunkedArray], low: int, high: int, others: dict[str, pa.Array]
    ) -> list[pa.Array]:
        some = {
            self._plan.flat[leaf]: column.slice(low, high - low).combine_chunks() for leaf, column in by_page.items()
        }
        return self._columns(others | some, high - low)

    def _whole(self, missing: int) -> None:
        if missing:
            raise CorruptTableError(
                f"a Parquet file holds the rows that its footer counts; {self._projection.where} gave {missing}"
                " fewer; restore it"
            )

    def check(self) -> None:
        in_file = self._footer.shape.fields
        self._columns(self._nothing(), 0)
        for field, at in zip(self._fields, self._plan.places, strict=True):
            if at is not None and not _fits(in_file[at].type, field.type):
                raise ScanError(
                    f"column {field.name!r} must hold values of {field.type}; in {self._projection.where} it is"
                    f" {in_file[at].type}, which may hold others; rewrite the file"
                )

    def _nothing(self) -> dict[str, pa.Array]:
        read = (stored for stored in self._footer.shape.fields if stored.name in self._plan.names)
        return {stored.name: pa.nulls(0, stored.type) for stored in read}

    def _columns(self, by_name: Mapping[str, pa.Array], count: int) -> list[pa.Array]:
        # A name asked for brings every leaf below it, and a top-level column whose name begins with it and a dot.
        arrays = []
        plan, in_file = self._plan, self._footer.shape.fields
        for field, at, as_it_is in zip(self._fields, plan.places, plan.as_they_are, strict=True):
            if at is None:
                arrays.append(self._projection.missing(field, count))
                continue
            values = by_name[in_file[at].name]
            if not as_it_is:
                values = self._projection.column(field, values)
            if self._footer.julian:
                _refuse_julian(values, field, self._projection.where)
            arrays.append(values)
        return arrays

    def _raw_batches(self, groups: range, at: list[int]) -> Iterator[pa.RecordBatch]:
        for some in self._portions(groups, 0 if self._plan.one_by_one else _AHEAD_BYTES):
            if self._footer.bytes_of(some) > (_THREADS_BYTES if len(at) > 1 else _AHEAD_BYTES):
                yield from self._file.iter_batches(_BATCH_ROWS, row_groups=some, column_indices=at)
            else:  # as one, by this thread: a stream of batches is handed over by another
                read = self._file.read_row_groups(some, column_indices=at, use_threads=False)
                coded = {t.index_type for t in read.schema.types if pa.types.is_dictionary(t)}
                if len(some) > 1 and coded == {pa.int32()}:
                    read = read.combine_chunks()  # each row group has dictionaries of its own
                yield from read.to_batches(_BATCH_ROWS)

    def _portions(self, groups: range, most: int) -> Iterator[list[int]]:
        """Neighbouring row groups of `most` bytes together, at least one."""
        groups_in_file = self._footer.groups
        portion: list[int] = []
        size = 0
        for group in groups:
            if portion and size + groups_in_file[group][1] > most:
                yield portion
                portion, size = [], 0
            portion.append(group)
            size += groups_in_file[group][1]
        yield portion


def _fits(stored: pa.DataType, target: pa.DataType) -> bool:
    """Return whether every value of one type fits the other, for numbers whose conversion checks each value."""
    if pa.types.is_integer(stored) and pa.types.is_integer(target):
        return bool(stored.bit_width <= target.bit_width)
    if pa.types.is_decimal(stored) and pa.types.is_decimal(target):
        return bool(stored.scale <= target.scale and stored.precision - stored.scale <= target.precision - target.scale)
    return True


def _by_name(batch: pa.RecordBatch) -> dict[str, pa.Array]:
    return dict(zip(batch.schema.names, batch.columns, strict=True))


def _is_view(t: pa.DataType) -> bool:
    return bool(t in (pa.string_view(), pa.binary_view()))


def _is_flat(t: pa.DataType) -> bool:
    """Dictionaries are as they come: of a part of the rows they would be others."""
    return not (pa.types.is_nested(t) or pa.types.is_dictionary(t) or isinstance(t, pa.BaseExtensionType))


def _leaves(reader: ParquetReader, in_file: tuple[pa.Field, ...], names: frozenset[str]) -> tuple[list[int], list[int]]:
    """The places of the leaves of the columns that are read, among those of all columns; and the first of each column,
    none if that is not told."""
    counts = [sum(1 for _ in leaf_types(f.type)) for f in in_file]
    ends = list(itertools.accumulate(counts))
    if ends and ends[-1] == reader.metadata.num_columns:
        columns = list(zip(in_file, counts, ends, strict=True))
        leaves = [at for f, count, end in columns if f.name in names for at in range(end - count, end)]
        return leaves, [end - count for _, count, end in columns]
    # Arrow's types do not tell the file's leaves. Their paths do, though a name may begin as another one and a dot:
    # what is read too much is not looked at.
    paths = (path if isinstance(path, str) else ".".join(path) for path in reader.column_paths)
    return [
        at for at, path in enumerate(paths) if any(path == name or path.startswith(f"{name}.") for name in names)
    ], []


def _refuse_julian(values: pa.Array, field: Field, where: str) -> None:
    if predates(values):
        raise ScanError.for_spark(
            f"dates of the Julian calendar are read by Spark only; column {field.name!r} of {where} holds some from"
            " before 1900"
        )
    if pa.types.is_nested(values.type) and any(map(pa.types.is_temporal, leaf_types(values.type))):
        raise ScanError.for_spark(
            f"dates of the Julian calendar are read by Spark only; nested column {field.name!r} of {where} may hold"
            " some"
        )
