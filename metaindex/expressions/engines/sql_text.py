"""A predicate becomes the text of a SQL condition, for Spark or DuckDB, with the same rows as the reference semantics.

Every identifier is quoted and every literal typed and escaped, so text from a user cannot leave its string. `Opaque` is
refused: what could not be read cannot be repeated in another dialect.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable
from decimal import Decimal
from typing import Final, assert_never
from uuid import UUID

import pyarrow as pa

from metaindex.core import ExpressionError
from metaindex.expressions.literals import Literal, LiteralValue
from metaindex.expressions.physical import Family
from metaindex.expressions.tree import (
    ColumnRef,
    Comparison,
    Constant,
    In,
    IsNan,
    IsNull,
    Leaf,
    Op,
    Opaque,
    Predicate,
    StartsWith,
)

from .grid import GridPlace, on_grid
from .scalar_text import DUCKDB, ScalarWriter
from .sql_words import column_sql, text_sql


def to_sql(predicate: Predicate, dialect: str = "spark", schema: pa.Schema | None = None) -> str:
    """The condition as text. `dialect` is "spark", "duckdb" or "datafusion" (deltalake's). Opaque raises
    ExpressionError.

    Bind the predicate first. With the `schema` literals that are none of their column's values (10^40, 3.5 of an
    integer) are written through its neighbouring values, which no engine rounds.
    """
    writer = _dialect(dialect, schema)
    return predicate.fold(writer.leaf, lambda child: f"(NOT {child})", _all_of, _any_of)


def _dialect(name: str, schema: pa.Schema | None = None) -> _Spark:
    if name not in _DIALECTS:
        raise ExpressionError(f"SQL can be written for spark and duckdb, not for {name!r}")
    return _DIALECTS[name](schema)


def literal_writer(dialect: str) -> Callable[[Literal], str]:
    """Writes values as text of the dialect."""
    return _dialect(dialect).literal


def _all_of(parts: list[str]) -> str:
    return f"({' AND '.join(parts)})" if parts else "TRUE"


def _any_of(parts: list[str]) -> str:
    return f"({' OR '.join(parts)})" if parts else "FALSE"


class _Spark:
    name = "spark"
    null_safe_eq = "<=>"
    instant = "TIMESTAMP"
    naive_timestamp = "TIMESTAMP_NTZ"
    mark = "`"  # around names
    is_nan = "isnan({})"
    starts_with = "startswith({}, {})"

    def __init__(self, schema: pa.Schema | None) -> None:
        self.schema = schema

    def leaf(self, p: Leaf) -> str:
        match p:
            case Comparison(column, op, value):
                return self._comparison(column, op, value)
            case In(column, values):
                return self._in(column, values)
            case IsNull(column):
                return f"({self.column(column)} IS NULL)"
            case IsNan(column):
                return self.is_nan.format(self.column(column))
            case StartsWith(column, prefix):
                known = column.type_in(self.schema)
                if known is not None and Family.of(known) is Family.BYTES:
                    return self._bytes_start_with(self.column(column), prefix.encode())
                return self.starts_with.format(self.column(column), self.string(prefix))
            case Constant(value):
                return self.literal(Literal(value))
            case Opaque(scalar=scalar) if scalar is not None and self.name == "spark":
                return ScalarWriter(self.name, lambda value: self.column(value.column), self.literal).write(scalar)
            case Opaque(text):
                raise ExpressionError(
                    f"{text!r} was not understood and cannot be written as SQL; apply it in the engine it came from"
                )
            case _:
                assert_never(p)

    def column(self, column: ColumnRef) -> str:
        return column_sql([_sayable(part) for part in column.parts], self.mark)

    def _comparison(self, column: ColumnRef, op: Op, value: Literal) -> str:
        name = self.column(column)
        place = self._place(column, value)
        if place is None:
            return f"({name} {self.null_safe_eq if op is Op.NULL_SAFE_EQ else op.value} {self._said(column, value)})"
        if op is Op.NULL_SAFE_EQ:
            return "FALSE"
        less = op in {Op.LT, Op.LE}
        if op in {Op.EQ, Op.NE} or place.floor is None:
            # The same for every value, and NULL for NULL.
            same = op is Op.NE or (op is not Op.EQ and less == place.above)
            return f"({name} {'=' if same else '!='} {name})"
        return f"({name} {'<=' if less else '>'} {self._said(column, Literal(place.floor))})"

    def _in(self, column: ColumnRef, values: tuple[Literal, ...]) -> str:
        if not values:
            return "FALSE"
        name = self.column(column)
        possible = [self._said(column, v) for v in values if self._place(column, v) is None]
        return f"({name} IN ({', '.join(possible)}))" if possible else f"({name} != {name})"

    def _bytes_start_with(self, name: str, prefix: bytes) -> str:
        """Write a prefix condition on bytes as a range: DuckDB has no prefix function for BLOB."""
        end = prefix.rstrip(b"\xff")
        if not end:
            return f"({name} >= {self.binary(prefix)})"
        return f"({name} >= {self.binary(prefix)} AND {name} < {self.binary(end[:-1] + bytes([end[-1] + 1]))})"

    def _place(self, column: ColumnRef, value: Literal) -> GridPlace | None:
        known = column.type_in(self.schema)
        return None if known is None else on_grid(known, value.value)

    def _said(self, column: ColumnRef, value: Literal) -> str:
        """Write the literal in the column's own type: a UUID may be stored as 16 bytes."""
        known = column.type_in(self.schema)
        if isinstance(value.value, UUID) and known is not None and Family.of(known) is Family.BYTES:
            return self.binary(value.value.bytes)
        return self.literal(value)

    def literal(self, literal: Literal) -> str:
        value: LiteralValue = literal.value
        match value:
            case None:
                return "NULL"
            case bool():
                return "TRUE" if value else "FALSE"
            case int():
                return self.integer(value)
            case float():
                return self.double(value)
            case Decimal():
                return self.decimal(value)
            case str():
                return self.string(value)
            case bytes():
                return self.binary(value)
            case dt.datetime():
                return self.timestamp(value)
            case dt.date():
                return f"DATE '{value.isoformat()}'"
            case dt.time():
                return f"TIME '{value.isoformat(timespec='microseconds')}'"
            case UUID():
                return self.uuid(value)
            case _:
                assert_never(value)

    def timestamp(self, value: dt.datetime) -> str:
        if value.tzinfo is None:
            return f"{self.naive_timestamp} '{value.isoformat(sep=' ', timespec='microseconds')}'"
        instant = value.astimezone(dt.UTC).replace(tzinfo=None)
        return f"{self.instant} '{instant.isoformat(sep=' ', timespec='microseconds')}+00:00'"

    def integer(self, value: int) -> str:
        if -(1 << 31) < value < 1 << 31:
            return str(value)
        return f"{value}L" if -(1 << 63) <= value < 1 << 63 else self.decimal(Decimal(value))

    def double(self, value: float) -> str:
        return f"{value!r}D" if math.isfinite(value) else f"double('{_special(value)}')"

    def decimal(self, value: Decimal) -> str:
        _shape(value)
        return f"{_digits(value)}BD"

    def string(self, value: str) -> str:
        return "'" + "".join(_SPARK_ESCAPES.get(c, c) for c in _sayable(value)) + "'"

    def binary(self, value: bytes) -> str:
        return f"X'{value.hex()}'"

    def uuid(self, value: UUID) -> str:
        return self.string(str(value))  # Spark has no UUID: it shows the text


class _SparkColumn(_Spark):
    """Dialect for SQL text that a session parses: its parser may take backslashes literally
    (spark.sql.parser.escapedStringLiterals), and `${env:HOME}` for a variable."""

    def string(self, value: str) -> str:
        if any(c in _SPARK_ESCAPES for c in value) or "${" in value:
            return f"CAST({self.binary(_sayable(value).encode())} AS STRING)"
        return super().string(value)


class _DuckDB(_Spark):
    name = DUCKDB
    null_safe_eq = "IS NOT DISTINCT FROM"
    instant = "TIMESTAMPTZ"
    naive_timestamp = "TIMESTAMP"
    mark = '"'
    is_nan = "coalesce(isnan({}), FALSE)"
    starts_with = "starts_with({}, {})"

    def integer(self, value: int) -> str:
        return f"({value})" if abs(value) < 10**38 else self.decimal(Decimal(value))

    def double(self, value: float) -> str:
        return f"CAST('{value!r}' AS DOUBLE)"

    def decimal(self, value: Decimal) -> str:
        precision, scale = _shape(value)
        return f"CAST('{_digits(value)}' AS DECIMAL({precision},{scale}))"

    def string(self, value: str) -> str:
        # A zero byte would end the statement's text.
        pieces = [text_sql(piece, doubled=True) for piece in _sayable(value).split("\0")]
        return pieces[0] if len(pieces) == 1 else "(" + " || chr(0) || ".join(pieces) + ")"

    def binary(self, value: bytes) -> str:
        return f"unhex('{value.hex()}')"

    def uuid(self, value: UUID) -> str:
        return f"CAST('{value}' AS UUID)"


class _DataFusion(_DuckDB):
    """Dialect of deltalake's conditions: names as written, texts without escapes, times as text."""

    is_nan = "isnan({})"

    def _said(self, column: ColumnRef, value: Literal) -> str:
        """Write the literal in the column's very type: where it reads statistics, deltalake compares no others."""
        known, number = column.type_in(self.schema), value.value
        if known is not None and isinstance(number, int | float | Decimal) and not isinstance(number, bool):
            if pa.types.is_decimal(known):
                exact = number if isinstance(number, Decimal) else Decimal(number)
                return f"CAST('{_digits(exact)}' AS DECIMAL({known.precision},{known.scale}))"
            if pa.types.is_floating(known):
                return f"CAST('{float(number)!r}' AS {'DOUBLE' if pa.types.is_float64(known) else 'FLOAT'})"
            if pa.types.is_integer(known):
                return f"CAST('{int(number)}' AS BIGINT)" if number == -(1 << 63) else str(int(number))
        return super()._said(column, value)

    def integer(self, value: int) -> str:
        return str(value) if -(1 << 63) < value < 1 << 63 else self.decimal(Decimal(value))

    def string(self, value: str) -> str:
        return text_sql(_sayable(value), doubled=True)

    def binary(self, value: bytes) -> str:
        return f"X'{value.hex()}'"

    def timestamp(self, value: dt.datetime) -> str:
        if value.tzinfo is None:
            text, zone = value.isoformat(timespec="microseconds"), "None"
        else:
            text = value.astimezone(dt.UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"
            zone = 'Some("UTC")'
        return f"arrow_cast('{text}', 'Timestamp(Microsecond, {zone})')"


_DIALECTS: Final[dict[str, type[_Spark]]] = {
    "spark": _Spark,
    "duckdb": _DuckDB,
    "spark column": _SparkColumn,
    "datafusion": _DataFusion,
}
_SPARK_ESCAPES: Final = {"\\": "\\\\", "'": "\\'", "\0": "\\u0000", "\n": "\\n", "\r": "\\r", "\x1a": "\\Z"}


def _special(value: float) -> str:
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _digits(value: Decimal) -> str:
    return format(value if value else value.copy_abs(), "f")


def _shape(value: Decimal) -> tuple[int, int]:
    """Precision and scale of the type that holds the value as written."""
    _, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        raise ExpressionError(f"a decimal literal must be finite, not {value}; use a float")
    scale = max(-exponent, 0)
    precision = max(len(digits) + max(exponent, 0), scale, 1)
    if precision > 38:
        raise ExpressionError(f"a decimal literal holds at most 38 digits, {value} needs {precision}; round it")
    return precision, scale


def _sayable(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ExpressionError(f"{text!r} holds half a surrogate pair, which no UTF-8 text can; remove it") from None
    return text
