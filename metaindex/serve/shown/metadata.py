"""The metadata of a shown table, as Iceberg's table metadata of format 2: one snapshot a version, and no manifests.

Nobody who plans here opens a manifest list or a metadata file, and none is there.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from metaindex.core import Vector, dataclass
from metaindex.formats import Snapshot, Version
from metaindex.serve.refusal import Refusal
from metaindex.serve.served import NOWHERE, Json

from .columns import Column, Path, columns_of, ids_of, name_mapping
from .partitions import Constants, Specs

_FORMAT = 2
"""One reader takes INT96, which Spark writes into Delta tables, in formats 1 and 2 alone; deletion vectors are read in
format 2 all the same."""


def number_of(version: Version, *, numbered: bool) -> int:
    """Return the snapshot id by which clients know a version: its number and one, as 0 means none to some; of a format
    without numbers a hash."""
    if numbered:
        return int(version.id) + 1
    return int.from_bytes(hashlib.sha256(version.id.encode()).digest()[:8], "big") >> 3 | 1


@dataclass(frozen=True, slots=True)
class Described:
    """A table at its newest version: what LoadTable says. `versions`, `columns`: by snapshot id, the newest last."""

    versions: Mapping[int, Snapshot]
    columns: Mapping[int, tuple[Column, ...]]
    ids: Mapping[Path, int]
    specs: Specs
    metadata: Json

    @classmethod
    def of(
        cls, now: Snapshot, headers: Sequence[Snapshot], number: Callable[[Snapshot], int], time_zone: str
    ) -> Described:
        """`headers`: the newest versions, oldest first, without their files; the last one is that of `now`. Older ones
        whose columns cannot be told by one set of ids, or that are partitioned otherwise, are left out."""
        current = columns_of(now.schema, now.table)
        shown = [(now, current)]
        for header in reversed(headers[:-1]):
            try:
                columns = columns_of(header.schema, header.table)
            except Refusal:
                break
            if _partitioning(columns) != _partitioning(current):
                break
            shown.append((header, columns))
        ids, fitting = ids_of([columns for _, columns in shown])
        shown = shown[:fitting][::-1]
        by_id = {number(each): (each, columns) for each, columns in shown}
        constants = Constants.of(now, current, time_zone)
        specs = Specs.of(constants.columns, constants)
        return cls(
            {of: each for of, (each, _) in by_id.items()},
            {of: columns for of, (_, columns) in by_id.items()},
            ids,
            specs,
            _metadata(now, by_id, ids, specs),
        )


def _partitioning(columns: Sequence[Column]) -> list[tuple[Path, str]]:
    return sorted((column.path, str(column.type)) for column in columns if column.partition)


def _metadata(
    now: Snapshot,
    versions: Mapping[int, tuple[Snapshot, tuple[Column, ...]]],
    ids: Mapping[Path, int],
    specs: Specs,
) -> Json:
    schemas: dict[str, int] = {}
    snapshots: list[Json] = []
    above: Json = {}
    for place, (number, (version, columns)) in enumerate(versions.items()):
        fields = json.dumps([column.field(ids) for column in columns])
        snapshots.append(
            {
                "snapshot-id": number,
                "sequence-number": place + 1,
                "timestamp-ms": version.timestamp_ms,
                "schema-id": schemas.setdefault(fields, len(schemas)),
                "manifest-list": f"{NOWHERE}/manifests-of-{number}.avro",
                "summary": {"operation": "overwrite", **(_totals(now) if place == len(versions) - 1 else {})},
                **above,
            }
        )
        above = {"parent-snapshot-id": number}
    current = snapshots[-1]
    spec_list = specs.json(ids)
    return {
        "format-version": _FORMAT,
        "table-uuid": str(uuid.uuid5(uuid.NAMESPACE_URL, f"{now.table}#{now.table_uuid}")),
        "location": now.table,
        "last-sequence-number": len(snapshots),
        "last-updated-ms": current["timestamp-ms"],
        "last-column-id": max(ids.values(), default=0),
        "schemas": [
            {"type": "struct", "schema-id": number, "fields": json.loads(fields)} for fields, number in schemas.items()
        ],
        "current-schema-id": current["schema-id"],
        "partition-specs": spec_list,
        "default-spec-id": spec_list[0]["spec-id"],
        "last-partition-id": 999 + len(specs.columns),
        "sort-orders": [{"order-id": 0, "fields": []}],
        "default-sort-order-id": 0,
        "snapshots": snapshots,
        "current-snapshot-id": current["snapshot-id"],
        "refs": {"main": {"snapshot-id": current["snapshot-id"], "type": "branch"}},
        "snapshot-log": [{"snapshot-id": s["snapshot-id"], "timestamp-ms": s["timestamp-ms"]} for s in snapshots],
        "metadata-log": [],
        "properties": {"schema.name-mapping.default": name_mapping([columns for _, columns in versions.values()], ids)},
    }


def _totals(now: Snapshot) -> Json:
    """Return what clients estimate sizes by, which answers no query; no rows where the log does not count them all."""
    counts = Vector(now.files.table.column("record_count"))
    said = {"total-data-files": str(len(now.files)), "total-files-size": str(now.files.size_bytes)}
    return {**said, "total-records": str(int(counts.items(np.int64).sum()))} if counts.present.all() else said
