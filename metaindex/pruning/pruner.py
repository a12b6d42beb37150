"""The straight line of a query: version -> files that the index knows -> one walk -> what is not proved droppable is kept.

Two ways to the set of files, one way through it:

    recorded   an index has recorded exactly the asked version: its own `files` rows are the list, the table's log is not replayed
    snapshot   otherwise the table's own snapshot is the list; every index answers for those files that it finds by full identity

Any error in an index takes that index out, says so in the report and the log, and the walk starts again without it: the answer is wider, never wrong.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from expressions.bind import bind
from expressions.errors import MetaIndexError
from expressions.records import dataclass
from expressions.references import columns, equality_leaves, leaves
from expressions.scalar_statistics import CompositeStatistics
from expressions.skipping import may_fail, may_match
from expressions.statistics import Mask, PruningStatistics
from expressions.tree import ColumnRef, Opaque, Predicate
from expressions.vectors import from_truths, numbers
from formats.model import Field, FileTable, Schema, Snapshot, Version
from metaindex.keys import file_ids
from metaindex.log.entry import RunRef

from .open_index import OpenIndex, Ordinals
from .result import IndexReport, PruneResult
from .run_statistics import StoredColumn
from .sources import Gathered, Portion, RunSource, log_source
from .versions import LiveFiles, Recorded

logger = logging.getLogger("metaindex")

_LOG = "the table's log"


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked of which table."""

    table: str
    format: str
    version: Version
    predicate: Predicate


@dataclass(slots=True)
class _Tally:
    """What one source drops alone, and how long it took to answer."""

    files: int = 0
    bytes: int = 0
    seconds: float = 0.0


@dataclass(slots=True)
class _Answer:
    files: FileTable
    total_files: int
    total_bytes: int
    predicate: Predicate
    alone: dict[str, _Tally]
    used_columns: dict[str, tuple[str, ...]]
    dropped: object
    certain: object


def recorded_at(index: OpenIndex, version: Version) -> Recorded | None:
    return index.versions.find(version)


class Pruner:
    """Answers one question with the indexes given. `refused`: reports of indexes that could not even be opened."""

    def __init__(self, indexes: Sequence[OpenIndex], refused: Sequence[IndexReport] = ()) -> None:
        self._indexes = list(indexes)
        self._refused = list(refused)

    def recorded(self, version: Version) -> bool:
        """Does some index know the version's files, so that no snapshot is needed?"""
        return any(recorded_at(index, version) is not None for index in self._indexes)

    def prune(self, question: Question, snapshot: Snapshot | None, *, alone: bool = False) -> PruneResult:
        """`snapshot` is needed where `recorded` says no, or says no more once a damaged index is out (SnapshotNeeded is raised then). It helps where no index covers
        a column that is asked about (SnapshotHelps is raised then, unless the indexes are to answer `alone`)."""
        started = time.perf_counter()
        while True:
            try:
                answer = (
                    self._recorded(question, alone) if snapshot is None else self._over_snapshot(question, snapshot)
                )
                break
            except _Failed as failed:
                self._take_out(failed.index, failed.__cause__)
                if snapshot is None and not self.recorded(question.version):
                    raise SnapshotNeeded from failed
        reports = [self._report(index, answer) for index in self._indexes]
        log = answer.alone.get(_LOG)
        if log is not None and log.files:
            reports.append(
                IndexReport(
                    _LOG,
                    True,
                    "",
                    answer.used_columns[_LOG],
                    log.files,
                    log.bytes,
                    seconds=log.seconds,
                )
            )
        return PruneResult(
            table=question.table,
            format=question.format,
            version=question.version,
            predicate=answer.predicate,
            files=answer.files,
            total_files=answer.total_files,
            total_bytes=answer.total_bytes,
            indexes=(*reports, *self._refused),
            seconds=time.perf_counter() - started,
            not_understood=tuple(leaf.text for leaf in leaves(answer.predicate) if isinstance(leaf, Opaque)),
            _dropped=answer.dropped,  # type: ignore[arg-type]
            _certain=answer.certain,  # type: ignore[arg-type]
        )

    def _take_out(self, index: OpenIndex, error: BaseException | None) -> None:
        self._indexes.remove(index)
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        logger.warning("index %r is not used for this query, which reads more: %s", index.name, reason)
        self._refused.append(IndexReport(index.name, False, reason))

    def _report(self, index: OpenIndex, answer: _Answer) -> IndexReport:
        used = answer.used_columns.get(index.name, ())
        reason = "" if used else "none of the predicate's columns is covered"
        alone = answer.alone.get(index.name, _Tally())
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
        )

    # -- the version's files are known to an index ---------------------------------------------------------------

    def _recorded(self, question: Question, by_themselves: bool) -> _Answer:
        candidates = [(i, r) for i in self._indexes if (r := recorded_at(i, question.version)) is not None]
        asked = {ref.parts for ref in columns(question.predicate)}

        def covered(pair: tuple[OpenIndex, Recorded]) -> int:
            stable = {leaf.stable for leaf in pair[1].schema.leaves() if leaf.parts in asked}
            return len(stable & {c.stable for run in pair[0].entry.content.runs for c in run.columns})

        primary, found = max(candidates, key=covered)
        schema, record, live = found.schema, found.record, found.live
        predicate = bound(question.predicate, schema)
        refs = columns(predicate)
        if not by_themselves and self._leave_out(predicate, schema):
            raise SnapshotHelps
        with guard(primary):
            segments = [
                _Segment(primary, run, live, primary.stored_columns(run, refs, schema))
                for run in primary.entry.content.runs
                if run.run in live.dead
            ]
        others = [(i, _covered(i, refs, schema)) for i in self._indexes if i is not primary]
        kept: list[tuple[_Segment, Mask]] = []
        alone = {index.name: _Tally() for index in self._indexes}
        one_source = not any(runs for _, runs in others)
        for segment in segments:
            started = time.perf_counter()
            own = segment.narrowed(predicate)
            alone[primary.name].seconds += time.perf_counter() - started
            sources: dict[str, PruningStatistics[Mask]] = {primary.name: own}
            for index, runs in others:
                if runs:
                    with guard(index):
                        sources[index.name] = self._aligned(index, runs, segment)
            mask, masks = self._walk(predicate, sources, alone)
            for name, single in masks.items():
                out = segment.live & ~single
                alone[name].files += int(np.count_nonzero(out))
                if not one_source:
                    with guard(primary):
                        alone[name].bytes += segment.size_bytes(np.flatnonzero(out))
            kept.append((segment, mask & segment.live))
        with guard(primary):
            files = FileTable(_concat([s.files(np.flatnonzero(m)) for s, m in kept]))
        if one_source:
            alone[primary.name].bytes = record.size_bytes - files.size_bytes

        def dropped() -> FileTable:
            return FileTable(_concat([s.files(np.flatnonzero(s.live & ~m)) for s, m in kept]))

        def certain() -> pa.Array:
            masks = [_surely(predicate, s.whole(), s.run.files)[m] for s, m in kept]
            return pa.array(np.concatenate(masks) if masks else [], pa.bool_())

        used = {primary.name: _names(set().union(*(s.columns for s in segments)) if segments else set())}
        used |= {i.name: _names(set().union(*(c for _, c in runs))) for i, runs in others if runs}
        return _Answer(files, record.files, record.size_bytes, predicate, alone, used, dropped, certain)

    def _leave_out(self, predicate: Predicate, schema: Schema) -> bool:
        """Is something asked that no index can answer as well as the table itself: of a column that none covers, or equality of a column whose hashes the files are
        partitioned by? Then the table's own partitions and log are asked, too: an index never makes an answer wider."""
        covered = {c.stable for index in self._indexes for run in index.entry.content.runs for c in run.columns}
        asked = {ref.parts for ref in columns(predicate)}
        compared = {ref.parts for ref in equality_leaves(predicate)}
        return any(
            (leaf.parts in asked and leaf.stable not in covered) or (leaf.field.bucketed and leaf.parts in compared)
            for leaf in schema.leaves()
        )

    def _aligned(
        self, index: OpenIndex, runs: list[tuple[RunRef, dict[ColumnRef, StoredColumn]]], segment: _Segment
    ) -> Gathered:
        """Another index's answers for the files of a segment: by equal numbering where the digests agree, else by file id."""
        portions = []
        everything = np.arange(segment.run.files)
        for run, stored in runs:
            if run.files_digest == segment.run.files_digest:
                portions.append(Portion(RunSource(index, run, stored), everything, everything))
                continue
            at = index.locate(run, *segment.index.identities(segment.run))
            positions = np.flatnonzero(at >= 0)
            if len(positions):
                portions.append(Portion(RunSource(index, run, stored), positions, at[positions]))
        return Gathered(segment.run.files, portions)

    # -- the table's own snapshot is the list ----------------------------------------------------------------------

    def _over_snapshot(self, question: Question, snapshot: Snapshot) -> _Answer:
        predicate = bound(question.predicate, snapshot.schema)
        refs = columns(predicate)
        count = len(snapshot.files)
        ids: pa.FixedSizeBinaryArray | None = None
        etags = snapshot.files.table.column("etag") if snapshot.format == "files" else None
        sources: dict[str, PruningStatistics[Mask]] = {}
        used: dict[str, tuple[str, ...]] = {}
        for index in list(self._indexes):
            runs = _covered(index, refs, snapshot.schema)
            if not runs:
                continue
            if ids is None:
                ids = file_ids(snapshot.files, snapshot.format)
            with guard(index):
                portions = []
                for run, stored in runs:
                    at = index.locate(run, ids, etags)
                    positions: Ordinals = np.flatnonzero(at >= 0)
                    if len(positions):
                        portions.append(Portion(RunSource(index, run, stored), positions, at[positions]))
                sources[index.name] = Gathered(count, portions)
                used[index.name] = _names(set().union(*(c for _, c in runs)))
        sources[_LOG] = log_source(snapshot, refs)
        used[_LOG] = _names(set(refs))
        alone = {name: _Tally() for name in sources}
        mask, masks = self._walk(predicate, sources, alone)
        for name, single in masks.items():
            alone[name].files = int(np.count_nonzero(~single))
            alone[name].bytes = snapshot.files.filter(from_truths(~single)).size_bytes if alone[name].files else 0

        def certain() -> pa.Array:
            return from_truths(_surely(predicate, CompositeStatistics(list(sources.values())), count)[mask])

        return _Answer(
            snapshot.files.filter(from_truths(mask)),
            count,
            snapshot.files.size_bytes,
            predicate,
            alone,
            used,
            lambda: snapshot.files.filter(from_truths(~mask)),
            certain,
        )

    def _walk(
        self, predicate: Predicate, sources: dict[str, PruningStatistics[Mask]], alone: dict[str, _Tally]
    ) -> tuple[Mask, dict[str, Mask]]:
        """One walk over all sources together; and, for the report, over each alone (its answers are kept, so that costs no read)."""
        by_name = {index.name: index for index in self._indexes}
        masks = {}
        for name, source in sources.items():
            started = time.perf_counter()
            with guard(by_name.get(name)):
                masks[name] = may_match(predicate, source)
            alone[name].seconds += time.perf_counter() - started
        if len(masks) == 1:
            (only,) = masks.values()
            return only.copy(), masks
        return may_match(predicate, CompositeStatistics(list(sources.values()))), masks


class SnapshotNeeded(Exception):
    """The indexes that knew the version are out: load the snapshot and ask again."""


class SnapshotHelps(SnapshotNeeded):
    """The indexes know nothing of a column: ask again with the snapshot, or where it is gone without it, `alone`."""


class _Failed(Exception):
    def __init__(self, index: OpenIndex) -> None:
        super().__init__(index.name)
        self.index = index


class guard:  # noqa: N801 - reads as a statement
    """Whatever goes wrong inside is the index's fault: any exception takes it out of this query. Without an index, errors pass."""

    def __init__(self, index: OpenIndex | None) -> None:
        self._index = index

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if self._index is not None and isinstance(error, Exception) and not isinstance(error, _Failed):
            raise _Failed(self._index) from error


class _Segment:
    """The files of one run of the primary index, as the list to walk over."""

    def __init__(self, index: OpenIndex, run: RunRef, live: LiveFiles, stored: dict[ColumnRef, StoredColumn]) -> None:
        self.index, self.run, self.columns = index, run, stored
        self.live = live.mask(run)
        self._deletes = live.with_deletes(run)

    def narrowed(self, predicate: Predicate) -> RunSource:
        """Partitions first (RFC-27): a source that looks only into those that may match.

        It answers False for a file outside them, where its partition column answers or has no answer either, as its partition did. Every question is of the kind
        "may some row ...?" and the walk only joins them with AND and OR, so what it answers for a file outside is at most what it answered for its partition: no.
        """
        if self.run.partitions > 1 and self.columns:
            with guard(self.index):
                scope = may_match(predicate, self.index.partition_source(self.run, self.columns))
                if not scope.all():
                    return RunSource(self.index, self.run, self.columns, scope)
        return self.whole()

    def whole(self) -> RunSource:
        return RunSource(self.index, self.run, self.columns)

    def size_bytes(self, ordinals: Ordinals) -> int:
        sizes = self.index.rows(self.run, "files", ordinals, ["size_bytes"]).column("size_bytes")
        return sum(int(numbers(chunk).sum()) for chunk in sizes.chunks)

    def files(self, ordinals: Ordinals) -> pa.Table:
        return self.index.files_of(self.run, ordinals, self._deletes)


def bound(predicate: Predicate, schema: Schema, time_zone: str = "UTC") -> Predicate:
    """The predicate with the names and types of the schema. Binding what is bound changes nothing."""
    return bind(predicate, list(_named_types(schema.fields, ())), time_zone=time_zone)


def _named_types(fields: Sequence[Field], above: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], pa.DataType]]:
    """Every leaf, lists and maps included: predicates may name those, although nothing is known of them."""
    for one in fields:
        if one.children:
            yield from _named_types(one.children, (*above, one.name))
        else:
            yield (*above, one.name), one.type


def _surely(predicate: Predicate, source: PruningStatistics[Mask], count: int) -> Mask:
    """Where every row matches; nowhere where an index cannot say."""
    try:
        return ~may_fail(predicate, source)
    except MetaIndexError as error:
        logger.warning("no file is called certain: %s", error)
        return np.zeros(count, np.bool_)


def _covered(
    index: OpenIndex, refs: Sequence[ColumnRef], schema: Schema
) -> list[tuple[RunRef, dict[ColumnRef, StoredColumn]]]:
    pairs = [(run, index.stored_columns(run, refs, schema)) for run in index.entry.content.runs]
    return [(run, stored) for run, stored in pairs if stored]


def _names(refs: set[ColumnRef]) -> tuple[str, ...]:
    return tuple(sorted(ref.name for ref in refs))


def _concat(tables: list[pa.Table]) -> pa.Table:
    return pa.concat_tables(tables) if tables else FileTable.empty().table
