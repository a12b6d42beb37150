"""Rows that are deleted by position or by their values are left out, before any predicate."""

from pathlib import Path

import pyarrow as pa

from metaindex.formats import Field, Leaf, Schema
from metaindex.formats.model import EqualityDelete
from tests.query.readers.lake import Lake, with_id

INT = pa.int64()


def test_deleted_positions_are_left_out_before_the_predicate(tmp_path: Path) -> None:
    lake = Lake(tmp_path, Schema((Field("a", INT),)))
    row = lake.add("f.parquet", pa.table({"a": list(range(300_000))}), row_group_size=1000)
    gone = [0, 999, 1000, 131_071, 131_072, 299_999]
    lake.delete(row, gone)
    assert lake.scan().to_arrow().column("a").to_pylist() == sorted(set(range(300_000)) - set(gone))
    assert [r["a"] for r in lake.read("a IN (999, 1001, 131072)")] == [1001]


def test_a_wholly_deleted_file_gives_no_rows(tmp_path: Path) -> None:
    lake = Lake(tmp_path, Schema((Field("a", INT),)))
    lake.delete(lake.add("f.parquet", pa.table({"a": [1, 2]})), [0, 1])
    assert lake.read() == []


def test_equality_deletes_take_null_for_null_and_nan_for_nan(tmp_path: Path) -> None:
    fields = (Field("a", INT, field_id=1), Field("f", pa.float64(), field_id=2), Field("s", pa.string(), field_id=3))
    lake = Lake(tmp_path, Schema(fields), format="iceberg")
    nan = float("nan")
    rows = {"a": [1, 1, None, None, 2, 3], "f": [nan, 0.0, None, 1.0, -0.0, 1.0], "s": ["u", "v", "w", "x", "y", "z"]}
    lake.add("f.parquet", pa.table(rows))
    leaves = (Leaf((fields[0],)), Leaf((fields[1],)))
    lake.delete(0, [5], [EqualityDelete(leaves, pa.table({"a": [1, None, 2, 7], "f": [nan, None, 0.0, 1.0]}))])
    assert [r["s"] for r in lake.read()] == ["v", "x", "y"]
    assert lake.read("s > 'w'", columns=["s"]) == [{"s": "x"}, {"s": "y"}]
    lake.delete(0, [], [EqualityDelete(leaves[:1], pa.table({"a": pa.array([None], INT)}))])
    assert [r["s"] for r in lake.read(columns=["s"])] == ["u", "v", "y", "z"]


def test_equality_deletes_of_several_files_add_up(tmp_path: Path) -> None:
    fields = (
        Field("a", INT, field_id=1),
        Field("n", pa.struct({"k": INT}), field_id=2, children=(Field("k", INT, field_id=3),)),
    )
    lake = Lake(
        tmp_path,
        Schema(fields),
        format="iceberg",
        options={
            "name_mapping": (
                '[{"field-id": 1, "names": ["a"]}, {"field-id": 2, "names": ["n"]}, {"field-id": 3, "names": ["k"]}]'
            )
        },
    )
    lake.add("f.parquet", pa.table({"a": [1, 2, 3], "n": pa.array([{"k": 10}, {"k": 20}, None])}))
    by_a = EqualityDelete((Leaf((fields[0],)),), pa.table({"a": [2]}))
    by_k = EqualityDelete(
        (Leaf((fields[1], fields[1].children[0])),), pa.table({"n": pa.array([None], pa.struct({"k": INT}))})
    )
    lake.delete(0, [], [by_a, by_k])
    assert [r["a"] for r in lake.read()] == [1]


def test_an_equality_delete_of_an_added_column_sees_its_default(tmp_path: Path) -> None:
    added = Field("d", INT, field_id=2, default=7)
    lake = Lake(tmp_path, Schema((Field("a", INT, field_id=1),)), format="iceberg")
    lake.add("f.parquet", pa.table([pa.array([1, 2])], schema=pa.schema([with_id("a", INT, 1)])))
    lake.delete(0, [], [EqualityDelete((Leaf((added,)),), pa.table({"d": [7]}))])
    assert lake.read() == []
