"""The evaluation of one table's candidates, built over its sample: what some of them spare each query."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import field

from metaindex.advisor.hypothetical.answer import Reads
from metaindex.advisor.hypothetical.baseline import Baseline
from metaindex.advisor.hypothetical.candidates import AskedQuery, Candidate, Suggestions, named, suggested
from metaindex.advisor.hypothetical.copy import CopyRead, pays, read_of
from metaindex.advisor.hypothetical.effect import Now
from metaindex.advisor.hypothetical.estimates import NOTHING, Estimate, Spread, less, most_read, share_of, sum_of
from metaindex.advisor.hypothetical.what_if import BEYOND, Built, Weighing, asks, narrowed, reads_with
from metaindex.core import MetaIndexError, Vector, dataclass, one_line
from metaindex.expressions import ColumnRef, Or, conjuncts
from metaindex.formats import Leaf
from metaindex.index import Kind

from .choosing import NONE, Some

_MOST_OPTIONS = 16
_MOST_NOTES = 5
"""On queries that ask for values beyond all bounds."""


@dataclass(frozen=True, slots=True)
class QuerySpared:
    """The reads that one run of a query would be spared."""

    size_bytes: Estimate = NOTHING
    files: Estimate = NOTHING


@dataclass(slots=True)
class TableEvaluation:
    """`queries`: those that can be answered. `unindexed_bytes`: what the workload would read of the table without any
    index."""

    weighing: Weighing
    queries: tuple[AskedQuery, ...]
    candidates: list[Candidate]
    built: list[Built]
    notes: tuple[str, ...]
    spread: Spread
    narrowed: Some = NONE
    touched: tuple[Some, ...] = ()
    unindexed_bytes: float = 0.0
    _copies: dict[tuple[int, int], CopyRead] = field(default_factory=dict)
    _known: dict[tuple[int, Some], QuerySpared] = field(default_factory=dict)

    @classmethod
    def of(cls, weighing: Weighing, folder: str, progress: Callable[[int, int], None]) -> TableEvaluation:
        """Build the given candidates, or else those that follow from the queries, in a folder of its own. Raises
        nothing of a candidate or a query."""
        given, copies = weighing.candidates, weighing.copies
        queries = tuple(query for query in weighing.queries if not query.problem)
        spread = Spread.of([query.seen for query in queries], [query.stands for query in queries])
        reading = [query for query in queries if query.weight]
        follows = Suggestions() if given else suggested(reading, weighing.snapshot.schema, copies=copies)
        candidates = list(given) or named(list(follows.kinds))
        built = []
        for number, candidate in enumerate(candidates):
            progress(number, len(candidates))
            built.append(weighing.built(candidate, folder))
        case = cls(weighing, queries, candidates, built, tuple(follows.notes), spread)
        case.unindexed_bytes = _without_indexes(weighing, queries)
        if not given:
            case._narrow()
        case.touched = tuple(case._touching(number) for number in range(len(queries)))
        beyond = weighing.beyond_bounds(case.built, folder)
        case.notes += tuple(f"{one_line(query.text)}: {BEYOND}" for query in queries if query.tree in beyond)[
            :_MOST_NOTES
        ]
        return case

    def _narrow(self) -> None:
        """Narrow candidates that keep statistics of several columns to those columns that skip anything."""
        for number, (candidate, built) in enumerate(zip(self.candidates, self.built, strict=True)):
            kind = candidate.kinds[0]
            if len(candidate.kinds) > 1 or not kind.keeps_facts or not self._may_be_chosen(number):
                continue
            every = kind.leaves(self.weighing.snapshot.schema)
            helping = [leaf for leaf in every if self._helps(narrowed(built, "", {leaf.stable}, 0.0), leaf)]
            if 0 < len(helping) < len(every):
                fewer = kind.narrowed([ColumnRef(leaf.parts).name for leaf in helping])
                name, stables = fewer.title, {leaf.stable for leaf in helping}
                view = narrowed(built, name, stables, len(helping) / len(every))
                self.candidates[number], self.built[number] = Candidate(name, (fewer,)), view
                self.narrowed |= {number}

    def _helps(self, built: Built, leaf: Leaf) -> bool:
        """Return whether the column helps alone, or, in an OR, perhaps together with others."""
        for number, query in enumerate(self.queries):
            now = self.now(number)
            if leaf.parts not in {ref.parts for ref in query.tree.columns}:
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
        if most is None:
            most = [max(now.expected, of.expected) for now, of in zip(self._nows, each, strict=True)]
        return self.spread.total(each, most)

    def share(self, each: Sequence[Estimate]) -> Estimate:
        """Return the share of what the workload reads."""
        return share_of(self.total(each), self.read_bytes)

    @property
    def _nows(self) -> list[Estimate]:
        return [self.now(query).reads.size_bytes for query in range(len(self.queries))]

    @property
    def _most_read(self) -> list[float]:
        files = self.weighing.snapshot.files
        return [most_read(now.expected, files.size_bytes, len(files)) for now in self._nows]

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
        return self.queries[query].seen * self.spared(query, some).size_bytes.expected

    def needed_bytes(self, kinds: Iterable[Kind]) -> float:
        """Estimate what a build reads of the table: the columns, by footers of sampled files; for text files all."""
        schema = self.weighing.snapshot.schema
        known = [kind.reads(schema) for kind in kinds]
        read = [leaf for leaves in known for leaf in (schema.leaves() if leaves is None else leaves)]
        return self.weighing.snapshot.files.size_bytes * self.weighing.sight.share_of(leaf.source for leaf in read)

    def unjudged(self, number: int) -> str:
        """Return why nothing is known of the candidate's effect; empty if it was tried, or cannot be built."""
        built, sight = self.built[number], self.weighing.sight
        if not self._may_be_chosen(number):
            return "" if built.cost.problem else sight.sampling.unjudged
        touching = [self.now(query) for query, some in enumerate(self.touched) if number in some]
        tried = (now.kept[built.rows].any() or reads_with(sight, now, [built]).files.exact for now in touching)
        return "" if not touching or built.copies or any(tried) else sight.sampling.beside

    def _may_be_chosen(self, number: int) -> bool:
        cost = self.built[number].cost
        return not cost.problem and cost.size_bytes is not None

    def _touching(self, query: int) -> Some:
        now = self.now(query)
        if not self.queries[query].weight:
            return NONE
        return frozenset(
            number
            for number, built in enumerate(self.built)
            if self._may_be_chosen(number)
            and (
                self.copy_read(query, number).reads is not None
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

    def copy_read(self, query: int, number: int) -> CopyRead:
        """Return what a query reads of a candidate that keeps rows."""
        key = query, number
        if key not in self._copies:
            asked, copy = self.queries[query], self.built[number].copies[0]
            try:
                read = read_of(self.weighing.sight, self.now(query), asked, copy)
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
        copies = (self.copy_read(query, number) for number in sorted(some) if self.built[number].copies)
        with_copies = [_with_copy(spared, reads, copy, share) for copy in copies]
        return max(with_copies, key=lambda spared: spared.size_bytes.expected, default=spared)


def _without_indexes(weighing: Weighing, queries: Sequence[AskedQuery]) -> float:
    """Measured by the files that the table's own statistics leave; no less than what is read now."""
    now = sum(query.weight for query in queries)
    standing = weighing.baseline
    if not standing.indexes:
        return now
    sizes = Vector(standing.snapshot.files.table.column("size_bytes")).numbers
    trees = list(weighing.nows)
    kept = dict(zip(trees, Baseline(standing.snapshot).kept_each(trees), strict=True))
    return max(now, sum(float(query.seen * sizes[kept[query.tree]].sum()) for query in queries))


def _with_copy(spared: QuerySpared, reads: Reads, copy: CopyRead, share: float) -> QuerySpared:
    """The copy in place of the files that other indexes leave, a `share` of those that are read now: if Spark took
    it."""
    source = copy.instead_of * share
    if copy.reads is None or not pays(source, copy.reads.size_bytes.expected):
        return spared
    more = less(Estimate.exactly(source), copy.reads.size_bytes)
    files = sum_of([spared.files, less(reads.files, copy.reads.files)])
    return QuerySpared(sum_of([spared.size_bytes, more]), files)
