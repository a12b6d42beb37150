"""What is asked of a table: which version, by its own id, by a time, or now."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable

from metaindex.expressions.errors import ArgumentError, ExpressionError, VersionNotFoundError
from metaindex.formats.model import Version
from metaindex.formats.protocol import At

VersionLike = Version | str | int | None
OrderLike = str | tuple[str, ...]
"""A column; or one with `asc` or `desc`, and then `nulls first` or `nulls last`."""
TimestampLike = str | int | dt.datetime | dt.date | None


def at_version(version: VersionLike, timestamp: TimestampLike) -> At:
    """The version asked; a `Version`, such as an answer names, with the schema that it was read with.
    VersionNotFoundError for both at once, ExpressionError for what is no time, ArgumentError for what is no version. A
    date is its first moment."""
    if version is not None and timestamp is not None:
        raise VersionNotFoundError("a version is asked by number or by time, not by both; leave one out")
    if isinstance(version, Version):
        return At.of(version)
    if version is not None and (isinstance(version, bool) or not isinstance(version, str | int)):
        raise ArgumentError(f"a version is a number, or text as versions() gives it; got {type(version).__name__}")
    if isinstance(timestamp, dt.date) and not isinstance(timestamp, dt.datetime):
        timestamp = dt.datetime.combine(timestamp, dt.time())
    if isinstance(timestamp, dt.datetime):
        if timestamp.tzinfo is None:
            timestamp = timestamp.replace(tzinfo=dt.UTC)
        return At(timestamp_ms=int(timestamp.timestamp() * 1000))
    if isinstance(timestamp, str):
        try:
            return at_version(None, dt.datetime.fromisoformat(timestamp))
        except ValueError as error:
            raise _no_time(timestamp) from error
    if timestamp is not None and (isinstance(timestamp, bool) or not isinstance(timestamp, int)):
        raise _no_time(timestamp)
    return At(version, timestamp)


def names_of(given: object, what: str) -> list[str] | None:
    """Names that a caller gave, None for None; one name is a list of one. ArgumentError for what are none: `what` says
    whose they are."""
    if given is None:
        return None
    several = not isinstance(given, str) and isinstance(given, Iterable)
    names: list[str] = []
    for name in given if several else [given]:  # type: ignore[attr-defined]
        if not isinstance(name, str):
            raise ArgumentError(f"{what} are names, as in {what}=['a', 'b']; got {name!r}; name them")
        names.append(name)
    return names


def _no_time(given: object) -> ExpressionError:
    return ExpressionError(
        f"a timestamp is ISO 8601 (UTC where it names no zone), whole milliseconds, a datetime or a date; got {given!r}"
    )
