"""Iceberg's uuid, time and fixed columns: Spark shows a UUID as text, Arrow as 16 bytes; no index takes the one for the
other, and no row is lost either way."""

import datetime as dt
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyiceberg.expressions import EqualTo, GreaterThanOrEqual, In
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import FixedType, IntegerType, NestedField, StructType, TimeType, UUIDType
from pyspark.sql import SparkSession

import metaindex as mi
from metaindex.core import LiteralTypeError, ScanError
from tests.duck import connected
from tests.tables import catalog_in

FIRSTS = (0x0C, 0x30, 0x61, 0x7F, 0x80, 0xA0, 0xFF)
"""First bytes on both sides of the sign, and some that are letters and digits of texts themselves."""
IDS = [uuid.UUID(int=(first << 120) + n) for first in FIRSTS for n in range(2)]
FIXED = [b"%03d%c" % (n, 0xF0 + n) for n in range(len(IDS))]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Table]:
    root = tmp_path_factory.mktemp("uuid")
    catalog = catalog_in(root)
    inside = StructType(NestedField(11, "u", UUIDType()))
    fields = [NestedField(1, "id", IntegerType()), NestedField(2, "u", UUIDType()), NestedField(3, "s", inside)]
    table = catalog.create_table("db.t", Schema(*fields))
    for at in range(0, len(IDS), 2):
        table.append(rows(at))
    yield table
    catalog.engine.dispose()


def rows(at: int) -> pa.Table:
    """Two of them, and in the first file a NULL."""
    none = [] if at else [None]
    u = pa.array([*(one.bytes for one in IDS[at : at + 2]), *none], pa.uuid())
    s = pa.StructArray.from_arrays([u], ["u"])
    return pa.table({"id": pa.array([at, at + 1, 100][: len(u)], pa.int32()), "u": u, "s": s})


@pytest.fixture(scope="module")
def table(written: Table) -> mi.Table:
    made = mi.open_table(written.metadata_location, config=mi.Config(builder="local"))
    made.create_index("i", mi.ColumnStats(), mi.Values("u"), mi.Bloom("s.u"))
    return made


WANTED = IDS[11]
SAME: list[Any] = [
    f"u = '{WANTED}'",
    f"s.u = '{WANTED}'",
    mi.col("u") == WANTED,
    mi.col("u").isin([WANTED, uuid.UUID(int=1)]),
    pc.field("u") == pa.scalar(WANTED.bytes, pa.binary(16)),
    pc.field("u").isin([WANTED.bytes]),
    pl.col("u") == WANTED.bytes,
    EqualTo("u", WANTED),
    EqualTo("u", str(WANTED).upper()),  # pyiceberg reads any spelling
    In("u", {WANTED, uuid.UUID(int=1)}),
]


@pytest.mark.parametrize("asked", SAME, ids=str)
def test_one_uuid_is_found_by_all_and_no_file_is_lost(table: mi.Table, asked: Any) -> None:
    result = table.prune(asked)
    assert result.kept_files == 1
    assert len(result.certain) == 0
    scan = table.scan(asked)
    assert scan.to_arrow()["id"].to_pylist() == [11]
    assert scan.to_pyiceberg().to_arrow()["id"].to_pylist() == [11]
    assert scan.to_polars().collect()["id"].to_list() == [11]


@pytest.mark.slow
def test_ranges_are_those_of_the_texts(table: mi.Table) -> None:
    for bound in IDS[::3]:
        expected = sorted(n for n, one in enumerate(IDS) if str(one) >= str(bound))
        for asked in (f"u >= '{bound}'", mi.col("u") >= bound, GreaterThanOrEqual("u", bound)):
            assert sorted(table.scan(asked).to_arrow()["id"].to_pylist()) == expected
            assert sorted(table.scan(asked).to_pyiceberg().to_arrow()["id"].to_pylist()) == expected
    result = table.prune(f"u >= '{IDS[4]}'")
    assert (result.kept_files, len(result.certain)) == (len(FIRSTS) - 2, len(FIRSTS) - 2)


@pytest.mark.parametrize("where", ["u >= '0'", "u LIKE '0c%'", f"u = '{str(WANTED).upper()}'",
    f"CAST(u AS STRING) = '{WANTED}'", "u < 'zzz'"])  # fmt: skip
def test_other_texts_prove_nothing(table: mi.Table, where: str) -> None:
    result = table.prune(where)
    assert (result.kept_files, len(result.certain)) == (len(FIRSTS), 0)
    with pytest.raises(ScanError):
        table.scan(where).to_arrow()


def test_what_is_refused_says_so(table: mi.Table) -> None:
    for asked in (mi.col("u") == WANTED.bytes, mi.col("u") == 5, mi.col("u") == dt.time(1), f"u = X'{WANTED.hex}'"):
        with pytest.raises(LiteralTypeError, match="UUID"):
            table.prune(asked)


def test_what_engines_filter_further_is_of_the_bytes_that_they_see(table: mi.Table) -> None:
    whole = table.scan("id >= 0")
    with connected() as con:
        assert whole.to_duckdb(con).filter(f"u = unhex('{WANTED.hex}')").project("id").fetchall() == [(11,)]
    assert whole.to_polars().filter(pl.col("u") == WANTED.bytes).collect()["id"].to_list() == [11]
    found = whole.to_dataset().to_table(filter=pc.field("u") >= pa.scalar(IDS[12].bytes, pa.binary(16)))
    assert sorted(found["id"].to_pylist()) == [12, 13]


def test_the_index_is_right(table: mi.Table) -> None:
    report = table.verify_index("i", files=None, predicates=[mi.col("u") == WANTED, f"u >= '{IDS[4]}'"])
    assert report.sound
    assert set(table.search(str(WANTED)).asked) == {"s.u", "u"}


@pytest.mark.slow
def test_times_and_fixed_bytes(tmp_path: Path) -> None:
    catalog = catalog_in(tmp_path)
    fields = [NestedField(1, "id", IntegerType()), NestedField(2, "t", TimeType()), NestedField(3, "f", FixedType(4))]
    made = catalog.create_table("db.t", Schema(*fields))
    for n in range(4):
        t = pa.array([dt.time(n), None], pa.time64("us"))
        f = pa.array([FIXED[n], None], pa.binary(4))
        made.append(pa.table({"id": pa.array([n, 9], pa.int32()), "t": t, "f": f}))
    table = mi.open_table(made.metadata_location, config=mi.Config(builder="local"))
    table.create_index("i", mi.ColumnStats(), mi.Values("t", "f"))
    two = dt.time(2)
    times = [mi.col("t") == two, "t = '02:00:00'", "t = TIME '02:00:00'", pc.field("t") == pa.scalar(two),
        pl.col("t") == two, EqualTo("t", two), duckdb.SQLExpression("t = TIME '02:00:00'")]  # fmt: skip
    for asked in [*times, mi.col("f") == FIXED[2], mi.col("f").isin([FIXED[2], b"longer than four", b""])]:
        scan = table.scan(asked)
        assert table.prune(asked).kept_files == 1
        assert scan.to_arrow()["id"].to_pylist() == scan.to_pyiceberg().to_arrow()["id"].to_pylist() == [2]
    for asked in (mi.col("f") == b"longer than four", mi.col("f") < b""):
        assert table.prune(asked).kept_files == 0
        assert table.scan(asked).to_pyiceberg().to_arrow().num_rows == 0
    assert table.scan(mi.col("f") > b"00").to_pyiceberg().to_arrow().num_rows == 4
    assert sorted(table.scan(mi.col("t") >= dt.time(1, 59, 59,
        999999)).to_pyiceberg().to_arrow()["id"].to_pylist()) == [2, 3]  # fmt: skip
    with connected() as con:
        found = table.scan("id >= 0").to_duckdb(con).filter("t > TIME '01:00:00'").project("id").fetchall()
    assert sorted(found) == [(2,), (3,)]
    catalog.engine.dispose()


QUERIES = [f"u = '{WANTED}'", f"u != '{WANTED}'", "u >= '0'", "u < 'a'", "u LIKE 'fff%'", "u LIKE 'ff0%'",
    f"u IN ('{IDS[0]}', '{IDS[13]}')", f"u IN ('{IDS[0]}', 'x')", f"u >= '{IDS[8]}'", f"u < '{str(IDS[9]).upper()}'",
    f"u = '{str(WANTED).upper()}'", f"CAST(u AS BINARY) = X'{str(WANTED).encode().hex()}'", f"u = X'{WANTED.hex}'",
    f"s.u = '{WANTED}'", "u IS NULL", "length(u) = 36", f"concat(u, '') = '{WANTED}'",
    f"NOT (u = '{WANTED}')"]  # fmt: skip


def test_sparks_own_sql_loses_no_row(spark: SparkSession, written: Table, table: mi.Table) -> None:
    """With the indexes as without. `scan` answers as Spark does of the texts themselves: Iceberg's own planning
    compares UUIDs by sign, and drops files of ranges beyond it."""
    spark.read.format("iceberg").load(written.metadata_location).createOrReplaceTempView("uuids")
    texts = [(n, str(one), (str(one),)) for n, one in enumerate(IDS)]
    frame = spark.createDataFrame([*texts, (100, None, (None,))], "id int, u string, s struct<u: string>")
    frame.createOrReplaceTempView("texts")

    def ids(view: str, where: str) -> list[int]:
        return sorted(r.id for r in spark.sql(f"SELECT id FROM {view} WHERE {where}").collect())

    plain = {q: ids("uuids", q) for q in QUERIES}
    truth = {q: ids("texts", q) for q in QUERIES}
    assert plain[f"u = '{WANTED}'"] == truth[f"u = '{WANTED}'"] == [11]
    assert plain["u >= '0'"] == truth["u >= '0'"] == list(range(len(IDS)))
    mi.enable(spark)
    try:
        for q in QUERIES:
            assert ids("uuids", q) == plain[q], q
    finally:
        mi.disable(spark)
    for q in QUERIES:
        try:
            scan = table.scan(q)
        except LiteralTypeError:
            continue  # bytes against a UUID
        assert sorted(r.id for r in scan.to_spark(spark).collect()) == truth[q], q
    for asked in (mi.col("u") == WANTED, mi.col("u").isin([WANTED])):
        assert [r.id for r in table.scan(asked).to_spark(spark).collect()] == [11]
