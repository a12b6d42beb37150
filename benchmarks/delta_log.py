"""Logs of Delta tables, written by hand: what a checkpoint has of protocol, metadata and files, and commits."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa

PROTOCOL = {"minReaderVersion": 1, "minWriterVersion": 2}
_STRINGS = pa.map_(pa.string(), pa.string())
_PROTOCOL_TYPE = pa.struct([("minReaderVersion", pa.int32()), ("minWriterVersion", pa.int32())])
_METADATA_TYPE = pa.struct(
    [
        ("id", pa.string()),
        ("format", pa.struct([("provider", pa.string()), ("options", _STRINGS)])),
        ("schemaString", pa.string()),
        ("partitionColumns", pa.list_(pa.string())),
        ("configuration", _STRINGS),
        ("createdTime", pa.int64()),
    ]
)
ADD = pa.struct(
    [
        ("path", pa.string()),
        ("partitionValues", _STRINGS),
        ("size", pa.int64()),
        ("modificationTime", pa.int64()),
        ("dataChange", pa.bool_()),
        ("stats", pa.string()),
    ]
)
CHECKPOINT = pa.schema([("protocol", _PROTOCOL_TYPE), ("metaData", _METADATA_TYPE), ("add", ADD)])


def write_commit(log: Path, version: int, actions: Sequence[Mapping[str, object]]) -> None:
    """A version of the log, an action a line."""
    lines = [json.dumps(action, separators=(",", ":")) + "\n" for action in actions]
    (log / f"{version:020d}.json").write_text("".join(lines))


def head(metadata: Mapping[str, object]) -> pa.Table:
    """The first rows of a checkpoint: protocol and metadata (as the commit has it)."""
    shown = {**metadata, "format": {"provider": "parquet", "options": []}, "configuration": []}
    rows = [
        {"protocol": PROTOCOL, "metaData": None, "add": None},
        {"protocol": None, "metaData": shown, "add": None},
    ]
    return pa.Table.from_pylist(rows, CHECKPOINT)


def of_adds(adds: pa.Array) -> pa.Table:
    """Rows of a checkpoint that are files."""
    nothing = [pa.nulls(len(adds), field.type) for field in list(CHECKPOINT)[:2]]
    return pa.Table.from_arrays([*nothing, adds], schema=CHECKPOINT)
