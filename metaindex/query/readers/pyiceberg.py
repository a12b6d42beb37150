"""A scan as a pyiceberg scan: pyiceberg's own reader, given only the files that are kept, each with the deletes that
apply to it.

pyiceberg is not asked to plan: it would read every manifest into Python objects, attaches some deletion vectors wrongly
and refuses tables with equality deletes anywhere. Its reader is asked for what it reads exactly; the rest of a
predicate is applied to the rows that it gives.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyiceberg.expressions import AlwaysTrue
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.table import DataScan, FileScanTask, StaticTable, Table
from pyiceberg.typedef import Record

from metaindex.core import ArgumentError, ScanError
from metaindex.expressions import And, ColumnRef, Constant, Predicate, normalize, to_iceberg
from metaindex.formats import Format

from .arrow import refuse_opaque
from .plan import ScanPlan
from .row_filter import RowFilter

if TYPE_CHECKING:
    from pyiceberg.schema import Schema
    from pyiceberg.table.metadata import TableMetadata


def data_scan(scan: ScanPlan, table: Table | None = None) -> KeptScan:
    """A DataScan of pyiceberg's over the kept files; `to_arrow`, `to_pandas`, `to_polars`, `select`, `filter` and the
    rest are its own, and further filters reach the indexes, too. `table`: the pyiceberg table whose FileIO reads;
    without one, that of the catalog, or one made of the metadata file."""
    snapshot = scan.snapshot
    details: Any = snapshot.details
    if table is not None and not (hasattr(table, "metadata") and hasattr(table, "io")):
        raise ArgumentError(f"to_pyiceberg takes a table of pyiceberg, or nothing; got {table!r}; leave it out")
    if Format.named(snapshot.format).library != "pyiceberg":
        raise ScanError(
            f"a pyiceberg scan is of an Iceberg table; {snapshot.table} is {snapshot.format}; read with .to_arrow() or"
            " .to_dataset()"
        )
    if details.place.moved:
        raise ScanError(
            f"pyiceberg opens files where the metadata says they are; table {details.metadata.location} was moved to"
            f" {snapshot.table}; read with .to_arrow() or .to_dataset()"
        )
    given = table or _table_of(scan, details)
    if str(given.metadata.table_uuid) != str(details.metadata.table_uuid):
        raise ScanError(
            f"a scan and the table that reads it are one; {given.metadata.location} is another table than"
            f" {snapshot.table}; give its own pyiceberg table"
        )
    pushed, residual = _split(scan)
    made = KeptScan(
        table_metadata=_as_of(given.metadata, scan),
        io=given.io,
        row_filter=pushed,
        selected_fields=("*",) if scan.columns is None else tuple(f.name for f in scan.fields),
        snapshot_id=details.snapshot_id or None,
    )
    made.scan, made.residual = scan, residual
    return made


class KeptScan(DataScan):
    """A DataScan that reads what a scan of ours keeps. `residual` is applied to rows in hand: what Iceberg's
    expressions cannot say, and all that is about floats, whose row groups pyarrow judges by bounds that know nothing of
    NaN."""

    scan: ScanPlan
    residual: Predicate

    def update(self, **overrides: Any) -> KeptScan:
        made: KeptScan = super().update(**overrides)
        made.scan, made.residual = self.scan, self.residual
        return made

    def projection(self) -> Schema:
        schema = self.table_metadata.schema()  # the one that the version is read with
        return schema if "*" in self.selected_fields else schema.select(*self.selected_fields)

    def plan_files(self) -> list[FileScanTask]:
        schema = self.scan.snapshot.schema.asked()
        return list(_tasks(self.scan.narrowed(self.row_filter, schema), self.table_metadata, self.row_filter))

    def to_arrow(self, *args: Any, **kwargs: Any) -> pa.Table:
        return (
            super().to_arrow(*args, **kwargs) if self._exact else self.to_arrow_batch_reader(*args, **kwargs).read_all()
        )

    def to_arrow_batch_reader(self, *args: Any, **kwargs: Any) -> pa.RecordBatchReader:
        if self._exact:
            return super().to_arrow_batch_reader(*args, **kwargs)
        names = [field.name for field in self.projection().fields]
        extra = [name for name in {column.parts[0]: None for column in self.residual.columns} if name not in names]
        wide = self.update(selected_fields=(*names, *extra), limit=None)
        wide.residual = Constant(True)
        reader = wide.to_arrow_batch_reader(*args, **kwargs)
        condition = RowFilter(self.residual, reader.schema)
        schema = pa.schema([reader.schema.field(name) for name in names])
        return pa.RecordBatchReader.from_batches(schema, _passing(reader, condition, names, self.limit))

    def count(self) -> int:
        return int(super().count()) if self._exact else sum(batch.num_rows for batch in self.to_arrow_batch_reader())

    @property
    def _exact(self) -> bool:
        return self.residual == Constant(True)


def _split(scan: ScanPlan) -> tuple[Any, Predicate]:
    """Split the predicate into what pyiceberg's reader applies, and what is applied to its rows."""
    if scan.predicate is None:
        return AlwaysTrue(), Constant(True)
    refuse_opaque(scan.predicate, "pyiceberg", applied=True)
    schema = scan.snapshot.schema.asked()
    normal = normalize(scan.predicate)
    conjuncts = normal.parts if isinstance(normal, And) else (normal,)
    ours = [p for p in conjuncts if p.has_opaque or any(_is_float(schema, c.parts) for c in p.columns)]
    pushed, residual = to_iceberg(And(tuple(p for p in conjuncts if p not in ours)), schema)
    left = [*ours, *([] if residual == Constant(True) else [residual])]
    return pushed, And(tuple(left)) if len(left) > 1 else left[0] if left else Constant(True)


def _is_float(schema: pa.Schema, path: tuple[str, ...]) -> bool:
    known = ColumnRef(path).type_in(schema)
    return known is None or bool(pa.types.is_floating(known))


def _passing(
    reader: pa.RecordBatchReader, condition: RowFilter, names: list[str], limit: int | None
) -> Iterator[pa.RecordBatch]:
    left = limit
    for batch in reader:
        passing = condition.matching(batch).select(names)
        if left is not None:
            passing = passing.slice(0, left)
            left -= passing.num_rows
        if passing.num_rows:
            yield passing
        if left == 0:
            return


def _table_of(scan: ScanPlan, details: Any) -> Table:
    table: Table | None = scan.ref.of_catalog()
    return table or StaticTable.from_metadata(details.metadata.file)


def _as_of(metadata: TableMetadata, scan: ScanPlan) -> TableMetadata:
    """The metadata with the schema of the scan as the current one: pyiceberg binds names and types to that."""
    schema_id = scan.snapshot.version.schema_id
    known = any(schema.schema_id == schema_id for schema in metadata.schemas)
    details: Any = scan.snapshot.details
    snapshot_id = details.snapshot_id
    if not known or (snapshot_id and metadata.snapshot_by_id(snapshot_id) is None):
        raise ScanError(
            f"the pyiceberg table must know the version that is read; that of {metadata.location} does not know"
            f" {scan.snapshot.version}; load it again"
        )
    return metadata.model_copy(update={"current_schema_id": schema_id})


def _tasks(scan: ScanPlan, metadata: TableMetadata, row_filter: Any) -> Iterator[FileScanTask]:
    import polars as pl

    details: Any = scan.snapshot.details
    rows = scan.file_rows
    pairs = details.pairs.filter(pl.col("file").is_in(rows.astype(np.uint32)))
    attached: dict[int, list[int]] = {}
    for file, delete in pairs.select("file", "delete").iter_rows():
        attached.setdefault(file, []).append(delete)
    deletes = {n: details.delete_entries.row(n, named=True) for n in pairs["delete"].unique().to_list()}
    for entry in deletes.values():
        if entry["content"] == DataFileContent.EQUALITY_DELETES:
            raise ScanError(
                f"pyiceberg does not read equality deletes; {entry['location']} of {metadata.location} holds some of"
                " the rows asked for; read with .to_arrow() or .to_dataset()"
            )
    for row in rows.tolist():
        file = _data_file(details.data.row(row, named=True), metadata, DataFileContent.DATA)
        delete_files = {
            _data_file(deletes[n], metadata, DataFileContent.POSITION_DELETES) for n in attached.get(row, ())
        }
        yield FileScanTask(file, delete_files, row_filter)


def _data_file(entry: Mapping[str, Any], metadata: TableMetadata, content: DataFileContent) -> DataFile:
    fields = metadata.specs()[entry["spec_id"]].fields
    made = DataFile.from_args(
        content=content,
        file_path=entry["location"],
        file_format=FileFormat[entry["file_format"].upper()],
        partition=Record(*(_internal(entry.get(f"p{field.field_id}")) for field in fields)),
        record_count=entry["record_count"],
        file_size_in_bytes=entry["size_bytes"],
    )
    made.spec_id = entry["spec_id"]
    return made


_EPOCH = dt.datetime(1970, 1, 1)


def _internal(value: Any) -> Any:
    """A partition's value as pyiceberg holds it: days and microseconds as numbers."""
    match value:
        case dt.datetime():
            return (value.replace(tzinfo=None) - _EPOCH) // dt.timedelta(microseconds=1)
        case dt.date():
            return (value - _EPOCH.date()).days
        case dt.time():
            return (dt.datetime.combine(_EPOCH, value) - _EPOCH) // dt.timedelta(microseconds=1)
        case _:
            return value
