"""Columns built together are the columns built one by one, to the byte of every part."""

import datetime as dt
import math
import os
from decimal import Decimal
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import metaindex as mi
from metaindex.index.build.merging import merge_runs
from metaindex.index.store.cache import StoreCache
from metaindex.index.store.reader import ReadCount, RunReader
from metaindex.index.store.writer import RunSink
from metaindex.table import handle_of
from tests.tables import settle


def rows(number: int) -> pa.Table:
    return pa.table(
        {
            "id": pa.array([None if number == 3 else number * 5 + i for i in range(5)], pa.int64()),
            "small": pa.array([number] * 5, pa.int8()),
            "weight": pa.array([math.nan if i == number else -i / 3 for i in range(5)]),
            "name": pa.array(["x" * (60 + number) if i else None for i in range(5)]),
            "raw": pa.array([bytes([255] * 70)] * 5),
            "price": pa.array([Decimal(i - number) for i in range(5)], pa.decimal128(30, 3)),
            "day": pa.array([dt.date(2026, 1, 1 + number)] * 5),
            "payload": pa.array([{"user": i, "list": [1]} for i in range(5)]),
            "yes": pa.array([None, None, number == 2, None, None]),
        }
    )


def write(root: Path, number: int, partitions: int = 3) -> None:
    folder = root / f"p={number % partitions}"
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(rows(number), folder / f"{number}.parquet")
    settle(root)


def parts(tmp_path: Path, kind: str) -> tuple[list[bytes], list[bytes]]:
    indexes = tmp_path / "_metaindex" / "lake"
    together, apart = (
        [p.read_bytes() for p in sorted((indexes / name / kind).rglob("*.mix"), key=lambda p: p.stat().st_mtime_ns)]
        for name in ("together", "apart")
    )
    return together, apart


@pytest.mark.parametrize("partitions", [3, 7])
def test_columns_together_are_columns_one_by_one(tmp_path: Path, partitions: int) -> None:
    root = tmp_path / "lake"
    broken = root / f"p={partitions + 1}" / "broken.parquet" if partitions == 7 else root / "p=1" / "broken.parquet"
    broken.parent.mkdir(parents=True)
    broken.write_bytes(b"PAR1 nothing else")
    os.utime(broken, (1, 1))  # the newest file tells the columns
    for number in range(7):
        write(root, number, partitions)
    table = mi.open_table(str(root))
    table.create_index("together", mi.ColumnStats(), builder="local")
    with patch("metaindex.index.build.local.MOST_ROWS", 0):
        table.create_index("apart", mi.ColumnStats(), builder="local")
    for kind in ("column_stats", "partition_stats"):
        together, apart = parts(tmp_path, kind)
        assert len(together) == 1
        assert together == apart


@pytest.mark.slow
@patch("metaindex.index.build.digests.secrets.token_bytes", bytes)  # else each run has another seed
def test_columns_merged_together_are_columns_merged_one_by_one(tmp_path: Path) -> None:
    root = tmp_path / "lake"
    for number in range(4):
        write(root, number)
    names = ("together", "apart")
    for name in names:
        mi.open_table(str(root)).create_index(name, mi.ColumnStats(), builder="local")
    for number in range(4, 6):
        write(root, number)
        table = mi.open_table(str(root))
        for name in names:
            table.refresh_index(name, builder="local")
    wider = rows(6).append_column("more", pa.array(range(5), pa.int32())).drop(["raw"])
    pq.write_table(wider, root / "p=2" / "6.parquet")
    settle(root)
    table = mi.open_table(str(root), mergeSchema=True)
    for name in names:
        table.refresh_index(name, builder="local")
    table.optimize_index("together", "full")
    with patch("metaindex.index.store.kway._AT_ONCE", 0):
        table.optimize_index("apart", "full")
    for kind in ("column_stats", "partition_stats", "files"):
        together, apart = parts(tmp_path, kind)
        assert together[-1] == apart[-1]
    for question in ("id = 12", "price > -2", "name IS NULL AND p = 1", "more > 2"):
        assert set(table.prune(question, indexes=["together"]).paths) == set(
            table.prune(question, indexes=["apart"]).paths
        )


@pytest.mark.parametrize("most_rows", [0, 1 << 16])
def test_a_merge_that_leaves_no_file(tmp_path: Path, most_rows: int) -> None:
    root = tmp_path / "lake"
    write(root, 0)
    table = mi.open_table(str(root))
    content = table.create_index("stats", mi.ColumnStats(), builder="local").entry.content
    storage = handle_of(table).indexes().log("stats").storage
    reader = RunReader(storage, content.runs[0], StoreCache(), ReadCount())
    with patch("metaindex.index.store.kway._AT_ONCE", most_rows):
        merged = merge_runs([reader], RunSink(storage, "nothing"), {content.runs[0].run: np.zeros(1, np.bool_)})
    assert (merged.run.files, merged.run.partitions) == (0, 0)
    assert merged.ordinals[content.runs[0].run].tolist() == [-1]
