"""The straight line of a query: version -> files that the index knows -> one walk -> what is not proved droppable is
kept.

Two ways to the set of files, one way through it:

    recorded   an index has recorded exactly the asked version: its own `files` rows are the list, the table's log is
               not replayed
    snapshot   otherwise the table's own snapshot is the list; every index answers for those files that it finds by full
               identity

Any error in an index takes that index out, says so in the report and the log, and the walk starts again without it: the
answer is wider, never wrong.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa

from metaindex.core import TELEMETRY, Mask, MetaIndexError, Vector, Words, counted, first_line
from metaindex.expressions import CompositeStatistics, Opaque, Predicate, PruningStatistics
from metaindex.formats import FileTable, Snapshot, Version
from metaindex.index import KINDS, BoundPredicate, Lacking, OpenIndex, RunCoverage
from metaindex.storage import each_at

from .recorded import few, over_recorded
from .report import IndexReport
from .result import PruneResult
from .sources import FileSource, HeardStatistics, JoinedSources, Portion, TableSources
from .walk import (
    LOG,
    Failed,
    NeedsSnapshot,
    TableQuestion,
    Tally,
    Walked,
    column_names,
    guard,
    known_by,
    leaf_reports,
    surely,
    walk,
    walk_each,
)

logger = logging.getLogger("metaindex")


class Pruner:
    """Answers one question with the indexes given. `refused`: reports of indexes that could not even be opened."""

    def __init__(self, indexes: Sequence[OpenIndex], refused: Sequence[IndexReport] = ()) -> None:
        self._indexes = list(indexes)
        self._refused = list(refused)
        self._given = len(self._indexes)

    @property
    def indexes(self) -> Sequence[OpenIndex]:
        """Return the indexes that have not failed so far."""
        return self._indexes

    @property
    def whole(self) -> bool:
        """True while no index has failed."""
        return len(self._indexes) == self._given

    def recorded(self, version: Version) -> bool:
        """Return whether some index knows the version's files, so that no snapshot is needed."""
        return any(index.versions.find(version) is not None for index in self._indexes)

    def prune(
        self, question: TableQuestion, snapshot: Snapshot | None, *, alone: bool = False
    ) -> PruneResult | NeedsSnapshot:
        """Prune by the table's own list of files; without a snapshot by what the indexes recorded of the version.
        Returns `NeedsSnapshot.NEEDED` if none has recorded it, or those that had turn out to be damaged;
        `NeedsSnapshot.HELPS` if the table itself knows more of the asked columns and the indexes keep many files,
        unless they have to answer `alone`."""
        started = time.perf_counter()
        version = self._of_this_table(question.version, snapshot)
        while snapshot is not None or self.recorded(question.version):
            try:
                if snapshot is not None:
                    answer: Walked | NeedsSnapshot = _over_snapshot(question, self._indexes, snapshot)
                else:
                    answer = over_recorded(question, self._indexes, alone=alone)
            except Exception as error:  # noqa: BLE001 - raised again where it is no index's fault
                self._without_the_damaged(error)
            else:
                return answer if isinstance(answer, NeedsSnapshot) else self._result(question, version, answer, started)
        return NeedsSnapshot.NEEDED

    def over(self, snapshot: Snapshot, predicate: Predicate, *, table: str = "", recorded: bool = True) -> PruneResult:
        """Prune a snapshot by a predicate that is bound to its schema: by what an index `recorded` of the version where
        that is enough, else by the table's own list of files. `table`: as answers name it."""
        question = TableQuestion(table or snapshot.table, snapshot.format, snapshot.version, predicate)
        answer = self.prune(question, None) if recorded else NeedsSnapshot.NEEDED
        answer = self.prune(question, snapshot) if isinstance(answer, NeedsSnapshot) else answer
        assert isinstance(answer, PruneResult), "a snapshot always answers"
        return answer

    def each_over(self, snapshot: Snapshot, predicates: Sequence[Predicate]) -> list[Mask] | None:
        """Return for each bound predicate a mask of the snapshot's files that may match, all of them asked together;
        None if an index fails, which `over` takes out."""
        try:
            return _each_over_snapshot(predicates, self._indexes, snapshot)
        except Exception as error:  # noqa: BLE001 - as above
            logger.warning("predicates are asked one by one: %s", error)
            return None

    def _without_the_damaged(self, error: Exception) -> None:
        """Take out the index that failed, or all of them if that is unclear. Raises the error if the question, or the
        table, is at fault."""
        if isinstance(error, Failed):
            self._take_out(error.index, error.__cause__)
            return
        if isinstance(error, MetaIndexError) or not self._indexes:
            raise error
        for index in list(self._indexes):
            self._take_out(index, error)

    def _result(self, question: TableQuestion, version: Version, answer: Walked, started: float) -> PruneResult:
        return PruneResult(
            table=question.table,
            format=question.format,
            version=version,
            predicate=answer.predicate,
            files=answer.files,
            total_files=answer.total_files,
            total_bytes=answer.total_bytes,
            indexes=(*self._reports(answer), *self._refused),
            seconds=time.perf_counter() - started,
            not_understood=tuple(leaf.text for leaf in answer.predicate.leaves() if isinstance(leaf, Opaque)),
            _walked=answer,
        )

    def _of_this_table(self, version: Version, snapshot: Snapshot | None) -> Version:
        """The version with the table's id. What was built on a table that was here before is left out: it knows nothing
        of this one's files."""
        recorded = {index.name: there for index in self._indexes if (there := index.versions.find(version))}
        tables = {at_version.record.version.table_uuid for at_version in recorded.values()}
        if snapshot is not None:
            tables = {snapshot.table_uuid}
        if len(tables) != 1:
            return version
        (table_uuid,) = tables
        for index in list(self._indexes):
            if index.name not in recorded and (why := index.of_another_table(table_uuid)):
                self._indexes.remove(index)
                self._refused.append(IndexReport(index.name, False, why, left_out=True))
        return replace(version, table_uuid=table_uuid)

    def _take_out(self, index: OpenIndex, error: BaseException | None) -> None:
        self._indexes.remove(index)
        with Words.about(index.name):
            reason = first_line(error) if error is not None else "it cannot be read"
        logger.warning("index %r is not used for this query, which reads more: %s", index.name, reason)
        TELEMETRY.index_left_out(index.storage.root)
        self._refused.append(IndexReport(index.name, False, reason, left_out=True))

    def _reports(self, answer: Walked) -> list[IndexReport]:
        reports = [self._report(index, answer) for index in self._indexes]
        log = answer.alone.get(LOG)
        if log is not None and log.files:
            used = answer.used_columns[LOG]
            reports.append(IndexReport(LOG, True, "", used, log.files, log.bytes, seconds=log.seconds))
        return reports

    def _report(self, index: OpenIndex, answer: Walked) -> IndexReport:
        used = answer.used_columns.get(index.name, ())
        lacks = answer.lacks.get(index.name)
        reason = "" if lacks is None else str(lacks)
        if not reason and not used:
            reason = index.unasked_because or _of_a_composite_key(index, answer)
        reason = "; ".join((*((reason,) if reason else ()), *_unread_files(index), *index.left_out))
        alone = answer.alone.get(index.name, Tally())
        return IndexReport(
            index.name,
            bool(used),
            reason,
            used,
            alone.files,
            alone.bytes,
            index.count.reads,
            index.count.bytes,
            alone.seconds,
            lacks=lacks,
        )


def _of_a_composite_key(index: OpenIndex, answer: Walked) -> str:
    """Return why the index has no answer: a predicate may fix some of the columns of a key, and not all."""
    asked = {
        leaf.stable for leaf in answer.schema.leaves() if leaf.parts in {c.parts for c in answer.predicate.columns}
    }
    runs = index.entry.content.runs
    keys = [key for run in runs for key in run.keys if len(key.columns) > 1 and key not in KINDS.served_keys(run)]
    for key in keys:
        if not asked.isdisjoint(column.stable for column in key.columns):
            names = ", ".join(column.name for column in key.columns)
            return f"its key is ({names}), which is asked only where = or IN fixes all of these columns"
    return "none of the predicate's columns is covered"


def _unread_files(index: OpenIndex) -> tuple[str, ...]:
    """Files that were looked at and of which nothing can be proved, be they part of this version or not."""
    unread = sum(run.uncovered_files for run in index.entry.content.runs)
    if not unread:
        return ()
    are, them = ("is", "it") if unread == 1 else ("are", "them")
    return (
        f"{counted(unread, 'file')} could not be read when indexed, and {are} kept in every version that has {them}:"
        " verify says which",
    )


def _over_snapshot(question: TableQuestion, indexes: Sequence[OpenIndex], snapshot: Snapshot) -> Walked:
    """Walks over all files of the snapshot."""
    asked = BoundPredicate.of(question.bound(snapshot.schema), snapshot.schema, indexes)
    count = len(snapshot.files)
    known, used, keyed = _sources(asked, indexes, snapshot)
    table = TableSources.of(snapshot, asked.columns)
    used[LOG] = column_names(set(asked.columns))
    tallies = {name: Tally() for name in (*known, LOG)}
    sources, mask, masks = _walked(asked.walked, known, table, indexes, count, tallies)
    for name, single in masks.items():
        tallies[name].files = int(np.count_nonzero(~single))
        tallies[name].bytes = snapshot.files.filter(Vector.arrow(~single)).size_bytes if tallies[name].files else 0
    kept = np.flatnonzero(mask)

    def certain(*, claims: bool = False) -> pa.Array:
        proving = [table.values, *map(HeardStatistics.facts, known.values())]
        among = CompositeStatistics(list(sources.values()) if claims else proving)
        return Vector.arrow(surely(asked.predicate, among, count)[mask])

    return Walked(
        files=snapshot.files.filter(Vector.arrow(mask)),
        total_files=count,
        total_bytes=snapshot.files.size_bytes,
        schema=asked.schema,
        predicate=asked.predicate,
        walked=asked.walked,
        alone=tallies,
        used_columns=used,
        dropped=lambda: snapshot.files.filter(Vector.arrow(~mask)),
        certain=certain,
        leaves=lambda: leaf_reports(asked, sources),
        row_groups=lambda row, groups: FileSource(groups, [*known.values(), table.without_claims], int(kept[row])),
        knows_row_groups=keyed,
        lacks=_lacks(asked, indexes, sources, snapshot),
    )


def _walked(
    predicate: Predicate,
    known: Mapping[str, JoinedSources],
    table: TableSources,
    indexes: Sequence[OpenIndex],
    count: int,
    tallies: dict[str, Tally],
) -> tuple[dict[str, PruningStatistics[Mask]], Mask, dict[str, Mask]]:
    """Return the sources that are heard, the files that they keep together, and those that each keeps alone. A claim of
    the table's log drops a file only if claims do so without an index, and none contradicts an index's fact; it is not
    heard at all where few files are kept without."""
    sources: dict[str, PruningStatistics[Mask]] = {**known, LOG: table.without_claims}
    wider, masks = walk(predicate, sources, tallies, indexes, count) if known else (np.ones(count, np.bool_), {})
    if known and few(int(np.count_nonzero(wider)), count):
        return sources, wider, masks
    sources[LOG] = table.with_claims
    claimed, of_log = walk(predicate, {LOG: table.with_claims}, tallies, indexes, count)
    masks |= of_log
    if known and (wider & ~claimed).any():
        sources[LOG] = table.beside(count, partial(known_by, known, indexes))
        beside, masks = walk(predicate, sources, tallies, indexes, count)
        claimed |= beside
    return sources, wider & claimed, masks


def _lacks(
    asked: BoundPredicate,
    indexes: Sequence[OpenIndex],
    sources: Mapping[str, PruningStatistics[Mask]],
    snapshot: Snapshot,
) -> dict[str, Lacking]:
    """Return what each index lacks, for indexes that know the asked columns in other files, or have no files."""
    lacks, files = {}, snapshot.files
    for index in indexes if asked.columns else ():
        source = sources.get(index.name)
        if isinstance(source, JoinedSources):
            unknown = ~source.known
        elif not index.entry.content.runs:
            unknown = np.ones(len(files), np.bool_)
        else:
            continue
        with guard(index):
            count = int(np.count_nonzero(unknown))
            at_ms = None if index.versions.find(snapshot.version) else snapshot.timestamp_ms
            lacking = asked.lacking(index, count, len(files), partial(_marked, files, unknown), at_ms)
        if lacking is not None:
            lacks[index.name] = lacking
    return lacks


def _marked(files: FileTable, mask: Mask) -> FileTable:
    return files.filter(Vector.arrow(mask))


def _each_over_snapshot(
    predicates: Sequence[Predicate], indexes: Sequence[OpenIndex], snapshot: Snapshot
) -> list[Mask]:
    """The files that each may match, as a query of the snapshot keeps them: what answers is opened once, and asked for
    all of them together. `predicates` are bound to the snapshot's schema."""
    if not predicates:
        return []
    asked = BoundPredicate.of_each(predicates, snapshot.schema, indexes)
    known, _, _ = _sources(asked[0], indexes, snapshot)
    table = TableSources.of(snapshot, asked[0].columns)
    count, walks = len(snapshot.files), [each.walked for each in asked]
    masks = walk_each(walks, {LOG: table.with_claims}, indexes, count)
    if not known:
        return masks
    wider = walk_each(walks, {**known, LOG: table.without_claims}, indexes, count)
    for place, (claimed, wide) in enumerate(zip(masks, wider, strict=True)):
        masks[place] = wide
        if (wide & ~claimed).any() and not few(int(np.count_nonzero(wide)), count):
            # Which facts stand against a claim depends on what is asked.
            one = BoundPredicate.of(predicates[place], snapshot.schema, indexes)
            told, _, _ = _sources(one, indexes, snapshot)
            tallies = {name: Tally() for name in (*told, LOG)}
            table = TableSources.of(snapshot, one.columns)
            _, masks[place], _ = _walked(one.walked, told, table, indexes, count, tallies)
    return masks


def _sources(
    asked: BoundPredicate, indexes: Sequence[OpenIndex], snapshot: Snapshot
) -> tuple[dict[str, JoinedSources], dict[str, tuple[str, ...]], bool]:
    """Return the indexes that know something, by name, the columns that each knows, and whether keys are among them."""
    sources: dict[str, JoinedSources] = {}
    used: dict[str, tuple[str, ...]] = {}
    covering: dict[str, list[RunCoverage]] = {}
    for index in indexes:
        with guard(index):
            if runs := RunCoverage.of_index(index, asked):
                covering[index.name] = runs
    every = [known for runs in covering.values() for known in runs]
    files = every[0].index.identities(snapshot) if every else None

    def located(known: RunCoverage) -> list[Portion]:
        assert files is not None
        with guard(known.index):
            return Portion.located(known, known.index.locate(known.run, files))

    portions = iter(each_at(indexes[0].storage.root, every, located) if every else ())
    for name, runs in covering.items():
        sources[name] = JoinedSources(len(snapshot.files), [portion for _ in runs for portion in next(portions)])
        used[name] = column_names(set().union(*(known.columns for known in runs)))
    keyed = any(known.key_columns for known in every)
    return sources, used, keyed
