"""Queries, as methods of a table: which files, which rows, and why."""

from __future__ import annotations

import contextlib
import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from expressions.errors import MetaIndexError
from expressions.records import dataclass
from expressions.tree import Predicate
from expressions.vectors import one_array, truths
from formats.model import FileTable, Schema, Snapshot, Version
from formats.protocol import At, Resolved, TableFormat, TableRef

from .asked import OfSchema, TimestampLike, VersionLike, at_version, names_of
from .collector import held_back
from .config import Config
from .pruning.open_index import OpenIndex
from .pruning.pruner import Pruner
from .pruning.question import Question, SnapshotHelps, SnapshotNeeded, bound
from .pruning.remembered import Circumstances, Remembered
from .pruning.result import IndexReport, PruneResult
from .suspects import Suspects

if TYPE_CHECKING:
    import numpy.typing as npt

    from .explanation import Explanation
    from .readers.footer import HeldFooters
    from .readers.scan import Choose, Scan

logger = logging.getLogger("metaindex")
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class _Planned:
    """An answer, the snapshot that it was given with (None: the indexes alone), and the indexes that were asked."""

    result: PruneResult
    snapshot: Snapshot | None
    indexes: Sequence[OpenIndex]


class Queries(ABC):
    """The reading half of `Table`."""

    _format: TableFormat
    _ref: TableRef
    config: Config
    _held_footers: HeldFooters | None
    _answers_held: Remembered | None
    _suspects: Suspects

    @property
    @abstractmethod
    def format(self) -> str: ...

    @abstractmethod
    def _open_indexes(self, only: Iterable[str] | None) -> tuple[list[OpenIndex], list[IndexReport]]: ...

    @abstractmethod
    def _resolved(self, at: At, found: Sequence[OpenIndex] = ()) -> Resolved: ...

    @abstractmethod
    def _trusted(self, at: At, found: Sequence[OpenIndex]) -> At: ...

    @abstractmethod
    def _loaded(self, resolved: Resolved) -> Snapshot: ...

    @abstractmethod
    def _confined(self, files: FileTable) -> None:
        """OutsideTableError where a file lies where those of the table may not: an index, too, may say so."""

    @abstractmethod
    def _snapshot(self, at: At) -> Snapshot: ...

    @abstractmethod
    def _root(self, snapshot: Snapshot | None) -> str: ...

    def prune(
        self,
        predicate: object,
        version: VersionLike = None,
        timestamp: TimestampLike = None,
        *,
        indexes: Iterable[str] | None = None,
    ) -> PruneResult:
        """Which files can hold rows that match, at a version of the table (default: now)?

        `predicate`: SQL text (Spark's dialect; a timestamp without a zone is in `Config.time_zone`), a `col()`
        expression, a Spark Column, a pyarrow, pyiceberg or Polars expression. `indexes` restricts the candidates. What
        an index cannot prove keeps the file; an index that is stale, damaged or missing makes the answer wider, never
        wrong.
        """
        return self._planned(predicate, at_version(version, timestamp), names_of(indexes, "indexes")).result

    def scan(
        self,
        predicate: object = None,
        columns: Sequence[str] | None = None,
        version: VersionLike = None,
        timestamp: TimestampLike = None,
        *,
        indexes: Iterable[str] | None = None,
    ) -> Scan:
        """The rows that match, read from the kept files only, with deletes applied and the predicate applied again.

        Gives `.to_arrow()`, `.to_batches()`, `.to_dataset()`, `.to_duckdb(con)`, `.to_polars()`, `.to_deltalake()`,
        `.to_pyiceberg()`, `.to_spark(spark)`.
        """
        from .readers.named import snapshot_of_kept
        from .readers.scan import Scan

        at = at_version(version, timestamp)
        only = names_of(indexes, "indexes")
        wanted = names_of(columns, "columns")
        names = None if wanted is None else tuple(wanted)
        storage, ref, zone = self._ref.storage, self._ref, self.config.time_zone
        if predicate is None:
            whole = self._snapshot(at)
            choose = self._chooser(whole, whole, only)
            return Scan(whole, storage, ref, columns=names, time_zone=zone, choose=choose, footers=self._footers)
        predicate = _of_rows(predicate)
        planned = self._planned(predicate, at, only)
        result = planned.result
        text = predicate if isinstance(predicate, str) else None
        kept = None
        if planned.snapshot is None:
            kept = snapshot_of_kept(result, planned.indexes, self._format, ref)
        if kept is not None:
            then, found = At.of(result.version), planned.indexes

            def anew() -> Scan | None:
                if not self._suspected(found, result):
                    return None
                return self.scan(predicate, columns, result.version, indexes=only)

            made = Scan(
                kept,
                storage,
                ref,
                None,
                result.predicate,
                text,
                names,
                result,
                zone,
                choose=self._chooser(kept, None, only),
                load=lambda: self._snapshot(then),
                footers=self._footers,
                anew=anew,
            )
            return made.trying(_with_its_columns)
        snapshot = planned.snapshot
        if snapshot is None:
            snapshot = self._snapshot(at)
            if snapshot.version != result.version:  # a commit came between
                result = self._answer(self._predicate(predicate, snapshot.schema), snapshot, only)
        choose = self._chooser(snapshot, snapshot, only)
        rows = _places(snapshot, result)
        return Scan(
            snapshot,
            storage,
            ref,
            rows,
            result.predicate,
            text,
            names,
            result,
            zone,
            choose=choose,
            footers=self._footers,
        )

    def explain(
        self,
        predicate: object,
        version: VersionLike = None,
        timestamp: TimestampLike = None,
        *,
        indexes: Iterable[str] | None = None,
    ) -> Explanation:
        """How a query would be planned: the predicate as understood, what each index covers of the version asked, what
        it answers, what is kept and why. `print` it."""
        from .explanation import Explanation, coverage

        only = names_of(indexes, "indexes")
        result = self.prune(predicate, version, timestamp, indexes=only)
        then = At.of(result.version)
        told = tuple(coverage(index, result, lambda: self._snapshot(then)) for index in self._open_indexes(only)[0])
        return Explanation(result, told)

    def _suspected(self, found: Sequence[OpenIndex], result: PruneResult) -> bool:
        """Did an index record something else of the version that was answered than the table has? Asked when what it
        recorded failed."""
        try:
            snapshot = self._snapshot(At.of(result.version))
        except MetaIndexError:
            return False  # the table does not answer either
        return self._suspects.find(found, snapshot, result.files)

    @property
    def _footers(self) -> HeldFooters:
        """Of data files that scans of this handle read."""
        if self._held_footers is None:
            from .readers.footer import HeldFooters

            self._held_footers = HeldFooters(self.config.cache_bytes // 4)
        return self._held_footers

    @held_back
    def _planned(self, predicate: object, at: At, indexes: Iterable[str] | None) -> _Planned:
        started = time.perf_counter()
        found, refused = self._open_indexes(indexes)
        resolved = self._resolved(self._trusted(at, found), found)
        pruner = Pruner(found, refused)
        questions: list[Question] = []

        def answer(snapshot: Snapshot | None, *, alone: bool = False) -> _Planned:
            asked = self._circumstances(predicate, resolved, found, refused, snapshot, alone=alone)

            def work() -> PruneResult:
                questions[:] = [self._question(predicate, found, resolved, snapshot, questions)]
                return pruner.prune(questions[0], snapshot, alone=alone)

            result = self._remembered_or(asked, work, pruner)
            self._confined(result.files)
            return _Planned(result.timed(time.perf_counter() - started), snapshot, found)

        try:
            return self._first(answer, resolved, pruner)
        except SnapshotHelps:
            try:
                return answer(self._loaded(resolved))
            except MetaIndexError as error:
                logger.warning("the table's own statistics are not used for this query, which reads more: %s", error)
                # Where no index can answer either, the table's error is the one to tell.
                with contextlib.suppress(SnapshotNeeded):
                    return answer(None, alone=True)
                raise
        except SnapshotNeeded:
            return answer(self._loaded(resolved))

    @held_back
    def _proved(self, predicate: object, version: VersionLike, indexes: Iterable[str] | None) -> PruneResult | None:
        """`prune` by the indexes alone where they have recorded the version: for an engine that asks the table's own
        partitions and statistics by itself. None where no index knows a column that is asked."""
        found, refused = self._open_indexes(indexes)
        if not found:
            return None
        at = at_version(version, None)
        resolved = self._resolved(self._trusted(at, found), found)
        pruner = Pruner(found, refused)
        if not pruner.recorded(resolved.version) and not self._known_lately(predicate, found):
            return None  # nor is the table loaded

        def answer(snapshot: Snapshot | None) -> PruneResult | None:
            asked = self._circumstances(predicate, resolved, found, refused, snapshot, alone=True)
            if asked is not None and isinstance(before := self._remembered.find(asked), PruneResult):
                self._confined(before.files)
                return before
            question = self._question(predicate, found, resolved, snapshot)
            if not question.known_to(found):
                return None
            result = pruner.prune(question, snapshot, alone=True)
            if asked is not None and pruner.whole:
                self._remembered.keep(asked, result)
            self._confined(result.files)
            return result

        try:
            return self._first(answer, resolved, pruner)
        except SnapshotNeeded:
            return answer(self._loaded(resolved))

    def _first(self, answer: Callable[[Snapshot | None], _T], resolved: Resolved, pruner: Pruner) -> _T:
        """The answer by what the indexes recorded of the version, where one did. Where that raises (a column that they
        do not know, a schema that is none) the table itself is asked: its word is the last."""
        if not pruner.recorded(resolved.version):
            return answer(self._loaded(resolved))
        try:
            return answer(None)
        except (SnapshotHelps, SnapshotNeeded):
            raise
        except Exception as error:  # noqa: BLE001 - raised again where the table cannot answer
            try:
                snapshot = self._loaded(resolved)
            except MetaIndexError:
                raise error from None
            self._suspects.find(pruner.indexes, snapshot)
            return answer(snapshot)

    def _circumstances(
        self,
        predicate: object,
        resolved: Resolved,
        found: Sequence[OpenIndex],
        refused: Sequence[IndexReport],
        snapshot: Snapshot | None,
        *,
        alone: bool,
    ) -> Circumstances | None:
        """What an answer follows from; None where the predicate is of an engine, whose equality nobody knows. Of plain
        files that the caller vouches for too: the version names their listing."""
        if isinstance(predicate, OfSchema):
            told = predicate.told
        else:
            told = predicate if isinstance(predicate, str | Predicate) else None
        if told is None:
            return None
        version = resolved.version if snapshot is None else snapshot.version
        return Circumstances.of((type(predicate), told), version, found, refused, snapshot, alone=alone)

    def _remembered_or(
        self, asked: Circumstances | None, work: Callable[[], PruneResult], pruner: Pruner
    ) -> PruneResult:
        """The answer of before, or a new one. An answer that could be had with the snapshot alone is remembered as
        such."""
        before = self._remembered.find(asked) if asked is not None else None
        if isinstance(before, PruneResult):
            return before
        if before is not None:
            raise SnapshotHelps
        try:
            outcome: PruneResult | type[SnapshotHelps] = work()
        except SnapshotHelps:
            outcome = SnapshotHelps
        if asked is not None and pruner.whole:
            self._remembered.keep(asked, outcome)
        if isinstance(outcome, PruneResult):
            return outcome
        raise SnapshotHelps

    @property
    def _remembered(self) -> Remembered:
        if self._answers_held is None:
            self._answers_held = Remembered(self.config.cache_bytes // 8)
        return self._answers_held

    def _known_lately(self, predicate: object, found: Sequence[OpenIndex]) -> bool:
        """Does some index know a column that is asked, by the newest schema that it has recorded? True where that
        cannot be said."""
        for index in found:
            newest = index.versions.newest()
            if newest is None or index.versions.find(newest.version) is None:
                return True
            schema = _recorded_schema([index], newest.version)
            try:
                asked = Question("", self.format, newest.version, self._predicate(predicate, schema), schema)
            except Exception:  # noqa: BLE001 - as the table has it, it may be right
                return True
            if asked.known_to(found):
                return True
        return False

    def _question(
        self,
        predicate: object,
        found: Sequence[OpenIndex],
        resolved: Resolved,
        snapshot: Snapshot | None,
        before: Sequence[Question] = (),
    ) -> Question:
        """`before`: asked already of what the indexes recorded; of the same schema the predicate is as bound."""
        # A commit may come between resolving "now" and loading it: what is answered is the version whose files are
        # listed.
        asked = resolved.version if snapshot is None else snapshot.version
        schema = snapshot.schema if snapshot is not None else _recorded_schema(found, asked)
        bound_ = next((one.predicate for one in before if one.schema == schema), None)
        tree = self._predicate(predicate, schema) if bound_ is None else bound_
        return Question(self._root(snapshot), self.format, asked, tree, schema)

    def _answer(self, tree: Predicate, snapshot: Snapshot, indexes: Iterable[str] | None) -> PruneResult:
        """The same for a snapshot that is loaded."""
        pruner = Pruner(*self._open_indexes(indexes))
        question = Question(self._root(snapshot), self.format, snapshot.version, tree)
        try:
            result = pruner.prune(question, None if pruner.recorded(snapshot.version) else snapshot)
        except SnapshotNeeded:
            result = pruner.prune(question, snapshot)
        self._confined(result.files)
        return result

    def _chooser(self, files: Snapshot, whole: Snapshot | None, indexes: Iterable[str] | None) -> Choose:
        """Asks the indexes again, for another predicate: the rows of `files` that it keeps. `whole`: the table's own
        snapshot, where it is loaded."""

        def choose(tree: Predicate) -> tuple[npt.NDArray[np.int64], PruneResult]:
            if whole is not None:
                result = self._answer(tree, whole, indexes)
            else:
                result = self._planned(tree, At.of(files.version), indexes).result
            return _places(files, result), result

        return choose

    def _predicate(self, condition: object, schema: Schema) -> Predicate:
        """The predicate bound to the schema of the version. What has no zone of its own is read in the table's
        configured one, a Spark Column in its session's."""
        zone = self.config.time_zone
        if isinstance(condition, OfSchema):
            condition = condition.make(schema)
        if isinstance(condition, Predicate):
            return bound(condition, schema, zone)
        if isinstance(condition, str):
            from expressions.engines.sql import parse

            return bound(parse(condition, timezone=zone, schema=schema.asked()), schema, zone)
        from expressions.engines import to_predicate

        spark = type(condition).__module__.startswith("pyspark.")
        if spark:
            from pyspark.sql import SparkSession

            session = SparkSession.getActiveSession()
            zone = session.conf.get("spark.sql.session.timeZone") or zone if session is not None else zone
        return bound(to_predicate(condition, schema.asked()), schema, zone, as_held=not spark)


def _with_its_columns(scan: Scan) -> Scan:
    _ = scan.fields  # raises for one that is not there
    return scan


def _of_rows(condition: object) -> object:
    """A condition that chooses rows: an expression of pyiceberg means what pyiceberg's own filter of rows makes of it.
    Where it chooses files, it is read so that no reader of Iceberg misses a row."""
    if not any(kind.__module__.startswith("pyiceberg.") for kind in type(condition).__mro__):
        return condition
    from expressions.engines.iceberg_reading import from_iceberg

    expression: Any = condition
    return OfSchema(lambda schema: from_iceberg(expression, schema.asked(), of_rows=True))


def _recorded_schema(found: Sequence[OpenIndex], version: Version) -> Schema:
    recorded = (one for index in found if (one := index.versions.find(version)) is not None)
    return next(recorded).schema  # else its snapshot was loaded


def _places(snapshot: Snapshot, result: PruneResult) -> npt.NDArray[np.int64]:
    """The rows of the snapshot's files that an answer keeps."""
    import pyarrow.compute as pc  # a scan loads engines anyway

    kept = pc.is_in(snapshot.files.paths, value_set=result.files.paths.combine_chunks())
    return np.flatnonzero(truths(one_array(kept), null=False))
