"""The context in which candidates are weighed: the table, its sampled files, and its existing indexes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import field
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from metaindex.core import Vector, dataclass
from metaindex.expressions import Predicate, columns
from metaindex.formats import Leaf, Snapshot
from metaindex.index import OpenIndex, covered_columns
from metaindex.query import FooterGroups, PruneResult, Scan

from .baseline import Baseline, Rows
from .posterior import Floats
from .redraws import Redraws
from .sampling import FileSample

T = TypeVar("T")


@dataclass(slots=True)
class SampleContext:
    """The context in which candidates are weighed: the table, the rows of its sampled files, and readers of both."""

    standing: Baseline
    sampling: FileSample
    groups: FooterGroups
    scan: Callable[[int, Sequence[Leaf]], Scan]
    redraws: Redraws
    bounds: OpenIndex | None = None  # of the queries' columns in the files that they read now, where footers tell
    _known: dict[Hashable, Any] = field(default_factory=dict)

    def once(self, key: Hashable, work: Callable[[], T]) -> T:
        """Return the result of `work`, which is called once for a key."""
        if key not in self._known:
            self._known[key] = work()
        known: T = self._known[key]
        return known

    @property
    def snapshot(self) -> Snapshot:
        return self.standing.snapshot

    @property
    def sample(self) -> Rows:
        """The files of which something is read."""
        return self.sampling.rows

    @property
    def sizes(self) -> Floats:
        return Vector(self.snapshot.files.table.column("size_bytes")).numbers.astype(np.float64)

    @property
    def grouped(self) -> bool:
        """True if the files have row groups."""
        return self.snapshot.details.read_options().get("file_format", "parquet") == "parquet"

    def places(self, standing: Baseline, candidate: Sequence[OpenIndex]) -> Baseline:
        """Add the footers' bounds of the columns that the candidate knows: they exclude files in which no row has an
        asked value."""
        if self.bounds is None:
            return standing
        runs = [run for index in candidate for run in index.entry.content.runs]
        known = frozenset(stable for run in runs for stable in covered_columns(run))
        bounds = self.bounds
        return standing.with_more(self.once(known, lambda: bounds.narrowed("bounds in footers", known)))

    def facts_tell(self, tree: Predicate, candidate: Sequence[OpenIndex]) -> bool:
        """Return whether the bounds of all files tell as much about the query as the candidate would: it then keeps
        only bounds, of columns that footers tell."""
        runs = [run for index in candidate for run in index.entry.content.runs]
        if self.bounds is None or any(run.keys for run in runs):
            return False
        by_name = {leaf.parts: leaf for leaf in self.snapshot.schema.leaves()}
        asked = {by_name[ref.parts].stable for ref in columns(tree) if ref.parts in by_name}
        known = {column.stable for run in self.bounds.entry.content.runs for column in run.columns}
        return asked & {column.stable for run in runs for column in run.columns} <= known

    def groups_of(self, result: PruneResult, row: int) -> int:
        """The row groups of a kept file that may match."""
        path = self.snapshot.files.paths[row].as_py()
        (found,) = self.groups.of(result, path, [result.walked])
        return int(np.count_nonzero(found.kept))


def is_float(leaf: Leaf) -> bool:
    """A column of which footers tell all but NaN."""
    return len(leaf.parts) == 1 and pa.types.is_floating(leaf.type) and not leaf.field.partition
