"""Footer statistics against the data itself, over tables of several writers."""

import datetime as dt
import math
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaindex.expressions import physical_type, to_physical
from metaindex.formats.model import Leaf
from metaindex.formats.parquet.footers import FooterStatistics
from tests.duck import connected
from tests.formats.footers_of import doubt, footers, one, said

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
            with connected() as connection:
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
    for column in statistics.columns:
        values = _values(table, column.leaf)
        t = values.type
        nulls = column.bounds.null_count[row].as_py()
        assert nulls is None or nulls == values.null_count
        assert column.bounds.row_count[row].as_py() == table.num_rows
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
            if column.bounds.lower_exact[row].as_py():
                assert low == min(lows)
            if column.bounds.upper_exact[row].as_py():
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

    path = tmp_path / "t.parquet"
    with connected() as connection:
        connection.execute(
            "CREATE TABLE t AS SELECT i::INT i, (i * 7919 % 10007)::DECIMAL(20,3) d, 'n' || i s, "
            "DATE '1990-01-01' + i::INT AS day, CASE WHEN i % 3 = 0 THEN NULL ELSE i / 7.0 END f FROM range(10000) r(i)"
        )
        connection.execute(f"COPY t TO '{path}' (FORMAT parquet, ROW_GROUP_SIZE 2048)")
        statistics = footers([path], pq.read_schema(path))
        for name in "idsf":
            query = f"SELECT min({name}), max({name}), count(*) - count({name}) FROM t"
            assert said(one(statistics, name)) == connection.execute(query).fetchone()
    assert pq.ParquetFile(path).num_row_groups > 1
    assert doubt(one(statistics, "day")) is None
