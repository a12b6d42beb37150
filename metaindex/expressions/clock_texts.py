"""Days, times and moments in texts of conditions, in the spellings that Spark casts, too. What is none is None."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from typing import TypeVar

V = TypeVar("V")

_DATE = re.compile(r"([0-9]{4})(?:-([0-9]{1,2})(?:-([0-9]{1,2}))?)?")
_TIMESTAMP = re.compile(
    r"([0-9]{4}-[0-9]{1,2}-[0-9]{1,2})["
    r" T]([0-9]{1,2}):([0-9]{1,2})(?::([0-9]{1,2})(?:\.([0-9]{1,6}))?)?(Z|[+-][0-9]{2}:[0-9]{2})?"
)
_TIME = re.compile(r"([0-9]{1,2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,6}))?")


def is_like_moment(text: str) -> bool:
    """Return whether the text is spelled as a date with a time, even if no such moment exists."""
    return _TIMESTAMP.fullmatch(text) is not None


def is_like_time(text: str) -> bool:
    """Return whether the text is spelled as a time of day, even if no such time exists."""
    return _TIME.fullmatch(text) is not None


def day_in(text: str) -> dt.date | None:
    """`2026-01-31`; a month or a year alone is its first day."""
    spelled = _DATE.fullmatch(text)
    if spelled is None:
        return None
    year, month, day = spelled.groups()
    return _made(lambda: dt.date(int(year), int(month or 1), int(day or 1)))


def time_in(text: str) -> dt.time | None:
    """`10:30:00`, with up to six digits of a second behind a point."""
    spelled = _TIME.fullmatch(text)
    if spelled is None:
        return None
    hour, minute, second, fraction = spelled.groups()
    return _made(lambda: dt.time(int(hour), int(minute), int(second), _micros(fraction)))


def moment_in(text: str) -> dt.datetime | None:
    """A day and a time, with a zone where the text has one."""
    spelled = _TIMESTAMP.fullmatch(text)
    if spelled is None:
        return None
    day_text, hour, minute, second, fraction, zone = spelled.groups()
    day = day_in(day_text)
    if day is None:
        return None
    clock = int(hour), int(minute), int(second or 0), _micros(fraction)
    return _made(lambda: dt.datetime(day.year, day.month, day.day, *clock, _zone(zone)))


def _zone(text: str | None) -> dt.tzinfo | None:
    if text is None or text == "Z":
        return None if text is None else dt.UTC
    offset = dt.timedelta(hours=int(text[1:3]), minutes=int(text[4:6]))
    return dt.timezone(-offset if text[0] == "-" else offset)


def _micros(fraction: str | None) -> int:
    return int((fraction or "0").ljust(6, "0"))


def _made(make: Callable[[], V]) -> V | None:
    try:
        return make()
    except ValueError:
        return None
