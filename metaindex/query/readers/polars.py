"""A scan as a Polars LazyFrame."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from metaindex.core import MissingDependencyError, ScanError, first_line

from .arrow import coded
from .plan import CODED, ScanPlan
from .recorded_scan import batches

if TYPE_CHECKING:
    import polars as pl


def lazy_frame(scan: ScanPlan) -> pl.LazyFrame:
    """The rows as a LazyFrame: files are read when it is collected, as far as it is collected, only the columns that
    the query needs, and only what may hold rows for the filters that Polars pushes down: the indexes are asked about
    them, too."""
    try:
        from polars.exceptions import PanicException, PolarsError
        from polars.io.plugins import register_io_source
    except ImportError as error:
        raise MissingDependencyError.lacking("a Polars LazyFrame", "polars") from error

    schema = scan.schema

    def read(
        columns: list[str] | None, predicate: pl.Expr | None, rows: int | None, batch_rows: int | None
    ) -> Iterator[pl.DataFrame]:
        narrowed, after = scan, predicate
        names = [] if predicate is None else list(dict.fromkeys(predicate.meta.root_names()))
        if predicate is not None and rows is None:  # the first rows of a scan are not the first of a narrower one
            narrowed = scan.narrowed(predicate, schema)
            if names and scan.first is None:
                test = _Passing(predicate, names)
                narrowed, after = replace(narrowed, passing=test, coded=scan.coded - set(names)), None
        narrowed.note("polars", columns)
        left = rows
        wanted = narrowed if columns is None else replace(narrowed, columns=tuple(columns))
        for batch in batches(wanted):
            frame = _frame(batch)
            frame = frame.head(left) if left is not None else frame
            left = None if left is None else left - frame.height
            yield frame if after is None else frame.filter(after)
            if left == 0:
                return

    scan = coded(scan)
    batches(scan)  # what cannot be answered is refused here and not within Polars
    try:
        shown = _frame(pa.RecordBatch.from_pylist([], schema)).schema
    except (PanicException, PolarsError) as error:
        raise ScanError(
            f"Polars is given columns of types that it has; one has another ({first_line(error)}); leave it out with"
            " columns="
        ) from error
    return register_io_source(read, schema=shown)


def _frame(batch: pa.RecordBatch) -> pl.DataFrame:
    """Polars makes categories of dictionaries: their texts are gathered. Columns may be named as patterns, or not."""
    import polars as pl

    coded = {at: batch.column(at) for at, f in enumerate(batch.schema) if f.type == CODED}
    for at, column in coded.items():
        batch = batch.set_column(at, batch.schema.names[at], column.indices)
    frame = pl.from_arrow(batch)
    assert isinstance(frame, pl.DataFrame), "a batch is a frame"
    for at, column in coded.items():
        frame.replace_column(at, pl.Series(column.dictionary).gather(frame.to_series(at)))
    frame.columns = batch.schema.names
    return frame


@dataclass(frozen=True, slots=True)
class _Passing:
    """A condition of Polars', by its own meaning."""

    condition: pl.Expr
    columns: Collection[str]

    def matching(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        frame = _frame(batch.select(list(self.columns)))
        return batch.filter(frame.select(self.condition.alias("passes")).to_series().to_arrow())
