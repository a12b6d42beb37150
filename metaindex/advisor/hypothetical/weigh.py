"""Weighs candidates for queries: the what-if answer."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence

import numpy as np

from metaindex.advisor.clustering.sample import Sampled, check_share, limit_of
from metaindex.advisor.workloads.asked import Stands
from metaindex.core import Mask, MetaIndexError, Vector, counted, dataclass
from metaindex.expressions import Predicate
from metaindex.formats import TAIL, Leaf, Snapshot, TableRef, predicate_of
from metaindex.index import Sandbox
from metaindex.query import FooterGroups, Scan, human_bytes

from .answer import Effect, QueryWeighed, Rate, Reads, WhatIf
from .baseline import Baseline, Rows
from .built import Built, build
from .candidates import Candidate, following
from .copy import read_of
from .effect import Now, with_candidate
from .redraws import Redraws
from .sample_context import SampleContext
from .sampling import FileSample, needs_of, sampled

_REMEMBERED = 64
"""Sets of columns of which the row groups of sampled files are remembered."""


@dataclass(frozen=True, slots=True)
class AskedQuery:
    """A condition in whatever words, and how it is called. `seen`: how often it is asked; `needs`: the columns that the
    query reads, by their paths (`candidates.A_PART`), none where its condition alone is known; `joined`, `grouped`,
    `ordered`: by which, by name; `stands`: for others with other literals, None where `seen` is how often it came."""

    condition: object
    text: str
    seen: int = 1
    needs: frozenset[tuple[str, ...]] = frozenset()
    joined: tuple[str, ...] = ()
    grouped: tuple[str, ...] = ()
    ordered: tuple[str, ...] = ()
    stands: Stands | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """The parameters of a what-if question. `candidates`: none for those that follow from the queries, of which
    `copies` may keep rows; `sample`: share of the table's bytes to read, None for a hundredth, of small tables all."""

    queries: tuple[AskedQuery, ...]
    candidates: tuple[Candidate, ...]
    sample: float | None
    time_zone: str
    path: str
    copies: bool = True

    def __post_init__(self) -> None:
        check_share(self.sample)


@dataclass(frozen=True, slots=True)
class TableContext:
    """The table as it was opened: what queries may use, how a file is read, how it grows."""

    ref: TableRef
    standing: Baseline
    scan: Callable[[int, Sequence[Leaf]], Scan]
    rate: Callable[[], Rate]
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class Weighing:
    """Queries of a table, what they read now, and a sample over which candidates are built. `trees`: of each query its
    predicate, or why it has none; `wanted`: the files that some query reads now."""

    asked: Asked
    hand: TableContext
    trees: tuple[Predicate | str, ...]
    wanted: Mask
    limit: int
    sight: SampleContext
    nows: dict[Predicate, Now]
    rate: Rate

    @classmethod
    def of(cls, asked: Asked, hand: TableContext) -> Weighing:
        """Prepare to weigh. Raises nothing of a query: its problem is reported."""
        snapshot = hand.standing.snapshot
        trees = tuple(_tree(query.condition, snapshot, asked.time_zone) for query in asked.queries)
        known = dict.fromkeys(tree for tree in trees if not isinstance(tree, str))
        limit = limit_of(asked.sample, snapshot.files.size_bytes)
        wanted = np.zeros(len(snapshot.files), np.bool_)
        for tree in known:
            wanted |= hand.standing.kept(hand.standing.answer(tree))
        footers, redraws = FooterGroups(hand.ref.storage, _REMEMBERED), Redraws(snapshot, hand.scan)
        shown = [parts for query in asked.queries for parts in query.needs] if asked.copies else []
        needs = needs_of(list(known), asked.candidates, shown, snapshot.schema)
        sight = SampleContext(
            hand.standing, sampled(snapshot, wanted, limit, needs, footers), footers, hand.scan, redraws
        )
        nows = {tree: Now.of(tree, sight) for tree in known}
        rate = hand.rate() if len(snapshot.files) else Rate(reason="it has no files")
        return cls(asked, hand, trees, wanted, limit, sight, nows, rate)

    @property
    def snapshot(self) -> Snapshot:
        return self.hand.standing.snapshot

    def built(self, candidate: Candidate, folder: str, *, footers: bool = True) -> Built:
        """Build a candidate; raises nothing of it. `folder`: an own one, in which it stays as long as it is asked;
        `footers`: may those of all files be read?"""
        bench = Sandbox(self.hand.ref, self.snapshot, folder)
        known, wanted = list(self.nows), np.flatnonzero(self.wanted)
        return build(bench, self.sight, candidate, known, wanted, self.rate, footers=footers and self.limit > 0)

    @property
    def sampled(self) -> Sampled:
        """Return what was read for the answer."""
        return _told(self.snapshot, self.sight.sampling, self.limit)

    def notes(self, built: Sequence[Built]) -> tuple[str, ...]:
        return (*self.hand.notes, *_footers_read(self.sight, built, np.flatnonzero(self.wanted)))


def weigh(asked: Asked, hand: TableContext) -> WhatIf:
    """Weigh candidates. Raises nothing of a query or a candidate: its problem is reported, and the others go on."""
    weighing = Weighing.of(asked, hand)
    snapshot = weighing.snapshot
    candidates = asked.candidates or tuple(following(weighing.nows, snapshot.schema))
    with tempfile.TemporaryDirectory(prefix="_metaindex-") as folder:
        built = [weighing.built(candidate, folder) for candidate in candidates]
        queries = [
            QueryWeighed(query.text, problem=tree, weight=query.seen, stands=query.stands)
            if isinstance(tree, str)
            else _weighed(weighing.sight, weighing.nows[tree], query, built)
            for query, tree in zip(asked.queries, weighing.trees, strict=True)
        ]
    return WhatIf(
        table=asked.path,
        format=snapshot.format,
        version=str(snapshot.version),
        files=len(snapshot.files),
        size_bytes=snapshot.files.size_bytes,
        queries=tuple(queries),
        candidates=tuple(one.cost for one in built),
        sampled=weighing.sampled,
        rate=weighing.rate,
        notes=weighing.notes(built),
    )


def _told(snapshot: Snapshot, sampling: FileSample, limit: int) -> Sampled:
    total = snapshot.files.size_bytes
    if not len(sampling.rows):
        few = f"of no file the columns that are asked have as few as {limit:,} bytes, the limit"
        reason = "the limit is 0" if not limit else few
        return Sampled(
            limit_bytes=limit, total_bytes=total, reason=reason if len(snapshot.files) else "it has no files"
        )
    some = snapshot.files.table.take(sampling.rows)
    counts = Vector(some.column("record_count")).array
    rows = 0 if counts.null_count else int(Vector(counts).numbers.sum())
    return Sampled(len(sampling.rows), sampling.size_bytes, rows, limit, total)


def _footers_read(sight: SampleContext, built: Sequence[Built], wanted: Rows) -> list[str]:
    """Return notes on what was read beside the sample."""
    if sight.bounds is None and not any(one.exact for one in built):
        return []
    most = human_bytes(int(np.minimum(sight.sizes[wanted], TAIL).sum()))
    exactly = ": what statistics leave out is told exactly" if any(one.exact for one in built) else ""
    return [f"footers of {counted(len(wanted), 'file')} were read, too, beside the limit (up to {most}){exactly}"]


def _tree(query: object, snapshot: Snapshot, time_zone: str) -> Predicate | str:
    """The predicate, or why it is none."""
    try:
        return predicate_of(query, snapshot.schema, time_zone)
    except MetaIndexError as error:
        return str(error)


def _weighed(sight: SampleContext, now: Now, query: AskedQuery, built: Sequence[Built]) -> QueryWeighed:
    effects = tuple(_effect(sight, now, query.needs, candidate) for candidate in built)
    return QueryWeighed(query.text, now.reads, effects, weight=query.seen, stands=query.stands)


def _effect(sight: SampleContext, now: Now, needs: frozenset[tuple[str, ...]], built: Built) -> Effect:
    tried_on = int(np.count_nonzero(now.kept[built.rows]))
    name = built.cost.candidate
    if built.cost.problem:
        return Effect(name, now.reads, 0, "it cannot be built")
    if built.copies:
        found = read_of(sight, now, needs, built.copies[0])
        return Effect(name, found.reads or now.reads, tried_on, found.note, found.instead_of)
    exact, sampled = built.indexes
    if not exact and not sampled:
        return Effect(name, now.reads, 0, "not tried: no file was read")
    reads, result = with_candidate(sight, now, exact, sampled, built.rows)
    names = {one.name for one in (*exact, *sampled)}
    idle = [one.reason for one in result.indexes if one.name in names and not one.used]
    if len(idle) == len(names):
        return Effect(name, now.reads, tried_on, idle[0])
    return Effect(name, reads, tried_on, idle[0] if idle else _remark(now, reads, tried_on))


def _remark(now: Now, reads: Reads, tried_on: int) -> str:
    if reads.files.exact or tried_on:
        return ""
    return f"not tried: none of the {counted(int(now.reads.files.expected), 'file')} that it reads was in the sample"
