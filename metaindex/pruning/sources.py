"""Answers about one set of files, put together: from both levels of a run, from several runs and indexes, from the table's own log."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

from expressions.arrow_statistics import ArrowStatistics
from expressions.literals import Literal
from expressions.records import dataclass
from expressions.scalar_statistics import CompositeStatistics
from expressions.statistics import Interval, ManyFiles, Mask, PruningStatistics
from expressions.tree import ColumnRef
from formats.model import PartitionHashes, Snapshot
from metaindex.log.entry import RunRef

from .open_index import OpenIndex, Ordinals
from .run_statistics import RunStatistics, StoredColumn

Ask = Callable[[PruningStatistics[Mask]], Mask]


class Delegating(ManyFiles, ABC):
    """PruningStatistics[Mask] whose every question goes through `_ask`."""

    @abstractmethod
    def _ask(self, column: ColumnRef, ask: Ask) -> Mask: ...

    def some_between(self, column: ColumnRef, interval: Interval) -> Mask:
        return self._ask(column, lambda s: s.some_between(column, interval))

    def some_among(self, column: ColumnRef, values: Sequence[Literal]) -> Mask:
        return self._ask(column, lambda s: s.some_among(column, values))

    def some_other(self, column: ColumnRef, values: Sequence[Literal]) -> Mask:
        return self._ask(column, lambda s: s.some_other(column, values))

    def some_null(self, column: ColumnRef) -> Mask:
        return self._ask(column, lambda s: s.some_null(column))

    def some_value(self, column: ColumnRef) -> Mask:
        return self._ask(column, lambda s: s.some_value(column))

    def some_nan(self, column: ColumnRef) -> Mask:
        return self._ask(column, lambda s: s.some_nan(column))


class RunSource(Delegating):
    """The files of one run: a partition column is answered by partition, any other column by file."""

    def __init__(
        self, index: OpenIndex, run: RunRef, columns: dict[ColumnRef, StoredColumn], scope: Mask | None = None
    ) -> None:
        super().__init__(run.files)
        self._index, self._run, self._columns = index, run, columns
        self._files = index.file_source(run, columns, scope)
        self.partitions: RunStatistics = index.partition_source(run, columns)

    def _ask(self, column: ColumnRef, ask: Ask) -> Mask:
        stored = self._columns.get(column)
        if stored is not None and stored.partition:
            return self._index.expand(self._run, ask(self.partitions), stored.column_id)
        return ask(self._files)


@dataclass(frozen=True, slots=True)
class Portion:
    """Files at `positions` of the asked set are files `ordinals` of the source."""

    source: PruningStatistics[Mask]
    positions: Ordinals
    ordinals: Ordinals


class Gathered(Delegating):
    """A set of files, portions of which other sources know under their own numbers. What no source knows is True."""

    def __init__(self, count: int, portions: Sequence[Portion]) -> None:
        super().__init__(count)
        self._portions = portions

    def _ask(self, column: ColumnRef, ask: Ask) -> Mask:
        answer = self.constant(True)
        for portion in self._portions:
            answer[portion.positions] &= ask(portion.source)[portion.ordinals]
        return answer


def log_source(snapshot: Snapshot, refs: Sequence[ColumnRef]) -> PruningStatistics[Mask]:
    """What the table itself says of its files: partition values, and statistics in its log."""
    count = len(snapshot.files)
    leaves = {leaf.parts: leaf for leaf in snapshot.schema.leaves()}
    asked = {ref: leaves[ref.parts] for ref in refs if ref.parts in leaves}
    by_partition, by_log = {}, {}
    for ref, leaf in asked.items():
        if (bounds := snapshot.details.partition_bounds(leaf)) is not None:
            by_partition[ref] = bounds
        if (bounds := snapshot.details.log_bounds(leaf)) is not None:
            by_log[ref] = bounds
    sources: list[PruningStatistics[Mask]] = [ArrowStatistics(count, by_partition), ArrowStatistics(count, by_log)]
    if (
        isinstance(snapshot.details, PartitionHashes)
        and (hashes := snapshot.details.partition_hashes(asked)) is not None
    ):
        sources.append(hashes)
    return CompositeStatistics(sources)
