"""The evaluation of one table's candidates, built over its sample: what some of them spare each query."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from typing import TypeVar

import numpy as np

from metaindex.advisor.hypothetical.answer import Reads
from metaindex.advisor.hypothetical.baseline import Baseline
from metaindex.advisor.hypothetical.built import Built, asks, narrowed, reads_with
from metaindex.advisor.hypothetical.candidates import Candidate, named
from metaindex.advisor.hypothetical.copy import CopyRead, read_of
from metaindex.advisor.hypothetical.effect import Now
from metaindex.advisor.hypothetical.posterior import Estimate
from metaindex.advisor.hypothetical.spread import Spread, most_read
from metaindex.advisor.hypothetical.weigh import Weighing
from metaindex.core import MetaIndexError, Vector, dataclass
from metaindex.expressions import ColumnRef, Or, columns, conjuncts
from metaindex.formats import Leaf
from metaindex.index import FactKind, KeyKind, Kind, RowKind
from metaindex.query import MARGIN

from .choosing import NONE, Some
from .suggesting import QueryAsked, Suggestions, suggested

_MOST_OPTIONS = 16
_FOOTERS = 8
NOTHING = Estimate.exactly(0.0)


@dataclass(frozen=True, slots=True)
class QuerySpared:
    """The reads that one run of a query would be spared."""

    size_bytes: Estimate = NOTHING
    files: Estimate = NOTHING


@dataclass(slots=True)
class TableEvaluation:
    """`queries`: those that can be answered and read something now; `spread`: of them, and behind them of those that
    read nothing. `given`: the candidates of the caller, none for those that follow from the queries. `unindexed_bytes`:
    what the workload would read of the table without any index."""

    weighing: Weighing
    queries: tuple[QueryAsked, ...]
    candidates: tuple[Candidate, ...]
    built: tuple[Built, ...]
    notes: tuple[str, ...]
    spread: Spread
    narrowed: Some = NONE
    touched: tuple[Some, ...] = ()
    unindexed_bytes: float = 0.0
    _copies: dict[tuple[int, int], CopyRead] = field(default_factory=dict)
    _known: dict[tuple[int, Some], QuerySpared] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        weighing: Weighing,
        given: Sequence[Candidate],
        folder: str,
        progress: Callable[[int, int], None],
        *,
        copies: bool,
    ) -> TableEvaluation:
        """Build the candidates in a folder of its own. Raises nothing of a candidate or a query. `copies`: may
        candidates that follow from the queries keep rows of the table?"""
        answered = list(_queries(weighing))
        queries = tuple(query for query in answered if query.weight)
        ordered = [*queries, *(query for query in answered if not query.weight)]
        spread = Spread.of([query.asked.seen for query in ordered], [query.asked.stands for query in ordered])
        follows = Suggestions() if given else suggested(queries, weighing.snapshot.schema, copies=copies)
        candidates = tuple(given) or tuple(named(list(follows.kinds)))
        built = []
        for number, candidate in enumerate(candidates):
            progress(number, len(candidates))
            built.append(weighing.built(candidate, folder))
        case = cls(weighing, queries, candidates, tuple(built), tuple(follows.notes), spread)
        case.unindexed_bytes = _without_indexes(weighing, answered)
        if not given:
            case._narrow()
        case.touched = tuple(case._touching(number) for number in range(len(queries)))
        return case

    def _narrow(self) -> None:
        """Narrow candidates that keep statistics of several columns to those columns that skip anything."""
        for number, (candidate, built) in enumerate(zip(self.candidates, self.built, strict=True)):
            kind = candidate.kinds[0]
            if len(candidate.kinds) > 1 or not isinstance(kind, FactKind) or not self._may_be_chosen(number):
                continue
            every = kind.leaves(self.weighing.snapshot.schema)
            helping = [leaf for leaf in every if self._helps(narrowed(built, "", {leaf.stable}, 0.0), leaf)]
            if 0 < len(helping) < len(every):
                fewer = kind.narrowed([ColumnRef(leaf.parts).name for leaf in helping])
                name, stables = fewer.title, {leaf.stable for leaf in helping}
                view = narrowed(built, name, stables, len(helping) / len(every))
                self.candidates = _with(self.candidates, number, Candidate(name, (fewer,)))
                self.built = _with(self.built, number, view)
                self.narrowed |= {number}

    def _helps(self, built: Built, leaf: Leaf) -> bool:
        """Return whether the column helps alone, or, in an OR, perhaps together with others."""
        for number, query in enumerate(self.queries):
            now = self.now(number)
            if leaf.parts not in {ref.parts for ref in columns(query.tree)}:
                continue
            if any(isinstance(part, Or) for part in conjuncts(query.tree)):
                return True
            reads = reads_with(self.weighing.sight, now, [built])
            if reads.size_bytes.expected < now.reads.size_bytes.expected:
                return True
        return False

    @property
    def read_bytes(self) -> float:
        """Return what the workload reads, as things are."""
        return sum(query.weight for query in self.queries)

    @property
    def reads_bytes(self) -> Estimate:
        """Return `read_bytes` with its bounds: if queries stand for others with other literals, it is an estimate."""
        return self.total(self._nows, self._most_read)

    @property
    def seen(self) -> int:
        """Return how many queries can be answered."""
        return round(float(self.spread.seen.sum()))

    def total(self, each: Sequence[Estimate], most: Sequence[float] | None = None) -> Estimate:
        """Sum over the workload, each query as often as it is asked. `most`: that one may have, None for what it reads
        now."""
        return self.spread.total([*each, *[NOTHING] * self._idle], self._most(each, most))

    def share(self, each: Sequence[Estimate]) -> Estimate:
        """Return the share of what the workload reads."""
        total = added(each, [float(query.asked.seen) for query in self.queries])
        reads = max(self.read_bytes, 1.0)
        some = Estimate(total.low / reads, total.expected / reads, total.high / reads)
        nows = [now.expected for now in self._nows]
        return self.share_by(some, [estimate.expected for estimate in each], nows)

    def share_by(self, some: Estimate, parts: Sequence[float], every: Sequence[float]) -> Estimate:
        """A share of two sums over the workload, with how far the queries may lie apart."""
        idle = [0.0] * self._idle
        return self.spread.share(some, [*parts, *idle], [*every, *idle])

    @property
    def _idle(self) -> int:
        return len(self.spread.seen) - len(self.queries)

    @property
    def _nows(self) -> list[Estimate]:
        return [self.now(query).reads.size_bytes for query in range(len(self.queries))]

    @property
    def _most_read(self) -> list[float]:
        files = self.weighing.snapshot.files
        return [most_read(now.expected, files.size_bytes, len(files)) for now in self._nows]

    def _most(self, each: Sequence[Estimate], most: Sequence[float] | None) -> list[float]:
        if most is None:
            most = [max(now.expected, of.expected) for now, of in zip(self._nows, each, strict=True)]
        return [*most, *[0.0] * self._idle]

    def now(self, query: int) -> Now:
        return self.weighing.nows[self.queries[query].tree]

    def options(self) -> list[Some]:
        """Return each candidate alone, and by kind all that touch a query with an OR, which may only help together."""
        alone = [frozenset([number]) for number in range(len(self.candidates)) if self._may_be_chosen(number)]
        several: dict[Some, None] = {}
        for query, touching in zip(self.queries, self.touched, strict=True):
            if any(isinstance(part, Or) for part in conjuncts(query.tree)):
                several |= dict.fromkeys(some for some in self._by_kind(touching) if len(some) > 1)
        return [*alone, *list(several)[:_MOST_OPTIONS]]

    def spared(self, query: int, some: Some) -> QuerySpared:
        """Return what one run of the query is spared by all of these."""
        key = query, some & self.touched[query]
        if key not in self._known:
            self._known[key] = self._spared(query, key[1]) if key[1] else QuerySpared()
        return self._known[key]

    def spared_bytes(self, query: int, some: Some) -> float:
        """Return what the query is spared, as often as it is asked."""
        return self.queries[query].asked.seen * self.spared(query, some).size_bytes.expected

    def needed_bytes(self, kinds: Iterable[Kind]) -> float:
        """Estimate what a build reads of the table: the columns, by footers of sampled files; for text files all."""
        names = {leaf.source for kind in kinds for leaf in self._read_by(kind)}
        total = float(self.weighing.snapshot.files.size_bytes)
        sight = self.weighing.sight
        if not names or not sight.grouped:
            return total if names or not sight.grouped else 0.0
        beginnings = tuple(f"{'.'.join(source)}." for source in names)
        shares = []
        for row in sight.sample[:_FOOTERS].tolist():
            chunks = sight.groups.chunk_bytes(sight.snapshot.files.paths[row].as_py())
            inside = sum(size for name, size in chunks.items() if f"{name}.".startswith(beginnings))
            if chunks:
                shares.append(inside / max(sum(chunks.values()), 1))
        return total * float(np.mean(shares)) if shares else total

    def _read_by(self, kind: Kind) -> list[Leaf]:
        schema = self.weighing.snapshot.schema
        match kind:
            case KeyKind():
                return [leaf for leaves in kind.planned(schema) for leaf in leaves]
            case RowKind():
                return list(kind.planned(schema, 0).columns)
            case FactKind() if self.weighing.sight.grouped:
                return []  # footers
            case _:
                return list(schema.leaves())

    def _may_be_chosen(self, number: int) -> bool:
        cost = self.built[number].cost
        return not cost.problem and cost.size_bytes is not None

    def _touching(self, query: int) -> Some:
        now = self.now(query)
        return frozenset(
            number
            for number, built in enumerate(self.built)
            if self._may_be_chosen(number)
            and (
                self._copy_read(query, number).reads is not None
                if built.copies
                else asks(self.weighing.sight, now, built)
            )
        )

    def _by_kind(self, some: Some) -> list[Some]:
        """Group the candidates that are looked up by kind."""
        by_kind: dict[object, set[int]] = {}
        for number in sorted(some):
            if not self.built[number].copies:
                key = tuple(type(kind) for kind in self.candidates[number].kinds)
                by_kind.setdefault(key, set()).add(number)
        return [frozenset(numbers) for numbers in by_kind.values()]

    def _copy_read(self, query: int, number: int) -> CopyRead:
        key = query, number
        if key not in self._copies:
            needs = self.queries[query].asked.needs
            try:
                read = read_of(self.weighing.sight, self.now(query), needs, self.built[number].copies[0])
            except MetaIndexError as error:
                read = CopyRead(None, note=str(error))
            self._copies[key] = read
        return self._copies[key]

    def _spared(self, query: int, some: Some) -> QuerySpared:
        now = self.now(query)
        asked = [self.built[number] for number in sorted(some) if not self.built[number].copies]
        reads = reads_with(self.weighing.sight, now, asked)
        spared = QuerySpared(less(now.reads.size_bytes, reads.size_bytes), less(now.reads.files, reads.files))
        share = reads.size_bytes.expected / max(now.reads.size_bytes.expected, 1.0)
        copies = (self._copy_read(query, number) for number in sorted(some) if self.built[number].copies)
        return max((_with_copy(spared, reads, copy, share) for copy in copies), key=_size, default=spared)


def _without_indexes(weighing: Weighing, queries: Sequence[QueryAsked]) -> float:
    """Measured by the files that the table's own statistics leave; no less than what is read now."""
    now = sum(query.weight for query in queries)
    standing = weighing.hand.standing
    if not standing.indexes:
        return now
    sizes = Vector(standing.snapshot.files.table.column("size_bytes")).numbers
    trees = list(weighing.nows)
    kept = dict(zip(trees, Baseline(standing.snapshot).kept_each(trees), strict=True))
    return max(now, sum(float(query.asked.seen * sizes[kept[query.tree]].sum()) for query in queries))


T = TypeVar("T")


def _with(several: tuple[T, ...], place: int, new: T) -> tuple[T, ...]:
    return (*several[:place], new, *several[place + 1 :])


def _size(spared: QuerySpared) -> float:
    return spared.size_bytes.expected


def _with_copy(spared: QuerySpared, reads: Reads, copy: CopyRead, share: float) -> QuerySpared:
    """The copy in place of the files that other indexes leave, a `share` of those that are read now: if Spark took
    it."""
    source = copy.instead_of * share
    if copy.reads is None or copy.reads.size_bytes.expected >= source * MARGIN:
        return spared
    more = less(Estimate.exactly(source), copy.reads.size_bytes)
    return QuerySpared(added([spared.size_bytes, more]), added([spared.files, less(reads.files, copy.reads.files)]))


def less(before: Estimate, then: Estimate) -> Estimate:
    """Return the difference, never less than nothing."""
    bounds = (before.low - then.high, before.expected - then.expected, before.high - then.low)
    low, expected, high = (max(bound, 0.0) for bound in bounds)
    return Estimate(low, expected, high)


def added(several: Sequence[Estimate], times: Sequence[float] | None = None) -> Estimate:
    """Their sum, each so many times; its bounds are the sums of theirs."""
    weights = times if times is not None else [1.0] * len(several)
    low, expected, high = (
        float(sum(weight * getattr(size, name) for weight, size in zip(weights, several, strict=True)))
        for name in ("low", "expected", "high")
    )
    return Estimate(low, expected, high)


def _queries(weighing: Weighing) -> Iterable[QueryAsked]:
    for query, tree in zip(weighing.asked.queries, weighing.trees, strict=True):
        if not isinstance(tree, str):
            yield QueryAsked(query, tree, query.seen * weighing.nows[tree].reads.size_bytes.expected)
