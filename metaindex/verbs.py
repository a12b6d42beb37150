"""The verbs that change an index, as methods of a table. Each loads what it needs: a reader's start is short."""

from __future__ import annotations

import datetime as dt
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from expressions.errors import ArgumentError
from formats.protocol import At, TableFormat, TableRef

from .asked import TimestampLike, VersionLike, at_version
from .config import BuilderName, Config
from .folder import IndexFolder, plain_options
from .kinds.column_stats.spec import leaves_of
from .kinds.kind import Kind
from .kinds.registry import check_kinds, kind_from_spec
from .log.liveness import held
from .log.operation_log import OperationLog
from .log.states import Operation
from .pruning.open_index import OpenIndex
from .store.layout import check_name
from .store.reader import StoreCache

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from .actions.action import Outcome
    from .actions.create import Create
    from .actions.target import Target
    from .actions.written import Written
    from .build.protocol import Builder, Progress


class IndexVerbs(ABC):
    """The maintenance half of `Table`."""

    _format: TableFormat
    _ref: TableRef
    config: Config
    _spark: SparkSession | Callable[[], SparkSession] | None
    _cache: StoreCache
    written: Written | None

    @abstractmethod
    def _indexes(self) -> IndexFolder: ...

    def create_index(
        self,
        name: str,
        *kinds: Kind,
        builder: BuilderName | Builder | None = None,
        progress: Progress | None = None,
        version: VersionLike = None,
        timestamp: TimestampLike = None,
        history: bool = False,
    ) -> Outcome:
        """Indexes every file of the table at a version (default: now), each file read once for all kinds. Columns are
        those of that version, and it is the one that is recorded.

        `history`: then also the files that only older versions have, as far as they can still be read (within Delta's
        vacuum, of Iceberg snapshots that have not expired), so that those versions are pruned, too. What cannot be read
        any more is left out and told in the notes. Not for covering indexes.

        Raises ArgumentError for a name no folder may have, UnknownColumnError, VersionNotFoundError, IndexExistsError,
        IndexStateError, BuildError; then nothing is visible.
        """
        from .actions.action import execute, validate
        from .actions.create import Create
        from .build.local import check_builder
        from .kinds.covering.plan import covering_plans
        from .store.writer import RunSink, new_run_id

        check_name(name)
        check_kinds(kinds)
        target = self._target(at_version(version, timestamp))
        snapshot = target.snapshot()
        leaves_of(kinds, snapshot.schema)
        if covering_plans(kinds, snapshot.schema) and history:
            raise ArgumentError(
                "history=True is for kinds that prune; a covering index copies rows; create it without, as an index of its own"
            )
        log = self._log(name)
        validate(Operation.CREATE, log.latest(), name)  # a name that is used is said before a Spark is started
        built_by = self._builder(builder)
        check_builder(kinds, built_by)
        action = Create(
            name,
            self._ref,
            target,
            [kind.sized(snapshot.schema, snapshot.files.size_bytes).spec() for kind in kinds],
            built_by,
            RunSink(log.storage, new_run_id()),
            {**plain_options(self._ref.options), "file_format": snapshot.details.read_options().get("file_format", "")},
            progress,
        )
        self._remember(target)
        outcome = execute(log, action)
        return self._with_past(outcome, log, action, target) if history else outcome

    def refresh_index(
        self,
        name: str,
        mode: Literal["incremental", "quick", "full"] = "incremental",
        builder: BuilderName | Builder | None = None,
        progress: Progress | None = None,
        *,
        version: VersionLike = None,
        timestamp: TimestampLike = None,
        where: object = None,
        under: str | None = None,
    ) -> Outcome:
        """Brings an index to a version of the table (default: now).

        `incremental` reads only files that the index does not cover, `full` reads all of them again. `quick` reads
        none: it names the new files, so that queries at that version need not ask the table's log; they read those
        files until an incremental refresh covers them. `where` (a predicate over partition columns) or `under` (a
        folder below the table) limits an incremental refresh to the files there: those are covered, and the version is
        not recorded, as the others were not looked at. Small runs are merged by the way as they come together, and old
        log entries are put away; what goes wrong with that is left to the next refresh.
        Raises IndexNotFoundError, IndexStateError, VersionNotFoundError, BuildError, ConcurrentWriteError; the index is
        then what it was.
        """
        from .actions.action import Outcome, execute, validate
        from .actions.limits import limited
        from .actions.refresh import Refresh, check_same_table, recorded_already
        from .actions.upkeep import upkeep
        from .build.local import check_builder
        from .store.writer import RunSink, new_run_id

        if not isinstance(mode, str) or mode not in ("incremental", "quick", "full"):
            raise ArgumentError(f"a refresh is quick, incremental or full, not {mode!r}")
        limit = limited(where, under, self.config.time_zone)
        if limit is not None and mode != "incremental":
            raise ArgumentError(
                f"a refresh of some files is incremental, not {mode}; leave out where= and under=, or mode="
            )
        log = self._log(name)
        base = log.latest()
        if base is None:
            raise self._indexes().missing(f"refresh needs an index; there is none named {name!r}", name)
        check_same_table(base, self._format.name)
        validate(Operation.REFRESH, base, name)
        target = self._target(at_version(version, timestamp))
        if mode != "full" and limit is None and target.settled:
            note = recorded_already(OpenIndex(name, base, log.storage, self._cache), target.version, mode)
            if note is not None:  # no entry is written for it: the log stays short under a hook that fires every minute
                return Outcome(name, Operation.REFRESH.value, False, base, (note,))
        if limit is not None and self._starts_spark(builder):
            limit(target.snapshot())  # what is wrong with it is said before that
        built_by = self._builder("local" if mode == "quick" else builder)  # a quick refresh builds nothing
        if mode != "quick":
            check_builder([kind_from_spec(spec) for spec in base.kinds], built_by)
        action = Refresh(
            name,
            self._ref,
            target,
            base.kinds,
            built_by,
            RunSink(log.storage, new_run_id()),
            progress=progress,
            mode=mode,
            limit=limit,
            cache=self._cache,
            written=self.written,
        )
        self._remember(target)
        outcome = execute(log, action)
        return replace(outcome, notes=(*outcome.notes, *upkeep(log, name, outcome.entry, self._cache, built_by)))

    def optimize_index(
        self,
        name: str,
        mode: Literal["quick", "full"] = "quick",
        builder: BuilderName | Builder | None = None,
        progress: Progress | None = None,
    ) -> Outcome:
        """Merges runs of an index, so that look-ups read less; answers stay what they were and the table is not looked
        at.

        `quick` merges small runs as they come together (size-tiered), `full` all runs into one set of sorted parts.
        `builder`: who merges the rows of covering indexes, bucket by bucket: Spark's tasks, or threads of this process
        ('local'); what else an index has is merged here, and asks for no Spark. ConcurrentWriteError where another
        writer merged or replaced the same runs first; DamagedIndexError where a run is not what it should be,
        BuildError; the index is then what it was.
        """
        from .actions.action import Outcome, execute, validate
        from .actions.optimize import Optimize

        if not isinstance(mode, str) or mode not in ("quick", "full"):
            raise ArgumentError(f"an optimize is quick or full, not {mode!r}")
        log = self._log(name)
        action = Optimize(name, log.storage, mode, cache=self._cache, progress=progress)
        base = log.latest()
        action.first_entry(base)
        if action.merges_covering:
            action.builder = self._builder(builder)
        if base is not None and not action.runs():
            validate(Operation.OPTIMIZE, base, name)
            note = f"{len(base.content.runs)} runs, none to merge"  # no entry is written for that
            return Outcome(name, Operation.OPTIMIZE.value, False, base, (note,))
        return execute(log, action)

    def delete_index(self, name: str) -> Outcome:
        """No query uses the index any more; its files stay until `vacuum_index`, and `restore_index` brings it back."""
        from .actions.action import execute
        from .actions.lifecycle import Delete

        return execute(self._log(name), Delete(name))

    def restore_index(self, name: str) -> Outcome:
        """Brings a deleted index back."""
        from .actions.action import execute
        from .actions.lifecycle import Restore

        return execute(self._log(name), Restore(name))

    def vacuum_index(self, name: str) -> Outcome:
        """Removes the files of a deleted index for good."""
        from .actions.action import execute
        from .actions.lifecycle import Vacuum

        log = self._log(name)
        return execute(log, Vacuum(name, log=log))

    def clean_index(self, name: str, retention: dt.timedelta | float | None = None) -> Outcome:
        """Removes what an index does not need any more: runs that are out of use for longer than `retention` (a
        timedelta or seconds, 7 days where not given), what dead writers left behind, old log entries. Goes beside every
        operation and never takes what one under way, or a query that began within the retention, may need."""
        from .actions.clean import RETENTION_SECONDS, clean

        seconds = retention.total_seconds() if isinstance(retention, dt.timedelta) else retention
        if seconds is not None and (not isinstance(seconds, int | float) or not 0 <= seconds < 1e10):
            raise ArgumentError(f"a retention is a timedelta, or 0 or more seconds; got {retention!r}")
        return clean(self._log(name), name, RETENTION_SECONDS if seconds is None else seconds)

    def erase_index(
        self, name: str, builder: BuilderName | Builder | None = None, progress: Progress | None = None
    ) -> Outcome:
        """Takes out of an index, physically and at once, the values that no retained version of the table holds: of
        files that are gone, and of rows deleted in files that stay. Old runs are removed whatever the retention; a
        query that began before may have to read more. Does not touch the table: run it after the table's own VACUUM,
        snapshot expiry or the like. `builder`: as in `optimize_index`. IndexStateError while an operation is under
        way."""
        from .actions.action import execute
        from .actions.clean import clean
        from .actions.erase import Erase, all_there, files_there
        from .actions.removal import out_of_reach
        from .actions.target import retains

        log = self._log(name)
        snapshot = self._format.snapshot(self._ref, At())
        there = files_there(self._ref.storage, by_time=self._format.name == "files")
        if self._format.name == "files":
            from formats.files.history import forget

            forget(self._ref, all_there(there, snapshot))  # kept listings name partition values
        base = log.latest()
        rows = base is not None and any(run.holds_rows for run in base.content.runs)
        action = Erase(
            name,
            log.storage,
            snapshot,
            retains(self._format, self._ref),
            there,
            cache=self._cache,
            builder=self._builder(builder) if rows else None,
            progress=progress,
        )
        outcome = execute(log, action)
        # An hour into the future: what a store that counts in seconds calls now is to go, too.
        cleaned = clean(log, name, -3600, 1)
        notes = (*outcome.notes, *cleaned.notes)
        if cleaned.entry.under_way:
            notes += (f"{held(cleaned.entry.under_way[0])} may hold what was erased: run erase again after it",)
        notes += out_of_reach(log.storage, cleaned.entry.id)
        changed = outcome.changed or cleaned.changed
        return replace(outcome, operation="erase", changed=changed, entry=cleaned.entry, notes=notes)

    def cancel_index(self, name: str) -> Outcome:
        """Ends the operations under way of an index whose writer is dead, and goes back to what is stable; from
        VACUUMING forward to DOESNOTEXIST.

        IndexStateError where nothing is under way. A writer that is alive after all fails when it commits.
        """
        from .actions.cancel import cancel

        return cancel(self._log(name), name)

    def enable_index(self, name: str) -> Outcome:
        """Lets queries use a disabled index again. It was refreshed meanwhile, if anybody did."""
        from .actions.lifecycle import set_enabled

        return set_enabled(self._log(name), name, True)

    def disable_index(self, name: str) -> Outcome:
        """No query uses the index until `enable_index`; it is kept and refreshed as before."""
        from .actions.lifecycle import set_enabled

        return set_enabled(self._log(name), name, False)

    def _with_past(self, outcome: Outcome, log: OperationLog, created: Create, target: Target) -> Outcome:
        from .actions.past import Past
        from .actions.upkeep import upkeep

        name, builder = created.name, created.builder
        past = Past(
            name, self._format, self._ref, log, builder, target.snapshot(), self._cache, progress=created.progress
        )
        notes = past.index()
        entry = log.latest() or outcome.entry
        merged = upkeep(log, name, entry, self._cache, builder)
        return replace(outcome, entry=log.latest() or entry, notes=(*outcome.notes, *notes, *merged))

    # -- inside ----------------------------------------------------------------------------------------------------

    def _log(self, name: str) -> OperationLog:
        return self._indexes().log(name)

    def _target(self, at: At) -> Target:
        """The table at a version, for an action. Waits once for plain files changed a moment ago."""
        from .actions.target import Target

        return Target.of(self._format, self._ref, at, self.config.settle_seconds)

    def _remember(self, target: Target) -> None:
        """Plain folders have no log: a listing that is indexed is kept as a version."""
        from formats.files.history import remember

        if self._format.name == "files":
            remember(self._ref, target.snapshot())

    def _named(self, chosen: BuilderName | Builder | None) -> BuilderName | Builder:
        """The builder that is meant: an object, "local" or "spark". ArgumentError for what is none."""
        name = chosen if chosen is not None else self.config.builder
        if not isinstance(name, str):
            if not hasattr(name, "column_stats"):
                raise ArgumentError(
                    f"a builder is 'spark', 'local' or 'default', or an object that builds; got {name!r}"
                )
            return name
        if name == "default":
            from importlib.util import find_spec

            return "spark" if find_spec("pyspark") is not None else "local"
        if name not in ("local", "spark"):
            raise ArgumentError(f"a builder is 'spark', 'local' or 'default', not {name!r}")
        return name

    def _starts_spark(self, chosen: BuilderName | Builder | None) -> bool:
        """Would this builder start a Spark that does not run yet?"""
        return self._named(chosen) == "spark" and (self._spark is None or callable(self._spark))

    def _builder(self, chosen: BuilderName | Builder | None) -> Builder:
        name = self._named(chosen)
        if not isinstance(name, str):
            return name
        if name == "local":
            from .build.local import LocalBuilder

            return LocalBuilder()
        from .build.spark import SparkBuilder

        return SparkBuilder(self._session())

    def _session(self) -> Any:
        if self._spark is None:
            from .spark import spark_session

            self._spark = spark_session()
        elif callable(self._spark):
            self._spark = self._spark()
        return self._spark
