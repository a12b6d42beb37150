"""A scan: which files of which snapshot, which columns, which rows; and the engines that can answer it.

Every `to_...` returns the same rows: those of the files, less what is deleted at the snapshot's version, that satisfy
the predicate (rows for which it is NULL are left out, as in SQL). No order is promised across files. A scan that cannot
be answered exactly raises; it never returns fewer rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from metaindex.core import CLIENTS, MetaIndexError, MissingDependencyError, ScanError, Shown

from .plan import ScanPlan

if TYPE_CHECKING:
    import duckdb
    import pandas as pd
    import polars as pl
    from deltalake import DeltaTable
    from pyarrow.dataset import Dataset
    from pyiceberg.table import Table
    from pyspark.sql import DataFrame, SparkSession

    from .dataset import ScanDataset
    from .pyiceberg import KeptScan


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Scan(Shown, ScanPlan):
    """The rows of a query, returned by `Table.scan`. `columns`: the names asked for, in the order of the result (None:
    all). `result`: what was kept and dropped, and why; None without a predicate."""

    def _printed(self) -> str:
        """Describe what would be read, and how to read it; nothing is read."""
        kept = len(self.file_rows)
        every = len(self.snapshot.files) if self.result is None else self.result.total_files
        try:
            columns = [f"  {f.name}: {f.type}" for f in self.fields]
        except MetaIndexError as error:
            columns = [f"  {error}"]
        return "\n".join(
            (
                (
                    f"scan of {self.snapshot.table} ({self.snapshot.format}) at version {self.snapshot.version}:"
                    f" {kept:,} of {every:,} files"
                ),
                *(() if self.predicate is None else (f"rows: {self._condition}",)),
                *(() if self.keys is None else (f"rows with one of {self.keys_told}",)),
                *(() if self.first is None else (str(self.first),)),
                "columns:",
                *columns,
                (
                    "nothing is read yet: to_arrow(), to_batches(), to_pandas(), to_duckdb(con), to_polars()"
                    f"{', to_spark(spark)' if self.first is None and self.keys is None else ''} read it"
                ),
            )
        )

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """The rows as they are read: one file at a time, never a whole large file in memory."""
        from .recorded_scan import batches

        self.note("arrow")
        return batches(self)

    def to_reader(self) -> pa.RecordBatchReader:
        """Return the rows as Arrow's own stream, to be read once: for `pq.ParquetWriter`, `pa.dataset.write_dataset`,
        and whatever else takes one."""
        from .recorded_scan import batches, readable

        self.note("arrow")
        plan = readable(self)
        return pa.RecordBatchReader.from_batches(plan.schema, batches(plan))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """A new stream of the rows each time it is asked for: a scan is itself an Arrow table to every library that
        takes one."""
        return self.to_reader().__arrow_c_stream__(requested_schema)

    def to_arrow(self) -> pa.Table:
        self.note("arrow")
        return self._read()

    def _read(self) -> pa.Table:
        from .arrow import read_batches

        return self.trying(lambda plan: pa.Table.from_batches(read_batches(plan), schema=plan.schema))

    def to_pandas(self) -> pd.DataFrame:
        """Return all rows as a DataFrame with pandas' own types, as pyarrow makes it."""
        try:
            import pandas  # noqa: F401 - that it is there is the question
        except ImportError as error:
            raise MissingDependencyError(
                "a pandas DataFrame needs pandas; it is not installed; install pandas, or take to_arrow() or"
                " to_polars()"
            ) from error
        self.note("pandas")
        return self._read().to_pandas()

    def to_dataset(self) -> ScanDataset:
        """Return a pyarrow Dataset whose scans also ask the indexes about their own filters."""
        from .dataset import ScanDataset
        from .recorded_scan import readable

        return ScanDataset(readable(self))

    def to_deltalake(self, table: DeltaTable | None = None) -> Dataset:
        """Return a pyarrow dataset of the kept files, as deltalake's `to_pyarrow_dataset` makes it, for Delta tables
        that such a dataset can read. `table`: whose store reads, needed if the table is in an object store."""
        from .deltalake import file_dataset

        self._refuse_chosen("to_deltalake")
        self.note("deltalake")
        return file_dataset(self, table)

    def to_duckdb(self, con: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyRelation:
        from .duckdb import relation

        return relation(self, con)

    def to_polars(self) -> pl.LazyFrame:
        from .polars import lazy_frame
        from .recorded_scan import readable

        return lazy_frame(readable(self))

    def to_pyiceberg(self, table: Table | None = None) -> KeptScan:
        """Return a pyiceberg scan of an Iceberg table, read by pyiceberg. `table`: whose FileIO reads; see
        `readers.pyiceberg`."""
        try:
            from .pyiceberg import data_scan
        except ImportError as error:
            raise MissingDependencyError.lacking("a pyiceberg scan", "pyiceberg") from error
        self._refuse_chosen("to_pyiceberg")
        self.note("pyiceberg")
        return data_scan(self.whole(), table)

    def to_spark(self, spark: SparkSession) -> DataFrame:
        self._refuse_chosen("to_spark")
        self.note("spark")
        return CLIENTS.get("to_spark")(self, spark)

    def _refuse_chosen(self, call: str) -> None:
        """Raise if the files cannot be given to another reader."""
        if self.first is not None:
            raise ScanError(
                f"the first rows are chosen by those who read them here; {call}() gives files for another to read; take"
                " to_arrow(), or scan without a limit"
            )
        if self.keys is not None:
            raise ScanError(
                f"rows with keys are found by those who read them here; {call}() gives files for another to read; take"
                " to_arrow(), or join with the keys in that engine"
            )
        self.check_budget()

    @property
    def _condition(self) -> str:
        from metaindex.expressions import to_sql

        if self.predicate_text is not None:
            return self.predicate_text
        try:
            return to_sql(self.predicate)  # type: ignore[arg-type]
        except MetaIndexError:
            return str(self.predicate)
