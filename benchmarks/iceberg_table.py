"""An Iceberg table that exists only as metadata: one snapshot, ten manifests, in each entry the statistics that Spark
writes of every column (sizes, counts of values, NULLs and NaNs, both bounds). Columns are long, double, string,
timestamp, and again. No data file is ever looked at by what is measured here.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

MANIFESTS = 10
_BLOCK_BYTES = 64_000  # as Java's writer makes them
_TYPES = ("long", "double", "string", "timestamp")
_SYNC = bytes(range(16))


def write_table(root: Path, files: int, columns: int) -> None:
    """The table at `root`; its version hint is written last."""
    folder = root / "metadata"
    folder.mkdir(parents=True)
    fields = [{"id": n + 1, "name": f"c{n:02d}", "required": False, "type": _TYPES[n % 4]} for n in range(columns)]
    schema = {"type": "struct", "schema-id": 0, "fields": fields}
    header = {
        "schema": json.dumps(schema),
        "schema-id": "0",
        "partition-spec": "[]",
        "partition-spec-id": "0",
        "format-version": "2",
        "content": "data",
    }
    listed = []
    for number in range(MANIFESTS):
        mine = range(number * files // MANIFESTS, (number + 1) * files // MANIFESTS)
        path = folder / f"m{number}.avro"
        path.write_bytes(_container(_ENTRY, (_entry(root, n, columns) for n in mine), header))
        counts = (len(mine), 0, 0, len(mine) * 1000, 0, 0)
        listed.append(_text(str(path)) + b"".join(map(_long, (path.stat().st_size, 0, 0, 1, 1, 1, *counts))))
    (folder / "snap-1.avro").write_bytes(_container(_LIST, listed, {"format-version": "2"}))
    snapshot = {
        "snapshot-id": 1,
        "sequence-number": 1,
        "timestamp-ms": 1,
        "manifest-list": str(folder / "snap-1.avro"),
        "schema-id": 0,
        "summary": {"operation": "append"},
    }
    metadata = {
        "format-version": 2,
        "table-uuid": "0d0c0ffe-0000-4000-8000-000000000001",
        "location": str(root),
        "last-sequence-number": 1,
        "last-updated-ms": 1,
        "last-column-id": columns,
        "schemas": [schema],
        "current-schema-id": 0,
        "partition-specs": [{"spec-id": 0, "fields": []}],
        "default-spec-id": 0,
        "last-partition-id": 999,
        "sort-orders": [{"order-id": 0, "fields": []}],
        "default-sort-order-id": 0,
        "current-snapshot-id": 1,
        "snapshots": [snapshot],
        "refs": {"main": {"snapshot-id": 1, "type": "branch"}},
    }
    (folder / "v1.metadata.json").write_text(json.dumps(metadata))
    (folder / "version-hint.text").write_text("1")


def _field(field_id: int, name: str, kind: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, "field-id": field_id}


def _map(field_id: int, name: str, key_id: int, value: str) -> dict[str, Any]:
    pair = {
        "type": "record",
        "name": f"k{key_id}",
        "fields": [_field(key_id, "key", "int"), _field(key_id + 1, "value", value)],
    }
    return _field(field_id, name, ["null", {"type": "array", "items": pair, "logicalType": "map"}])


_DATA_FILE = [
    _field(134, "content", "int"),
    _field(100, "file_path", "string"),
    _field(101, "file_format", "string"),
    _field(102, "partition", {"type": "record", "name": "r102", "fields": []}),
    _field(103, "record_count", "long"),
    _field(104, "file_size_in_bytes", "long"),
    _map(108, "column_sizes", 117, "long"),
    _map(109, "value_counts", 119, "long"),
    _map(110, "null_value_counts", 121, "long"),
    _map(137, "nan_value_counts", 138, "long"),
    _map(125, "lower_bounds", 126, "bytes"),
    _map(128, "upper_bounds", 129, "bytes"),
    _field(140, "sort_order_id", ["null", "int"]),
]
_ENTRY = {
    "type": "record",
    "name": "manifest_entry",
    "fields": [
        _field(0, "status", "int"),
        _field(1, "snapshot_id", ["null", "long"]),
        _field(3, "sequence_number", ["null", "long"]),
        _field(4, "file_sequence_number", ["null", "long"]),
        _field(2, "data_file", {"type": "record", "name": "r2", "fields": _DATA_FILE}),
    ],
}
_LIST = {
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
    ],
}


def _entry(root: Path, number: int, columns: int) -> bytes:
    path = _text(f"{root}/data/part-{number:08d}-0d0c0ffe.parquet")
    ids = range(1, columns + 1)
    maps = (
        ((i, _long(5_000 + i * number % 4_000)) for i in ids),
        ((i, _long(1_000)) for i in ids),
        ((i, _long(number % 7)) for i in ids),
        ((i, _long(0)) for i in ids if i % 4 == 2),
        ((i, _bound(i, number)) for i in ids),
        ((i, _bound(i, number + 5)) for i in ids),
    )
    head = _long(1) + b"\x02" + _long(1) + b"\0\0" + _long(0) + path + _text("PARQUET")
    return head + _long(1_000) + _long(1_000_000 + number) + b"".join(_pairs(list(one)) for one in maps) + b"\0"


def _bound(column: int, value: int) -> bytes:
    kind = _TYPES[(column - 1) % 4]
    raw = f"{value:016d}".encode() if kind == "string" else struct.pack("<d" if kind == "double" else "<q", value)
    return _long(len(raw)) + raw


def _pairs(pairs: Sequence[tuple[int, bytes]]) -> bytes:
    inside = b"".join(_long(key) + value for key, value in pairs)
    return b"\x02" + (_long(len(pairs)) + inside if pairs else b"") + b"\0"


def _long(value: int) -> bytes:
    value, out = (value << 1) ^ (value >> 63), bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _text(value: str) -> bytes:
    return _long(len(value.encode())) + value.encode()


def _container(schema: Any, rows: Iterable[bytes], header: dict[str, str]) -> bytes:
    pairs = {"avro.schema": json.dumps(schema), "avro.codec": "deflate", **header}
    out = [b"Obj\x01", _long(len(pairs)), *(_text(key) + _text(value) for key, value in pairs.items()), b"\0", _SYNC]
    block: list[bytes] = []

    def flush() -> None:
        packer = zlib.compressobj(wbits=-15)
        packed = packer.compress(b"".join(block)) + packer.flush()
        out.extend((_long(len(block)), _long(len(packed)), packed, _SYNC))
        block.clear()

    size = 0
    for row in rows:
        block.append(row)
        size += len(row)
        if size > _BLOCK_BYTES:
            flush()
            size = 0
    if block:
        flush()
    return b"".join(out)
