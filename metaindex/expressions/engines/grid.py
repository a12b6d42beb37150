"""Literals that are none of a column type's values: 3.5 against an integer, 10^30 against a long, 0.001 against a
decimal(9,2).

An engine would refuse or round them; the comparison is decided by the type's neighbouring values instead.
"""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context, Decimal

import pyarrow as pa

from metaindex.expressions.literals import LiteralValue

_WIDE = Context(prec=200, rounding=ROUND_FLOOR)
_EPOCH = dt.datetime(1970, 1, 1)
_MICROS_IN_NANOS = (1 << 63) // 1000


@dataclass(frozen=True, slots=True)
class GridPlace:
    """Position of a literal among the values of a grid: between `floor` and the next value; or, without a floor, below
    or above all values."""

    floor: int | Decimal | dt.datetime | dt.time | None
    above: bool = False


_BELOW = GridPlace(None)
_ABOVE = GridPlace(None, above=True)


def on_grid(known: pa.DataType, value: LiteralValue) -> GridPlace | None:
    """None where the literal is one of the type's values, or of a kind that this module does not place."""
    if isinstance(value, dt.datetime) and pa.types.is_timestamp(known):
        return _moment(known, value)
    if isinstance(value, dt.time) and pa.types.is_time(known) and known.unit in {"s", "ms"}:
        clock = value.replace(microsecond=0 if known.unit == "s" else value.microsecond // 1000 * 1000)
        return None if clock == value else GridPlace(clock)
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return None
    if isinstance(value, float) and not math.isfinite(value) and not pa.types.is_floating(known):
        # NaN is greater than every number. An engine would cast the column to double, and round longs.
        return _BELOW if value < 0 else _ABOVE
    if pa.types.is_integer(known):
        signed = pa.types.is_signed_integer(known)
        low = -(1 << known.bit_width - 1) if signed else 0
        high = (1 << known.bit_width - (1 if signed else 0)) - 1
        floor = math.floor(value)
        if value > high:
            return _ABOVE
        if value < low:
            return _BELOW
        return None if value == floor else GridPlace(floor)
    if pa.types.is_decimal(known):
        return _decimal(known, value)
    return None


def _decimal(known: pa.DataType, value: int | float | Decimal) -> GridPlace | None:
    top = Decimal(10**known.precision - 1).scaleb(-known.scale, _WIDE)
    exact = Decimal(value)
    if exact > top:
        return _ABOVE
    if exact < -top:
        return _BELOW
    floor = exact.quantize(Decimal(1).scaleb(-known.scale), context=_WIDE)
    return None if floor == exact else GridPlace(floor)


def _moment(known: pa.DataType, value: dt.datetime) -> GridPlace | None:
    naive = value.replace(tzinfo=None)
    if known.unit == "ns":
        micros = (naive - _EPOCH) // dt.timedelta(microseconds=1)
        if abs(micros) >= _MICROS_IN_NANOS:
            return _ABOVE if micros > 0 else _BELOW
        return None
    if known.unit in {"s", "ms"}:
        floor = naive.replace(microsecond=0 if known.unit == "s" else naive.microsecond // 1000 * 1000)
        return None if floor == naive else GridPlace(floor.replace(tzinfo=value.tzinfo))
    return None
