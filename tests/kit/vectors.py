"""Ids, hashes, keys, bits and bounds as the program has them."""

import datetime as dt
import math
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from metaindex.formats import Field, FileTable, Leaf
from metaindex.index import keys
from metaindex.index.kinds.bloom import blocks
from metaindex.index.kinds.canonical import hash_key, hash_values
from metaindex.index.kinds.facts import successors
from metaindex.index.kinds.values.encoding import encode_values

from .case import told


def vectors() -> dict[str, Any]:
    """What ids, hashes, keys, filters and bounds come out as."""
    numbers = [0, 1, -1, 42, 2**31, 2**63 - 1, -(2**63)]
    hashed = [pa.array(numbers, pa.int64()), pa.array([0, 2**63, 2**64 - 1], pa.uint64())]
    hashed += [pa.array([0.0, -0.0, 42.0, 0.5, math.nan, math.inf, 1e300], pa.float64())]
    hashed += [pa.array([Decimal("42.00"), Decimal("0.50"), Decimal("-1.25")], pa.decimal128(9, 2))]
    hashed += [pa.array([Decimal(10**30), Decimal("0.0001")], pa.decimal128(38, 4))]
    hashed += [pa.array([dt.date(1970, 1, 2), dt.date(1969, 12, 31)], pa.date32())]
    hashed += [pa.array([dt.datetime(2024, 1, 1, 12, 30)], pa.timestamp("us")), pa.array([True, False])]
    hashed += [pa.array(["", "é", "k" * 300]), pa.array([b"", b"\x00\xff"])]
    together = hash_key([pa.array([1, 2]), pa.array(["a", "b"])])[0]
    some = np.array([int(h) for h in hash_values(hashed[0])[0]], np.uint64)
    cut = [b"k" * 64, b"k" * 63 + b"\xff", "\U0010ffff".encode() * 16]
    ids = {"id:7": "id:7", "a.b": "a.b", "`a.b`": "`a.b`", "é": "é"}
    return {
        "column_id": {text: str(keys.column_id(stable)) for text, stable in ids.items()},
        "stable_name": {name: Leaf((Field(name, pa.int64()),)).stable for name in ("a", "a.b", "a`b", "id:3")},
        "partition_id": {text: str(keys.partition_id(text)) for text in ("", "p=x", "p=%C3%BC/q=7")},
        "key_id": [["values", ["a", "id:7"], str(keys.key_id("values", ["a", "id:7"]))]],
        "file_id": _file_ids(),
        "hash": [[told(v, ["x"]), str(a.type), f"{int(h):016x}"] for a in hashed for v, h in _zip(a)],
        "hash_of_two": [[[1, "a"], f"{int(together[0]):016x}"], [[2, "b"], f"{int(together[1]):016x}"]],
        "key": [
            [told(v, ["x"]), str(a.type), k.hex() if isinstance(k, bytes) else str(k)]
            for a in [*hashed[1:3], hashed[4], *hashed[-2:]]
            for v, k in zip(a.to_pylist(), encode_values(a, a.type).to_pylist(), strict=True)
        ],
        "bloom_block": [[f"{int(h):016x}", 371, int(b)] for h, b in zip(some, blocks.block_of(some, 371), strict=True)],
        "bloom_bits": [[f"{int(h):016x}", b.tolist()] for h, b in zip(some, blocks.bits_of(some), strict=True)],
        "successor": [
            [one.hex(), None if up is None else up.hex()]
            for one, up in zip(cut, successors(np.array([list(one) for one in cut], np.uint8)).to_pylist(), strict=True)
        ],
    }


def _zip(values: pa.Array) -> Iterable[tuple[Any, Any]]:
    return zip(values.to_pylist(), hash_values(values)[0], strict=True)


def _file_ids() -> list[list[Any]]:
    """Path, size, time and etag, and the id."""
    files: list[list[Any]] = [
        ["x.parquet", 12, 1_700_000_000_000, None],
        ["part=%C3%BC/ü.parquet", 0, None, "7-8123"],
        ["x.parquet", 2**40, -1, "é"],
    ]
    paths, sizes, times, etags = zip(*files, strict=True)
    ids = keys.file_ids(
        FileTable(
            pa.Table.from_arrays(
                [
                    pa.array(
                        {"path": paths, "size_bytes": sizes, "modified_ms": times, "etag": etags}.get(f.name), f.type
                    )
                    if f.name in ("path", "size_bytes", "modified_ms", "etag")
                    else pa.nulls(3, f.type)
                    if f.nullable
                    else pa.array([""] * 3, f.type)
                    for f in FileTable.SCHEMA
                ],
                schema=FileTable.SCHEMA,
            )
        )
    )
    return [[*file, id_.hex()] for file, id_ in zip(files, ids.to_pylist(), strict=True)]
