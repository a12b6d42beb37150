"""The sample: the columns that candidates and queries need, of as many files as the limit allows. A column of a
hundredth of the bytes is read of a hundred times as many files as whole ones.

What keeps rows of the table needs more columns, and facts that footers do not tell have to be read: these are read of
some of the files alone. (What facts leave out is told by the footers of all files, where the sample agrees.)"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import field
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from metaindex.advisor.clustering.sample import FEW_FILES, ColumnCosts, Paths, ReadLimit, chosen
from metaindex.core import Cure, Mask, MetaIndexError, Vector, dataclass
from metaindex.expressions import Predicate
from metaindex.formats import FileTable, Leaf, Schema, Snapshot
from metaindex.index import Kind, OpenIndex
from metaindex.query import FooterGroups, PruneResult, Scan

from .baseline import Baseline, Rows
from .candidates import Candidate
from .estimates import Floats
from .redraws import PredicateShape, Redraws

MOST_FILES = 64
SMALL_FILES = 2_000
"""So many files of a small table are all read."""
_OF_COPIES = 0.5
"""Of what may be read, what is kept for columns that are read of some files alone, where these are rows of a copy."""
_OF_FACTS = 0.1
"""The same of facts, which are read for their cost alone."""

Sizes = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class SampleNeeds:
    """`narrow`: columns that are read of every file of the sample, None for all there are; `wide`: those that are read
    of some of them, `narrow` among them."""

    narrow: Paths | None
    wide: Paths | None
    copies: bool = True  # are the others those of rows that are kept?

    @property
    def alike(self) -> bool:
        return self.narrow is None or self.wide == self.narrow


@dataclass(frozen=True, slots=True)
class FileSample:
    """Rows of the snapshot's files: those of which some columns are read, and those of them of which more are.
    `size_bytes`: what is read of them, no more than `limit`; `reason`: why of none, or of none the others."""

    rows: Rows
    wide: Rows
    size_bytes: int
    limit: int
    needs: SampleNeeds
    reason: str = ""

    @property
    def unjudged(self) -> str:
        """Return why a candidate could not be built."""
        return f"could not be judged: {self.reason}"

    @property
    def beside(self) -> str:
        """Return why a candidate that was built tells nothing of a query."""
        more = Cure("argument", "sample")
        return f"could not be judged: none of the files that are read now is in the sample; allow more with {more}"

    def of(self, candidate: Candidate, schema: Schema) -> Rows:
        """The files over which a candidate is built; none if it cannot be judged."""
        several = [kind for kind in candidate.kinds if _is_wide(kind, schema)]
        if not several or (not len(self.wide) and not any(self._needs_more(kind, schema) for kind in several)):
            return self.rows
        return self.wide

    def _needs_more(self, kind: Kind, schema: Schema) -> bool:
        leaves = kind.reads(schema)
        narrow = self.needs.narrow
        return narrow is not None and (leaves is None or not narrow.issuperset(leaf.source for leaf in leaves))


def _asked(trees: Iterable[Predicate], schema: Schema) -> Paths:
    """The columns of conditions."""
    by_name = {leaf.parts: leaf.source for leaf in schema.leaves()}
    return frozenset(by_name[ref.parts] for tree in trees for ref in tree.columns if ref.parts in by_name)


def needs_of(
    trees: Sequence[Predicate], candidates: Sequence[Candidate], shown: Iterable[tuple[str, ...]], schema: Schema
) -> SampleNeeds:
    """`candidates`: none for those that follow from the queries, which need no other columns than these and `shown`,
    those that they show."""
    compared = _asked(trees, schema)
    if not candidates:
        by_name = {leaf.parts: leaf.source for leaf in schema.columns}
        return SampleNeeds(compared, compared | {by_name[parts] for parts in shown if parts in by_name})
    narrow: set[tuple[str, ...]] = set()
    wide: set[tuple[str, ...]] = set()
    for candidate in candidates:
        for kind in candidate.kinds:
            try:
                leaves = kind.reads(schema)
            except MetaIndexError:
                continue  # it cannot be built, which is told
            if leaves is None:
                return SampleNeeds(None, None)
            sources = {leaf.source for leaf in leaves}
            if kind.keeps_rows:
                narrow |= {leaf.source for leaf in leaves[: kind.bounded]}  # their values are counted
            elif not _is_wide(kind, schema):
                narrow |= sources
            wide |= sources
    for tree in trees:  # queries are drawn anew by all columns that they compare
        shape = PredicateShape.of(tree, schema)
        drawn = {leaf.source for leaf in shape.leaves(schema)} if shape is not None else set()
        narrow |= drawn if drawn & narrow else set()
    return SampleNeeds(frozenset(narrow), frozenset(narrow | wide), any(candidate.copies for candidate in candidates))


def _is_wide(kind: Kind, schema: Schema) -> bool:
    """Return whether the kind is built over some files of the sample alone."""
    if kind.keeps_rows:
        return True
    try:
        return kind.keeps_facts and bool(kind.reads(schema))
    except MetaIndexError:
        return False


def sampled(
    snapshot: Snapshot, wanted: Mask, allowed: ReadLimit, needs: SampleNeeds, footers: FooterGroups
) -> FileSample:
    """The files to read: all of them where the limit allows it, else half of those that queries read now, and half of
    all, each evenly spread."""
    files, limit = snapshot.files, allowed.of(snapshot.files.size_bytes)
    every = np.arange(len(files), dtype=np.int64)
    if not len(files) or allowed.share == 0:
        return FileSample(
            every[:0], every[:0], 0, 0, needs, allowed.too_low(0, 0, 0) if len(files) else "it has no files"
        )
    if files.size_bytes <= limit and len(files) <= SMALL_FILES:
        return FileSample(every, every, files.size_bytes, limit, needs)
    costs = ColumnCosts.of(snapshot, footers)
    few, whole = FEW_FILES * costs.of_one(needs.narrow), 0.0 if needs.alike else costs.of_one(needs.wide)
    limit = allowed.of(files.size_bytes, few + whole)
    kept = 0.0 if needs.alike else max((_OF_COPIES if needs.copies else _OF_FACTS) * limit, min(whole, limit - few))
    rows = costs.fitting(needs.narrow, int(limit - kept), lambda most, each: _spread(files, wanted, most, each))
    size_bytes = costs.total(rows, needs.narrow)
    why = allowed.too_low(limit, files.size_bytes, few / FEW_FILES if not len(rows) else whole)
    for count in range(0 if needs.alike else len(rows), 0, -1):
        wide = rows[((np.arange(count) + 0.5) * len(rows) / count).astype(np.int64)]
        more = costs.total(wide, needs.wide) - costs.total(wide, needs.narrow)
        if size_bytes + more <= limit:
            return FileSample(rows, wide, size_bytes + more, limit, needs)
    return FileSample(rows, rows if needs.alike else rows[:0], size_bytes, limit, needs, why)


def _spread(files: FileTable, wanted: Mask, limit: int, sizes: Sizes) -> Rows:
    if wanted.all() or not wanted.any():
        return chosen(files, limit, MOST_FILES, sizes)
    those = np.flatnonzero(wanted)
    some = FileTable(files.table.filter(Vector.arrow(wanted)))
    first = those[chosen(some, limit // 2, MOST_FILES // 2, sizes[those])]
    if not len(first):
        first = those[chosen(some, limit, MOST_FILES // 2, sizes[those])]
    more = chosen(files, limit - int(sizes[first].sum()), MOST_FILES // 2, sizes)
    return np.union1d(first, more)


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
        known = frozenset(stable for index in candidate for stable in index.covered_columns())
        bounds = self.bounds
        return standing.with_more(self.once(known, lambda: bounds.narrowed("bounds in footers", known)))

    def facts_tell(self, tree: Predicate, candidate: Sequence[OpenIndex]) -> bool:
        """Return whether the bounds of all files tell as much about the query as the candidate would: it then keeps
        only bounds, of columns that footers tell."""
        runs = [run for index in candidate for run in index.entry.content.runs]
        if self.bounds is None or any(run.keys for run in runs):
            return False
        by_name = {leaf.parts: leaf for leaf in self.snapshot.schema.leaves()}
        needed = {by_name[ref.parts].stable for ref in tree.columns if ref.parts in by_name}
        known = {column.stable for run in self.bounds.entry.content.runs for column in run.columns}
        return needed & {column.stable for run in runs for column in run.columns} <= known

    def asks_floats(self, tree: Predicate) -> bool:
        """Return whether a column may hold NaN, of which footers do not tell."""
        asked = {ref.parts for ref in tree.columns}
        return any(leaf.parts in asked and is_float(leaf) for leaf in self.snapshot.schema.leaves())

    def share_of(self, sources: Iterable[tuple[str, ...]]) -> float:
        """Estimate the share of the files' bytes that these columns take, by footers of sampled files; 1 for files
        whose columns do not lie apart."""
        beginnings = tuple(sorted(f"{'.'.join(source)}." for source in sources))
        return self.once(("share of", beginnings), lambda: self._share_of(beginnings)) if self.grouped else 1.0

    def _share_of(self, beginnings: tuple[str, ...]) -> float:
        shares = []
        for row in self.sample.tolist():
            if chunks := self.groups.chunk_bytes(self.snapshot.files.paths[row].as_py()):
                inside = sum(size for name, size in chunks.items() if f"{name}.".startswith(beginnings))
                shares.append(inside / max(float(self.sizes[row]), 1.0))
        return float(np.mean(shares)) if shares else 1.0

    def groups_of(self, result: PruneResult, row: int) -> int:
        """The row groups of a kept file that may match."""
        path = self.snapshot.files.paths[row].as_py()
        (found,) = self.groups.of(result, path, [result.walked])
        return int(np.count_nonzero(found.kept))


def is_float(leaf: Leaf) -> bool:
    """A column of which footers tell all but NaN."""
    return len(leaf.parts) == 1 and pa.types.is_floating(leaf.type) and not leaf.field.partition
