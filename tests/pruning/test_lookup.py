"""Keyed look-ups find exactly what was asked, in few reads."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import metaindex as mi
from metaindex.keys import column_id, file_ids, key, key_prefix, partition_id
from metaindex.pruning.lookup import files_by_id, partitions_by_id
from metaindex.table.face import handle_of
from tests.tables import settle


def lake(tmp_path: Path) -> mi.Table:
    root = tmp_path / "lake"
    for part in range(3):
        (root / f"p={part}").mkdir(parents=True)
        for number in range(4):
            ids = range(part * 100 + number * 10, part * 100 + number * 10 + 10)
            values = [None if i % 10 == 0 else float(i) for i in ids]
            pq.write_table(
                pa.table({"id": ids, "x": pa.array(values, pa.float64())}), root / f"p={part}" / f"{number}.parquet"
            )
    settle(root)
    table = mi.open_table(str(root))
    table.create_index("stats", mi.ColumnStats(), builder="local")
    return table


def test_an_id_leads_to_its_file(tmp_path: Path) -> None:
    table = lake(tmp_path)
    files = table.snapshot().files
    ids = file_ids(files).to_pylist()

    found = files_by_id(handle_of(table).open_index("stats"), [ids[5], b"\0" * 16])

    assert found.column("path").to_pylist() == [files.entry(5).path]
    assert found.column("file_id").to_pylist() == [ids[5]]
    assert files_by_id(handle_of(table).open_index("stats"), ids).num_rows == len(files)
    assert files_by_id(handle_of(table).open_index("stats"), []).num_rows == 0


def test_an_id_leads_to_its_partition(tmp_path: Path) -> None:
    found = partitions_by_id(handle_of(lake(tmp_path)).open_index("stats"), [partition_id("p=1"), 12345])

    assert found.column("partition").to_pylist() == ["p=1"]
    assert found.column("file_count").to_pylist() == [4]


def test_statistics_of_a_column_in_a_partition(tmp_path: Path) -> None:
    table = lake(tmp_path)

    found = table.statistics("stats", "x", "p=2")

    assert found.column("path").to_pylist() == [f"p=2/{n}.parquet" for n in range(4)]
    assert found.column("lower").to_pylist() == [201.0, 211.0, 221.0, 231.0]
    assert found.column("upper").to_pylist() == [209.0, 219.0, 229.0, 239.0]
    assert found.column("null_count").to_pylist() == [1] * 4
    assert found.column("nan_count").to_pylist() == [0] * 4
    assert found.column("value_count").to_pylist() == [10] * 4
    assert all(size > 0 for size in found.column("compressed_bytes").to_pylist())
    assert table.statistics("stats", "x").num_rows == 12
    assert table.statistics("stats", "nope").num_rows == 0


def test_keys_share_the_prefix_of_their_column_and_partition() -> None:
    column, partition = column_id("x"), partition_id("p=2")

    assert key(column, partition, b"f" * 16).startswith(key_prefix(column, partition))
    assert key_prefix(column, partition).startswith(key_prefix(column))
    assert len(key(column, partition, b"f" * 16)) == 32
