"""The public face: a table, and the verbs on its indexes. Only delegates.

table = mi.open_table("s3://lake/flights")
table.create_index("stats", mi.ColumnStats())
result = table.prune("tailnum = 'N14228' AND dep_delay > 60")
"""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from metaindex.core import (
    CLIENTS,
    ArgumentError,
    BuilderName,
    Config,
    VersionNotFoundError,
    one_line,
    preformatted,
    watched,
)
from metaindex.formats import Diff, Snapshot
from metaindex.index import Kind
from metaindex.query import Handle, OrderLike, PruneResult, Queries, TimestampLike, VersionLike, at_version

if TYPE_CHECKING:  # what writes is loaded by the verbs that write: a reader's start is short
    import pyarrow as pa

    from metaindex.advisor import Clustering, Recommendation, Reported, Savings, WhatIf
    from metaindex.index import Builder, Outcome, Progress, Verification
    from metaindex.query import Aggregated, Explanation, Located, Named, QueriesCleaned, Scan, Searched, Touched
    from metaindex.table.views.history import History
    from metaindex.table.views.info import IndexList
    from metaindex.table.views.versions import VersionList


class Table:
    """A table of the lake and its indexes, opened by `open_table`. It holds no state of the table but caches of
    immutable things. A handle is one thread's; `reopened` gives another."""

    __slots__ = ("_handle", "_queries")

    def __init__(self, handle: Handle) -> None:
        self._handle = handle
        self._queries = Queries(handle, noted=True)

    def __repr__(self) -> str:
        return one_line(f"<{self.format} table at {self.path}>")

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle how the table was opened, its credentials too, but not the Spark session: for Dask, Ray, or spawned
        processes."""
        return Table, (self._handle,)

    def _repr_html_(self) -> str:
        return preformatted(repr(self))

    # -- the table -----------------------------------------------------------------------------------------------------

    @property
    def path(self) -> str:
        return self._handle.path

    @property
    def format(self) -> str:
        """Return the table's format: delta, iceberg, or files."""
        return self._handle.format

    @property
    def config(self) -> Config:
        return self._handle.config

    @property
    def schema(self) -> pa.Schema:
        """Return the columns that the table has now, by their logical names. Raises what `snapshot` raises."""
        return self.snapshot().schema.shown.arrow()

    def snapshot(self, version: VersionLike = None, timestamp: TimestampLike = None) -> Snapshot:
        """Return the live files at a version (default: now). Raises VersionNotFoundError."""
        return self._handle.snapshot(at_version(version, timestamp))

    def diff(
        self,
        base: VersionLike = None,
        target: VersionLike = None,
        *,
        base_timestamp: TimestampLike = None,
        target_timestamp: TimestampLike = None,
    ) -> Diff:
        """Return what changed from one version to another (default: now), in either direction: from the log if it
        serves the range, else by comparing snapshots. `base`, or its time, is required. `Diff.positions(row)`: the rows
        of file `row` of `deletes_changed` that were deleted and restored. Example: `table.diff(8).appended.paths`."""
        if base is None and base_timestamp is None:
            raise VersionNotFoundError(
                "a diff starts at a version; none was given; say which: base=, or base_timestamp="
            )
        return self._queries.diff(at_version(base, base_timestamp), at_version(target, target_timestamp))

    def versions(self) -> VersionList:
        """Return the versions that can be read, oldest first."""
        from metaindex.table.views.versions import VersionList

        return VersionList(self._queries.versions())

    def reopened(self, config: Config | None = None) -> Table:
        """Return the table as a handle of its own, for another thread, or with another configuration."""
        return Table(self._handle.reopened(config))

    def namespaces(self) -> list[str]:
        """Return the namespaces (`Config.namespace`) that have indexes of this table, beside the common one."""
        return self._handle.namespaces()

    # -- queries -------------------------------------------------------------------------------------------------------

    def prune(
        self,
        predicate: object = None,
        version: VersionLike = None,
        timestamp: TimestampLike = None,
        *,
        keys: object = None,
        on: Named | None = None,
        indexes: Iterable[str] | None = None,
    ) -> PruneResult:
        """Return the files that can hold matching rows at a version (default: now): `table.prune("user = 42").paths`.

        `predicate`: SQL text (Spark's dialect; a timestamp without a zone is in `Config.time_zone`), a `col()`
        expression, a Spark Column, a pyarrow, pyiceberg, Polars or DuckDB expression; None: every row. `indexes`: only
        these may answer. `keys`, `on`: only rows with these keys, as in `scan`. What an index cannot prove keeps the
        file; a stale, damaged or missing index makes the answer wider, never wrong.
        """
        return self._queries.noted_prune(predicate, version, timestamp, indexes=indexes, keys=keys, on=on)

    def scan(
        self,
        predicate: object = None,
        columns: Sequence[str] | None = None,
        version: VersionLike = None,
        timestamp: TimestampLike = None,
        *,
        order_by: Sequence[OrderLike] | str | None = None,
        limit: int | None = None,
        keys: object = None,
        on: Named | None = None,
        indexes: Iterable[str] | None = None,
    ) -> Scan:
        """Return the rows that match, read from the kept files only: `table.scan("user = 42", ["day"]).to_arrow()`.

        `limit`: at most so many rows, from the files that need the least reading; files of which every row matches come
        first, and no more are opened once there are enough. Each read of a scan returns the same rows.

        `order_by`, with a limit: the first rows by these columns, in their order: `["ts"]`, `[("ts", "desc")]` or
        `[("ts", "desc", "nulls first"), "id"]`. By default NULL comes first ascending and last descending, and NaN is
        the greatest number, as in Spark; of rows equal in all columns any may be returned. Files are skipped, and read
        in an order, by what is known of the first column.

        `keys`, with `on`: a semi-join, only rows whose columns together equal a row of `keys`: an Arrow table (or what
        has an Arrow stream), a pandas or Polars frame, a Spark DataFrame of at most a million keys. `on` names the
        columns: `["customer_id"]`, or `{"customer_id": "id"}` if the keys call it `id`. NULL equals nothing, NaN equals
        NaN, and a row of the table comes once, however often its key does. Indexes look up to 10,000 keys up by their
        values, more by a few ranges; the rows read decide. Raises LiteralTypeError for keys whose type the column is
        not compared with.

        The scan has `.to_arrow()`, `.to_batches()`, `.to_dataset()`, `.to_duckdb(con)`, `.to_polars()`,
        `.to_deltalake()`, `.to_pyiceberg()`, `.to_spark(spark)`. The last three read files by themselves: they refuse a
        limit, and keys.
        """
        return self._queries.scan(
            predicate,
            columns,
            version,
            timestamp,
            order_by=order_by,
            limit=limit,
            indexes=indexes,
            keys=keys,
            on=on,
        )

    def count(
        self,
        predicate: object = None,
        version: VersionLike = None,
        timestamp: TimestampLike = None,
        *,
        indexes: Iterable[str] | None = None,
    ) -> int:
        """Return how many live rows match at a version (default: now), as a number: `table.count("user = 42")`."""
        from metaindex.query import counted_rows

        return counted_rows(self._queries, predicate, version, timestamp, indexes=indexes)

    def aggregate(
        self,
        *,
        count: bool | Sequence[str] = False,
        min: Sequence[str] = (),  # noqa: A002 - SQL's words
        max: Sequence[str] = (),  # noqa: A002
        sum: Sequence[str] = (),  # noqa: A002
        count_distinct: Sequence[str] = (),
        approx_distinct: Sequence[str] = (),
        where: object = None,
        group_by: Sequence[str] = (),
        version: VersionLike = None,
        timestamp: TimestampLike = None,
        indexes: Iterable[str] | None = None,
    ) -> Aggregated:
        """Return counts, extremes, sums and numbers of different values of the live rows that match, opening as few
        files as possible: `table.aggregate(count=True, max=["amount"], group_by=["day"])`.

        A file of which every row matches is not opened if exact metadata answers for it: extremes that some row has,
        rows less deleted ones, sums of an index of `Sums`, values of one of `ValueList` or of `Values(by="value")`,
        sketches of one of `Sketches`; a file with deletes is opened for all but row counts. All others are read. The
        answer is that of a full scan, with Spark's types: counts and sums of integers are bigint, sums of decimals have
        ten digits more, extremes are of the column's type; NaN is the greatest number. `count_distinct` holds each
        different value in memory; `approx_distinct` does not, and alone is approximate: exact up to 4,096 different
        values, beyond them with a standard error of 1.6%.

        `count`: True for rows, or names of columns whose values are counted (NULL is none; "*" is rows). `group_by`: by
        the values of columns; a file answers unopened if each has one value in it, as partition columns have. Raises
        UnknownColumnError, VersionNotFoundError, ArgumentError for no aggregate; ScanError for a column that has no
        order, a sum of anything but integers and decimals, and one that overflows.
        """
        from metaindex.query import aggregated

        asked = {"count": count, "min": min, "max": max, "sum": sum, "group_by": group_by}
        asked |= {"count_distinct": count_distinct, "approx_distinct": approx_distinct}
        return aggregated(self._queries, where, version, timestamp, asked, indexes=indexes)

    def explain(
        self,
        predicate: object = None,
        version: VersionLike = None,
        timestamp: TimestampLike = None,
        *,
        keys: object = None,
        on: Named | None = None,
        indexes: Iterable[str] | None = None,
    ) -> Explanation:
        """Return how a query would be planned: the predicate as understood, what each index covers of the version, what
        it answers, what is kept and why. `keys` and `on` as in `scan`. Example: `print(table.explain("user = 42"))`."""
        return self._queries.explain(predicate, version, timestamp, indexes=indexes, keys=keys, on=on)

    def locate(
        self,
        predicate: object,
        version: VersionLike = None,
        timestamp: TimestampLike = None,
        *,
        all_versions: bool = False,
        exact: bool = False,
        indexes: Iterable[str] | None = None,
    ) -> Located:
        """Return the live files and row groups that may hold matching rows, at a version (default: now) or at all
        versions that can still be read: `table.locate("user = 42").files`.

        Only kept files are opened, and of them only the footers. `exact` reads the row groups that are left, drops
        those without a live match, and counts the matches; a file that stays from version to version is read once.
        Raises what `prune` and `scan` raise; with `all_versions`, a version that cannot be read is a note.
        """
        from metaindex.query import locate

        return locate(
            self._queries, predicate, version, timestamp, all_versions=all_versions, exact=exact, indexes=indexes
        )

    def touched(
        self,
        source: object,
        on: Named,
        version: VersionLike = None,
        timestamp: TimestampLike = None,
        *,
        exact: bool = True,
        indexes: Iterable[str] | None = None,
    ) -> Touched:
        """Return the files that a MERGE by these keys would rewrite: those with a live row that has one of them.
        `source` and `on` as `keys` and `on` of `scan`. `exact=False`: no data is read; there may be false positives."""
        from metaindex.query import touched

        return touched(self._queries, source, on, version, timestamp, exact=exact, indexes=indexes)

    def search(
        self,
        text: str,
        version: VersionLike = None,
        timestamp: TimestampLike = None,
        *,
        exact: bool = False,
        indexes: Iterable[str] | None = None,
    ) -> Searched:
        """Return the columns, files and row groups in which a text stands, of all columns that an index keys; each
        column's type reads it. Raises IndexNotFoundError if no index keys any. Example: `table.search("N14228")`."""
        from metaindex.query import search

        return search(self._queries, text, version, timestamp, exact=exact, indexes=indexes)

    def statistics(self, index: str, column: str, partition: str | None = None) -> pa.Table:
        """Return the statistics that an index holds of a column, file by file: path, state, bounds, counts of values,
        NULLs and NaNs, sizes, trust. Example: `table.statistics("find", "amount")`."""
        from .lookup import statistics_of

        if not isinstance(partition, str | None):
            raise ArgumentError(f"a partition is named by its text, as in 'day=2026-01-01'; got {partition!r}; name it")
        return statistics_of(self._handle.open_index(index), column, partition)

    def clustering(
        self,
        *columns: str,
        version: VersionLike = None,
        timestamp: TimestampLike = None,
        sample: float | None = None,
        indexes: Iterable[str] | None = None,
    ) -> Clustering:
        """Return how far the ranges of the files overlap, column by column, and what another layout would skip.

        It is measured from existing bounds (indexes, the table's log, footers of plain Parquet). `columns`: only these
        (a struct: its fields), and advice for queries on them; default: all that have an order. For the advice some
        files are read and sorted in memory: `sample` is the share of the table's bytes to read (default: 0.01, and all
        of a table of up to 32 MB; 0: no advice; never more than 64 files). Nothing is written.
        `Clustering.advice[0].sql()` is what the table's owner may run. `indexes`: only these are used. Raises
        UnknownColumnError, UnsupportedFeatureError for a column without an order, VersionNotFoundError.
        """
        measured: Clustering = CLIENTS.get("clustering")(
            self._handle, columns, version=version, timestamp=timestamp, sample=sample, indexes=indexes
        )
        return measured

    def what_if(
        self,
        queries: object,
        *candidates: Kind | Sequence[Kind],
        version: VersionLike = None,
        timestamp: TimestampLike = None,
        sample: float | None = None,
        indexes: Iterable[str] | None = None,
        tables: Mapping[str, str | os.PathLike[str]] | None = None,
    ) -> WhatIf:
        """Estimate what queries would read with an index that does not exist, and what it costs. Nothing is built.

        `queries`: a condition, or a list of them, in any words that `prune` takes; or a workload (`mi.workload`), SQL
        statements, DataFrames, or the path of a file or an event log: each template is evaluated once, weighted by how
        often it was seen. Only its queries that name this table count, by the last part of its path, or as `tables`
        says (`{"db.flights": "lake/flights"}`). `candidates`: a kind each, or a list of kinds for one index of several;
        by default those that follow from the columns of the queries.

        Returned for each: the files, row groups and bytes that a query reads now and then, the size of the index,
        processor time to build it, and upkeep a day by the table's own history: estimates with 90% intervals, from
        files that are read, indexed and pruned in a temporary folder. `sample` is the share of the table's bytes to
        read (default: 0.01, and all of a table of up to 32 MB). Statistics that footers hold are evaluated over all
        files, exactly. `indexes`: those that queries use now. A wrong query or candidate is reported, and the others go
        on. Raises ArgumentError, VersionNotFoundError.
        """
        answer: WhatIf = CLIENTS.get("what_if")(
            self._handle,
            queries,
            candidates,
            version=version,
            timestamp=timestamp,
            sample=sample,
            indexes=indexes,
            tables=tables,
        )
        return answer

    @watched
    def recommend(
        self,
        queries: object = None,
        *,
        candidates: Sequence[Kind | Sequence[Kind]] = (),
        budget_bytes: float | None = None,
        budget_cpu: float | None = None,
        days: float | None = None,
        sample: float | None = None,
        copies: bool = True,
        tables: Mapping[str, str | os.PathLike[str]] | None = None,
        progress: Progress | None = None,
    ) -> Recommendation:
        """Recommend the indexes for a workload. Nothing is built or written; `Recommendation.create` does.

        `queries`: a workload (`mi.workload`), conditions, SQL statements, or the path of a file of them; None: those
        that the table's own query log noted. Candidates follow from the columns by which they filter, join, group and
        sort, unless given; `copies=False` excludes covering indexes, which Spark alone reads. Indexes are chosen one
        after another, each time the one that skips most bytes of the workload per byte of its size, beside existing
        indexes and those chosen before, evaluated as by `what_if`; within `budget_bytes` for all, and `budget_cpu`
        processor seconds to build them. An index that skips less than 0.5% of what is read is not recommended; nor, if
        `days` (the time span of the workload) is known, one that writes more than it spares. `tables`, `sample` and the
        files that are read: as for `what_if`; a quarter of the sample is kept for advice on the layout, if that helps
        and no index does. Indexes that no query needs are reported, too. Equal questions have equal answers, but for
        measured processor time. Raises ArgumentError.
        """
        recommendation: Recommendation = CLIENTS.get("recommend")(
            [self._handle], queries, candidates, budget_bytes, budget_cpu, days, sample, tables, copies, progress
        )
        return recommendation

    # -- indexes -------------------------------------------------------------------------------------------------------

    @watched
    def create_index(
        self,
        name: str,
        *kinds: Kind,
        builder: BuilderName | Builder | None = None,
        progress: Progress | None = None,
        version: VersionLike = None,
        timestamp: TimestampLike = None,
        history: bool = False,
        if_not_exists: bool = False,
    ) -> Outcome:
        """Index every file of the table at a version (default: now), reading each file once for all kinds. Columns are
        those of that version, which is recorded. Example: `table.create_index("find", mi.Values("user"))`.

        `history`: index also the files that only older versions have, as far as they can still be read (within Delta's
        vacuum, of Iceberg snapshots that have not expired), so that those versions are pruned, too. What cannot be read
        any more is left out, with a note. Not for covering indexes.

        `if_not_exists`: do nothing if there is an index of this name with the same kinds of the same columns (however
        far it is behind), or one whose name differs in capital letters alone; one of other kinds is an error.

        Raises ArgumentError for a name no folder may have, UnknownColumnError, VersionNotFoundError, IndexExistsError,
        IndexStateError, BuildError; then nothing is visible.
        """
        from .verbs import create

        return create(
            self._handle,
            name,
            kinds,
            builder=builder,
            progress=progress,
            version=version,
            timestamp=timestamp,
            history=history,
            if_not_exists=if_not_exists,
        )

    @watched
    def refresh_index(
        self,
        name: str,
        mode: Literal["incremental", "quick", "full"] = "incremental",
        builder: BuilderName | Builder | None = None,
        progress: Progress | None = None,
        *,
        version: VersionLike = None,
        timestamp: TimestampLike = None,
        where: object = None,
        under: str | None = None,
    ) -> Outcome:
        """Bring an index to a version of the table (default: now): `table.refresh_index("find")`.

        `incremental` reads only files that the index does not cover, `full` reads all of them again. `quick` reads
        none: it names the new files, so that queries at that version need not read the table's log; they read those
        files until an incremental refresh covers them. `where` (a predicate over partition columns) or `under` (a
        folder below the table) limits an incremental refresh to the files there: those are covered, and the version is
        not recorded, as the others were not looked at. Small runs are merged and old log entries put away on the way;
        failures of that are left to the next refresh. Raises IndexNotFoundError, IndexStateError, VersionNotFoundError,
        BuildError, ConcurrentWriteError; the index is then what it was.
        """
        from .verbs import refresh

        return refresh(
            self._handle,
            name,
            mode,
            builder=builder,
            progress=progress,
            version=version,
            timestamp=timestamp,
            where=where,
            under=under,
        )

    @watched
    def optimize_index(
        self,
        name: str,
        mode: Literal["quick", "full"] = "quick",
        builder: BuilderName | Builder | None = None,
        progress: Progress | None = None,
    ) -> Outcome:
        """Merge runs of an index, so that look-ups read less; answers stay the same, and the table is not read.

        `quick` merges small runs as they accumulate (size-tiered), `full` all runs into one set of sorted parts.
        `builder`: who merges the rows of covering indexes, bucket by bucket: Spark's tasks, or threads of this process
        ('local'); all other rows are merged here, without Spark. Raises ConcurrentWriteError if another writer merged
        or replaced the same runs first, DamagedIndexError for a damaged run, BuildError; the index is then what it was.
        """
        from .verbs import optimize

        return optimize(self._handle, name, mode, builder=builder, progress=progress)

    def delete_index(self, name: str) -> Outcome:
        """Take an index out of use; its files stay until `vacuum_index`, and `restore_index` brings it back."""
        from .verbs import delete

        return delete(self._handle, name)

    def restore_index(self, name: str) -> Outcome:
        """Bring a deleted index back."""
        from .verbs import restore

        return restore(self._handle, name)

    def vacuum_index(self, name: str) -> Outcome:
        """Remove the files of a deleted index for good."""
        from .verbs import vacuum

        return vacuum(self._handle, name)

    def clean_index(self, name: str, retention: dt.timedelta | float | None = None) -> Outcome:
        """Remove what an index does not need any more: runs that are out of use for longer than `retention` (a
        timedelta or seconds, default: 7 days), what dead writers left behind, old log entries. It runs beside every
        operation and never takes what one under way, or a query that began within the retention, may need."""
        from .verbs import clean

        return clean(self._handle, name, retention)

    @watched
    def erase_index(
        self, name: str, builder: BuilderName | Builder | None = None, progress: Progress | None = None
    ) -> Outcome:
        """Remove from an index, physically and at once, the values that no retained version of the table holds: of
        files that are gone, and of rows deleted in files that stay. Old runs are removed whatever the retention; a
        query that began before may have to read more. A query log is not touched, and the notes say if there is one;
        nor is the table: run it after the table's own VACUUM, snapshot expiry or the like. `builder`: as in
        `optimize_index`. Raises IndexStateError while an operation is under way."""
        from .verbs import erase

        return erase(self._handle, name, builder=builder, progress=progress)

    def cancel_index(self, name: str) -> Outcome:
        """End the operations under way of an index whose writer is dead, and return to the last stable state; from
        VACUUMING go forward to DOESNOTEXIST.

        Raises IndexStateError if nothing is under way. A writer that is alive after all fails when it commits.
        """
        from .verbs import cancel

        return cancel(self._handle, name)

    def enable_index(self, name: str) -> Outcome:
        """Let queries use a disabled index again. It was refreshed meanwhile, if anybody did."""
        from .verbs import set_enabled

        return set_enabled(self._handle, name, True)

    def disable_index(self, name: str) -> Outcome:
        """Stop queries from using the index until `enable_index`; it is kept and refreshed as before."""
        from .verbs import set_enabled

        return set_enabled(self._handle, name, False)

    # -- its queries ---------------------------------------------------------------------------------------------------

    def query_log(self, since: dt.timedelta | None = None) -> pa.Table:
        """Return the queries that were noted beside the indexes (`Config.query_log`), oldest first, a row each;
        `since`: how far back. Unknown values are NULL; `indexes` are those that skipped files, or were read in the
        table's place. At most a million rows, the newest; a damaged or oversized file of the log is left out with a
        warning that names it."""
        from metaindex.query import logged_queries

        return logged_queries(self._handle, since).rows

    def clean_query_log(self) -> QueriesCleaned:
        """Remove what of the query log is older or larger than `Config.query_log` allows (default: 90 days, 64 MB), and
        merge the many small files of a day. `clean_index` does it, too."""
        from metaindex.query import clean_query_log

        return clean_query_log(self._handle)

    def savings(self, since: dt.timedelta | None = None) -> Savings:
        """Return what the indexes skipped in the noted queries, by index and by day, and what they cost in bytes and
        upkeep. `since`: how far back; default: all that the query log has."""
        savings: Savings = CLIENTS.get("savings")(self._handle, since)
        return savings

    # -- a picture -----------------------------------------------------------------------------------------------------

    @watched
    def report(
        self,
        path: str | os.PathLike[str],
        where: object = None,
        *,
        queries: object = None,
        tables: Mapping[str, str | os.PathLike[str]] | None = None,
        version: VersionLike = None,
        timestamp: TimestampLike = None,
        since: dt.timedelta | None = None,
        sample: float | None = None,
        indexes: Iterable[str] | None = None,
        overwrite: bool = False,
        progress: Progress | None = None,
    ) -> Reported:
        """Write a page of the table for a browser: its files and versions, its indexes, how the files lie by each
        column and what their ranges can tell apart, savings by its query log, and advice.

        The page is one file that loads nothing and runs nothing; its size does not grow with the table. It holds names,
        and values that are bounds of files or stand in conditions. `where`: a condition, or several, in any words that
        `prune` takes, to show what each keeps, and who drops the rest. `queries`, `tables`: a workload to show what
        `recommend` returns for it. `since`: how far back the query log is read; `sample`: as in `clustering`, which
        reads some files for advice (0: none). A report at `path` is replaced, any other file only with `overwrite`.
        Raises ArgumentError if the page would lie in the table's folder or among its indexes, StorageError if it cannot
        be written, and what `prune` and `snapshot` raise; then nothing is written.
        """
        several = tuple(where) if isinstance(where, list | tuple) else () if where is None else (where,)
        written: Reported = CLIENTS.get("report")(
            self._queries,
            path,
            progress,
            several,
            queries,
            tables,
            version,
            timestamp,
            since,
            sample,
            indexes,
            overwrite,
        )
        return written

    # -- what an operator asks -----------------------------------------------------------------------------------------

    def indexes(
        self,
        *names: str,
        version: VersionLike = None,
        timestamp: TimestampLike = None,
        staleness: bool = True,
        all: bool = False,  # noqa: A002 - all indexes, vacuumed ones too
    ) -> IndexList:
        """Return the indexes of the table, or those of these names, and how far each is behind a version (default:
        now); one that cannot be read says why. `print` it, or `.to_arrow()`, `.to_spark(spark)`.

        `staleness=False` leaves out what costs more than some small reads: the files and bytes that an index does not
        cover, and its size on storage. Raises VersionNotFoundError for a version that does not exist,
        IndexNotFoundError for a name that is none. A table that cannot be read otherwise is a warning, for its indexes
        can still be described.
        """
        from .upkeep import indexes

        return indexes(self._handle, names, version=version, timestamp=timestamp, staleness=staleness, vacuumed=all)

    def history(self, name: str, last: int | None = None) -> History:
        """Return what happened to an index, entry by entry, and its lag behind the table. `last`: only so many entries.
        Raises IndexNotFoundError for a name that never was an index."""
        from .upkeep import history_of

        return history_of(self._handle, name, last)

    @watched
    def verify_index(
        self,
        name: str,
        *,
        files: int | None = 20,
        versions: Literal["newest", "all"] = "newest",
        predicates: Sequence[object] = (),
        progress: Progress | None = None,
    ) -> Verification:
        """Verify an index: re-read its log, every value of its runs and its recorded versions, and compare what it
        holds of data files with their rows.

        `files`: so many live data files are read whole (None: all), evenly spread. `versions`: which recorded ones are
        compared with the table's own; "newest": the last three. `predicates`: for each, the files that this index drops
        now are read, and no row in them may match. Changes nothing.

        Raises IndexNotFoundError for an index that was vacuumed or never came to be, too; IndexStateError for one that
        is DELETED, or is being created, restored or vacuumed: no query uses it, so that it is neither right nor wrong.
        """
        from .upkeep import verify_index

        return verify_index(
            self._handle, name, files=files, versions=versions, predicates=predicates, progress=progress
        )

    @watched
    def repair_index(
        self,
        name: str,
        *,
        files: int | None = 20,
        builder: BuilderName | Builder | None = None,
        progress: Progress | None = None,
    ) -> Outcome:
        """Verify an index (`files`: as in `verify_index`) and rebuild what is wrong: damaged or missing runs are
        dropped, and those of their files that the table has are indexed anew. What is right stays; of recorded versions
        that needed such a run, the newest that the table keeps are recorded again. Runs that are not understood here
        (of a newer metaindex, of a kind that is not installed) are left as they are, and the outcome names them. The
        table is not touched.

        Does nothing if nothing is wrong. Raises DamagedIndexError if no entry of the log can be read; IndexStateError
        for an index that is not ACTIVE.
        """
        from .upkeep import repair

        return repair(self._handle, name, files=files, builder=builder, progress=progress)


def handle_of(table: Table) -> Handle:
    """Return the handle behind a table, for rooms that work with more than users do."""
    return table._handle


def queries_of(table: Table) -> Queries:
    """Return a table's queries, whose caches serve again."""
    return table._queries
