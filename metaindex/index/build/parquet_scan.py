"""Reads the data of Parquet files for what their footers cannot say: chosen columns only, batch by batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from metaindex.core import FormatError
from metaindex.formats import Field, Footer, Leaf
from metaindex.storage import Storage

from .extremes import ColumnScan, inside

BATCH_ROWS = 65_536
_FIELD_ID = b"PARQUET:field_id"


class AmbiguousLeafError(FormatError):
    """Two columns of a data file answer to the same name."""


def scan_parquet(storage: Storage, path: str, size: int, leaves: Sequence[Leaf]) -> list[ColumnScan]:
    """Scan all rows of the file for each leaf. Raises ArrowException or StorageError if it cannot be read whole."""
    with storage.open_input(path) as source:
        if source.size() != size:
            raise pa.ArrowInvalid(f"the snapshot says {size} bytes, the file has {source.size()}")
        file = pq.ParquetFile(source, coerce_int96_timestamp_unit="us", pre_buffer=False)
        scans = [ColumnScan() for _ in leaves]
        located: list[tuple[FileColumn, ColumnScan]] = []
        columns = FileColumns(file.schema_arrow)
        for leaf, scan in zip(leaves, scans, strict=True):
            try:
                place = columns.locate(leaf)
            except AmbiguousLeafError as error:
                scan.unread = str(error)
                continue
            if place is None:
                scan.unread = "the file has no such column"
            else:
                located.append((FileColumn.of(file, leaf, *place), scan))
        try:
            _read(file, located)
        except pa.ArrowNotImplementedError:
            # One column is beyond Arrow: the others are still told.
            for column, scan in located:
                _reset(scan)
                try:
                    _read(file, [(column, scan)])
                except pa.ArrowNotImplementedError as error:
                    scan.unread = str(error)
        for column, scan in located:
            scan.close()
            if scan.least and Footer.is_old(file.metadata, scan.least[0], int96=column.clock is not None):
                scan.unfit = "dates or timestamps were written in an older calendar"
            if scan.unread is None and scan.rows != file.metadata.num_rows:
                raise pa.ArrowInvalid(f"the footer says {file.metadata.num_rows} rows, its pages hold {scan.rows}")
        return scans


@dataclass(frozen=True, slots=True)
class FileColumn:
    """A column in a file: the names that lead to it, and its number among the primitive columns."""

    leaf: Leaf
    path: tuple[str, ...]
    index: int
    clock: pa.DataType | None  # INT96 says nothing of zones: it is an instant or a wall clock as the table's type says

    @classmethod
    def of(cls, file: pq.ParquetFile, leaf: Leaf, path: tuple[str, ...], index: int) -> FileColumn:
        int96 = file.schema.column(index).physical_type == "INT96"
        return cls(leaf, path, index, pa.timestamp("us", getattr(leaf.type, "tz", None)) if int96 else None)

    def values(self, rows: pa.Table | pa.RecordBatch) -> pa.Array:
        """Return its values; null where it or a struct around it is null."""
        values = rows.column(rows.schema.get_field_index(self.path[0]))
        if isinstance(values, pa.ChunkedArray):
            values = values.chunk(0) if values.num_chunks == 1 else values.combine_chunks()
        if isinstance(values, pa.ChunkedArray):  # texts beyond what one array of short offsets holds
            values = pa.concat_arrays([chunk.cast(_wide(chunk.type)) for chunk in values.chunks])
        values = inside(values, self.path[1:])
        if isinstance(values, pa.ExtensionArray):
            values = values.storage
        return values if self.clock is None else values.view(self.clock)


def _wide(type_: pa.DataType) -> pa.DataType:
    if pa.types.is_string(type_):
        return pa.large_string()
    return pa.large_binary() if pa.types.is_binary(type_) else type_


def _read(file: pq.ParquetFile, places: Sequence[tuple[FileColumn, ColumnScan]]) -> None:
    if not places:
        return
    wanted = sorted({column.index for column, _ in places})
    for column, _ in places:
        stored = file.schema.column(column.index)
        assert stored.max_repetition_level == 0
        assert stored.name == column.path[-1]
    groups = list(range(file.metadata.num_row_groups))
    for batch in file.reader.iter_batches(BATCH_ROWS, row_groups=groups, column_indices=wanted, use_threads=False):
        for column, scan in places:
            scan.add(column.values(batch))


def _reset(scan: ColumnScan) -> None:
    scan.rows = scan.nulls = scan.nans = 0
    scan.least, scan.greatest = [], []


class FileColumns:
    """The primitive columns of a file's Arrow schema: gone through once for all leaves that are looked for in it, as a
    table may have thousands."""

    def __init__(self, schema: pa.Schema) -> None:
        self._every = list(_leaves(list(schema), (), (), 0))
        self._has_ids = any(_field_id(field) is not None for field in _all_fields(list(schema)))
        self._by_id: dict[int | None, list[_Hit]] = {}
        self._by_name: dict[tuple[str, ...], list[_Hit]] = {}
        for names, fields, index in self._every:
            self._by_id.setdefault(_field_id(fields[-1]), []).append((names, index))
            self._by_name.setdefault(tuple(map(Field.alike, names)), []).append((names, index))

    def locate(self, leaf: Leaf) -> _Hit | None:
        """Find a leaf: the names that lead to it and its number among the primitive columns; None if the file has no
        such column. The rules are those of the footers' reader (`formats.footer_trust.locate`): field ids decide if the
        table and the file have them, then the table's name mapping, else names (`formats.column_names`)."""
        number = leaf.field.field_id
        if number is not None and self._has_ids:
            hits = self._by_id.get(number, [])
        elif number is not None and all(field.mapped is not None for field in leaf.path):
            hits = [(names, index) for names, _, index in self._every if _is_mapped(names, leaf)]
        else:
            hits = self._by_name.get(tuple(map(Field.alike, leaf.source)), [])
        if len(hits) > 1:
            raise AmbiguousLeafError(f"the file has {len(hits)} columns {'.'.join(leaf.source)!r}; rename one of them")
        return hits[0] if hits else None


_Hit = tuple[tuple[str, ...], int]


def _is_mapped(names: tuple[str, ...], leaf: Leaf) -> bool:
    """Return whether these names lead to the column by the table's name mapping."""
    if len(names) != len(leaf.path):
        return False
    return all(name in (field.mapped or ()) for name, field in zip(names, leaf.path, strict=True))


_Leaf = tuple[tuple[str, ...], tuple[pa.Field, ...], int]


def _leaves(level: list[pa.Field], names: tuple[str, ...], above: tuple[pa.Field, ...], start: int) -> Iterator[_Leaf]:
    """The primitive columns that stand under structs only, with the names and fields that lead to each."""
    for field in level:
        path, fields = (*names, field.name), (*above, field)
        if pa.types.is_struct(field.type):
            yield from _leaves(list(field.type), path, fields, start)
        elif not pa.types.is_nested(field.type):
            yield path, fields, start
        start += _width(field.type)


def _all_fields(level: list[pa.Field]) -> Iterator[pa.Field]:
    for field in level:
        yield field
        if pa.types.is_nested(field.type) and not pa.types.is_dictionary(field.type):
            yield from _all_fields([field.type.field(at) for at in range(field.type.num_fields)])


def _width(type_: pa.DataType) -> int:
    """Return the number of primitive columns of a type in Parquet."""
    if isinstance(type_, pa.BaseExtensionType):
        return _width(type_.storage_type)
    if pa.types.is_struct(type_):
        return sum(_width(field.type) for field in type_)
    if pa.types.is_map(type_):
        return _width(type_.key_type) + _width(type_.item_type)
    if pa.types.is_nested(type_):
        return _width(type_.value_type)
    return 1


def _field_id(field: pa.Field) -> int | None:
    value = (field.metadata or {}).get(_FIELD_ID)
    return None if value is None else int(value)
