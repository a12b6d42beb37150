"""A Delta table of millions of files that exists only as a log: a multi-part checkpoint whose adds have statistics of
five columns as JSON text, as Delta writes them by default, and commits behind it. No data file is there: what the log
says of the files is enough for `ColumnStats(trust_log=True, scan_floats=False)`.

File number i (by its size, `FIRST_SIZE + i`) has the bounds that `synthetic.Shape` makes up for it, under a random
name: neighbours by path have nothing in common but their partition.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from .delta_log import ADD, CHECKPOINT, PROTOCOL, head, of_adds, write_commit
from .synthetic import Shape

FIRST_SIZE = 100_000_000
PARTITION = "p"
_ROWS = 1_000_000
_TYPES = {pa.int64(): "long", pa.float64(): "double", pa.string(): "string"}
Numbers = npt.NDArray[np.int64]


def scale_table(folder: Path, shape: Shape, checkpoint_parts: int = 10) -> None:
    """Writes version 0. `shape.files` and its bounds, in `shape.partitions` partitions of neighbouring numbers (none
    where 1)."""
    log = folder / "_delta_log"
    log.mkdir(parents=True)
    metadata = _metadata(shape)
    write_commit(log, 0, [{"protocol": PROTOCOL}, {"metaData": metadata}])
    bounds = _Bounds(shape)
    edges = np.linspace(0, shape.files, checkpoint_parts + 1).astype(int).tolist()
    for number in range(checkpoint_parts):
        path = log / f"{0:020d}.checkpoint.{number + 1:010d}.{checkpoint_parts:010d}.parquet"
        with pq.ParquetWriter(path, CHECKPOINT, compression="zstd") as writer:
            if number == 0:
                writer.write_table(head(metadata))
            for start in range(edges[number], edges[number + 1], _ROWS // 10):
                numbers = np.arange(start, min(start + _ROWS // 10, edges[number + 1]))
                adds = _adds(shape, bounds, numbers)
                writer.write_table(of_adds(adds))
    (log / "_last_checkpoint").write_text(
        json.dumps({"version": 0, "size": shape.files + 2, "parts": checkpoint_parts})
    )


def commit(folder: Path, shape: Shape, more: Shape, version: int, added: Numbers, removed: Numbers) -> None:
    """A commit of new files, numbered behind those of the table and with the bounds that `more` makes up, and of files
    of version 0 that leave."""
    lines: list[dict[str, object]] = [{"commitInfo": {"timestamp": time.time_ns() // 1_000_000, "operation": "WRITE"}}]
    if len(added):
        adds = _adds(shape, _Bounds(more), added).to_pylist()
        lines += [{"add": {**add, "partitionValues": dict(add["partitionValues"])}} for add in adds]
    for path, number in zip(_paths(shape, removed).to_pylist(), removed.tolist(), strict=True):
        gone = {"path": path, "size": number + FIRST_SIZE, "deletionTimestamp": 1, "dataChange": True}
        lines.append({"remove": gone})
    write_commit(folder / "_delta_log", version, lines)


class _Bounds:
    """Bounds of every file as the texts that stand in JSON, a column at a time."""

    def __init__(self, shape: Shape) -> None:
        self.types = [field.type for field in shape.schema]
        self.bands = [shape.bands(column) for column in range(shape.columns)]

    def text(self, column: int, upper: bool, numbers: Numbers) -> pa.Array:
        texts = pa.array(self.bands[column][upper][numbers]).cast(pa.string())
        if pa.types.is_string(self.types[column]):
            return pc.binary_join_element_wise('"', pc.utf8_lpad(texts, 10, "0"), '"', "")
        if pa.types.is_floating(self.types[column]):
            return pc.binary_join_element_wise(texts, ".0", "")
        return texts


def _adds(shape: Shape, bounds: _Bounds, numbers: Numbers) -> pa.Array:
    count = len(numbers)
    names = [field.name for field in shape.schema]
    pieces: list[pa.Array | str] = ['{"numRecords":1000000,"minValues":{']
    for upper, opening in ((False, ""), (True, '},"maxValues":{')):
        pieces.append(opening)
        for column, name in enumerate(names):
            pieces += [f'{"," if column else ""}"{name}":', bounds.text(column, upper, numbers)]
    pieces.append('},"nullCount":{' + ",".join(f'"{name}":0' for name in names) + "}}")
    keys = pa.array([], pa.string())
    values, offsets = keys, np.zeros(count + 1, np.int32)
    if shape.partitions > 1:
        values = _partition_values(shape, numbers)
        keys, offsets = pa.repeat(pa.scalar(PARTITION), count), np.arange(count + 1, dtype=np.int32)
    partition = pa.MapArray.from_arrays(pa.array(offsets), keys, values)
    columns = [
        _paths(shape, numbers),
        partition,
        pa.array(numbers + FIRST_SIZE),
        pa.array(numbers + 1_700_000_000_000),
        pa.repeat(True, count),
        pc.binary_join_element_wise(*pieces, ""),
    ]
    return pa.StructArray.from_arrays(columns, fields=list(ADD))


def _paths(shape: Shape, numbers: Numbers) -> pa.Array:
    names = ["part-00000-", _uuids(numbers, shape.seed), "-c000.snappy.parquet", ""]
    if shape.partitions > 1:
        names = [f"{PARTITION}=", _partition_values(shape, numbers), "/", *names]
    return pc.binary_join_element_wise(*names)


def _partition_values(shape: Shape, numbers: Numbers) -> pa.Array:
    """The partition of each file, by its number; numbers behind those of version 0 begin anew."""
    of = (numbers % shape.files) * shape.partitions // shape.files
    return pc.utf8_lpad(pa.array(of).cast(pa.string()), 6, "0")


def _uuids(numbers: Numbers, seed: int) -> pa.Array:
    """A random name for each number, the same each time."""
    words = np.stack([_mixed(numbers, seed * 2), _mixed(numbers, seed * 2 + 1)], axis=1)
    digits = np.frombuffer(words.tobytes().hex().encode(), "S1").reshape(-1, 32)
    out = np.full((len(numbers), 36), b"-", "S1")
    out[:, [i for i in range(36) if i not in (8, 13, 18, 23)]] = digits
    return pa.array(out.view("S36").ravel()).cast(pa.string())


def _mixed(numbers: Numbers, salt: int) -> npt.NDArray[np.uint64]:
    """splitmix64."""
    z = (numbers.astype(np.uint64) + np.uint64(salt << 40)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def _metadata(shape: Shape) -> dict[str, object]:
    fields = [{"name": f.name, "type": _TYPES[f.type], "nullable": True, "metadata": {}} for f in shape.schema]
    if shape.partitions > 1:
        fields.append({"name": PARTITION, "type": "string", "nullable": True, "metadata": {}})
    return {
        "id": f"made-up-{shape.files}-{shape.partitions}",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps({"type": "struct", "fields": fields}),
        "partitionColumns": [PARTITION] if shape.partitions > 1 else [],
        "configuration": {},
        "createdTime": 1,
    }
