"""Version records as JSON, and the objects beside the log that hold what an entry would grow by: segments of older
records, and large bitmaps.

    _versions/<run>-segment.json   {"format_version": 3, "schemas": [...], "versions": [record, ...]}
    _versions/<run>-<name>.json    {"format_version": 3, "removed": {...}, "restored": {...}, "with_deletes": {...},
                                   "without_deletes": {...}}

Both are written once, before the entry that names them, and are checked by the digest in it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from metaindex.core import DamagedIndexError, dataclass
from metaindex.formats import Schema, Version

from .entry import FORMAT_VERSION, ObjectRef, VersionRecord
from .fields import Fields
from .schema_codec import schema_from_json, schema_to_json
from .sealed import MAX_BYTES, digest, from_text, one_line, to_text

_T = TypeVar("_T")
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

    def read(value: Fields) -> Segment:
        segment = Segment(
            tuple(record_from_json(r) for r in value.each("versions")),
            tuple(schema_from_json(s) for s in value.many("schemas")),
        )
        if any(record.schema >= len(segment.schemas) for record in segment.versions):
            raise ValueError("one of 'versions': it names a schema that is not there")
        return segment

    return _checked(data, ref, read)


def encode_bits(record: VersionRecord) -> bytes:
    """The bitmaps of a record as an object of their own."""
    return _bytes({name: dict(getattr(record, name)) for name in BITS})


def decode_bits(data: bytes, ref: ObjectRef) -> Mapping[str, Mapping[str, str]]:
    """The four mappings by name. DamagedIndexError where it is not what the record names."""
    return _checked(data, ref, lambda value: {name: value.texts_by_name(name) for name in BITS})


def object_ref(path: str, data: bytes) -> ObjectRef:
    """Return an entry's reference to an object of these bytes."""
    return ObjectRef(path, len(data), digest(data))


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


def record_from_json(v: Fields) -> VersionRecord:
    parent = v.value("parent")
    record = VersionRecord(
        version=version_from_json(v.value("version")),
        timestamp_ms=v.whole("timestamp_ms"),
        schema=v.count("schema"),
        parent=None if parent is None else version_from_json(parent),
        added=v.texts("added"),
        files=v.count("files"),
        size_bytes=v.count("size_bytes"),
        unknown=v.count("unknown") if v.has("unknown") else 0,
        partition_columns=v.texts("partition_columns") if v.has("partition_columns") else (),
        bits=object_from_json(v.value("bits")) if v.has("bits") else None,
        **{name: v.texts_by_name(name) if v.has(name) else {} for name in BITS},
    )
    v.done()
    return record


def version_to_json(v: Version) -> dict[str, Any]:
    out: dict[str, Any] = {"table_uuid": v.table_uuid, "id": v.id, "fingerprint": v.fingerprint}
    return out if v.schema_id is None else out | {"schema_id": v.schema_id}


def version_from_json(value: object) -> Version:
    v = Fields(value, "a version")
    version = Version(
        v.text("table_uuid"), v.text("id"), v.text("fingerprint"), v.whole("schema_id") if v.has("schema_id") else None
    )
    v.done()
    return version


def object_to_json(o: ObjectRef) -> dict[str, Any]:
    return {"path": o.path, "size_bytes": o.size_bytes, "digest": o.digest}


def object_from_json(value: object) -> ObjectRef:
    v = Fields(value, "an object")
    ref = ObjectRef(v.text("path"), v.count("size_bytes", MAX_BYTES), v.text("digest"))
    v.done()
    return ref


def _bytes(value: dict[str, Any]) -> bytes:
    return to_text({"format_version": FORMAT_VERSION, **value})


def _checked(data: bytes, ref: ObjectRef, read: Callable[[Fields], _T]) -> _T:
    if len(data) != ref.size_bytes or digest(data) != ref.digest:
        raise DamagedIndexError(
            f"an object that an entry names matches its digest; {ref.path} does not; refresh the index with mode='full'"
        )
    try:
        value = Fields(from_text(data), "the object")
        written = value.whole("format_version")
        if written == FORMAT_VERSION:
            decoded = read(value)
            value.done()
            return decoded
    except Exception as error:
        raise DamagedIndexError(
            f"an object that an entry names has the fields of format {FORMAT_VERSION}; {ref.path} has not"
            f" ({one_line(error)}); refresh the index with mode='full'"
        ) from error
    raise DamagedIndexError(
        f"this metaindex reads index format {FORMAT_VERSION}; {ref.path} has format {written}; upgrade metaindex, or"
        " refresh the index with mode='full'"
    )
