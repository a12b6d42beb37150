"""Statistics of one column as add actions have them; and read from JSON text, one text after the other: where there are
few, or where Arrow's reader finds one that is odd. What cannot be read is unknown."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, InvalidOperation
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metaindex.core import compute
from metaindex.expressions import physical_type, to_physical
from metaindex.formats.columns import rows_array, where

Column = tuple[tuple[str, ...], pa.DataType]
"""Where a column stands in the texts (physical names), and its type in the table."""


@dataclass(frozen=True, slots=True)
class LeafStatistics:
    """Statistics of one column as written: bounds in the physical domain, null counts, and whether the writer marked
    the bounds as loose."""

    lower: pa.Array
    upper: pa.Array
    null_count: pa.Array
    loose: npt.NDArray[np.bool_]

    @classmethod
    def unknown(cls, count: int, type_: pa.DataType) -> LeafStatistics:
        domain = physical_type(type_)
        nothing = pa.nulls(count, domain)
        return cls(nothing, nothing, pa.nulls(count, pa.int64()), np.zeros(count, np.bool_))

    @classmethod
    def joined(cls, parts: Sequence[LeafStatistics]) -> LeafStatistics:
        return cls(
            pa.concat_arrays([p.lower for p in parts]),
            pa.concat_arrays([p.upper for p in parts]),
            pa.concat_arrays([p.null_count for p in parts]),
            np.concatenate([p.loose for p in parts]),
        )

    def take(self, rows: npt.NDArray[np.int64]) -> LeafStatistics:
        taken = rows_array(rows)
        return LeafStatistics(
            self.lower.take(taken), self.upper.take(taken), self.null_count.take(taken), self.loose[rows]
        )

    def without_nan(self, *bounds: pa.Array | None, also: npt.NDArray[np.bool_] | None = None) -> LeafStatistics:
        """Leave out the bounds of rows in which one of `bounds` is NaN, which has no order. `also`: such rows."""
        nan = np.zeros(len(self.loose), np.bool_) if also is None else also.copy()
        for values in bounds:
            if values is not None and pa.types.is_floating(values.type):
                nan[where(compute("is_nan", values))] = True
        if not nan.any():
            return self
        kept = rows_array(np.arange(len(nan)), ~nan)
        return LeafStatistics(self.lower.take(kept), self.upper.take(kept), self.null_count, self.loose)


_EXACT = Context(prec=100)  # Python's own context ends at 28 digits

Row = Mapping[str, Any]
"""A text, parsed."""


def _parsed(text: str | None) -> Row:
    try:
        row = json.loads(text or "{}", parse_float=Decimal)
    except (ValueError, InvalidOperation, RecursionError):
        return {}
    return row if isinstance(row, dict) else {}


def parsed_rows(stats: pa.Array) -> list[Row]:
    """Parse each text; one that cannot be read gives an empty row."""
    return [_parsed(text) for text in stats.to_pylist()]


def read_rows(rows: Sequence[Row], source: tuple[str, ...], type_: pa.DataType) -> LeafStatistics:
    """Like `stats_json.read_leaves`, from parsed texts."""
    lower: list[Any] = []
    upper: list[Any] = []
    nulls: list[int | None] = []
    loose: list[bool] = []
    for row in rows:
        low, high = _at(row.get("minValues"), source), _at(row.get("maxValues"), source)
        doubtful = any(v == "NaN" or (isinstance(v, float) and v != v) for v in (low, high))
        if doubtful and pa.types.is_floating(type_):
            low = high = None
        lower.append(_value(low, type_, ROUND_FLOOR))
        upper.append(_value(high, type_, ROUND_CEILING))
        nulls.append(whole(_at(row.get("nullCount"), source)))
        loose.append(row.get("tightBounds", True) is not True and row.get("tightBounds") is not None)
    if json_type(type_) is None:
        nothing = pa.nulls(len(nulls), physical_type(type_))
        return LeafStatistics(nothing, nothing, pa.array(nulls, pa.int64()), np.array(loose, np.bool_))
    kept_as = pa.int64() if pa.types.is_integer(type_) else type_
    return LeafStatistics(
        to_physical(pa.array(lower, kept_as), type_, upper=False),
        to_physical(pa.array(upper, kept_as), type_, upper=True),
        pa.array(nulls, pa.int64()),
        np.array(loose, np.bool_),
    )


def _at(values: Any, source: tuple[str, ...]) -> Any:
    for name in source:
        if not isinstance(values, dict):
            return None
        values = values.get(name)
    return values


def whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63 else None


def _value(raw: Any, type_: pa.DataType, rounding: str) -> Any:
    """A bound as JSON has it, as a value of the type; None where it is none."""
    is_ = pa.types
    if is_.is_boolean(type_):
        return raw if isinstance(raw, bool) else None
    if is_.is_string(type_):
        return raw if isinstance(raw, str) and _is_unicode(raw) else None
    if is_.is_date(type_) or is_.is_timestamp(type_):
        return moment(raw, type_) if isinstance(raw, str) else None
    if isinstance(raw, bool) or not isinstance(raw, int | float | Decimal):
        return None
    try:
        if is_.is_floating(type_):
            number = float(raw)
            return number if is_.is_float64(type_) else _float32(number, raw)
        exact = Decimal(raw)
        if is_.is_integer(type_):
            return whole(int(exact.to_integral_value(rounding=rounding)))
        if is_.is_decimal(type_):
            scaled = exact.quantize(Decimal(1).scaleb(-type_.scale), rounding, _EXACT)
            return scaled if len(scaled.as_tuple().digits) <= type_.precision else None
    except (InvalidOperation, OverflowError, ValueError):
        return None
    return None


def _is_unicode(text: str) -> bool:
    """JSON can escape half a surrogate pair; no text of ours holds one."""
    return text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text)


def _float32(number: float, raw: Any) -> float | None:
    with np.errstate(over="ignore"):
        near = float(np.float32(number))
    return near if np.isfinite(near) or not np.isfinite(float(raw)) else None


def json_type(type_: pa.DataType) -> pa.DataType | None:
    """Return the JSON type of a column's bounds; None if its bounds cannot be trusted."""
    is_ = pa.types
    if is_.is_boolean(type_) or is_.is_floating(type_) or is_.is_decimal(type_) or is_.is_string(type_):
        return type_
    if is_.is_integer(type_):
        return pa.int64()
    if is_.is_date(type_) or is_.is_timestamp(type_):
        return pa.string()
    return None


def moment(text: str | None, type_: pa.DataType) -> dt.date | dt.datetime | None:
    """A date or a time; a time with a zone becomes UTC, a zone that is missing or too many makes it unknown."""
    if text is None:
        return None
    try:
        value = dt.datetime.fromisoformat(text)
    except ValueError:
        return None
    if pa.types.is_date(type_):
        return value.date() if len(text) == 10 else None
    if (value.tzinfo is None) != (type_.tz is None):
        return None
    try:
        return value if value.tzinfo is None else value.astimezone(dt.UTC)
    except OverflowError:
        return None
