"""Predicates of other engines, in and out. An engine is recognized by its type's module name: nothing is imported for
that. Conditions come in by `to_predicate` alone."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any, Final

import pyarrow as pa

from metaindex.core import ExpressionError, dataclass
from metaindex.expressions.build import ColumnBuilder
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


@dataclass(frozen=True, slots=True)
class CatalystNodes:
    """A condition of a Spark plan, as the rule sends it: the nodes that `toJSON` writes. `time_zone`: the session's, in
    which Spark printed timestamps."""

    nodes: Sequence[Mapping[str, Any]]
    time_zone: str | None = None


def to_predicate(
    condition: object,
    schema: pa.Schema | None = None,
    *,
    time_zone: str = "UTC",
    of_rows: bool = False,
    now: dt.datetime | None = None,
) -> Predicate:
    """The predicate that says what the condition says; what cannot be read of it is Opaque and keeps every file.

    Taken are: a predicate (`col("a") > 3`), a bool, the text of a SQL condition (Spark's dialect; its times without a
    zone are of `time_zone`), and the conditions of pyspark (a Column), pyarrow, pyiceberg, Polars and DuckDB. A
    `schema` lets casts that lose nothing be seen through, and parts of a text that are not understood be applied to
    rows. `now`: what a text calls so; the present moment. `of_rows`: where readers of one engine differ, what its own
    filter of rows in hand says, and not what makes none of them miss a row (pyiceberg).
    """
    if isinstance(condition, _NODES):
        return condition
    if isinstance(condition, bool):
        return Constant(condition)
    if isinstance(condition, str):
        from .sql import parse

        return parse(condition, timezone=time_zone, schema=schema, now=now)
    if isinstance(condition, CatalystNodes):
        from .spark_json import from_spark_json

        return from_spark_json(condition.nodes, condition.time_zone)
    return _of_engine(condition, schema, of_rows)


def engine_of(condition: object) -> str | None:
    """Return the name of the engine whose expression this is; None if it is no engine's."""
    for kind in type(condition).__mro__:
        name = _CONDITIONS.get((kind.__module__.split(".")[0], kind.__name__))
        if name is not None:
            return name
    return None


_CONDITIONS: Final = {
    ("pyarrow", "Expression"): "pyarrow",
    ("pyspark", "Column"): "pyspark",
    ("pyiceberg", "BooleanExpression"): "pyiceberg",
    ("polars", "Expr"): "polars",
    ("duckdb", "Expression"): "duckdb",
    ("_duckdb", "Expression"): "duckdb",
}


def _of_engine(condition: Any, schema: pa.Schema | None, of_rows: bool) -> Predicate:
    match engine_of(condition):
        case "pyarrow":
            from .arrow_reading import from_arrow

            return from_arrow(condition, schema)
        case "pyspark":
            from .spark import from_spark

            return from_spark(condition)
        case "pyiceberg":
            from .iceberg_reading import from_iceberg

            return from_iceberg(condition, schema, of_rows=of_rows)
        case "polars":
            from .polars_reading import from_polars

            return from_polars(condition, schema)
        case "duckdb":
            from .duckdb import from_duckdb

            return from_duckdb(condition, schema)
        case _:
            kind = type(condition)
            if isinstance(condition, ColumnBuilder):
                raise ExpressionError(
                    "a condition compares a column with a value; a column alone was given; write col('a') == 1, or"
                    " col('a') == True of a boolean"
                )
            raise ExpressionError(
                f"a condition is SQL text, col(...) or a pyspark, pyarrow, pyiceberg, Polars or DuckDB expression, "
                f"not {kind.__module__}.{kind.__qualname__}"
            )
