"""Delta logs written by hand: what no writer would write, and what old ones did."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from metaindex.formats.delta.table import DeltaFormat
from metaindex.formats.format import At, TableRef
from metaindex.formats.model import Leaf, Snapshot
from metaindex.storage import storage_for
from tests.formats.writers import hold

DELTA = DeltaFormat()
LONG = {"name": "id", "type": "long", "nullable": True, "metadata": {}}


def ref(path: Path | str) -> TableRef:
    storage, root = storage_for(path)
    return TableRef(storage, root)


def snapshot(path: Path | str, version: int | None = None) -> Snapshot:
    return DELTA.snapshot(ref(path), At(version=version))


def column(name: str, type_: Any = "long", **metadata: Any) -> dict[str, Any]:
    return {"name": name, "type": type_, "nullable": True, "metadata": metadata}


def metadata(
    *fields: dict[str, Any],
    partitions: Sequence[str] = (),
    configuration: Mapping[str, str] | None = None,
    table_id: str = "one",
    provider: str = "parquet",
) -> dict[str, Any]:
    schema = {"type": "struct", "fields": list(fields or [LONG])}
    return {
        "metaData": {
            "id": table_id,
            "format": {"provider": provider, "options": {}},
            "schemaString": json.dumps(schema),
            "partitionColumns": list(partitions),
            "configuration": dict(configuration or {}),
            "createdTime": 1,
        }
    }


def protocol(reader: int = 1, features: Sequence[str] | None = None) -> dict[str, Any]:
    body: dict[str, Any] = {"minReaderVersion": reader, "minWriterVersion": 7 if features is not None else 2}
    if features is not None:
        body |= {"readerFeatures": list(features), "writerFeatures": list(features)}
    return {"protocol": body}


def add(path: str, stats: Any = None, size: int = 10, **more: Any) -> dict[str, Any]:
    body = {"path": path, "partitionValues": {}, "size": size, "modificationTime": 5, "dataChange": True, **more}
    if stats is not None:
        body["stats"] = stats if isinstance(stats, str) else json.dumps(stats)
    return {"add": body}


def remove(path: str, **more: Any) -> dict[str, Any]:
    return {"remove": {"path": path, "deletionTimestamp": 6, "dataChange": True, **more}}


def commit(table: Path, version: int, *actions: Mapping[str, Any] | str) -> Path:
    log = table / "_delta_log"
    log.mkdir(parents=True, exist_ok=True)
    lines = [a if isinstance(a, str) else json.dumps(a) for a in actions]
    path = log / f"{version:020d}.json"
    path.write_text("\n".join(lines) + "\n")
    return path


def checkpoint(table: Path, name: str | int, *actions: Mapping[str, Any]) -> Path:
    """A Parquet file of actions; types as the protocol says, columns as the actions need them. `name`: or a version."""
    rows = [dict(a) for a in actions]
    kinds = dict.fromkeys(kind for row in rows for kind in row)
    columns = {kind: pa.array([_maps(row.get(kind)) for row in rows], _type(kind, rows)) for kind in kinds}
    path = table / "_delta_log" / (f"{name:020d}.checkpoint.parquet" if isinstance(name, int) else name)
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)
    return path


def log(table: Path, where: str, *actions: Mapping[str, Any]) -> Path:
    """Version 0 in a commit, or in a checkpoint."""
    return commit(table, 0, *actions) if where == "commit" else checkpoint(table, 0, *actions)


_MAP = pa.map_(pa.string(), pa.string())
_DV = pa.struct(
    [
        ("storageType", pa.string()),
        ("pathOrInlineDv", pa.string()),
        ("offset", pa.int32()),
        ("sizeInBytes", pa.int32()),
        ("cardinality", pa.int64()),
    ]
)


def _maps(body: Any) -> Any:
    if not isinstance(body, dict):
        return body
    return {
        k: list(v.items()) if k in ("partitionValues", "configuration", "options") else _maps(v)
        for k, v in body.items()
    }


def _type(kind: str, rows: Sequence[Mapping[str, Any]]) -> pa.DataType:
    known = {
        "add": [
            ("path", pa.string()),
            ("partitionValues", _MAP),
            ("size", pa.int64()),
            ("modificationTime", pa.int64()),
            ("dataChange", pa.bool_()),
            ("stats", pa.string()),
            ("deletionVector", _DV),
        ],
        "remove": [("path", pa.string()), ("deletionTimestamp", pa.int64()), ("dataChange", pa.bool_())],
        "protocol": [
            ("minReaderVersion", pa.int32()),
            ("minWriterVersion", pa.int32()),
            ("readerFeatures", pa.list_(pa.string())),
            ("writerFeatures", pa.list_(pa.string())),
        ],
        "metaData": [
            ("id", pa.string()),
            ("format", pa.struct([("provider", pa.string()), ("options", _MAP)])),
            ("schemaString", pa.string()),
            ("partitionColumns", pa.list_(pa.string())),
            ("configuration", _MAP),
            ("createdTime", pa.int64()),
        ],
        "sidecar": [("path", pa.string()), ("sizeInBytes", pa.int64()), ("modificationTime", pa.int64())],
        "checkpointMetadata": [("version", pa.int64())],
    }[kind]
    parsed = [row[kind]["stats_parsed"] for row in rows if kind in row and "stats_parsed" in row[kind]]
    return pa.struct([*known, *([("stats_parsed", pa.array(parsed).type)] if parsed else [])])


def dv(offset: int = 4) -> dict[str, Any]:
    """A deletion vector, of which nothing is read."""
    said = {"storageType": "u", "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^", "offset": offset}
    return {**said, "sizeInBytes": 40, "cardinality": 6}


def paths(found: Snapshot) -> list[str]:
    return sorted(found.files.paths.to_pylist())


def leaf(found: Snapshot, *parts: str) -> Leaf:
    return next(one for one in found.schema.leaves() if one.parts == parts)


def by_path(found: Snapshot, values: Iterable[Any]) -> dict[str, Any]:
    """Of each file, by its path."""
    return dict(zip(found.files.paths.to_pylist(), values, strict=True))


def check_bounds(found: Snapshot) -> None:
    """No value of a physical row lies outside of what the log is taken to say."""
    for one in found.schema.leaves():
        bounds = None if one.field.partition else found.details.log_bounds(one)
        for row, path in enumerate(found.files.paths.to_pylist() if bounds is not None else ()):
            with pq.ParquetFile(found.uri(path), coerce_int96_timestamp_unit="us") as file:
                if one.source[0] not in file.schema_arrow.names:
                    assert bounds.lower[row].as_py() is None  # older than the column
                    continue
                column = file.read(columns=[one.source[0]]).column(one.source[0])
            for part in one.source[1:]:
                column = pc.struct_field(column, [part])
            assert bounds.row_count[row].as_py() in (None, len(column))
            hold(column.cast(one.type), bounds, row)
