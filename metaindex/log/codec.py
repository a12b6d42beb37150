"""Entries as JSON bytes, and back.

`{"digest": "<xxh3_128 of the text behind it>", "entry": {...}}`: the digest guards every byte of the entry. docs/storage.md describes the fields.
A newer format version is refused; an unknown field of this version is refused too, because ignoring it could lie.
"""

from __future__ import annotations

import json
from typing import Any

import xxhash

from formats.model import Version
from metaindex.errors import DamagedIndexError

from .entry import (
    FORMAT_VERSION,
    Content,
    CoveredColumn,
    IndexLogEntry,
    KindSpec,
    RunRef,
    TableInfo,
    UnderWay,
    VersionRecord,
)
from .schema_codec import schema_from_json, schema_to_json
from .states import Operation, State

_HEAD = b'{"digest": "'
_MIDDLE = b'", "entry": '


def encode(entry: IndexLogEntry) -> bytes:
    """The bytes of an entry's object."""
    text = json.dumps(_to_json(entry), indent=1, ensure_ascii=False).encode("utf-8", "surrogatepass")
    return b"".join((_HEAD, xxhash.xxh3_128_hexdigest(text).encode(), _MIDDLE, text, b"}\n"))


def decode(data: bytes, where: str) -> IndexLogEntry:
    """The entry in an object's bytes. DamagedIndexError where the digest is off or the format is not ours to read."""
    start = len(_HEAD) + 32 + len(_MIDDLE)
    if not data.startswith(_HEAD) or data[len(_HEAD) + 32 : start] != _MIDDLE or not data.endswith(b"}\n"):
        raise DamagedIndexError(
            f"a log entry starts with its digest; {where} does not; restore it from a copy or recreate the index"
        )
    text = data[start:-2]
    if xxhash.xxh3_128_hexdigest(text).encode() != data[len(_HEAD) : len(_HEAD) + 32]:
        raise DamagedIndexError(
            f"a log entry matches its digest; {where} does not; restore it from a copy or recreate the index"
        )
    try:
        value = json.loads(text)
        newest = value["format_version"]
        if newest <= FORMAT_VERSION:
            return _from_json(value)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise DamagedIndexError(
            f"a log entry has the fields of format {FORMAT_VERSION}; {where} has not ({error}); recreate the index"
        ) from error
    raise DamagedIndexError(
        f"this metaindex reads index format {FORMAT_VERSION}; {where} has format {newest}; upgrade metaindex to use the index"
    )


def _to_json(e: IndexLogEntry) -> dict[str, Any]:
    return {
        "format_version": FORMAT_VERSION,
        "id": e.id,
        "name": e.name,
        "index_uuid": e.index_uuid,
        "nonce": e.nonce,
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
            "runs": [_run_to_json(r) for r in e.content.runs],
            "versions": [_record_to_json(r) for r in e.content.versions],
            "schemas": [schema_to_json(s) for s in e.content.schemas],
        },
        "properties": dict(e.properties),
    }


def _from_json(v: dict[str, Any]) -> IndexLogEntry:
    source, content = v["source"], v["content"]
    return IndexLogEntry(
        id=v["id"],
        name=v["name"],
        index_uuid=v["index_uuid"],
        nonce=v["nonce"],
        stable=State(v["stable_state"]),
        table=TableInfo(source["path"], source["format"], source["table_uuid"], source["options"]),
        kinds=tuple(KindSpec(k["name"], k["version"], k["properties"]) for k in v["kinds"]),
        content=Content(
            tuple(_run_from_json(r) for r in content["runs"]),
            tuple(_record_from_json(r) for r in content["versions"]),
            tuple(schema_from_json(s) for s in content["schemas"]),
        ),
        under_way=tuple(
            UnderWay(Operation(u["operation"]), u["began"], u["nonce"], u["who"], u["since_ms"], tuple(u["runs"]))
            for u in v["under_way"]
        ),
        enabled=v["enabled"],
        timestamp_ms=v["timestamp_ms"],
        written_by=v["written_by"],
        properties=v["properties"],
    )


def _run_to_json(r: RunRef) -> dict[str, Any]:
    return {
        "run": r.run,
        "files": r.files,
        "partitions": r.partitions,
        "size_bytes": r.size_bytes,
        "manifest_bytes": r.manifest_bytes,
        "manifest_digest": r.manifest_digest,
        "files_digest": r.files_digest,
        "created_ms": r.created_ms,
        "builder": r.builder,
        "uncovered_files": r.uncovered_files,
        "columns": [
            {
                "stable": c.stable,
                "column_id": str(c.column_id),
                "name": c.name,
                "type": c.type_text,
                "partition": c.partition,
            }
            for c in r.columns
        ],
    }


def _run_from_json(v: dict[str, Any]) -> RunRef:
    return RunRef(
        run=v["run"],
        files=v["files"],
        partitions=v["partitions"],
        size_bytes=v["size_bytes"],
        manifest_bytes=v["manifest_bytes"],
        manifest_digest=v["manifest_digest"],
        files_digest=v["files_digest"],
        columns=tuple(
            CoveredColumn(c["stable"], int(c["column_id"]), c["name"], c["type"], c["partition"]) for c in v["columns"]
        ),
        created_ms=v["created_ms"],
        builder=v["builder"],
        uncovered_files=v["uncovered_files"],
    )


def _record_to_json(r: VersionRecord) -> dict[str, Any]:
    return {
        "version": _version_to_json(r.version),
        "timestamp_ms": r.timestamp_ms,
        "schema": r.schema,
        "parent": _version_to_json(r.parent) if r.parent else None,
        "added": list(r.added),
        "removed": dict(r.removed),
        "restored": dict(r.restored),
        "with_deletes": dict(r.with_deletes),
        "files": r.files,
        "size_bytes": r.size_bytes,
    }


def _record_from_json(v: dict[str, Any]) -> VersionRecord:
    return VersionRecord(
        version=_version_from_json(v["version"]),
        timestamp_ms=v["timestamp_ms"],
        schema=v["schema"],
        parent=_version_from_json(v["parent"]) if v["parent"] else None,
        added=tuple(v["added"]),
        removed=v["removed"],
        restored=v["restored"],
        with_deletes=v["with_deletes"],
        files=v["files"],
        size_bytes=v["size_bytes"],
    )


def _version_to_json(v: Version) -> dict[str, str]:
    return {"table_uuid": v.table_uuid, "id": v.id, "fingerprint": v.fingerprint}


def _version_from_json(v: dict[str, str]) -> Version:
    return Version(v["table_uuid"], v["id"], v["fingerprint"])
