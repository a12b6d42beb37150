"""The metadata file: schemas, partition specs, snapshots and refs, parsed from its JSON by ourselves (importing
pyiceberg costs most of a second, and it refuses what it does not know). Only what a reader of snapshots needs is taken;
anything else in the file may be newer than us and is left alone.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from metaindex.core import CorruptTableError, UnsupportedFeatureError, VersionNotFoundError, moment
from metaindex.formats.damage import as_damage, must_exist, parse_json
from metaindex.formats.format import At
from metaindex.formats.unpacked import deflated, zstandard
from metaindex.storage import Storage

NEWEST_FORMAT = 3
NO_SNAPSHOT = "none"  # the version id of a table that has no snapshot yet


@dataclass(frozen=True, slots=True)
class PartitionField:
    name: str
    field_id: int
    source_id: int | None  # None: made from several columns
    transform: str


@dataclass(frozen=True, slots=True)
class PartitionSpec:
    id: int
    fields: tuple[PartitionField, ...]

    @property
    def unpartitioned(self) -> bool:
        """No field that tells files apart: V1 keeps dropped fields as `void`."""
        return all(f.transform == "void" for f in self.fields)


@dataclass(frozen=True, slots=True)
class SnapshotInfo:
    """A snapshot as the metadata file lists it. Very old V1 snapshots name their manifests themselves instead of a
    manifest list."""

    id: int
    parent_id: int | None
    sequence_number: int
    timestamp_ms: int
    manifest_list: str | None
    manifests: tuple[str, ...] = ()
    schema_id: int | None = None
    operation: str = ""
    key_id: str | None = None


@dataclass(frozen=True, slots=True)
class TableMetadata:
    """Content of one metadata file."""

    file: str
    table_uuid: str
    location: str
    current_schema_id: int
    schemas: Mapping[int, Mapping[str, Any]]
    specs: Mapping[int, PartitionSpec]
    snapshots: Mapping[int, SnapshotInfo]
    current_snapshot_id: int | None
    branches: Mapping[str, int]
    tags: Mapping[str, int]
    log: Sequence[tuple[int, int]]  # (timestamp_ms, snapshot id): what main was, when
    last_updated_ms: int
    properties: Mapping[str, str] = field(default_factory=dict)
    sha256: bytes = b""

    def ancestors(self, snapshot_id: int) -> Iterator[SnapshotInfo]:
        """The snapshot and its parents as far as they are still listed."""
        seen: set[int] = set()
        at: int | None = snapshot_id
        while at is not None and at in self.snapshots:
            if at in seen:
                raise CorruptTableError(
                    f"snapshots must have no cycle of parents; {self.location} version {snapshot_id} has one at {at} in"
                    f" {self.file}"
                )
            seen.add(at)
            yield self.snapshots[at]
            at = self.snapshots[at].parent_id


@dataclass(frozen=True, slots=True)
class Selected:
    """The snapshot that is meant (None: the table before its first), and the schema it is read with."""

    snapshot: SnapshotInfo | None
    schema_id: int


def select(metadata: TableMetadata, at: At) -> Selected:
    """Resolve a snapshot id, a branch, a tag, a time or "now". "Now" and a branch are read with the table's current
    schema, everything older with the snapshot's own; and all of them with the requested schema, if any."""
    selected = _select(metadata, at)
    if at.schema_id is None or at.schema_id == selected.schema_id:
        return selected
    if at.schema_id not in metadata.schemas:
        raise VersionNotFoundError(
            f"a version is read with a schema that the table lists; {metadata.location} has no schema {at.schema_id}"
            " any more; ask for the version by its id, which is read with its own"
        )
    return Selected(selected.snapshot, at.schema_id)


def _select(metadata: TableMetadata, at: At) -> Selected:
    if at.version is not None and at.timestamp_ms is not None:
        raise VersionNotFoundError("ask for a version or for a timestamp, not both")
    current = metadata.current_schema_id
    if at.timestamp_ms is not None:
        return _dated(metadata, _as_of(metadata, at.timestamp_ms))
    if at.version is None:
        return Selected(_known(metadata, metadata.current_snapshot_id), current)
    name = str(at.version)
    if re.fullmatch(r"-?\d{1,19}", name) and int(name) in metadata.snapshots:
        return _dated(metadata, int(name))
    if name == NO_SNAPSHOT:
        return Selected(None, current)
    if name in metadata.branches:
        return Selected(_known(metadata, metadata.branches[name]), current)
    if name in metadata.tags:
        return _dated(metadata, metadata.tags[name])
    refs = ", ".join(sorted([*metadata.branches, *metadata.tags])) or "none"
    raise VersionNotFoundError(
        f"{metadata.location} has no snapshot, branch or tag {name!r} (expired, or never there); refs: {refs},"
        f" {len(metadata.snapshots)} snapshots"
    )


def _known(metadata: TableMetadata, snapshot_id: int | None) -> SnapshotInfo | None:
    if snapshot_id is None:
        return None
    snapshot = metadata.snapshots.get(snapshot_id)
    if snapshot is None:
        raise CorruptTableError(
            f"a ref must name a listed snapshot; {metadata.location} names {snapshot_id}, which {metadata.file} does"
            " not list; restore an older metadata file"
        )
    return snapshot


def _dated(metadata: TableMetadata, snapshot_id: int) -> Selected:
    snapshot = _known(metadata, snapshot_id)
    assert snapshot is not None
    written = snapshot.schema_id
    return Selected(
        snapshot, metadata.current_schema_id if written is None or written not in metadata.schemas else written
    )


def _as_of(metadata: TableMetadata, timestamp_ms: int) -> int:
    log = list(metadata.log)
    if not log and metadata.current_snapshot_id is not None:  # some writers keep no log
        log = [(s.timestamp_ms, s.id) for s in metadata.ancestors(metadata.current_snapshot_id)][::-1]
    passed = [snapshot_id for when, snapshot_id in log if when <= timestamp_ms]
    if not passed:
        raise VersionNotFoundError(
            f"{metadata.location} has no snapshot at or before {moment(timestamp_ms, exact=True)}; the oldest known is"
            f" {'of ' + moment(log[0][0], exact=True) if log else 'none'}; ask for a later time"
        )
    if passed[-1] not in metadata.snapshots:
        raise VersionNotFoundError(
            f"{metadata.location} was at snapshot {passed[-1]} at {moment(timestamp_ms, exact=True)}, and that"
            " snapshot has expired; ask for a later time"
        )
    return passed[-1]


def read_metadata(storage: Storage, file: str, last: TableMetadata | None = None) -> TableMetadata:
    """Read one metadata file. `last`: what was read before, which is returned if the file has the same bytes."""
    data = _read(storage, file)
    sha256 = hashlib.sha256(data).digest()
    if last is not None and (last.file, last.sha256) == (file, sha256):
        return last
    with as_damage(f"an Iceberg metadata file must be whole JSON; {file} is not (", "); restore it"):
        return replace(_parse(parse_json(_plain(data)), file), sha256=sha256)


def read_document(storage: Storage, file: str) -> Mapping[str, Any]:
    """Return the JSON of one metadata file, with what only other readers need."""
    with as_damage(f"an Iceberg metadata file must be whole JSON; {file} is not (", "); restore it"):
        content: Mapping[str, Any] = parse_json(_plain(_read(storage, file)))
        return content


def _read(storage: Storage, file: str) -> bytes:
    with must_exist(f"the current metadata file must exist; {file} does not; name a metadata file that does"):
        return storage.read(file)


def _plain(data: bytes) -> bytes:
    """Whatever the file's name says of its compression."""
    if data[:2] == b"\x1f\x8b":
        return deflated(data, 31)
    if data[:4] == b"\x28\xb5\x2f\xfd":
        return zstandard(data)
    return data


def _parse(content: Mapping[str, Any], file: str) -> TableMetadata:
    version = int(content["format-version"])
    if not 1 <= version <= NEWEST_FORMAT:
        raise UnsupportedFeatureError(
            f"Iceberg formats 1 to {NEWEST_FORMAT} are read; {file} is of format {version}; upgrade metaindex"
        )
    if version > 1 and (missing := {"schemas", "current-schema-id", "partition-specs"} - set(content)):
        raise ValueError(f"{', '.join(sorted(missing))} must exist in format {version}")
    schemas = {int(schema.get("schema-id", 0)): schema for schema in content.get("schemas") or [content["schema"]]}
    current_schema = int(content.get("current-schema-id", next(reversed(schemas))))
    if current_schema not in schemas:
        raise ValueError(f"no schema {current_schema}")
    if version > 1 or content.get("partition-specs"):
        specs = {
            int(spec["spec-id"]): parse_spec(int(spec["spec-id"]), spec["fields"])
            for spec in content["partition-specs"]
        }
    else:
        specs = {0: parse_spec(0, content.get("partition-spec") or [])}
    snapshots = {int(snapshot["snapshot-id"]): _snapshot(snapshot) for snapshot in content.get("snapshots") or []}
    current = content.get("current-snapshot-id")
    current = None if current in (None, -1) else int(current)
    refs = content.get("refs") or {}
    branches = {name: int(ref["snapshot-id"]) for name, ref in refs.items() if ref["type"] == "branch"}
    if current is not None:
        branches.setdefault("main", current)
    return TableMetadata(
        file=file,
        table_uuid=str(content.get("table-uuid") or ""),
        location=str(content["location"]),
        current_schema_id=current_schema,
        schemas=schemas,
        specs=specs,
        snapshots=snapshots,
        current_snapshot_id=current,
        branches=branches,
        tags={name: int(ref["snapshot-id"]) for name, ref in refs.items() if ref["type"] == "tag"},
        log=[(int(step["timestamp-ms"]), int(step["snapshot-id"])) for step in content.get("snapshot-log") or []],
        last_updated_ms=int(content.get("last-updated-ms") or 0),
        properties={str(k): str(v) for k, v in (content.get("properties") or {}).items()},
    )


def parse_spec(spec_id: int, fields: Sequence[Mapping[str, Any]]) -> PartitionSpec:
    """A spec from the JSON of its fields."""
    out = []
    for position, parted in enumerate(fields):
        sources = parted.get("source-ids") or [parted["source-id"]]
        out.append(
            PartitionField(
                name=str(parted["name"]),
                field_id=int(parted.get("field-id", 1000 + position)),  # V1 numbers them by position
                source_id=int(sources[0]) if len(sources) == 1 else None,
                transform=str(parted["transform"]),
            )
        )
    return PartitionSpec(spec_id, tuple(out))


def _snapshot(snapshot: Mapping[str, Any]) -> SnapshotInfo:
    parent = snapshot.get("parent-snapshot-id")
    schema_id = snapshot.get("schema-id")
    manifest_list = snapshot.get("manifest-list")
    if manifest_list is None and not isinstance(snapshot.get("manifests"), list):
        raise ValueError(f"snapshot {snapshot['snapshot-id']} names no manifests")
    return SnapshotInfo(
        id=int(snapshot["snapshot-id"]),
        parent_id=None if parent in (None, -1) else int(parent),
        sequence_number=int(snapshot.get("sequence-number") or 0),
        timestamp_ms=int(snapshot["timestamp-ms"]),
        manifest_list=None if manifest_list is None else str(manifest_list),
        manifests=tuple(snapshot.get("manifests") or ()),
        schema_id=None if schema_id is None else int(schema_id),
        operation=str((snapshot.get("summary") or {}).get("operation", "")),
        key_id=snapshot.get("key-id"),
    )
