"""Footer statistics against the data itself, over tables of several writers, and each thing that is not to be
believed."""

from __future__ import annotations

import datetime as dt
import math
import os
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from expressions.physical import from_physical, physical_type, to_physical
from formats.footer_trust import Doubt
from formats.footers import FooterColumn, FooterStatistics, read_footers
from formats.model import Field, Leaf, Schema
from formats.storage_local import LocalStorage


def schema_of(arrow: pa.Schema) -> Schema:
    def field(f: pa.Field) -> Field:
        children = tuple(field(c) for c in f.type) if pa.types.is_struct(f.type) else ()
        return Field(f.name, f.type, f.nullable, children=children)

    return Schema(tuple(field(f) for f in arrow))


def footers(paths: Sequence[Path], schema: pa.Schema, **options: Any) -> FooterStatistics:
    root = os.path.commonpath([p.parent for p in paths])
    return read_footers(
        LocalStorage(root), [os.path.relpath(p, root) for p in paths], schema_of(schema).leaves(), **options
    )


def one(statistics: FooterStatistics, name: str) -> FooterColumn:
    return next(c for c in statistics.columns if ".".join(c.leaf.parts) == name)


def said(column: FooterColumn, row: int = 0) -> tuple[object, object, int | None]:
    """Lower, upper (as people read them) and null count of a file."""
    low, high = (
        None if b is None else from_physical(b[row].as_py(), column.leaf.type)
        for b in (column.bounds.lower, column.bounds.upper)
    )
    assert column.bounds.null_count is not None
    return low, high, column.bounds.null_count[row].as_py()


def doubt(column: FooterColumn, row: int = 0) -> str | None:
    return column.doubt[row].as_py()


# Against the data ---------------------------------------------------------------------------------------------------

_DAY = st.dates(dt.date(1, 1, 1), dt.date(9999, 12, 31))
_MOMENT = st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2250, 1, 1))
_TYPES: list[tuple[pa.DataType, st.SearchStrategy[Any]]] = [
    (pa.bool_(), st.booleans()),
    (pa.int8(), st.integers(-(2**7), 2**7 - 1)),
    (pa.int32(), st.integers(-(2**31), 2**31 - 1)),
    (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    (pa.uint8(), st.integers(0, 2**8 - 1)),
    (pa.uint32(), st.integers(0, 2**32 - 1)),
    (pa.uint64(), st.integers(0, 2**64 - 1)),
    (pa.float32(), st.floats(width=32)),
    (pa.float64(), st.floats()),
    (pa.string(), st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=80)),
    (pa.binary(), st.binary(max_size=80)),
    (pa.date32(), _DAY),
    (pa.timestamp("ms"), _MOMENT.map(lambda m: m.replace(microsecond=m.microsecond // 1000 * 1000))),
    (pa.timestamp("us"), _MOMENT),
    (pa.timestamp("ns"), _MOMENT),
    (pa.timestamp("us", "UTC"), _MOMENT),
    (pa.decimal128(5, 2), st.decimals(-999, 999, places=2)),
    (pa.decimal128(18, 4), st.decimals(-(10**12), 10**12, places=4)),
    (pa.decimal128(38, 10), st.decimals(-(10**25), 10**25, places=10)),
]


def _column(t: pa.DataType, values: st.SearchStrategy[Any], rows: int) -> st.SearchStrategy[pa.Array]:
    return st.lists(st.none() | values, min_size=rows, max_size=rows).map(lambda v: pa.array(v, t))


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    rows = draw(st.integers(0, 12))
    chosen = draw(st.lists(st.sampled_from(range(len(_TYPES))), min_size=1, max_size=5))
    columns = {f"c{n}": draw(_column(*_TYPES[i], rows)) for n, i in enumerate(chosen)}
    if draw(st.booleans()):
        inner = draw(_column(*_TYPES[draw(st.sampled_from(range(len(_TYPES))))], rows))
        mask = pa.array(draw(st.lists(st.booleans(), min_size=rows, max_size=rows)), pa.bool_())
        columns["s"] = pa.StructArray.from_arrays([inner], names=["x"], mask=mask)
    return pa.table(columns)


def _write(table: pa.Table, path: Path, writer: str) -> bool:
    """False: this writer has no such type."""
    match writer:
        case "pyarrow":
            pq.write_table(table, path, row_group_size=3)
        case "duckdb":
            import duckdb

            with duckdb.connect() as connection:
                connection.register("t", table)
                connection.execute(f"COPY t TO '{path}' (FORMAT parquet, ROW_GROUP_SIZE 2048)")
        case "polars":
            import polars as pl

            try:
                frame = pl.from_arrow(table)
            except pl.exceptions.PolarsError:
                return False
            assert isinstance(frame, pl.DataFrame)
            frame.write_parquet(path, row_group_size=3)
    return True


def _values(table: pa.Table, leaf: Leaf) -> pa.Array:
    column = table.column(leaf.parts[0])
    for part in leaf.parts[1:]:
        column = pc.struct_field(column, part)
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def check_against_data(statistics: FooterStatistics, row: int, table: pa.Table) -> None:
    """Bounds hold every value, exact ones are attained, counts are right; unknown is always allowed."""
    assert statistics.num_rows[row].as_py() == table.num_rows
    for column in statistics.columns:
        values = _values(table, column.leaf)
        t = values.type
        nulls = column.bounds.null_count[row].as_py()  # type: ignore[index]
        assert nulls is None or nulls == values.null_count
        assert column.value_count[row].as_py() == table.num_rows
        if physical_type(t) is None or column.bounds.lower is None or column.bounds.upper is None:
            continue
        low, high = column.bounds.lower[row].as_py(), column.bounds.upper[row].as_py()
        present = values.drop_null()
        lows = [v for v in to_physical(present, t, upper=False).to_pylist() if v is not None]
        highs = [v for v in to_physical(present, t, upper=True).to_pylist() if v is not None]
        if low is None and doubt(column, row) is None:
            assert nulls == table.num_rows, f"{column.leaf.parts}: no bounds and no doubt, yet not all NULL"
        if low is not None and lows:
            assert low <= min(lows)
            assert high >= max(highs)
            if column.bounds.lower_exact[row].as_py():  # type: ignore[index]
                assert low == min(lows)
            if column.bounds.upper_exact[row].as_py():  # type: ignore[index]
                assert high == max(highs)
        if column.bounds.nan_count is not None and column.bounds.nan_count[row].as_py() == 0:
            assert not any(isinstance(v, float) and math.isnan(v) for v in present.to_pylist())


@pytest.mark.parametrize("writer", ["pyarrow", "duckdb", "polars"])
def test_bounds_hold_for_random_tables_of_three_writers(writer: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp(writer)

    @settings(deadline=None, max_examples=settings.default.max_examples * 60 // 100)
    @given(st.lists(tables(), min_size=1, max_size=3))
    def check(made: list[pa.Table]) -> None:
        for number, table in enumerate(made):
            path = folder / f"{number}.parquet"
            path.unlink(missing_ok=True)
            if not _write(table, path, writer):
                continue
            back = pq.ParquetFile(path).read()
            check_against_data(footers([path], back.schema, threads=1), 0, back)
            # The types asked, where the writer changed them.
            check_against_data(footers([path], table.schema, threads=1), 0, table)

    check()


def test_bounds_agree_with_duckdb_over_row_groups(tmp_path: Path) -> None:
    import duckdb

    path = tmp_path / "t.parquet"
    with duckdb.connect() as connection:
        connection.execute(
            "CREATE TABLE t AS SELECT i::INT i, (i * 7919 % 10007)::DECIMAL(20,3) d, 'n' || i s, "
            "DATE '1990-01-01' + i::INT AS day, CASE WHEN i % 3 = 0 THEN NULL ELSE i / 7.0 END f FROM range(10000) r(i)"
        )
        connection.execute(f"COPY t TO '{path}' (FORMAT parquet, ROW_GROUP_SIZE 2048)")
        schema = pq.read_schema(path)
        statistics = footers([path], schema)
        for name in "idsf":
            query = f"SELECT min({name}), max({name}), count(*) - count({name}) FROM t"
            assert said(one(statistics, name)) == connection.execute(query).fetchone()
    assert statistics.row_groups[0].as_py() > 1
    assert doubt(one(statistics, "day")) is None


# What is not to be believed
# --------------------------------------------------------------------------------------------


def test_statistics_left_out_are_unknown_and_never_all_null(tmp_path: Path) -> None:
    table = pa.table({"a": [1, 2, None], "b": ["x", "y", None]})
    pq.write_table(table, tmp_path / "a.parquet", write_statistics=["a"])
    statistics = footers([tmp_path / "a.parquet"], table.schema)
    assert said(one(statistics, "a")) == (1, 2, 1)
    assert said(one(statistics, "b")) == (None, None, None)
    assert doubt(one(statistics, "b")) == Doubt.NO_STATISTICS.value
    assert one(statistics, "b").needs_scan().to_pylist() == [True]


def test_one_row_group_without_statistics_makes_the_file_unknown(tmp_path: Path) -> None:
    # Values too long for statistics are left out by this writer's limit for that row group alone.
    path = tmp_path / "a.parquet"
    with pq.ParquetWriter(path, pa.schema([("s", pa.string())])) as writer:
        writer.write_table(pa.table({"s": ["b", "c"]}))
        writer.write_table(pa.table({"s": ["a" * 100_000]}))
    statistics = footers([path], pa.schema([("s", pa.string())]))
    group = pq.read_metadata(path).row_group(1).column(0).statistics
    if group is None or not group.has_min_max:
        assert doubt(one(statistics, "s")) == Doubt.NO_STATISTICS.value
        assert said(one(statistics, "s"))[:2] == (None, None)
    else:
        assert said(one(statistics, "s"))[:2] == ("a" * 100_000, "c")


def test_row_groups_all_null_and_empty_files_lend_no_bounds(tmp_path: Path) -> None:
    schema = pa.schema([("a", pa.int32())])
    with pq.ParquetWriter(tmp_path / "some.parquet", schema) as writer:
        writer.write_table(pa.table({"a": pa.array([None, None], pa.int32())}))
        writer.write_table(pa.table({"a": pa.array([5, None], pa.int32())}))
    pq.write_table(pa.table({"a": pa.array([None], pa.int32())}), tmp_path / "null.parquet")
    pq.write_table(schema.empty_table(), tmp_path / "empty.parquet")
    pq.ParquetWriter(tmp_path / "none.parquet", schema).close()  # no row group at all
    names = ["some", "null", "empty", "none"]
    column = one(footers([tmp_path / f"{n}.parquet" for n in names], schema), "a")
    assert [said(column, row) for row in range(4)] == [(5, 5, 3), (None, None, 1), (None, None, 0), (None, None, 0)]
    assert [doubt(column, row) for row in range(4)] == [None] * 4


def test_arrow_does_not_count_null_structs_around_a_dictionary(tmp_path: Path) -> None:
    words = pa.array(["a", "b", "c"]).dictionary_encode()
    table = pa.table(
        {
            "s": pa.StructArray.from_arrays([words], ["word"], mask=pa.array([False, True, False])),
            "none": pa.StructArray.from_arrays([pa.nulls(3, pa.string())], ["word"]),
        }
    )
    pq.write_table(table, tmp_path / "a.parquet")
    assert pq.ParquetFile(tmp_path / "a.parquet").metadata.row_group(0).column(0).statistics.null_count == 0  # wrong
    found = footers([tmp_path / "a.parquet"], table.schema)
    assert said(one(found, "s.word"))[2] is None
    assert said(one(found, "none.word"))[2] == 3


def test_int96_is_unknown(tmp_path: Path) -> None:
    table = pa.table({"t": pa.array([1, 2], pa.timestamp("us")), "n": [1, 2]})
    pq.write_table(table, tmp_path / "a.parquet", use_deprecated_int96_timestamps=True)
    statistics = footers([tmp_path / "a.parquet"], table.schema)
    assert doubt(one(statistics, "t")) == Doubt.INT96.value
    assert said(one(statistics, "t"))[:2] == (None, None)
    assert said(one(statistics, "n")) == (1, 2, 0)


def test_nan_leaves_bounds_of_the_numbers_and_an_unknown_count(tmp_path: Path) -> None:
    table = pa.table({"f": [1.0, math.nan, None], "g": [math.nan, math.nan, math.nan], "n": pa.nulls(3, pa.float64())})
    pq.write_table(table, tmp_path / "a.parquet")
    statistics = footers([tmp_path / "a.parquet"], table.schema)
    assert said(one(statistics, "f")) == (1.0, 1.0, 1)
    assert said(one(statistics, "g"))[:2] == (None, None)
    assert doubt(one(statistics, "g")) is not None
    assert [one(statistics, c).needs_scan().to_pylist() for c in "fgn"] == [[True], [True], [False]]


def test_a_footer_that_names_no_order_says_nothing_of_bytes(tmp_path: Path) -> None:
    # The lesson of signed order: 'az' was lost where 'aé' was present. The column orders are cut out of the footer, as
    # a writer before them would have left it.
    path = tmp_path / "a.parquet"
    table = pa.table({"s": ["az", "aé"], "u": pa.array([1, 2**31], pa.uint32()), "n": [1, 2]})
    pq.write_table(table, path)
    data = path.read_bytes()
    size = int.from_bytes(data[-8:-4], "little")
    orders = b"\x19\x3c" + b"\x1c\x00\x00" * 3 + b"\x00"
    footer = data[-8 - size : -8]
    assert footer.endswith(orders)
    footer = footer.removesuffix(orders) + b"\x00"
    path.write_bytes(data[: -8 - size] + footer + len(footer).to_bytes(4, "little") + b"PAR1")
    statistics = footers([path], table.schema)
    assert doubt(one(statistics, "s")) == Doubt.NO_ORDER.value
    assert doubt(one(statistics, "u")) == Doubt.NO_ORDER.value
    assert doubt(one(statistics, "n")) != Doubt.NO_ORDER.value


def test_bounds_in_the_wrong_order_are_unknown(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"n": pa.array([0x11111111, 0x77777777], pa.int32())}), path)
    data = path.read_bytes()
    size = int.from_bytes(data[-8:-4], "little")
    body, footer = data[: -8 - size], data[-8 - size : -8]
    swapped = (
        footer.replace(b"\x11" * 4, b"\xaa" * 4).replace(b"\x77" * 4, b"\x11" * 4).replace(b"\xaa" * 4, b"\x77" * 4)
    )
    path.write_bytes(body + swapped + data[-8:])
    statistics = footers([path], pa.schema([("n", pa.int32())]))
    assert doubt(one(statistics, "n")) == Doubt.REVERSED.value
    assert said(one(statistics, "n"))[:2] == (None, None)


def test_bounds_of_text_are_never_exact(tmp_path: Path) -> None:
    pq.write_table(pa.table({"s": ["a"], "n": [1]}), tmp_path / "a.parquet")
    statistics = footers([tmp_path / "a.parquet"], pa.schema([("s", pa.string()), ("n", pa.int64())]))
    assert one(statistics, "s").bounds.lower_exact.to_pylist() == [False]  # type: ignore[union-attr]
    assert one(statistics, "n").bounds.lower_exact.to_pylist() == [True]  # type: ignore[union-attr]


# Types at write time, and columns that files do not hold
# ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "asked", "expected"),
    [
        (pa.array([1, 2], pa.int32()), pa.int64(), (1, 2)),
        (pa.array([1, 2], pa.int64()), pa.float64(), (1.0, 2.0)),
        (pa.array([1.5, 2.5], pa.float32()), pa.float64(), (1.5, 2.5)),
        (pa.array([Decimal("1.10")], pa.decimal128(5, 2)), pa.decimal128(30, 4), (Decimal("1.1000"), Decimal("1.1000"))),
        (pa.array([dt.date(2020, 1, 2)]), pa.timestamp("us"), (dt.datetime(2020, 1, 2), dt.datetime(2020, 1, 2))),
        (pa.array(["a", "b"]), pa.binary(), (b"a", b"b")),
        (pa.array([1500], pa.timestamp("ns")), pa.timestamp("us"), (dt.datetime(1970, 1, 1, 0, 0, 0, 1), dt.datetime(1970, 1, 1, 0, 0, 0, 2))),
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


# Damage
# ----------------------------------------------------------------------------------------------------------------


def test_a_file_that_cannot_be_read_is_told_and_touches_no_other(tmp_path: Path) -> None:
    table = pa.table({"a": [1, 2]})
    for name in ("good", "cut", "junk", "resized"):
        pq.write_table(table, tmp_path / name)
    whole = (tmp_path / "good").read_bytes()
    (tmp_path / "cut").write_bytes(whole[:-20])
    (tmp_path / "junk").write_bytes(b"a,b\n1,2\n")
    (tmp_path / "broken").write_bytes(whole[:-60] + b"\xff" * 52 + whole[-8:])
    names = ["cut", "good", "junk", "missing", "resized", "broken", "good"]
    sizes = [len(whole)] * len(names)
    sizes[0], sizes[2], sizes[4] = len(whole) - 20, 8, len(whole) + 1
    leaves = schema_of(table.schema).leaves()
    statistics = read_footers(LocalStorage(str(tmp_path)), names, leaves, sizes=sizes)
    failures = statistics.failures.to_pylist()
    assert [f is None for f in failures] == [False, True, False, False, False, False, True]
    assert all(name in (failure or name) for name, failure in zip(names, failures, strict=True))
    column = one(statistics, "a")
    assert [said(column, r) for r in (1, 6)] == [(1, 2, 0)] * 2
    assert said(column, 0) == (None, None, None)
    assert doubt(column, 3) == Doubt.UNREADABLE.value
    assert column.value_count.to_pylist() == [None, 2, None, None, None, None, 2]


def test_every_truncation_is_a_failure_or_the_truth(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1, 2], "s": ["x", "y"]}), tmp_path / "whole")
    whole = (tmp_path / "whole").read_bytes()
    schema = schema_of(pa.schema([("a", pa.int64()), ("s", pa.string())])).leaves()
    for length in range(0, len(whole), 7):
        (tmp_path / "cut").write_bytes(whole[:length])
        assert read_footers(LocalStorage(str(tmp_path)), ["cut"], schema).failures[0].is_valid


def test_a_footer_larger_than_the_first_read_is_read_whole(tmp_path: Path) -> None:
    table = pa.table({f"column_{n}": [n] for n in range(2000)})
    pq.write_table(table, tmp_path / "wide.parquet")
    statistics = footers([tmp_path / "wide.parquet"], table.schema)
    assert said(statistics.columns[1999])[:2] == (1999, 1999)


def test_no_files_and_no_leaves_are_fine(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1]}), tmp_path / "a")
    storage = LocalStorage(str(tmp_path))
    assert len(read_footers(storage, [], schema_of(pa.schema([("a", pa.int64())])).leaves()).num_rows) == 0
    assert read_footers(storage, ["a"], []).num_rows.to_pylist() == [1]


def test_many_files_over_threads_keep_their_order(tmp_path: Path) -> None:
    paths = []
    for n in range(300):
        paths.append(tmp_path / f"{n}.parquet")
        column = {"a": [n, None]} if n % 3 else {"b": ["x"], "a": [n]}
        pq.write_table(pa.table(column), paths[-1])
    schema = pa.schema([("a", pa.int64()), ("b", pa.string())])
    many, single = footers(paths, schema, threads=4), footers(paths, schema, threads=1)
    assert one(many, "a").bounds.lower.to_pylist() == list(range(300))  # type: ignore[union-attr]
    for left, right in zip(many.columns, single.columns, strict=True):
        assert left.doubt.to_pylist() == right.doubt.to_pylist()
        assert left.bounds.null_count == right.bounds.null_count
