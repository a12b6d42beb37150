"""A scan reads the files that an index names without the table's snapshot, where nothing else of them is needed; else
the snapshot is loaded. The rows are the same."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import metaindex as mi
from tests.tables import delta_lake, iceberg_lake, parquet_lake


def rows(first: int) -> pa.Table:
    return pa.table({"id": range(first, first + 4), "v": ["a", "b", None, "d"], "s": [{"x": first}] * 4})


@pytest.fixture
def no_snapshot(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    def forbid() -> None:
        def refuse(*_: object) -> None:
            raise AssertionError("the snapshot was loaded")

        for name in ("delta.table.DeltaFormat.snapshot", "iceberg.table.IcebergFormat.snapshot"):
            monkeypatch.setattr(f"metaindex.formats.{name}", refuse)
        for name in ("_now", "_then", "FilesFormat.snapshot"):
            monkeypatch.setattr(f"metaindex.formats.files.table.{name}", refuse)

    return forbid


@pytest.mark.parametrize("lake", [delta_lake, parquet_lake, iceberg_lake])
def test_no_snapshot_is_loaded(lake: Callable[[Path], object], tmp_path: Path, no_snapshot: Callable[[], None]) -> None:
    made = lake(tmp_path)
    for first in range(0, 40, 4):
        made.append(rows(first))  # type: ignore[attr-defined]
    made.open().create_index("find", mi.Values("id"), builder="local")  # type: ignore[attr-defined]
    table = made.open()  # type: ignore[attr-defined]
    no_snapshot()
    scan = table.scan("id IN (5, 14)", columns=["s", "id", "v"])
    assert scan.result.kept_files == 2
    expected = [{"s": {"x": 4}, "id": 5, "v": "b"}, {"s": {"x": 12}, "id": 14, "v": None}]
    assert sorted(scan.to_arrow().to_pylist(), key=lambda row: row["id"]) == expected
    assert scan.to_dataset().to_table(filter=pa.compute.field("id") == 14).num_rows == 1
    assert [row["matches"] for row in table.locate("id = 5", exact=True).table.to_pylist()] == [1]


def test_the_whole_scan_is_of_the_tables_own_snapshot(tmp_path: Path) -> None:
    lake = delta_lake(tmp_path)
    for first in range(0, 20, 4):
        lake.append(rows(first))
    lake.open().create_index("find", mi.Values("id"), builder="local")
    scan = lake.open().scan("id = 5")
    whole = scan.whole()
    assert (len(scan.snapshot.files), len(whole.snapshot.files)) == (1, 5)
    assert whole.to_arrow().equals(scan.to_arrow())
    assert whole.whole() is whole


def test_partitions_need_the_snapshot(tmp_path: Path) -> None:
    import deltalake

    root = str(tmp_path / "t")
    for n in range(6):
        deltalake.write_deltalake(root, pa.table({"id": [n], "p": [n % 2]}), mode="append", partition_by=["p"])
    mi.open_table(root).create_index("find", mi.Values("id"), builder="local")
    scan = mi.open_table(root).scan("id = 3")
    assert len(scan.snapshot.files) == 6
    assert scan.to_arrow().to_pylist() == [{"id": 3, "p": 1}]


def test_pyiceberg_is_given_the_whole_snapshot(tmp_path: Path) -> None:
    lake = iceberg_lake(tmp_path)
    for first in range(0, 20, 4):
        lake.append(rows(first).select(["id", "v"]))
    lake.open().create_index("find", mi.Values("id"), builder="local")
    assert lake.open().scan("id = 5").to_pyiceberg().to_arrow().to_pylist() == [{"id": 5, "v": "b"}]


def test_a_commit_is_seen_by_the_next_scan(tmp_path: Path) -> None:
    lake = delta_lake(tmp_path)
    for first in range(0, 20, 4):
        lake.append(rows(first))
    table = lake.open()
    table.create_index("find", mi.Values("id"), builder="local")
    assert table.scan("id = 5").to_arrow().num_rows == 1
    lake.append(rows(4))
    assert table.scan("id = 5").to_arrow().num_rows == 2


@pytest.mark.slow
def test_a_look_up_in_a_new_process_loads_nothing_slow(tmp_path: Path) -> None:
    lake = delta_lake(tmp_path)
    for first in range(0, 20, 4):
        lake.append(rows(first))
    lake.open().create_index("find", mi.Values("id", "v"), mi.Bloom("id"), mi.ColumnStats(), builder="local")
    asked = ("id = 5", "v = 'b'", "id IN (5, 14)", "id = 99")
    text = (
        f"import sys, metaindex as mi; t = mi.open_table({lake.path!r}); print([t.scan(p).to_arrow().num_rows for p in"
        f" {asked!r}], [name for name in ('pandas', 'numpy.ma') if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[1, 5, 2, 0] []"
