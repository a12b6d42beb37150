"""A needle is found by work that does not grow with the table: columns of files are judged at once, and only kept files
are touched."""

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import metaindex as mi
from tests.formats.delta import hand

ROWS = 10


def table_of(root: Path, files: int, needle: int) -> mi.Table:
    """`files` files of ten ids each in the log; only the one with the needle exists."""
    root.mkdir()
    adds = [
        hand.add(
            f"f{i}.parquet",
            stats={
                "numRecords": ROWS,
                "minValues": {"id": i * ROWS},
                "maxValues": {"id": i * ROWS + ROWS - 1},
                "nullCount": {"id": 0},
            },
        )
        for i in range(files)
    ]
    file = needle // ROWS
    pq.write_table(pa.table({"id": np.arange(file * ROWS, file * ROWS + ROWS)}), root / f"f{file}.parquet")
    adds[file]["add"]["size"] = (root / f"f{file}.parquet").stat().st_size
    hand.commit(root, 0, hand.protocol(), hand.metadata(), *adds)
    return mi.open_table(str(root))


def calls_of_a_second_scan(table: mi.Table, needle: int) -> int:
    """Python functions called, once everything is imported and the snapshot is known."""
    assert table.scan(f"id = {needle}").to_arrow().to_pydict() == {"id": [needle]}
    count = 0

    def profiled(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(profiled)
    try:
        found = table.scan(f"id = {needle}").to_arrow()
    finally:
        sys.setprofile(before)
    assert found.num_rows == 1
    return count


def test_a_needle_costs_as_many_calls_in_a_large_table_as_in_a_small_one(tmp_path: Path) -> None:
    few = calls_of_a_second_scan(table_of(tmp_path / "few", 20, 57), 57)
    many = calls_of_a_second_scan(table_of(tmp_path / "many", 3000, 17_057), 17_057)
    assert many < few * 1.1 + 20
