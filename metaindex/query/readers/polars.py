"""A scan as a Polars LazyFrame."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from metaindex.core import MissingDependencyError

from .plan import ScanPlan
from .recorded_scan import batches

if TYPE_CHECKING:
    import polars as pl


def lazy_frame(scan: ScanPlan) -> pl.LazyFrame:
    """The rows as a LazyFrame: files are read when it is collected, as far as it is collected, only the columns that
    the query needs, and only what may hold rows for the filters that Polars pushes down: the indexes are asked about
    them, too."""
    try:
        import polars as pl
        from polars.io.plugins import register_io_source
    except ImportError as error:
        raise MissingDependencyError(
            "a Polars LazyFrame needs polars; it is not installed; install metaindex with the extra: metaindex[polars]"
        ) from error

    schema = scan.schema

    def read(
        columns: list[str] | None, predicate: pl.Expr | None, rows: int | None, batch_rows: int | None
    ) -> Iterator[pl.DataFrame]:
        # The first rows of a scan are not the first of a narrower one.
        narrowed = scan if predicate is None or rows is not None else scan.narrowed(predicate, schema)
        narrowed.note("polars", columns)
        left = rows
        for batch in batches(narrowed if columns is None else replace(narrowed, columns=tuple(columns))):
            frame = pl.from_arrow(batch)
            assert isinstance(frame, pl.DataFrame), "a batch is a frame"
            frame = frame.head(left) if left is not None else frame
            left = None if left is None else left - frame.height
            yield frame if predicate is None else frame.filter(predicate)
            if left == 0:
                return

    batches(scan)  # what cannot be answered is refused here and not within Polars
    empty = pl.from_arrow(schema.empty_table())
    assert isinstance(empty, pl.DataFrame), "a table is a frame"
    return register_io_source(read, schema=empty.schema)
