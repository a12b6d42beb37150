"""Queries: which files, which rows, and why."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from metaindex.core import ArgumentError, MetaIndexError, StorageError, Vector, dataclass
from metaindex.expressions import And, Constant, Predicate
from metaindex.formats import At, OfSchema, Schema, Snapshot, Version
from metaindex.query.noting import TableQueryLog
from metaindex.storage import each_at, is_remote

from .arguments import OrderLike, TimestampLike, VersionLike, names_of
from .handle import Handle
from .pruning.planner import PlannedAnswer, Planner
from .pruning.result import PruneResult

if TYPE_CHECKING:
    import numpy.typing as npt

    from metaindex.formats import Diff, HeldFooters
    from metaindex.index import Verification

    from .explanation import Credit, Explanation
    from .readers.read_budget import ReadBudget
    from .readers.scan import Scan
    from .semi_join.keys import JoinKeys
    from .semi_join.sources import Named


_MOST_FOOTERS = 32  # that are read to tell row groups apart
_FOOTER_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Asked:
    """Question of a query: the rows for which the predicate is true (None: all) and that have one of the keys, at a
    version. `only`: names of the indexes that may answer; None: all."""

    predicate: object
    at: At
    only: Sequence[str] | None
    keys: JoinKeys | None = None

    @property
    def every_row(self) -> bool:
        return self.predicate is None and self.keys is None


class Queries:
    """The queries of one table. Footers of data files, and answers, are cached for the next query."""

    def __init__(self, handle: Handle, *, noted: bool = False) -> None:
        """`noted`: for the query log, where the table has one, and for who watches the process."""
        self.handle = handle
        self._log = handle.made(TableQueryLog) if noted else None
        self._planner = Planner(handle)

    def ask(
        self,
        predicate: object,
        version: VersionLike = None,
        timestamp: TimestampLike = None,
        indexes: Iterable[str] | None = None,
        keys: object = None,
        on: Named | None = None,
    ) -> Asked:
        """Return what is asked by the arguments of a verb. Raises ArgumentError, VersionNotFoundError, and what
        `JoinKeys.of` raises."""
        asked = Asked(predicate, At.asked(version, timestamp), names_of(indexes, "indexes"))
        if keys is None:
            if on is None:
                return asked
            raise ArgumentError("on= names the columns of keys; no keys= were given; give the table that holds them")
        from .semi_join.keys import JoinKeys

        return replace(asked, keys=JoinKeys.of(keys, on, self.handle.config.time_zone))

    @property
    def budget(self) -> ReadBudget:
        """Return what a query may read."""
        from .readers.read_budget import ReadBudget

        return ReadBudget(self.handle.config.most_read_bytes)

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

    def prune(self, asked: Asked) -> PruneResult:
        """Return the files that can hold matching rows, without noting the query."""
        result = self._planner.planned(self._of_files(asked), asked.at, asked.only).result
        if asked.keys is None:
            return result
        bound = asked.keys.bound(result.schema, result.version)
        return result.of_keys(str(bound), exact=bound.condition.exact)

    def noted_prune(self, asked: Asked) -> PruneResult:
        """Implement `Table.prune`, and note the query."""
        result = self.prune(_told(asked))
        if self._log is not None:
            self._log.prune(result)
        return result

    def proved(self, predicate: object, version: VersionLike, indexes: Iterable[str] | None) -> PruneResult | None:
        """Delegate to `Planner.proved`."""
        return self._planner.proved(predicate, version, indexes)

    def knows(self, predicate: object, indexes: Iterable[str] | None) -> bool:
        """Delegate to `Planner.knows`."""
        return self._planner.knows(predicate, indexes)

    def row_group_spans(self, result: PruneResult) -> Sequence[tuple[int, list[tuple[int, int]]]]:
        """Return, for kept files (by their places) of which keys leave out row groups, the bytes of each that is left,
        for who reads parts of files. None of small files, nor of any where many are kept, as each footer is
        read; nor of those that are left when that takes long; nor of plain files: nobody of ours is there when a task
        opens one, and of a file that was replaced before that it would read the places of another."""
        from .readers.row_groups import MOST_VALUES, SMALL_BYTES, spans_left, values_in

        storage, files = self.handle.ref.storage, result.files.table
        sizes = Vector(files.column("size_bytes")).items(np.int64)
        large = np.flatnonzero(sizes > SMALL_BYTES).tolist()
        told = result.knows_row_groups and values_in(result.predicate) <= MOST_VALUES
        if not told or len(large) > _MOST_FOOTERS or not self.handle.table_format.has_log:
            return []

        until = time.monotonic() + _FOOTER_SECONDS

        def left(row: int) -> list[tuple[int, int]] | None:
            if time.monotonic() > until:
                return None
            path = files.column("path")[row].as_py()
            try:
                with storage.open_input(path) as source:
                    now = getattr(source, "info", None) or storage.head(path)  # a store has said what it opened
                    if now.size_bytes != sizes[row]:
                        return None
                    return spans_left(result, self._footers, source, path, None if is_remote(storage.root) else now)
            except StorageError:
                return None  # its reader says so

        return [(row, spans) for row, spans in zip(large, each_at(storage.root, large, left), strict=True) if spans]

    def scan(
        self,
        asked: Asked,
        columns: Sequence[str] | None = None,
        order_by: Sequence[OrderLike] | str | None = None,
        limit: int | None = None,
    ) -> Scan:
        """Implement `Table.scan`."""
        columns = names_of(columns, "columns")
        if order_by is not None:
            from .aggregates.order_by import first_in_order

            every = _with_its_columns(self.over_files(asked, columns))
            return first_in_order(every, limit, order_by, self.handle.open_indexes(asked.only)[0])
        made = _with_its_columns(self.rows(asked, columns))
        if limit is None:
            return made
        from .aggregates.order_by import first_rows

        return first_rows(made, limit)

    def rows(self, asked: Asked, columns: Sequence[str] | None = None) -> Scan:
        """Scan the files that an index lists, or the table."""
        from .readers.named import snapshot_of_kept

        if asked.every_row:
            return self.over_files(asked, columns)
        of_rows = _of_rows(asked)
        planned = self._planner.planned(self._of_files(of_rows), asked.at, asked.only)
        result, snapshot = planned.result, planned.snapshot
        if snapshot is None:
            kept = snapshot_of_kept(result, planned.indexes, self.handle.table_format, self.handle.ref)
            if kept is not None:
                made = self._scanned(of_rows, columns, kept, result, whole=False)
                load = partial(self.handle.snapshot, At.of(result.version))
                made = replace(made, load=load, anew=_Anew(self, planned, asked, columns))
                return made.trying(_with_its_columns)
            snapshot = self.handle.snapshot(asked.at)
            if snapshot.version != result.version:  # a commit came between
                tree = self._planner.predicate(self._of_files(of_rows), snapshot.schema)
                result = self._planner.over(tree, snapshot, asked.only)
        return self._scanned(of_rows, columns, snapshot, result)

    def over_files(self, asked: Asked, columns: Sequence[str] | None = None) -> Scan:
        """Scan the table's own list of files, for which each index answers by their full identity: for answers that the
        rows do not show."""
        asked, snapshot, result = _of_rows(asked), self.handle.snapshot(asked.at), None
        if not asked.every_row:
            tree = self._planner.predicate(self._of_files(asked), snapshot.schema)
            result = self._planner.over_files(tree, snapshot, asked.only)
        return self._scanned(asked, columns, snapshot, result)

    def _of_files(self, asked: Asked) -> object:
        """The condition, and what keys say of files."""
        where, keys = asked.predicate, asked.keys
        if keys is None:
            return where

        def make(schema: Schema) -> Predicate:
            said = keys.bound(schema, "asked").condition.predicate
            return said if where is None else And((self._planner.predicate(where, schema), said))

        return OfSchema(make)

    def explain(self, asked: Asked) -> Explanation:
        """Implement `Table.explain`."""
        from .explanation import Explanation, coverage

        result = self.prune(_told(asked))
        then = At.of(result.version)
        opened, _ = self.handle.open_indexes(asked.only)
        told = tuple(coverage(index, result, lambda: self.handle.snapshot(then)) for index in opened)
        return Explanation(result, told, self.credit(result))

    def credit(self, result: PruneResult) -> Credit | None:
        """Return the gain of each index, by `credited`."""
        from .explanation import credited

        then = At.of(result.version)
        return credited(result, lambda names: self._planner.planned(result.predicate, then, names).result)

    def _scanned(
        self,
        asked: Asked,
        columns: Sequence[str] | None,
        files: Snapshot,
        result: PruneResult | None,
        *,
        whole: bool = True,
    ) -> Scan:
        """The scan of the files that an answer keeps. `whole`: the files are the table's own snapshot."""
        from .readers.scan import Scan

        where, keys = asked.predicate, asked.keys
        made = Scan(
            files,
            self.handle.ref.storage,
            self.handle.ref,
            _places(files, result) if whole and result is not None else None,
            None if result is None else result.predicate,
            where if isinstance(where, str) else None,
            None if columns is None else tuple(columns),
            result,
            self.handle.config.time_zone,
            choose=partial(self.choose, files, files if whole else None, asked.only),
            footers=self._footers,
            noted=None if self._log is None else self._log.scan,
            budget=self.budget,
        )
        if keys is None:
            return made
        bound = keys.bound(files.schema, files.version)  # the files were chosen by both
        predicate = None if where is None else self._planner.predicate(where, files.schema)
        hint = self._planner.predicate(bound.condition.predicate, files.schema)
        return replace(made, predicate=predicate, hint=hint, keys=bound.rows, keys_told=str(bound))

    def check_dropped(self, predicate: object, index: str, report: Verification) -> None:
        """Read the files that an index proves out for a predicate, for a verification: no row in them may match."""
        scan = self.scan(self.ask(predicate, indexes=[index])).whole()
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


@dataclass(frozen=True, slots=True)
class _Anew:
    """The question of a scan that an index answered without the table's log, asked of the table itself."""

    queries: Queries
    planned: PlannedAnswer
    asked: Asked
    columns: Sequence[str] | None

    def __call__(self) -> Scan | None:
        if not self.queries.suspected(self.planned):
            return None
        return self.queries.rows(replace(self.asked, at=At.of(self.planned.result.version)), self.columns)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle without open indexes: another process asks the table without any, which is always right."""
        result = self.planned.result
        asked = replace(self.asked, predicate=result.predicate, at=At.of(result.version), only=())
        return partial, (Queries.rows, self.queries, asked, self.columns)


def _row_count(scan: Scan) -> int:
    from .readers.recorded_scan import batches

    return sum(batch.num_rows for batch in batches(scan))


def _told(asked: Asked) -> Asked:
    """The question whose predicate says that it is for every row."""
    return replace(asked, predicate=Constant(True)) if asked.every_row else asked


def _with_its_columns(scan: Scan) -> Scan:
    if scan.columns is not None:
        _ = scan.fields  # raises for one that is not there: now, and not where the scan is read
    return scan


def _of_rows(asked: Asked) -> Asked:
    """The question, with a condition that chooses rows: an expression of pyiceberg means what pyiceberg's own filter of
    rows makes of it. Where it chooses files, it is read so that no reader of Iceberg misses a row."""
    condition = OfSchema.at_moment(asked.predicate)
    if any(kind.__module__.startswith("pyiceberg.") for kind in type(condition).__mro__):
        from metaindex.expressions import to_predicate

        return replace(asked, predicate=OfSchema(lambda schema: to_predicate(condition, schema.asked(), of_rows=True)))
    return replace(asked, predicate=condition)


def _places(snapshot: Snapshot, result: PruneResult) -> npt.NDArray[np.int64]:
    """The rows of the snapshot's files that an answer keeps."""
    import pyarrow.compute as pc  # a scan loads engines anyway

    kept = pc.is_in(snapshot.files.paths, value_set=result.files.paths.combine_chunks())
    return np.flatnonzero(Vector(kept).truths(null=False))
