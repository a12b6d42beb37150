"""A candidate as far as it is built: an index over the sample, or rows of the sample."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import field, replace

import numpy as np

from metaindex.core import ArgumentError, MetaIndexError, dataclass
from metaindex.expressions import Predicate
from metaindex.index import KINDS, AskedColumns, Kind, OpenIndex, Sandbox

from .answer import Cost, Rate, Reads, Upkeep
from .baseline import Rows
from .candidates import Candidate
from .copy import Copy, copied
from .cost import Weighed, Weight, build_seconds, size_of, upkeep_of
from .effect import Now, idle, with_candidate
from .estimates import Estimate, sum_of
from .sampling import SampleContext, is_float

logger = logging.getLogger("metaindex")

_MOST_FOOTERS = 10_000
"""Beside the sample, of files that queries read now; of more the sample speaks for statistics, too."""


@dataclass(slots=True)
class Built:
    """`index`: a trial over the files `rows`, which the walk may ask; `copies`: of a candidate that keeps rows."""

    cost: Cost
    rows: Rows = field(default_factory=lambda: np.zeros(0, np.int64))
    index: OpenIndex | None = None
    copies: tuple[Copy, ...] = ()


def build(
    bench: Sandbox,
    sight: SampleContext,
    candidate: Candidate,
    trees: Sequence[Predicate],
    wanted: Rows,
    rate: Rate,
    *,
    footers: bool,
) -> Built:
    """Build a candidate; any failure becomes its problem. `trees`: the queries; `wanted`: the files that they read
    now."""
    try:
        rows = sight.sampling.of(candidate, bench.snapshot.schema)
        whole = len(rows) == len(bench.snapshot.files)
        if footers and not whole and sight.bounds is None:
            sight.bounds = sight.once("bounds", lambda: bounds_of(bench, trees, wanted))
        if not len(rows):
            return Built(Cost(candidate.name), rows)
        portions = _portions(bench, rows)
        if candidate.copies:
            return _copied(bench, sight, candidate, portions, rate)
        trials = [bench.tried(f"what if {candidate.name}", candidate.kinds, some) for some in reversed(portions)][::-1]
        weighed = [
            Weighed(Weight.of(bench.snapshot, some), one.part_bytes, one.footer_bytes, one.cpu_seconds)
            for one, some in zip(trials, portions, strict=True)
        ]
        notes = tuple(f"a file of the sample is left uncovered: {note}" for note in trials[0].notes)
        every = Weight.of(bench.snapshot)
        size = size_of(weighed, every)
        return Built(_cost(candidate, size, build_seconds(weighed, every), rate, every, notes), rows, trials[0].index)
    except MetaIndexError as error:
        return Built(Cost(candidate.name, problem=str(error)))
    except Exception as error:  # noqa: BLE001 - a candidate may be a stranger's kind, and read any file
        logger.warning("candidate %s is not weighed: %s", candidate.name, error)
        return Built(Cost(candidate.name, problem=str(error) or type(error).__name__))


def _cost(
    candidate: Candidate, size: Estimate, seconds: float, rate: Rate, every: Weight, notes: tuple[str, ...]
) -> Cost:
    return Cost(candidate.name, size, seconds, upkeep_of(size, seconds, rate, every), notes=notes)


def _copied(bench: Sandbox, sight: SampleContext, candidate: Candidate, portions: Sequence[Rows], rate: Rate) -> Built:
    """A candidate that keeps rows. Spark builds it: what it takes here is the least."""
    if len(candidate.kinds) > 1:
        raise ArgumentError(
            f"a covering index is a candidate of its own; {candidate.name} has other kinds, too; give them one by one"
        )
    copy = copied(bench, sight, candidate.copies[0], portions)
    every = Weight.of(bench.snapshot)
    notes = (
        "Spark builds it, in more processor time than this, and reads it for queries that need no other columns;"
        " what it spares of shuffles and sorts below joins and groups is not counted",
    )
    cost = _cost(candidate, copy.size, build_seconds(copy.trials, every), rate, every, notes)
    return Built(cost, portions[0], copies=(copy,))


def _portions(bench: Sandbox, sample: Rows) -> list[Rows]:
    """Return the sample; if it is not the table, also half of it. The smaller is built first: what the first build
    loads counts for nothing then."""
    ordered = bench.in_order(sample)
    return [ordered, ordered[::2]] if 1 < len(ordered) < len(bench.snapshot.files) else [ordered]


def bounds_of(bench: Sandbox, trees: Sequence[Predicate], wanted: Rows) -> OpenIndex | None:
    """Return the footers' statistics of the queries' columns in the files that they read now; None if there are none,
    or too many. Footers do not count NaN: floats are taken as if there were none, which the sample checks."""
    if bench.snapshot.details.read_options().get("file_format", "parquet") != "parquet":
        return None
    leaves = {leaf.parts: leaf for leaf in bench.snapshot.schema.leaves()}
    refs = {ref.name: leaf for tree in trees for ref in tree.columns if (leaf := leaves.get(ref.parts)) is not None}
    names = tuple(name for name, leaf in refs.items() if Kind.footers_tell(leaf) or is_float(leaf))
    floats = frozenset(leaf.parts[0] for leaf in refs.values() if is_float(leaf))
    facts = [kind for each in KINDS if each.keeps_facts for kind in each.suggested(AskedColumns(names))]
    if not names or not 0 < len(wanted) <= _MOST_FOOTERS:
        return None
    try:
        trial = bench.tried("bounds", facts, wanted, scans=False, without_nan=floats)
    except (MetaIndexError, OSError) as error:
        logger.warning("what-if does without bounds of footers: %s", error)
        return None
    return None if trial.unread_files else trial.index


def reads_with(sight: SampleContext, now: Now, several: Sequence[Built]) -> Reads:
    """Return what the query reads with all of them together, without those that keep rows."""
    sampled = [built.index for built in several if built.index is not None]
    rows = min((built.rows for built in several if built.index is not None), key=len, default=sight.sample)
    return with_candidate(sight, now, sampled, rows)[0] if sampled else now.reads


def asks(sight: SampleContext, now: Now, built: Built) -> bool:
    """Return whether the candidate answers some part of the query."""
    if built.index is None:
        return False
    return not idle(sight.standing.with_more(built.index).answer(now.tree), [built.index])


def narrowed(built: Built, name: str, stables: AbstractSet[str], share: float) -> Built:
    """`stables`: of the columns that stay, which are a `share` of all; its cost is this share, too."""
    cost, index = built.cost, built.index
    size, seconds, upkeep = cost.size_bytes, cost.build_cpu_seconds, cost.upkeep
    return Built(
        replace(
            cost,
            candidate=name,
            size_bytes=None if size is None else sum_of([size], [share]),
            build_cpu_seconds=None if seconds is None else seconds * share,
            upkeep=None if upkeep is None else Upkeep(upkeep.size_bytes * share, upkeep.cpu_seconds * share),
        ),
        built.rows,
        None if index is None else index.narrowed(index.name, stables),
    )
