"""Arguments of queries: a version by its own id, by a time, or now; names and paths."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Iterable, Mapping

from metaindex.core import ArgumentError, Cure, ExpressionError, VersionNotFoundError
from metaindex.formats import At, Version

VersionLike = Version | str | int | None
OrderLike = str | tuple[str, ...]
"""A column; or one with `asc` or `desc`, and then `nulls first` or `nulls last`."""
TimestampLike = str | int | dt.datetime | dt.date | None


def at_version(version: VersionLike, timestamp: TimestampLike) -> At:
    """The version asked; a `Version`, such as an answer names, with the schema that it was read with. Raises
    VersionNotFoundError for both at once, ExpressionError for what is no time, ArgumentError for what is no version. A
    date is its first moment."""
    if version is not None and timestamp is not None:
        raise VersionNotFoundError("a version is asked by number or by time, not by both; leave one out")
    if isinstance(version, Version):
        return At.of(version)
    if version is not None and (isinstance(version, bool) or not isinstance(version, str | int)):
        raise ArgumentError(f"a version is a number, or text as {Cure('version')}; got {type(version).__name__}")
    if isinstance(version, int) and version.bit_length() > 64:
        raise VersionNotFoundError("a version is a number of 64 bits at most; got a longer one", Cure("versions"))
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
    """Names that a caller gave, None for None; one name is a list of one. Raises ArgumentError for what are none:
    `what` says whose they are."""
    if given is None:
        return None
    several = not isinstance(given, str) and isinstance(given, Iterable)
    names: list[str] = []
    for name in given if several else [given]:  # type: ignore[attr-defined]
        if not isinstance(name, str):
            raise ArgumentError(f"{what} are names, as in {what}=['a', 'b']; got {name!r}; name them")
        names.append(name)
    return names


def paths_of(tables: object) -> dict[str, str]:
    """The tables' paths by the names that SQL has for them, none for None. ArgumentError for what does not say that."""
    if tables is None:
        return {}
    if not isinstance(tables, Mapping) or not all(
        isinstance(name, str) and isinstance(path, str | os.PathLike) for name, path in tables.items()
    ):
        raise ArgumentError(
            "tables= says which table a name in SQL is, as in tables={'db.flights': 'lake/flights'}; got"
            f" {tables!r}; write it so"
        )
    return {name: os.fspath(path) for name, path in tables.items()}


def check_since(since: object) -> None:
    """Raises ArgumentError for what does not say how far back to look."""
    if since is not None and not (isinstance(since, dt.timedelta) and since >= dt.timedelta()):
        raise ArgumentError(f"since= is a timedelta, how far back to look, or None for all; got {since!r}; give one")


def _no_time(given: object) -> ExpressionError:
    return ExpressionError(
        f"a timestamp is ISO 8601 (UTC where it names no zone), whole milliseconds, a datetime or a date; got {given!r}"
    )
