"""One DuckDB a process: to begin another takes fifteen times as long as to ask it."""

from functools import cache

import duckdb


@cache
def _database() -> duckdb.DuckDBPyConnection:
    return duckdb.connect()


def connected() -> duckdb.DuckDBPyConnection:
    """A connection of its own to a database that others read: what it registers and sets is its own, so long as that
    is no setting of the database (`threads`) and it creates no table."""
    return _database().cursor()
