"""Version records as JSON, and the objects beside the log that hold what an entry would grow by: segments of older records, and large bitmaps.

    _versions/<run>-segment.json   {"format_version": 2, "schemas": [...], "versions": [record, ...]}
    _versions/<run>-<name>.json    {"format_version": 2, "removed": {...}, "restored": {...}, "with_deletes": {...}, "without_deletes": {...}}

Both are written once, before the entry that names them, and are checked by the digest in it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import xxhash

from expressions.records import dataclass
from formats.model import Schema, Version
from metaindex.errors import DamagedIndexError

from .entry import FORMAT_VERSION, ObjectRef, VersionRecord
from .schema_codec import schema_from_json, schema_to_json

BITS = ("removed", "restored", "with_deletes", "without_deletes")


@dataclass(frozen=True, slots=True)
class Segment:
    """Records that were moved out of an entry, with the schemas that they name."""

    versions: tuple[VersionRecord, ...]
    schemas: tuple[Schema, ...]


def encode_segment(records: Sequence[VersionRecord], schemas: Sequence[Schema]) -> bytes:
    """The bytes of a segment; `records` name `schemas` by position."""
    return _bytes({"schemas": [schema_to_json(s) for s in schemas], "versions": [record_to_json(r) for r in records]})


def decode_segment(data: bytes, ref: ObjectRef) -> Segment:
    """DamagedIndexError where it is not what the entry names."""
    value = _checked(data, ref)
    return Segment(
        tuple(record_from_json(r) for r in value["versions"]), tuple(schema_from_json(s) for s in value["schemas"])
    )


def encode_bits(record: VersionRecord) -> bytes:
    """The bitmaps of a record as an object of their own."""
    return _bytes({name: dict(getattr(record, name)) for name in BITS})


def decode_bits(data: bytes, ref: ObjectRef) -> Mapping[str, Mapping[str, str]]:
    """The four mappings by name. DamagedIndexError where it is not what the record names."""
    value = _checked(data, ref)
    return {name: value[name] for name in BITS}


def object_ref(path: str, data: bytes) -> ObjectRef:
    """How an entry names an object of these bytes."""
    return ObjectRef(path, len(data), xxhash.xxh3_128_hexdigest(data))


def record_to_json(r: VersionRecord) -> dict[str, Any]:
    out: dict[str, Any] = {
        "version": version_to_json(r.version),
        "timestamp_ms": r.timestamp_ms,
        "schema": r.schema,
        "parent": version_to_json(r.parent) if r.parent else None,
        "added": list(r.added),
        "files": r.files,
        "size_bytes": r.size_bytes,
    }
    if r.unknown:
        out["unknown"] = r.unknown
    if r.partition_columns:
        out["partition_columns"] = list(r.partition_columns)
    if r.bits is not None:
        out["bits"] = object_to_json(r.bits)
    return out | {name: dict(getattr(r, name)) for name in BITS if getattr(r, name)}


def record_from_json(v: dict[str, Any]) -> VersionRecord:
    return VersionRecord(
        version=version_from_json(v["version"]),
        timestamp_ms=v["timestamp_ms"],
        schema=v["schema"],
        parent=version_from_json(v["parent"]) if v["parent"] else None,
        added=tuple(v["added"]),
        files=v["files"],
        size_bytes=v["size_bytes"],
        unknown=v.get("unknown", 0),
        partition_columns=tuple(v.get("partition_columns", ())),
        bits=object_from_json(v["bits"]) if "bits" in v else None,
        **{name: v.get(name, {}) for name in BITS},
    )


def version_to_json(v: Version) -> dict[str, str]:
    return {"table_uuid": v.table_uuid, "id": v.id, "fingerprint": v.fingerprint}


def version_from_json(v: dict[str, str]) -> Version:
    return Version(v["table_uuid"], v["id"], v["fingerprint"])


def object_to_json(o: ObjectRef) -> dict[str, Any]:
    return {"path": o.path, "size_bytes": o.size_bytes, "digest": o.digest}


def object_from_json(v: dict[str, Any]) -> ObjectRef:
    return ObjectRef(v["path"], v["size_bytes"], v["digest"])


def _bytes(value: dict[str, Any]) -> bytes:
    return json.dumps({"format_version": FORMAT_VERSION, **value}, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _checked(data: bytes, ref: ObjectRef) -> dict[str, Any]:
    if len(data) != ref.size_bytes or xxhash.xxh3_128_hexdigest(data) != ref.digest:
        raise DamagedIndexError(
            f"an object that an entry names matches its digest; {ref.path} does not; refresh the index with mode='full'"
        )
    value: dict[str, Any] = json.loads(data)
    if value["format_version"] > FORMAT_VERSION:
        raise DamagedIndexError(
            f"this metaindex reads index format {FORMAT_VERSION}; {ref.path} has format {value['format_version']}; upgrade metaindex"
        )
    return value
