"""A scan as `deltalake` reads it: the pyarrow dataset that its `to_pyarrow_dataset()` makes, of the kept files only.

pyarrow reads the files itself, so what deltalake's own datasets refuse is refused here, too (deletion vectors, mapped
columns), and files on which pyarrow ends the process; `Scan.to_dataset` reads those.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.fs as fs

from metaindex.core import ArgumentError, CorruptTableError, MissingDependencyError, ScanError, UnsupportedFeatureError
from metaindex.expressions import IsNull, to_arrow
from metaindex.formats import Field, Footer, Format, PartitionValues
from metaindex.storage import each_at, is_remote

from .arrow import refuse_opaque
from .plan import ScanPlan

if TYPE_CHECKING:
    from deltalake import DeltaTable

_FOOTERS_AT_ONCE = 16


def file_dataset(scan: ScanPlan, table: DeltaTable | None = None) -> ds.Dataset:
    """The dataset of the kept files, with the scan's predicate as its filter. `table`: whose store reads, at the
    version of the scan; without one, local files."""
    snapshot = scan.snapshot
    if table is not None and not (hasattr(table, "version") and hasattr(table, "to_pyarrow_dataset")):
        raise ArgumentError(f"to_deltalake takes a deltalake.DeltaTable, or nothing; got {table!r}; leave it out")
    if Format.named(snapshot.format).library != "deltalake":
        raise _refused(scan, f"is of a Delta table; {snapshot.table} is {snapshot.format}")
    if table is not None and str(table.version()) != snapshot.version.id:
        raise _refused(
            scan,
            f"is of the version that its table has loaded; that is {table.version()}, the scan's {snapshot.version}",
        )
    if scan.columns is not None:
        raise _refused(
            scan, "has every column; the scan has some; choose them where it is read, .to_table(columns=[...])"
        )
    if any(_is_mapped(field) for field in snapshot.schema):
        raise _refused(scan, f"finds columns by their names; those of {snapshot.table} are mapped")
    condition = _condition(scan)
    rows = scan.file_rows
    files = snapshot.files.table
    sizes: dict[str, int] = {}
    fragments = []
    parquet = ds.ParquetFileFormat(default_fragment_scan_options=ds.ParquetFragmentScanOptions(pre_buffer=True))
    partitions = PartitionValues(snapshot, scan.time_zone)
    for row in rows.tolist():
        path, size = files.column("path")[row].as_py(), files.column("size_bytes")[row].as_py()
        if files.column("deletes")[row].is_valid:
            raise _refused(scan, f"reads files whole; {snapshot.described(path)} has deleted rows")
        sizes[path] = size
        fragments.append((path, _partition(scan, partitions, row)))
    store = _store(scan, table, sizes)
    _refuse_deadly(scan, store, sizes)
    made = [parquet.make_fragment(path, filesystem=store, partition_expression=where) for path, where in fragments]
    dataset = ds.FileSystemDataset(made, snapshot.schema.shown.arrow(), parquet, store)
    if condition is None:
        return dataset
    _refuse_views(scan, made)
    return dataset.filter(condition)


def _refuse_deadly(scan: ScanPlan, store: fs.FileSystem, sizes: Mapping[str, int]) -> None:
    """Refuse files whose statistics crash pyarrow: encrypted columns, and footers that contradict themselves. With any
    filter pyarrow reads the statistics of all footers."""

    def look(path: str) -> None:
        try:
            with store.open_input_file(path) as source:
                deadly = _deadly(source)
        except CorruptTableError as error:
            raise CorruptTableError(
                f"a data file must be a whole Parquet file; {scan.snapshot.described(path)} is not ({error}); restore"
                " it, or remove it from the table"
            ) from error
        except UnsupportedFeatureError:
            return  # pyarrow says the same, by an error
        if deadly:
            raise _refused(scan, f"asks for the statistics of all columns; {scan.snapshot.described(path)} {deadly}")

    each_at(scan.storage.root, sizes, look, of_disk=_FOOTERS_AT_ONCE)


def _deadly(source: pa.NativeFile) -> str:
    encrypted, short = Footer.unasked(source)
    if encrypted:
        return f"has the columns {', '.join(map(repr, encrypted[:20]))} encrypted"
    return "has bounds that are shorter than values" if short else ""


def _refuse_views(scan: ScanPlan, made: Sequence[ds.ParquetFileFragment]) -> None:
    """Refuse texts stored as views, as delta-rs rewrites files: pyarrow's filters cannot compare them with texts. The
    footers that are read here are not read again."""
    assert scan.predicate is not None
    types = {field.name: field.type for field in scan.snapshot.schema if not field.partition}
    compared = [column for leaf in scan.predicate.leaves() if not isinstance(leaf, IsNull) for column in leaf.columns]
    asked = {column.parts[0] for column in compared if column.parts[0] in types}
    if not any(_has_bytes(types[name]) for name in asked):
        return
    schemas = each_at(scan.storage.root, made, _physical_schema, of_disk=_FOOTERS_AT_ONCE)
    for fragment, held in zip(made, schemas, strict=True):
        views = sorted(name for name in asked & set(held.names) if _has_views(held.field(name).type))
        if views:
            raise _refused(
                scan, f"compares texts that are not stored as views; {fragment.path} has views of {', '.join(views)}"
            )


def _physical_schema(fragment: ds.ParquetFileFragment) -> pa.Schema:
    return fragment.physical_schema


def _has_bytes(type_: pa.DataType) -> bool:
    is_ = pa.types
    return bool(is_.is_string(type_) or is_.is_binary(type_) or is_.is_struct(type_))


def _has_views(type_: pa.DataType) -> bool:
    is_ = pa.types
    if is_.is_struct(type_):
        return any(_has_views(field.type) for field in type_)
    return bool(is_.is_string_view(type_) or is_.is_binary_view(type_))


def _condition(scan: ScanPlan) -> pc.Expression | None:
    if scan.predicate is None:
        return None
    refuse_opaque(scan.predicate, "pyarrow's own dataset")
    schema = scan.snapshot.schema.arrow()
    for column in scan.predicate.columns:
        known = column.type_in(schema)
        if known is None or pa.types.is_floating(known):
            raise _refused(
                scan,
                f"drops row groups by bounds that know nothing of NaN; the predicate asks about the float {column}",
            )
    return to_arrow(scan.predicate, schema)


def _partition(scan: ScanPlan, partitions: PartitionValues, row: int) -> pc.Expression | None:
    condition: pc.Expression | None = None
    for field in scan.snapshot.schema.shown:
        if field.partition:
            if pa.types.is_floating(field.type):
                raise _refused(scan, f"compares partitions by values, which NaN has none of; {field.name!r} is a float")
            value = partitions.value(field, row)
            equal = pc.field(field.name) == value if value.is_valid else pc.field(field.name).is_null()
            condition = equal if condition is None else condition & equal
    return condition


def _store(scan: ScanPlan, table: DeltaTable | None, sizes: dict[str, int]) -> fs.FileSystem:
    root = scan.snapshot.table
    if not is_remote(root):
        return fs.SubTreeFileSystem(root, fs.LocalFileSystem())
    if table is None:
        raise _refused(scan, f"reads from the store of its table; {root} is in one; give the deltalake.DeltaTable")
    try:
        from deltalake.fs import DeltaStorageHandler
    except ImportError as error:
        raise MissingDependencyError.lacking("the store of a Delta table", "deltalake") from error
    given: Any = table
    return fs.PyFileSystem(DeltaStorageHandler.from_table(given._table, given._storage_options, sizes))


def _is_mapped(field: Field) -> bool:
    return field.field_id is not None or bool(field.source and field.source != field.name)


def _refused(scan: ScanPlan, what: str) -> ScanError:
    return ScanError(f"a dataset as deltalake makes it {what}; read with .to_dataset()")
