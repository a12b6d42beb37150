"""optimize: merge runs, so that a look-up reads fewer. It does not look at the table: what an index knows stays what it
was.

quick   small runs, size-tiered
full    all runs: one set of sorted parts

Runs are chosen as data, by size: no file's rows are rewritten more often than the logarithm of the number of files, and
no merge rewrites everything. A refresh does the same for its small runs, and moves old entries behind a tombstone, so
that an index refreshed every minute for a year stays fast; nothing that a query may read is removed, which is for
`clean`. What goes wrong there is for the next refresh.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import field
from operator import attrgetter
from typing import Literal

from metaindex.core import ConcurrentWriteError, DamagedIndexError, MetaIndexError, Progress, counted, dataclass
from metaindex.index.actions.action import Action, Change, NothingToDo, execute, missing
from metaindex.index.actions.change import Renumbering
from metaindex.index.actions.clean import KEPT_ENTRIES, trim
from metaindex.index.actions.records import ObjectWriter
from metaindex.index.build.merging import Merged, keys_together, merge_runs, unmerged
from metaindex.index.build.protocol import Builder, pieces_written_by
from metaindex.index.kinds.fact_rows import columns_together
from metaindex.index.kinds.registry import KINDS
from metaindex.index.log.entry import CoveredColumn, CoveredKey, IndexLogEntry, RunRef
from metaindex.index.log.operation_log import OperationLog
from metaindex.index.log.states import Operation
from metaindex.index.store.layout import new_run_id
from metaindex.index.store.reader import ReadCount, RunReader, StoreCache
from metaindex.index.store.writer import RunSink
from metaindex.storage import Storage

Mode = Literal["quick", "full"]
logger = logging.getLogger("metaindex")


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
            alike = all(of(run) == of(group[0]) for of in _ALIKE)
            both = _both(covered[i], run) if alike else None
            if both is not None and _fits(group, run, max_files, max_bytes):
                group.append(run)
                covered[i] = both
                break
        else:
            groups.append([run])
            covered.append((run.columns, run.keys))
    return groups


_ALIKE = tuple(map(attrgetter, ("listed_only", "table_uuid", "trusted")))


def _fits(group: Sequence[RunRef], run: RunRef, max_files: int | None, max_bytes: int | None) -> bool:
    files = max_files is None or sum(member.files for member in group) + run.files <= max_files
    return files and (max_bytes is None or sum(member.size_bytes for member in group) + run.size_bytes <= max_bytes)


_Covered = tuple[tuple[CoveredColumn, ...], tuple[CoveredKey, ...]]


def _both(covered: _Covered, run: RunRef) -> _Covered | None:
    columns, keys = columns_together(covered[0], run.columns), keys_together(covered[1], run.keys)
    return None if columns is None or keys is None else (columns, keys)


@dataclass(slots=True)
class Optimize(Action):
    """Merges the groups of runs that the mode and the policy choose, each into one run. `builder`: merges the rows of
    covering indexes; this process where it cannot."""

    operation = Operation.OPTIMIZE

    name: str
    storage: Storage  # rooted at the index folder
    mode: Mode = "quick"
    policy: MergePolicy = QUICK
    cache: StoreCache = field(default_factory=StoreCache)
    builder: Builder | None = None
    progress: Progress | None = None
    _groups: list[tuple[RunSink, list[RunRef]]] = field(default_factory=list)
    _merged: list[Merged] | None = None
    _objects: ObjectWriter | None = None

    def first_entry(self, base: IndexLogEntry | None) -> IndexLogEntry:
        if base is None:
            raise missing(self.operation.value, self.name)
        runs = base.content.runs
        groups = full_groups(runs) if self.mode == "full" else quick_groups(runs, self.policy)
        self._groups = [(RunSink(self.storage, new_run_id()), group) for group in groups]
        return base.following()

    def runs(self) -> tuple[str, ...]:
        return tuple(sink.run for sink, _ in self._groups)

    @property
    def merges_rows(self) -> bool:
        """Return whether the merge includes rows of the table. Known from `first_entry` on."""
        return any(KINDS.served_keys(run) for _, group in self._groups for run in group)

    def run(self, begun: IndexLogEntry) -> Change:
        if self._merged is None:
            try:
                self._merged = [
                    merged for sink, group in self._groups if (merged := self._merge(sink, group)) is not None
                ]
            except DamagedIndexError as error:
                raise DamagedIndexError(f"an optimize reads the runs that it merges; {error}") from error
        if not self._merged:
            raise NothingToDo(f"{counted(len(begun.content.runs), 'run')}, none to merge")
        self._check_still_there(begun)
        renumberings = tuple(Renumbering(renumbering.run, renumbering.ordinals) for renumbering in self._merged)
        if self._objects is None:
            self._objects = ObjectWriter(self.storage, self._merged[0].run.run, renumberings)
        before = sum(len(renumbering.ordinals) for renumbering in self._merged)
        left = len(begun.content.runs) - before + len(self._merged)
        note = f"{counted(before, 'run')} merged into {len(self._merged)}, the index has {left} now"
        return Change(replacement=self._objects.replacement(begun.content), notes=(note,))

    def _merge(self, sink: RunSink, group: Iterable[RunRef]) -> Merged | None:
        readers = [RunReader(self.storage, run, self.cache, ReadCount()) for run in group]
        readers = [reader for reader in readers if not unmerged(reader)]
        write = pieces_written_by(self.builder, self.progress)
        return merge_runs(readers, sink, write=write) if len(readers) > 1 else None

    def _check_still_there(self, latest: IndexLogEntry) -> None:
        live = {run.run for run in latest.content.runs}
        for renumbering in self._merged or ():
            if not renumbering.ordinals.keys() <= live:
                raise ConcurrentWriteError(
                    f"{self.operation.value} merges runs that are there at its commit; another writer took some of"
                    f" them; index {self.name!r} is as that one left it; try again"
                )


def upkeep(
    log: OperationLog, name: str, entry: IndexLogEntry, cache: StoreCache, builder: Builder | None = None
) -> tuple[str, ...]:
    """Do the upkeep after a refresh's commit by the builder, and return notes on it."""
    notes: tuple[str, ...] = ()
    try:
        if quick_groups(entry.content.runs, ON_REFRESH):
            notes = execute(log, Optimize(name, log.storage, "quick", ON_REFRESH, cache=cache, builder=builder)).notes
        if entry.id % (KEPT_ENTRIES // 4) < 4:  # a refresh writes two entries, a merge two more
            trim(log, KEPT_ENTRIES)
    except MetaIndexError as error:
        logger.warning("upkeep of index %r is left to the next refresh: %s", name, error)
    return notes
