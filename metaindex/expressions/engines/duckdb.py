"""DuckDB expressions, in and out: DuckDB prints an expression as SQL and reads SQL as an expression, so SQL is the way.

What DuckDB compares otherwise than Spark is Opaque: texts are cast to the column's type there (`'2.9'` is 3 for an
integer), decimals to FLOAT for a FLOAT column, and moments without a zone get that of DuckDB's session, which an
expression does not tell.
"""

from __future__ import annotations

import datetime as dt
import re
from decimal import Decimal
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from metaindex.core import ExpressionError
from metaindex.expressions.literals import LiteralValue
from metaindex.expressions.tree import Comparison, In, Leaf, Opaque, Predicate

from .casts import type_by_any_case
from .sql_text import to_sql

if TYPE_CHECKING:
    from duckdb import Expression


def to_duckdb(predicate: Predicate, schema: pa.Schema | None = None) -> Expression:
    """Return `to_sql(predicate, "duckdb", schema)` for `relation.filter(...)`. ExpressionError for Opaque."""
    import duckdb

    return duckdb.SQLExpression(to_sql(predicate, "duckdb", schema))


def from_duckdb(expression: Expression, schema: pa.Schema | None = None) -> Predicate:
    """Read a DuckDB expression. What cannot be read becomes Opaque, never an error. Without a `schema` literals are
    taken to have their columns' types."""
    from .sql import parse

    try:
        tree = parse(str(expression), "duckdb", schema=schema)
    except ExpressionError:
        return Opaque(str(expression))
    return tree if schema is None else tree.transform(lambda leaf: _as_duckdb_compares(leaf, schema))


def _as_duckdb_compares(leaf: Leaf, schema: pa.Schema) -> Predicate:
    match leaf:
        case Comparison(column, _, literal):
            values = (literal,)
        case In(column, values):
            pass
        case _:
            return leaf
    known = type_by_any_case(schema, column.parts)
    if known is None or all(_is_same(value.value, known) for value in values):
        return leaf
    shown = ", ".join(repr(value.value) for value in values[:5])
    return Opaque(f"{column} compared with {shown} as DuckDB does", (column,))


def _is_same(value: LiteralValue, known: pa.DataType) -> bool:
    """Return whether both engines compare the value with a column of this type in the same way."""
    is_ = pa.types
    match value:
        case None | bool() | bytes():
            return True
        case str() if is_.is_date(known):
            return _DAY.fullmatch(value) is not None
        case str() if is_.is_timestamp(known):
            return known.tz is None and (_DAY.fullmatch(value) or _MOMENT.fullmatch(value)) is not None
        case str():
            return not (
                is_.is_integer(known) or is_.is_floating(known) or is_.is_decimal(known) or is_.is_boolean(known)
            )
        case dt.datetime() if is_.is_timestamp(known):
            aligned = known.unit not in {"s", "ms"} or value.microsecond == 0
            return aligned and (value.tzinfo is None) == (known.tz is None)
        case dt.date() if is_.is_timestamp(known):
            return known.tz is None
        case int() | Decimal() if is_.is_float32(known):
            number = Decimal(value)
            return abs(number) <= 1 << 24 and Decimal(float(np.float32(float(number)))) == number
        case _:
            return True


_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d")
_MOMENT: Final = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d{1,6})?")
