"""The verbs that change an index, as methods of a table. Each loads what it needs: a reader's start is short."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Literal

from expressions.vectors import compute
from formats.model import Snapshot
from formats.protocol import At, TableFormat, TableRef

from .config import BuilderName, Config
from .errors import IndexNotFoundError
from .folder import IndexFolder, plain_options
from .kinds.specs import Kind, kind_from_spec, leaves_of
from .log.operation_log import OperationLog
from .store.layout import check_name
from .store.reader import StoreCache

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from .actions.action import Outcome
    from .build.protocol import Builder, Progress


class IndexVerbs:
    """The maintenance half of `Table`."""

    _format: TableFormat
    _ref: TableRef
    config: Config
    _spark: SparkSession | None
    _cache: StoreCache

    def _indexes(self) -> IndexFolder:
        raise NotImplementedError

    def create_index(
        self,
        name: str,
        *kinds: Kind,
        builder: BuilderName | Builder | None = None,
        progress: Progress | None = None,
    ) -> Outcome:
        """Indexes every file of the table as it is now, each file read once for all kinds.

        Raises ValueError for a name no folder may have, UnknownColumnError, IndexExistsError, IndexStateError, BuildError; then nothing is visible.
        """
        from .actions.action import execute
        from .actions.create import Create
        from .store.writer import RunSink, new_run_id

        check_name(name)
        if not kinds:
            raise ValueError("an index has at least one kind; none was given; for example mi.ColumnStats()")
        snapshot, stable = self._settled()
        leaves_of(kinds, snapshot.schema)
        log = self._log(name)
        action = Create(
            name,
            self._ref,
            snapshot,
            kinds,
            self._builder(builder),
            RunSink(log.storage, new_run_id()),
            stable,
            {**plain_options(self._ref.options), "file_format": snapshot.details.read_options().get("file_format", "")},
            progress,
        )
        self._remember(snapshot)
        return execute(log, action)

    def refresh_index(
        self,
        name: str,
        mode: Literal["incremental", "full"] = "incremental",
        builder: BuilderName | Builder | None = None,
        progress: Progress | None = None,
    ) -> Outcome:
        """Brings an index to the table as it is now. `incremental` reads only files that the index does not know; `full` reads all of them again."""
        from .actions.action import execute
        from .actions.refresh import Refresh, check_same_table
        from .store.writer import RunSink, new_run_id

        log = self._log(name)
        base = log.latest()
        if base is None:
            raise IndexNotFoundError(
                f"refresh needs an index; there is none named {name!r}; there are: {', '.join(self._indexes().names()) or 'none'}"
            )
        if mode not in ("incremental", "full"):
            raise ValueError(f"a refresh is incremental or full, not {mode!r}")
        snapshot, stable = self._settled()
        check_same_table(base, snapshot)
        action = Refresh(
            name,
            self._ref,
            snapshot,
            [kind_from_spec(spec) for spec in base.kinds],
            self._builder(builder),
            RunSink(log.storage, new_run_id()),
            stable,
            progress=progress,
            mode=mode,
            cache=self._cache,
        )
        self._remember(snapshot)
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

    def cancel_index(self, name: str) -> Outcome:
        """Ends the operations under way of an index whose writer is dead, and goes back to what is stable; from VACUUMING forward to DOESNOTEXIST.

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

    # -- inside ----------------------------------------------------------------------------------------------------

    def _log(self, name: str) -> OperationLog:
        return self._indexes().log(name)

    def _settled(self) -> tuple[Snapshot, bool]:
        """The snapshot to index, and whether every file's identity can be believed. Waits once for files changed a moment ago."""
        from .actions.create import racy

        snapshot = self._format.snapshot(self._ref, At())
        if racy(snapshot).any():
            newest = compute("max", snapshot.files.table.column("modified_ms")).as_py() or 0
            wait = newest / 1000 + self.config.settle_seconds - time.time()
            time.sleep(min(max(wait, 0.0) + 0.01, self.config.settle_seconds + 0.1))
            snapshot = self._format.snapshot(self._ref, At())
        return snapshot, not racy(snapshot).any()

    def _remember(self, snapshot: Snapshot) -> None:
        """Plain folders have no log: a listing that is indexed is kept as a version."""
        from formats.files.history import remember

        if snapshot.format == "files":
            remember(self._ref, snapshot)

    def _builder(self, chosen: BuilderName | Builder | None) -> Builder:
        name = chosen if chosen is not None else self.config.builder
        if not isinstance(name, str):
            return name
        if name == "default":
            from importlib.util import find_spec

            name = "spark" if find_spec("pyspark") is not None else "local"
        if name == "local":
            from .build.local import LocalBuilder

            return LocalBuilder()
        if name == "spark":
            from .build.spark import SparkBuilder

            return SparkBuilder(self._session())
        raise ValueError(f"a builder is 'spark', 'local' or 'default', not {name!r}")

    def _session(self) -> Any:
        if self._spark is None:
            from .spark import spark_session

            self._spark = spark_session()
        return self._spark
