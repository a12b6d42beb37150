"""A scan as a DuckDB relation over its Arrow rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

    from .scan import Scan


def relation(scan: Scan, con: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyRelation:
    """The rows as a relation of `con`, to be queried as often as one likes."""
    return con.from_arrow(scan.to_arrow())
