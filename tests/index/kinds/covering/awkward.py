"""Rows of every type that is stored, with what is easily got wrong: NaN, -0.0, NULL at all depths, days before 1582,
texts beyond the basic plane, bytes that are no text."""

import decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import metaindex as mi
from metaindex.index import Kind
from tests.tables import settle, settled

from .arrow_builder import ArrowBuilder


def awkward(seed: int, rows: int = 400) -> pa.Table:
    rng = np.random.default_rng(seed)
    some = rng.random(rows) < 0.1
    texts = ["a", "A", "bé", "\U0001f600", "\uffff", "", None]
    doubles = rng.choice([0.0, -0.0, np.nan, 1.5, -3.0, np.inf, -np.inf], rows)
    numbers = rng.integers(0, 20, rows)
    nested = [None if n == 3 else {"x": None if n == 5 else int(n), "l": [{"y": str(n)}, None]} for n in numbers]
    return pa.table(
        {
            "k": pa.array(numbers, mask=some),
            "f": pa.array(doubles, mask=some),
            "g": pa.array(doubles.astype(np.float32)),
            "s": pa.array([texts[n] for n in rng.integers(0, 7, rows)]),
            "d": pa.array(rng.integers(-700_000, 20_000, rows).astype(np.int32)).cast(pa.date32()),
            "t": pa.array(rng.integers(-5 * 10**16, 10**16, rows)).cast(pa.timestamp("us", "UTC")),
            "n": pa.array(rng.integers(-5 * 10**16, 10**16, rows)).cast(pa.timestamp("us")),
            "m9": pa.array([decimal.Decimal(int(n)) / 100 for n in numbers], pa.decimal128(9, 2)),
            "m38": pa.array([decimal.Decimal(int(n)).scaleb(20) for n in numbers], pa.decimal128(38, 2), mask=some),
            "o": pa.array(numbers % 2 == 0, mask=some),
            "i8": pa.array(numbers.astype(np.int8)),
            "i16": pa.array(numbers.astype(np.int16)),
            "i32": pa.array(numbers.astype(np.int32)),
            "st": pa.array(nested, pa.struct([("x", pa.int32()), ("l", pa.list_(pa.struct([("y", pa.string())])))])),
            "map": pa.array([[("é", 1)] if n % 3 else None for n in numbers], pa.map_(pa.string(), pa.int16())),
            "b": pa.array([[b"\xff\x00", b"", None][n % 3] for n in numbers]),
        }
    )


ALL = ["k", "f", "g", "s", "d", "t", "n", "m9", "m38", "o", "i8", "i16", "i32", "st", "map", "b"]
CURVE = mi.CoveringCurve(["k", "f", "s"], ["st", "d", "b"])


def parquet_folder(root: Path, files: int = 3) -> Path:
    root.mkdir()
    for seed in range(files):
        pq.write_table(awkward(seed), root / f"f{seed}.parquet", row_group_size=150)
    settle(root)
    return root


def grow(root: Path, seed: int, rows: int = 400) -> None:
    """By a file."""
    settled(root, {f"f{seed}.parquet": awkward(seed, rows)})


def indexed(folder: Path, *kinds: Kind, builder: ArrowBuilder = ArrowBuilder()) -> tuple[Path, mi.Table]:  # noqa: B008
    """A folder of one file, and its table with an index `c`."""
    root = parquet_folder(folder / "lake", 1)
    table = mi.open_table(str(root))
    table.create_index("c", *kinds, builder=builder)
    return root, table
