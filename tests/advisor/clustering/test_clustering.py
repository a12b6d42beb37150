"""`Table.clustering` over real tables of every format: what is measured, from where, and what is told of what is not
known. Nothing is written."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

import metaindex as mi
from tests.advisor.tables import filled_with, tree
from tests.tables import FORMATS, csv_lake, delta_lake, iceberg_lake, parquet_lake, settle


def rows(first: int, count: int = 100) -> pa.Table:
    ids = np.arange(first, first + count)
    return pa.table({"id": ids, "mod": ids % 7, "name": [f"name-{one * 37 % 1000:04d}" for one in ids]})


def filled(folder: Path, kind: str, files: int = 8) -> mi.Table:
    return filled_with((rows(number * 100) for number in range(files)), folder, kind)


@pytest.mark.parametrize("kind", sorted(FORMATS))
def test_every_format_is_measured_by_what_it_knows_and_nothing_is_written(tmp_path: Path, kind: str) -> None:
    table = filled(tmp_path, kind)
    before = tree(tmp_path)
    found = table.clustering()
    assert tree(tmp_path) == before
    assert (found.files, found.format) == (8, "files" if kind in ("parquet", "csv") else kind)
    if kind == "csv":
        assert (found.columns, found.without_bounds) == ((), ("id", "mod", "name"))
        assert "an index of column statistics has them" in str(found)
        return
    source = "footers" if kind == "parquet" else "log"
    said = [(one.column, dict(one.sources)) for one in found.columns]
    assert said == [(name, {source: 8}) for name in ("id", "mod", "name")]
    by_id, by_mod = found["id"], found["mod"]
    assert (by_id.average_depth, by_id.average_overlaps, dict(by_id.depth_histogram)) == (1, 0, {1: 8})
    assert by_id.value_files == pytest.approx(1)
    assert 1 < by_id.range_files < 1.2
    assert (by_mod.average_depth, by_mod.average_overlaps, dict(by_mod.depth_histogram)) == (8, 7, {8: 8})
    assert (by_mod.value_share, by_mod.range_share, by_mod.range_bytes_share) == pytest.approx((1, 1, 1))


@pytest.mark.parametrize("kind", sorted(FORMATS))
def test_the_column_statistics_of_an_index_come_first(tmp_path: Path, kind: str) -> None:
    table = filled(tmp_path, kind)
    table.create_index("stats", mi.ColumnStats("id", "name"), builder="local")
    found = table.clustering("id", "name", "mod")
    assert dict(found["id"].sources) == {"index stats": 8}
    assert found["id"].average_depth == 1
    assert found["id"].loose_files == 0
    other = {"parquet": {"footers": 8}, "csv": None, "delta": {"log": 8}, "iceberg": {"log": 8}}[kind]
    assert other == (dict(found["mod"].sources) if other else None)
    without = table.reopened(mi.Config(use_indexes=False)).clustering("id")
    assert table.clustering("id", indexes=[]).to_json() == without.to_json()


@pytest.mark.parametrize("kind", ["delta", "iceberg", "parquet"])
def test_files_that_an_index_does_not_know_are_told_of_by_the_table(tmp_path: Path, kind: str) -> None:
    lake = FORMATS[kind](tmp_path)
    lake.append(rows(0))
    lake.open().create_index("stats", mi.ColumnStats(), builder="local")
    lake.append(rows(100))
    found = lake.open().clustering("id")["id"]
    assert dict(found.sources) == {"index stats": 1, "footers" if kind == "parquet" else "log": 1}
    assert (found.bounded_files, found.average_depth) == (2, 1)


def test_a_damaged_index_is_left_out_and_told(tmp_path: Path) -> None:
    table = filled(tmp_path, "delta")
    table.create_index("stats", mi.ColumnStats(), builder="local")
    for part in (tmp_path / "lake" / "_metaindex").rglob("*.mix"):
        part.write_bytes(b"no part of an index")
    found = mi.open_table(table.path).clustering()
    assert dict(found["id"].sources) == {"log": 8}
    assert [note.split(":")[0] for note in found.notes] == ["index stats is left out"]
    assert "index stats is left out" in str(found)


def test_half_of_the_statistics_is_missing(tmp_path: Path) -> None:
    path = str(tmp_path / "t")
    write_deltalake(path, rows(0), configuration={"delta.dataSkippingNumIndexedCols": "0"})
    write_deltalake(path, rows(100), mode="append")
    DeltaTable(path).alter.set_table_properties({"delta.dataSkippingNumIndexedCols": "2"})
    write_deltalake(path, rows(200), mode="append")
    write_deltalake(path, rows(300), mode="append")
    found = mi.open_table(path).clustering()
    one = found["id"]
    assert (one.files, one.bounded_files, one.unknown_files, one.empty_files) == (4, 2, 2, 0)
    assert (one.average_depth, one.average_overlaps) == (1, 0)  # of those with bounds
    assert one.value_files == pytest.approx(3)  # those without are read by each query
    assert found.without_bounds == ("name",)
    assert "no bounds" in str(found)


def test_null_and_nan(tmp_path: Path) -> None:
    lake = parquet_lake(tmp_path)
    nothing = pa.array([None, None], pa.float64())
    for values in ([1.0, 2.0], [None, 2.0], [5.0, 6.0]):
        lake.append(pa.table({"v": pa.array(values, pa.float64()), "w": pa.array([1.0, 2.0])}))
    lake.append(pa.table({"v": nothing, "w": pa.array([1.0, 2.0])}))
    lake.append(pa.table({"v": pa.array([float("nan")] * 2), "w": pa.array([1.0, 2.0])}))
    table = lake.open()
    table.create_index("stats", mi.ColumnStats(), builder="local")
    one = table.clustering("v")["v"]
    assert (one.bounded_files, one.empty_files, one.unknown_files) == (3, 2, 0)
    assert (one.constant_files, one.max_depth, dict(one.depth_histogram)) == (1, 2, {1: 1, 2: 2})
    assert one.constant_share == pytest.approx(1 / 3)
    # The file of one value has one row of it, the others two: 2 rows read 1 file, 1 row both, and [1, 2] is near both.
    assert 1 < one.value_files < 2


def test_partition_columns_are_constant_in_each_file(tmp_path: Path) -> None:
    days = pa.table({"day": np.repeat(np.arange(4), 10), "id": np.tile(np.arange(10), 4)})
    write_deltalake(str(tmp_path / "delta"), days, partition_by=["day"])
    pq.write_to_dataset(days, str(tmp_path / "files"), partition_cols=["day"])
    settle(tmp_path / "files")
    for name in ("delta", "files"):
        one = mi.open_table(tmp_path / name).clustering("day")["day"]
        assert (one.partition, dict(one.sources), one.constant_share) == (True, {"partition": 4}, 1)
        assert (one.average_depth, one.value_files) == (1, pytest.approx(1))


def test_fields_of_structs_are_columns_and_a_struct_is_all_of_them(tmp_path: Path) -> None:
    lake = delta_lake(tmp_path)
    for first in (0, 10):
        lake.append(pa.table({"s": [{"a": first + i, "b": str(i), "l": [i]} for i in range(10)]}))
    table = lake.open()
    assert [one.column for one in table.clustering().columns] == ["s.a", "s.b"]
    assert [one.column for one in table.clustering("s").columns] == ["s.a", "s.b"]
    assert table.clustering("s.a")["s.a"].average_depth == 1


def test_truncated_bounds_are_loose(tmp_path: Path) -> None:
    lake = iceberg_lake(tmp_path)
    lake.append(pa.table({"text": ["a" * 40, "b" * 40], "short": ["a", "b"]}))
    found = lake.open().clustering()
    assert found["text"].loose_files == 1
    assert "; loose" in str(found)


def test_an_empty_table_and_one_of_one_file(tmp_path: Path) -> None:
    empty = str(tmp_path / "empty")
    write_deltalake(empty, rows(0).slice(0, 0))
    found = mi.open_table(empty).clustering()
    assert (found.files, found.columns, found.advice) == (0, (), ())
    assert "nothing to lay out" in str(found)
    single = filled(tmp_path, "parquet", files=1).clustering()
    assert single["id"].average_depth == 1
    assert (single["id"].value_share, single["id"].range_share) == (1, 1)
    assert single.sampled.reason == "a table of one file has nothing to leave out"


def test_columns_that_are_none_are_refused_in_a_line(tmp_path: Path) -> None:
    lake = delta_lake(tmp_path)
    lake.append(pa.table({"id": [1], "tags": [["a"]]}))
    table = lake.open()
    with pytest.raises(mi.UnknownColumnError, match="there is no 'idd'; near names: id"):
        table.clustering("idd")
    with pytest.raises(mi.UnknownColumnError, match="tags"):
        table.clustering("tags")
    with pytest.raises(mi.ArgumentError, match="a column is named by text"):
        table.clustering(3)  # type: ignore[arg-type]
    for share in (-0.1, 1.5, True, "1%", float("nan")):
        with pytest.raises(mi.ArgumentError, match="a sample is a share"):
            table.clustering(sample=share)  # type: ignore[arg-type]
    with pytest.raises(mi.VersionNotFoundError):
        table.clustering(version=7)


def test_an_older_version_is_measured_as_it_was(tmp_path: Path) -> None:
    table = filled(tmp_path, "delta", files=3)
    assert table.clustering(version=0).files == 1
    assert table.clustering().files == 3


def test_csv_files_are_measured_by_their_index_and_get_no_statement(tmp_path: Path) -> None:
    lake = csv_lake(tmp_path)
    for first in (0, 0, 0):
        lake.append(rows(first))
    table = lake.open()
    table.create_index("stats", mi.ColumnStats(), builder="local")
    found = table.clustering()
    assert found["id"].average_depth == 3
    assert found.advice == ()
    assert "CoveringRange" in found.sampled.reason
