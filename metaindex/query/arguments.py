"""Arguments of queries: versions and times, and names."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable

from metaindex.core import ArgumentError
from metaindex.formats import Version

VersionLike = Version | str | int | None
OrderLike = str | tuple[str, ...]
"""A column; or one with `asc` or `desc`, and then `nulls first` or `nulls last`."""
TimestampLike = str | int | dt.datetime | dt.date | None


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


def check_since(since: object) -> None:
    """Raises ArgumentError for what does not say how far back to look."""
    if since is not None and not (isinstance(since, dt.timedelta) and since >= dt.timedelta()):
        raise ArgumentError(f"since= is a timedelta, how far back to look, or None for all; got {since!r}; give one")
