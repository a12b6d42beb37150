"""A scan: which files of which snapshot, which columns, which rows; and the engines that can answer it.

Every `to_...` returns the same rows: those of the files, less what is deleted at the snapshot's version, that satisfy
the predicate (rows for which it is NULL are left out, as in SQL). No order is promised across files. A scan that cannot
be answered exactly raises; it never returns fewer rows.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from metaindex.expressions.errors import MetaIndexError, MissingDependencyError, UnknownColumnError
from metaindex.expressions.references import leaves
from metaindex.expressions.shown import Shown
from metaindex.expressions.tree import And, Constant, Opaque, Predicate
from metaindex.formats.model import Field, Snapshot
from metaindex.formats.protocol import TableRef
from metaindex.formats.storage import Storage
from metaindex.pruning.condition import predicate_of

from .errors import ScanError
from .footer import HeldFooters

if TYPE_CHECKING:
    import duckdb
    import pandas as pd
    import polars as pl
    from deltalake import DeltaTable
    from pyarrow.dataset import Dataset
    from pyiceberg.table import Table
    from pyspark.sql import DataFrame, SparkSession

    from metaindex.pruning.result import PruneResult

    from .dataset import ScanDataset
    from .pyiceberg import KeptScan

__all__ = ["Choose", "Scan", "ScanError"]

Choose: TypeAlias = "Callable[[Predicate], tuple[npt.NDArray[np.int64], PruneResult]]"
T = TypeVar("T")


@dataclass(frozen=True, slots=True, repr=False)
class Scan(Shown):
    """`rows` are indices into `snapshot.files` (None: all of them). `predicate` is bound: names and literals are those
    of `snapshot.schema`; `predicate_text` is the user's own SQL, for an engine that reads it itself. `columns` are
    top-level names, in the order of the result (None: all); names are matched exactly first and without regard to case
    second. A field inside a struct is not a column: ask for the struct."""

    snapshot: Snapshot
    storage: Storage
    ref: TableRef
    rows: npt.NDArray[np.int64] | None = None
    predicate: Predicate | None = None
    predicate_text: str | None = None
    columns: tuple[str, ...] | None = None
    result: PruneResult | None = None  # what was kept and dropped, and why; None without a predicate
    time_zone: str = "UTC"  # of times without a zone in `predicate_text`, when files were chosen
    hint: Predicate | None = (
        None  # what the caller applies to the rows itself: files and row groups without a row for it may be left out
    )
    choose: Choose | None = field(default=None, repr=False)  # which files the indexes keep for another predicate
    load: Callable[[], Snapshot] | None = field(
        default=None, repr=False
    )  # where `snapshot` has just the files that an index kept: the table's own
    footers: HeldFooters | None = field(default=None, repr=False, compare=False)  # of files that were read before
    anew: Callable[[], Scan | None] | None = field(
        default=None, repr=False, compare=False
    )  # where `snapshot` is what an index recorded: the question asked of the table itself; None: the index was right

    def __str__(self) -> str:
        """What would be read, and how to read it; nothing is."""
        kept = len(self.file_rows)
        every = len(self.snapshot.files) if self.result is None else self.result.total_files
        try:
            columns = [f"  {f.name}: {f.type}" for f in self.fields]
        except MetaIndexError as error:
            columns = [f"  {error}"]
        return "\n".join(
            (
                f"scan of {self.snapshot.table} ({self.snapshot.format}) at version {self.snapshot.version}: {kept:,} of {every:,} files",
                *(() if self.predicate is None else (f"rows: {self._condition}",)),
                "columns:",
                *columns,
                "nothing is read yet: to_arrow(), to_batches(), to_pandas(), to_duckdb(con), to_polars(), to_spark(spark) read it",
            )
        )

    @property
    def _condition(self) -> str:
        from metaindex.expressions.engines.sql import to_sql

        if self.predicate_text is not None:
            return self.predicate_text
        try:
            return to_sql(self.predicate)  # type: ignore[arg-type]
        except MetaIndexError:
            return str(self.predicate)

    @property
    def fields(self) -> tuple[Field, ...]:
        """The columns of the result."""
        if self.columns is None:
            return self.snapshot.schema.shown.fields
        if not self.columns:
            raise ScanError("a scan returns at least one column; columns is empty; name one, or pass None for all")
        fields = tuple(self._field(name) for name in self.columns)
        if len({f.name for f in fields}) < len(fields):
            raise ScanError(
                f"a column can be asked for once; columns are {', '.join(self.columns)}; leave out the repetition"
            )
        return fields

    @property
    def schema(self) -> pa.Schema:
        """The result's schema: the snapshot's types and logical names."""
        return pa.schema([pa.field(f.name, f.type, f.nullable) for f in self.fields])

    @property
    def file_rows(self) -> npt.NDArray[np.int64]:
        if self.rows is None:
            return np.arange(len(self.snapshot.files), dtype=np.int64)
        return np.asarray(self.rows, dtype=np.int64)

    def whole(self) -> Scan:
        """The same scan with the table's own snapshot: where an index answered without it, `snapshot` is of the kept
        files, and knows no more of them than it takes to read them."""
        if self.load is None:
            return self
        snapshot = self.load()
        mine = self.snapshot.files.paths.take(pa.array(self.file_rows))
        rows = np.flatnonzero(pc.is_in(snapshot.files.paths, value_set=mine.combine_chunks()).to_numpy())
        agrees = len(rows) == len(mine) and snapshot.schema == self.snapshot.schema
        if not agrees and (own := self.by_table()) is not None:
            return own.whole()
        return replace(self, snapshot=snapshot, rows=rows, choose=None, load=None)

    @property
    def asked(self) -> Predicate | None:
        """What rows must match to be of use: the predicate and the caller's hint."""
        known = tuple(p for p in (self.predicate, self.hint) if p is not None)
        return And(known) if len(known) > 1 else known[0] if known else None

    def narrowed(self, hint: object, seen: pa.Schema) -> Scan:
        """The same scan for an engine that applies `hint`, a condition of its own over the columns that it has `seen`,
        to the rows itself: the indexes are asked again, and what holds no row for it is not read. Parts of the hint
        that cannot be judged keep everything; no hint is an error."""
        try:
            known = predicate_of(hint, self.snapshot.schema, self.time_zone, seen=seen)
            if all(isinstance(leaf, Opaque | Constant) for leaf in leaves(known)):
                return self
            narrower = replace(self, hint=known if self.hint is None else And((self.hint, known)))
            if self.choose is None or narrower.asked is None:
                return narrower
            rows, result = self.choose(narrower.asked)
        except MetaIndexError:
            return self
        if self.rows is not None:
            rows = np.intersect1d(rows, self.rows, assume_unique=True)
        return replace(narrower, rows=rows, result=result)

    def by_table(self) -> Scan | None:
        """The same question without what an index recorded of the version; None where that was as the table has it, or
        nothing was recorded: whatever went wrong is then no fault of an index."""
        own = self.anew() if self.anew is not None else None
        return None if own is None else replace(own, columns=self.columns)

    def trying(self, read: Callable[[Scan], T]) -> T:
        """What `read` makes of the scan, or where that fails on what an index recorded, of the table's own: an index
        fails no query."""
        try:
            return read(self)
        except Exception:
            if (own := self.by_table()) is None:
                raise
            return read(own)

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """The rows as they are read: one file at a time, never a whole large file in memory."""
        from .arrow import read_batches
        from .recorded_scan import guarded

        return read_batches(self) if self.anew is None else guarded(self)

    def to_reader(self) -> pa.RecordBatchReader:
        """The same as Arrow's own stream, to be read once: for `pq.ParquetWriter`, `pa.dataset.write_dataset`, and
        whatever else takes one."""
        from .recorded_scan import readable

        scan = readable(self)
        return pa.RecordBatchReader.from_batches(scan.schema, scan.to_batches())

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """A new stream of the rows each time it is asked for: a scan is itself an Arrow table to every library that
        takes one."""
        return self.to_reader().__arrow_c_stream__(requested_schema)

    def to_arrow(self) -> pa.Table:
        from .arrow import read_batches

        return self.trying(lambda scan: pa.Table.from_batches(read_batches(scan), schema=scan.schema))

    def to_pandas(self) -> pd.DataFrame:
        """All rows as a DataFrame, with pandas' own types, as pyarrow makes it."""
        try:
            import pandas  # noqa: F401 - that it is there is the question
        except ImportError as error:
            raise MissingDependencyError(
                "a pandas DataFrame needs pandas; it is not installed; install pandas, or take to_arrow() or to_polars()"
            ) from error
        return self.to_arrow().to_pandas()

    def to_dataset(self) -> ScanDataset:
        """As a pyarrow Dataset, whose scans ask the indexes about their own filters, too."""
        from .dataset import ScanDataset
        from .recorded_scan import readable

        return ScanDataset(readable(self))

    def to_deltalake(self, table: DeltaTable | None = None) -> Dataset:
        """As the pyarrow dataset that deltalake's `to_pyarrow_dataset` makes, of the kept files: of a Delta table that
        such a dataset can read. `table`: whose store reads, needed where the table is in one."""
        from .deltalake import file_dataset

        return file_dataset(self, table)

    def to_duckdb(self, con: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyRelation:
        from .duckdb import relation

        return relation(self, con)

    def to_polars(self) -> pl.LazyFrame:
        from .polars import lazy_frame
        from .recorded_scan import readable

        return lazy_frame(readable(self))

    def to_pyiceberg(self, table: Table | None = None) -> KeptScan:
        """As a pyiceberg scan, read by pyiceberg: of an Iceberg table. `table`: whose FileIO reads; see
        `readers.pyiceberg`."""
        try:
            from .pyiceberg import data_scan
        except ImportError as error:
            raise MissingDependencyError(
                "a pyiceberg scan needs pyiceberg; it is not installed; install metaindex with the extra: metaindex[iceberg]"
            ) from error
        return data_scan(self.whole(), table)

    def to_spark(self, spark: SparkSession) -> DataFrame:
        from .spark import data_frame

        return data_frame(self, spark)

    def _field(self, name: str) -> Field:
        fields = self.snapshot.schema.shown.fields
        exact = [f for f in fields if f.name == name]
        found = exact or [f for f in fields if f.name.lower() == name.lower()]
        if len(found) == 1:
            return found[0]
        if found:
            both = ", ".join(f.name for f in found)
            raise ScanError(
                f"a column's name must fit one column; {name!r} fits {both}; write it as it stands in the table"
            )
        top = name.split(".", 1)[0]
        if top != name and any(f.name.lower() == top.lower() for f in fields):
            raise ScanError(
                f"a scan returns top-level columns; {name!r} is inside one; ask for {top!r} and take the field from it"
            )
        near = difflib.get_close_matches(name, [f.name for f in fields], n=3)
        cure = f"did you mean {', '.join(near)}?" if near else f"it has {', '.join(f.name for f in fields[:20])}"
        raise UnknownColumnError(
            f"columns must exist in the table's version {self.snapshot.version}; there is no {name!r}; {cure}"
        )
