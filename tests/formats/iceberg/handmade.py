"""Iceberg metadata written by hand (fastavro), for tables that no writer at hand makes: old formats, odd inheritance,
equality deletes, damage."""

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from metaindex.formats.diff import Diff
from metaindex.formats.format import At, TableRef
from metaindex.formats.iceberg.table import IcebergFormat
from metaindex.formats.model import Snapshot
from metaindex.storage import LocalStorage
from tests.formats.writers import hold

UUID = "0d0c0ffe-0000-4000-8000-000000000001"
FORMAT = IcebergFormat()


def table_ref(path: str | Path, **options: object) -> TableRef:
    return TableRef(LocalStorage(str(path)), str(path), options)


def open_now(path: str | Path, **options: object) -> Snapshot:
    return FORMAT.snapshot(table_ref(path, **options), At())


def optional(kind: Any) -> list[Any]:
    return ["null", kind]


def _map(name: str, value: str, key_id: int) -> Any:
    pair = {
        "type": "record",
        "name": name,
        "fields": [
            {"name": "key", "type": "int", "field-id": key_id},
            {"name": "value", "type": value, "field-id": key_id + 1},
        ],
    }
    return optional({"type": "array", "items": pair, "logicalType": "map"})


MAPS = {  # type of the values; field ids of the map and of its keys
    "column_sizes": ("long", 108, 117),
    "value_counts": ("long", 109, 119),
    "null_value_counts": ("long", 110, 121),
    "nan_value_counts": ("long", 137, 138),
    "lower_bounds": ("bytes", 125, 126),
    "upper_bounds": ("bytes", 128, 129),
}


def _field(field_id: int, name: str, kind: Any, **more: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, "field-id": field_id, **more}


def entry_schema(partition: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:
    fields: list[dict[str, Any]] = [
        _field(134, "content", "int", default=0),
        _field(100, "file_path", "string"),
        _field(101, "file_format", "string"),
        _field(102, "partition", {"type": "record", "name": "r102", "fields": list(partition)}),
        _field(103, "record_count", "long"),
        _field(104, "file_size_in_bytes", "long"),
        *(_field(at, name, _map(f"{name}_pair", value, key)) for name, (value, at, key) in MAPS.items()),
        _field(131, "key_metadata", optional("bytes")),
        _field(135, "equality_ids", optional({"type": "array", "items": "int", "element-id": 136})),
        _field(142, "first_row_id", optional("long")),
        _field(143, "referenced_data_file", optional("string")),
        _field(144, "content_offset", optional("long")),
        _field(145, "content_size_in_bytes", optional("long")),
    ]
    return {
        "type": "record",
        "name": "manifest_entry",
        "fields": [
            _field(0, "status", "int"),
            _field(1, "snapshot_id", optional("long")),
            _field(3, "sequence_number", optional("long")),
            _field(4, "file_sequence_number", optional("long")),
            _field(2, "data_file", {"type": "record", "name": "r2", "fields": fields}),
        ],
    }


MANIFEST_LIST = {
    "type": "record",
    "name": "manifest_file",
    "fields": [
        _field(500, "manifest_path", "string"),
        _field(501, "manifest_length", "long"),
        _field(502, "partition_spec_id", "int"),
        _field(517, "content", "int"),
        _field(515, "sequence_number", "long"),
        _field(516, "min_sequence_number", "long"),
        _field(503, "added_snapshot_id", "long"),
        _field(504, "added_files_count", "int"),
        _field(505, "existing_files_count", "int"),
        _field(506, "deleted_files_count", "int"),
        _field(512, "added_rows_count", "long"),
        _field(513, "existing_rows_count", "long"),
        _field(514, "deleted_rows_count", "long"),
        _field(519, "key_metadata", optional("bytes")),
        _field(520, "first_row_id", optional("long")),
    ],
}


def avro(
    schema: Mapping[str, Any],
    rows: Sequence[Mapping[str, Any]],
    codec: str = "deflate",
    header: Mapping[str, str] | None = None,
) -> bytes:
    out = io.BytesIO()
    fastavro.writer(out, fastavro.parse_schema(dict(schema)), rows, codec=codec, metadata=header)
    return out.getvalue()


def entry(
    path: str, *, status: int = 1, sequence: int | None = None, snapshot: int | None = None, **more: Any
) -> dict[str, Any]:
    """One manifest entry; keywords go into the data file."""
    data_file: dict[str, Any] = {
        "content": 0,
        "file_path": path,
        "file_format": "PARQUET",
        "partition": {},
        "record_count": 10,
        "file_size_in_bytes": 100,
        **more,
    }
    for name in MAPS:
        if isinstance(data_file.get(name), Mapping):
            data_file[name] = [{"key": k, "value": v} for k, v in data_file[name].items()]
    return {
        "status": status,
        "snapshot_id": snapshot,
        "sequence_number": sequence,
        "file_sequence_number": sequence,
        "data_file": data_file,
    }


@dataclass(frozen=True)
class HandManifest:
    entries: Sequence[Mapping[str, Any]]
    content: int = 0
    sequence: int = 1
    spec_id: int = 0
    added_snapshot: int = 1
    first_row_id: int | None = None
    partition: Sequence[Mapping[str, Any]] = ()  # Avro fields of the partition record
    codec: str = "deflate"
    data: bytes | None = None  # the file itself, where it is made elsewhere


SCHEMA = {
    "type": "struct",
    "schema-id": 0,
    "fields": [
        {"id": 1, "name": "id", "required": False, "type": "long"},
        {"id": 2, "name": "s", "required": False, "type": "string"},
    ],
}


@dataclass
class HandTable:
    """A table in a folder; `commit` adds a snapshot of whole manifests, `write` puts the metadata file down."""

    root: Path
    format_version: int = 2
    schemas: list[Mapping[str, Any]] = field(default_factory=lambda: [SCHEMA])
    specs: list[Mapping[str, Any]] = field(default_factory=lambda: [{"spec-id": 0, "fields": []}])
    snapshots: list[dict[str, Any]] = field(default_factory=list)
    files: int = 0

    def path(self, name: str) -> str:
        return f"{self.root}/{name}"

    def commit(self, manifests: Sequence[HandManifest], *, parent: int | None = None, **more: Any) -> int:
        number = len(self.snapshots) + 1
        (self.root / "metadata").mkdir(parents=True, exist_ok=True)
        rows = []
        for one in manifests:
            self.files += 1
            location = self.path(f"metadata/m{self.files}.avro")
            header = self._header(one)
            data = one.data or avro(entry_schema(one.partition), one.entries, one.codec, header)
            Path(location).write_bytes(data)
            counts = [sum(e["status"] == status for e in one.entries) for status in (1, 0, 2)]
            rows.append(
                {
                    "manifest_path": location,
                    "manifest_length": len(data),
                    "partition_spec_id": one.spec_id,
                    "content": one.content,
                    "sequence_number": one.sequence,
                    "min_sequence_number": 0,
                    "added_rows_count": 0,
                    "existing_rows_count": 0,
                    "deleted_rows_count": 0,
                    "added_snapshot_id": one.added_snapshot,
                    "added_files_count": counts[0],
                    "existing_files_count": counts[1],
                    "deleted_files_count": counts[2],
                    "first_row_id": one.first_row_id,
                }
            )
        location = self.path(f"metadata/snap-{number}.avro")
        Path(location).write_bytes(avro(MANIFEST_LIST, rows))
        self.snapshots.append(
            {
                "snapshot-id": number,
                "sequence-number": number,
                "timestamp-ms": 1_000 * number,
                "manifest-list": location,
                "schema-id": self.schemas[-1]["schema-id"],
                "summary": {"operation": "append"},
                **({} if parent is None else {"parent-snapshot-id": parent}),
                **more,
            }
        )
        return number

    def _header(self, one: HandManifest) -> dict[str, str]:
        spec: Any = next((spec for spec in self.specs if spec["spec-id"] == one.spec_id), {"fields": []})
        return {
            "schema": json.dumps(self.schemas[-1]),
            "schema-id": str(self.schemas[-1]["schema-id"]),
            "partition-spec": json.dumps(spec["fields"]),
            "partition-spec-id": str(one.spec_id),
            "format-version": str(self.format_version),
            "content": "deletes" if one.content else "data",
        }

    def metadata(self, **more: Any) -> dict[str, Any]:
        current = self.snapshots[-1]["snapshot-id"] if self.snapshots else None
        return {
            "format-version": self.format_version,
            "table-uuid": UUID,
            "location": str(self.root),
            "last-updated-ms": 5,
            "last-column-id": 100,
            "last-sequence-number": max(
                [s["sequence-number"] for s in self.snapshots if "sequence-number" in s], default=0
            ),
            "last-partition-id": 1999,
            "next-row-id": 1_000_000,
            "sort-orders": [{"order-id": 0, "fields": []}],
            "default-sort-order-id": 0,
            "current-schema-id": self.schemas[-1]["schema-id"],
            "schemas": self.schemas,
            "default-spec-id": self.specs[-1]["spec-id"],
            "partition-specs": self.specs,
            "properties": {},
            "current-snapshot-id": current,
            "snapshots": self.snapshots,
            "snapshot-log": [
                {"timestamp-ms": s["timestamp-ms"], "snapshot-id": s["snapshot-id"]} for s in self.snapshots
            ],
            "refs": {} if current is None else {"main": {"snapshot-id": current, "type": "branch"}},
            **more,
        }

    def write(self, **more: Any) -> Path:
        (self.root / "metadata").mkdir(parents=True, exist_ok=True)
        (self.root / "metadata/v1.metadata.json").write_text(json.dumps(self.metadata(**more)))
        (self.root / "metadata/version-hint.text").write_text("1")
        return self.root

    def snapshot(self, **more: Any) -> Snapshot:
        return open_now(self.write(**more))


def agreed(ref: TableRef, base: Snapshot, target: Snapshot) -> Diff | None:
    """The difference by the metadata, where there is one: that of the two snapshots."""
    diff = FORMAT.diff(ref, base, At(version=target.version.id))
    if diff is not None:
        compared = Diff.between(base, target)
        for name in ("appended", "deleted", "deletes_changed"):
            ours, theirs = (sorted(getattr(one, name).table.to_pylist(), key=str) for one in (diff, compared))
            assert ours == theirs
    return diff


def column(path: str, field_id: int | None) -> pa.ChunkedArray | None:
    """The physical values of a column of a file, found by field id."""
    table = pq.read_table(path)
    for one in table.schema:
        if one.metadata is None:
            continue
        if one.metadata[b"PARQUET:field_id"] == str(field_id).encode():
            return table.column(one.name)
        if pa.types.is_struct(one.type):
            for child in one.type:
                if child.metadata[b"PARQUET:field_id"] == str(field_id).encode():
                    return pc.struct_field(table.column(one.name), child.name)
    return None


def check_bounds(snapshot: Snapshot) -> int:
    """Every stated bound holds for the physical rows; how many were stated."""
    stated = 0
    for leaf in snapshot.schema.leaves():
        told = snapshot.details.log_bounds(leaf), snapshot.details.partition_bounds(leaf)
        for row, one in enumerate(snapshot.files.entries()):
            values = column(snapshot.uri(one.path), leaf.field.field_id)
            if values is not None:
                stated += sum(hold(values.cast(leaf.type), bounds, row) for bounds in told if bounds is not None)
    return stated
