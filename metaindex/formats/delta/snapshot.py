"""A version as a `Snapshot`: live files as FILE_SCHEMA columns, and what Delta knows of them when asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metaindex.core import CorruptTableError, Vector
from metaindex.expressions import ColumnBounds
from metaindex.formats.format import TableRef
from metaindex.formats.model import FILE_SCHEMA, Deletes, FileTable, Leaf, Snapshot, SnapshotDetails, Version
from metaindex.storage import Storage

if TYPE_CHECKING:
    from pyroaring import BitMap64

from .columns import present, unchunked
from .deletes import read_positions
from .history import file_times
from .log_segment import LogSegment
from .partitions import partition_bounds, partition_texts, partition_values, shown_values
from .replay import Header, in_commit_timestamps, live_files
from .schema import TableSchema, parse_schema
from .statistics import LogStatistics

_DELTA_COLUMNS = (
    "delta_dv_storage",
    "delta_dv_path",
    "delta_dv_offset",
    "delta_dv_size",
    "delta_base_row_id",
    "delta_row_commit_version",
    "delta_part",
    "delta_row",
)


@dataclass(frozen=True, slots=True)
class DeltaDetails(SnapshotDetails):
    """`SnapshotDetails` of Delta."""

    storage: Storage
    table: str
    version: str
    files: pa.Table
    schema: TableSchema
    values: tuple[pa.Array, ...]  # per partition column, in the schema's order
    statistics: LogStatistics

    def log_bounds(self, leaf: Leaf) -> ColumnBounds | None:
        return None if leaf.path[0].partition else self.statistics.bounds(leaf)

    def many_log_bounds(self, leaves: Sequence[Leaf]) -> list[ColumnBounds | None]:
        of_data = iter(self.statistics.many_bounds([leaf for leaf in leaves if not leaf.path[0].partition]))
        return [None if leaf.path[0].partition else next(of_data) for leaf in leaves]

    def null_lists(self, leaf: Leaf) -> ColumnBounds | None:
        """Nothing is known inside a struct: a writer may count lists alone, and not the structs that are NULL."""
        return self.statistics.null_lists(leaf) if len(leaf.path) == 1 else None

    def partition_bounds(self, leaf: Leaf) -> ColumnBounds | None:
        if len(leaf.path) != 1 or not leaf.field.partition:
            return None
        texts = self.values[self.schema.partition_columns.index(leaf.field.name)]
        return partition_bounds(leaf, texts, self.statistics.record_count)

    def known_partition_values(self, leaf: Leaf, time_zone: str) -> tuple[pa.Array, npt.NDArray[np.bool_]] | None:
        """The value of a partition column in every file, and where it is known; a time without a zone is one of
        `time_zone`. None: no such column."""
        if len(leaf.path) != 1 or not leaf.field.partition:
            return None
        return shown_values(leaf, self.values[self.schema.partition_columns.index(leaf.field.name)], time_zone)

    def deletes(self, row: int) -> Deletes:
        return Deletes(file_deletes(self.storage, f"{self.table} version {self.version}", self.files, row))

    def read_options(self) -> Mapping[str, object]:
        return {"file_format": "parquet"}


def file_deletes(storage: Storage, said: str, files: pa.Table, row: int) -> BitMap64:
    """Return the positions deleted from file `row` of a table of live files; `said`: the table and its version."""
    path, kind, blob, offset, size, cardinality = (
        files.column(name)[row].as_py()
        for name in ("path", "delta_dv_storage", "delta_dv_path", "delta_dv_offset", "delta_dv_size", "deleted_count")
    )
    where = f"{said}, deletion vector of {path}"
    if kind is None or blob is None or size is None:
        raise CorruptTableError(f"{where}: a deletion vector has a storage type, a path and a size")
    return read_positions(storage, where, kind, blob, offset, size, cardinality)


def build(ref: TableRef, segment: LogSegment, header: Header, version: Version) -> Snapshot:
    schema = parse_schema(header.metadata, ref.path)
    live = live_files(header, ref.path)
    values = partition_values(live.table, schema.partition_sources)
    files = file_table(live.table, schema.partition_columns, values)
    statistics = LogStatistics(
        storage=ref.storage,
        table=ref.path,
        parts=live.parts,
        loose=live.loose,
        part=Vector(unchunked(live.table.column("delta_part"))).items(np.int32),
        row=Vector(unchunked(live.table.column("delta_row"))).items(np.int64),
        with_deletes=present(unchunked(live.table.column("deletes"))),
        record_count=unchunked(live.table.column("record_count")),
        once_float=schema.once_float,
    )
    return Snapshot(
        table=ref.path,
        format="delta",
        version=version,
        timestamp_ms=_timestamp(segment, header),
        schema=schema.schema,
        files=FileTable(files),
        details=DeltaDetails(
            ref.storage,
            ref.path,
            version.id,
            files,
            schema,
            tuple(values),
            statistics,
        ),
        partition_columns=schema.partition_columns,
        properties={**header.metadata.configuration, "table_uuid": header.metadata.id},
    )


def file_table(live: pa.Table, names: tuple[str, ...], values: list[pa.Array]) -> pa.Table:
    """Return LIVE_SCHEMA as FILE_SCHEMA, followed by Delta's own columns."""
    count = live.num_rows
    made = {"partition": partition_texts(names, values, count), "etag": pa.nulls(count, pa.string())}
    columns = [made[f.name] if f.name in made else live.column(f.name) for f in FILE_SCHEMA]
    fields = [*FILE_SCHEMA, *(live.schema.field(name) for name in _DELTA_COLUMNS)]
    return pa.Table.from_arrays([*columns, *(live.column(name) for name in _DELTA_COLUMNS)], schema=pa.schema(fields))


def _timestamp(segment: LogSegment, header: Header) -> int:
    if header.in_commit_timestamp_ms is not None and in_commit_timestamps(header.metadata):
        return header.in_commit_timestamp_ms
    times = file_times(segment.listing)
    if segment.version in times:
        return times[segment.version]
    assert segment.checkpoint is not None
    return max(info.modified_ns for info in segment.checkpoint.files) // 1_000_000
