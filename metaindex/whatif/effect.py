"""What one query reads: now, and with a candidate. What stands already decides which files are read now, over all
files; the candidate is tried on those of them that are in the sample."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import field
from typing import Any, TypeVar

import numpy as np

from metaindex.expressions.records import dataclass
from metaindex.expressions.statistics import Mask
from metaindex.expressions.tree import Predicate
from metaindex.expressions.vectors import numbers
from metaindex.formats.model import Leaf, Snapshot
from metaindex.kinds.registry import covered_columns
from metaindex.pruning.open_index import OpenIndex
from metaindex.pruning.result import PruneResult
from metaindex.readers.footer_groups import FooterGroups
from metaindex.readers.scan import Scan

from .answer import Reads
from .asking import Standing
from .posterior import Estimate, Floats, Tried, kept_by_chance, of_files, resampled
from .redraws import Redrawn, Redraws
from .trial import Rows, narrowed_to

T = TypeVar("T")

_GROUPS = 4
"""Of a file that has any, where none that was looked at has."""
_LOOKED_AT = 8
"""Draws of which the row groups are looked at, where the sample keeps no file of the query itself."""


@dataclass(slots=True)
class Sight:
    """What is at hand to weigh candidates: the table, the rows of its files that were sampled, and readers of both."""

    standing: Standing
    sample: Rows
    groups: FooterGroups
    scan: Callable[[int, Sequence[Leaf]], Scan]
    redraws: Redraws
    bounds: OpenIndex | None = None  # of the queries' columns in the files that they read now, where footers tell
    _known: dict[Hashable, Any] = field(default_factory=dict)

    def once(self, key: Hashable, work: Callable[[], T]) -> T:
        """What `work` gives, worked out once."""
        if key not in self._known:
            self._known[key] = work()
        known: T = self._known[key]
        return known

    @property
    def snapshot(self) -> Snapshot:
        return self.standing.snapshot

    @property
    def sizes(self) -> Floats:
        return numbers(self.snapshot.files.table.column("size_bytes")).astype(np.float64)

    @property
    def grouped(self) -> bool:
        """Have the files row groups?"""
        return self.snapshot.details.read_options().get("file_format", "parquet") == "parquet"

    def places(self, standing: Standing, candidate: Sequence[OpenIndex]) -> Standing:
        """With what footers say of the columns that the candidate knows: elsewhere no row has a value that it is asked
        for."""
        if self.bounds is None:
            return standing
        runs = [run for index in candidate for run in index.entry.content.runs]
        known = frozenset(stable for run in runs for stable in covered_columns(run))
        bounds = self.bounds
        return standing.with_more(self.once(known, lambda: narrowed_to(bounds, "bounds in footers", known)))

    def groups_of(self, result: PruneResult, row: int) -> int:
        """The row groups of a kept file that may match."""
        path = self.snapshot.files.paths[row].as_py()
        (found,) = self.groups.of(result, path, [result.walked])
        return int(np.count_nonzero(found.kept))


@dataclass(frozen=True, slots=True)
class Now:
    """What a query reads as things are. `groups`: by sampled row, of the kept ones."""

    tree: Predicate
    result: PruneResult
    kept: Mask
    groups: dict[int, int]
    reads: Reads

    @classmethod
    def of(cls, tree: Predicate, sight: Sight) -> Now:
        result = sight.standing.answer(tree)
        kept = sight.standing.kept(result)
        groups = _groups(sight, result, sight.sample[kept[sight.sample]])
        files = Estimate.exactly(float(kept.sum()))
        size = Estimate.exactly(float(sight.sizes[kept].sum()))
        return cls(tree, result, kept, groups, Reads(files, _of_rest(sight, groups, kept), size))


def with_candidate(
    sight: Sight, now: Now, exact: Sequence[OpenIndex], sampled: Sequence[OpenIndex]
) -> tuple[Reads, PruneResult]:
    """What the query reads with a candidate. `exact`: what was built of it over all files that queries read now;
    `sampled`: over the sample, none where its effect is exact. Queries of one predicate are weighed once."""
    key = (now.tree, *(index.entry.index_uuid for index in (*exact, *sampled)))
    return sight.once(key, lambda: _with_candidate(sight, now, exact, sampled))


def _with_candidate(
    sight: Sight, now: Now, exact: Sequence[OpenIndex], sampled: Sequence[OpenIndex]
) -> tuple[Reads, PruneResult]:
    standing = sight.standing.with_more(*exact) if exact else sight.standing
    kept, result = now.kept, now.result
    if exact:
        result = standing.answer(now.tree)
        kept = now.kept & standing.kept(result)
    rows = sight.sample[kept[sight.sample]]
    if not sampled:
        size = Estimate.exactly(float(sight.sizes[kept].sum()))
        groups = _of_rest(sight, _groups(sight, result, rows), kept)
        return Reads(Estimate.exactly(float(kept.sum())), groups, size), result
    more = standing.with_more(*sampled)
    result = more.answer(now.tree)
    if idle(result, exact, sampled):
        return now.reads, result
    then = kept & more.kept(result)
    places = sight.places(standing, sampled)
    possible = kept & places.kept(places.answer(now.tree))
    if (then & ~possible)[rows].any():  # it keeps files all the same
        places, possible = standing, kept
    tried_rows, still = rows[possible[rows]], rows[then[rows]]
    others_rows = kept & ~_mask(rows, len(kept))
    left_rows, elsewhere = np.flatnonzero(possible & others_rows), np.flatnonzero(others_rows & ~possible)
    sizes = sight.sizes
    asked = sight.redraws.asked(now.tree, rows, standing, places, more) if others_rows.any() else None
    drawn = None if asked is None else asked.told()
    tried = Tried(int(possible.sum()), len(tried_rows), len(still), drawn, _larger(sizes, left_rows, rows))
    known = len(tried_rows) or drawn is not None
    others, weights = tried.others() if known else (np.array([0.0, len(left_rows)]), np.array([0.06, 0.94]))
    size_bytes = _bytes(others, sizes[left_rows], sizes[rows], sizes[still])
    if asked is not None and len(elsewhere) and asked.by_chance[0]:
        others, size_bytes, weights = resampled(others, size_bytes, weights)
        more_files = kept_by_chance(len(elsewhere), *asked.by_chance)
        more_bytes = of_files(more_files, sizes[elsewhere])
        others, size_bytes = others + more_files, size_bytes + more_bytes
        left_rows = np.union1d(left_rows, elsewhere)
    alike = _home_groups(sight, more, asked) if sight.grouped and not len(still) and others.any() else []
    groups = _row_groups(sight, _groups(sight, result, still), others, weights, left_rows, alike)
    return Reads(Estimate.of(others + len(still), weights), groups, Estimate.of(size_bytes, weights)), result


def _larger(sizes: Floats, left: Rows, tried: Rows) -> float:
    """As many times as large as the tried files are the others."""
    if not len(left) or not len(tried):
        return 1.0
    return float(np.clip(sizes[left].mean() / sizes[tried].mean(), 0.5, 2.0))


def idle(result: PruneResult, *candidate: Sequence[OpenIndex]) -> bool:
    """Does nothing of the candidate answer any part of the query?"""
    names = {index.name for indexes in candidate for index in indexes}
    return not any(report.used for report in result.indexes if report.name in names)


def _home_groups(sight: Sight, more: Standing, asked: Redrawn | None) -> list[int]:
    """The row groups that are read of files which values that were drawn are of."""
    groups: list[int] = []
    for tree, homes in asked.homes(_LOOKED_AT) if asked is not None else ():
        result = more.answer(tree)
        groups += [sight.groups_of(result, row) for row in homes]
    return groups


def _bytes(others: Floats, left: Floats, tried: Floats, kept: Floats) -> Floats:
    """Particles of bytes, from those of files: files that are kept may be larger than others, as far as the sample says
    so, and differ among each other."""
    mean = float(tried.mean()) if len(tried) else 1.0
    larger = (float(kept.sum()) + mean) / ((len(kept) + 1) * mean) if mean else 1.0
    size = others * (float(left.mean()) * larger if len(left) else 0.0)
    if len(left):
        share = np.clip(others / len(left), 0.0, 1.0)
        spread = np.sqrt(others * (1 - share)) * float(left.std())
        rng = np.random.default_rng(0)
        size = size + rng.standard_normal(len(others)) * spread
        # How much larger the kept ones are is known from few.
        off = float(left.std()) / np.sqrt(len(kept) + 1) if len(tried) > 1 else 0.0
        size = size + others * (1 - share) * off * rng.standard_normal(len(others))
        size = np.clip(size, 0.0, float(left.sum()))
    whole: Floats = size + float(kept.sum())
    return whole


def _groups(sight: Sight, result: PruneResult, rows: Rows) -> dict[int, int]:
    return {row: sight.groups_of(result, row) for row in rows.tolist()} if sight.grouped else {}


def _of_rest(sight: Sight, groups: dict[int, int], kept: Mask) -> Estimate | None:
    """Of exactly these files."""
    left = np.flatnonzero(kept & ~_mask(sight.sample, len(kept)))
    return _row_groups(sight, groups, np.array([len(left)], np.float64), None, left, [])


def _row_groups(
    sight: Sight, groups: dict[int, int], others: Floats, weights: Floats | None, left: Rows, alike: Sequence[int]
) -> Estimate | None:
    """Of the kept files: those that were looked at, and as many others, of the files in the rows `left`. Larger files
    have more, as far as those looked at say so. `alike`: row groups of files that are like these, where none was looked
    at. None where the files have none, or nobody knows."""
    if not sight.grouped:
        return None
    known = float(sum(groups.values()))
    if not others.any():
        return Estimate.exactly(known)
    seen = np.array([*groups.values()] or list(alike), np.float64)
    if not len(seen):
        return None
    count = len(seen)
    mean, rest = float(seen.mean()), float(seen.std(ddof=1)) if count > 1 else float(seen.mean())
    off = rest / np.sqrt(count)
    if len(groups) > 2:
        sizes = sight.sizes[list(groups)] - sight.sizes[left].mean()
        slope = float(((sizes - sizes.mean()) * (seen - mean)).sum() / max(sizes.var() * count, 1.0))
        rest = float(np.sqrt(((seen - mean - slope * (sizes - sizes.mean())) ** 2).sum() / (count - 2)))
        mean = max(mean - slope * float(sizes.mean()), 0.0)
        # A line through few points is less sure than its residuals say, the more so far from their middle.
        off = rest * np.sqrt(1 / count + sizes.mean() ** 2 / max(sizes.var() * count, 1.0)) * (1 + 2 / count)
    rng = np.random.default_rng(1)
    if len(others) == 1:
        others, weights = np.repeat(others, 2_000), None
    means = np.maximum(mean + rng.standard_normal(len(others)) * off, 0.0)
    if not seen.any():  # what was in none of them may be in others
        means = rng.gamma(0.5, _GROUPS / len(seen), len(others))
    within = rng.standard_normal(len(others)) * np.sqrt(others) * rest
    return Estimate.of(np.maximum(known + np.round(others * means + within), known), weights)


def _mask(rows: Rows, count: int) -> Mask:
    mask = np.zeros(count, np.bool_)
    mask[rows] = True
    return mask
