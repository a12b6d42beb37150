"""Reads the data of Parquet files for what their footers cannot say: chosen columns only, batch by batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.parquet as pq

from metaindex.formats import Footer, Layouts, Leaf
from metaindex.storage import Storage

from .extremes import ColumnScan, inside

BATCH_ROWS = 65_536


@dataclass(frozen=True, slots=True)
class ParquetScanner:
    """Scans the files of one table. Where columns are in files of one schema by one writer is found out once."""

    _layouts: dict[tuple[Leaf, ...], Layouts] = field(default_factory=dict)

    def __call__(self, storage: Storage, path: str, size: int, leaves: Sequence[Leaf]) -> list[ColumnScan]:
        """Scan all rows of the file for each leaf. Raises what `collect.UNREADABLE` names if it cannot be read
        whole."""
        layouts = self._layouts.setdefault(tuple(leaves), Layouts(tuple(leaves)))
        with storage.open_input(path) as source:
            if source.size() != size:
                raise pa.ArrowInvalid(f"the snapshot says {size} bytes, the file has {source.size()}")
            footer = Footer.of(source)
            file = pq.ParquetFile(source, metadata=footer.metadata, coerce_int96_timestamp_unit="us", pre_buffer=False)
            scans = [ColumnScan() for _ in leaves]
            located: list[tuple[FileColumn, ColumnScan]] = []
            for leaf, place, scan in zip(leaves, layouts.places(footer.raw, footer.metadata), scans, strict=True):
                index, names, constant, unknown = place
                if index is None:
                    scan.unread = unknown if constant is None else "the file has no such column"
                else:
                    located.append((FileColumn.of(file, leaf, names, index), scan))
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
