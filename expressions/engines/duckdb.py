"""DuckDB expressions, in and out: DuckDB prints an expression as SQL and reads SQL as an expression, so SQL is the way."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from expressions.errors import ExpressionError
from expressions.tree import Opaque, Predicate

from .sql_text import to_sql

if TYPE_CHECKING:
    from duckdb import Expression


def to_duckdb(predicate: Predicate, schema: pa.Schema | None = None) -> Expression:
    """For `relation.filter(...)`; its text is `to_sql(predicate, "duckdb", schema)`. Opaque raises ExpressionError."""
    import duckdb

    return duckdb.SQLExpression(to_sql(predicate, "duckdb", schema))


def from_duckdb(expression: Expression) -> Predicate:
    """What cannot be read is Opaque, never an error."""
    from .sql import parse

    try:
        return parse(str(expression), "duckdb")
    except ExpressionError:
        return Opaque(str(expression))
