"""Checkpoints as columns: classic, multi-part and V2 (JSON or Parquet top level, sidecars).

Two steps, so that nothing is read that is not used: `open_checkpoint` reads what describes the table,
`CheckpointReader.files` the live files, with the partition values only where the table is partitioned. Statistics stay
where they are; a file remembers its part and row.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from metaindex.core import CorruptTableError, compute
from metaindex.storage import Storage

from .actions import LIVE_SCHEMA, FileAction, FileKey, Metadata, Protocol, file_columns, no_files, parse_commit
from .columns import cast_to, child, constant, present, rows_array, strings, take, unchunked
from .log_segment import LOG, CheckpointFiles
from .parquet_part import Batch, batches, has_field, opened
from .paths import decoded, decoded_column
from .record_counts import numbers_of_records

_SIDECARS = "_sidecars"
_HEADER = ("protocol", "metaData", "sidecar")
_ADD = (
    "path",
    "size",
    "modificationTime",
    "deletionVector",
    "baseRowId",
    "defaultRowCommitVersion",
)


@dataclass(slots=True)
class CheckpointReader:
    """An opened checkpoint. `parts` are the Parquet files that may hold adds, in the order that `delta_part` counts."""

    storage: Storage
    table: str
    version: int
    parts: list[str] = field(default_factory=list)
    protocol: Protocol | None = None
    metadata: Metadata | None = None
    loose: list[tuple[FileKey, FileAction]] = field(default_factory=list)  # adds of a JSON top level

    def where(self, path: str) -> str:
        return f"{self.table} version {self.version}, {path}"

    def files(self, partitioned: bool) -> tuple[pa.Table, list[str | None]]:
        """Every add as LIVE_SCHEMA, and the statistics of the loose ones."""
        tables = [self._part(number, path, partitioned) for number, path in enumerate(self.parts)]
        loose, stats = file_columns(self.loose)
        return joined([*tables, loose]), stats

    def _part(self, number: int, path: str, partitioned: bool) -> pa.Table:
        with opened(self.storage, path, self.where(path)) as part:
            return joined([no_files(), *(_adds(batch, number, partitioned) for batch in batches(part))])


def open_checkpoint(storage: Storage, table: str, files: CheckpointFiles) -> CheckpointReader:
    """Open a checkpoint: what it says of the table, and which files hold its adds."""
    out = CheckpointReader(storage, table, files.version)
    sidecars: list[str] = []
    for info in files.files:
        if info.path.endswith(".json"):
            top = parse_commit(storage.read(info.path), out.where(info.path))
            out.protocol, out.metadata = top.protocol, top.metadata
            out.loose = [(key, body) for added, key, body in top.files if added]
            sidecars += top.sidecars
        else:
            out.parts.append(info.path)
            with (holder := opened(storage, info.path, out.where(info.path))) as part:
                sidecars += _header(holder, part, out)
    out.parts += [_sidecar_path(path, out.where(f"sidecar {path}")) for path in sidecars]
    return out


def joined(tables: list[pa.Table]) -> pa.Table:
    """Tables of LIVE_SCHEMA as one, without empty chunks."""
    return pa.concat_tables([t for t in tables if t.num_rows] or tables[:1])


def _sidecar_path(path: str, said: str) -> str:
    """Return a sidecar's path in the log's own folder, whatever it says: a table may have been moved."""
    try:
        folder, _, name = decoded(path).rpartition("/")
    except (CorruptTableError, ValueError) as error:
        raise CorruptTableError(f"{said}: {error}") from error
    if folder not in ("", _SIDECARS) and not f"/{folder}".endswith(f"/{LOG}/{_SIDECARS}"):
        raise CorruptTableError(
            f"sidecars of a checkpoint lie in {LOG}/{_SIDECARS}; {said} lies elsewhere; the log is damaged or hostile"
        )
    return f"{LOG}/{_SIDECARS}/{name}"


def _header(holder: opened, part: Any, out: CheckpointReader) -> list[str]:
    """Read protocol and metaData into `out`; return the sidecars' paths. Row groups that have neither by their
    statistics are skipped."""
    columns = [name for name in part.schema_arrow.names if name in _HEADER]
    sidecars: list[str] = []
    many = part.num_row_groups > 1
    unstated = holder.unstated() if many else frozenset()
    for group in range(part.num_row_groups):
        wanted = [c for c in columns if not many or _some_values(part.metadata.row_group(group), group, c, unstated)]
        if not wanted:
            continue
        table = part.read_row_group(group, columns=wanted, use_threads=False)
        for name in wanted:
            column = compute("drop_null", unchunked(table.column(name)))
            for row in column.to_pylist(maps_as_pydicts="lossy"):
                match name:
                    case "protocol":
                        out.protocol = Protocol.of(row)
                    case "metaData":
                        out.metadata = Metadata.of(row)
                    case _:
                        sidecars.append(row["path"])
    return sidecars


_TELLING = {"protocol": "protocol.minReaderVersion", "metaData": "metaData.schemaString", "sidecar": "sidecar.path"}


def _some_values(group: Any, number: int, name: str, unstated: frozenset[tuple[int, int]]) -> bool:
    for index in range(group.num_columns):
        chunk = group.column(index)
        if chunk.path_in_schema == _TELLING[name]:
            statistics = None if (number, index) in unstated else chunk.statistics
            return statistics is None or not statistics.has_null_count or statistics.null_count < group.num_rows
    return True


def _adds(batch: Batch, number: int, partitioned: bool) -> pa.Table:
    schema = batch.part.schema_arrow
    if "add" not in schema.names:
        return no_files()
    add = schema.field("add").type
    names = {add.field(i).name for i in range(add.num_fields)}
    if not {"path", "size"} <= names:
        raise ValueError("its add column has no path or size")
    wanted = [name for name in _ADD if name in names]
    if partitioned and "partitionValues" in names:
        wanted.append("partitionValues")
    counted = "stats_parsed" in names and has_field(add.field("stats_parsed").type, "numRecords")
    columns = list(wanted)
    if counted:
        columns.append("stats_parsed.numRecords")
    text = "stats" in names and not counted
    if text:
        columns.append("stats")
    flat = batch.adds(columns)
    rows = np.flatnonzero(present(flat["path"]))
    whole = len(rows) == len(flat["path"])
    if not whole and len(rows) and rows[-1] - rows[0] + 1 == len(rows):
        flat = {name: column.slice(int(rows[0]), len(rows)) for name, column in flat.items()}
    elif not whole:
        taken = rows_array(rows)
        flat = {name: take(column, taken) for name, column in flat.items()}
    count = len(rows)
    if counted:
        records = _counted(batch, flat["stats_parsed"], rows, "stats" in names)
    else:
        records = numbers_of_records(flat["stats"]) if text else pa.nulls(count, pa.int64())

    def column(name: str, type_: pa.DataType) -> pa.Array:
        return cast_to(flat[name], type_) if name in flat else pa.nulls(count, type_)

    dv = flat.get("deletionVector")
    arrays = [
        decoded_column(column("path", pa.string())),
        column("size", pa.int64()),
        column("modificationTime", pa.int64()),
        records,
        column("partitionValues", LIVE_SCHEMA.field("partition_values").type),
        *_deletion_vectors(dv, count),
        column("baseRowId", pa.int64()),
        column("defaultRowCommitVersion", pa.int64()),
        constant(number, count, pa.int32()),
        rows_array(rows + batch.first_row),
    ]
    if arrays[1].null_count:
        raise ValueError("an add has no size")
    return pa.Table.from_arrays(arrays, schema=LIVE_SCHEMA)


def _counted(batch: Batch, parsed: pa.Array, rows: Any, texts: bool) -> pa.Array:
    """Return numRecords from the struct, or from the JSON for rows without a struct."""
    records = cast_to(child(parsed, "numRecords"), pa.int64())
    if not texts or not records.null_count:
        return records
    text = take(batch.adds(["stats"])["stats"], rows_array(rows))
    return compute("coalesce", records, numbers_of_records(cast_to(text, pa.string())))


def _deletion_vectors(dv: pa.Array | None, count: int) -> list[pa.Array]:
    """Return the fields id, cardinality, storage, path, offset, size."""
    text, small, big = pa.string(), pa.int32(), pa.int64()
    if dv is None or dv.null_count == count:
        types = (text, big, text, text, small, small)
        return [pa.nulls(count, t) for t in types]

    def part(name: str, type_: pa.DataType) -> pa.Array:
        return cast_to(child(dv, name), type_) if has_field(dv.type, name) else pa.nulls(count, type_)

    storage, path = part("storageType", text), part("pathOrInlineDv", text)
    offset, size, cardinality = part("offset", small), part("sizeInBytes", small), part("cardinality", big)
    # Few files have one: their ids are made row by row, in the same words as `actions.dv_id`.
    ids: list[str | None] = [None] * count
    for row in np.flatnonzero(present(storage)).tolist():
        at = offset[row].as_py()
        ids[row] = f"{storage[row].as_py()}{path[row].as_py()}" + ("" if at is None else f"@{at}")
    return [strings(ids), cardinality, storage, path, offset, size]
