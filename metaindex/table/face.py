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

from metaindex.core import CLIENTS, Config, one_line, watched
from metaindex.formats import At
from metaindex.index import Kind
from metaindex.query import Handle, TableReader, TimestampLike, VersionLike

if TYPE_CHECKING:  # what writes is loaded by the verbs that write: a reader's start is short
    from metaindex.advisor import Clustering, Recommendation, Reported, Savings, WhatIf
    from metaindex.core import Progress
    from metaindex.index import BuilderChoice, Outcome, Verification
    from metaindex.table.views.history import History
    from metaindex.table.views.info import IndexList


class Table(TableReader):
    """A table of the lake and its indexes, opened by `open_table`. It holds no state of the table but caches of
    immutable things. A handle is one thread's; `reopened` gives another."""

    __slots__ = ()

    def __repr__(self) -> str:
        return one_line(f"<{self.format} table at {self.path}>")

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle how the table was opened, its credentials too, but not the Spark session: for Dask, Ray, or spawned
        processes."""
        return Table, (self._handle,)

    def _repr_html_(self) -> str:
        from metaindex.core import Element

        return Element.pre(repr(self)).html()

    # -- the table -----------------------------------------------------------------------------------------------------

    def reopened(self, config: Config | None = None) -> Table:
        """Return the table as a handle of its own, for another thread, or with another configuration."""
        return Table(self._handle.reopened(config))

    def namespaces(self) -> list[str]:
        """Return the namespaces (`Config.namespace`) that have indexes of this table, beside the common one."""
        return self._handle.indexes().namespaces()

    # -- advice --------------------------------------------------------------------------------------------------------

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
        files are read and sorted in memory: `sample` is the share of the table's bytes to read (0: no advice; never
        more than 64 files; default: as for `what_if`). Nothing is written.
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
        read; by default 0.01, but at least 32 MB, or the needed columns of four files however large these are, and at
        most 1 GB. What could not be judged says so, and what to do. Statistics that footers hold are evaluated over all
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
        processor seconds to build them. An index that skips less than 0.2% of what is read is not recommended; nor, if
        `days` (the time span of the workload) is known, one that writes more than it spares. `tables`, `sample` and the
        files that are read: as for `what_if`, of which a quarter is kept for advice on the layout, if that helps and no
        index does. Indexes that no query needs are reported, too. Equal questions have equal answers, but for
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
        builder: BuilderChoice | None = None,
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

        at = At.asked(version, timestamp)
        return create(self._handle, name, kinds, at, builder, progress, history=history, if_not_exists=if_not_exists)

    @watched
    def refresh_index(
        self,
        name: str,
        mode: Literal["incremental", "quick", "full", "identity"] = "incremental",
        builder: BuilderChoice | None = None,
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
        files until an incremental refresh covers them. `identity` is incremental, and takes over files of a plain
        folder that chmod, a hard link, a copy or a restored backup made other ones: those of which a digest of all
        bytes that the index was made of is what it was; other versions that had them are forgotten. `where` (a
        predicate over partition columns) or `under` (a folder below the table) limits an incremental refresh to the
        files there: those are covered, and the version is not recorded, as the others were not looked at. Small runs
        are merged and old log entries put away on the way; failures of that are left to the next refresh. Raises
        IndexNotFoundError, IndexStateError, VersionNotFoundError, BuildError, ConcurrentWriteError; the index is then
        what it was.
        """
        from .verbs import refresh

        at = At.asked(version, timestamp)
        return refresh(self._handle, name, mode, at, builder, progress, where=where, under=under)

    @watched
    def optimize_index(
        self,
        name: str,
        mode: Literal["quick", "full"] = "quick",
        builder: BuilderChoice | None = None,
        progress: Progress | None = None,
    ) -> Outcome:
        """Merge runs of an index, so that look-ups read less; answers stay the same, and the table is not read.

        `quick` merges small runs as they accumulate (size-tiered), `full` all runs into one set of sorted parts.
        `builder`: who merges the rows of covering indexes, bucket by bucket: Spark's tasks, or threads of this process
        ('local'); all other rows are merged here, without Spark. Raises ConcurrentWriteError if another writer merged
        or replaced the same runs first, DamagedIndexError for a damaged run, BuildError; the index is then what it was.
        """
        from .verbs import optimize

        return optimize(self._handle, name, mode, builder, progress)

    def drop_index(self, name: str) -> Outcome:
        """Take an index out of use; its files stay until `vacuum_index`, and `restore_index` brings it back."""
        return self._handle.indexes().actions(name).delete()

    delete_index = drop_index  # the name before 0.1.0

    def restore_index(self, name: str) -> Outcome:
        """Bring a deleted index back."""
        return self._handle.indexes().actions(name).restore()

    def vacuum_index(self, name: str) -> Outcome:
        """Remove the files of a deleted index for good."""
        return self._handle.indexes().actions(name).vacuum()

    def clean_index(self, name: str, retention: dt.timedelta | float | None = None) -> Outcome:
        """Remove what an index does not need any more: runs that are out of use for longer than `retention` (a
        timedelta or seconds, default: 7 days), what dead writers left behind, old log entries. It runs beside every
        operation and never takes what one under way, or a query that began within the retention, may need."""
        from .verbs import clean

        return clean(self._handle, name, retention)

    @watched
    def erase_index(self, name: str, builder: BuilderChoice | None = None, progress: Progress | None = None) -> Outcome:
        """Remove from an index, physically and at once, the values that no retained version of the table holds: of
        files that are gone, and of rows deleted in files that stay. Old runs are removed whatever the retention; a
        query that began before may have to read more. A query log is not touched, and the notes say if there is one;
        nor is the table: run it after the table's own VACUUM, snapshot expiry or the like. `builder`: as in
        `optimize_index`. Raises IndexStateError while an operation is under way."""
        from .verbs import erase

        return erase(self._handle, name, builder, progress)

    def cancel_index(self, name: str) -> Outcome:
        """End the operations under way of an index whose writer is dead, and return to the last stable state; from
        VACUUMING go forward to DOESNOTEXIST.

        Raises IndexStateError if nothing is under way. A writer that is alive after all fails when it commits.
        """
        return self._handle.indexes().actions(name).cancel()

    def enable_index(self, name: str) -> Outcome:
        """Let queries use a disabled index again. It was refreshed meanwhile, if anybody did."""
        return self._handle.indexes().actions(name).set_enabled(True)

    def disable_index(self, name: str) -> Outcome:
        """Stop queries from using the index until `enable_index`; it is kept and refreshed as before."""
        return self._handle.indexes().actions(name).set_enabled(False)

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
            self._handle,
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

        return indexes(self._handle, names, At.asked(version, timestamp), staleness=staleness, vacuumed=all)

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

        return verify_index(self._handle, name, files, progress, versions, predicates)

    @watched
    def repair_index(
        self,
        name: str,
        *,
        files: int | None = 20,
        builder: BuilderChoice | None = None,
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

        return repair(self._handle, name, files, builder, progress)


def handle_of(table: Table) -> Handle:
    """Return the handle behind a table, for rooms that work with more than users do."""
    return table._handle
