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

from metaindex.core import Cure, DamagedIndexError, dataclass
from metaindex.formats import Schema, Version

from .entry import FORMAT_VERSION, ObjectRef, VersionRecord
from .fields import COUNT, TEXT, TEXTS, TEXTS_BY_NAME, WHOLE, Fields, Form, Member
from .schema_codec import schema_from_json, schema_to_json
from .sealed import MAX_BYTES, digest, from_text, one_line, to_text

_T = TypeVar("_T")
BITS = ("removed", "restored", "with_deletes", "without_deletes")

_VERSION = Form(Version, "a version", table_uuid=TEXT, id=TEXT, fingerprint=TEXT, schema_id=WHOLE.unless(None))
OBJECT = Form(
    ObjectRef, "an object", path=TEXT, size_bytes=Member(lambda v, name: v.count(name, MAX_BYTES)), digest=TEXT
)
_PARENT = Member(
    lambda v, name: None if v.is_null(name) else _VERSION.read(v.value(name)),
    lambda parent: None if parent is None else _VERSION.to_json(parent),
)
RECORD = Form(
    VersionRecord,
    "one of 'versions'",
    version=_VERSION.one,
    timestamp_ms=WHOLE,
    schema=COUNT,
    parent=_PARENT,
    added=TEXTS,
    files=COUNT,
    size_bytes=COUNT,
    unknown=COUNT.unless(0),
    partition_columns=TEXTS.unless(()),
    bits=OBJECT.one.unless(None),
    **{name: TEXTS_BY_NAME.unless({}) for name in BITS},
)


@dataclass(frozen=True, slots=True)
class Segment:
    """Records that were moved out of an entry, with the schemas that they name."""

    versions: tuple[VersionRecord, ...]
    schemas: tuple[Schema, ...]


def encode_segment(records: Sequence[VersionRecord], schemas: Sequence[Schema]) -> bytes:
    """The bytes of a segment; `records` name `schemas` by position."""
    return _bytes({"schemas": [schema_to_json(s) for s in schemas], "versions": [RECORD.to_json(r) for r in records]})


def decode_segment(data: bytes, ref: ObjectRef) -> Segment:
    """DamagedIndexError where it is not what the entry names."""

    def read(value: Fields) -> Segment:
        segment = Segment(
            RECORD.each.read(value, "versions"),
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


def _bytes(value: dict[str, Any]) -> bytes:
    return to_text({"format_version": FORMAT_VERSION, **value})


def _checked(data: bytes, ref: ObjectRef, read: Callable[[Fields], _T]) -> _T:
    if len(data) != ref.size_bytes or digest(data) != ref.digest:
        raise DamagedIndexError.for_repair(f"an object that an entry names matches its digest; {ref.path} does not")
    try:
        value = Fields(from_text(data), "the object")
        written = value.whole("format_version")
        if written == FORMAT_VERSION:
            decoded = read(value)
            value.done()
            return decoded
    except Exception as error:
        raise DamagedIndexError.for_repair(
            f"an object that an entry names has the fields of format {FORMAT_VERSION}; {ref.path} has not"
            f" ({one_line(error)})"
        ) from error
    raise DamagedIndexError(
        f"this metaindex reads index format {FORMAT_VERSION}; {ref.path} has format {written}; upgrade metaindex, or"
        f" {Cure('full')}"
    )
