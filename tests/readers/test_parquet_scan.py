"""Parquet files by Arrow: names, ids, defaults, types, nesting, partitions, deletes, predicates, and what is refused."""

from __future__ import annotations

import datetime as dt
import os
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from expressions.errors import CorruptTableError, MetaIndexError, ObjectNotFoundError, UnknownColumnError
from expressions.physical import to_physical
from expressions.statistics import ColumnBounds
from expressions.tree import ColumnRef, Opaque
from formats.model import EqualityDelete, Field, Leaf, Schema
from metaindex import ColumnStats, Config, open_table
from metaindex.readers import ScanError
from tests.readers.lake import Lake, fields_of

INT = pa.int64()


@pytest.fixture
def numbers(tmp_path: Path) -> Lake:
    """Two files of a, b: (1, 'x'), (2, NULL), (NULL, 'z') and (4, 'x'), (5, 'y')."""
    lake = Lake(tmp_path, Schema(fields_of(pa.schema({"a": INT, "b": pa.string()}))))
    lake.add("one.parquet", pa.table({"a": [1, 2, None], "b": ["x", None, "z"]}))
    lake.add("two 100%.parquet", pa.table({"a": [4, 5], "b": ["x", "y"]}))
    return lake


def test_all_files_and_columns(numbers: Lake) -> None:
    assert [r["a"] for r in numbers.read()] == [1, 2, None, 4, 5]
    assert numbers.scan().schema == pa.schema({"a": INT, "b": pa.string()})


def test_chosen_files_and_projection_in_the_asked_order(numbers: Lake) -> None:
    assert numbers.read(rows=[1], columns=["b", "A"]) == [{"b": "x", "a": 4}, {"b": "y", "a": 5}]
    assert numbers.read(rows=[]) == []


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("a > 1", [2, 4, 5]),
        ("NOT a > 1", [1]),
        ("b = 'x'", [1, 4]),
        ("b <> 'x'", [None, 5]),
        ("a IS NULL OR b IS NULL", [2, None]),
        ("a <=> NULL", [None]),
        ("a IN (1, 5, NULL)", [1, 5]),
        ("a NOT IN (1, NULL)", []),
    ],
)
def test_the_predicate_is_applied_with_three_valued_logic(numbers: Lake, where: str, expected: list[int]) -> None:
    assert [r["a"] for r in numbers.read(where)] == expected


def test_predicate_columns_need_not_be_shown(numbers: Lake) -> None:
    assert numbers.read("a >= 4", columns=["b"]) == [{"b": "x"}, {"b": "y"}]


def test_nan_equals_nan_and_is_greatest(tmp_path: Path) -> None:
    lake = Lake(tmp_path, Schema(fields_of(pa.schema({"f": pa.float64()}))))
    lake.add("f.parquet", pa.table({"f": [1.0, float("nan"), None, float("inf")]}))
    assert [str(r["f"]) for r in lake.read("f > 1")] == ["nan", "inf"]
    assert [str(r["f"]) for r in lake.read("f = double('NaN')")] == ["nan"]


def test_an_opaque_part_is_refused_and_never_dropped(numbers: Lake) -> None:
    scan = replace(numbers.scan(), predicate=Opaque("rand() < 0.5", (ColumnRef(("a",)),)))
    for run in (scan.to_arrow, scan.to_polars):
        with pytest.raises(MetaIndexError, match=r"rand\(\) < 0.5.*to_spark"):
            run()


def test_unknown_columns_are_named_with_near_ones(numbers: Lake) -> None:
    with pytest.raises(UnknownColumnError, match=r"no 'bb'.*did you mean b"):
        numbers.scan(columns=["bb"]).to_arrow()
    with pytest.raises(ScanError, match="once"):
        numbers.scan(columns=["b", "B"]).to_arrow()
    with pytest.raises(ScanError, match="at least one column"):
        numbers.scan(columns=[]).to_arrow()


def test_a_field_inside_a_struct_is_asked_for_by_its_column(tmp_path: Path) -> None:
    lake = Lake(tmp_path, Schema(fields_of(pa.schema({"s": pa.struct({"x": INT})}))))
    lake.add("s.parquet", pa.table({"s": pa.array([{"x": 1}, {"x": 2}, None])}))
    with pytest.raises(ScanError, match="ask for 's'"):
        lake.scan(columns=["s.x"]).to_arrow()
    assert lake.read("s.x = 2") == [{"s": {"x": 2}}]


def test_a_vanished_file_is_an_error_that_names_it(numbers: Lake) -> None:
    (numbers.root / "one.parquet").unlink()
    with pytest.raises(ObjectNotFoundError, match=r"one\.parquet.*is gone"):
        numbers.read()


def test_a_truncated_file_is_an_error_that_names_it(numbers: Lake) -> None:
    file = numbers.root / "one.parquet"
    file.write_bytes(file.read_bytes()[:-20])
    with pytest.raises(CorruptTableError, match=r"one\.parquet"):
        numbers.read()


def test_a_plain_file_replaced_by_one_of_the_same_size_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "t" / "a.parquet"
    file.parent.mkdir()
    pq.write_table(pa.table({"a": [1, 2, 3]}), file)
    table = open_table(str(file.parent), config=Config(builder="local", settle_seconds=0.0))
    os.utime(file, (1_700_000_000, 1_700_000_000))
    table.create_index("stats", ColumnStats())
    before = table.versions()[-1].id
    size = file.stat().st_size
    pq.write_table(pa.table({"a": [7, 8, 9]}), file)
    os.utime(file, (1_700_000_000, 1_700_000_000))
    assert file.stat().st_size == size
    assert table.scan().to_arrow().column("a").to_pylist() == [7, 8, 9]
    with pytest.raises(ScanError, match=r"a\.parquet.*was replaced"):
        table.scan(version=before).to_arrow()


def test_dictionaries_inside_structs_are_read_from_every_row_group(tmp_path: Path) -> None:
    words = pa.array(["x", None, "y"]).dictionary_encode()
    lake = Lake(tmp_path, Schema(fields_of(pa.schema({"s": pa.struct({"word": pa.string()})}))))
    lake.add("a.parquet", pa.table({"s": pa.StructArray.from_arrays([words], ["word"])}), row_group_size=1)
    assert lake.read() == [{"s": {"word": "x"}}, {"s": {"word": None}}, {"s": {"word": "y"}}]


def test_a_replaced_plain_file_is_an_error_that_names_it(numbers: Lake) -> None:
    numbers.format = "files"
    (numbers.root / "one.parquet").write_bytes((numbers.root / "two 100%.parquet").read_bytes() + b"x")
    with pytest.raises(ScanError, match=r"one\.parquet.*was replaced"):
        numbers.read()


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


def with_id(name: str, type_: pa.DataType, number: int) -> pa.Field:
    return pa.field(name, type_, metadata={"PARQUET:field_id": str(number)})


def test_fields_with_ids_are_found_by_id_only(tmp_path: Path) -> None:
    fields = (Field("new", INT, field_id=1, source="new"), Field("a", INT, field_id=5, source="a"))
    lake = Lake(tmp_path, Schema(fields), format="iceberg", options={"file_format": "parquet", "name_mapping": None})
    old = pa.schema([with_id("a", INT, 1)])
    lake.add("f.parquet", pa.table([pa.array([3])], schema=old))
    assert lake.read() == [{"new": 3, "a": None}]


def test_iceberg_files_without_ids_are_read_by_the_name_mapping(tmp_path: Path) -> None:
    mapping = '[{"field-id": 1, "names": ["a", "once"]}, {"field-id": 2, "names": ["s"], "fields": [{"field-id": 3, "names": ["x"]}]}]'
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
    (pa.array([0, -1], pa.timestamp("ns")), pa.timestamp("us"), [dt.datetime(1970, 1, 1), dt.datetime(1969, 12, 31, 23, 59, 59, 999999)]),
    (pa.array([0], pa.timestamp("us")), pa.timestamp("us", "UTC"), [dt.datetime(1970, 1, 1, tzinfo=dt.UTC)]),
    (pa.array(["x"]).dictionary_encode(), pa.string(), ["x"]),
    (pa.array([[1], None, []], pa.list_(pa.int32())), pa.list_(pa.int64()), [[1], None, []]),
    (pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int32())), pa.map_(pa.string(), pa.int64()), [[("k", 1)], None]),
    (pa.array([[{"x": 1}], [None], None]), pa.list_(pa.struct({"x": INT, "y": INT})), [[{"x": 1, "y": None}], [None], None]),
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
    [(pa.array(["1"]), INT), (pa.array([1.5]), INT), (pa.array([1]), pa.string()), (pa.array([2**40]), pa.int32())],
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


# Partition columns --------------------------------------------------------------------------------------------------


PARTITION_VALUES = [
    pa.array([3, None], pa.int32()),
    pa.array(["a/b %é", None]),
    pa.array([dt.date(2020, 2, 29), None]),
    pa.array([Decimal("-1.50"), None], pa.decimal128(5, 2)),
    pa.array([Decimal("-1.50"), None], pa.decimal128(30, 2)),
    pa.array([True, None]),
    pa.array([dt.datetime(2020, 1, 1, 10, tzinfo=dt.UTC), None], pa.timestamp("us", "UTC")),
    pa.array([1.5, None], pa.float32()),
    pa.array([b"\x00\xff", None]),
]


@pytest.mark.parametrize("values", PARTITION_VALUES, ids=lambda v: str(v.type))
def test_partition_values_are_exact_and_typed(tmp_path: Path, values: pa.Array) -> None:
    lake = Lake(tmp_path, Schema((Field("a", INT), Field("p", values.type, partition=True))))
    lake.add("f.parquet", pa.table({"a": [1, 2]}), partition="p=x")
    lake.add("g.parquet", pa.table({"a": [3]}), partition="p=__HIVE_DEFAULT_PARTITION__")
    bound = to_physical(values, values.type, upper=False)
    exact = pa.array([True, False])
    lake.partitions["p"] = ColumnBounds(values.type, bound, bound, lower_exact=exact, upper_exact=exact)
    value = values[0].as_py()
    assert [r["p"] for r in lake.read()] == [value, value, None]
    assert [r["a"] for r in lake.read("p IS NULL", columns=["a"])] == [3]


def test_an_unknown_partition_value_is_refused_but_only_where_asked(tmp_path: Path) -> None:
    lake = Lake(tmp_path, Schema((Field("a", INT), Field("p", INT, partition=True))))
    lake.add("f.parquet", pa.table({"a": [1]}), partition="p=1")
    assert lake.read(columns=["a"]) == [{"a": 1}]
    with pytest.raises(ScanError, match=r"'p' is not known for data file .*f\.parquet"):
        lake.read()


# Deletes ------------------------------------------------------------------------------------------------------------


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
            "name_mapping": '[{"field-id": 1, "names": ["a"]}, {"field-id": 2, "names": ["n"]}, {"field-id": 3, "names": ["k"]}]'
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


def test_files_of_other_formats_are_refused_by_name(tmp_path: Path) -> None:
    lake = Lake(tmp_path, Schema((Field("a", INT),)), options={"file_format": "orc"})
    lake.add("f.orc", b"ORC")
    with pytest.raises(ScanError, match="are orc"):
        lake.read()


# Engines ------------------------------------------------------------------------------------------------------------


def test_duckdb_and_polars_give_the_same_rows(numbers: Lake) -> None:
    import duckdb

    numbers.delete(1, [0])
    expected = numbers.read("a IS NOT NULL")
    with duckdb.connect() as con:
        relation = numbers.scan("a IS NOT NULL").to_duckdb(con)
        assert relation.order("a").fetchall() == [tuple(r.values()) for r in expected]
        assert relation.filter("a > 1").aggregate("count(*)").fetchall() == [(2,)]
        assert relation.fetchall() == [tuple(r.values()) for r in expected]
    assert numbers.scan("a IS NOT NULL").to_polars().collect().to_dicts() == expected


def test_an_empty_result_has_the_schema(numbers: Lake) -> None:
    import duckdb

    empty = numbers.scan("a > 100")
    assert empty.to_arrow().schema == empty.schema
    assert empty.to_polars().collect().columns == ["a", "b"]
    with duckdb.connect() as con:
        assert empty.to_duckdb(con).columns == ["a", "b"]
