"""The reads of one query: now, and with a candidate. Existing indexes decide which files are read now, over all files;
the candidate is tried on those of them that are in the sample. Row groups are counted in sampled files, and estimated
for others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from metaindex.core import Mask, dataclass
from metaindex.expressions import Predicate
from metaindex.index import OpenIndex
from metaindex.query import PruneResult

from .answer import Reads
from .baseline import Baseline, Rows
from .estimates import Estimate, Floats, TrialCount, kept_by_chance, with_nan
from .redraws import Redrawn
from .sampling import SampleContext

_GROUPS = 4
"""Of a file that has any, where none that was looked at has."""
_LOOKED_AT = 8
"""Draws of which the row groups are looked at, where the sample keeps no file of the query itself."""


def groups_of(sight: SampleContext, result: PruneResult, rows: Rows) -> dict[int, int]:
    return {row: sight.groups_of(result, row) for row in rows.tolist()} if sight.grouped else {}


def row_groups(
    sight: SampleContext, groups: dict[int, int], others: Floats, left: Rows, alike: Sequence[int]
) -> Estimate | None:
    """Estimate the row groups of the kept files: those that were looked at, and as many others, of the files in the
    rows `left`. Larger files have more, as far as those looked at show. `alike`: row groups of similar files, if none
    was looked at. None if the files have none, or nobody knows."""
    if not sight.grouped:
        return None
    known = float(sum(groups.values()))
    if not others.any():
        return Estimate.exactly(known)
    seen = np.array([*groups.values()] or list(alike), np.float64)
    if not len(seen):
        return None
    count = len(seen)
    larger = float(sight.sizes[left].mean() / sight.sizes[list(groups)].mean()) if groups else 1.0
    mean = float(seen.mean()) * larger
    rest = float(seen.std(ddof=1)) * larger if count > 1 else mean
    off = rest / np.sqrt(count) * (1 + 2 / count)
    rng = np.random.default_rng(1)
    if len(others) == 1:
        others = np.repeat(others, 2_000)
    means = np.maximum(mean + rng.standard_normal(len(others)) * off, 0.0)
    if not seen.any():  # what was in none of them may be in others
        means = rng.gamma(0.5, _GROUPS / len(seen), len(others))
    within = rng.standard_normal(len(others)) * np.sqrt(others) * rest
    return Estimate.of(np.maximum(known + np.round(others * means + within), known))


def home_groups(sight: SampleContext, more: Baseline, redrawn: Redrawn | None) -> list[int]:
    """The row groups that are read of files which values that were drawn are of."""
    groups: list[int] = []
    for tree, homes in redrawn.homes(_LOOKED_AT) if redrawn is not None else ():
        result = more.answer(tree)
        groups += [sight.groups_of(result, row) for row in homes]
    return groups


def mask_of(rows: Rows, count: int) -> Mask:
    """Return a mask of these rows."""
    mask = np.zeros(count, np.bool_)
    mask[rows] = True
    return mask


@dataclass(frozen=True, slots=True)
class Now:
    """The reads of a query as things are."""

    tree: Predicate
    result: PruneResult
    kept: Mask
    reads: Reads

    @classmethod
    def of(cls, tree: Predicate, sight: SampleContext) -> Now:
        result = sight.standing.answer(tree)
        kept = sight.standing.kept(result)
        groups = groups_of(sight, result, sight.sample[kept[sight.sample]])
        files = Estimate.exactly(float(kept.sum()))
        size = Estimate.exactly(float(sight.sizes[kept].sum()))
        left = np.flatnonzero(kept & ~mask_of(sight.sample, len(kept)))
        every = row_groups(sight, groups, np.array([len(left)], np.float64), left, [])
        return cls(tree, result, kept, Reads(files, every, size))


def with_candidate(
    sight: SampleContext, now: Now, sampled: Sequence[OpenIndex], over: Rows
) -> tuple[Reads, PruneResult]:
    """Return what the query reads with a candidate, which was built over the files `over`. Queries of one predicate are
    weighed once."""
    key = (now.tree, *(index.entry.index_uuid for index in sampled))
    return sight.once(key, lambda: _with_candidate(sight, now, sampled, over))


def _with_candidate(
    sight: SampleContext, now: Now, sampled: Sequence[OpenIndex], over: Rows
) -> tuple[Reads, PruneResult]:
    more = sight.standing.with_more(*sampled)
    result = more.answer(now.tree)
    if idle(result, sampled):
        return now.reads, result
    rows, then = over[now.kept[over]], more.kept(result)
    still = rows[then[rows]]
    others_kept = _others(sight, now, rows, then, sampled, more)
    look = sight.grouped and not len(still) and others_kept.files.any()
    alike = home_groups(sight, more, others_kept.redrawn) if look else []
    groups = row_groups(sight, groups_of(sight, result, still), others_kept.files, others_kept.left, alike)
    size_bytes = Estimate.of(others_kept.size_bytes + float(sight.sizes[still].sum()))
    files = Estimate.of(others_kept.files + len(still))
    if others_kept.unknown:
        files, size_bytes = (Estimate(each.low, each.high, each.high) for each in (files, size_bytes))
    return Reads(files, groups, size_bytes), result


@dataclass(frozen=True, slots=True)
class _NotTried:
    """The files that were not tried: particles of how many are kept, and of their bytes. `left`: which files may be
    kept."""

    files: Floats
    size_bytes: Floats
    left: Rows
    redrawn: Redrawn | None = None
    unknown: bool = False  # nothing was tried: they are expected to be read


def _others(
    sight: SampleContext, now: Now, rows: Rows, then: Mask, sampled: Sequence[OpenIndex], more: Baseline
) -> _NotTried:
    """Estimate what a candidate keeps of the files that are read now, but for the tried ones in `rows`. `then`: files
    that are kept with the candidate; `more`: the table with it."""
    sizes, standing, tree, kept = sight.sizes, sight.standing, now.tree, now.kept
    places = sight.places(standing, sampled)
    possible = kept & places.kept(places.answer(tree))
    if (then & ~possible)[rows].any():  # it keeps files all the same
        places, possible = standing, kept
    tried, still = rows[possible[rows]], rows[then[rows]]
    others = kept & ~mask_of(rows, len(kept))
    left, elsewhere = np.flatnonzero(possible & others), np.flatnonzero(others & ~possible)
    if places is not standing and len(still) == len(tried) and sight.facts_tell(tree, sampled):
        others_kept = _NotTried(np.array([float(len(left))]), np.array([float(sizes[left].sum())]), left)
        by_chance = with_nan(len(elsewhere), len(rows)) if len(elsewhere) and sight.asks_floats(tree) else None
    else:
        redrawn = sight.redraws.of(tree, rows, standing, places, more) if others.any() else None
        chance = None if redrawn is None else redrawn.by_chance
        drawn = None if redrawn is None else redrawn.by_draws()
        larger = _larger(sizes, left, rows)
        files = TrialCount(int(possible.sum()), len(tried), len(still), drawn, larger, chance).others()
        unknown = not len(tried) and drawn is None
        if unknown:
            files = np.array([0.0] * 6 + [float(len(left))] * 94)
        size_bytes = _bytes(files, sizes[left], sizes[rows], sizes[still])
        others_kept = _NotTried(files, size_bytes, left, redrawn, unknown)
        by_chance = kept_by_chance(len(elsewhere), chance) if len(elsewhere) and chance is not None else None
    return others_kept if by_chance is None else _with_more(others_kept, by_chance, elsewhere, sizes[elsewhere])


def _with_more(others_kept: _NotTried, files: Floats, where: Rows, sizes: Floats) -> _NotTried:
    """Add files that are kept although they hold no such value."""
    times = len(files) // len(others_kept.files)
    some, size_bytes = (np.repeat(each, times) for each in (others_kept.files, others_kept.size_bytes))
    more, left = _bytes(files, sizes, sizes[:0], sizes[:0]), np.union1d(others_kept.left, where)
    return _NotTried(some + files, size_bytes + more, left, others_kept.redrawn)


def _larger(sizes: Floats, left: Rows, tried: Rows) -> float:
    """Return the size of the other files as a multiple of the tried ones'."""
    if not len(left) or not len(tried):
        return 1.0
    return float(np.clip(sizes[left].mean() / sizes[tried].mean(), 0.5, 2.0))


def idle(result: PruneResult, candidate: Sequence[OpenIndex]) -> bool:
    """Return whether the candidate answers no part of the query."""
    names = {index.name for index in candidate}
    return not any(report.used for report in result.indexes if report.name in names)


def _bytes(others: Floats, left: Floats, tried: Floats, kept: Floats) -> Floats:
    """Particles of bytes, from those of files: files that are kept may be larger than others, as far as the sample says
    so, and differ among each other."""
    if not len(left):
        return np.zeros(len(others))
    mean = float(tried.mean()) if len(tried) else 1.0
    larger = (float(kept.sum()) + mean) / ((len(kept) + 1) * mean) if mean else 1.0
    chosen = others * (1 - np.clip(others / len(left), 0.0, 1.0))
    # How much larger the kept ones are is known from few.
    off = float(left.std()) * np.sqrt(chosen + (chosen**2 / (len(kept) + 1) if len(tried) > 1 else 0.0))
    size = others * float(left.mean()) * larger + off * np.random.default_rng(0).standard_normal(len(others))
    return np.clip(size, 0.0, float(left.sum()))
