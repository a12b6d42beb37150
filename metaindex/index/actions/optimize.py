"""optimize: merge runs, so that a look-up reads fewer. It does not look at the table: what an index knows stays what it
was.

quick   small runs, size-tiered (merge_policy)
full    all runs: one set of sorted parts
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from typing import Literal

from metaindex.core import ConcurrentWriteError, DamagedIndexError, counted, dataclass
from metaindex.index.build.merging import Merged, merge_runs, unmerged
from metaindex.index.build.protocol import Builder, Progress, pieces_written_by
from metaindex.index.kinds.registry import served_keys
from metaindex.index.log.entry import IndexLogEntry, RunRef
from metaindex.index.log.states import Operation
from metaindex.index.store.reader import ReadCount, RunReader, StoreCache
from metaindex.index.store.writer import RunSink, new_run_id
from metaindex.storage import Storage

from .action import Change, NothingToDo
from .merge_policy import QUICK, MergePolicy, full_groups, quick_groups
from .removal import remove_runs
from .renumber import Renumbering
from .renumber_objects import ObjectWriter
from .validation import missing

Mode = Literal["quick", "full"]


@dataclass(slots=True)
class Optimize:
    """Merges the groups of runs that the mode and the policy choose, each into one run. `builder`: merges the rows of
    covering indexes; this process where it cannot."""

    name: str
    storage: Storage  # rooted at the index folder
    mode: Mode = "quick"
    policy: MergePolicy = QUICK
    operation: Operation = Operation.OPTIMIZE
    forward_only: bool = False
    rebases: bool = True
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
        return base.following(nonce="", timestamp_ms=0, written_by="")

    def runs(self) -> tuple[str, ...]:
        return tuple(sink.run for sink, _ in self._groups)

    @property
    def merges_rows(self) -> bool:
        """Return whether the merge includes rows of the table. Known from `first_entry` on."""
        return any(served_keys(run) for _, group in self._groups for run in group)

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

    def undo(self) -> None:
        remove_runs(self.storage, self.runs())

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
