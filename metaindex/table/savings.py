"""Savings of a table by its path, or as it is open."""

from __future__ import annotations

import datetime as dt
import os
from typing import TYPE_CHECKING

from .face import Table
from .opening import open_table

if TYPE_CHECKING:
    from metaindex.querylog.savings import Savings


def savings(table: Table | str | os.PathLike[str], since: dt.timedelta | None = None) -> Savings:
    """What did the indexes of a table leave out, and what do they cost? `mi.savings("lake/flights")`. `table`: as
    `open_table` gives it, or its path. The rest is that of `Table.savings`."""
    opened = table if isinstance(table, Table) else open_table(table)
    return opened.savings(since)
