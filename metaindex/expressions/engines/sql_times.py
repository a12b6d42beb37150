"""Functions of dates and times out of SQL, by the parser's classes. UnknownMeaning for what may be meant otherwise."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from sqlglot import exp

from metaindex.expressions.scalars.building import UnknownMeaning, fixed, text
from metaindex.expressions.scalars.nodes import Fixed, Scalar
from metaindex.expressions.scalars.types import CLOCK, DATE, INSTANT, STRING
from metaindex.expressions.scalars.units import DATE_UNITS, UNITS

from .sql_nodes import ReadsNodes, only
from .sql_values import cast_value

_INTERVALS: Final = {
    "MONTH": (1, 0, 0),
    "YEAR": (12, 0, 0),
    "DAY": (0, 1, 0),
    "WEEK": (0, 7, 0),
    "HOUR": (0, 0, 3_600_000_000),
    "MINUTE": (0, 0, 60_000_000),
    "SECOND": (0, 0, 1_000_000),
}
"""Months, days and microseconds."""
_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,9}")
_EXTRACTED: Final = {
    "YEAR": "year",
    "QUARTER": "quarter",
    "MONTH": "month",
    "WEEK": "weekofyear",
    "DAY": "day",
    "DOY": "dayofyear",
    "HOUR": "hour",
    "MINUTE": "minute",
}


def later(reader: ReadsNodes, moment: Scalar, interval: exp.Expression, sign: int) -> Scalar:
    only(interval, "this", "unit")
    amount, unit = interval.this, interval.args.get("unit")
    if type(amount) is exp.Neg:
        amount, sign = amount.this, -sign
    written = str(amount.this).strip() if type(amount) is exp.Literal else ""
    per = _INTERVALS.get(str(unit.this).upper().removesuffix("S")) if type(unit) is exp.Var else None
    if per is None or not _WHOLE.fullmatch(written):
        raise UnknownMeaning("an interval other than of whole units")
    months, days, micros = (sign * int(written) * n for n in per)
    return reader.builder.later(moment, months, days, micros)


def calendar(reader: ReadsNodes, node: exp.Expression) -> Scalar:
    only(node, "this")
    return part_of_time(reader, _PARTS[type(node)], node.this)


def part_of_time(reader: ReadsNodes, name: str, node: exp.Expression) -> Scalar:
    inner = node.unnest()
    moment = _a_time(reader, inner.this if type(inner) is exp.TsOrDsToDate else inner)
    return reader.builder.call(name, reader.builder.calendar(moment))


def _a_time(reader: ReadsNodes, node: exp.Expression) -> Scalar:
    """A date or a time, a text of one that is written out too."""
    read = reader.read(node)
    if isinstance(read, Fixed) and read.type == STRING:
        return fixed(cast_value(read.value.value, "DATE", reader.zone), DATE)
    return read


def extract(reader: ReadsNodes, node: exp.Expression) -> Scalar:
    only(node, "this", "expression")
    name = _EXTRACTED.get(str(node.this.this if type(node.this) is exp.Var else "").upper())
    if name is None:
        raise UnknownMeaning("extract of another field")
    return part_of_time(reader, name, node.expression)


def to_date(reader: ReadsNodes, node: exp.Expression) -> Scalar:
    only(node, "this", "safe")
    return reader.builder.cast(_a_time(reader, node.this), DATE)


def date_add(reader: ReadsNodes, node: exp.Expression) -> Scalar:
    only(node, "this", "expression", "unit")
    if str(node.args["unit"].this).upper() != "DAY":
        raise UnknownMeaning("a date moved on by another unit than days")
    return reader.builder.call("date_add", _day(reader, node.this), reader.read(node.expression))


def _day(reader: ReadsNodes, node: exp.Expression) -> Scalar:
    inner = node.unnest()
    return reader.builder.cast(_a_time(reader, inner.this if type(inner) is exp.TsOrDsToDate else inner), DATE)


def datediff(reader: ReadsNodes, node: exp.Expression) -> Scalar:
    only(node, "this", "expression")
    return reader.builder.call("datediff", _day(reader, node.this), _day(reader, node.expression))


def add_months(reader: ReadsNodes, node: exp.Expression) -> Scalar:
    only(node, "this", "expression")
    return reader.builder.call("add_months", _day(reader, node.this), reader.read(node.expression))


def last_day(reader: ReadsNodes, node: exp.Expression) -> Scalar:
    only(node, "this")
    return reader.builder.call("last_day", _day(reader, node.this))


def trunc(reader: ReadsNodes, node: exp.Expression) -> Scalar:
    only(node, "this", "unit")
    unit = DATE_UNITS.get(str(node.args["unit"].this).upper())
    if unit is None:
        raise UnknownMeaning("trunc to another unit than year, quarter, month and week")
    return reader.builder.call("trunc", _day(reader, node.this), text(unit))


def date_trunc(reader: ReadsNodes, node: exp.Expression) -> Scalar:
    only(node, "this", "unit")
    unit = UNITS.get(str(node.args["unit"].this).upper())
    moment = reader.read(node.this)
    if unit is None or moment.type not in (DATE, CLOCK, INSTANT):
        raise UnknownMeaning("date_trunc to another unit, or of no time")
    clock = reader.builder.cast(moment, CLOCK)
    return reader.builder.as_instant(reader.builder.call("clock_trunc", clock, text(unit)))


def now(reader: ReadsNodes, node: exp.Expression) -> Scalar:
    return fixed(reader.now.astimezone(dt.UTC), INSTANT)


def today(reader: ReadsNodes, node: exp.Expression) -> Scalar:
    return reader.builder.cast(now(reader, node), DATE)


def local_now(reader: ReadsNodes, node: exp.Expression) -> Scalar:
    return reader.builder.local_time(now(reader, node))


_PARTS: Final[Mapping[type, str]] = {
    exp.Year: "year",
    exp.Quarter: "quarter",
    exp.Month: "month",
    exp.Day: "day",
    exp.DayOfMonth: "day",
    exp.DayOfYear: "dayofyear",
    exp.DayOfWeek: "dayofweek",
    exp.WeekOfYear: "weekofyear",
    exp.Hour: "hour",
    exp.Minute: "minute",
    exp.Second: "second",
}
TIMES: Final[Mapping[type, Callable[[Any, Any], Scalar]]] = {
    exp.Extract: extract,
    exp.TsOrDsToDate: to_date,
    exp.TsOrDsAdd: date_add,
    exp.DateDiff: datediff,
    exp.AddMonths: add_months,
    exp.LastDay: last_day,
    exp.DateTrunc: trunc,
    exp.TimestampTrunc: date_trunc,
    exp.CurrentTimestamp: now,
    exp.CurrentDate: today,
    exp.Localtimestamp: local_now,
    **dict.fromkeys(_PARTS, calendar),
}
