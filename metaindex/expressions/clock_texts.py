"""Days, times and moments in texts of conditions, in the spellings that Spark casts, too. What is none is None."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from typing import TypeVar

from .zones import zone_of

V = TypeVar("V")

_DATE = re.compile(r"([0-9]{4})(?:-([0-9]{1,2})(?:-([0-9]{1,2}))?)?")
_TIMESTAMP = re.compile(
    r"([0-9]{4}-[0-9]{1,2}-[0-9]{1,2})["
    r" T]([0-9]{1,2}):([0-9]{1,2})(?::([0-9]{1,2})(?:\.([0-9]{1,6}))?)?"
    r" ?(Z|UTC|GMT|[+-][0-9]{2}(?::[0-9]{2})?|[A-Z][A-Za-z_]+/[A-Za-z_/]+)?"
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
    at = None if zone is None else zone_of(zone)
    if zone is not None and at is None:
        return None
    return _made(lambda: dt.datetime(day.year, day.month, day.day, *clock, at))


def _micros(fraction: str | None) -> int:
    return int((fraction or "0").ljust(6, "0"))


def _made(make: Callable[[], V]) -> V | None:
    try:
        return make()
    except ValueError:
        return None
