"""A covering index as a candidate: rows of the sample are put as its rows would be, for their size; the share of the
rows that a query's conditions on its first column keep is counted on the sample, and priced as the rule of Spark's
optimizer prices it (`ranking`), with what was counted in place of its constants. Along a curve the rows of the
sample are cut into as many parts, and pages, as the index would have, and those are asked as the index's parts are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import replace

import numpy as np
import pyarrow as pa

from metaindex.advisor.clustering.sample import evenly
from metaindex.advisor.ranking import Offer, Restriction
from metaindex.core import MetaIndexError, dataclass
from metaindex.expressions import And, ColumnRef, Predicate, conjuncts
from metaindex.formats import Leaf
from metaindex.index import Kind, Sandbox
from metaindex.query import Scan

from .answer import Reads
from .baseline import Rows
from .candidates import AskedQuery, in_part
from .cost import Weighed, Weight, size_of
from .effect import Now
from .estimates import Estimate, Floats
from .sampling import SampleContext

_Z = 1.645
"""A normal number is within so many standard deviations with 90%."""
_OPENED = 8 << 10
"""Read of a part beside its pages: its footer and its page index."""
_BUFFER = 64 << 10
"""Spark reads pages that stand together, but no fewer bytes at once (`spark.buffer.size`)."""
_MOST_ROWS = 1 << 20
"""Of the sample: sorting more takes longer than what it would tell is worth."""
_GUESSED = "no sampled file tells the share of its rows, which is guessed"


@dataclass(frozen=True, slots=True)
class Copy:
    """`columns` of `parts` parts, or in `buckets`: the first ones are `indexed`, and `bounded` of them skip parts;
    `left`: the share of so many parts, and pages, of its `sampled` rows that conditions leave along a curve. `trials`:
    the sample, and half of it."""

    bounded: int
    indexed: int
    buckets: int
    columns: tuple[Leaf, ...]
    parts: int
    sampled: int
    left: Callable[[Sequence[Predicate], int, int], tuple[float, float]]
    trials: tuple[Weighed, ...]
    size: Estimate
    rows: float  # of the table
    stored: Mapping[tuple[str, ...], Estimate]  # of the size, by column; a query reads no lineage

    @property
    def names(self) -> list[tuple[str, ...]]:
        return [leaf.parts for leaf in self.columns]


def copied(bench: Sandbox, sight: SampleContext, kind: Kind, portions: Sequence[Rows]) -> Copy:
    """Puts the rows of these files, and of fewer; of many rows some. Raises what a scan, or the kind, raises."""
    held = [_Held(sight, max(_MOST_ROWS // max(len(files), 1), 1)) for files in portions]
    # What is loaded by the first counts for nothing then.
    some = zip(reversed(portions), reversed(held), strict=True)
    stored = [bench.tried_rows(kind, files, each.scan) for files, each in some][::-1]
    weights = [each.weight(bench, files) for files, each in zip(portions, held, strict=True)]
    sample, every = stored[0], Weight.of(bench.snapshot)
    trials = [Weighed(w, some.column_bytes, 0, some.cpu_seconds) for w, some in zip(weights, stored, strict=True)]
    plan, rows, size = sample.plan, sample.rows.num_rows, size_of(trials, every)
    count = rows * every.rows / weights[0].rows  # it counts bytes where some file tells no rows
    by_column = {
        leaf.parts: size_of([replace(t, part_bytes={leaf.stable: t.part_bytes[leaf.stable]}) for t in trials], every)
        for leaf in plan.columns
    }
    parts = plan.parts_at(size.expected)
    placed = (kind.bounded, plan.indexed, plan.buckets)
    return Copy(*placed, plan.columns, parts, rows, sample.left, tuple(trials), size, count, by_column)


@dataclass(slots=True)
class _Held:
    """Scans files, of each at most so many rows, evenly spread; counts them."""

    sight: SampleContext
    most: int
    seen: int = 0
    kept: int = 0

    def scan(self, row: int, leaves: Sequence[Leaf]) -> pa.RecordBatchReader:
        stream = self.sight.scan(row, leaves).to_reader()
        held = evenly(self._counted(stream), stream.schema, self.most)
        self.kept += held.num_rows
        return held.to_reader()

    def weight(self, bench: Sandbox, files: Rows) -> Weight:
        """Return the weight of the rows that were kept of the scanned files."""
        whole, share = Weight.of(bench.snapshot, files), self.kept / max(self.seen, 1)
        return Weight(max(whole.rows * share, 1.0), max(whole.size_bytes * share, 1.0))

    def _counted(self, stream: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
        for batch in stream:
            self.seen += batch.num_rows
            yield batch


def _count(plan: Scan) -> int:
    return sum(batch.num_rows for batch in plan.to_reader())


@dataclass(frozen=True, slots=True)
class CopyRead:
    """The reads of a query from a copy, or why the rule would read the table. `instead_of`: what the same columns take
    in the files that it reads now; `fits`: the copy has all of them."""

    reads: Reads | None
    instead_of: float = 0.0
    note: str = ""
    fits: bool = False


def read_of(sight: SampleContext, now: Now, query: AskedQuery, copy: Copy) -> CopyRead:
    """Apply the rules of covering indexes: all columns of the query are there, a struct that it needs whole as such,
    and it has a condition on the first one."""
    needs = query.needs
    if parts_of := in_part(needs):
        return CopyRead(None, note=f"the query reads a part of the column {parts_of[0]}, which Spark reads alone")
    own = (ref.parts for ref in now.tree.columns)
    asked_for = [*(parts for parts in own if parts[:1] == parts or parts[:1] not in needs), *sorted(needs)]
    missing = [ColumnRef(parts).name for parts in asked_for if parts not in copy.names]
    if missing:
        return CopyRead(None, note=f"it does not have the column {missing[0]}")
    first = [ColumnRef(parts) for parts in copy.names[: copy.bounded]]
    restricted = Restriction.by_column(conjuncts(now.tree))
    if first[0] not in restricted and not (len(first) > 1 and _asks_of(now.tree, first)):
        which = f"first column, {first[0].name}" if len(first) == 1 else "indexed columns"
        note = f"the query asks nothing of its {which}"
        if first[0].name.lower() in query.keys:
            note = f"it leaves out no bytes; what it spares of a shuffle or a sort by {first[0].name} is not counted"
        return CopyRead(None, note=note, fits=True)
    left = _of_order(sight, now, copy, restricted[first[0]]) if len(first) == 1 else _of_curve(copy, now)
    read = _bytes_of(copy, set(asked_for), left, restricted.get(first[0], Restriction()).equal)
    source = _source(sight, now, copy, set(asked_for))
    if not pays(source, read.expected):
        why = "the table is read: the columns take no more in the files that it reads now"
        return CopyRead(None, note=why, fits=True)
    return CopyRead(Reads(left.parts, None, read), source, left.note, fits=True)


def pays(source: float, read: float) -> bool:
    """Return whether the rule of Spark's optimizer would read an index in the table's place."""
    return Offer("", source, read, True, frozenset(), 0, ()).alone > 0


def _bytes_of(copy: Copy, needs: Set[tuple[str, ...]], left: Left, equal: int) -> Estimate:
    """Estimate what is read of these columns. Rows of a value, or of a range, begin and end amid a page, in each part
    or for each value; pieces along a curve are pages themselves."""
    whole = copy.size.expected / copy.parts
    runs = (left.parts.low, left.parts.expected, left.parts.high)
    bounds = []
    for bound, share, parts in zip(("low", "expected", "high"), left.shares, runs, strict=True):
        times = max(parts, equal, 1.0)
        pages = buffered = 0.0
        for name in needs:
            size = getattr(copy.stored[name], bound)
            page = size * min(1.0, Offer.PAGE_ROWS * times / max(copy.rows, 1.0))
            begun = page if copy.bounded == 1 and bound != "low" else 0.0
            read = min(max(size * share + begun, page), size)
            pages, buffered = pages + read, buffered + max(read, _BUFFER * times * (2 if bound == "high" else 1))
        bounds.append(float(parts * _OPENED + max(pages, min(buffered, parts * whole))))
    return Estimate(*bounds)


def _asks_of(tree: Predicate, some: Sequence[ColumnRef]) -> bool:
    """Return whether some condition is on these columns alone."""
    named = (set(part.columns) for part in conjuncts(tree))
    return any(refs and refs <= set(some) for refs in named)


def _of_curve(copy: Copy, now: Now) -> Left:
    """Estimate what is left along a curve, of as many parts and pages as the index would have."""
    most = max(1, copy.sampled // _LEAST_ROWS)
    pages = min(most, max(copy.parts, int(copy.rows // Offer.PAGE_ROWS)))
    parts, share = copy.left(conjuncts(now.tree), min(most, copy.parts), pages)
    shares = share * (1 - _OFF), share, min(1.0, share * (1 + _OFF))
    low, high = np.floor(parts * (1 - _OFF) * copy.parts), np.ceil(parts * (1 + _OFF) * copy.parts)
    return Left(shares, Estimate(float(low), parts * copy.parts, float(min(high, copy.parts))))


def _of_order(sight: SampleContext, now: Now, copy: Copy, restriction: Restriction) -> Left:
    """Estimate the rows left in buckets, or in the order of the first column."""
    first, indexed = ColumnRef(copy.names[0]), [".".join(parts) for parts in copy.names[: copy.indexed]]
    counted = sight.once(("share", _about(now.tree, first)), lambda: _share(sight, _about(now.tree, first), first))
    buckets = copy.buckets
    shares = [restriction.share] * 3 if counted is None else [counted.low, counted.expected, counted.high]
    left = [
        Restriction.share_read({indexed[0]: replace(restriction, measured=share)}, indexed, buckets) for share in shares
    ]
    parts = copy.parts
    if buckets:
        some = min(buckets, restriction.equal) if restriction.equal and len(indexed) == 1 else buckets
        files = Estimate.exactly(float(some))
    else:  # a range begins and ends in the midst of parts
        left_parts = [min(parts, max(1.0, np.floor(share * parts))) for share in shares]
        files = Estimate(float(left_parts[0]), float(left_parts[1]), float(min(parts, left_parts[2] + 1)))
    return Left((left[0], left[1], left[2]), files, "" if counted is not None else _GUESSED)


def _about(tree: Predicate, first: ColumnRef) -> tuple[Predicate, ...]:
    """The conditions on a column alone."""
    return tuple(part for part in conjuncts(tree) if set(part.columns) == {first})


def _share(sight: SampleContext, parts: tuple[Predicate, ...], first: ColumnRef) -> Estimate | None:
    """Estimate the share of rows for which these conditions on a column are true: counted in sampled files of those
    that statistics and indexes keep for them; other files have none."""
    if not parts:
        return None
    alone = And(parts) if len(parts) > 1 else parts[0]
    kept = sight.standing.kept(sight.standing.answer(alone))
    rows = sight.sample[kept[sight.sample]]
    if not kept.any():
        return Estimate.exactly(0.0)
    if not len(rows):
        return None
    leaf = next(leaf for leaf in sight.snapshot.schema.leaves() if leaf.parts == first.parts)
    counts: list[tuple[int, int]] = []
    for row in rows.tolist():
        plan = sight.scan(row, [leaf])
        try:
            every = _count(plan)
            counts.append((_count(replace(plan, predicate=alone)), every))
        except (MetaIndexError, OSError):
            continue
    if not counts:
        return None
    hits, trials = (np.array(one, np.float64) for one in zip(*counts, strict=True))
    scope = Weight.of(sight.snapshot, np.flatnonzero(kept)).rows / Weight.of(sight.snapshot).rows
    return _of_rows(hits, trials, scope, whole=len(rows) == int(kept.sum()))


def _of_rows(hits: Floats, trials: Floats, scope: float, *, whole: bool) -> Estimate:
    """The share with its bounds: files are alike as far as those of the sample are."""
    share = float(hits.sum() / max(trials.sum(), 1.0))
    if whole:
        return Estimate.exactly(share * scope)
    count = len(hits)
    spread = float(np.sqrt(((hits - share * trials) ** 2).sum() / max(count - 1, 1)) / max(trials.mean(), 1.0))
    off = _Z * spread / np.sqrt(count) * (1 + 2 / count) if count > 1 else share
    least = 3.0 / max(trials.sum(), 1.0)  # what was seen in no row may be in so many
    return Estimate(max(share - off, 0.0) * scope, share * scope, min(max(share + off, least), 1.0) * scope)


def _source(sight: SampleContext, now: Now, copy: Copy, needs: Set[tuple[str, ...]]) -> float:
    """Estimate what these columns take in the files that the query reads now; for CSV and JSON the whole files."""
    sources = [leaf.source for leaf in copy.columns if leaf.parts in needs]
    return float(sight.sizes[now.kept].sum()) * sight.share_of(sources)


_OFF = 0.25
"""By so much a share of the pieces of a sample is off that of the index's, in nine cases of ten."""
_LEAST_ROWS = 16
"""Of a piece of the sample: those of fewer are narrower than pages of their number would be."""


@dataclass(frozen=True, slots=True)
class Left:
    """The rest of a copy that a query reads: shares of its bytes at least, probably and at most; and how many parts."""

    shares: tuple[float, float, float]
    parts: Estimate
    note: str = ""
