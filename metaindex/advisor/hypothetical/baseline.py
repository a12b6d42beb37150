"""The table and the indexes that queries of it may use, with which candidates are compared."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from metaindex.core import Mask, Vector, dataclass
from metaindex.expressions import Predicate
from metaindex.formats import Snapshot
from metaindex.index import OpenIndex
from metaindex.query import Pruner, PruneResult

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Baseline:
    """The table at a version, and the indexes that a query of it may use."""

    snapshot: Snapshot
    indexes: tuple[OpenIndex, ...] = ()

    def with_more(self, *indexes: OpenIndex) -> Baseline:
        return Baseline(self.snapshot, (*self.indexes, *indexes))

    def answer(self, tree: Predicate) -> PruneResult:
        """Prune by a bound predicate, as `Table.prune` does."""
        return Pruner(self.indexes).over(self.snapshot, tree)

    def kept_each(self, trees: Sequence[Predicate]) -> list[Mask]:
        """Return for each bound predicate a mask of the files that may match, by the table and all indexes."""
        masks = Pruner(self.indexes).each_over(self.snapshot, trees)
        return [self.kept(self.answer(tree)) for tree in trees] if masks is None else masks

    def kept(self, result: PruneResult) -> Mask:
        """Return a mask of the snapshot's files that an answer keeps."""
        files = self.snapshot.files
        if result.kept_files == len(files):
            return np.ones(len(files), np.bool_)
        kept = pc.is_in(files.paths, value_set=result.files.paths.combine_chunks())
        return Vector(kept).truths(null=False)
