"""Row counts of files without reading them: what an index counted when it read the file.

Whoever writes a log writes there how many rows a file has, and a reader that leaves a file out for it never sees
that it was wrong. So a number in a log is no proof here: it can but contradict what was counted.
"""

from __future__ import annotations

import numpy as np

from metaindex.core import Mask
from metaindex.formats import Leaf
from metaindex.index import FileStatistics, KnownCounts


def counted_rows(bounds: FileStatistics) -> KnownCounts:
    """Return the rows of each file, deleted ones included, as an index counted them; unknown if the log, or another
    index, has another number."""
    told = [KnownCounts.of(bounds.indexed(leaf).facts.column("value_count")) for leaf in _a_leaf_of_each_run(bounds)]
    rows = KnownCounts.agreed([KnownCounts.physical(bounds.snapshot.files), *told])
    counted: Mask = np.logical_or.reduce([np.zeros(len(rows.known), np.bool_), *(counts.known for counts in told)])
    return KnownCounts(rows.values, rows.known & counted)


def _a_leaf_of_each_run(bounds: FileStatistics) -> list[Leaf]:
    """Columns, such that each run of an index that has statistics has them of one of these."""
    leaves = {leaf.stable: leaf for leaf in bounds.snapshot.schema.leaves()}
    leaf_of_runs: dict[str, Leaf] = {}
    for index in bounds.indexes:
        for run in index.entry.content.runs:
            known = [column.stable for column in run.columns if not column.partition and column.stable in leaves]
            if known and not any(stable in leaf_of_runs for stable in known):
                leaf_of_runs[known[0]] = leaves[known[0]]
    return list(leaf_of_runs.values())
