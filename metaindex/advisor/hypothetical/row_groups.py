"""Row groups that are read: of sampled files counted, of others reckoned."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from metaindex.core import Mask
from metaindex.query import PruneResult

from .baseline import Baseline, Rows
from .posterior import Estimate, Floats
from .redraws import Redrawn
from .sample_context import SampleContext

_GROUPS = 4
"""Of a file that has any, where none that was looked at has."""
_LOOKED_AT = 8
"""Draws of which the row groups are looked at, where the sample keeps no file of the query itself."""


def groups_of(sight: SampleContext, result: PruneResult, rows: Rows) -> dict[int, int]:
    return {row: sight.groups_of(result, row) for row in rows.tolist()} if sight.grouped else {}


def of_rest(sight: SampleContext, groups: dict[int, int], kept: Mask) -> Estimate | None:
    """Estimate the row groups of exactly these files."""
    left = np.flatnonzero(kept & ~mask_of(sight.sample, len(kept)))
    return row_groups(sight, groups, np.array([len(left)], np.float64), left, [])


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
        others = np.repeat(others, 2_000)
    means = np.maximum(mean + rng.standard_normal(len(others)) * off, 0.0)
    if not seen.any():  # what was in none of them may be in others
        means = rng.gamma(0.5, _GROUPS / len(seen), len(others))
    within = rng.standard_normal(len(others)) * np.sqrt(others) * rest
    return Estimate.of(np.maximum(known + np.round(others * means + within), known))


def home_groups(sight: SampleContext, more: Baseline, asked: Redrawn | None) -> list[int]:
    """The row groups that are read of files which values that were drawn are of."""
    groups: list[int] = []
    for tree, homes in asked.homes(_LOOKED_AT) if asked is not None else ():
        result = more.answer(tree)
        groups += [sight.groups_of(result, row) for row in homes]
    return groups


def mask_of(rows: Rows, count: int) -> Mask:
    """Return a mask of these rows."""
    mask = np.zeros(count, np.bool_)
    mask[rows] = True
    return mask
