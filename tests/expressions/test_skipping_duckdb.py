"""What DuckDB says matches is never in a file that the walk drops, and what the walk calls certain DuckDB finds
whole."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterator
from decimal import Context, Decimal

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metaindex.expressions import (
    And,
    ArrowStatistics,
    ColumnRef,
    Comparison,
    Constant,
    In,
    IsNan,
    IsNull,
    Literal,
    Not,
    Op,
    Or,
    Predicate,
    StartsWith,
    bind,
    may_match,
)
from metaindex.expressions.evaluate import matches
from metaindex.expressions.skipping import must_match
from tests.strategies import Files, Schema, files, predicates, value_of

TYPES: dict[pa.DataType, str] = {
    pa.bool_(): "BOOLEAN",
    pa.int8(): "TINYINT",
    pa.int64(): "BIGINT",
    pa.uint64(): "UBIGINT",
    pa.float64(): "DOUBLE",
    pa.decimal128(9, 2): "DECIMAL(9,2)",
    pa.decimal128(30, 5): "DECIMAL(30,5)",
    pa.date32(): "DATE",
    pa.timestamp("us"): "TIMESTAMP",
    pa.string(): "VARCHAR",
}


@pytest.fixture(scope="module")
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as con:
        con.execute("SET threads=1; SET TimeZone='UTC'")
        yield con


@st.composite
def cases(draw: st.DrawFn) -> tuple[Files, Predicate]:
    drawn = draw(st.lists(st.sampled_from(list(TYPES)), min_size=1, max_size=2))
    schema = {ColumnRef((f"c{i}",)): t for i, t in enumerate(drawn)}
    return draw(files(schema)), draw(predicates(schema))


@settings(max_examples=settings.default.max_examples * 60 // 100)
@given(cases())
def test_duckdb_finds_nothing_in_dropped_files(
    connection: duckdb.DuckDBPyConnection, case: tuple[Files, Predicate]
) -> None:
    lake, p = case
    p = bind(p, {c.parts: t for c, t in lake.schema.items()})
    where = _sql(p, lake.schema)
    if where is None:
        return
    statistics = ArrowStatistics(len(lake.rows), lake.bounds)
    kept, certain = may_match(p, statistics), must_match(p, statistics)
    numbered = [(i, row) for i, rows in enumerate(lake.rows) for row in rows]
    if not numbered:
        return
    tuples = [
        f"({i}, {n}, {', '.join(_value(value_of(row, c), TYPES[t]) for c, t in lake.schema.items())})"
        for n, (i, row) in enumerate(numbered)
    ]
    names = ", ".join(c.name for c in lake.schema)
    found = connection.execute(
        f"SELECT file, row FROM (VALUES {', '.join(tuples)}) AS t(file, row, {names}) WHERE {where}"
    ).fetchall()
    assert not [file for file, _ in found if not kept[file]]
    matching = {row for _, row in found}
    assert all(n in matching for n, (i, _) in enumerate(numbered) if certain[i])
    # And the reference semantics are DuckDB's, where the two engines are known to agree.
    assert matching == {n for n, (_, row) in enumerate(numbered) if matches(p, row) is True}


def _sql(p: Predicate, schema: Schema) -> str | None:
    """The predicate as DuckDB's SQL, literals cast to the column's type; None where DuckDB has no such literal."""
    match p:
        case And() | Or():
            parts = [_sql(part, schema) for part in p.parts]
            if None in parts:
                return None
            neutral = "TRUE" if isinstance(p, And) else "FALSE"
            return "(" + (" AND " if isinstance(p, And) else " OR ").join([neutral, *parts]) + ")"  # type: ignore[list-item]
        case Not():
            inner = _sql(p.child, schema)
            return None if inner is None else f"(NOT {inner})"
        case Constant():
            return "NULL::BOOLEAN" if p.value is None else str(p.value).upper()
        case IsNull():
            return f"({p.column.name} IS NULL)"
        case IsNan():
            return f"coalesce(isnan({p.column.name}), FALSE)"
        case StartsWith():
            return f"starts_with({p.column.name}, {_value(p.prefix, 'VARCHAR')})"
        case Comparison():
            value = _literal(p.value, schema[p.column])
            op = "IS NOT DISTINCT FROM" if p.op is Op.NULL_SAFE_EQ else p.op.value
            return None if value is None else f"({p.column.name} {op} {value})"
        case In():
            values = [_literal(value, schema[p.column]) for value in p.values]
            if None in values:
                return None
            return f"({p.column.name} IN ({', '.join(values)}))" if values else "FALSE"  # type: ignore[arg-type]
        case _:
            return None


def _literal(lit: Literal, t: pa.DataType) -> str | None:
    """Only literals of the column's own type: what engines make of others is `bind`'s matter."""
    value = lit.value
    if value is None:
        return f"NULL::{TYPES[t]}"
    if pa.types.is_integer(t):
        low, high = (0, 2**64) if pa.types.is_uint64(t) else (-(2 ** (t.bit_width - 1)), 2 ** (t.bit_width - 1))
        return _value(value, TYPES[t]) if isinstance(value, int) and low <= value < high else None
    if pa.types.is_decimal(t):
        number = Decimal(value) if isinstance(value, int | Decimal) else None
        fits = (
            number is not None
            and number.adjusted() < t.precision - t.scale
            and -int(number.normalize(Context(prec=80)).as_tuple().exponent) <= t.scale
        )
        return _value(number, TYPES[t]) if fits else None
    if isinstance(value, dt.datetime) != pa.types.is_timestamp(t) and isinstance(value, dt.date):
        return None
    return None if isinstance(value, bytes) else _value(value, TYPES[t])


def _value(value: object, sql_type: str) -> str:
    if value is None:
        return f"NULL::{sql_type}"
    if isinstance(value, str):
        text = (
            "'" + value.replace("'", "''") + "'"
            if "\x00" not in value
            else " || ".join("chr(" + str(ord(c)) + ")" for c in value)
        )
        return f"({text})::VARCHAR"
    if isinstance(value, float):
        special = {math.inf: "inf", -math.inf: "-inf"}
        text = "nan" if value != value else special.get(value, repr(value))
        return f"'{text}'::{sql_type}"
    if isinstance(value, dt.date | dt.datetime):
        return f"'{value.isoformat()}'::{sql_type}"
    if isinstance(value, Decimal):
        return f"'{value:f}'::{sql_type}"
    return f"{value}::{sql_type}" if not isinstance(value, int) or isinstance(value, bool) else f"'{value}'::{sql_type}"
