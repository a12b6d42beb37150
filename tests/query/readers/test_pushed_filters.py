"""Filters that DuckDB, Polars and users of pyarrow put on a scan reach the indexes: fewer files are read, and the rows
are those of the engine's own full scan."""

import datetime as dt
import math
import pickle
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import metaindex as mi
from metaindex.core import ExpressionError, ScanError, UnknownColumnError
from metaindex.expressions import ColumnRef, bind, to_arrow, to_sql
from metaindex.expressions.engines.polars import to_polars
from metaindex.query.readers.scan import Scan
from tests.storage.counting import CountingStorage
from tests.strategies import predicates
from tests.tables import FORMATS

SCHEMA = pa.schema(
    {
        "i": pa.int64(),
        "n": pa.int32(),
        "f": pa.float64(),
        "g": pa.float32(),
        "s": pa.string(),
        "t": pa.timestamp("us"),
        "z": pa.timestamp("us", "UTC"),
        "day": pa.date32(),
        "d": pa.decimal128(9, 2),
        "yes": pa.bool_(),
    }
)
FLOATS = [0.0, -0.0, 0.1, 1.0, 1.5, math.inf, -math.inf, math.nan, None]
FILES = 8


def rows_of(file: int) -> pa.Table:
    """Near values are in one file; the last but one has nothing but NULL, the last one nothing but NaN in its floats,
    one nothing but 0.1."""
    if file == FILES - 2:
        return pa.table({f.name: pa.nulls(3, f.type) for f in SCHEMA}, SCHEMA)
    floats = {FILES - 1: [math.nan] * 5, 5: [0.1] * 5}.get(file, (FLOATS * 2)[file : file + 5])
    moments = [dt.datetime(2020, 1, 1 + file, 0, 0, n, n) for n in range(5)]
    columns = {
        "i": [file * 10 + n for n in range(5)],
        "n": [None, *(file - 3 + n for n in range(4))],
        "f": floats,
        "g": floats,
        "s": [["", "a", "ab", "b", "é", "😀", "z", "zz"][file], None, "m", "m", "mm"],
        "t": moments,
        "z": [None if n == 2 else m.replace(tzinfo=dt.UTC) for n, m in enumerate(moments)],
        "day": [m.date() for m in moments],
        "d": [Decimal(file) + Decimal(n) / 4 for n in range(5)],
        "yes": [file % 2 == 0] * 5,
    }
    return pa.table({name: pa.array(column, SCHEMA.field(name).type) for name, column in columns.items()}, SCHEMA)


@dataclass(frozen=True)
class Given:
    scan: Scan
    rows: pa.Table  # by the reader, with a row number that orders them
    con: duckdb.DuckDBPyConnection


# The others differ in how files are found and read, which is tested elsewhere.
_MARKS = {name: () if name == "parquet" else pytest.mark.exhaustive for name in FORMATS}


@pytest.fixture(scope="module", params=[pytest.param(name, marks=marks) for name, marks in _MARKS.items()])
def lake(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Given]:
    made = FORMATS[request.param](tmp_path_factory.mktemp(request.param))
    for file in range(FILES):
        made.append(rows_of(file))
    table = made.open()
    table.create_index("stats", mi.ColumnStats(), builder="local")
    scan = table.scan()
    with duckdb.connect() as con:
        con.execute("SET TimeZone = 'UTC'; SET threads = 2")
        whole = scan.to_arrow()
        con.register("whole", whole)
        scan.to_duckdb(con).create_view("lake")
        yield Given(scan, whole, con)


def same(found: pa.Table, expected: pa.Table) -> None:
    """As sets: no order is promised. Rows with NaN are compared by how they are written."""
    assert found.schema.names == expected.schema.names
    assert sorted(map(repr, found.to_pylist())) == sorted(map(repr, expected.to_pylist()))


def test_fewer_files_are_read(lake: Given) -> None:
    def opened(scan: Scan) -> int:
        return len(set(scan.file_rows.tolist()))

    assert opened(lake.scan) == FILES
    assert opened(narrowed(lake, "i = 32")) == 1
    assert opened(narrowed(lake, "i = 32 AND f(s)")) == 1, "what is not understood keeps, the rest drops"
    assert opened(narrowed(lake, "i = 32 OR f(s)")) == FILES
    assert opened(narrowed(lake, "i < 12", "i >= 10")) == 1


def narrowed(lake: Given, *conditions: str) -> Scan:
    scan = lake.scan
    for condition in conditions:
        scan = scan.narrowed(condition, scan.schema)
    return scan


@pytest.mark.parametrize("engine", ["dataset", "duckdb", "polars"])
def test_each_engine_reads_what_may_match_and_no_more(lake: Given, engine: str) -> None:
    storage = CountingStorage(lake.scan.storage)
    scan = replace(lake.scan, storage=storage, footers=None)  # a footer that is held is read once: by age of its file
    if engine == "dataset":
        found = scan.to_dataset().to_table(columns=["s"], filter=pc.field("i") == 32)
    elif engine == "duckdb":
        found = scan.to_duckdb(lake.con).filter("i = 32").project("s").to_arrow_table()
    else:
        found = scan.to_polars().filter(pl.col("i") == 32).select("s").collect().to_arrow()
    assert found.num_rows == 1
    narrow = storage.reads
    storage.reset()
    assert scan.to_dataset().count_rows() == FILES * 5 - 2
    assert 0 < narrow <= storage.reads / FILES


@pytest.mark.parametrize("engine", ["dataset", "polars"])
def test_nulls_of_conditions_are_looked_for_where_there_are_some(lake: Given, engine: str) -> None:
    """`i` is NULL in one file and `s` in each."""
    storage = CountingStorage(lake.scan.storage)
    scan = replace(lake.scan, storage=storage, footers=None)

    def rows(column: str) -> int:
        if engine == "dataset":
            return scan.to_dataset().count_rows((pc.field(column) == pc.field(column)).is_null())
        return in_polars(scan.to_polars(), (pl.col(column) == pl.col(column)).is_null()).num_rows

    assert rows("i") == 3
    few = storage.reads
    storage.reset()
    assert rows("s") >= FILES + 2
    assert 0 < few <= storage.reads / FILES


@settings(deadline=None, max_examples=settings.default.max_examples * 20 // 100)
@given(data=st.data())
def test_predicates_written_for_each_engine_give_its_own_rows(lake: Given, data: st.DataObject) -> None:
    drawn = data.draw(predicates({ColumnRef((f.name,)): f.type for f in SCHEMA}))
    schema = lake.rows.schema
    try:
        p = bind(drawn, schema)
        text, arrow, polars = to_sql(p, "duckdb", schema), to_arrow(p, schema), to_polars(p, schema)
    except ExpressionError:
        return
    same(lake.scan.to_dataset().to_table(filter=arrow), lake.rows.filter(arrow))
    same(in_duckdb(lake, "lake", text), in_duckdb(lake, "whole", text))
    same(in_polars(lake.scan.to_polars(), polars), in_polars(whole_frame(lake), polars))


def in_duckdb(lake: Given, name: str, where: str) -> pa.Table:
    return lake.con.sql(f"SELECT i, f FROM {name} WHERE {where}").to_arrow_table()


def in_polars(frame: pl.LazyFrame, where: pl.Expr) -> pa.Table:
    return frame.filter(where).collect().to_arrow()


def whole_frame(lake: Given) -> pl.LazyFrame:
    return pl.from_arrow(lake.rows).lazy()


# As users of each engine write them: literals of other types, casts, functions
# -----------------------------------------------

SQL = [
    "g = 0.1", "g = 0.1::FLOAT", "f >= 1.5", "f = 'nan'", "g > 1", "f < 'infinity'", "f IN (0.1, -0.0)", "f = -0.0",
    "isnan(f)", "NOT f > 1",
    "i + 1 = 33", "i::VARCHAR = '32'", "i::DOUBLE = 32.0", "i BETWEEN 30 AND 40.5", "n = 2.0", "n > 2.5",
    "n IN (1, 2, NULL)", "n NOT IN (1, 2)",
    "n IS DISTINCT FROM 2", "s = 'm'", "s LIKE 'm%'", "s LIKE '_'", "s ILIKE 'M'", "starts_with(s, 'z')",
    "s > 'm' OR s IS NULL", "s <> 'm'",
    "t = TIMESTAMP '2020-01-04 00:00:02.000002'", "t::DATE = '2020-01-04'", "t > '2020-01-04'",
    "z >= TIMESTAMPTZ '2020-01-04 00:00:00+00'",
    "z < TIMESTAMPTZ '2020-01-04 02:00:00+02'", "day = '2020-01-04'", "day > TIMESTAMP '2020-01-04 12:00:00'",
    "d = 3.25", "d > 3.2499", "d = 3",
    "yes", "NOT yes", "yes IS NOT TRUE", "i = 32 OR s = 'a'", "i = 32 OR length(s) = 2", "(i, n) = (32, 2)",
    "(f > 1) IS NULL",
    "(f > g) IS NULL", "(f > 1) IS NOT TRUE", "(n > 2 AND s = 'm') IS NULL", "i = (SELECT max(i) FROM whole)",
]  # fmt: skip


@pytest.mark.parametrize("where", SQL)
def test_a_where_of_duckdb_gives_its_own_rows(lake: Given, where: str) -> None:
    same(in_duckdb(lake, "lake", where), in_duckdb(lake, "whole", where))


F32, I16, I64 = pl.Float32, pl.Int16, pl.Int64
moment = dt.datetime(2020, 1, 4, 0, 0, 2, 2)
POLARS = [
    pl.col("g") == 0.1, pl.col("g") == pl.lit(0.1, F32), pl.col("g") == pl.lit(0.1, pl.Float64), pl.col("g") > 0.1,
    pl.col("g") >= 0.1, pl.col("g") <= 0.1,
    pl.col("g").is_in([0.1, 1.5]), pl.col("g").is_between(0.1, 0.1), pl.col("f") == 0.1,
    pl.col("f") == pl.lit(math.nan), pl.col("f").is_nan(), pl.col("f") != 1,
    pl.col("f") == pl.lit(0.1, F32), pl.col("i") == 32.0, pl.col("i") > 31.5, pl.col("n") == 2.0, pl.col("n") < 300,
    pl.col("n") == pl.lit(2, I16),
    pl.col("n").is_in([1, 2]), ~pl.col("n").is_in([1, 2]), pl.col("n").is_in([1, None], nulls_equal=True),
    pl.col("i").cast(pl.Float32) == 32,
    pl.col("n").cast(I64) == 2, pl.col("i") + 1 == 33, pl.col("s") == "m", pl.col("s").str.starts_with("m"),
    pl.col("s").str.len_chars() == 2,
    pl.col("s") > "m", pl.col("s").eq_missing(None), pl.col("t") == moment, pl.col("t") > dt.date(2020, 1, 4),
    pl.col("t").dt.date() == moment.date(),
    pl.col("t") == pl.lit(moment).cast(pl.Datetime("ms")), pl.col("t") <= pl.lit(moment, pl.Datetime("ns")),
    pl.col("z") >= moment.replace(tzinfo=dt.UTC),
    pl.col("day") == moment.date(), pl.col("day") >= moment, pl.col("d") == Decimal("3.25"),
    pl.col("d") == 3.25, pl.col("d") > 3, pl.col("yes"), ~pl.col("yes"), pl.col("yes").is_null(),
    (pl.col("i") == 32) | (pl.col("s") == "a"),
    pl.col("i").is_in(pl.Series([32, 5])), pl.col("i") == pl.col("n"), pl.col("i") == pl.col("i").max(),
    pl.col("i").is_between(30, 32, closed="left"),
    pl.col("g") == np.float32(0.1), (pl.col("f") > 1).is_null(), (pl.col("f") > pl.col("g")).is_null(),
    (pl.col("i") > 32).is_not_null(),
    (pl.col("f") > 1).fill_null(True), ((pl.col("n") > 2) & (pl.col("s") == "m")).is_null(),
    (pl.col("d") > pl.col("f")).is_null(),
]  # fmt: skip


@pytest.mark.parametrize("where", POLARS, ids=str)
def test_a_filter_of_polars_gives_its_own_rows(lake: Given, where: pl.Expr) -> None:
    same(in_polars(lake.scan.to_polars(), where), in_polars(whole_frame(lake), where))


i, f, g, s = (pc.field(name) for name in ("i", "f", "g", "s"))
ARROW = [
    i == 32, i == 32.0, f >= 1.5, g == 0.1, g == pa.scalar(0.1, pa.float32()), f.isin([0.1, 0.0]), ~f.isin([0.1]),
    pc.is_nan(f), ~(f < 1), f != 1.0,
    pc.is_null(f, nan_is_null=True), i + 1 == 33, i.cast(pa.float64()) == 32, pc.starts_with(s, "m"),
    pc.match_like(s, "m%"), s.is_null(), pc.utf8_length(s) == 2,
    (i == 32) | (s == "a"), (i == 32) & (pc.utf8_length(s) == 1), pc.field("yes"), pc.field("t") == moment,
    pc.field("d") == Decimal("3.25"), pc.scalar(False),
    pc.if_else(i > 30, s == "m", i == 2), (f > 1).is_null(), (f > g).is_null(), (i > 32).is_valid(),
    pc.coalesce(f > 1, pc.scalar(True)),
    ((i > 2) & (s == "m")).is_null(), ((i > 2) | (s == "m")).is_null(nan_is_null=True), (i + 1 > 3).is_null(),
]  # fmt: skip


@pytest.mark.parametrize("where", ARROW, ids=str)
def test_a_filter_of_pyarrow_gives_the_rows_that_it_gives_in_memory(lake: Given, where: pc.Expression) -> None:
    same(lake.scan.to_dataset().to_table(filter=where), lake.rows.filter(where))
    shown = {"twice": i + i, "s": s}
    found = lake.scan.to_dataset().filter(where).to_table(columns=shown)
    same(found, ds.dataset(lake.rows.filter(where)).to_table(columns=shown))
    assert lake.scan.to_dataset().count_rows(where) == lake.rows.filter(where).num_rows


def test_joins_groups_and_heads(lake: Given) -> None:
    joined = "SELECT a.i, b.s FROM {0} a JOIN {0} b ON a.i = b.n WHERE b.i > 20"
    same(lake.con.sql(joined.format("lake")).to_arrow_table(), lake.con.sql(joined.format("whole")).to_arrow_table())
    many = " UNION ALL ".join(f"SELECT i, s FROM lake WHERE i % 20 = {n}" for n in range(20))
    assert len(lake.con.sql(many).fetchall()) == FILES * 5 - 5
    assert lake.con.sql("SELECT count(*) FROM lake").fetchall() == [(FILES * 5 - 2,)]
    assert len(lake.con.sql("SELECT s FROM lake LIMIT 3").fetchall()) == 3
    lazy = lake.scan.to_polars()
    assert lazy.select(pl.len()).collect().to_series().to_list() == [FILES * 5 - 2]
    assert lazy.head(7).filter(pl.col("i") >= 0).collect().height <= 7
    grouped = lazy.filter(pl.col("i") < 20).group_by("yes").agg(pl.col("i").sum()).sort("yes").collect()
    assert grouped.rows() == [(False, 60), (True, 10)]


def test_many_threads_may_scan_one_dataset(lake: Given) -> None:
    dataset = lake.scan.to_dataset()
    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(lambda n: dataset.count_rows(pc.field("i") == n), range(0, 60, 2)))
    assert found == [lake.rows.filter(pc.field("i") == n).num_rows for n in range(0, 60, 2)]


def test_the_dataset_says_what_a_dataset_says(lake: Given) -> None:
    dataset = lake.scan.to_dataset()
    assert isinstance(dataset, ds.Dataset)
    assert dataset.schema == lake.scan.schema
    assert dataset.head(3, columns=["s", "i"]).schema.names == ["s", "i"]
    assert dataset.head(3).num_rows == 3
    assert dataset.head(0).num_rows == 0
    assert dataset.take(pa.array([0, 2]), columns=["i"]).num_rows == 2
    assert all(batch.num_rows <= 2 for batch in dataset.to_batches(batch_size=2))
    assert dataset.scanner(columns=[]).to_reader().read_all().num_rows == FILES * 5 - 2
    nothing = dataset.scanner(columns=["i", "s"], filter=pc.field("i") < -5)
    assert nothing.to_reader().schema == nothing.to_table().schema == pa.schema([dataset.schema.field(n) for n in "is"])
    with pytest.raises(UnknownColumnError, match="there is no 'nothing'"):
        dataset.to_table(columns=["nothing"])


@pytest.mark.parametrize(
    "past",
    [
        lambda d: d.sort_by("i"),
        lambda d: d.join(d, "i"),
        lambda d: ds.Scanner.from_dataset(d).to_table(),
        lambda d: ds.dataset([d, d]).to_table(),
        lambda d: d.files,
        lambda d: d.get_fragments(),
        lambda d: d.replace_schema(d.schema),
        pickle.dumps,
    ],
)
def test_what_would_read_files_past_their_deletes_is_refused(lake: Given, past: object) -> None:
    with pytest.raises(ScanError):
        past(lake.scan.to_dataset())  # type: ignore[operator]


def test_what_a_filter_cannot_compute_is_no_damage_of_a_file(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1, 2], "s": ["x", "1"]}), tmp_path / "0.parquet")
    scan = mi.open_table(tmp_path).scan()
    for wrong in (pc.divide(pc.field("a"), 0) == 1, pc.field("s").cast("int64") == 1, pc.field("a") == "x"):
        with pytest.raises(ExpressionError, match="pyarrow cannot compute this one") as refused:
            scan.to_dataset().to_table(filter=wrong)
        assert "place" not in str(refused.value)
    with pytest.raises(UnknownColumnError, match="nope"):
        scan.to_dataset().to_table(filter=pc.field("nope") == 3)
    assert scan.to_dataset().to_table(filter=pc.field("s") == "1").num_rows == 1


def test_types_that_polars_lacks_are_refused(tmp_path: Path) -> None:
    wide = pa.array([Decimal(1)], pa.decimal256(50, 5))
    pq.write_table(pa.table({"a": [1], "d": wide}), tmp_path / "0.parquet")
    table = mi.open_table(tmp_path)
    with pytest.raises(ScanError, match=r"Polars is given columns of types that it has.*leave it out with columns="):
        table.scan().to_polars()
    assert table.scan(columns=["a"]).to_polars().collect().height == 1
