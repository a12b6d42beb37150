"""Users' access to a table's query log."""

from __future__ import annotations

import datetime as dt
import time

from metaindex.core import QueryLog
from metaindex.query.arguments import check_since
from metaindex.query.handle import Handle

from .cleaning import QueriesCleaned, clean
from .files import listed
from .noting import place_of
from .reading import LoggedQueries, logged
from .writer import WRITER


def logged_queries(handle: Handle, since: dt.timedelta | None = None) -> LoggedQueries:
    """Implement `Table.query_log`. Rows that wait in this process are written first."""
    check_since(since)
    WRITER.flush()
    since_ms = 0 if since is None else max(int((time.time() - since.total_seconds()) * 1000), 0)
    return logged(place_of(handle).storage(), since_ms)


def is_kept(handle: Handle) -> bool:
    """Return whether query log files exist, whoever wrote them. Raises StorageError."""
    return bool(listed(place_of(handle).storage())[0])


def setting_of(handle: Handle) -> QueryLog:
    """Return how queries are noted, or would be."""
    return handle.config.query_log_settings or QueryLog()


def clean_query_log(handle: Handle, setting: QueryLog | None = None) -> QueriesCleaned:
    """Implement `Table.clean_query_log`."""
    return clean(place_of(handle).storage(), setting or setting_of(handle))
