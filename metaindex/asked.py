"""What is asked of a table: which version, by its own id, by a time, or now; and a predicate that is made of its columns then."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable

from expressions.errors import ExpressionError, VersionNotFoundError
from expressions.records import dataclass
from expressions.tree import Predicate
from formats.model import Schema
from formats.protocol import At

VersionLike = str | int | None
TimestampLike = str | int | dt.datetime | None


@dataclass(frozen=True, slots=True)
class OfSchema:
    """A predicate that depends on the columns which the table has at the version asked."""

    make: Callable[[Schema], Predicate]


def at_version(version: VersionLike, timestamp: TimestampLike) -> At:
    """The version asked. VersionNotFoundError for both at once, ExpressionError for what is no time."""
    if version is not None and timestamp is not None:
        raise VersionNotFoundError("a version is asked by number or by time, not by both; leave one out")
    if isinstance(timestamp, dt.datetime):
        if timestamp.tzinfo is None:
            timestamp = timestamp.replace(tzinfo=dt.UTC)
        return At(timestamp_ms=int(timestamp.timestamp() * 1000))
    if isinstance(timestamp, str):
        try:
            return at_version(None, dt.datetime.fromisoformat(timestamp))
        except ValueError as error:
            raise ExpressionError(
                f"a timestamp is ISO 8601 (UTC where it names no zone), milliseconds or a datetime; got {timestamp!r}"
            ) from error
    return At(version, timestamp)
