"""Units of the calendar to which dates and times are cut off."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Final

_WORDS: Final[Mapping[str, tuple[str, ...]]] = {
    "year": ("YEAR", "YYYY", "YY"),
    "quarter": ("QUARTER",),
    "month": ("MONTH", "MM", "MON"),
    "week": ("WEEK",),
    "day": ("DAY", "DD"),
    "hour": ("HOUR",),
    "minute": ("MINUTE",),
    "second": ("SECOND",),
}
UNITS: Final = {word: unit for unit, words in _WORDS.items() for word in words}
"""By the words that Spark takes for them, in capitals."""
DATE_UNITS: Final = {word: unit for word, unit in UNITS.items() if unit in ("year", "quarter", "month", "week")}
_STEPS: Final = {"day": 86_400, "hour": 3_600, "minute": 60, "second": 1}
_MONTHS: Final = {"year": 12, "quarter": 3, "month": 1}


def start_of(unit: str, moment: dt.datetime) -> dt.datetime:
    """The beginning of the unit that a clock is in. Weeks begin on Mondays."""
    if unit in _MONTHS:
        months = moment.month - 1 - (moment.month - 1) % _MONTHS[unit]
        return dt.datetime(moment.year, months + 1, 1)
    day = dt.datetime(moment.year, moment.month, moment.day)
    if unit == "week":
        return day - dt.timedelta(days=moment.weekday())
    seconds = (moment - day) // dt.timedelta(seconds=1)
    return day + dt.timedelta(seconds=seconds - seconds % _STEPS[unit])


def start_of_next(unit: str, start: dt.datetime) -> dt.datetime:
    """The beginning of the unit behind the one that begins here. OverflowError, ValueError beyond Python's years."""
    if unit in _MONTHS:
        return later_by_months(start, _MONTHS[unit])
    return start + dt.timedelta(seconds=7 * 86_400 if unit == "week" else _STEPS[unit])


def later_by_months(moment: dt.datetime, months: int) -> dt.datetime:
    """Return the same day of the month some months later, or the last day of a month without such a day."""
    month = moment.year * 12 + moment.month - 1 + months
    year, month = month // 12, month % 12 + 1
    return moment.replace(year=year, month=month, day=min(moment.day, _days(year, month)))


def last_day(day: dt.date) -> dt.date:
    return day.replace(day=_days(day.year, day.month))


def _days(year: int, month: int) -> int:
    import calendar

    if not dt.MINYEAR <= year <= dt.MAXYEAR:
        raise OverflowError(year)
    return calendar.monthrange(year, month)[1]
