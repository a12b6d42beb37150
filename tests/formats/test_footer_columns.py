"""Which column of a file is asked for, what is said of one that it does not hold, and of one that was written as
another type."""

import datetime as dt
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from metaindex.formats.model import Field, Schema
from metaindex.formats.parquet.footers import read_footers
from metaindex.formats.parquet.trust import Doubt
from metaindex.storage import LocalStorage
from tests.formats.footers_of import doubt, footers, one, said


@pytest.mark.parametrize(
    ("written", "asked", "expected"),
    [
        (pa.array([1, 2], pa.int32()), pa.int64(), (1, 2)),
        (pa.array([1, 2], pa.int64()), pa.float64(), (1.0, 2.0)),
        (pa.array([1.5, 2.5], pa.float32()), pa.float64(), (1.5, 2.5)),
        (pa.array([Decimal("1.10")], pa.decimal128(5, 2)), pa.decimal128(30, 4),
            (Decimal("1.1000"), Decimal("1.1000"))),
        (pa.array([dt.date(2020, 1, 2)]), pa.timestamp("us"), (dt.datetime(2020, 1, 2), dt.datetime(2020, 1, 2))),
        (pa.array(["a", "b"]), pa.binary(), (b"a", b"b")),
        (pa.array([1500], pa.timestamp("ns")), pa.timestamp("us"), (dt.datetime(1970, 1, 1, 0, 0, 0, 1),
            dt.datetime(1970, 1, 1, 0, 0, 0, 2))),
    ],
)  # fmt: skip
def test_the_type_at_write_time_converts(
    tmp_path: Path, written: pa.Array, asked: pa.DataType, expected: tuple[object, object]
) -> None:
    pq.write_table(pa.table({"c": written}), tmp_path / "a.parquet")
    column = one(footers([tmp_path / "a.parquet"], pa.schema([("c", asked)])), "c")
    assert said(column)[:2] == expected


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        (pa.array(["1", "2"]), pa.int64()),
        (pa.array([1, 2]), pa.string()),
        (pa.array([1.5]), pa.float32()),
        (pa.array([1], pa.timestamp("us")), pa.timestamp("us", "UTC")),
        (pa.array([Decimal("1.234")], pa.decimal128(5, 3)), pa.decimal128(5, 2)),
        (pa.array([True]), pa.int32()),
        (pa.array([{"x": 1}]), pa.int64()),
        (pa.array([[1]]), pa.int64()),
    ],
)
def test_a_type_that_does_not_convert_is_unknown(tmp_path: Path, written: pa.Array, asked: pa.DataType) -> None:
    pq.write_table(pa.table({"c": written}), tmp_path / "a.parquet")
    column = one(footers([tmp_path / "a.parquet"], pa.schema([("c", asked)])), "c")
    assert said(column)[:2] == (None, None)
    assert doubt(column) == Doubt.OTHER_TYPE.value


def test_an_absent_column_shows_what_the_table_shows_for_it(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1, 2, 3]}), tmp_path / "a.parquet")
    leaves = Schema(
        (
            Field("missing", pa.int64()),
            Field("seven", pa.int64(), default=7),
            Field("unknown", pa.int64(), default_known=False),
            Field("s", pa.struct([("x", pa.string())]), children=(Field("x", pa.string()),)),
        )
    ).leaves()
    missing, seven, unknown, nested = read_footers(LocalStorage(str(tmp_path)), ["a.parquet"], leaves).columns
    assert (said(missing), doubt(missing)) == ((None, None, 3), None)
    assert (said(seven), doubt(seven)) == ((7, 7, 0), None)
    assert (said(unknown), doubt(unknown)) == ((None, None, None), Doubt.NOT_MAPPED.value)
    assert said(nested) == (None, None, 3)
    assert [c.present.to_pylist() for c in (missing, unknown)] == [[False], [None]]


def test_a_default_inside_a_struct_is_null_where_the_struct_is(tmp_path: Path) -> None:
    pq.write_table(pa.table({"s": [{"y": 1}, None]}), tmp_path / "a.parquet")
    x, y = Field("x", pa.int64(), default=7), Field("y", pa.int64())
    leaves = Schema((Field("s", pa.struct([("x", pa.int64()), ("y", pa.int64())]), children=(x, y)),)).leaves()
    inside, _ = read_footers(LocalStorage(str(tmp_path)), ["a.parquet"], leaves).columns
    assert (said(inside), doubt(inside)) == ((None, None, None), Doubt.NOT_MAPPED.value)


def test_names_match_without_case_and_never_two(tmp_path: Path) -> None:
    pq.write_table(pa.table({"Abc": [1], "x": [2], "X": [3], "yY": [4], "Yy": [5]}), tmp_path / "a.parquet")
    statistics = footers([tmp_path / "a.parquet"], pa.schema([(n, pa.int64()) for n in ("aBC", "x", "yy")]))
    assert said(one(statistics, "aBC"))[:2] == (1, 1)
    assert doubt(one(statistics, "x")) == Doubt.AMBIGUOUS.value  # Spark and our readers refuse it, too
    assert doubt(one(statistics, "yy")) == Doubt.AMBIGUOUS.value


def test_two_columns_of_one_name_are_ambiguous(tmp_path: Path) -> None:
    pq.write_table(pa.table([[1], [2]], names=["a", "a"]), tmp_path / "a.parquet")
    statistics = footers([tmp_path / "a.parquet"], pa.schema([("a", pa.int64())]))
    assert doubt(one(statistics, "a")) == Doubt.AMBIGUOUS.value


def test_a_name_that_holds_a_dot_is_not_a_path(tmp_path: Path) -> None:
    table = pa.table({"s.x": [1], "s": [{"x": 2}]})
    pq.write_table(table, tmp_path / "a.parquet")
    statistics = footers([tmp_path / "a.parquet"], table.schema)
    assert [said(c)[:2] for c in statistics.columns] == [(1, 1), (2, 2)]


def test_field_ids_outweigh_names(tmp_path: Path) -> None:
    written = pa.schema(
        [
            pa.field("old", pa.int64(), metadata={"PARQUET:field_id": "1"}),
            pa.field("b", pa.int64(), metadata={"PARQUET:field_id": "2"}),
            pa.field(
                "s",
                pa.struct([pa.field("x", pa.int64(), metadata={"PARQUET:field_id": "4"})]),
                metadata={"PARQUET:field_id": "3"},
            ),
        ]
    )
    table = pa.Table.from_pydict({"old": [1], "b": [2], "s": [{"x": 3}]}, written)
    pq.write_table(table, tmp_path / "a.parquet")
    inner = Field("renamed", pa.int64(), field_id=4)
    leaves = Schema(
        (
            Field("new", pa.int64(), field_id=1),
            Field(
                "old", pa.int64(), field_id=9
            ),  # added after "old" was renamed: not the column of that name in the file
            Field("t", pa.struct([("renamed", pa.int64())]), field_id=3, children=(inner,)),
        )
    ).leaves()
    new, old, nested = read_footers(LocalStorage(str(tmp_path)), ["a.parquet"], leaves).columns
    assert said(new) == (1, 1, 0)
    assert said(old) == (None, None, 1)
    assert said(nested) == (3, 3, 0)


def test_layouts_that_differ_only_in_structure_are_told_apart(tmp_path: Path) -> None:
    required = pa.field("x", pa.int64(), nullable=True)
    pq.write_table(pa.table({"x": [1]}), tmp_path / "flat.parquet")
    nested = pa.schema([pa.field("s", pa.struct([required]), nullable=False)])
    pq.write_table(pa.Table.from_pylist([{"s": {"x": 2}}], nested), tmp_path / "nested.parquet")
    paths = [tmp_path / "flat.parquet", tmp_path / "nested.parquet"]
    column = one(footers(paths, pa.schema([("x", pa.int64())])), "x")
    assert said(column, 0) == (1, 1, 0)
    assert said(column, 1) == (None, None, 1)
