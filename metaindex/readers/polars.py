"""A scan as a Polars LazyFrame."""

from __future__ import annotations

from typing import TYPE_CHECKING

from expressions.errors import MissingDependencyError

if TYPE_CHECKING:
    import polars as pl

    from .scan import Scan


def lazy_frame(scan: Scan) -> pl.LazyFrame:
    """The rows as a LazyFrame over Arrow memory; nothing is copied where Polars has the same layout."""
    try:
        import polars as pl
    except ImportError as error:
        raise MissingDependencyError(
            "a Polars LazyFrame needs polars; it is not installed; install metaindex with the extra: metaindex[polars]"
        ) from error
    frame = pl.from_arrow(scan.to_arrow())
    assert isinstance(frame, pl.DataFrame), "a table is a frame"
    return frame.lazy()
