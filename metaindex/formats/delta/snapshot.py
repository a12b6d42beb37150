"""A version as a `Snapshot`: live files as FILE_SCHEMA columns, and what Delta knows of them when asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metaindex.core import CorruptTableError
from metaindex.expressions import ColumnBounds
from metaindex.formats.format import TableRef
from metaindex.formats.model import FILE_SCHEMA, Deletes, FileTable, Leaf, Snapshot, SnapshotDetails, Version

from .actions import LIVE_SCHEMA
from .deletes import read_positions, stored_frame
from .history import file_times
from .log_segment import LogSegment
from .partitions import partition_bounds, partition_texts, partition_values, shown_values
from .replay import Header, ReplayedFiles, in_commit_timestamps, live_files
from .schema import TableSchema, parse_schema
from .statistics import LogStatistics

_OF_DELETES = ("path", "delta_dv_storage", "delta_dv_path", "delta_dv_offset", "delta_dv_size", "deleted_count")


@dataclass(frozen=True, slots=True)
class DeltaDetails(SnapshotDetails):
    """`SnapshotDetails` of Delta."""

    version: str
    schema: TableSchema
    values: tuple[pa.Array, ...]  # per partition column, in the schema's order
    statistics: LogStatistics

    def log_bounds(self, leaf: Leaf) -> ColumnBounds | None:
        return self.many_log_bounds([leaf])[0]

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
        return partition_bounds(leaf, texts)

    def known_partition_values(self, leaf: Leaf, time_zone: str) -> tuple[pa.Array, npt.NDArray[np.bool_]] | None:
        if len(leaf.path) != 1 or not leaf.field.partition:
            return None
        return shown_values(leaf, self.values[self.schema.partition_columns.index(leaf.field.name)], time_zone)

    def deletes(self, row: int) -> Deletes:
        where, kind, blob, offset, size, cardinality = self._vector(row)
        return Deletes(read_positions(self.statistics.storage, where, kind, blob, offset, size, cardinality))

    def stored_vector(self, row: int) -> tuple[str, int, int] | None:
        where, kind, blob, offset, size, _ = self._vector(row)
        return stored_frame(where, kind, blob, offset, size)

    def _vector(self, row: int) -> tuple[str, str, str, int | None, int, int | None]:
        """Return the place to name in errors, and the fields of the descriptor of a file's deletion vector."""
        of = self.statistics
        path, kind, blob, offset, size, cardinality = (of.files.column(name)[row].as_py() for name in _OF_DELETES)
        where = f"{of.table} version {self.version}, deletion vector of {path}"
        if kind is None or blob is None or size is None:
            raise CorruptTableError(f"{where}: a deletion vector has a storage type, a path and a size")
        return where, kind, blob, offset, size, cardinality

    def read_options(self) -> Mapping[str, object]:
        return {"file_format": "parquet"}


def build(ref: TableRef, segment: LogSegment, header: Header, version: Version) -> Snapshot:
    """The snapshot of a version, replayed."""
    schema = parse_schema(header.metadata, ref.path)
    live = live_files(header, ref.path)
    return snapshot_of(ref, version, _timestamp(segment, header), schema, live, header.metadata.configuration)


def snapshot_of(
    ref: TableRef,
    version: Version,
    timestamp_ms: int,
    schema: TableSchema,
    live: ReplayedFiles,
    configuration: Mapping[str, str],
) -> Snapshot:
    """The snapshot of these files."""
    values = partition_values(live.table, schema.partition_sources)
    files = file_table(live.table, schema.partition_columns, values)
    statistics = LogStatistics(ref.storage, ref.path, live.parts, live.loose, files, schema.once_float)
    return Snapshot(
        table=ref.path,
        format="delta",
        version=version,
        timestamp_ms=timestamp_ms,
        schema=schema.schema,
        files=FileTable(files),
        details=DeltaDetails(version.id, schema, tuple(values), statistics),
        partition_columns=schema.partition_columns,
        properties={**configuration, "table_uuid": version.table_uuid},
    )


def file_table(live: pa.Table, names: tuple[str, ...], values: list[pa.Array]) -> pa.Table:
    """Return LIVE_SCHEMA as FILE_SCHEMA, followed by Delta's own columns."""
    count = live.num_rows
    made = {"partition": partition_texts(names, values, count), "etag": pa.nulls(count, pa.string())}
    fields = [*FILE_SCHEMA, *(field for field in LIVE_SCHEMA if field.name.startswith("delta_"))]
    columns = [made[f.name] if f.name in made else live.column(f.name) for f in fields]
    return pa.Table.from_arrays(columns, schema=pa.schema(fields))


def _timestamp(segment: LogSegment, header: Header) -> int:
    if header.in_commit_timestamp_ms is not None and in_commit_timestamps(header.metadata):
        return header.in_commit_timestamp_ms
    times = file_times(segment.listing)
    if segment.version in times:
        return times[segment.version]
    assert segment.checkpoint is not None
    return max(info.modified_ns for info in segment.checkpoint.files) // 1_000_000
