"""The planner finds the files that can hold rows of a condition: by the indexes first, and by the table's own log if
they do not know the version or it helps."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Sequence

from metaindex.core import MetaIndexError, dataclass
from metaindex.expressions import Predicate
from metaindex.formats import At, OfSchema, Resolved, Schema, Snapshot, Version
from metaindex.index import OpenIndex
from metaindex.query.arguments import VersionLike
from metaindex.query.handle import Handle

from .collector import gc_paused
from .plan_cache import PlanCache, PlanCacheKey
from .pruner import Pruner
from .report import IndexReport
from .result import PruneResult
from .walk import NeedsSnapshot, TableQuestion

logger = logging.getLogger("metaindex")


@dataclass(frozen=True, slots=True)
class PlannedAnswer:
    """An answer, the snapshot that it was given with (None: the indexes alone), and the indexes that were asked."""

    result: PruneResult
    snapshot: Snapshot | None
    indexes: Sequence[OpenIndex]


class Planner:
    """Asks the indexes of one table."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle
        self._remembered = PlanCache(handle.config.cache_bytes // 8)

    def planned(self, predicate: object, at: At, only: Iterable[str] | None) -> PlannedAnswer:
        """Return the files that can hold matching rows at a version. `only`: names of the indexes that may answer."""
        started = time.perf_counter()
        with gc_paused(predicate):
            asked = self._asked(OfSchema.at_moment(predicate), *self._handle.opened_at(at, only))
            answer = asked.answer()
        assert answer is not None, "a snapshot always answers"
        return PlannedAnswer(answer.timed(time.perf_counter() - started), asked.snapshot, asked.indexes)

    def proved(self, predicate: object, version: VersionLike, only: Iterable[str] | None) -> PruneResult | None:
        """Prune by the indexes alone if they recorded the version, for an engine that uses the table's own partitions
        and statistics itself. None if no index knows a column of the predicate."""
        indexes, refused = self._handle.open_indexes(only)
        if not indexes:
            return None
        predicate = OfSchema.at_moment(predicate)
        with gc_paused(predicate):
            resolved = self._handle.resolved(self._handle.trusted(At.asked(version), indexes), indexes)
            asked = self._asked(predicate, indexes, refused, resolved, alone=True)
            if not asked.recorded and not self._known_lately(predicate, indexes):
                return None  # nor is the table loaded
            return asked.answer()

    def knows(self, predicate: object, only: Iterable[str] | None) -> bool:
        """Return whether some index knows a column of the predicate; True if unknown. Reads nothing of the table."""
        return self._known_lately(predicate, self._handle.open_indexes(only)[0])

    def over(self, tree: Predicate, snapshot: Snapshot, only: Iterable[str] | None) -> PruneResult:
        """The files of a snapshot that is loaded."""
        pruner = Pruner(*self._handle.open_indexes(only))
        result = pruner.over(snapshot, tree, table=self._handle.root(snapshot))
        self._handle.confined(result.files)
        return result

    def over_files(self, tree: Predicate, snapshot: Snapshot, only: Iterable[str] | None) -> PruneResult:
        """Prune a snapshot: each index answers for the files that it finds by their full identity, whatever version it
        recorded."""
        pruner = Pruner(*self._handle.open_indexes(only))
        return pruner.over(snapshot, tree, table=self._handle.root(snapshot), recorded=False)

    def predicate(self, condition: object, schema: Schema) -> Predicate:
        """The predicate bound to the schema of the version."""
        return schema.predicate(condition, self._handle.config.time_zone)

    def _known_lately(self, predicate: object, indexes: Sequence[OpenIndex]) -> bool:
        """Return whether some index knows a column of the predicate, by the newest schema that it recorded; True if
        that is unknown."""
        for index in indexes:
            newest = index.versions.newest()
            if newest is None or index.versions.find(newest.version) is None:
                return True
            schema = _recorded_schema([index], newest.version)
            try:
                asked = TableQuestion(
                    "", self._handle.format, newest.version, self.predicate(predicate, schema), schema
                )
            except Exception:  # noqa: BLE001 - as the table has it, it may be right
                return True
            if asked.known_to(indexes):
                return True
        return False

    def _asked(
        self,
        predicate: object,
        indexes: Sequence[OpenIndex],
        refused: Sequence[IndexReport],
        resolved: Resolved,
        *,
        alone: bool = False,
    ) -> _Asked:
        return _Asked(self._handle, self._remembered, self.predicate, predicate, resolved, indexes, refused, alone)


class _Asked:
    """One predicate on a version of the table. `alone`: the indexes have to answer alone, and only if one knows a
    column of it."""

    def __init__(
        self,
        handle: Handle,
        remembered: PlanCache,
        bind: Callable[[object, Schema], Predicate],
        predicate: object,
        resolved: Resolved,
        indexes: Sequence[OpenIndex],
        refused: Sequence[IndexReport],
        alone: bool,
    ) -> None:
        self._handle = handle
        self._remembered = remembered
        self._bind = bind
        self._predicate = predicate
        self._resolved = resolved
        self.indexes = indexes
        self._refused = refused
        self._alone = alone
        self._pruner = Pruner(indexes, refused)
        self._question: TableQuestion | None = None
        self.snapshot: Snapshot | None = None  # that the last answer was given with

    @property
    def recorded(self) -> bool:
        """Return whether an index has recorded the version."""
        return self._pruner.recorded(self._resolved.version)

    def answer(self) -> PruneResult | None:
        """Decide whose list of files is walked, and walk it: what an index recorded of the version, if one did and
        that is enough, else the table's own; the record again, if it answers, where the table cannot be read. None if
        the indexes know no column of the predicate."""
        answer = self._by_record() if self.recorded else NeedsSnapshot.NEEDED
        if answer is NeedsSnapshot.NEEDED:
            answer = self._answer(self._handle.loaded(self._resolved), alone=self._alone)
        elif answer is NeedsSnapshot.HELPS:
            try:
                answer = self._answer(self._handle.loaded(self._resolved), alone=self._alone)
            except MetaIndexError as error:
                logger.warning("the table's own statistics are not used for this query, which reads more: %s", error)
                answer = self._answer(None, alone=True)
                if isinstance(answer, NeedsSnapshot):
                    raise  # where no index can answer either, the table's error is the one to tell
        return answer if isinstance(answer, PruneResult) else None

    def _by_record(self) -> PruneResult | NeedsSnapshot | None:
        """Answer by what the indexes recorded of the version. If that raises (a column that they do not know, a bad
        schema) the table itself is asked, and decides."""
        try:
            return self._answer(None, alone=self._alone)
        except Exception as error:  # noqa: BLE001 - raised again where the table cannot answer
            try:
                snapshot = self._handle.loaded(self._resolved)
            except MetaIndexError:
                raise error from None
            self._handle.suspects.find(self._pruner.indexes, snapshot)
            return self._answer(snapshot, alone=self._alone)

    def _answer(self, snapshot: Snapshot | None, *, alone: bool) -> PruneResult | NeedsSnapshot | None:
        """Compute an answer, or return the cached one; None if the indexes know no column of the predicate. That the
        snapshot helps is cached, too."""
        self.snapshot = snapshot
        told = self._circumstances(snapshot, alone)
        answer: PruneResult | NeedsSnapshot | None = self._remembered.find(told) if told is not None else None
        if answer is None:
            question = self._bound(snapshot)
            if self._alone and not question.known_to(self.indexes):
                return None
            answer = self._pruner.prune(question, snapshot, alone=alone)
            if told is not None and self._pruner.whole and answer is not NeedsSnapshot.NEEDED:
                self._remembered.keep(told, answer)
        if isinstance(answer, PruneResult):
            self._handle.confined(answer.files)
        return answer

    def _circumstances(self, snapshot: Snapshot | None, alone: bool) -> PlanCacheKey | None:
        """Return everything that determines the answer; None for an engine's own predicate, which has no known
        equality. This holds for trusted plain files, too: the version names their listing."""
        predicate = self._predicate
        if isinstance(predicate, OfSchema):
            told = predicate.told
        else:
            told = predicate if isinstance(predicate, str | Predicate) else None
        if told is None:
            return None
        version = self._version(snapshot)
        entries, refused = tuple(index.entry for index in self.indexes), tuple(self._refused)
        return PlanCacheKey((type(predicate), told), version, alone, entries, refused, snapshot)

    def _bound(self, snapshot: Snapshot | None) -> TableQuestion:
        """The question with the columns that the version has. Of the same schema it is bound once."""
        version = self._version(snapshot)
        schema = snapshot.schema if snapshot is not None else _recorded_schema(self.indexes, version)
        before = self._question
        if before is not None and before.schema == schema:
            tree = before.predicate
        else:
            tree = self._bind(self._predicate, schema)
        self._question = TableQuestion(self._handle.root(snapshot), self._handle.format, version, tree, schema)
        return self._question

    def _version(self, snapshot: Snapshot | None) -> Version:
        """A commit may come between resolving "now" and loading it: what is answered is the version whose files are
        listed."""
        return self._resolved.version if snapshot is None else snapshot.version


def _recorded_schema(indexes: Sequence[OpenIndex], version: Version) -> Schema:
    recorded = (recorded_ for index in indexes if (recorded_ := index.versions.find(version)) is not None)
    return next(recorded).schema  # else its snapshot was loaded
