"""Predicates of other engines, in and out. An engine is told by its type's module name: nothing is imported to find
out."""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa

from metaindex.expressions.errors import ExpressionError
from metaindex.expressions.tree import (
    And,
    Comparison,
    Constant,
    In,
    IsNan,
    IsNull,
    Not,
    Opaque,
    Or,
    Predicate,
    StartsWith,
)

_NODES: Final = (And, Comparison, Constant, In, IsNan, IsNull, Not, Opaque, Or, StartsWith)


def to_predicate(condition: object, schema: pa.Schema | None = None) -> Predicate:
    """The predicate that says what the condition says; what cannot be read of it is Opaque and keeps every file.

    Taken are: a predicate (`col("a") > 3`), a bool, the text of a SQL condition (Spark's dialect), and the conditions
    of pyspark (a Column), pyarrow, pyiceberg, Polars and DuckDB. A `schema` lets casts that lose nothing be seen
    through.
    """
    if isinstance(condition, _NODES):
        return condition
    if isinstance(condition, bool):
        return Constant(condition)
    if isinstance(condition, str):
        from .sql import parse

        return parse(condition, schema=schema)
    found = _of_engine(condition, schema)
    if found is None:
        kind = type(condition)
        raise ExpressionError(
            f"a condition is SQL text, col(...) or a pyspark, pyarrow, pyiceberg, Polars or DuckDB expression, "
            f"not {kind.__module__}.{kind.__qualname__}"
        )
    return found


def _of_engine(condition: Any, schema: pa.Schema | None) -> Predicate | None:
    for kind in type(condition).__mro__:
        match (kind.__module__.split(".")[0], kind.__name__):
            case ("pyarrow", "Expression"):
                from .arrow_reading import from_arrow

                return from_arrow(condition, schema)
            case ("pyspark", "Column"):
                from .spark import from_spark

                return from_spark(condition)
            case ("pyiceberg", "BooleanExpression"):
                from .iceberg_reading import from_iceberg

                return from_iceberg(condition, schema)
            case ("polars", "Expr"):
                from .polars_reading import from_polars

                return from_polars(condition, schema)
            case ("duckdb" | "_duckdb", "Expression"):
                from .duckdb import from_duckdb

                return from_duckdb(condition, schema)
    return None
