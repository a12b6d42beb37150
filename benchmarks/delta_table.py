"""A Delta table that exists only as a log: one classic checkpoint of N files with JSON statistics of five columns, and
ten commits behind it, as a busy writer leaves them.

Every commit appends 100 files and removes 10 of the checkpoint's. No data file is ever looked at by what is measured
here.
"""

from __future__ import annotations

import json
import uuid
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from .delta_log import ADD, CHECKPOINT, PROTOCOL, head, of_adds, write_commit

COMMITS = 10
APPENDED, REMOVED = 100, 10
_SCHEMA = {
    "type": "struct",
    "fields": [
        {"name": name, "type": type_, "nullable": True, "metadata": {}}
        for name, type_ in (
            ("id", "long"),
            ("amount", "double"),
            ("name", "string"),
            ("at", "timestamp"),
            ("count", "integer"),
            ("day", "date"),
        )
    ],
}


def delta_table(folder: Path, files: int, days: int) -> Path:
    """The table, made where it is not there yet. `days`: how many partitions; 0: none."""
    table = folder / f"delta-{files}-{days}"
    log = table / "_delta_log"
    if (log / f"{COMMITS:020d}.json").exists():
        return table
    log.mkdir(parents=True, exist_ok=True)
    metadata = {
        "id": str(uuid.UUID(int=files)),
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps(_SCHEMA),
        "partitionColumns": ["day"] if days else [],
        "configuration": {},
        "createdTime": 1_700_000_000_000,
    }
    write_commit(log, 0, [{"protocol": PROTOCOL}, {"metaData": metadata}])
    _checkpoint(log / f"{0:020d}.checkpoint.parquet", metadata, files, days)
    (log / "_last_checkpoint").write_text(json.dumps({"version": 0, "size": files + 2}))
    for version in range(1, COMMITS + 1):
        added = [
            {"add": add} for add in _adds(range(files + version * APPENDED, files + (version + 1) * APPENDED), days)
        ]
        removed = [
            {
                "remove": {
                    "path": add["path"],
                    "deletionTimestamp": 1,
                    "dataChange": True,
                    "extendedFileMetadata": True,
                    "size": add["size"],
                    "partitionValues": add["partitionValues"],
                }
            }
            for add in _adds(range(version * REMOVED, (version + 1) * REMOVED), days)
        ]
        write_commit(
            log,
            version,
            [
                {"commitInfo": {"timestamp": version, "operation": "MERGE", "txnId": str(uuid.UUID(int=version))}},
                *added,
                *removed,
            ],
        )
    return table


def _adds(numbers: range, days: int) -> list[dict[str, object]]:
    out: list[dict[str, object]] = []
    for n in numbers:
        name = uuid.UUID(int=(n * 0x9E3779B97F4A7C15F39CC0605CEDC835) % 2**128)
        day = str(np.datetime64("2020-01-01") + n % days) if days else ""
        stats = {
            "numRecords": 1000 + n % 7919,
            "minValues": {
                "id": n * 1000,
                "amount": n / 8,
                "name": f"name {n:09d}",
                "at": "2024-01-01T00:00:00.000Z",
                "count": n % 100,
            },
            "maxValues": {
                "id": n * 1000 + 999,
                "amount": n / 8 + 9.5,
                "name": f"name {n:09d} z",
                "at": "2024-01-01T01:00:00.000Z",
                "count": n % 100 + 50,
            },
            "nullCount": {"id": 0, "amount": n % 5, "name": 0, "at": 0, "count": 1},
        }
        out.append(
            {
                "path": (f"day={day}/" if days else "") + f"part-00000-{name}-c000.snappy.parquet",
                "partitionValues": {"day": day} if days else {},
                "size": 10_000_000 + n % 999_983,
                "modificationTime": 1_700_000_000_000 + n,
                "dataChange": True,
                "stats": json.dumps(stats, separators=(",", ":")),
            }
        )
    return out


def _checkpoint(path: Path, metadata: dict[str, object], files: int, days: int) -> None:
    with pq.ParquetWriter(path, CHECKPOINT) as writer:
        writer.write_table(head(metadata))
        for start in range(0, files, 100_000):
            adds = _adds(range(start, min(start + 100_000, files)), days)
            rows = pa.array([{**add, "partitionValues": list(add["partitionValues"].items())} for add in adds], ADD)  # type: ignore[attr-defined]
            writer.write_table(of_adds(rows))
