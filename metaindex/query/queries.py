"""Queries: which files, which rows, and why."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from metaindex.core import ArgumentError, MetaIndexError, Vector
from metaindex.expressions import And, Constant, Predicate
from metaindex.formats import At, OfSchema, Schema, Snapshot, Version
from metaindex.query.noting import TableQueryLog

from .arguments import OrderLike, TimestampLike, VersionLike, names_of
from .handle import Handle
from .pruning.planner import PlannedAnswer, Planner
from .pruning.result import PruneResult

if TYPE_CHECKING:
    import numpy.typing as npt

    from metaindex.formats import Diff, HeldFooters
    from metaindex.index import Verification

    from .explanation import Credit, Explanation
    from .readers.plan import Choose
    from .readers.scan import Scan
    from .semi_join.keys import JoinKeys
    from .semi_join.sources import Named


class Queries:
    """The queries of one table. Footers of data files, and answers, are cached for the next query."""

    def __init__(self, handle: Handle, *, noted: bool = False) -> None:
        """`noted`: for the query log, where the table has one, and for who watches the process."""
        self.handle = handle
        self._log = handle.made(TableQueryLog) if noted else None
        self._planner = Planner(handle)

    def versions(self) -> Sequence[Version]:
        """Implement `Table.versions`."""
        return self.handle.table_format.versions(self.handle.ref)

    def diff(self, base: At, target: At) -> Diff:
        """Implement `Table.diff`."""
        handle = self.handle
        before = handle.snapshot(base)
        diff = handle.table_format.diff(handle.ref, before, target)
        from metaindex.formats import Diff

        return Diff.between(before, handle.snapshot(target)) if diff is None else diff

    def prune(
        self,
        predicate: object,
        version: VersionLike = None,
        timestamp: TimestampLike = None,
        *,
        indexes: Iterable[str] | None = None,
        keys: object = None,
        on: Named | None = None,
    ) -> PruneResult:
        """Implement `Table.prune`, without noting the query."""
        at, only = At.asked(version, timestamp), names_of(indexes, "indexes")
        asked = self._keys(keys, on)
        if asked is None:
            return self._planner.planned(predicate, at, only).result
        planned = self._planner.planned(self._with_keys(predicate, asked), at, only)
        bound = asked.bound(planned.result.schema, planned.result.version)
        return planned.result.of_keys(str(bound), exact=bound.condition.exact)

    def noted_prune(
        self,
        predicate: object,
        version: VersionLike = None,
        timestamp: TimestampLike = None,
        *,
        indexes: Iterable[str] | None = None,
        keys: object = None,
        on: Named | None = None,
    ) -> PruneResult:
        """Prune, and note the query. None: every row."""
        result = self.prune(_or_all(predicate, keys), version, timestamp, indexes=indexes, keys=keys, on=on)
        if self._log is not None:
            self._log.prune(result)
        return result

    def proved(self, predicate: object, version: VersionLike, indexes: Iterable[str] | None) -> PruneResult | None:
        """Delegate to `Planner.proved`."""
        return self._planner.proved(predicate, version, indexes)

    def knows(self, predicate: object, indexes: Iterable[str] | None) -> bool:
        """Delegate to `Planner.knows`."""
        return self._planner.knows(predicate, indexes)

    def scan(
        self,
        predicate: object = None,
        columns: Sequence[str] | None = None,
        version: VersionLike = None,
        timestamp: TimestampLike = None,
        *,
        order_by: Sequence[OrderLike] | str | None = None,
        limit: int | None = None,
        indexes: Iterable[str] | None = None,
        keys: object = None,
        on: Named | None = None,
    ) -> Scan:
        """Implement `Table.scan`."""
        asked = self._keys(keys, on)
        if order_by is not None:
            from .aggregates.order_by import first_in_order

            only = names_of(indexes, "indexes")
            every = _with_its_columns(self.over_files(predicate, columns, version, timestamp, only, asked))
            return first_in_order(every, limit, order_by, self.handle.open_indexes(only)[0])
        made = _with_its_columns(self.of_keys(predicate, columns, version, indexes, asked, timestamp))
        if limit is None:
            return made
        from .aggregates.order_by import first_rows

        return first_rows(made, limit)

    def of_keys(
        self,
        predicate: object,
        columns: Sequence[str] | None,
        version: VersionLike,
        indexes: Iterable[str] | None,
        keys: JoinKeys | None,
        timestamp: TimestampLike = None,
    ) -> Scan:
        """The scan of rows that have keys; of all that match, without them."""
        from .readers.named import snapshot_of_kept

        at = At.asked(version, timestamp)
        only = names_of(indexes, "indexes")
        wanted = names_of(columns, "columns")
        names = None if wanted is None else tuple(wanted)
        if predicate is None and keys is None:
            whole = self.handle.snapshot(at)
            return self._scanned(whole, None, None, None, names, self._chooser(whole, whole, only))
        where = None if predicate is None else _of_rows(predicate)
        asked = where if keys is None else self._with_keys(where, keys)
        planned = self._planner.planned(asked, at, only)
        result, snapshot = planned.result, planned.snapshot
        text = where if isinstance(where, str) else None
        if snapshot is None:
            kept = snapshot_of_kept(result, planned.indexes, self.handle.table_format, self.handle.ref)
            if kept is not None:
                made = self._keyed(
                    self._scanned(kept, None, result, text, names, self._chooser(kept, None, only)), where, keys
                )
                load = partial(self.handle.snapshot, At.of(result.version))
                made = replace(made, load=load, anew=_Anew(self, planned, predicate, columns, only, keys))
                return made.trying(_with_its_columns)
            snapshot = self.handle.snapshot(at)
            if snapshot.version != result.version:  # a commit came between
                tree = self._planner.predicate(asked, snapshot.schema)
                result = self._planner.over(tree, snapshot, only)
        choose = self._chooser(snapshot, snapshot, only)
        made = self._scanned(snapshot, _places(snapshot, result), result, text, names, choose)
        return self._keyed(made, where, keys)

    def over_files(
        self,
        predicate: object,
        columns: Sequence[str] | None,
        version: VersionLike,
        timestamp: TimestampLike,
        indexes: Iterable[str] | None,
        keys: JoinKeys | None = None,
    ) -> Scan:
        """Scan the table's own list of files, for which each index answers by their full identity: for answers that the
        rows do not show."""
        snapshot = self.handle.snapshot(At.asked(version, timestamp))
        only = names_of(indexes, "indexes")
        wanted = names_of(columns, "columns")
        names = None if wanted is None else tuple(wanted)
        choose = self._chooser(snapshot, snapshot, only)
        if predicate is None and keys is None:
            return self._scanned(snapshot, None, None, None, names, choose)
        where = None if predicate is None else _of_rows(predicate)
        tree = self._planner.predicate(where if keys is None else self._with_keys(where, keys), snapshot.schema)
        result = self._planner.over_files(tree, snapshot, only)
        text = where if isinstance(where, str) else None
        made = self._scanned(snapshot, _places(snapshot, result), result, text, names, choose)
        return self._keyed(made, where, keys)

    def _keys(self, keys: object, on: Named | None) -> JoinKeys | None:
        """The keys of another table, where some were given."""
        if keys is None:
            if on is None:
                return None
            raise ArgumentError("on= names the columns of keys; no keys= were given; give the table that holds them")
        from .semi_join.keys import JoinKeys

        return JoinKeys.of(keys, on, self.handle.config.time_zone)

    def _with_keys(self, where: object, keys: JoinKeys) -> OfSchema:
        """A condition, and what keys say of files."""

        def make(schema: Schema) -> Predicate:
            said = keys.bound(schema, "asked").condition.predicate
            return said if where is None else And((self._planner.predicate(where, schema), said))

        return OfSchema(make)

    def _keyed(self, scan: Scan, where: object, keys: JoinKeys | None) -> Scan:
        """The scan whose files were chosen by both, of the rows that have the keys."""
        if keys is None:
            return scan
        schema = scan.snapshot.schema
        bound = keys.bound(schema, scan.snapshot.version)
        predicate = None if where is None else self._planner.predicate(where, schema)
        hint = self._planner.predicate(bound.condition.predicate, schema)
        return replace(scan, predicate=predicate, hint=hint, keys=bound.rows, keys_told=str(bound))

    def explain(
        self,
        predicate: object,
        version: VersionLike = None,
        timestamp: TimestampLike = None,
        *,
        indexes: Iterable[str] | None = None,
        keys: object = None,
        on: Named | None = None,
    ) -> Explanation:
        """Implement `Table.explain`."""
        from .explanation import Explanation, coverage

        only = names_of(indexes, "indexes")
        result = self.prune(_or_all(predicate, keys), version, timestamp, indexes=only, keys=keys, on=on)
        then = At.of(result.version)
        opened, _ = self.handle.open_indexes(only)
        told = tuple(coverage(index, result, lambda: self.handle.snapshot(then)) for index in opened)
        return Explanation(result, told, self.credit(result))

    def credit(self, result: PruneResult) -> Credit | None:
        """Return the gain of each index, by `credited`."""
        from .explanation import credited

        then = At.of(result.version)
        return credited(result, lambda names: self._planner.planned(result.predicate, then, names).result)

    def _scanned(
        self,
        files: Snapshot,
        rows: npt.NDArray[np.int64] | None,
        result: PruneResult | None,
        text: str | None,
        columns: tuple[str, ...] | None,
        choose: Choose,
    ) -> Scan:
        from .readers.scan import Scan

        return Scan(
            files,
            self.handle.ref.storage,
            self.handle.ref,
            rows,
            None if result is None else result.predicate,
            text,
            columns,
            result,
            self.handle.config.time_zone,
            choose=choose,
            footers=self._footers,
            noted=None if self._log is None else self._log.scan,
        )

    def check_dropped(self, predicate: object, index: str, report: Verification) -> None:
        """Read the files that an index proves out for a predicate, for a verification: no row in them may match."""
        scan = self.scan(predicate, indexes=[index]).whole()
        paths = scan.snapshot.files.paths
        dropped = np.setdiff1d(np.arange(len(paths)), scan.file_rows)
        report.files += len(dropped)
        report.compared.update(paths[int(row)].as_py() for row in dropped)
        if _row_count(replace(scan, rows=dropped)):
            for row in dropped:
                if count := _row_count(replace(scan, rows=np.array([row]))):
                    report.matched(paths[int(row)].as_py(), predicate, count)

    def suspected(self, planned: PlannedAnswer) -> bool:
        """Return whether an index contradicts the table about the answered version. Called when what it recorded
        failed."""
        try:
            snapshot = self.handle.snapshot(At.of(planned.result.version))
        except MetaIndexError:
            return False  # the table does not answer either
        return self.handle.suspects.find(planned.indexes, snapshot, planned.result.files)

    @cached_property
    def _footers(self) -> HeldFooters:
        """Cache of the footers that scans of this handle read."""
        from metaindex.formats import HeldFooters

        return HeldFooters(self.handle.config.cache_bytes // 4)

    def _chooser(self, files: Snapshot, whole: Snapshot | None, only: Iterable[str] | None) -> Choose:
        return partial(self.choose, files, whole, only)

    def choose(
        self, files: Snapshot, whole: Snapshot | None, only: Iterable[str] | None, tree: Predicate
    ) -> tuple[npt.NDArray[np.int64], PruneResult]:
        """Prune again, for another predicate, and return the rows of `files` that are kept. `whole`: the table's own
        snapshot, if it is loaded."""
        if whole is not None:
            result = self._planner.over(tree, whole, only)
        else:
            result = self._planner.planned(tree, At.of(files.version), only).result
        return _places(files, result), result

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle without the query log: the copy in another process does not note its queries."""
        return Queries, (self.handle,)


class _Anew:
    """The question of a scan that an index answered without the table's log, asked of the table itself."""

    def __init__(
        self,
        queries: Queries,
        planned: PlannedAnswer,
        predicate: object,
        columns: Sequence[str] | None,
        only: Iterable[str] | None,
        keys: JoinKeys | None,
    ) -> None:
        self._queries, self._planned, self._predicate = queries, planned, predicate
        self._columns, self._only, self._keys = columns, only, keys

    def __call__(self) -> Scan | None:
        if not self._queries.suspected(self._planned):
            return None
        version = self._planned.result.version
        return self._queries.of_keys(self._predicate, self._columns, version, self._only, self._keys)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle without open indexes: another process asks the table without any, which is always right."""
        result = self._planned.result
        columns = None if self._columns is None else list(self._columns)
        return partial, (_by_table, self._queries, result.predicate, columns, result.version, self._keys)


def _row_count(scan: Scan) -> int:
    from .readers.recorded_scan import batches

    return sum(batch.num_rows for batch in batches(scan))


def _or_all(predicate: object, keys: object) -> object:
    return Constant(True) if predicate is None and keys is None else predicate


def _by_table(
    queries: Queries, predicate: Predicate, columns: Sequence[str] | None, version: Version, keys: JoinKeys | None
) -> Scan:
    return queries.of_keys(predicate, columns, version, (), keys)


def _with_its_columns(scan: Scan) -> Scan:
    if scan.columns is not None:
        _ = scan.fields  # raises for one that is not there: now, and not where the scan is read
    return scan


def _of_rows(condition: object) -> object:
    """A condition that chooses rows: an expression of pyiceberg means what pyiceberg's own filter of rows makes of it.
    Where it chooses files, it is read so that no reader of Iceberg misses a row."""
    condition = OfSchema.at_moment(condition)
    if not any(kind.__module__.startswith("pyiceberg.") for kind in type(condition).__mro__):
        return condition
    from metaindex.expressions import to_predicate

    return OfSchema(lambda schema: to_predicate(condition, schema.asked(), of_rows=True))


def _places(snapshot: Snapshot, result: PruneResult) -> npt.NDArray[np.int64]:
    """The rows of the snapshot's files that an answer keeps."""
    import pyarrow.compute as pc  # a scan loads engines anyway

    kept = pc.is_in(snapshot.files.paths, value_set=result.files.paths.combine_chunks())
    return np.flatnonzero(Vector(kept).truths(null=False))
