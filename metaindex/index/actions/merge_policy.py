"""Chooses the runs to merge, as data: size-tiered, so that no file's rows are rewritten more often than the logarithm
of the number of files, and no merge rewrites everything."""

from __future__ import annotations

from collections.abc import Sequence

from metaindex.core import dataclass
from metaindex.index.build.merging import keys_together
from metaindex.index.kinds.registry import FACT_ROWS
from metaindex.index.log.entry import CoveredColumn, CoveredKey, RunRef


@dataclass(frozen=True, slots=True)
class MergePolicy:
    """Sizes of merges. Runs of up to `small_files` files are of tier 0; each next tier holds `factor` times as many.
    `factor` runs of a tier make one of the next; of tier 0, `least_small` are enough. No merge makes a run of more than
    `max_files`, nor, if given, of more than `max_bytes`."""

    small_files: int = 1_000
    factor: int = 4
    least_small: int = 4
    max_files: int = 4_000_000
    max_bytes: int | None = None

    def tier(self, files: int) -> int:
        tier, limit = 0, self.small_files
        while files > limit:
            tier, limit = tier + 1, limit * self.factor
        return tier


ON_REFRESH = MergePolicy(max_files=100_000, max_bytes=128 << 20)
"""What a refresh may merge by itself: a second or two of work at most. Larger runs wait for `optimize`; those of keys
are large with few files."""

QUICK = MergePolicy(least_small=2)
"""optimize, quick: small runs, as few as they are."""


def quick_groups(runs: Sequence[RunRef], policy: MergePolicy = QUICK) -> list[list[RunRef]]:
    """The merges that are due: of every tier the runs, in their order, that can be one."""
    groups = []
    for tier in sorted({policy.tier(run.files) for run in runs}):
        least = policy.least_small if tier == 0 else policy.factor
        mine = [run for run in runs if policy.tier(run.files) == tier]
        groups += [group for group in mergeable(mine, policy.max_files, policy.max_bytes) if len(group) >= least]
    return groups


def full_groups(runs: Sequence[RunRef]) -> list[list[RunRef]]:
    """Group all runs for merging, apart only if the bounds of a column are of different kinds."""
    return [group for group in mergeable(runs) if len(group) > 1]


def mergeable(runs: Sequence[RunRef], max_files: int | None = None, max_bytes: int | None = None) -> list[list[RunRef]]:
    """Runs of one table put together as long as their columns and keys go together and they do not grow too large."""
    groups: list[list[RunRef]] = []
    covered: list[_Covered] = []
    for run in runs:
        for i, group in enumerate(groups):
            alike = (run.listed_only, run.table_uuid) == (group[0].listed_only, group[0].table_uuid)
            both = _both(covered[i], run) if alike else None
            if both is not None and _fits(group, run, max_files, max_bytes):
                group.append(run)
                covered[i] = both
                break
        else:
            groups.append([run])
            covered.append((run.columns, run.keys))
    return groups


def _fits(group: Sequence[RunRef], run: RunRef, max_files: int | None, max_bytes: int | None) -> bool:
    files = max_files is None or sum(member.files for member in group) + run.files <= max_files
    return files and (max_bytes is None or sum(member.size_bytes for member in group) + run.size_bytes <= max_bytes)


_Covered = tuple[tuple[CoveredColumn, ...], tuple[CoveredKey, ...]]


def _both(covered: _Covered, run: RunRef) -> _Covered | None:
    columns, keys = FACT_ROWS.together(covered[0], run.columns), keys_together(covered[1], run.keys)
    return None if columns is None or keys is None else (columns, keys)
