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

from metaindex.core import CorruptTableError, Vector, compute
from metaindex.formats.columns import cast_to, child, constant, rows_array, strings, take, unchunked
from metaindex.formats.damage import as_damage
from metaindex.storage import Storage

from .actions import (
    LIVE_SCHEMA,
    OF_ADD,
    OF_VECTOR,
    FileAction,
    FileKey,
    Metadata,
    Protocol,
    dv_id,
    file_columns,
    live_table,
    no_files,
    parse_commit,
)
from .log_segment import LOG, CheckpointFiles
from .parquet_part import Batch, batches, has_field, opened
from .paths import decoded, decoded_column
from .stats_json import numbers_of_records

_SIDECARS = "_sidecars"
_ADD = ("path", "deletionVector", *OF_ADD.values())


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
            with opened(storage, info.path, out.where(info.path)) as part:
                sidecars += _header(part, out)
    out.parts += [_sidecar_path(path, out.where(f"sidecar {path}")) for path in sidecars]
    return out


def joined(tables: list[pa.Table]) -> pa.Table:
    """Tables of LIVE_SCHEMA as one, without empty chunks."""
    return pa.concat_tables([t for t in tables if t.num_rows] or tables[:1])


def _sidecar_path(path: str, said: str) -> str:
    """Return a sidecar's path in the log's own folder, whatever it says: a table may have been moved."""
    with as_damage(f"{said}: ", ""):
        folder, _, name = decoded(path).rpartition("/")
    if folder not in ("", _SIDECARS) and not f"/{folder}".endswith(f"/{LOG}/{_SIDECARS}"):
        raise CorruptTableError(
            f"sidecars of a checkpoint lie in {LOG}/{_SIDECARS}; {said} lies elsewhere; the log is damaged or hostile"
        )
    return f"{LOG}/{_SIDECARS}/{name}"


def _header(part: Any, out: CheckpointReader) -> list[str]:
    """Read protocol and metaData into `out`; return the sidecars' paths. Of row groups that have none of these one leaf
    of each is read."""
    columns = [name for name in part.schema_arrow.names if name in _TELLING]
    sidecars: list[str] = []
    for group in range(part.num_row_groups):
        some = part.read_row_group(group, columns=[_TELLING[name] for name in columns], use_threads=False)
        wanted = [name for name in some.column_names if some.column(name).null_count < some.num_rows]
        table = part.read_row_group(group, columns=wanted, use_threads=False) if wanted else some
        for name in wanted:
            for row in compute("drop_null", unchunked(table.column(name))).to_pylist(maps_as_pydicts="lossy"):
                match name:
                    case "protocol":
                        out.protocol = Protocol.of(row)
                    case "metaData":
                        out.metadata = Metadata.of(row)
                    case _:
                        sidecars.append(row["path"])
    return sidecars


_TELLING = {"protocol": "protocol.minReaderVersion", "metaData": "metaData.schemaString", "sidecar": "sidecar.path"}


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
    rows = np.flatnonzero(Vector(flat["path"]).present)
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

    columns_ = {
        "path": decoded_column(column("path", pa.string())),
        "record_count": records,
        "partition_values": column("partitionValues", LIVE_SCHEMA.field("partition_values").type),
        **_deletion_vectors(flat.get("deletionVector"), count),
        **{name: column(said, LIVE_SCHEMA.field(name).type) for name, said in OF_ADD.items()},
        "delta_part": constant(number, count, pa.int32()),
        "delta_row": rows_array(rows + batch.first_row),
    }
    if columns_["size_bytes"].null_count:
        raise ValueError("an add has no size")
    return live_table(columns_)


def _counted(batch: Batch, parsed: pa.Array, rows: Any, texts: bool) -> pa.Array:
    """Return numRecords from the struct, or from the JSON for rows without a struct."""
    records = cast_to(child(parsed, "numRecords"), pa.int64())
    if not texts or not records.null_count:
        return records
    text = take(batch.adds(["stats"])["stats"], rows_array(rows))
    return compute("coalesce", records, numbers_of_records(cast_to(text, pa.string())))


def _deletion_vectors(dv: pa.Array | None, count: int) -> dict[str, pa.Array]:
    """The columns of OF_VECTOR, and the ids."""

    def part(said: str, type_: pa.DataType) -> pa.Array:
        return (
            cast_to(child(dv, said), type_) if dv is not None and has_field(dv.type, said) else pa.nulls(count, type_)
        )

    columns = {name: part(said, LIVE_SCHEMA.field(name).type) for name, said in OF_VECTOR.items()}
    # Few files have one: their ids are made row by row.
    ids: list[str | None] = [None] * count
    for row in np.flatnonzero(Vector(columns["delta_dv_storage"]).present).tolist():
        ids[row] = dv_id({said: columns[name][row].as_py() for name, said in OF_VECTOR.items()})
    return {"deletes": strings(ids), **columns}
