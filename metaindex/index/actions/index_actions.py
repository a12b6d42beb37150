"""The actions on one index, for callers that know the table's version, its builder and the reader options."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from metaindex.core import ConcurrentWriteError, Cure, IndexExistsError, Progress, counted
from metaindex.formats import Format, Schema, Snapshot, TableRef, Version
from metaindex.index.build.protocol import Builder
from metaindex.index.kinds.kind import Kind
from metaindex.index.kinds.registry import KINDS
from metaindex.index.kinds.renames import same_kinds
from metaindex.index.log.entry import IndexLogEntry, KindSpec
from metaindex.index.log.operation_log import OperationLog
from metaindex.index.log.states import Operation, State
from metaindex.index.open_index import OpenIndex
from metaindex.index.store.cache import StoreCache
from metaindex.index.store.layout import new_run_id
from metaindex.index.store.writer import RunSink
from metaindex.index.verification.report import Verification

from .action import Outcome, execute, validate
from .backfill import Backfill
from .clean import RETENTION_SECONDS, clean
from .create import Create
from .erase import Erase, all_there, files_there
from .lifecycle import Transition, Vacuum, cancel, set_enabled
from .optimize import Optimize, upkeep
from .refresh import Mode, Refresh, Written, recorded_already
from .removal import out_of_reach
from .repair import Repair, check, known_kinds, not_understood, nothing_wrong
from .target import Target, retains


@dataclass(frozen=True, slots=True)
class IndexActions:
    """Changes one index. Each action returns its outcome, and writes the log."""

    name: str
    log: OperationLog
    cache: StoreCache

    def create(
        self,
        target: Target,
        kinds: Sequence[KindSpec],
        builder: Builder,
        options: dict[str, object],
        progress: Progress | None,
    ) -> Outcome:
        """Build the index of all files of a version."""
        action = Create(self.name, target, kinds, builder, self._sink(), options, progress, self.log.latest)
        return execute(self.log, action)

    def add_past(self, outcome: Outcome, target: Target, builder: Builder, progress: Progress | None) -> Outcome:
        """Index the files of older versions, after `create`."""
        past = Backfill(self.name, target, self.log, builder, self.cache, progress)
        notes = past.index()
        merged = upkeep(self.log, self.name, self.log.latest() or outcome.entry, self.cache, builder)
        return replace(outcome, entry=self.log.latest() or outcome.entry, notes=(*outcome.notes, *notes, *merged))

    def check(self, verb: str, base: IndexLogEntry | None, table_format: str = "") -> None:
        """Raise unless `verb` (create, refresh, or what needs an index as a refresh does) may begin on the entry, and
        the index is of a table of this format, where one is given."""
        if base is not None and table_format and base.table.format != table_format:
            raise ConcurrentWriteError(
                f"an index is refreshed from the table it was built on; {base.name!r} is of a {base.table.format} table"
                f" and this is {table_format}; drop it and create it anew"
            )
        validate(Operation.CREATE if verb == Operation.CREATE.value else Operation.REFRESH, base, self.name, verb)

    def there_already(self, kinds: Sequence[Kind], schema: Schema) -> IndexLogEntry | None:
        """Return the latest entry if the index exists. Raises IndexExistsError if it is of other kinds."""
        base = self.log.latest()
        if base is None or base.stable is not State.ACTIVE:
            return None
        if not same_kinds(base.kinds, kinds, schema):
            has, wanted = (" + ".join(kind.title for kind in some) for some in (map(KINDS.of, base.kinds), kinds))
            raise IndexExistsError(
                f"an index that exists is taken where it has the same kinds; {self.name!r} has {has}, and {wanted} is"
                f" asked; choose another name, or {Cure('anew')}"
            )
        return base

    def recorded(self, base: IndexLogEntry, version: Version, mode: Mode) -> Outcome | None:
        """Return the outcome of a refresh at a version that is recorded, or None. No entry is written for it: the log
        stays short under a hook that fires every minute."""
        note = recorded_already(OpenIndex(self.name, base, self.log.storage, self.cache), version, mode)
        return None if note is None else Outcome(self.name, Operation.REFRESH.value, False, base, (note,))

    def refresh(
        self,
        base: IndexLogEntry,
        target: Target,
        builder: Builder,
        options: dict[str, object],
        mode: Mode,
        written: Written | None,
        progress: Progress | None,
        remember: Callable[[], object],
    ) -> Outcome:
        """Bring the index to a version, and merge small runs. `remember`: makes the version one that can be read
        later."""
        action = Refresh(
            self.name,
            target,
            base.kinds,
            builder,
            self._sink(),
            options,
            progress=progress,
            mode=mode,
            cache=self.cache,
            written=written,
            look=self.log.latest,
            remember=remember,
        )
        outcome = execute(self.log, action, base)
        merged = upkeep(self.log, self.name, outcome.entry, self.cache, builder)
        return replace(outcome, notes=(*outcome.notes, *merged))

    def optimize(
        self, mode: Literal["quick", "full"], merging: Callable[[], Builder], progress: Progress | None
    ) -> Outcome:
        """Merge runs. `merging`: makes the builder that merges stored rows, where there are any to merge."""
        action = Optimize(self.name, self.log.storage, mode, cache=self.cache, progress=progress)
        base = self.log.latest()
        action.first_entry(base)
        if action.merges_rows:
            action.builder = merging()
        if base is not None and not action.runs():
            validate(Operation.OPTIMIZE, base, self.name)
            note = f"{counted(len(base.content.runs), 'run')}, none to merge"  # no entry is written for that
            return Outcome(self.name, Operation.OPTIMIZE.value, False, base, (note,))
        outcome = execute(self.log, action)
        if not outcome.changed:
            return outcome
        old = "what was merged stays on storage for queries that began before, until clean removes it"
        return replace(outcome, notes=(*outcome.notes, old))

    def delete(self) -> Outcome:
        """Hide the index from queries; its files stay."""
        outcome = execute(self.log, Transition(self.name, Operation.DELETE))
        if not outcome.changed:
            return outcome
        back, gone = Cure("restore", self.name), Cure("vacuum", self.name)
        ways = f"{back} brings it back, {gone} removes its files for good"
        return replace(outcome, notes=(*outcome.notes, f"no query uses it any more; {ways}"))

    def restore(self) -> Outcome:
        """Bring a deleted index back."""
        return execute(self.log, Transition(self.name, Operation.RESTORE))

    def vacuum(self) -> Outcome:
        """Remove the files of a deleted index."""
        return execute(self.log, Vacuum(self.name, log=self.log))

    def clean(self, seconds: float | None) -> Outcome:
        """Remove what no query needs that began within `seconds`."""
        return clean(self.log, self.name, RETENTION_SECONDS if seconds is None else seconds)

    def cancel(self, *, dead_alone: bool = False) -> Outcome:
        """End what is under way and goes on no more. `dead_alone`: only if its writer gives no sign of life."""
        return cancel(self.log, self.name, dead_alone=dead_alone)

    def set_enabled(self, wanted: bool) -> Outcome:
        """Let queries use the index, or not."""
        return set_enabled(self.log, self.name, wanted)

    def erase(
        self,
        format_: Format,
        ref: TableRef,
        snapshot: Snapshot,
        merging: Callable[[], Builder],
        progress: Progress | None,
    ) -> Outcome:
        """Remove what the index, and kept listings, hold of files that are gone."""
        there = files_there(ref.storage, by_time=not format_.has_log)
        if not format_.has_log:
            format_.forget(ref, all_there(there, snapshot))  # kept listings name partition values
        base = self.log.latest()
        rows = base is not None and any(KINDS.served_keys(run) for run in base.content.runs)
        action = Erase(
            self.name,
            self.log.storage,
            snapshot,
            retains(format_, ref),
            there,
            cache=self.cache,
            builder=merging() if rows else None,
            progress=progress,
        )
        outcome = execute(self.log, action)
        # An hour into the future: what a store that counts in seconds calls now is to go, too.
        cleaned = clean(self.log, self.name, -3600, 1)
        notes = (*outcome.notes, *cleaned.notes)
        if cleaned.entry.under_way:
            notes += (f"{cleaned.entry.under_way[0]} may hold what was erased: run erase again after it",)
        notes += out_of_reach(self.log.storage, cleaned.entry.id)
        kept = dict.fromkeys(said for run in cleaned.entry.content.runs for said in KINDS.lasting(run))
        notes += tuple(f"{said}: {Cure('full', 'it')} to have them made anew" for said in kept)
        changed = outcome.changed or cleaned.changed
        return replace(outcome, operation="erase", changed=changed, entry=cleaned.entry, notes=notes)

    def verify(
        self,
        format_: Format,
        ref: TableRef,
        snapshot: Snapshot,
        sample: int | None,
        every_version: bool,
        progress: Progress | None,
    ) -> Verification:
        """Prove the index right, or say what is wrong with it. `sample`: data files to compare, None for all."""
        from metaindex.index.verification import verify

        return verify(self.name, self.log, format_, ref, snapshot, sample, every_version, progress)

    def repair(
        self,
        report: Verification,
        target: Callable[[IndexLogEntry], Target],
        builder: Callable[[Sequence[Kind]], Builder],
        progress: Progress | None,
    ) -> tuple[Outcome, IndexLogEntry, Builder | None]:
        """Make anew what a verification found wrong, and return the entry that it began with, too. `builder` is asked
        only where something is built."""
        entry = check(self.name, self.log)
        foreign = not_understood(entry)
        left = tuple(f"run {run} is left as it is: {why}" for run, why in foreign.items())
        bad, kinds = report.damaged_runs - foreign.keys(), known_kinds(entry)
        if not bad and all(finding.run in foreign for finding in report.findings):
            return nothing_wrong(entry, left, damaged=bool(report.findings), unproven=report.unproven), entry, None
        built_by, before = builder([KINDS.of(spec) for spec in kinds]), entry
        revived = any(finding.kind == "log" for finding in report.findings)
        if revived:
            entry = self.log.revive(entry)
        at = target(entry)
        versions = frozenset(finding.version for finding in report.findings if finding.kind == "version")
        action = Repair(
            self.name,
            at,
            kinds,
            built_by,
            self._sink(),
            progress=progress,
            bad_runs=bad,
            left=left,
            revived=revived,
            bad_versions=versions if any(finding.kind == "version" for finding in report.findings) else None,
        )
        return execute(self.log, action), before, action.builder

    def _sink(self) -> RunSink:
        return RunSink(self.log.storage, new_run_id())
