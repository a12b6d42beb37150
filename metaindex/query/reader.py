"""The reading half of a table's public face: its versions, and what is asked of them. Only delegates."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from metaindex.core import ArgumentError, Config, VersionNotFoundError
from metaindex.formats import At, Snapshot
from metaindex.query.noting import TableQueryLog

from .arguments import OrderLike, TimestampLike, VersionLike
from .handle import Handle
from .pruning.result import PruneResult
from .queries import Asked, Queries

if TYPE_CHECKING:
    import pyarrow as pa

    from metaindex.formats import Diff

    from .aggregates.of_table import Aggregated
    from .explanation import Explanation
    from .lookups.locate import Located
    from .lookups.search import Searched
    from .lookups.touched import Touched
    from .query_log.cleaning import QueriesCleaned
    from .readers.scan import Scan
    from .semi_join.sources import Named
    from .versions import VersionList


P = ParamSpec("P")
R = TypeVar("R")


def _by_name(method: Callable[P, R]) -> Callable[P, R]:
    """Raise ArgumentError for an argument that the method does not have: its message says those that there are."""
    code = method.__code__
    names = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]

    @wraps(method)
    def called(*arguments: P.args, **named: P.kwargs) -> R:
        if unknown := [name for name in named if name not in names]:
            condition = "name a condition with where=; " if "where" in names else ""
            raise ArgumentError(
                f"{method.__name__} takes arguments by their names; {unknown[0]!r} is none; {condition}there are"
                f" {', '.join(names)}"
            )
        return method(*arguments, **named)

    return called


class TableReader:
    """A table as it is read: which files, which rows, how many, and why."""

    __slots__ = ("_handle", "_queries")

    def __init__(self, handle: Handle) -> None:
        if not isinstance(handle, Handle):
            raise ArgumentError(f"a table is opened by mi.open_table({handle!r}), which makes a Table; call that")
        self._handle = handle
        self._queries = Queries(handle, noted=True)

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
        return self._handle.snapshot(At.asked(version, timestamp))

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
        return self._queries.diff(At.asked(base, base_timestamp), At.asked(target, target_timestamp))

    def versions(self) -> VersionList:
        """Return the versions that can be read, oldest first."""
        from .versions import VersionList

        return VersionList(self._queries.versions())

    def _ask(
        self,
        predicate: object,
        where: object,
        version: VersionLike,
        timestamp: TimestampLike,
        indexes: Iterable[str] | None,
        keys: object = None,
        on: Named | None = None,
    ) -> Asked:
        if predicate is not None and where is not None:
            raise ArgumentError(f"a condition is given once; got {predicate!r} and {where!r}; join them by AND")
        return self._queries.ask(where if predicate is None else predicate, version, timestamp, indexes, keys, on)

    # -- queries -------------------------------------------------------------------------------------------------------

    @_by_name
    def prune(
        self,
        predicate: object = None,
        version: VersionLike = None,
        timestamp: TimestampLike = None,
        *,
        where: object = None,
        keys: object = None,
        on: Named | None = None,
        indexes: Iterable[str] | None = None,
    ) -> PruneResult:
        """Return the files that can hold matching rows at a version (default: now): `table.prune("user = 42").paths`.

        `predicate`: SQL text (Spark's dialect; a timestamp without a zone is in `Config.time_zone`), a `col()`
        expression, a Spark Column, a pyarrow, pyiceberg, Polars or DuckDB expression; None: every row. `where` is its
        name, here and in `scan`, `count` and `explain`. `indexes`: only these may answer. `keys`, `on`: only rows with
        these keys, as in `scan`. What an index cannot prove keeps the file; a stale, damaged or missing index makes the
        answer wider, never wrong.
        """
        return self._queries.noted_prune(self._ask(predicate, where, version, timestamp, indexes, keys, on))

    @_by_name
    def scan(
        self,
        predicate: object = None,
        columns: Sequence[str] | None = None,
        version: VersionLike = None,
        timestamp: TimestampLike = None,
        *,
        where: object = None,
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
        asked = self._ask(predicate, where, version, timestamp, indexes, keys, on)
        return self._queries.scan(asked, columns, order_by, limit)

    @_by_name
    def count(
        self,
        predicate: object = None,
        version: VersionLike = None,
        timestamp: TimestampLike = None,
        *,
        where: object = None,
        indexes: Iterable[str] | None = None,
    ) -> int:
        """Return how many live rows match at a version (default: now), as a number: `table.count("user = 42")`."""
        from .aggregates.of_table import counted_rows

        return counted_rows(self._queries, self._ask(predicate, where, version, timestamp, indexes))

    @_by_name
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
        from .aggregates.of_table import aggregated

        words = {"count": count, "min": min, "max": max, "sum": sum, "group_by": group_by}
        words |= {"count_distinct": count_distinct, "approx_distinct": approx_distinct}
        return aggregated(self._queries, self._ask(None, where, version, timestamp, indexes), words)

    @_by_name
    def explain(
        self,
        predicate: object = None,
        version: VersionLike = None,
        timestamp: TimestampLike = None,
        *,
        where: object = None,
        keys: object = None,
        on: Named | None = None,
        indexes: Iterable[str] | None = None,
    ) -> Explanation:
        """Return how a query would be planned: the predicate as understood, what each index covers of the version, what
        it answers, what is kept and why. `keys` and `on` as in `scan`. Example: `print(table.explain("user = 42"))`."""
        return self._queries.explain(self._ask(predicate, where, version, timestamp, indexes, keys, on))

    @_by_name
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
        from .lookups.locate import locate

        asked = self._ask(predicate, None, version, timestamp, indexes)
        return locate(self._queries, asked, all_versions=all_versions, exact=exact)

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
        from .lookups.touched import touched

        return touched(self._queries, self._ask(None, None, version, timestamp, indexes, source, on), exact=exact)

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
        from .lookups.search import search

        return search(self._queries, text, self._ask(None, None, version, timestamp, indexes), exact=exact)

    def statistics(self, index: str, column: str, partition: str | None = None) -> pa.Table:
        """Return the statistics that an index holds of a column, file by file: path, state, bounds, counts of values,
        NULLs and NaNs, sizes, trust. Example: `table.statistics("find", "amount")`."""
        from .lookups.statistics import statistics_of

        if not isinstance(partition, str | None):
            raise ArgumentError(f"a partition is named by its text, as in 'day=2026-01-01'; got {partition!r}; name it")
        return statistics_of(self._handle.open_index(index), column, partition)

    # -- its queries ---------------------------------------------------------------------------------------------------

    def query_log(self, since: dt.timedelta | None = None) -> pa.Table:
        """Return the queries that were noted beside the indexes (`Config.query_log`), oldest first, a row each;
        `since`: how far back. Unknown values are NULL; `indexes` are those that skipped files, or were read in the
        table's place. At most a million rows, the newest; a damaged or oversized file of the log is left out with a
        warning that names it."""
        return self._handle.made(TableQueryLog).read(since).rows

    def clean_query_log(self) -> QueriesCleaned:
        """Remove what of the query log is older or larger than `Config.query_log` allows (default: 90 days, 64 MB), and
        merge the many small files of a day. `clean_index` does it, too."""
        return self._handle.made(TableQueryLog).clean()
