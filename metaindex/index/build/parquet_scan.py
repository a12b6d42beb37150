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
        located: list[_ScannedColumn] = []
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
                located.append(_ScannedColumn(*place, leaf, scan))
        try:
            _read(file, located)
        except pa.ArrowNotImplementedError:
            # One column is beyond Arrow: the others are still told.
            for column in located:
                _reset(column.scan)
                try:
                    _read(file, [column])
                except pa.ArrowNotImplementedError as error:
                    column.scan.unread = str(error)
        for column in located:
            column.scan.close()
            least = column.scan.least
            int96 = file.schema.column(column.index).physical_type == "INT96"
            if least and Footer.is_old(file.metadata, least[0], int96=int96):
                column.scan.unfit = "dates or timestamps were written in an older calendar"
            if column.scan.unread is None and column.scan.rows != file.metadata.num_rows:
                raise pa.ArrowInvalid(
                    f"the footer says {file.metadata.num_rows} rows, its pages hold {column.scan.rows}"
                )
        return scans


@dataclass(frozen=True, slots=True)
class _ScannedColumn:
    path: tuple[str, ...]
    index: int
    leaf: Leaf
    scan: ColumnScan


def _read(file: pq.ParquetFile, places: Sequence[_ScannedColumn]) -> None:
    if not places:
        return
    wanted = sorted({place.index for place in places})
    clocks = {}
    for place in places:
        column = file.schema.column(place.index)
        assert column.max_repetition_level == 0
        assert column.name == place.path[-1]
        # INT96 says nothing of zones: it is an instant or a wall clock as the table's type says.
        if column.physical_type == "INT96":
            clocks[place.index] = pa.timestamp("us", getattr(place.leaf.type, "tz", None))
    groups = list(range(file.metadata.num_row_groups))
    for batch in file.reader.iter_batches(BATCH_ROWS, row_groups=groups, column_indices=wanted, use_threads=False):
        for place in places:
            values = inside(batch.column(batch.schema.get_field_index(place.path[0])), place.path[1:])
            clock = clocks.get(place.index)
            place.scan.add(values if clock is None else values.view(clock))


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
