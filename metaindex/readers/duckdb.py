"""A scan as a DuckDB relation over its Arrow rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

    from .scan import Scan


def relation(scan: Scan, con: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyRelation:
    """The rows as a relation of `con`, to be queried as often as one likes.

    Each query reads the files anew and as it goes, so no result need fit in memory; who asks often of few rows gives DuckDB `to_arrow()`
    instead. A DuckDB before 2.0 would ask for the stream only once: it is given the rows themselves.
    """
    import duckdb

    scan.to_batches()  # what cannot be answered is refused here and not within DuckDB
    asks_again = int(duckdb.__version__.split(".", 1)[0]) >= 2
    return con.from_arrow(scan if asks_again else scan.to_arrow())
