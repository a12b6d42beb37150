"""A scan's rows as Arrow batches: each file read, its deletes applied, its columns brought to the table's, the
predicate applied again."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metaindex.core import Cure, MetaIndexError, ObjectNotFoundError, ScanError, Vector, Words, compute
from metaindex.expressions import Opaque, Predicate
from metaindex.formats import Field, Format, HeldFooters, Leaf, ParquetRows, PartitionValues, TextReader
from metaindex.storage import each_at, is_remote, opening_whole

from .ahead import in_order
from .deletes import DeletedPositions, ValueDeletes
from .first_rows import best_batches, first_batches
from .plan import CODED, RowTest, ScanPlan
from .read_budget import ANY
from .replaced import seen
from .row_filter import RowFilter
from .row_groups import SMALL_BYTES, RowGroups

_PLACE = "\x00place in the batch"  # no column of a table has that name
_SAMPLED = 64  # files whose sizes are added up
_WHOLE_BYTES = 1 << 20  # a file of a store that comes sooner whole than after its footer
_FEW_BYTES = 8 << 20  # of all files of a scan: of more the columns that are read are asked for
_Equality = Sequence["tuple[Any, ValueDeletes]"]
_Keys = Mapping[Leaf, pa.Array]


def read_batches(scan: ScanPlan) -> Iterator[pa.RecordBatch]:
    """Read a scan. Queries that cannot be answered are refused before the first batch; a file that is gone or damaged
    raises at its turn."""
    first = scan.first
    if first is None:
        return _affordable(scan, _FileReader(scan).read)
    if not first.keys:
        read = _FileReader(scan, within=True).read
        return first_batches(first, scan.file_rows, read)
    shown = [field.name for field in scan.fields]
    keys = [key.column for key in first.keys if key.column not in shown]
    read = _FileReader(replace(scan, columns=(*shown, *keys)), within=True).read
    return best_batches(first, scan.file_rows, read, scan.schema, ahead="://" in scan.storage.root)


def _affordable(scan: ScanPlan, read: Callable[[npt.NDArray[np.int64]], Iterator[pa.RecordBatch]]) -> Iterator[Any]:
    """Read the files, if the budget allows all of them; an engine may narrow a scan before it reads a batch."""
    scan.check_budget()
    yield from read(scan.file_rows)


def try_out(scan: ScanPlan) -> None:
    """Raise if the scan cannot be answered, or a file's columns cannot be read as asked, as far as footers show: of
    Parquet files whose columns all stand in them."""
    reader = _FileReader(scan)
    scan.budget.after_footers(scan.snapshot.files, scan.file_rows)
    each_at(scan.storage.root, scan.file_rows.tolist(), Words.kept(reader.check))


def coded(scan: ScanPlan) -> ScanPlan:
    """Return the scan for an engine that takes texts as places in dictionaries: those that its first file holds so, if
    there is much to read, and near."""
    some = scan.file_rows[:_SAMPLED]
    if _bytes_of(scan, some) < SMALL_BYTES or is_remote(scan.storage.root):
        return scan
    with suppress(MetaIndexError, pa.ArrowException, OSError):  # who reads it finds out what is wrong with it
        return replace(scan, coded=frozenset(_FileReader(scan).coded(int(some[0]))))
    return scan


def _bytes_of(scan: ScanPlan, rows: npt.NDArray[np.int64]) -> int:
    sizes = scan.snapshot.files.table.column("size_bytes").take(Vector.arrow(rows))
    return int(compute("sum", sizes).as_py() or 0)


def matching_rows(scan: ScanPlan) -> Iterator[tuple[int, int, int]]:
    """Yield for each batch: the file's row in the snapshot, the position of its first row in the file, how many of its
    rows are live and match. A batch is of one row group."""
    reader = _FileReader(scan, apart=True)
    scan.check_budget()
    for row in scan.file_rows.tolist():
        for first, batch in reader.matching(row):
            yield row, first, batch.num_rows


_TIME_LITERAL = re.compile(r"\b(DATE|TIMESTAMP\w*) '")


def _of_texts(part: Opaque, schema: pa.Schema | None) -> str:
    """Return why a comparison with a date cannot be applied, if it is one with a column of texts."""
    names = [column.name for column in part.columns if schema is not None and column.name in schema.names]
    if (
        schema is None
        or not names
        or not pa.types.is_string(schema.field(names[0]).type)
        or not _TIME_LITERAL.search(part.text)
    ):
        return ""
    return (
        f" ({names[0]} is a column of texts: compare it with texts, or open CSV and JSON with"
        f" {Cure('reader', 'schema')} that names its type)"
    )


def refuse_opaque(predicate: Predicate, engine: str, schema: pa.Schema | None = None, *, applied: bool = False) -> None:
    """A part that could not be read cannot be applied, and leaving it out would return rows that do not match.
    `applied`: parts whose meaning is known are."""
    opaque = [leaf for leaf in predicate.leaves() if isinstance(leaf, Opaque) and (leaf.scalar is None or not applied)]
    if opaque:
        why = f" ({opaque[0].why}: what that means is not known here)" if opaque[0].why else ""
        raise ScanError(
            f"every part of a predicate is applied to the rows; {engine} cannot apply"
            f' "{opaque[0].text}"{_of_texts(opaque[0], schema) or why}; rewrite it with comparisons, IN, IS NULL,'
            f" LIKE 'p%' and the functions of docs/guides/conditions.md, or {Cure('spark')}"
        )


class _FileReader:
    def __init__(self, scan: ScanPlan, *, apart: bool = False, within: bool = False) -> None:
        """`apart`: a batch is of one row group; `within`: the budget is checked file by file."""
        snapshot = scan.snapshot
        self._budget, self._values = scan.budget if within else ANY, scan.budget
        self._storage = self._whole = scan.storage
        self._snapshot = snapshot
        if is_remote(scan.storage.root) and _bytes_of(scan, scan.file_rows) <= _FEW_BYTES:
            self._whole = opening_whole(scan.storage, _WHOLE_BYTES)
        shown = scan.fields
        self._schema = scan.schema
        self._predicate = None
        asked = set[str]()
        if scan.predicate is not None:
            refuse_opaque(scan.predicate, "the Arrow reader", snapshot.schema.arrow(), applied=True)
            self._predicate = RowFilter(scan.predicate, snapshot.schema.arrow())
            asked = {column.parts[0] for column in scan.predicate.columns}
        self._tests: list[RowTest] = [test for test in (scan.keys, scan.passing) if test is not None]
        asked.update(*(test.columns for test in self._tests))
        by_name = {f.name: f for f in (*snapshot.schema.shown, *shown)}
        telling = [by_name[f.name] for f in snapshot.schema.shown if f.name in asked]
        self._fields = (*telling, *(f for f in shown if f.name not in asked))  # which rows match is told by the first
        self._telling = len(telling)
        self._shown = [self._fields.index(f) for f in shown]
        self._all_schema = pa.schema([pa.field(f.name, f.type) for f in self._fields])
        self._all_shown = self._fields == shown and all(f.nullable for f in shown)  # the same schema
        self._partitions = PartitionValues(snapshot, scan.time_zone)
        options = snapshot.details.read_options()
        self._format = str(options.get("file_format", "parquet")).lower()
        self._text = None
        if self._format in ("csv", "json"):
            self._text = TextReader(self._format, options, snapshot.schema)
        elif self._format != "parquet":
            raise ScanError.for_spark(
                f"data files are read as Parquet, CSV or JSON; those of {snapshot.format} table {snapshot.table} are"
                f" {self._format}"
            )
        self._rows = ParquetRows.of(snapshot)
        self._row_groups = RowGroups(scan.asked, snapshot.schema, scan.result, apart=apart, held=scan.footers)
        self._footers = HeldFooters(0) if scan.footers is None else scan.footers
        self._lock = threading.Lock()  # what several files share is loaded once
        self._value_deletes: dict[int, tuple[Any, ValueDeletes]] = {}  # with the delete that is its key, by identity

    def read(self, rows: npt.NDArray[np.int64]) -> Iterator[pa.RecordBatch]:
        if "://" not in self._storage.root:
            for row in rows.tolist():
                yield from self._file(row)
            return
        sizes = self._snapshot.files.table.column("size_bytes").take(Vector.arrow(rows, None, pa.int64()))
        yield from in_order(rows.tolist(), sizes.to_pylist(), self._file)

    def _file(self, row: int) -> Iterator[pa.RecordBatch]:
        for _, batch in self.matching(row):
            if batch.num_rows:
                if not self._all_shown:
                    shown = [batch.column(i) for i in self._shown]
                    batch = pa.RecordBatch.from_arrays(shown, schema=self._schema)
                yield batch

    def matching(self, row: int) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Yield for each batch of a file the position of its first row, and its live rows that match."""
        files = self._snapshot.files.table
        path = files.column("path")[row].as_py()
        where = self._snapshot.described(path)
        self._refuse_format(row, where)
        with self._lock:
            self._budget = self._budget.after_rows(self._storage, self._snapshot.files, np.array([row], np.int64))
            positions, equality = self._deletes(row)
        for first, arrays in self._parts(row, path, where, positions, equality):
            yield first, pa.RecordBatch.from_arrays(arrays, schema=self._all_schema)

    def _left(
        self, positions: DeletedPositions | None, equality: _Equality, first: int, batch: pa.RecordBatch, keys: _Keys
    ) -> pa.RecordBatch:
        """The live rows of a batch that match. `keys`: what equality deletes compare."""
        live = positions.live(first, batch.num_rows) if positions is not None else None
        for delete, values in equality:
            kept = values.live([keys[leaf] for leaf in delete.columns])
            live = kept if live is None else live & kept
        if live is not None and not live.all():
            batch = batch.filter(Vector.arrow(live))
        if self._predicate is not None:
            batch = self._predicate.matching(batch)
        for test in self._tests:
            batch = test.matching(batch) if batch.num_rows else batch
        return batch

    def check(self, row: int) -> None:
        """Raise if the footer of a Parquet file shows other columns than those of the scan."""
        path = self._snapshot.files.table.column("path")[row].as_py()
        where = self._snapshot.described(path)
        with self._storage.open_input(path) as source:
            now = seen(self._storage, self._snapshot, row, source)
            self._rows.check(source, self._fields, where, self._footers, now)

    def coded(self, row: int) -> list[str]:
        """Return the columns of texts, not asked for by conditions, that a Parquet file holds in dictionaries."""
        if self._text is not None:
            return []
        path = self._snapshot.files.table.column("path")[row].as_py()
        where = self._snapshot.described(path)
        others = self._fields[self._telling :]
        texts = tuple(f for f in others if f.type == CODED.value_type and not f.partition and f.default is None)
        with self._storage.open_input(path) as source:
            now = seen(self._storage, self._snapshot, row, source)
            return self._rows.coded(source, texts, where, self._footers, now) if texts else []

    def _parts(
        self, row: int, path: str, where: str, positions: DeletedPositions | None, equality: _Equality
    ) -> Iterator[tuple[int, list[pa.Array]]]:
        """Batches of the file's live rows that match: the place of the first one read in the file, the scan's
        fields."""
        extra = tuple(dict.fromkeys(leaf for delete, _ in equality for leaf in delete.columns))
        compared = tuple(leaf.alone for leaf in extra)
        shared: dict[str, pa.Scalar] = {}
        for f in (*compared, *self._fields):
            if f.partition and (value := self._shared(f, row)) is not None:
                shared[f.name] = value

        def whole(fields: Sequence[Field], given: Iterable[pa.Array], count: int) -> list[pa.Array]:
            arrays = iter(given)
            return [
                ParquetRows.constant(shared[f.name], f.type, count) if f.name in shared else next(arrays)
                for f in fields
            ]

        telling = self._fields[: self._telling]
        first_read = [f for f in (*compared, *telling) if f.name not in shared]
        names = [f.name for f in telling] + [_PLACE]
        kept = [at for at, f in enumerate(telling) if f.name not in shared]

        def unpacked(count: int, arrays: list[pa.Array]) -> None:
            if self._values.most is None:
                return
            size_bytes = 8 * count * (len(wanted) - len(arrays)) + sum(array.nbytes for array in arrays)
            with self._lock:
                self._values = self._values.after_values(size_bytes)

        def left(first: int, count: int, arrays: list[pa.Array]) -> tuple[npt.NDArray[np.int64], list[pa.Array]]:
            unpacked(count, arrays)
            told = whole((*compared, *telling), arrays, count)
            place = _numbers(count)
            batch = pa.RecordBatch.from_arrays([*told[len(compared) :], place], names)
            batch = self._left(positions, equality, first, batch, dict(zip(extra, told, strict=False)))
            return Vector(batch.column(len(telling))).items(np.int64), [batch.column(at) for at in kept]

        choosing = positions is not None or equality or self._predicate is not None or self._tests
        choice = ParquetRows.Choice(len(first_read), left) if choosing else None
        wanted = [*first_read, *(f for f in self._fields[len(telling) :] if f.name not in shared)]
        in_file = tuple(self._partitions.missing(f, row) for f in wanted)
        small = (self._snapshot.files.table.column("size_bytes")[row].as_py() or 0) <= _WHOLE_BYTES
        try:
            source = (self._whole if small else self._storage).open_input(path)
        except ObjectNotFoundError as error:
            raise ObjectNotFoundError(
                f"a scan reads every file of the version or none; {where} is gone; scan anew, ask a version that is"
                " still whole, or restore the file"
            ) from error
        with source:
            now = seen(self._storage, self._snapshot, row, source)
            if self._text is not None:
                read = self._text.read(source, path, in_file, where)
                parts = read if choice is None else map(choice.of, read)
            else:
                parts = self._rows.read(source, in_file, where, self._row_groups, path=path, now=now, choice=choice)
            for first, count, arrays in parts:
                if choice is None:
                    unpacked(count, arrays)
                yield first, whole(self._fields, arrays, count)

    def _shared(self, field: Field, row: int) -> pa.Scalar | None:
        """The value that all rows of the file have. Files that were written under another partition spec may hold the
        column themselves."""
        if Format.named(self._snapshot.format).partitions_in_files:
            return self._partitions.known(field, row)
        return self._partitions.value(field, row)

    def _deletes(self, row: int) -> tuple[DeletedPositions | None, list[tuple[Any, ValueDeletes]]]:
        if self._snapshot.files.table.column("deletes")[row].as_py() is None:
            return None, []
        deletes = self._snapshot.details.deletes(row)
        equality = []
        for delete in deletes.equality:
            if id(delete) not in self._value_deletes:  # one delete file serves many data files
                keys = [
                    _as(column, leaf.alone.type)
                    for column, leaf in zip(delete.rows.columns, delete.columns, strict=True)
                ]
                self._value_deletes[id(delete)] = (delete, ValueDeletes(keys))
            equality.append(self._value_deletes[id(delete)])
        if self._text is not None:
            raise ScanError.for_spark(
                f"deletes are applied to rows of Parquet files; {self._format} files of table {self._snapshot.table}"
                " carry some"
            )
        return (DeletedPositions.of(deletes.positions) if len(deletes.positions) else None), equality

    def _refuse_format(self, row: int, where: str) -> None:
        files = self._snapshot.files.table
        if "iceberg_file_format" in files.schema.names:
            kind = files.column("iceberg_file_format")[row].as_py()
            if kind.lower() != "parquet":
                raise ScanError.for_spark(f"data files are read as Parquet, CSV or JSON; {where} is {kind.upper()}")


@lru_cache(maxsize=1)
def _many_numbers() -> pa.Array:
    return Vector.arrow(np.arange(1 << 17), None, pa.int64())


def _numbers(count: int) -> pa.Array:
    """Return the numbers from 0 to `count`."""
    return _many_numbers().slice(0, count) if count <= 1 << 17 else Vector.arrow(np.arange(count), None, pa.int64())


def _as(column: pa.ChunkedArray, t: pa.DataType) -> pa.ChunkedArray:
    return column if column.type.equals(t) else column.cast(t)
