"""Settings that make Spark show other values than stand in Parquet files: another calendar, another zone, columns found
by field ids."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

_ANY_CALENDAR: Final = frozenset({"corrected", "exception"})  # days as they are written; old ones, or none
CALENDARS: Final = {"datetimerebasemode": _ANY_CALENDAR, "int96rebasemode": _ANY_CALENDAR}
"""Options of a reader, by their names in small letters, and the values that leave everything as it is written."""

SETTINGS: Final = {
    "spark.sql.parquet.datetimeRebaseModeInRead": _ANY_CALENDAR,
    "spark.sql.legacy.parquet.datetimeRebaseModeInRead": _ANY_CALENDAR,
    "spark.sql.parquet.int96RebaseModeInRead": _ANY_CALENDAR,
    "spark.sql.legacy.parquet.int96RebaseModeInRead": _ANY_CALENDAR,
    "spark.sql.parquet.int96TimestampConversion": frozenset({"false"}),
}
"""The same of a session."""

NAMES: Final = {
    "spark.sql.parquet.fieldId.read.enabled": frozenset({"false"}),
    "spark.sql.caseSensitive": frozenset({"false"}),
}
"""Settings by which Spark finds other columns in plain files than we do; Delta has its own way to find them."""

_FOR_FILES: Final = {name.lower(): values for name, values in (SETTINGS | NAMES).items()}
_FOR_DELTA: Final = {name.lower(): values for name, values in SETTINGS.items()}


def as_written(set_: Mapping[str, str], options: Mapping[str, str], *, delta: bool) -> bool:
    """Return whether Spark shows what stands in the files. `set_`: what is set in the session, by its names; `options`:
    of the reader."""
    settings = _FOR_DELTA if delta else _FOR_FILES
    return all(_neutral(settings.get(name.lower()), value) for name, value in set_.items()) and all(
        _neutral(CALENDARS.get(name.lower()), value) for name, value in options.items()
    )


def _neutral(values: frozenset[str] | None, value: str) -> bool:
    return values is None or value.strip().lower() in values
