"""A refresh after a commit, on Delta tables of 1,000 and of 1,000,000 files: real log, real new data files, the files
before made up (their index rows too). Sizes and changes are interleaved in one process; every refresh has a table
handle of its own, so nothing of the table or the index is cached. Modules are loaded by refreshes of a third table
before.

    add 10      a commit of 10 new files of 20 columns
    delete 10   a commit that removes 10 files, found in the index by their ids
    deletes     a commit that gives 10 files deletion vectors
    nothing     no commit: the table is looked at
    quick 10    a commit of 10 new files, recorded and not read

Then 10 new files of 16 columns without floats, their statistics from footers and from the table's log (`trust_log`),
beside what the commit itself takes (deltalake).

`ratio` is the median of the larger size over the median of the smaller one.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import metaindex as mi

from .synthetic import Shape, SyntheticBuilder

COLUMNS = 20
ADDED = 10
_TYPES = {pa.int64(): "long", pa.float64(): "double", pa.string(): "string"}


def run(folder: Path, quick: bool) -> list[dict[str, object]]:
    sizes = (100, 2_000) if quick else (1_000, 1_000_000)
    lakes = [Lake(folder / f"refresh-{size}", size) for size in sizes]
    warm = Lake(folder / "refresh-warm", 50)
    changes: dict[str, Callable[[Lake], None]] = {
        "add 10": Lake.add,
        "delete 10": Lake.delete,
        "deletes": Lake.mark,
        "nothing": lambda lake: None,
        "quick 10": Lake.add,
    }
    found: dict[tuple[str, int], list[tuple[float, float]]] = {}
    os.sync()  # what was copied just now is not to be written within the first refreshes
    for turn in range(2 if quick else 9):
        for what, change in changes.items():
            for lake in (warm, *(lakes if turn % 2 else lakes[::-1])):
                change(lake)
                took = lake.refresh("quick" if what == "quick 10" else "incremental")
                found.setdefault((what, lake.files), []).append(took)
                if what == "quick 10":
                    lake.refresh("incremental")
    figures: list[dict[str, object]] = []
    for what in changes:
        wall = [statistics.median(t[0] for t in found[(what, size)]) for size in sizes]
        cpu = [statistics.median(t[1] for t in found[(what, size)]) for size in sizes]
        for i, size in enumerate(sizes):
            times = found[(what, size)]
            figures.append(
                {
                    "change": what,
                    "files": size,
                    "wall ms": wall[i],
                    "min": min(t[0] for t in times),
                    "CPU ms": cpu[i],
                    "CPU min": min(t[1] for t in times),
                    "wall ratio": wall[i] / wall[0],
                    "CPU ratio": cpu[i] / cpu[0],
                    "entry KB": lakes[i].entry_bytes / 1000,
                }
            )
    return figures + _sources(folder / "refresh-sources", 3 if quick else 15)


def _sources(folder: Path, times: int) -> list[dict[str, object]]:
    import deltalake

    shutil.rmtree(folder, ignore_errors=True)
    rows = _rows(1).drop([f.name for f in Shape(columns=COLUMNS).schema if pa.types.is_floating(f.type)])
    deltalake.write_deltalake(str(folder), rows)
    indexes = {"from footers": mi.ColumnStats(), "from the log": mi.ColumnStats(trust_log=True)}
    for name, kind in indexes.items():
        mi.open_table(str(folder)).create_index(name.replace(" ", "-"), kind, builder="local")
    found: dict[str, list[tuple[float, float]]] = {"commit of 10 files": [], **{name: [] for name in indexes}}
    for _ in range(times):
        wall, cpu = time.perf_counter(), time.process_time()
        for _ in range(ADDED):
            deltalake.write_deltalake(str(folder), rows, mode="append")
        found["commit of 10 files"].append(((time.perf_counter() - wall) * 1000, (time.process_time() - cpu) * 1000))
        for name in indexes:
            table = mi.open_table(str(folder))
            wall, cpu = time.perf_counter(), time.process_time()
            table.refresh_index(name.replace(" ", "-"), builder="local")
            found[name].append(((time.perf_counter() - wall) * 1000, (time.process_time() - cpu) * 1000))
    out: list[dict[str, object]] = []
    for name, took in found.items():
        wall, cpu = (statistics.median(t[i] for t in took) for i in (0, 1))
        out.append(
            {
                "change": name,
                "files": ADDED,
                "wall ms": wall,
                "min": min(t[0] for t in took),
                "CPU ms": cpu,
                "CPU min": min(t[1] for t in took),
            }
        )
    return out


class Lake:
    """A Delta table whose first version is a checkpoint of made-up files."""

    def __init__(self, folder: Path, files: int) -> None:
        self.folder, self.files = folder, files
        self.shape = Shape(files, COLUMNS)
        self.version = 0
        self.gone = 0
        self.entry_bytes = 0
        kept = folder.with_name(folder.name + "-kept")
        if not kept.exists():
            shutil.rmtree(folder, ignore_errors=True)
            _write(folder, self.shape)
            mi.open_table(str(folder)).create_index("stats", mi.ColumnStats(), builder=SyntheticBuilder(self.shape))
            folder.rename(kept)
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(kept, folder)

    def refresh(self, mode: str) -> tuple[float, float]:
        """Wall and CPU milliseconds."""
        table = mi.open_table(str(self.folder))
        wall, cpu = time.perf_counter(), time.process_time()
        outcome = table.refresh_index("stats", builder="local", mode=mode)  # type: ignore[arg-type]
        took = (time.perf_counter() - wall) * 1000, (time.process_time() - cpu) * 1000
        log = self.folder / "_metaindex" / "stats" / "_log"
        self.entry_bytes = (log / f"{outcome.entry.id:020d}.json").stat().st_size
        return took

    def add(self) -> None:
        actions = []
        for number in range(ADDED):
            name = f"new-{self.version}-{number}.parquet"
            pq.write_table(_rows(self.version * 100 + number), self.folder / name)
            size = (self.folder / name).stat().st_size
            actions.append(
                {"add": {"path": name, "partitionValues": {}, "size": size, "modificationTime": 1, "dataChange": True}}
            )
        self._commit(actions)

    def delete(self) -> None:
        self._commit([{"remove": {**self._file(), "deletionTimestamp": 1, "dataChange": True}} for _ in range(ADDED)])

    def mark(self) -> None:
        actions = []
        vector = {
            "storageType": "u",
            "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^",
            "offset": 4,
            "sizeInBytes": 40,
            "cardinality": 6,
        }
        for _ in range(ADDED):
            file = {**self._file(), "dataChange": True}
            time_ms = int(str(file["size"])) - 100_000_000  # as the table was written: a vector makes no other file
            actions += [{"add": {**file, "partitionValues": {}, "modificationTime": time_ms, "deletionVector": vector}}]
            actions += [{"remove": {**file, "deletionTimestamp": 1}}]
        self._commit(actions)

    def _file(self) -> dict[str, object]:
        self.gone += 1
        number = self.gone * 7919 % self.files if self.files > 7919 else self.gone
        return {"path": _name(number), "size": 100_000_000 + number}

    def _commit(self, actions: list[dict[str, object]]) -> None:
        self.version += 1
        lines = [{"commitInfo": {"timestamp": time.time_ns() // 1_000_000, "operation": "WRITE"}}, *actions]
        text = "\n".join(json.dumps(line) for line in lines)
        (self.folder / "_delta_log" / f"{self.version:020d}.json").write_text(text)


def _name(number: int) -> str:
    return f"part-{number:08d}-c000.snappy.parquet"


def _rows(seed: int) -> pa.Table:
    generator = np.random.default_rng(seed)
    numbers = generator.integers(0, 10**9, (COLUMNS, 1000))
    columns = {}
    for place, field in enumerate(Shape(columns=COLUMNS).schema):
        values = pa.array(numbers[place])
        columns[field.name] = values.cast(field.type)
    return pa.table(columns)


def _write(folder: Path, shape: Shape) -> None:
    log = folder / "_delta_log"
    log.mkdir(parents=True)
    fields = [{"name": f.name, "type": _TYPES[f.type], "nullable": True, "metadata": {}} for f in shape.schema]
    metadata = {
        "id": "made-up",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps({"type": "struct", "fields": fields}),
        "partitionColumns": [],
        "configuration": {},
        "createdTime": 1,
    }
    protocol = {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": ["deletionVectors"],
        "writerFeatures": ["deletionVectors"],
    }
    (log / f"{0:020d}.json").write_text(
        "\n".join(json.dumps(a) for a in ({"protocol": protocol}, {"metaData": metadata}))
    )
    numbers = np.arange(shape.files)
    paths = np.char.add(np.char.add("part-", np.char.zfill(numbers.astype("U"), 8)), "-c000.snappy.parquet")
    add = pa.StructArray.from_arrays(
        [
            pa.array(paths.tolist(), pa.string()),
            pa.MapArray.from_arrays(
                pa.array(np.zeros(shape.files + 1, np.int32)), pa.array([], pa.string()), pa.array([], pa.string())
            ),
            pa.array(numbers + 100_000_000),
            pa.array(numbers),
            pa.array(np.full(shape.files, True)),
        ],
        names=["path", "partitionValues", "size", "modificationTime", "dataChange"],
    )
    nulls = shape.files
    meta_type = pa.struct(
        [
            ("id", pa.string()),
            ("format", pa.struct([("provider", pa.string()), ("options", pa.map_(pa.string(), pa.string()))])),
            ("schemaString", pa.string()),
            ("partitionColumns", pa.list_(pa.string())),
            ("configuration", pa.map_(pa.string(), pa.string())),
            ("createdTime", pa.int64()),
        ]
    )
    shown = {**metadata, "format": {"provider": "parquet", "options": []}, "configuration": []}
    names = pa.list_(pa.string())
    protocol_type = pa.struct(
        [
            ("minReaderVersion", pa.int32()),
            ("minWriterVersion", pa.int32()),
            ("readerFeatures", names),
            ("writerFeatures", names),
        ]
    )
    table = pa.table(
        {
            "add": pa.concat_arrays([add, pa.nulls(2, add.type)]),
            "metaData": pa.concat_arrays([pa.nulls(nulls, meta_type), pa.array([shown, None], meta_type)]),
            "protocol": pa.concat_arrays([pa.nulls(nulls, protocol_type), pa.array([None, protocol], protocol_type)]),
        }
    )
    pq.write_table(table, log / f"{0:020d}.checkpoint.parquet")
    (log / "_last_checkpoint").write_text(json.dumps({"version": 0, "size": shape.files + 2}))
