"""Partition values: texts in the log, typed as the protocol says.

An empty text is NULL of every type but string and binary, where readers differ: there it is unknown whether it is NULL. A timestamp without
zone is in the zone of whoever wrote it: its bounds are as wide as zones are.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from expressions.literals import Literal
from expressions.physical import physical_type, physical_value
from expressions.statistics import ColumnBounds
from expressions.vectors import from_bytes, from_vector
from formats.model import Leaf, partition_text

from .columns import booleans, int64_values, map_values, one, rows_array, strings

_WIDEST_ZONE = dt.timedelta(hours=18)


def partition_values(files: pa.Table, sources: tuple[str, ...]) -> list[pa.Array]:
    """Per partition column, the text of every file; null is NULL."""
    maps = one(files.column("partition_values"))
    return [map_values(maps, source) for source in sources]


def partition_texts(names: tuple[str, ...], values: list[pa.Array], count: int) -> pa.Array:
    """`model.partition_text` of every file; each tuple is made once."""
    if not names:
        return pa.Array.from_buffers(
            pa.string(), count, [None, pa.py_buffer(bytes(4 * (count + 1))), pa.py_buffer(b"")]
        )
    if count == 0:
        return strings([])
    if len(values) == 1:
        codes, said = _coded(values[0])
        return strings([partition_text(names, [text]) for text in said]).take(rows_array(codes))
    codes, first = np.zeros(count, np.int64), np.zeros(1, np.int64)
    for column in values:
        of_column, said = _coded(column)
        # Codes without gaps, so that the next column's cannot overflow.
        _, first, codes = np.unique(codes * len(said) + of_column, return_index=True, return_inverse=True)
        codes = codes.astype(np.int64)
    taken = rows_array(first)
    tuples = zip(*(column.take(taken).to_pylist() for column in values), strict=True)
    return strings([partition_text(names, tuple_) for tuple_ in tuples]).take(rows_array(codes))


def _coded(column: pa.Array) -> tuple[npt.NDArray[np.int64], list[str | None]]:
    """Every value as a small number, and what the numbers mean."""
    encoded = column.dictionary_encode()
    said: list[str | None] = [*encoded.dictionary.to_pylist(), None]
    numbers, known = int64_values(encoded.indices.cast(pa.int64()))
    return np.where(known, numbers, len(said) - 1), said


@dataclass(frozen=True, slots=True)
class _Value:
    """What one text says: bounds in the physical domain, whether they are the value, NULL (None: not known), NaN."""

    lower: Any = None
    upper: Any = None
    exact: bool = False
    null: bool | None = None
    nan: bool | None = None


def partition_bounds(leaf: Leaf, texts: pa.Array, record_count: pa.Array) -> ColumnBounds | None:
    """Bounds of a partition column in every file."""
    domain = physical_type(leaf.type)
    if domain is None:
        return None
    codes, said = _coded(texts)
    values = [_typed(text, leaf.type) for text in said]
    rows, rows_known = int64_values(record_count)

    def bounds(items: list[Any]) -> pa.Array:
        known = np.array([item is not None for item in items], np.bool_)
        if pa.types.is_binary(domain):
            every = from_bytes([b"" if item is None else item for item in items])
        else:
            kind = domain.to_pandas_dtype()
            every = from_vector(np.array([0 if item is None else item for item in items], kind), None, domain)
        return every.take(rows_array(codes, known[codes]))

    def counts(flags: list[bool | None]) -> pa.Array:
        """0 where it is known that no row is such, all rows where every row is."""
        known = np.array([flag is not None for flag in flags], np.bool_)[codes]
        every = np.array([bool(flag) for flag in flags], np.bool_)[codes]
        return from_vector(np.where(every, rows, 0), known & (~every | rows_known), pa.int64())

    exact = booleans(np.array([v.exact for v in values], np.bool_)[codes])
    return ColumnBounds(
        type=leaf.type,
        lower=bounds([v.lower for v in values]),
        upper=bounds([v.upper for v in values]),
        null_count=counts([v.null for v in values]),
        nan_count=counts([v.nan for v in values]) if pa.types.is_floating(leaf.type) else None,
        row_count=record_count,
        lower_exact=exact,
        upper_exact=exact,
    )


def _typed(text: str | None, type_: pa.DataType) -> _Value:
    is_ = pa.types
    if text is None:
        return _Value(null=True, nan=False)
    if is_.is_string(type_):
        # Readers differ on whether an empty text is NULL.
        return _Value(text.encode(), text.encode(), exact=text != "", null=None if text == "" else False)
    if is_.is_binary(type_):
        return _Value(null=None if text == "" else False)
    if text == "":
        return _Value(null=True, nan=False)
    if is_.is_timestamp(type_):
        return _moment(text, type_)
    value = _plain(text, type_)
    if isinstance(value, float) and value != value:
        return _Value(null=False, nan=True)
    physical = None if value is None else physical_value(Literal(value), type_)
    if physical is None:
        return _Value()  # nothing that this type can be read from: nothing is known
    if isinstance(physical, float) and physical == 0:
        return _Value(-0.0, 0.0, exact=True, null=False, nan=False)
    return _Value(physical, physical, exact=True, null=False, nan=False)


def _plain(text: str, type_: pa.DataType) -> bool | int | float | Decimal | dt.date | None:
    is_ = pa.types
    try:
        if is_.is_boolean(type_):
            return {"true": True, "false": False}.get(text.lower())
        if is_.is_integer(type_):
            return int(text) if "_" not in text else None
        if is_.is_floating(type_):
            number = float(text) if "_" not in text else None
            return number if number is None or is_.is_float64(type_) else float(np.float32(number))
        if is_.is_decimal(type_):
            return Decimal(text)
        if is_.is_date(type_):
            return dt.date.fromisoformat(text)
    except (ValueError, InvalidOperation, OverflowError):
        pass
    return None


def _moment(text: str, type_: pa.DataType) -> _Value:
    try:
        value = dt.datetime.fromisoformat(text)
    except ValueError:
        return _Value()
    digits = text.partition(".")[2].rstrip("Zz").partition("+")[0]
    if len(digits) > 6:
        return _Value(null=False)  # finer than what is kept
    if (type_.tz is None) == (value.tzinfo is None):
        physical = physical_value(Literal(value), type_)
        return _Value() if physical is None else _Value(physical, physical, exact=True, null=False)
    if type_.tz is None:
        return _Value(null=False)
    try:
        near = value.replace(tzinfo=dt.UTC)
        low, high = (physical_value(Literal(near + by), type_) for by in (-_WIDEST_ZONE, _WIDEST_ZONE))
    except OverflowError:
        return _Value(null=False)
    return _Value(low, high, null=False)
