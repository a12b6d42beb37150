"""Questions to what stands beside a table, and to that with a candidate: by the walk that queries take."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import numpy as np
import pyarrow.compute as pc

from metaindex.expressions.records import dataclass
from metaindex.expressions.statistics import Mask
from metaindex.expressions.tree import Predicate
from metaindex.expressions.vectors import one_array, truths
from metaindex.formats.model import Snapshot
from metaindex.pruning.open_index import OpenIndex
from metaindex.pruning.over_snapshot import each_over_snapshot
from metaindex.pruning.pruner import Pruner
from metaindex.pruning.question import SnapshotWanted, TableQuestion
from metaindex.pruning.result import PruneResult

logger = logging.getLogger("metaindex")


@dataclass(frozen=True, slots=True)
class Standing:
    """The table at a version, and the indexes that a query of it may use."""

    snapshot: Snapshot
    indexes: tuple[OpenIndex, ...] = ()

    def with_more(self, *indexes: OpenIndex) -> Standing:
        return Standing(self.snapshot, (*self.indexes, *indexes))

    def answer(self, tree: Predicate) -> PruneResult:
        """As `Table.prune` answers a bound predicate."""
        snapshot = self.snapshot
        pruner = Pruner(self.indexes)
        question = TableQuestion(snapshot.table, snapshot.format, snapshot.version, tree)
        answer = pruner.by_record(question)
        return pruner.by_snapshot(question, snapshot) if isinstance(answer, SnapshotWanted) else answer

    def kept_each(self, trees: Sequence[Predicate]) -> list[Mask]:
        """Of the snapshot's files those that may match each bound predicate, by the table and all indexes."""
        try:
            return each_over_snapshot(trees, self.indexes, self.snapshot)
        except Exception as error:  # noqa: BLE001 - an index that fails is taken out where one is asked
            logger.warning("predicates are asked one by one: %s", error)
            return [self.kept(self.answer(tree)) for tree in trees]

    def kept(self, result: PruneResult) -> Mask:
        """Of the snapshot's files those that an answer keeps."""
        files = self.snapshot.files
        if result.kept_files == len(files):
            return np.ones(len(files), np.bool_)
        kept = pc.is_in(files.paths, value_set=result.files.paths.combine_chunks())
        return truths(one_array(kept), null=False)
