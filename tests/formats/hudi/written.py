"""Hudi tables written by the specification, of both timelines: what a writer leaves when it commits, fails, clusters,
cleans and archives."""

from __future__ import annotations

import io
import json
import struct
import uuid
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from metaindex.formats import At, Snapshot, TableRef
from metaindex.formats.hudi.schema import META_FIELDS as META_FIELDS
from metaindex.formats.hudi.table import HudiFormat
from metaindex.storage import storage_for

HUDI = HudiFormat()
COLUMNS = pa.schema([("id", pa.int64()), ("word", pa.string()), ("day", pa.string())])
_AVRO = {pa.int32(): "int", pa.int64(): "long", pa.string(): "string", pa.float32(): "float", pa.float64(): "double"}
_TEXT = ["null", "string"]
_STAT = {
    "type": "record",
    "name": "HoodieWriteStat",
    "fields": [
        *({"name": name, "type": _TEXT} for name in ("fileId", "path", "prevCommit", "partitionPath")),
        {"name": "fileSizeInBytes", "type": ["null", "long"]},
    ],
}
_COMMIT = {
    "type": "record",
    "name": "HoodieCommitMetadata",
    "fields": [
        {
            "name": "partitionToWriteStats",
            "type": ["null", {"type": "map", "values": {"type": "array", "items": _STAT}}],
        },
        {"name": "extraMetadata", "type": ["null", {"type": "map", "values": "string"}]},
        {"name": "operationType", "type": _TEXT},
        {
            "name": "partitionToReplaceFileIds",
            "type": ["null", {"type": "map", "values": {"type": "array", "items": "string"}}],
        },
    ],
}
_ENTRY = {
    "type": "record",
    "name": "HoodieArchivedMetaEntry",
    "fields": [
        {"name": "hoodieCommitMetadata", "type": ["null", _COMMIT]},
        {"name": "hoodieReplaceCommitMetadata", "type": ["null", "HoodieCommitMetadata"]},
        *({"name": name, "type": _TEXT} for name in ("commitTime", "actionType", "actionState")),
    ],
}


def avro_schema(schema: pa.Schema) -> str:
    fields = [{"name": f.name, "type": ["null", _AVRO[f.type]], "default": None} for f in schema]
    return json.dumps({"type": "record", "name": "t_record", "namespace": "hoodie.t", "fields": fields})


def rows(first: int, count: int = 3, day: str = "a") -> pa.Table:
    ids = range(first, first + count)
    return pa.table({"id": [*ids], "word": [f"w{n}" for n in ids], "day": [day] * count}, COLUMNS)


@dataclass
class HudiTable:
    """A table under the hands of a writer. `live`: by instant, its live files' paths, as the specification has them."""

    root: Path
    version: int = 6
    partitions: tuple[str, ...] = ("day",)
    more: Mapping[str, str] = field(default_factory=dict)
    clock: int = 20240101000000000
    live: dict[str, dict[tuple[str, str], str]] = field(default_factory=dict)
    metadata: dict[str, dict[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.timeline.mkdir(parents=True)
        self.properties(**self.more)

    @property
    def timeline(self) -> Path:
        return self.root / ".hoodie" / ("" if self.version < 8 else "timeline")

    @property
    def ref(self) -> TableRef:
        storage, root = storage_for(self.root)
        return TableRef(storage, root)

    @property
    def now(self) -> dict[tuple[str, str], str]:
        return dict(self.live[max(self.live)]) if self.live else {}

    def snapshot(self, version: str | None = None) -> Snapshot:
        return HUDI.snapshot(self.ref, At(version=version))

    def paths(self, version: str | None = None) -> list[str]:
        return self.snapshot(version).files.paths.to_pylist()

    def properties(self, **more: str) -> None:
        said = {
            "hoodie.table.name": "t",
            "hoodie.database.name": "",
            "hoodie.table.type": "COPY_ON_WRITE",
            "hoodie.table.version": str(self.version),
            "hoodie.timeline.layout.version": "1" if self.version < 8 else "2",
            "hoodie.table.partition.fields": ",".join(self.partitions),
            "hoodie.datasource.write.hive_style_partitioning": "true",
            "hoodie.populate.meta.fields": "false",
            "hoodie.table.timeline.timezone": "UTC",
            "hoodie.table.checksum": str(zlib.crc32(b".t")),
        }
        kind = "COMPLEX" if len(self.partitions) > 1 else "SIMPLE"
        if self.version < 8:
            said["hoodie.table.keygenerator.class"] = f"org.apache.hudi.keygen.{kind.capitalize()}KeyGenerator"
        else:
            said["hoodie.table.keygenerator.type"] = kind
        lines = ["#Updated at some time", *(f"{key}={value}" for key, value in {**said, **more}.items() if value)]
        (self.root / ".hoodie" / "hoodie.properties").write_text("\n".join(lines) + "\n")

    def tick(self) -> str:
        self.clock += 1000
        return str(self.clock)

    def partition(self, day: str) -> str:
        return f"day={day}" if self.partitions else ""

    def base_file(self, partition: str, group: str, instant: str, data: pa.Table, token: str = "0-1-2") -> str:
        path = "/".join(part for part in (partition, f"{group}_{token}_{instant}.parquet") if part)
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(data, self.root / path)
        return path

    def begin(self, action: str = "commit") -> str:
        """Leave a pending instant."""
        instant = self.tick()
        asked = "clustering" if action == "replacecommit" and self.version >= 8 else action
        (self.timeline / f"{instant}.{asked}.requested").write_bytes(b"")
        running = "inflight" if asked == "commit" else f"{asked}.inflight"
        (self.timeline / f"{instant}.{running}").write_bytes(b"")
        return instant

    def commit(
        self,
        written: Iterable[tuple[str, str | None, pa.Table]] = (),
        replaced: Iterable[tuple[str, str]] = (),
        *,
        instant: str | None = None,
        schema: pa.Schema = COLUMNS,
        operation: str = "UPSERT",
    ) -> str:
        """Write files (partition, file group or None for a new one, rows), replace file groups, and complete."""
        replaced = list(replaced)
        action = "replacecommit" if replaced or operation in ("CLUSTER", "INSERT_OVERWRITE") else "commit"
        instant = instant or self.begin(action)
        live = {key: path for key, path in self.now.items() if key not in replaced}
        stats: dict[str, list[dict[str, Any]]] = {}
        for partition, group, data in written:
            group = group or f"{uuid.uuid4()}-0"
            before = live.get((partition, group))
            path = self.base_file(partition, group, instant, data)
            live[partition, group] = path
            stats.setdefault(partition, []).append(
                {
                    "fileId": group,
                    "path": path,
                    "prevCommit": "null" if before is None else before.rpartition("_")[2].removesuffix(".parquet"),
                    "partitionPath": partition,
                    "fileSizeInBytes": (self.root / path).stat().st_size,
                }
            )
        gone: dict[str, list[str]] = {}
        for partition, group in replaced:
            gone.setdefault(partition, []).append(group)
        said = {
            "partitionToWriteStats": stats,
            "extraMetadata": {"schema": avro_schema(schema)},
            "operationType": operation,
            "partitionToReplaceFileIds": gone,
        }
        self.complete(instant, action, said)
        for key in self.live:
            if key > instant:  # an instant that was begun before another one, and completed after it
                raise AssertionError("write it last")
        self.live[instant] = live
        return instant

    def complete(self, instant: str, action: str, said: dict[str, Any]) -> Path:
        self.metadata[instant] = said
        done = f"{instant}.{action}" if self.version < 8 else f"{instant}_{self.tick()}.{action}"
        path = self.timeline / done
        path.write_bytes(json.dumps(said).encode() if self.version < 8 else avro_file(said))
        return path

    def completed(self, instant: str) -> Path:
        """The file of a completed instant."""
        (path,) = (p for p in self.timeline.glob(f"{instant}*") if p.name.split(".")[-1] in ("commit", "replacecommit"))
        return path

    def clean(self, keep: str) -> None:
        """Remove the files that no version from `keep` on needs."""
        needed = {path for instant, live in self.live.items() if instant >= keep for path in live.values()}
        for file in self.root.rglob("*.parquet"):
            path = file.relative_to(self.root).as_posix()
            if not path.startswith(".hoodie") and path not in needed:
                file.unlink()
        (self.timeline / f"{self.tick()}.clean.requested").write_bytes(b"x")

    def archive(self, instants: Sequence[str]) -> Path:
        """Move instants out of the timeline."""
        files = {instant: self.completed(instant) for instant in instants}
        folder = self.root / ".hoodie" / ("archived" if self.version < 8 else "timeline/history")
        folder.mkdir(exist_ok=True)
        path = (_archive_log if self.version < 8 else _archive_rows)(self, folder, files)
        for instant in instants:
            for file in self.timeline.glob(f"{instant}*"):
                file.unlink()
        return path


def _archive_log(table: HudiTable, folder: Path, files: Mapping[str, Path]) -> Path:
    import fastavro

    records = []
    for instant, file in files.items():
        action = file.name.split(".")[-1]
        kind = "hoodieReplaceCommitMetadata" if action == "replacecommit" else "hoodieCommitMetadata"
        for state in ("REQUESTED", "INFLIGHT", "COMPLETED"):
            said = table.metadata[instant] if state == "COMPLETED" else {}
            record = {"commitTime": instant, "actionType": action, "actionState": state, kind: said}
            into = io.BytesIO()
            fastavro.schemaless_writer(into, fastavro.parse_schema(_ENTRY), record)
            records.append(into.getvalue())
    schema = json.dumps(_ENTRY).encode()
    body = struct.pack(">II", 3, len(records)) + b"".join(struct.pack(">I", len(r)) + r for r in records)
    inside = struct.pack(">IIIII", 1, 3, 1, 2, len(schema)) + schema + struct.pack(">Q", len(body)) + body
    inside += struct.pack(">IQ", 0, 6 + 8 + len(inside) + 4)
    path = folder / f".commits_.archive.{len(list(folder.iterdir())) + 1}_1-0-1"
    path.write_bytes(b"#HUDI#" + struct.pack(">Q", len(inside)) + inside)
    return path


def _archive_rows(table: HudiTable, folder: Path, files: Mapping[str, Path]) -> Path:
    said = [
        {
            "instantTime": instant,
            "completionTime": file.name.split(".")[0].split("_")[1],
            "action": file.name.split(".")[-1],
            "metadata": file.read_bytes(),
            "plan": None,
            "version": 1,
        }
        for instant, file in files.items()
    ]
    columns = [("instantTime", pa.string()), ("completionTime", pa.string()), ("action", pa.string())]
    schema = pa.schema([*columns, ("metadata", pa.binary()), ("plan", pa.binary()), ("version", pa.int32())])
    path = folder / f"{min(files)}_{max(files)}_0.parquet"
    pq.write_table(pa.Table.from_pylist(said, schema), path)
    number = sum(file.name.startswith("manifest_") for file in folder.iterdir())
    before = json.loads((folder / f"manifest_{number}").read_text())["files"] if number else []
    listed = [*before, {"fileName": path.name, "fileLen": path.stat().st_size}]
    (folder / f"manifest_{number + 1}").write_text(json.dumps({"files": listed}))
    (folder / "_version_").write_text(str(number + 1))
    return path


def avro_file(said: Mapping[str, Any]) -> bytes:
    import fastavro

    into = io.BytesIO()
    fastavro.writer(into, fastavro.parse_schema(_COMMIT), [said])
    return into.getvalue()
