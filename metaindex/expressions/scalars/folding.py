"""Evaluates expressions without columns when they are read: `now() - INTERVAL 1 HOUR` is an instant. What cannot be (a
sum that does not fit, a year beyond Python's) stays, and says so when rows are read."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import Any, Final

import pyarrow as pa

from metaindex.expressions.literals import Literal
from metaindex.expressions.zones import zone_of

from .cases import cased_text
from .functions import TABLE
from .nodes import Fixed, FunctionCall, Scalar
from .types import CLOCK, DATE, DOUBLE, is_integer
from .units import last_day, later_by_months, start_of

_DAY: Final = dt.timedelta(days=1)


def folded(call: FunctionCall) -> Scalar:
    """The value of a call of values, or the call."""
    fixed = [part for part in call.arguments if isinstance(part, Fixed)]
    if len(fixed) < len(call.arguments):
        return call
    if call.function == "cast":
        return _cast(fixed[0], call)
    values = [part.value.value for part in fixed]
    if None in values:
        return Fixed(Literal(None), call.type) if TABLE[call.function].null_of_null else call
    known = _KNOWN.get(call.function)
    if known is None:
        return call
    try:
        value = known(*values)
    except (OverflowError, ValueError, TypeError, ArithmeticError, KeyError):
        return call
    return Fixed(Literal(value), call.type) if value is not None and _fits(value, call.type) else call


def _fits(value: object, t: pa.DataType) -> bool:
    if is_integer(t):
        return type(value) is int and -(1 << t.bit_width - 1) <= value < 1 << t.bit_width - 1
    return not pa.types.is_decimal(t)


def _cast(source: Fixed, call: FunctionCall) -> Scalar:
    value, t = source.value.value, call.type
    if value is None:
        return Fixed(Literal(None), t)
    made: Any = None
    if isinstance(value, int) and is_integer(source.type):
        if is_integer(t):
            made = value if _fits(value, t) else None
        elif t == DOUBLE:
            made = float(value)
        elif pa.types.is_decimal(t) and len(str(abs(value))) <= t.precision - t.scale:
            made = Decimal(value)
    elif isinstance(value, Decimal) and pa.types.is_decimal(t):
        made = value  # casts of decimals are to wider ones
    elif isinstance(value, Decimal) and t == DOUBLE:
        made = float(value)
    elif isinstance(value, dt.datetime) and t == DATE and source.type == CLOCK:
        made = value.date()
    elif type(value) is dt.date and t == CLOCK:
        made = dt.datetime(value.year, value.month, value.day)
    return call if made is None else Fixed(Literal(made), t)


def _local_time(instant: dt.datetime, name: str) -> dt.datetime | None:
    zone = zone_of(name)
    return None if zone is None else instant.astimezone(zone).replace(tzinfo=None)


def _as_instant(clock: dt.datetime, name: str) -> dt.datetime | None:
    zone = zone_of(name)
    return None if zone is None else clock.replace(tzinfo=zone).astimezone(dt.UTC)


def _add_months(day: dt.date, months: int) -> dt.date:
    return later_by_months(dt.datetime(day.year, day.month, day.day), months).date()


def _trunc(day: dt.date, unit: str) -> dt.date:
    return start_of(unit, dt.datetime(day.year, day.month, day.day)).date()


_KNOWN: Final[dict[str, Callable[..., Any]]] = {
    "+": lambda a, b: a + b if type(a) is type(b) is int else None,
    "-": lambda a, b: a - b if type(a) is type(b) is int else None,
    "*": lambda a, b: a * b if type(a) is type(b) is int else None,
    "negative": lambda a: -a if isinstance(a, int | float) else None,
    "concat": lambda a, b: a + b,
    "upper": partial(cased_text, upper=True),
    "lower": partial(cased_text, upper=False),
    "year": lambda day: day.year,
    "month": lambda day: day.month,
    "day": lambda day: day.day,
    "hour": lambda clock: clock.hour,
    "last_day": last_day,
    "date_add": lambda day, days: day + days * _DAY,
    "date_sub": lambda day, days: day - days * _DAY,
    "datediff": lambda end, start: (end - start).days,
    "add_months": _add_months,
    "trunc": _trunc,
    "clock_trunc": lambda clock, unit: start_of(unit, clock),
    "add_micros": lambda moment, micros: moment + dt.timedelta(microseconds=micros),
    "add_clock_months": later_by_months,
    "local_time": _local_time,
    "as_instant": _as_instant,
}
