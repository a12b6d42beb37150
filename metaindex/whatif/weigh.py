"""From queries and candidates to the answer."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import field

import numpy as np

from metaindex.actions.runs import in_order
from metaindex.advice.sample import Sampled, check_share, chosen, limit_of
from metaindex.expressions.errors import ArgumentError, MetaIndexError
from metaindex.expressions.records import dataclass
from metaindex.expressions.references import columns
from metaindex.expressions.statistics import Mask
from metaindex.expressions.tree import Predicate
from metaindex.expressions.vectors import from_truths, numbers, one_array
from metaindex.formats.model import FileTable, Leaf, Snapshot
from metaindex.formats.protocol import TableRef
from metaindex.kinds.described import fact_kinds
from metaindex.kinds.kind import Kind
from metaindex.pruning.condition import predicate_of
from metaindex.readers.footer_groups import FooterGroups
from metaindex.readers.scan import Scan
from metaindex.views.words import counted

from .answer import Cost, Effect, QueryWeighed, Rate, Reads, WhatIf
from .asking import Standing
from .candidates import Candidate, following
from .copy import Copy, copied, read_of
from .cost import Weighed, Weight, build_seconds, size_of, upkeep_of
from .effect import Now, Sight, with_candidate
from .posterior import Estimate
from .trial import Bench, Rows, Trial, tried

logger = logging.getLogger("metaindex")

_MOST_FILES = 64
_SMALL_FILES = 2_000
"""So many files of a small table are all read."""
_MOST_FOOTERS = 10_000
"""Beside the sample, of files that queries read now; of more the sample speaks for statistics, too."""


@dataclass(frozen=True, slots=True)
class AskedQuery:
    """A condition in whatever words, and how it is called. `seen`: how often it is asked; `needs`: the columns that the
    query reads beside those of its condition, by their paths."""

    condition: object
    text: str
    seen: int = 1
    needs: frozenset[tuple[str, ...]] = frozenset()


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked of a table. `candidates`: none for those that follow from the queries; `sample`: the share of the
    table's bytes that may be read, None for a hundredth, of small tables all."""

    queries: tuple[AskedQuery, ...]
    candidates: tuple[Candidate, ...]
    sample: float | None
    time_zone: str
    path: str

    def __post_init__(self) -> None:
        check_share(self.sample)


@dataclass(frozen=True, slots=True)
class AtHand:
    """The table as it was opened: what queries may use, how a file is read, how it grows."""

    ref: TableRef
    standing: Standing
    scan: Callable[[int, Sequence[Leaf]], Scan]
    rate: Callable[[], Rate]
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class _Built:
    """A candidate as far as it was built: `exact` over all files that queries read now, `sampled` over the sample."""

    cost: Cost
    exact: list[Trial] = field(default_factory=list)
    sampled: list[Trial] = field(default_factory=list)
    copies: list[Copy] = field(default_factory=list)  # of a candidate that keeps rows


def weigh(asked: Asked, hand: AtHand) -> WhatIf:
    """Raises nothing of a query or a candidate: what is wrong with one is told, and the others go on."""
    snapshot = hand.standing.snapshot
    trees = [_tree(query.condition, snapshot, asked.time_zone) for query in asked.queries]
    known = [tree for tree in trees if not isinstance(tree, str)]
    candidates = asked.candidates or tuple(following(known, snapshot.schema))
    total = snapshot.files.size_bytes
    limit = limit_of(asked.sample, total)
    wanted = np.zeros(len(snapshot.files), np.bool_)
    for tree in known:
        wanted |= hand.standing.kept(hand.standing.answer(tree))
    sample = sampled_of(snapshot, wanted, limit)
    sight = Sight(hand.standing, sample, FooterGroups(hand.ref.storage), hand.scan)
    nows = {tree: Now.of(tree, sight) for tree in known}
    rate = hand.rate() if len(snapshot.files) else Rate(reason="it has no files")
    with tempfile.TemporaryDirectory(prefix="metaindex-") as folder:
        bench = Bench(hand.ref, snapshot, folder)
        built = [
            _build(bench, sight, one, known, np.flatnonzero(wanted), rate, footers=limit > 0) for one in candidates
        ]
        queries = [
            QueryWeighed(query.text, problem=tree, weight=query.seen)
            if isinstance(tree, str)
            else _weighed(sight, nows[tree], query, built)
            for query, tree in zip(asked.queries, trees, strict=True)
        ]
    return WhatIf(
        table=asked.path,
        format=snapshot.format,
        version=str(snapshot.version),
        files=len(snapshot.files),
        size_bytes=total,
        queries=tuple(queries),
        candidates=tuple(one.cost for one in built),
        sampled=_told(snapshot, sample, limit),
        rate=rate,
        notes=(*hand.notes, *_footers_read(built, int(wanted.sum()))),
    )


def sampled_of(snapshot: Snapshot, wanted: Mask, limit: int) -> Rows:
    """The files to read: all of them where the limit allows it, else half of those that queries read now, and half of
    all, each evenly spread."""
    files = snapshot.files
    if not len(files) or not limit:
        return np.zeros(0, np.int64)
    if files.size_bytes <= limit and len(files) <= _SMALL_FILES:
        return np.arange(len(files), dtype=np.int64)
    if wanted.all() or not wanted.any():
        return chosen(files, limit, _MOST_FILES)
    sizes = numbers(files.table.column("size_bytes"))
    those = np.flatnonzero(wanted)
    some = FileTable(files.table.filter(from_truths(wanted)))
    first = those[chosen(some, limit // 2, _MOST_FILES // 2)]
    if not len(first):
        first = those[chosen(some, limit, _MOST_FILES // 2)]
    more = chosen(files, limit - int(sizes[first].sum()), _MOST_FILES // 2)
    return np.union1d(first, more)


def _told(snapshot: Snapshot, sample: Rows, limit: int) -> Sampled:
    total = snapshot.files.size_bytes
    if not len(sample):
        reason = "the limit is 0" if not limit else f"no file is as small as the limit of {limit:,} bytes"
        return Sampled(
            limit_bytes=limit, total_bytes=total, reason=reason if len(snapshot.files) else "it has no files"
        )
    some = snapshot.files.table.take(sample)
    counts = one_array(some.column("record_count"))
    rows = 0 if counts.null_count else int(numbers(counts).sum())
    return Sampled(len(sample), int(numbers(some.column("size_bytes")).sum()), rows, limit, total)


def _footers_read(built: Sequence[_Built], files: int) -> list[str]:
    """What was read beside the sample."""
    if not any(one.exact for one in built):
        return []
    return [f"footers of {counted(files, 'file')} were read, too: they tell what statistics leave out, exactly"]


def _tree(query: object, snapshot: Snapshot, time_zone: str) -> Predicate | str:
    """The predicate, or why it is none."""
    try:
        return predicate_of(query, snapshot.schema, time_zone)
    except MetaIndexError as error:
        return str(error)


def _weighed(sight: Sight, now: Now, query: AskedQuery, built: Sequence[_Built]) -> QueryWeighed:
    effects = tuple(_effect(sight, now, query.needs, candidate) for candidate in built)
    return QueryWeighed(query.text, now.reads, effects, weight=query.seen)


def _build(
    bench: Bench,
    sight: Sight,
    candidate: Candidate,
    trees: Sequence[Predicate],
    wanted: Rows,
    rate: Rate,
    *,
    footers: bool,
) -> _Built:
    """Whatever goes wrong with a candidate is told as its problem."""
    try:
        whole = len(sight.sample) == len(bench.snapshot.files)
        exact = _exact(bench, candidate, trees, wanted) if footers and not whole else []
        out = _Built(Cost(candidate.name), exact)
        if not len(sight.sample):
            return out
        portions = _portions(bench, sight.sample)
        if candidate.copies:
            return _copied(bench, sight, candidate, portions, rate)
        trials = [tried(bench, f"what if {candidate.name}", candidate.kinds, some) for some in reversed(portions)][::-1]
        weighed = [Weighed.of(one, Weight.of(bench.snapshot, some)) for one, some in zip(trials, portions, strict=True)]
        notes = tuple(f"a file of the sample is left uncovered: {note}" for note in trials[0].notes)
        every = Weight.of(bench.snapshot)
        out.cost = _cost(candidate, size_of(weighed, every), build_seconds(weighed, every), rate, every, notes)
        if not (exact and len(candidate.facts) == len(candidate.kinds)):
            out.sampled = [trials[0]]
        return out
    except MetaIndexError as error:
        return _Built(Cost(candidate.name, problem=str(error)))
    except Exception as error:  # noqa: BLE001 - a candidate may be a stranger's kind, and read any file
        logger.warning("candidate %s is not weighed: %s", candidate.name, error)
        return _Built(Cost(candidate.name, problem=str(error) or type(error).__name__))


def _cost(
    candidate: Candidate, size: Estimate, seconds: float, rate: Rate, every: Weight, notes: tuple[str, ...]
) -> Cost:
    return Cost(candidate.name, size, seconds, upkeep_of(size, seconds, rate, every), notes=notes)


def _copied(bench: Bench, sight: Sight, candidate: Candidate, portions: Sequence[Rows], rate: Rate) -> _Built:
    """A candidate that keeps rows. Spark builds it: what it takes here is the least."""
    if len(candidate.kinds) > 1:
        raise ArgumentError(
            f"a covering index is a candidate of its own; {candidate.name} has other kinds, too; give them one by one"
        )
    copy = copied(bench, sight, candidate.copies[0], portions)
    every = Weight.of(bench.snapshot)
    notes = ("Spark builds it, in more processor time than this, and reads it for queries that need no other columns",)
    cost = _cost(candidate, copy.size, build_seconds(copy.trials, every), rate, every, notes)
    return _Built(cost, copies=[copy])


def _portions(bench: Bench, sample: Rows) -> list[Rows]:
    """The sample; where it is not the table, a half and a quarter of it, too. The smallest is built first: what is
    loaded by the first build counts for nothing then."""
    ordered = in_order(bench.snapshot.files.table, sample)[1]
    if len(ordered) == len(bench.snapshot.files):
        return [ordered]
    return [ordered, *(ordered[::step] for step in (2, 4) if len(ordered) >= 2 * step)]


def _exact(bench: Bench, candidate: Candidate, trees: Sequence[Predicate], wanted: Rows) -> list[Trial]:
    """The facts that it would keep of the queries' columns, of every file that they read now, where footers tell them:
    then no sample is needed for these."""
    refs = {ref.parts: ref.name for tree in trees for ref in columns(tree)}
    kinds: list[Kind] = []
    for kind in fact_kinds(candidate.kinds):
        names = [refs[leaf.parts] for leaf in kind.leaves(bench.snapshot.schema) if leaf.parts in refs]
        if names:
            kinds.append(kind.narrowed(names))
    if not kinds or not 0 < len(wanted) <= _MOST_FOOTERS:
        return []
    trial = tried(bench, f"bounds of {candidate.name}", kinds, wanted, scans=False)
    return [] if trial.unread_files else [trial]


def _effect(sight: Sight, now: Now, needs: frozenset[tuple[str, ...]], built: _Built) -> Effect:
    tried_on = int(np.count_nonzero(now.kept[sight.sample]))
    name = built.cost.candidate
    if built.cost.problem:
        return Effect(name, now.reads, 0, "it cannot be built")
    if built.copies:
        found = read_of(sight, now, needs, built.copies[0])
        return Effect(name, found.reads or now.reads, tried_on, found.note, found.instead_of)
    exact, sampled = [one.index for one in built.exact], [one.index for one in built.sampled]
    if not exact and not sampled:
        return Effect(name, now.reads, 0, "not tried: no file was read")
    reads, result = with_candidate(sight, now, exact, sampled)
    names = {one.name for one in (*exact, *sampled)}
    idle = [one.reason for one in result.indexes if one.name in names and not one.used]
    if len(idle) == len(names):
        return Effect(name, now.reads, tried_on, idle[0])
    return Effect(name, reads, tried_on, idle[0] if idle else _remark(now, reads, tried_on))


def _remark(now: Now, reads: Reads, tried_on: int) -> str:
    if reads.files.exact or tried_on:
        return ""
    return f"not tried: none of the {counted(int(now.reads.files.expected), 'file')} that it reads was in the sample"
