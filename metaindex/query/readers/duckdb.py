"""A scan as a DuckDB relation: DuckDB's own filters and columns reach the indexes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metaindex.core import ArgumentError, ScanError, first_line

from .arrow import coded
from .dataset import ScanDataset
from .plan import ScanPlan
from .recorded_scan import readable

if TYPE_CHECKING:
    import duckdb


def relation(scan: ScanPlan, con: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyRelation:
    """The rows as a relation of `con`, to be queried as often as one likes.

    Each query reads the files anew and as it goes, so no result need fit in memory; who asks often of few rows gives
    DuckDB `to_arrow()` instead. What DuckDB pushes down of a query's WHERE is asked of the indexes, too.
    """
    if not hasattr(con, "from_arrow"):
        raise ArgumentError(f"to_duckdb takes a connection, as duckdb.connect() gives it; got {con!r}")
    from duckdb import NotImplementedException

    try:
        return con.from_arrow(ScanDataset(coded(readable(scan)), engine="duckdb"))
    except NotImplementedException as error:
        raise ScanError(
            f"DuckDB is given columns of types that it has; one has another ({first_line(error)}); leave it out with"
            " columns="
        ) from error
