"""Rows of Arrow tables as Python's values, for people and for JSON."""

from __future__ import annotations

import base64
import datetime as dt
import math
from collections.abc import Sequence
from typing import Any

import pyarrow as pa


class ArrowRows:
    """The rows of an Arrow table as Python's values. Those that Python cannot represent (a day of the year 10000, a
    nanosecond without pandas) are texts: tables hold such days, as the end of time."""

    def __init__(self, table: pa.Table | pa.RecordBatch) -> None:
        self.names: list[str] = table.schema.names
        columns = [values_of(column) for column in table.columns]
        self._rows: list[tuple[Any, ...]] = list(zip(*columns, strict=True)) if columns else [()] * table.num_rows

    def cells(self) -> tuple[tuple[str, ...], ...]:
        """Texts for a table: NULL is not an empty text."""
        return tuple(tuple(map(_cell, row)) for row in self._rows)

    def plain(self) -> list[dict[str, object]]:
        """Values as JSON has them, which has no NaN, bytes or times."""
        return [dict(zip(self.names, map(json_value, row), strict=True)) for row in self._rows]


def values_of(column: pa.Array | pa.ChunkedArray) -> Sequence[Any]:
    try:
        values: list[Any] = column.to_pylist()
        return values
    except (OverflowError, ValueError):
        return [_value(scalar) for scalar in column]


def _value(scalar: pa.Scalar) -> Any:
    try:
        return scalar.as_py()
    except (OverflowError, ValueError):
        if isinstance(scalar, pa.MapScalar):  # a list of entries to Arrow, too
            return [(_value(entry["key"]), _value(entry["value"])) for entry in scalar.values]
        if isinstance(scalar, pa.StructScalar):
            return {field.name: _value(scalar[at]) for at, field in enumerate(scalar.type)}
        if isinstance(scalar, pa.ListScalar | pa.LargeListScalar | pa.FixedSizeListScalar):
            return [_value(item) for item in scalar.values]
        return scalar.cast(pa.string()).as_py()


def json_value(value: object) -> object:
    """Return a value as JSON has it, which has no NaN, bytes or times."""
    match value:
        case float() if not math.isfinite(value):
            return str(value)
        case bytes():
            return base64.b64encode(value).decode()
        case dt.datetime() | dt.date() | dt.time():
            return value.isoformat()
        case dict():
            return {str(k): json_value(v) for k, v in value.items()}
        case list() | tuple():
            return [json_value(v) for v in value]
        case None | bool() | int() | float() | str():
            return value
        case _:
            return str(value)


def _cell(value: object) -> str:
    if value is None:
        return "NULL"
    return value.hex() if isinstance(value, bytes) else str(value)
