"""Parquet files by Arrow: which files and columns, predicates, partitions, files that are not what the table says; the
same rows in other engines."""

import datetime as dt
import os
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from metaindex import ColumnStats, Config, open_table
from metaindex.core import CorruptTableError, MetaIndexError, ObjectNotFoundError, ScanError, UnknownColumnError
from metaindex.expressions import ColumnBounds, ColumnRef, Opaque, to_physical
from metaindex.formats import Field, Schema
from tests.duck import connected
from tests.formats.footer_surgery import I64, ROW_GROUPS, Struct, change
from tests.query.readers.lake import Lake, fields_of
from tests.tables import settled

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
    with pytest.raises(UnknownColumnError, match=r"no 'bb'.*did you mean 'b'"):
        numbers.scan(columns=["bb"]).to_arrow()
    with pytest.raises(ScanError, match="once"):
        numbers.scan(columns=["b", "B"]).to_arrow()
    with pytest.raises(ScanError, match="at least one column"):
        numbers.scan(columns=[]).to_arrow()


def test_a_field_inside_a_struct_is_asked_for_by_its_column(tmp_path: Path) -> None:
    lake = Lake(tmp_path, Schema(fields_of(pa.schema({"s": pa.struct({"x": INT})}))))
    lake.add("s.parquet", pa.table({"s": pa.array([{"x": 1}, {"x": 2}, None])}))
    with pytest.raises(ScanError, match="return 's'"):
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


def test_a_replaced_plain_file_is_an_error_that_names_it(numbers: Lake) -> None:
    numbers.format = "files"
    (numbers.root / "one.parquet").write_bytes((numbers.root / "two 100%.parquet").read_bytes() + b"x")
    with pytest.raises(ScanError, match=r"one\.parquet.*was replaced"):
        numbers.read()


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


def test_files_of_other_formats_are_refused_by_name(tmp_path: Path) -> None:
    lake = Lake(tmp_path, Schema((Field("a", INT),)), options={"file_format": "orc"})
    lake.add("f.orc", b"ORC")
    with pytest.raises(ScanError, match="are orc"):
        lake.read()


# Engines ------------------------------------------------------------------------------------------------------------


def test_duckdb_and_polars_give_the_same_rows(numbers: Lake) -> None:

    numbers.delete(1, [0])
    expected = numbers.read("a IS NOT NULL")
    with connected() as con:
        relation = numbers.scan("a IS NOT NULL").to_duckdb(con)
        assert relation.order("a").fetchall() == [tuple(r.values()) for r in expected]
        assert relation.filter("a > 1").aggregate("count(*)").fetchall() == [(2,)]
        assert relation.fetchall() == [tuple(r.values()) for r in expected]
    assert numbers.scan("a IS NOT NULL").to_polars().collect().to_dicts() == expected


def test_an_empty_result_has_the_schema(numbers: Lake) -> None:

    empty = numbers.scan("a > 100")
    assert empty.to_arrow().schema == empty.schema
    assert empty.to_polars().collect().columns == ["a", "b"]
    with connected() as con:
        assert empty.to_duckdb(con).columns == ["a", "b"]


def test_a_file_that_gives_fewer_rows_than_its_footer_counts_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": pa.array(range(10), INT)}), path)

    def more(footer: Struct) -> None:
        for one in (footer, *footer[ROW_GROUPS].values):
            one.put(3, I64, one[3] + 5)

    change(path, more)
    with pytest.raises(CorruptTableError, match=r"a\.parquet.*5 fewer"):
        open_table(str(tmp_path)).scan().to_arrow()


def test_a_type_that_duckdb_has_not_is_said(tmp_path: Path) -> None:
    settled(tmp_path, {"0.parquet": pa.table({"k": [1], "half": pa.array([1.5], pa.float16())})})
    table = open_table(tmp_path)
    with pytest.raises(ScanError, match=r"columns of types that it has.*leave it out with columns="):
        table.scan().to_duckdb(connected())
    assert table.scan(columns=["k"]).to_duckdb(connected()).fetchall() == [(1,)]
