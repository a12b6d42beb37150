"""The log of an exported Delta table: one commit for each export, which names its parts and takes out those of the one
before."""

from __future__ import annotations

import json
import re
import time
import uuid
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from metaindex.expressions.errors import ArgumentError, MetaIndexError, ObjectExistsError
from metaindex.formats.storage import Storage
from metaindex.formats.written import WRITER, Part, in_the_way
from metaindex.formats.written import Commits as Commits

_TYPES = {pa.string(): "string", pa.int64(): "long", pa.bool_(): "boolean"}
_COMMIT = re.compile(r"(?:^|/)(\d{20})\.json$", re.ASCII)


class DeltaTables:
    """Tables of version 1 to 2 of the protocol, without partitions."""

    DATA = ""

    def check(self, target: Storage, name: str, overwrite: bool) -> None:
        newest = _newest(target, name)
        if newest is None:
            return
        ours = _is_ours(target, name, newest)
        if not (ours and overwrite):
            raise in_the_way(target, name, ours)

    def commit(self, target: Storage, name: str, schema: pa.Schema, parts: Sequence[Part]) -> None:
        newest, now = _newest(target, name), time.time_ns() // 10**6
        before = [] if newest is None else _actions(target, name, newest)
        table_id = next((a["metaData"]["id"] for a in before if "metaData" in a), str(uuid.uuid4()))
        operation = "CREATE TABLE AS SELECT" if newest is None else "WRITE"
        actions: list[dict[str, Any]] = [
            {
                "commitInfo": {
                    "timestamp": now,
                    "operation": operation,
                    "operationParameters": {"mode": "Overwrite"},
                    "engineInfo": WRITER,
                }
            },
            {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}},
            {"metaData": _metadata(schema, table_id, now)},
            *(
                {"remove": {"path": a["add"]["path"], "deletionTimestamp": now, "dataChange": True}}
                for a in before
                if "add" in a
            ),
            *({"add": _add(name, part, now)} for part in parts),
        ]
        log = "".join(json.dumps(action) + "\n" for action in actions).encode()
        try:
            target.put_if_absent(_path(name, 0 if newest is None else newest + 1), log)
        except ObjectExistsError as error:
            raise ArgumentError(
                f"an export is a new version of its table; {target.uri(name)} has another one by now; export again"
            ) from error


def _newest(target: Storage, name: str) -> int | None:
    versions = [int(m[1]) for info in target.list(f"{name}/_delta_log") if (m := _COMMIT.search(info.path))]
    return max(versions, default=None)


def _actions(target: Storage, name: str, version: int) -> list[dict[str, Any]]:
    return [json.loads(line) for line in target.read(_path(name, version)).splitlines() if line.strip()]


def _is_ours(target: Storage, name: str, newest: int) -> bool:
    """Every commit of an export names all of the table; one by somebody else, on top of it, does not."""
    try:
        actions = _actions(target, name, newest)
        return any(a.get("commitInfo", {}).get("engineInfo") == WRITER for a in actions) and any(
            "metaData" in a for a in actions
        )
    except (ValueError, AttributeError, TypeError, MetaIndexError):
        return False


def _path(name: str, version: int) -> str:
    return f"{name}/_delta_log/{version:020d}.json"


def _metadata(schema: pa.Schema, table_id: str, now: int) -> dict[str, Any]:
    fields = [{"name": f.name, "type": _TYPES[f.type], "nullable": True, "metadata": {}} for f in schema]
    return {
        "id": table_id,
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps({"type": "struct", "fields": fields}),
        "partitionColumns": [],
        "configuration": {},
        "createdTime": now,
    }


def _add(name: str, part: Part, now: int) -> dict[str, Any]:
    return {
        "path": part.path.removeprefix(f"{name}/"),
        "partitionValues": {},
        "size": part.size_bytes,
        "modificationTime": now,
        "dataChange": True,
        "stats": json.dumps({"numRecords": part.rows}),
    }
