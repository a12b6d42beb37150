"""A scalar expression as SQL of DuckDB or Spark. Every value and name is written by the dialect, quoted; functions come
from the table alone."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Final, assert_never

from metaindex.core import ExpressionError, dataclass
from metaindex.expressions.literals import Literal
from metaindex.expressions.scalars.functions import TABLE
from metaindex.expressions.scalars.nodes import ColumnValue, Fixed, FunctionCall, Scalar
from metaindex.expressions.scalars.types import (
    DOUBLE,
    NULL,
    STRING,
    duckdb_name,
    is_integer,
    is_map,
    is_nested,
    spark_name,
)
from metaindex.expressions.zones import fixed_offset

DUCKDB: Final = "duckdb"


@dataclass(frozen=True, slots=True)
class ScalarWriter:
    """`column` and `literal` write a column's value and a value. For DuckDB instants are clocks in UTC."""

    dialect: str
    column: Callable[[ColumnValue], str]
    literal: Callable[[Literal], str]

    def write(self, scalar: Scalar) -> str:
        match scalar:
            case ColumnValue():
                return self.column(scalar)
            case Fixed():
                return self._fixed(scalar)
            case FunctionCall("cast"):
                return self._cast(scalar)
            case FunctionCall():
                return self._call(scalar)
            case _:
                assert_never(scalar)

    def _fixed(self, fixed: Fixed) -> str:
        value = fixed.value.value
        if isinstance(value, dt.datetime) and self.dialect == DUCKDB:
            value = value.astimezone(dt.UTC).replace(tzinfo=None) if value.tzinfo else value
        text = self.literal(Literal(value))
        return text if fixed.type in (NULL, STRING) and value is not None else self._as(text, fixed)

    def _as(self, text: str, scalar: Scalar) -> str:
        if scalar.type == NULL or is_nested(scalar.type):
            return text
        return f"CAST({text} AS {duckdb_name(scalar.type) if self.dialect == DUCKDB else spark_name(scalar.type)})"

    def _cast(self, call: FunctionCall) -> str:
        (source,) = call.arguments
        text = self.write(source)
        if self.dialect == DUCKDB and is_integer(call.type) and not is_integer(source.type) and source.type != NULL:
            whole = source.type == DOUBLE or hasattr(source.type, "scale")
            text = f"trunc({text})" if whole else text
        return self._as(text, call)

    def _call(self, call: FunctionCall) -> str:
        known = TABLE[call.function]
        template = known.duckdb if self.dialect == DUCKDB else known.spark
        if not template:
            raise ExpressionError(f"{call.function} is worked out before DuckDB is asked; it cannot be written for it")
        parts = [self.write(part) for part in call.arguments]
        words = {"all": ", ".join(parts), "rest": ", ".join(parts[1:])}
        if "{type}" in template:
            words["type"] = duckdb_name(call.type)
        if "{offset}" in template:
            words["offset"] = self._offset(call)
        if "{cases}" in template:
            pairs = zip(parts[:-1:2], parts[1::2], strict=True)
            words["cases"] = " ".join(f"WHEN {when} THEN {then}" for when, then in pairs) + f" ELSE {parts[-1]}"
        if "{escape}" in template:
            usual = call.arguments[2] == Fixed(Literal("\\"), STRING)
            words["escape"] = "" if usual else f" ESCAPE {parts[2]}"
        if "{size}" in template:
            words["size"] = f"cardinality({parts[0]})" if is_map(call.arguments[0].type) else f"len({parts[0]})"
        return template.format(*parts, **words)

    def _offset(self, call: FunctionCall) -> str:
        zone = call.arguments[1]
        ahead = fixed_offset(str(zone.value.value)) if isinstance(zone, Fixed) else None
        if ahead is None:
            raise ExpressionError("clocks of a zone where they change are read before DuckDB is asked")
        return str(ahead // dt.timedelta(microseconds=1))


def is_written_first(call: Scalar) -> bool:
    """Return whether the function is computed before DuckDB runs, whose own differs or does not exist."""
    if not isinstance(call, FunctionCall) or call.function == "cast":
        return False
    if call.function == "local_time":
        zone = call.arguments[1]
        return isinstance(zone, Fixed) and fixed_offset(str(zone.value.value)) is None
    return not TABLE[call.function].duckdb
