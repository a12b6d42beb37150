"""Parquet files: batches of a file's rows in file order, as the table's columns."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa
from pyarrow._parquet import ParquetReader

from metaindex.core import CorruptTableError, Cure, ScanError, StorageError
from metaindex.formats.columns import leaf_types
from metaindex.formats.model import Field, Snapshot
from metaindex.formats.older_calendar import predates
from metaindex.formats.parquet.footers import Footer
from metaindex.storage import ObjectInfo

from .opened import DOUBTS, HeldFooters, OpenedFile, RowGroupChoice
from .projection import FileNames, Projection, carries_ids, constant

_BATCH_ROWS = 131_072
_AHEAD_BYTES = 64 << 20  # of a file, read ahead of what is asked: Arrow fetches the row groups it is given at once
_THREADS_BYTES = 4 << 20  # below, handing columns to threads takes longer than decoding them


@dataclass(frozen=True, slots=True)
class ParquetRows:
    """Reads the Parquet files of a snapshot as the table's columns."""

    names: FileNames
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
    ) -> Iterator[tuple[int, int, list[pa.Array]]]:
        """Yield (first row, rows, one array per field) of each batch; only rows of row groups that cannot match are
        skipped. `path`: of the file, as `row_groups` knows it; `now`: as there. Without `row_groups` all are read."""
        try:
            if row_groups is not None:
                file, runs = row_groups.open(source, path, now)
            else:
                file = HeldFooters(0).open(source, now, gather=True, stated=False)
                count = file.footer.metadata.num_row_groups
                runs = [range(count)] if count else []
            reader = _ColumnReader(file, fields, self.names, where)
            for run in runs:
                yield from reader.read(run)
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


@dataclass(frozen=True, slots=True)
class _Plan:
    """Mapping from a file's columns to the table's, derived from its footer, the columns and the names in files."""

    with_ids: bool
    places: tuple[int | None, ...]  # of each of the table's columns, among those of the file
    as_they_are: tuple[bool, ...]  # of each of them: is the file's column the table's, without a change?
    names: frozenset[str]  # that are read
    leaves: list[int]  # of theirs
    one_by_one: bool  # Arrow cannot join the dictionaries of two row groups below a struct, list or map

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
        leaves = _leaves(file.reader, in_file, names)
        return cls(projection.with_ids, places, tuple(as_it_is), names, leaves, one_by_one)


class _ColumnReader:
    """Reads one file's columns as the table's."""

    def __init__(self, file: OpenedFile, fields: tuple[Field, ...], names: FileNames, where: str) -> None:
        self._file = file.reader
        self._footer = file.footer
        self._fields = fields
        self._plan = file.footer.shape.following((fields, names), lambda: _Plan.of(file, fields, names, where))
        self._projection = Projection(where, names, self._plan.with_ids)

    def read(self, groups: range) -> Iterator[tuple[int, int, list[pa.Array]]]:
        first, end = self._footer.groups[groups.start][0], self._footer.groups[groups.stop][0]
        if not self._plan.names:
            for at in range(first, end, _BATCH_ROWS):
                count = min(end - at, _BATCH_ROWS)
                yield at, count, [self._projection.missing(f, count) for f in self._fields]
            return
        for batch in self._raw_batches(groups):
            yield first, batch.num_rows, self._columns(batch)
            first += batch.num_rows
        if first != end:
            raise CorruptTableError(
                f"a Parquet file holds the rows that its footer counts; {self._projection.where} gave {end - first}"
                " fewer; restore it"
            )

    def check(self) -> None:
        in_file = self._footer.shape.fields
        read = pa.schema([stored for stored in in_file if stored.name in self._plan.names])
        self._columns(pa.RecordBatch.from_arrays([pa.nulls(0, stored.type) for stored in read], schema=read))
        for field, at in zip(self._fields, self._plan.places, strict=True):
            if at is not None and not _fits(in_file[at].type, field.type):
                raise ScanError(
                    f"column {field.name!r} must hold values of {field.type}; in {self._projection.where} it is"
                    f" {in_file[at].type}, which may hold others; rewrite the file"
                )

    def _columns(self, batch: pa.RecordBatch) -> list[pa.Array]:
        # A name asked for brings every leaf below it, and a top-level column whose name begins with it and a dot:
        # columns are picked by place here.
        at_name = {name: i for i, name in enumerate(batch.schema.names)}
        arrays = []
        plan, in_file = self._plan, self._footer.shape.fields
        for field, at, as_it_is in zip(self._fields, plan.places, plan.as_they_are, strict=True):
            if at is None:
                arrays.append(self._projection.missing(field, batch.num_rows))
                continue
            values = batch.column(at_name[in_file[at].name])
            if not as_it_is:
                values = self._projection.column(field, in_file[at], values)
            if self._footer.julian:
                _refuse_julian(values, field, self._projection.where)
            arrays.append(values)
        return arrays

    def _raw_batches(self, groups: range) -> Iterator[pa.RecordBatch]:
        at = self._plan.leaves
        for some in self._portions(groups, 0 if self._plan.one_by_one else _AHEAD_BYTES):
            if self._footer.bytes_of(some) > _THREADS_BYTES:
                yield from self._file.iter_batches(_BATCH_ROWS, row_groups=some, column_indices=at)
            else:  # as one, by this thread: a stream of batches is handed over by another
                yield from self._file.read_row_groups(some, column_indices=at, use_threads=False).to_batches(
                    _BATCH_ROWS
                )

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


def _leaves(reader: ParquetReader, in_file: tuple[pa.Field, ...], names: frozenset[str]) -> list[int]:
    """The places of the leaves of the columns that are read, among those of all columns."""
    counts = [sum(1 for _ in leaf_types(f.type)) for f in in_file]
    ends = list(itertools.accumulate(counts))
    if ends and ends[-1] == reader.metadata.num_columns:
        columns = zip(in_file, counts, ends, strict=True)
        return [at for f, count, end in columns if f.name in names for at in range(end - count, end)]
    # Arrow's types do not tell the file's leaves. Their paths do, though a name may begin as another one and a dot:
    # what is read too much is not looked at.
    paths = (path if isinstance(path, str) else ".".join(path) for path in reader.column_paths)
    return [at for at, path in enumerate(paths) if any(path == name or path.startswith(f"{name}.") for name in names)]


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
