"""Actions of a Delta log, read from JSON lines.

The few that describe the table become values; file actions stay the parsed dictionaries of one commit until
`file_columns` turns those that survived into Arrow columns. Checkpoints never come this way (`checkpoint` reads them as
columns).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from metaindex.core import UnsupportedFeatureError
from metaindex.formats.columns import constant, rows_array, strings, text_map, values_of
from metaindex.formats.damage import as_damage

from .action_fields import (
    check_add,
    check_remove,
    object_of,
    partition_texts_of,
    statistics_of,
    text_of,
    text_values,
    texts,
)
from .paths import decoded

FileAction = Mapping[str, Any]
FileKey = tuple[str, str | None]
"""What makes two file actions speak of the same thing: (decoded path, deletion vector id)."""

LIVE_SCHEMA = pa.schema(
    [
        pa.field("path", pa.string(), nullable=False),
        pa.field("size_bytes", pa.int64(), nullable=False),
        pa.field("modified_ms", pa.int64()),
        pa.field("record_count", pa.int64()),
        pa.field("partition_values", pa.map_(pa.string(), pa.string())),
        pa.field("deletes", pa.string()),
        pa.field("deleted_count", pa.int64()),
        pa.field("delta_dv_storage", pa.string()),
        pa.field("delta_dv_path", pa.string()),
        pa.field("delta_dv_offset", pa.int32()),
        pa.field("delta_dv_size", pa.int32()),
        pa.field("delta_base_row_id", pa.int64()),
        pa.field("delta_row_commit_version", pa.int64()),
        pa.field("delta_part", pa.int32(), nullable=False),  # which checkpoint file holds the statistics; -1: `loose`
        pa.field("delta_row", pa.int64(), nullable=False),  # at which of its rows
    ]
)

OF_ADD = {
    "size_bytes": "size",
    "modified_ms": "modificationTime",
    "delta_base_row_id": "baseRowId",
    "delta_row_commit_version": "defaultRowCommitVersion",
}
OF_VECTOR = {
    "deleted_count": "cardinality",
    "delta_dv_storage": "storageType",
    "delta_dv_path": "pathOrInlineDv",
    "delta_dv_offset": "offset",
    "delta_dv_size": "sizeInBytes",
}
"""The columns that are fields of an add, or of its deletion vector, as they stand."""


def live_table(columns: Mapping[str, pa.Array]) -> pa.Table:
    """LIVE_SCHEMA of columns by their names."""
    return pa.Table.from_arrays([columns[name] for name in LIVE_SCHEMA.names], schema=LIVE_SCHEMA)


def no_files() -> pa.Table:
    """LIVE_SCHEMA without rows."""
    return live_table({field.name: pa.nulls(0, field.type) for field in LIVE_SCHEMA})


_SUPPORTED_READER_FEATURES = frozenset(
    {
        "columnMapping",
        "deletionVectors",
        "timestampNtz",
        "typeWidening",
        "typeWidening-preview",
        "v2Checkpoint",
        "vacuumProtocolCheck",
        "variantType",
        "variantType-preview",
        "variantShredding",
        "variantShredding-preview",
        "geospatial",
    }
)
_CATALOG_MANAGED = frozenset({"catalogManaged", "catalogOwned", "catalogOwned-preview"})


@dataclass(frozen=True, slots=True)
class Protocol:
    """Features that a reader must support to read the table."""

    min_reader_version: int
    reader_features: tuple[str, ...] = ()

    @classmethod
    def of(cls, action: Mapping[str, Any]) -> Protocol:
        version = action.get("minReaderVersion")
        if type(version) is not int:
            raise ValueError("a protocol action has a minReaderVersion; this one has none")
        return cls(version, texts(action, "readerFeatures"))

    def check(self, table: str) -> None:
        """Refuses, by name, what would be half read."""
        if self.min_reader_version > 3:
            raise UnsupportedFeatureError(
                f"reader versions 1 to 3 of Delta are supported; {table} needs {self.min_reader_version}; update"
                " metaindex"
            )
        if self.min_reader_version < 3:
            return
        features = set(self.reader_features)
        if catalog_features := features & _CATALOG_MANAGED:
            raise UnsupportedFeatureError(
                f"{table} is catalog-managed (feature {sorted(catalog_features)[0]}): its catalog, not the folder,"
                " knows the newest commits, so reading it by path could miss some; read it through its catalog"
            )
        if unknown := features - _SUPPORTED_READER_FEATURES:
            raise UnsupportedFeatureError(
                f"{table} needs Delta reader features that are not supported: {', '.join(sorted(unknown))}"
            )


@dataclass(frozen=True, slots=True)
class Metadata:
    """The table's metadata action."""

    id: str
    schema_string: str
    partition_columns: tuple[str, ...]
    configuration: Mapping[str, str]
    provider: str = "parquet"
    name: str = ""

    @classmethod
    def of(cls, action: Mapping[str, Any]) -> Metadata:
        schema = action.get("schemaString")
        if not isinstance(schema, str):
            raise ValueError("a metaData action has a schemaString; this one has none")
        return cls(
            text_of(action, "id"),
            schema,
            texts(action, "partitionColumns"),
            text_values(action, "configuration"),
            text_of(object_of(action, "format"), "provider") or "parquet",
            text_of(action, "name"),
        )

    def check(self, table: str) -> None:
        if self.provider != "parquet":
            raise UnsupportedFeatureError(f"Delta data files are Parquet; {table} says {self.provider!r}")


@dataclass(slots=True)
class Commit:
    """Actions of one commit (or of the JSON top level of a checkpoint), in the order of its lines."""

    files: list[tuple[bool, FileKey, FileAction]] = field(default_factory=list)  # True: add
    protocol: Protocol | None = None
    metadata: Metadata | None = None
    in_commit_timestamp_ms: int | None = None
    sidecars: list[str] = field(default_factory=list)


def parse_commit(data: bytes, where: str) -> Commit:
    """A commit from its bytes; CorruptTableError names the file and the line. `where` names table, version and file."""
    out, number = Commit(), 0
    with as_damage(lambda: f"{where}, line {number} is no Delta action: ", "; the log is damaged"):
        for number, line in enumerate(data.split(b"\n"), 1):  # noqa: B007 - told where a line is damaged
            if line.strip():
                _take(out, json.loads(line))
    return out


def _take(out: Commit, action: Any) -> None:
    if not isinstance(action, dict):
        raise ValueError("an action is a JSON object")
    for kind, body in action.items():
        if body is None:
            continue
        match kind:
            case "add":
                check_add(body)
                partition_texts_of(body)
                out.files.append((True, _key(body), body))
            case "remove":
                check_remove(body)
                out.files.append((False, _key(body), body))
            case "metaData":
                out.metadata = Metadata.of(body)
            case "protocol":
                out.protocol = Protocol.of(body)
            case "commitInfo":
                stamp = body.get("inCommitTimestamp")
                out.in_commit_timestamp_ms = stamp if type(stamp) is int and abs(stamp) < 2**63 else None
            case "sidecar":
                out.sidecars.append(text_of(body, "path"))
            case _:
                pass  # txn, domainMetadata, cdc, checkpointMetadata: nothing about live files


def _key(body: FileAction) -> FileKey:
    path = decoded(body["path"])
    path.encode()  # half a surrogate pair, escaped, is no path
    return path, dv_id(body.get("deletionVector"))


def dv_id(dv: Mapping[str, Any] | None) -> str | None:
    """The unique id of a deletion vector, as the protocol derives it."""
    if not dv:
        return None
    offset = dv.get("offset")
    return f"{dv['storageType']}{dv['pathOrInlineDv']}" + ("" if offset is None else f"@{offset}")


def file_columns(adds: Sequence[tuple[FileKey, FileAction]], first_loose: int = 0) -> tuple[pa.Table, list[str | None]]:
    """Add actions as rows of LIVE_SCHEMA, and their statistics, which row `delta_row` of the loose ones finds."""
    from .stats_json import numbers_of_records

    bodies = [body for _, body in adds]
    dvs = [body.get("deletionVector") or {} for body in bodies]
    stats = [statistics_of(body) for body in bodies]
    count = len(bodies)
    columns = {
        "path": strings([key[0] for key, _ in adds]),
        "record_count": numbers_of_records(strings(stats)),
        "partition_values": text_map([partition_texts_of(body) for body in bodies]),
        "deletes": strings([key[1] for key, _ in adds]),
        "delta_part": constant(-1, count, pa.int32()),
        "delta_row": rows_array(np.arange(first_loose, first_loose + count)),
    }
    for fields, objects in ((OF_ADD, bodies), (OF_VECTOR, dvs)):
        for name, said in fields.items():
            columns[name] = values_of([of.get(said) for of in objects], LIVE_SCHEMA.field(name).type)
    return live_table(columns), stats
