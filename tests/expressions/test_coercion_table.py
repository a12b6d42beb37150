"""Which literals a column's type takes, and what they mean there: the whole table, type by kind, against oracles. What
does not stand in it is refused by one error of ours."""

import datetime as dt
import uuid
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from metaindex.core import LiteralTypeError, SparkDriver
from metaindex.expressions import (
    ColumnRef,
    Comparison,
    In,
    Literal,
    Op,
    Opaque,
    PhysicalInterval,
    StartsWith,
    bind,
    col,
)
from metaindex.expressions.coercion import TABLE, family
from metaindex.expressions.engines.arrow import to_arrow
from metaindex.expressions.engines.sql_text import _dialect, to_sql
from metaindex.expressions.places import physical_points
from metaindex.expressions.statistics import Interval
from tests.evaluate import matches
from tests.facts import Facts

UUID = pa.uuid()
U = uuid.UUID("0c000000-0000-0000-0000-0000000000ff")
TYPES = {
    "boolean": [pa.bool_()],
    "integer": [pa.int8(), pa.int32(), pa.int64(), pa.uint64(), pa.dictionary(pa.int8(), pa.int32())],
    "float": [pa.float32(), pa.float64()],
    "decimal": [pa.decimal128(9, 2), pa.decimal128(38, 10)],
    "date": [pa.date32(), pa.date64()],
    "time": [pa.time32("s"), pa.time64("us"), pa.time64("ns")],
    "timestamp_ntz": [pa.timestamp("us"), pa.timestamp("ns")],
    "timestamp": [pa.timestamp("us", "UTC")],
    "string": [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())],
    "binary": [pa.binary(), pa.binary(16), pa.binary(4)],
    "uuid": [UUID],
}
VALUES: dict[str, list[Any]] = {
    "bool": [True, False],
    "int": [0, 5, -1, 2**70],
    "float": [0.0, 0.5, float("nan"), float("inf"), 2.0**60],
    "decimal": [Decimal("0.5"), Decimal(5), Decimal("1e30")],
    "string": ["", "5", "0.5", "true", "2024-02-03", "2024-02-03 10:00:00", "10:30:00", str(U), str(U).upper(), "é😀",
        U.hex],
    "binary": [b"", b"abcd", U.bytes, b"\xff"],
    "date": [dt.date(2024, 2, 3)],
    "timestamp_ntz": [dt.datetime(2024, 2, 3), dt.datetime(2024, 2, 3, 10, 0, 0, 1)],
    "timestamp": [dt.datetime(2024, 2, 3, tzinfo=dt.UTC)],
    "time": [dt.time(10, 30), dt.time(23, 59, 59, 999999)],
    "uuid": [U],
}  # fmt: skip
ALL = [(name, t, k, v) for name, types in TYPES.items() for t in types for k, values in VALUES.items() for v in values]


def test_every_type_and_every_kind_has_its_place() -> None:
    assert TYPES.keys() == TABLE.keys()
    assert all(Literal(value).kind == name for name, values in VALUES.items() for value in values)
    assert {k for row in TABLE.values() for k in row} == VALUES.keys()
    for name, types in TYPES.items():
        assert all(family(t) == name for t in types if not pa.types.is_dictionary(t))


def test_the_page_shows_the_table() -> None:
    page = (Path(__file__).parents[2] / "docs" / "literals.md").read_text()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines() if line.startswith("|")]
    kinds = rows[0][1:]
    shown = {row[0]: {k for k, mark in zip(kinds, row[1:], strict=True) if mark == "x"} for row in rows[2:]}
    assert shown == {name: set(row) for name, row in TABLE.items()}


def test_a_pair_is_taken_or_refused_by_the_table() -> None:
    for name, t, k, value in ALL:
        for predicate in (col("a") == value, col("a").isin([value, None]), col("a") < value):
            if k not in TABLE[name]:
                with pytest.raises(LiteralTypeError, match="a literal is a value of its column's type"):
                    bind(predicate, {("a",): t})
                continue
            try:
                found = bind(predicate, {("a",): t})
            except LiteralTypeError:
                assert k == "string", (t, value)  # a text that is none of the type's
                continue
            assert isinstance(found, Comparison | In | Opaque)
            assert bind(found, {("a",): t}) == found  # again changes nothing


def test_no_text_is_taken_for_the_bytes_of_a_uuid() -> None:
    schema = {("u",): UUID}
    assert bind(col("u") == str(U), schema) == Comparison(ColumnRef(("u",)), Op.EQ, Literal(U))
    for text in (str(U).upper(), U.hex, "{" + str(U) + "}", "0c", "", "0" * 16, " " + str(U)):
        assert isinstance(bind(col("u") == text, schema), Opaque)
        assert isinstance(bind(col("u") >= text, schema), Opaque)
    assert isinstance(bind(StartsWith(ColumnRef(("u",)), "0c"), schema), Opaque)
    assert isinstance(bind(StartsWith(ColumnRef(("u",)), str(U)), schema), Opaque)
    with pytest.raises(LiteralTypeError, match=r"uuid\.UUID\(bytes="):
        bind(col("u") == U.bytes, schema)
    assert bind(col("u") == U.bytes, schema, as_held=True) == bind(col("u") == U, schema)
    assert isinstance(bind(col("u") == b"0c", schema, as_held=True), Opaque)
    for t in (pa.binary(16), pa.string()):
        with pytest.raises(LiteralTypeError):
            bind(col("u") == U, {("u",): t})


_UUIDS = st.builds(uuid.UUID, int=st.integers(0, 2**128 - 1) | st.sampled_from([0, 2**127, 2**127 - 1, 2**128 - 1]))
_TIMES = st.times() | st.sampled_from([dt.time(0), dt.time(10, 30), dt.time(10, 30, 0, 1), dt.time.max])


@given(held=st.lists(_UUIDS | st.none(), max_size=8), value=_UUIDS, op=st.sampled_from(Op), text=st.booleans())
@pytest.mark.slow
def test_uuids_are_compared_as_their_texts_are(
    held: list[uuid.UUID | None], value: uuid.UUID, op: Op, text: bool
) -> None:
    bound = bind(Comparison(ColumnRef(("u",)), op, Literal(str(value) if text else value)), {("u",): UUID})
    as_text = Comparison(ColumnRef(("u",)), op, Literal(str(value)))
    rows: list[dict[str, object]] = [{"u": None if one is None else one.bytes} for one in held]
    expected = [matches(as_text, {"u": None if one is None else str(one)}) for one in held]
    assert [matches(bound, row) for row in rows] == expected
    for t in (pa.binary(16), UUID):
        table = pa.table({"u": pa.array([row["u"] for row in rows], t)})
        for schema in (None, pa.schema([("u", pa.binary(16))]), pa.schema([("u", UUID)])):
            if schema is None and t == UUID:
                continue  # pyarrow compares no UUIDs: a schema tells
            kept = table.filter(to_arrow(bound, schema))["u"].to_pylist()
            assert [one.bytes if isinstance(one, uuid.UUID) else one for one in kept] == [
                row["u"] for row, truth in zip(rows, expected, strict=True) if truth
            ]
    with duckdb.connect() as con:
        con.execute("CREATE TABLE r(n INT, u UUID)")
        for n, one in enumerate(held):
            con.execute("INSERT INTO r VALUES (?, ?)", [n, one])
        kept = [n for (n,) in con.sql(f"FROM r SELECT n WHERE {to_sql(bound, 'duckdb')} ORDER BY n").fetchall()]
        assert kept == [n for n, truth in enumerate(expected) if truth]


@given(held=st.lists(_TIMES | st.none(), max_size=8), value=_TIMES, op=st.sampled_from(Op), text=st.booleans())
@pytest.mark.slow
def test_times_are_compared_as_duckdb_compares_them(
    held: list[dt.time | None], value: dt.time, op: Op, text: bool
) -> None:
    literal = Literal(value.isoformat(timespec="microseconds") if text else value)
    bound = bind(Comparison(ColumnRef(("t",)), op, literal), {("t",): pa.time64("us")})
    with duckdb.connect() as con:
        con.execute("CREATE TABLE r(n INT, t TIME)")
        for n, one in enumerate(held):
            con.execute("INSERT INTO r VALUES (?, ?)", [n, one])
        kept = [n for (n,) in con.sql(f"FROM r SELECT n WHERE {to_sql(bound, 'duckdb')} ORDER BY n").fetchall()]
    assert kept == [n for n, one in enumerate(held) if matches(bound, {"t": one})]
    for t in (pa.time64("us"), pa.time64("ns"), pa.time32("ms"), pa.time32("s")):
        cut = [None if one is None else _cut(one, t) for one in held]
        table = pa.table({"t": pa.array(cut, t)})
        found = table.filter(to_arrow(bound, table.schema))["t"].to_pylist()
        assert found == [one for one in cut if matches(bound, {"t": one})]
        points = physical_points([Literal(value)], t)
        assert points[0] is not None
        assert PhysicalInterval.of(Interval(Literal(value), Literal(value)), t) is not None


def _cut(one: dt.time, t: pa.DataType) -> dt.time:
    if t.unit == "s":
        return one.replace(microsecond=0)
    return one.replace(microsecond=one.microsecond // 1000 * 1000) if t.unit == "ms" else one


SPARK = {
    "boolean": [pa.bool_()],
    "integer": [pa.int8(), pa.int32(), pa.int64()],
    "float": [pa.float32(), pa.float64()],
    "decimal": [pa.decimal128(9, 2), pa.decimal128(38, 10)],
    "date": [pa.date32()],
    "timestamp_ntz": [pa.timestamp("us")],
    "timestamp": [pa.timestamp("us", "UTC")],
    "string": [pa.string()],
    "binary": [pa.binary()],
}
HELD: dict[str, list[Any]] = {
    "boolean": [True, False],
    "integer": [0, 5, -1, 127],
    "float": [0.0, 0.5, 5.0, float("nan"), float("inf")],
    "decimal": [Decimal("0.50"), Decimal(5), Decimal(-1)],
    "date": [dt.date(2024, 2, 3), dt.date(2024, 2, 4)],
    "timestamp_ntz": [dt.datetime(2024, 2, 3), dt.datetime(2024, 2, 3, 10)],
    "timestamp": [dt.datetime(2024, 2, 3, tzinfo=dt.UTC), dt.datetime(2024, 2, 3, 10, tzinfo=dt.UTC)],
    "string": ["", "5", "abcd", "2024-02-03", "é😀", str(U)],
    "binary": [b"", b"5", b"abcd", "é😀".encode(), U.bytes],
}


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_what_is_taken_means_what_spark_means(facts: Facts, ansi: str) -> None:
    """Every literal by every operator, as Spark's own SQL of column and literal."""
    writer, checked = _dialect("spark"), 0
    for name, types in SPARK.items():
        for t in types:
            column = pa.array([*HELD[name], None], t)
            for k, values in VALUES.items():
                said = [v for v in values if k in TABLE[name] and not _beyond_long(v)]
                asked = [(v, op, _bound(v, op, t)) for v in said for op in (Op.EQ, Op.LT, Op.GE, Op.NULL_SAFE_EQ)]
                known = {
                    f"a {op.value} {writer.literal(Literal(v))}": [matches(p, {"a": one}) for one in column.to_pylist()]
                    for v, op, p in asked
                    if isinstance(p, Comparison)
                }
                if known:
                    answers = facts.said(f"{k} beside {t}, ansi {ansi}", partial(_of_spark, column, list(known), ansi))
                    assert answers == [f"{text}: {shown(ours)}" for text, ours in known.items()]
                    checked += len(column) * len(known)
    assert checked > 500


def _of_spark(column: pa.Array, texts: list[str], ansi: str, spark: SparkSession) -> list[str]:
    frame = spark.createDataFrame(pa.table({"n": range(len(column)), "a": column})).coalesce(1)
    if column.type == pa.timestamp("us"):
        frame = frame.selectExpr("n", "CAST(a AS TIMESTAMP_NTZ) AS a")
    with SparkDriver(spark).setting("spark.sql.ansi.enabled", ansi):
        answers = frame.selectExpr("n", *texts).orderBy("n").collect()
    return [f"{text}: {shown([row[at] for row in answers])}" for at, text in enumerate(texts, 1)]


def shown(answers: list[bool | None]) -> str:
    """Of each row."""
    return " ".join("-" if one is None else str(one).lower() for one in answers)


def _beyond_long(value: Any) -> bool:
    """Spark takes `a < 2^70` of an integer for TRUE when it reads the query, of NULL too."""
    return isinstance(value, int | Decimal) and abs(value) >= 2**63


def _bound(value: Any, op: Op, t: pa.DataType) -> Any:
    try:
        return bind(Comparison(ColumnRef(("a",)), op, Literal(value)), {("a",): t})
    except LiteralTypeError:
        return None  # a text that is none of the type's
