"""A predicate that all rows with the given keys fulfil: their values, or beyond a limit a few ranges of them.

It is true of every row whose keys are among the given ones, whatever files there are: it follows from the keys alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from metaindex.core import Vector, dataclass
from metaindex.expressions import And, ColumnRef, Comparison, Constant, In, Literal, Op, Or, Predicate
from metaindex.query.order import Direction, sorted_places
from metaindex.query.readers.key_rows import each_word

MOST_VALUES = 10_000
MOST_RANGES = 32
_DAY = 86_400_000_000  # microseconds
_TOGETHER = 100
"""Keys of several columns that are named one by one; of more each column is asked by itself."""


@dataclass(frozen=True, slots=True)
class KeyCondition:
    """The condition that keys imply. `exact`: it is true of no other row. `told`: describes the condition."""

    predicate: Predicate
    exact: bool
    told: str


def condition_of(
    columns: Sequence[str],
    keys: Sequence[pa.Array],
    types: Sequence[pa.DataType],
    *,
    most_values: int = MOST_VALUES,
    most_ranges: int = MOST_RANGES,
) -> KeyCondition:
    """Return the condition for keys without NULL, a column each, of the types of the table's columns."""
    if not len(keys[0]):
        return KeyCondition(Constant(False), True, "no key")
    if len(keys) > 1 and len(keys[0]) <= min(_TOGETHER, most_values):
        values = [_literals(column, t) for column, t in zip(keys, types, strict=True)]
        if all(values):
            rows = dict.fromkeys(zip(*values, strict=True))
            refs = [ColumnRef((name,)) for name in columns]
            each = [And(tuple(Comparison(ref, Op.EQ, v) for ref, v in zip(refs, row, strict=True))) for row in rows]
            return KeyCondition(each[0] if len(each) == 1 else Or(tuple(each)), True, "by their values together")
    parts = []
    for name, column, t in zip(columns, keys, types, strict=True):
        parts.append(_of_column(ColumnRef((name,)), _sorted(column), t, most_values, most_ranges))
    told = " and ".join(dict.fromkeys(part.told for part in parts))
    if len(parts) == 1:
        return parts[0]
    return KeyCondition(And(tuple(part.predicate for part in parts)), False, told)


def _of_column(column: ColumnRef, values: pa.Array, t: pa.DataType, most: int, ranges: int) -> KeyCondition:
    if len(values) <= most and (named := _literals(values, t)):
        return KeyCondition(In(column, tuple(named)), True, "by their values")
    parts: list[Predicate] = []
    if pa.types.is_floating(values.type):
        nan = pc.is_nan(values)
        if pc.any(nan).as_py():
            parts.append(Comparison(column, Op.EQ, Literal(math.nan)))
        values = values.filter(pc.invert(nan))
    starts = _starts(values, max(ranges, 1)) if len(values) else []
    for start, end in pairwise([*starts, len(values)]):
        ends = [(Op.GE, _bound(values[start], t, up=False)), (Op.LE, _bound(values[end - 1], t, up=True))]
        known = tuple(Comparison(column, op, value) for op, value in ends if value is not None)
        parts.append(And(known) if len(known) > 1 else known[0] if known else Constant(True))
    told = f"by {len(parts)} ranges" if len(parts) > 1 else "by their range"
    return KeyCondition(Or(tuple(parts)) if len(parts) > 1 else parts[0], False, told)


def _sorted(values: pa.Array) -> pa.Array:
    """Return the distinct values, sorted."""
    t, is_ = values.type, pa.types
    if is_.is_integer(t) or is_.is_temporal(t):
        dtype = t.to_pandas_dtype() if is_.is_integer(t) else np.int32 if t.bit_width == 32 else np.int64
        return Vector.arrow(each_word(Vector(values).items(dtype)), None, t)
    values = pc.unique(values)
    return values.take(pa.array(sorted_places([values], [Direction()]))) if len(values) else values


def _starts(values: pa.Array, most: int) -> list[int]:
    """Return where ranges of sorted values begin: behind the widest gaps, or, without a measure, evenly spaced."""
    if len(values) <= 1 or most == 1:
        return [0]
    places = _places(values)
    if places is None:
        return sorted({len(values) * at // most for at in range(most)})
    with np.errstate(invalid="ignore", over="ignore"):
        gaps = np.diff(places)
        median = float(np.median(gaps))
    widest = np.argpartition(gaps, -min(most - 1, len(gaps)))[-min(most - 1, len(gaps)) :]
    at_ends = widest[gaps[widest] > 2 * max(median, 0.0)]
    return [0, *sorted((at_ends + 1).tolist())]


def _places(values: pa.Array) -> Any:
    """About where on a line the values lie."""
    t, is_ = values.type, pa.types
    if is_.is_integer(t):
        return Vector(values).items(t.to_pandas_dtype()).astype(np.float64)
    if is_.is_floating(t):
        return np.nan_to_num(np.asarray(values.cast(pa.float64())))
    if is_.is_temporal(t):
        return Vector(values).items(np.int32 if t.bit_width == 32 else np.int64).astype(np.float64)
    if is_.is_decimal(t):
        return np.asarray(values.cast(pa.float64()))
    return None


def _literals(values: pa.Array, t: pa.DataType) -> list[Literal] | None:
    """Return the values as literals; None if one is finer than literals are."""
    values = _sayable(values)
    if (pa.types.is_timestamp(values.type) or pa.types.is_time(values.type)) and values.type.unit == "ns":
        try:
            wide = pa.timestamp("us", values.type.tz) if pa.types.is_timestamp(values.type) else pa.time64("us")
            values = values.cast(wide)
        except pa.ArrowInvalid:
            return None
    try:
        return [_literal(value, t) for value in values.to_pylist()]
    except (ValueError, OverflowError):  # a day beyond Python's calendar
        return None


def _bound(value: pa.Scalar, t: pa.DataType, *, up: bool) -> Literal | None:
    """Return a value as the end of a range; for one finer than literals the next one outside. None if there is none, as
    for a day beyond Python's calendar: the range is open there."""
    single = _sayable(pa.array([value.as_py()], value.type) if not pa.types.is_temporal(value.type) else _alone(value))
    if (pa.types.is_timestamp(single.type) or pa.types.is_time(single.type)) and single.type.unit == "ns":
        raw = int(Vector(single).items(np.int64)[0])
        micros = -(-raw // 1000) if up else raw // 1000
        if pa.types.is_time(single.type) and micros >= _DAY:
            return None  # no time of day is outside
        wide = pa.timestamp("us", single.type.tz) if pa.types.is_timestamp(single.type) else pa.time64("us")
        single = pa.array([micros], pa.int64()).cast(wide)
    try:
        return _literal(single[0].as_py(), t)
    except (ValueError, OverflowError):
        return None


def _alone(value: pa.Scalar) -> pa.Array:
    return pa.repeat(value, 1)


def _sayable(values: pa.Array) -> pa.Array:
    """Instants in UTC: no other zone need be known here."""
    if pa.types.is_timestamp(values.type) and values.type.tz not in (None, "UTC"):
        return values.cast(pa.timestamp(values.type.unit, "UTC"))
    return values


def _literal(value: Any, t: pa.DataType) -> Literal:
    if isinstance(t, pa.UuidType):
        from uuid import UUID

        return Literal(UUID(bytes=value))
    return Literal(value)
