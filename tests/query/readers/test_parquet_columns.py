"""Columns of Parquet files: found by name, id or place, defaults where they are absent, values brought to the table's
type, and what is refused."""

import datetime as dt
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from metaindex.core import ScanError
from metaindex.formats import Field, Schema
from tests.query.readers.lake import Lake, fields_of, with_id

INT = pa.int64()


def test_dictionaries_inside_structs_are_read_from_every_row_group(tmp_path: Path) -> None:
    words = pa.array(["x", None, "y"]).dictionary_encode()
    lake = Lake(tmp_path, Schema(fields_of(pa.schema({"s": pa.struct({"word": pa.string()})}))))
    lake.add("a.parquet", pa.table({"s": pa.StructArray.from_arrays([words], ["word"])}), row_group_size=1)
    assert lake.read() == [{"s": {"word": "x"}}, {"s": {"word": None}}, {"s": {"word": "y"}}]


def test_an_added_column_is_null_or_its_default(tmp_path: Path) -> None:
    fields = (Field("a", INT), Field("n", pa.string()), Field("d", pa.int32(), default=7))
    lake = Lake(tmp_path, Schema(fields))
    lake.add("old.parquet", pa.table({"a": [1, 2]}))
    assert lake.read() == [{"a": 1, "n": None, "d": 7}, {"a": 2, "n": None, "d": 7}]
    assert lake.read(columns=["d"]) == [{"d": 7}, {"d": 7}]
    assert lake.read("n IS NULL AND d = 7", columns=["a"]) == [{"a": 1}, {"a": 2}]
    lake.schema = Schema((Field("a", INT), Field("u", INT, default_known=False)))
    assert lake.read(columns=["a"]) == [{"a": 1}, {"a": 2}]
    with pytest.raises(ScanError, match="'u' is not known"):
        lake.read()


def test_a_file_of_only_unasked_columns_gives_its_rows(tmp_path: Path) -> None:
    lake = Lake(tmp_path, Schema((Field("n", INT),)))
    lake.add("f.parquet", pa.table({"other": list(range(300_000))}))
    assert lake.scan().to_arrow().num_rows == 300_000


def test_renamed_columns_are_found_by_source_at_every_depth(tmp_path: Path) -> None:
    inner = Field("y", INT, source="col-9")
    fields = (
        Field("a b", INT, source="col-1"),
        Field("s", pa.struct({"y": INT}), source="col-2", children=(inner,)),
    )
    lake = Lake(tmp_path, Schema(fields))
    lake.add("f.parquet", pa.table({"col-1": [1], "col-2": pa.array([{"col-9": 5, "col-8": 6}]), "a b": [9]}))
    assert lake.read() == [{"a b": 1, "s": {"y": 5}}]


def test_fields_with_ids_are_found_by_id_only(tmp_path: Path) -> None:
    fields = (Field("new", INT, field_id=1, source="new"), Field("a", INT, field_id=5, source="a"))
    lake = Lake(tmp_path, Schema(fields), format="iceberg", options={"file_format": "parquet", "name_mapping": None})
    old = pa.schema([with_id("a", INT, 1)])
    lake.add("f.parquet", pa.table([pa.array([3])], schema=old))
    assert lake.read() == [{"new": 3, "a": None}]


def test_iceberg_files_without_ids_are_read_by_the_name_mapping(tmp_path: Path) -> None:
    mapping = (
        '[{"field-id": 1, "names": ["a", "once"]},'
        ' {"field-id": 2, "names": ["s"], "fields": [{"field-id": 3, "names": ["x"]}]}]'
    )
    inner = Field("renamed", INT, field_id=3)
    fields = (
        Field("b", INT, field_id=1),
        Field("s", pa.struct({"renamed": INT}), field_id=2, children=(inner,)),
        Field("c", INT, field_id=4),
    )
    lake = Lake(tmp_path, Schema(fields), format="iceberg", options={"name_mapping": mapping})
    lake.add("f.parquet", pa.table({"once": [1], "s": pa.array([{"x": 2}]), "c": [9]}))
    assert lake.read() == [{"b": 1, "s": {"renamed": 2}, "c": None}]


def test_iceberg_files_without_ids_and_mapping_are_read_by_position(tmp_path: Path) -> None:
    fields = (Field("b", INT, field_id=2), Field("a", INT, field_id=1), Field("c", INT, field_id=3))
    lake = Lake(tmp_path, Schema(fields), format="iceberg")
    lake.add("f.parquet", pa.table({"x": [1], "y": [2]}))
    assert lake.read() == [{"b": 2, "a": 1, "c": None}]


def test_names_are_found_without_regard_to_case_but_not_in_iceberg(tmp_path: Path) -> None:
    lake = Lake(tmp_path, Schema((Field("Key", INT),)))
    lake.add("f.parquet", pa.table({"KEY": [1]}))
    assert lake.read() == [{"Key": 1}]
    lake.format = "iceberg"
    assert lake.read() == [{"Key": None}]


def test_two_columns_that_fit_a_name_are_refused(tmp_path: Path) -> None:
    lake = Lake(tmp_path, Schema((Field("k", INT),)))
    lake.add("f.parquet", pa.table({"k": [1], "K": [2]}))
    with pytest.raises(ScanError, match="'k' fits k, K"):
        lake.read()


def test_a_column_name_with_a_dot_is_not_a_path(tmp_path: Path) -> None:
    schema = pa.schema({"a": pa.struct({"b": INT}), "a.b": INT})
    lake = Lake(tmp_path, Schema(fields_of(schema)))
    lake.add("f.parquet", pa.table({"a.b": [1], "a": pa.array([{"b": 2}])}))
    assert lake.read() == [{"a": {"b": 2}, "a.b": 1}]
    assert lake.read(columns=["a.b"]) == [{"a.b": 1}]


WIDENED = [
    (pa.array([1, None], pa.int8()), pa.int64(), [1, None]),
    (pa.array([1, None], pa.int32()), pa.float64(), [1.0, None]),
    (pa.array([1, None], pa.int32()), pa.decimal128(12, 2), [Decimal("1.00"), None]),
    (pa.array([1.5], pa.float32()), pa.float64(), [1.5]),
    (pa.array([Decimal("1.5")], pa.decimal128(4, 1)), pa.decimal128(12, 3), [Decimal("1.500")]),
    (pa.array([dt.date(2020, 1, 2)]), pa.timestamp("us"), [dt.datetime(2020, 1, 2)]),
    (pa.array([b"\xc3\xa9"], pa.binary()), pa.string(), ["é"]),
    (pa.array([0, -1], pa.timestamp("ns")), pa.timestamp("us"),
        [dt.datetime(1970, 1, 1), dt.datetime(1969, 12, 31, 23, 59, 59, 999999)]),
    (pa.array([0], pa.timestamp("us")), pa.timestamp("us", "UTC"), [dt.datetime(1970, 1, 1, tzinfo=dt.UTC)]),
    (pa.array(["x"]).dictionary_encode(), pa.string(), ["x"]),
    (pa.array([[1], None, []], pa.list_(pa.int32())), pa.list_(pa.int64()), [[1], None, []]),
    (pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int32())), pa.map_(pa.string(), pa.int64()),
        [[("k", 1)], None]),
    (pa.array([[{"x": 1}], [None], None]), pa.list_(pa.struct({"x": INT, "y": INT})), [[{"x": 1, "y": None}], [None],
        None]),
]  # fmt: skip


@pytest.mark.parametrize(("written", "type_", "expected"), WIDENED, ids=lambda v: str(getattr(v, "type", v))[:40])
def test_values_are_brought_to_the_tables_type(
    tmp_path: Path, written: pa.Array, type_: pa.DataType, expected: list[object]
) -> None:
    lake = Lake(tmp_path, Schema(fields_of(pa.schema({"v": type_}))))
    lake.add("f.parquet", pa.table({"v": written}))
    assert [r["v"] for r in lake.read()] == expected


@pytest.mark.parametrize(
    ("written", "type_"),
    [
        (pa.array(["1"]), INT),
        (pa.array([1.5]), INT),
        (pa.array([1]), pa.string()),
        (pa.array([2**40]), pa.int32()),
        (pa.array([Decimal(2469135780246913578024)], pa.decimal128(38, 0)), pa.decimal128(38, 18)),
    ],  # Arrow's wraps around
)
def test_other_types_are_refused(tmp_path: Path, written: pa.Array, type_: pa.DataType) -> None:
    lake = Lake(tmp_path, Schema((Field("v", type_),)))
    lake.add("f.parquet", pa.table({"v": written}))
    with pytest.raises(ScanError, match=r"'v'.*f\.parquet"):
        lake.read()


def test_int96_timestamps_are_microseconds(tmp_path: Path) -> None:
    lake = Lake(tmp_path, Schema((Field("t", pa.timestamp("us", "UTC")),)))
    when = dt.datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=dt.UTC)
    written = pa.table({"t": pa.array([when, None], pa.timestamp("us", "UTC"))})
    lake.add("f.parquet", written, use_deprecated_int96_timestamps=True)
    # beyond 2262 nanoseconds of 64 bits end; the writer wraps there, so the file holds a day that fits
    lake.rows.clear()
    fits = dt.datetime(2200, 1, 1, 1, 2, 3, 4, tzinfo=dt.UTC)
    lake.add(
        "f.parquet",
        pa.table({"t": pa.array([fits, None], pa.timestamp("us", "UTC"))}),
        use_deprecated_int96_timestamps=True,
    )
    assert [r["t"] for r in lake.read()] == [fits, None]


def test_julian_dates_are_refused_and_later_ones_read(tmp_path: Path) -> None:
    lake = Lake(tmp_path, Schema((Field("d", pa.date32()),)))
    meta = {"org.apache.spark.version": "2.4.8"}
    row = lake.add("new.parquet", pa.table({"d": [dt.date(1600, 1, 1)]}).replace_schema_metadata(meta))
    assert lake.read(rows=[row]) == [{"d": dt.date(1600, 1, 1)}]
    lake.add("old.parquet", pa.table({"d": [dt.date(1500, 1, 1)]}).replace_schema_metadata(meta))
    with pytest.raises(ScanError, match=r"Julian.*old\.parquet"):
        lake.read()


def test_nested_structs_keep_their_nulls(tmp_path: Path) -> None:
    schema = pa.schema({"s": pa.struct({"t": pa.struct({"x": INT, "new": pa.string()})})})
    lake = Lake(tmp_path, Schema(fields_of(schema)))
    old = pa.array(
        [{"t": {"x": 1}}, {"t": None}, None, {"t": {"x": None}}], pa.struct({"t": pa.struct({"x": pa.int32()})})
    )
    lake.add("f.parquet", pa.table({"s": old}))
    assert [r["s"] for r in lake.read()] == [
        {"t": {"x": 1, "new": None}},
        {"t": None},
        None,
        {"t": {"x": None, "new": None}},
    ]


def test_renamed_fields_in_lists_without_ids_are_refused(tmp_path: Path) -> None:
    lake = Lake(tmp_path, Schema((Field("l", pa.list_(pa.struct({"x": INT})), source="col-1"),)))
    lake.add("f.parquet", pa.table({"col-1": pa.array([[{"col-2": 1}]])}))
    with pytest.raises(ScanError, match=r"inside lists and maps"):
        lake.read()


def test_fields_in_lists_are_found_by_physical_name(tmp_path: Path) -> None:
    inner = pa.field("x", INT, metadata={"delta.columnMapping.physicalName": "col-2"})
    lake = Lake(tmp_path, Schema((Field("l", pa.list_(pa.struct([inner])), source="col-1"),)))
    lake.add("f.parquet", pa.table({"col-1": pa.array([[{"col-2": 1, "x": 7}]])}))
    assert lake.read() == [{"l": [{"x": 1}]}]


def test_columns_of_types_without_leaves_are_refused_where_asked(tmp_path: Path) -> None:
    lake = Lake(tmp_path, Schema((Field("a", INT), Field("o", pa.struct([])))))
    lake.add("f.parquet", pa.table({"a": [1], "o": ["x"]}))
    assert lake.read(columns=["a"]) == [{"a": 1}]
    with pytest.raises(ScanError, match="'o'"):
        lake.read()
