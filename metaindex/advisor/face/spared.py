"""Savings of a table's indexes, from its query log and the indexes' own logs."""

from __future__ import annotations

import datetime as dt

from metaindex.advisor.credit.savings import Savings, computed_savings
from metaindex.core import MetaIndexError
from metaindex.query import Handle, logged_queries
from metaindex.table import History, history, indexes


def savings_of(handle: Handle, since: dt.timedelta | None) -> Savings:
    """Implement `Table.savings`."""
    queries = logged_queries(handle, since)
    infos = indexes(handle, version=None, timestamp=None, staleness=False, vacuumed=False)
    histories: dict[str, History] = {}
    for info in infos:
        try:
            histories[info.name] = history(info.name, handle.log(info.name), None)
        except MetaIndexError:
            continue  # what is wrong with it `indexes` tells
    return computed_savings(handle.path, queries, infos, histories)
