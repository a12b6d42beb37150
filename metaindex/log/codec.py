"""Entries as JSON bytes, and back.

`{"digest": "<xxh3_128 of the text behind it>", "entry": {...}}`: the digest guards every byte of the entry. docs/storage.md describes the fields.
A newer format version is refused; an unknown field of this version is refused too, because ignoring it could lie.
"""

from __future__ import annotations

import json
from typing import Any

import xxhash

from metaindex.errors import DamagedIndexError

from .entry import (
    FORMAT_VERSION,
    Content,
    CoveredColumn,
    CoveredKey,
    IndexLogEntry,
    KindSpec,
    RunRef,
    SegmentRef,
    TableInfo,
    UnderWay,
)
from .record_codec import object_from_json, object_to_json, record_from_json, record_to_json
from .schema_codec import schema_from_json, schema_to_json
from .states import Operation, State

_HEAD = b'{"digest": "'
_MIDDLE = b'", "entry": '


def encode(entry: IndexLogEntry) -> bytes:
    """The bytes of an entry's object."""
    text = json.dumps(_to_json(entry), ensure_ascii=False).encode("utf-8", "surrogatepass")
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
        written = value["format_version"]
        if written == FORMAT_VERSION:
            return _from_json(value)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise DamagedIndexError(
            f"a log entry has the fields of format {FORMAT_VERSION}; {where} has not ({error}); recreate the index"
        ) from error
    cure = "upgrade metaindex" if written > FORMAT_VERSION else "remove the index's folder and create the index anew"
    raise DamagedIndexError(
        f"this metaindex reads index format {FORMAT_VERSION}; {where} has format {written}; {cure} to use the index"
    )


def _to_json(e: IndexLogEntry) -> dict[str, Any]:
    column_sets = list(dict.fromkeys(run.columns for run in e.content.runs))  # runs of one index cover mostly the same
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


def _from_json(v: dict[str, Any]) -> IndexLogEntry:
    source, content = v["source"], v["content"]
    column_sets = [tuple(_column_from_json(c) for c in columns) for columns in content["columns"]]
    return IndexLogEntry(
        id=v["id"],
        name=v["name"],
        index_uuid=v["index_uuid"],
        nonce=v["nonce"],
        stable=State(v["stable_state"]),
        table=TableInfo(source["path"], source["format"], source["table_uuid"], source["options"]),
        kinds=tuple(KindSpec(k["name"], k["version"], k["properties"]) for k in v["kinds"]),
        content=Content(
            tuple(_run_from_json(r, column_sets[r["columns"]]) for r in content["runs"]),
            tuple(record_from_json(r) for r in content["versions"]),
            tuple(schema_from_json(s) for s in content["schemas"]),
            tuple(SegmentRef(object_from_json(s["object"]), s["tags"], tuple(s["runs"])) for s in content["segments"]),
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


def _run_to_json(r: RunRef, columns: int) -> dict[str, Any]:
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
        "columns": columns,  # position in the content's "columns"
        **({"keys": [_key_to_json(k) for k in r.keys]} if r.keys else {}),
    }


def _run_from_json(v: dict[str, Any], columns: tuple[CoveredColumn, ...]) -> RunRef:
    return RunRef(
        run=v["run"],
        files=v["files"],
        partitions=v["partitions"],
        size_bytes=v["size_bytes"],
        manifest_bytes=v["manifest_bytes"],
        manifest_digest=v["manifest_digest"],
        files_digest=v["files_digest"],
        columns=columns,
        created_ms=v["created_ms"],
        builder=v["builder"],
        uncovered_files=v["uncovered_files"],
        keys=tuple(_key_from_json(k) for k in v.get("keys", ())),
    )


def _key_to_json(k: CoveredKey) -> dict[str, Any]:
    return {
        "kind": k.kind,
        "key_id": str(k.key_id),
        "columns": [_column_to_json(c) for c in k.columns],
        "layout": dict(k.layout),
        "unkeyed_files": k.unkeyed_files,
    }


def _key_from_json(v: dict[str, Any]) -> CoveredKey:
    return CoveredKey(
        v["kind"],
        int(v["key_id"]),
        tuple(_column_from_json(c) for c in v["columns"]),
        v["layout"],
        v["unkeyed_files"],
    )


def _column_to_json(c: CoveredColumn) -> dict[str, Any]:
    return {
        "stable": c.stable,
        "column_id": str(c.column_id),
        "name": c.name,
        "type": c.type_text,
        "partition": c.partition,
    }


def _column_from_json(v: dict[str, Any]) -> CoveredColumn:
    return CoveredColumn(v["stable"], int(v["column_id"]), v["name"], v["type"], v["partition"])
