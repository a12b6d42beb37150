"""Entries as JSON bytes, and back: `sealed` has the form of the object, here are its fields. docs/storage describes
them.

A newer format version is refused; so is a field that this version does not know, or one of another type: ignoring it
could lie.
"""

from __future__ import annotations

import json
from typing import Any

from metaindex.core import DamagedIndexError, ForeignIndexError

from .entry import (
    FORMAT_VERSION,
    MAX_NUMBER,
    Content,
    CoveredColumn,
    CoveredKey,
    IndexLogEntry,
    KindSpec,
    RunRef,
    SegmentRef,
    TableInfo,
    UnderWay,
    VersionRecord,
)
from .fields import MAX_FILES, Fields, Repeated
from .record_codec import object_from_json, object_to_json, record_from_json, record_to_json
from .schema_codec import schema_from_json, schema_to_json
from .sealed import CURE, one_line, seal, unseal
from .states import STABLE, Operation, State


def encode(entry: IndexLogEntry, key: bytes | None = None) -> bytes:
    """The bytes of an entry's object."""
    return seal(_to_json(entry), key)


def check_readable(data: bytes, where: str) -> None:
    """Raise DamagedIndexError unless bytes of `encode` are an entry as this format has it, so that no reader gets an
    unreadable one. They were sealed a moment ago, and no field is in them twice: that is not checked again."""
    _entry(json.loads(data[: data.index(b"\n")]), where)


def decode(data: bytes, where: str, key: bytes | None = None) -> IndexLogEntry:
    """The entry in an object's bytes. DamagedIndexError where the digest is off or the entry is not as this format has
    it, whatever is wrong with it; ForeignIndexError where the format or the seal is not ours to read."""
    value = unseal(data, where, key)
    written = value.get("format_version") if isinstance(value, dict) else None
    has = f"this metaindex reads index format {FORMAT_VERSION}; {where} has format {str(written)[:40]}"
    if type(written) is int and written > FORMAT_VERSION:
        raise ForeignIndexError(f"{has}; upgrade metaindex to use the index")
    if type(written) is int and written < FORMAT_VERSION:
        raise DamagedIndexError(f"{has}; remove the index's folder and create the index anew to use the index")
    return _entry(value, where)


def _entry(value: object, where: str) -> IndexLogEntry:
    try:
        return _from_json(value)
    except Exception as error:
        raise DamagedIndexError(
            f"a log entry has the fields of format {FORMAT_VERSION}; {where} has not ({one_line(error)}); {CURE}"
        ) from error


def _to_json(e: IndexLogEntry) -> dict[str, Any]:
    column_sets = list(dict.fromkeys(run.columns for run in e.content.runs))  # runs of one index cover mostly the same
    return {
        "format_version": FORMAT_VERSION,
        "id": e.id,
        "name": e.name,
        "index_uuid": e.index_uuid,
        "nonce": e.nonce,
        "previous": e.previous,
        "state": e.state.value,
        "stable_state": e.stable.value,
        "enabled": e.enabled,
        "timestamp_ms": e.timestamp_ms,
        "written_by": e.written_by,
        "source": {
            "path": e.table.path,
            "format": e.table.format,
            "table_uuid": e.table.table_uuid,
            "options": dict(e.table.options),
        },
        "kinds": [{"name": k.name, "version": k.version, "properties": dict(k.properties)} for k in e.kinds],
        "under_way": [
            {
                "operation": u.operation.value,
                "began": u.began,
                "nonce": u.nonce,
                "who": u.who,
                "since_ms": u.since_ms,
                "runs": list(u.runs),
            }
            for u in e.under_way
        ],
        "content": {
            "columns": [[_column_to_json(c) for c in columns] for columns in column_sets],
            "runs": [_run_to_json(r, column_sets.index(r.columns)) for r in e.content.runs],
            "versions": [record_to_json(r) for r in e.content.versions],
            "schemas": [schema_to_json(s) for s in e.content.schemas],
            "segments": [
                {"object": object_to_json(s.object), "tags": s.tags, "runs": list(s.runs)} for s in e.content.segments
            ],
        },
        "properties": dict(e.properties),
    }


def _from_json(value: object) -> IndexLogEntry:
    v = Fields(value, "the entry")
    v.whole("format_version")
    source, content = v.inside("source"), v.inside("content")
    state = v.text("state")
    entry = IndexLogEntry(
        id=v.whole("id", 1, MAX_NUMBER),
        name=v.text("name"),
        index_uuid=v.text("index_uuid"),
        nonce=v.text("nonce"),
        previous=v.text("previous"),
        stable=State(v.text("stable_state")),
        table=TableInfo(source.text("path"), source.text("format"), source.text("table_uuid"), source.plain("options")),
        kinds=tuple(_kind_from_json(k) for k in v.each("kinds")),
        content=_content_from_json(content),
        under_way=tuple(_mark_from_json(u) for u in v.each("under_way")),
        enabled=v.flag("enabled"),
        timestamp_ms=v.whole("timestamp_ms"),
        written_by=v.text("written_by"),
        properties=v.texts_by_name("properties"),
    )
    for fields in (v, source, content):
        fields.done()
    if entry.stable not in STABLE or entry.state.value != state:
        raise ValueError(f"the entry: its state follows from what is stable and under way, and is not {state[:40]!r}")
    return entry


def _kind_from_json(v: Fields) -> KindSpec:
    kind = KindSpec(v.text("name"), v.count("version"), v.plain("properties"))
    v.done()
    return kind


def _mark_from_json(v: Fields) -> UnderWay:
    mark = UnderWay(
        Operation(v.text("operation")),
        v.whole("began"),
        v.text("nonce"),
        v.text("who"),
        v.whole("since_ms"),
        v.texts("runs"),
    )
    v.done()
    return mark


def _content_from_json(v: Fields) -> Content:
    sets = [_columns(columns) for columns in v.many("columns")]
    content = Content(
        tuple(_run_from_json(r, sets) for r in v.each("runs")),
        tuple(_version(record) for record in v.many("versions")),
        tuple(schema_from_json(s) for s in v.many("schemas")),
        tuple(_segment_from_json(s) for s in v.each("segments")),
    )
    if any(record.schema >= len(content.schemas) for record in content.versions):
        raise ValueError("one of 'versions': it names a schema that is not there")
    return content


def _segment_from_json(v: Fields) -> SegmentRef:
    segment = SegmentRef(object_from_json(v.value("object")), v.text("tags"), v.texts("runs"))
    v.done()
    return segment


def _list(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError("the entry: a set of columns is a JSON array")
    return value


def _run_to_json(r: RunRef, columns: int) -> dict[str, Any]:
    return {
        "run": r.run,
        "files": r.files,
        "partitions": r.partitions,
        "size_bytes": r.size_bytes,
        "manifest_bytes": r.manifest_bytes,
        "manifest_digest": r.manifest_digest,
        "files_digest": r.files_digest,
        "table_uuid": r.table_uuid,
        "created_ms": r.created_ms,
        "builder": r.builder,
        "uncovered_files": r.uncovered_files,
        "columns": columns,  # position in the content's "columns"
        **({"reader_needs": list(r.reader_needs)} if r.reader_needs else {}),
        **({"keys": [_key_to_json(k) for k in r.keys]} if r.keys else {}),
    }


def _run_from_json(v: Fields, sets: list[tuple[CoveredColumn, ...]]) -> RunRef:
    run = RunRef(
        run=v.text("run"),
        files=v.count("files", MAX_FILES),
        partitions=v.count("partitions", MAX_FILES),
        size_bytes=v.count("size_bytes"),
        manifest_bytes=v.count("manifest_bytes"),
        manifest_digest=v.text("manifest_digest"),
        files_digest=v.text("files_digest"),
        columns=sets[v.count("columns", len(sets) - 1)],
        created_ms=v.whole("created_ms"),
        builder=v.text("builder"),
        uncovered_files=v.count("uncovered_files"),
        keys=tuple(_key_from_json(k) for k in (v.many("keys") if v.has("keys") else ())),
        table_uuid=v.text("table_uuid"),
        reader_needs=v.texts("reader_needs") if v.has("reader_needs") else (),
    )
    v.done()
    return run


def _key_to_json(k: CoveredKey) -> dict[str, Any]:
    return {
        "kind": k.kind,
        "key_id": str(k.key_id),
        "columns": [_column_to_json(c) for c in k.columns],
        "layout": dict(k.layout),
        "unkeyed_files": k.unkeyed_files,
    }


def _key_from_json(value: object) -> CoveredKey:
    v = Fields(value, "a key")
    key = CoveredKey(
        v.text("kind"),
        v.id("key_id"),
        tuple(_column_from_json(c) for c in v.each("columns")),
        v.plain("layout"),
        v.count("unkeyed_files"),
    )
    v.done()
    if not key.columns or len({column.stable for column in key.columns}) < len(key.columns):
        raise ValueError("a key: 'columns' names at least one column, and each once")
    if not all(type(setting) in (int, str) for setting in key.layout.values()):
        raise ValueError("a key: 'layout' has plain numbers and texts")
    return key


def _column_to_json(c: CoveredColumn) -> dict[str, Any]:
    return {
        "stable": c.stable,
        "column_id": str(c.column_id),
        "name": c.name,
        "type": c.type_text,
        "partition": c.partition,
    }


def _column_from_json(v: Fields) -> CoveredColumn:
    column = CoveredColumn(v.text("stable"), v.id("column_id"), v.text("name"), v.text("type"), v.flag("partition"))
    v.done()
    return column


def _columns_from_json(value: object) -> tuple[CoveredColumn, ...]:
    return tuple(_column_from_json(Fields(column, "a column")) for column in _list(value))


_columns = Repeated(_columns_from_json)


def _version_from_json(value: object) -> VersionRecord:
    return record_from_json(Fields(value, "one of 'versions'"))


_version = Repeated(_version_from_json, held=256, longest=4096)
