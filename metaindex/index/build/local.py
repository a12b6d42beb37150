"""The builder without a JVM: footers where they are to be trusted, a scan of the data where not, in one process. And
the one that chooses between this and another by the size of the files.

Memory: the facts of all columns (about 60 bytes a file and column; compressed where they are many and come from the
log), and a part's stored rows at a time.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import pyarrow as pa

from metaindex.core import BuildError, Cure, Progress, WorkerError
from metaindex.index.build.collect import Collected, FactScan, collect
from metaindex.index.build.prepared import completed, prepared, unpacked
from metaindex.index.build.protocol import Builder, BuildReport, BuildRequest
from metaindex.index.kinds.fact_rows import FactWriter
from metaindex.index.kinds.facts import MOST_ROWS, facts_schema, in_column_order
from metaindex.index.kinds.kind import PlannedKey
from metaindex.index.kinds.row_plan import RowPlan
from metaindex.index.store.writer import RunSink


@dataclass(frozen=True, slots=True)
class LocalBuilder:
    """Builds in this process. `threads`: files read at a time; by default one on a local disk, where reading is work
    for the processor and threads only wait for each other, and 16 on an object store, where it is waiting. `scans`:
    False reads no data for facts of columns, only footers; `BuildReport.files_scanned` then counts the files whose data
    would have been read."""

    threads: int | None = None
    scans: bool = True

    name = "local"

    def facts(self, request: BuildRequest, sink: RunSink, progress: Progress | None = None) -> BuildReport:
        """Build facts; see `protocol.Builder`."""
        source = FactScan.of(request, scans=self.scans)
        collected = _collected(request, source, self._threads(request), progress)
        ids = request.partitions.sort_by("partition_ord").column("partition_id").combine_chunks()
        writer = FactWriter.of(sink, request.partition_ord, ids)
        leaves = (*request.leaves, *request.partition_leaves)
        at_once, some = max(1, MOST_ROWS // max(1, len(request.files))), list[int]()
        for done, (place, leaf) in enumerate(in_column_order(leaves), 1):
            in_files = place < len(request.leaves)
            some += [place] if in_files else []
            if not in_files or len(some) == at_once or done == len(leaves):
                writer.write([leaves[at] for at in some], [unpacked(collected.facts[at]) for at in some])
                for at in some:
                    collected.facts[at] = facts_schema(leaves[at].type).empty_table()  # its memory is the next column's
                some = []
            if not in_files:
                writer.write_values(request.partition_column(leaf))
            if progress is not None:
                progress("columns written", done, len(leaves))
        return BuildReport.of(request, writer.close(), collected.problems, int(collected.scanned.sum()))

    def keys(
        self, request: BuildRequest, plans: Sequence[PlannedKey], sink: RunSink, progress: Progress | None = None
    ) -> BuildReport:
        """Build keys; see `protocol.Builder`."""
        from .key_build import build_keys

        return build_keys(request, plans, sink, self._threads(request), progress)

    def rows(
        self, request: BuildRequest, plans: Sequence[RowPlan], sink: RunSink, progress: Progress | None = None
    ) -> BuildReport:
        """Refuse to build rows, which only Spark puts into buckets and sorts; see `protocol.Builder`."""
        raise self.not_here()

    @staticmethod
    def not_here() -> BuildError:
        """Return the error of kinds that only Spark builds."""
        return BuildError(
            f"a covering index is built by Spark; the builder is 'local'; choose {Cure('argument', 'builder', 'spark')}"
        )

    def _threads(self, request: BuildRequest) -> int:
        return self.threads or (16 if "://" in request.ref.storage.root else 1)


def _collected(request: BuildRequest, source: FactScan, threads: int, progress: Progress | None) -> Collected:
    """Collect facts from the log if that is allowed and enough, else from the files."""
    files = request.files.table.select(["path", "size_bytes"])
    if not request.trust_log:
        return collect(
            request.ref.storage, source, files["path"], files["size_bytes"], threads, progress, request.scans
        )
    facts, enough = prepared(request)
    if enough.all():
        return Collected(facts, {}, np.zeros(len(enough), np.bool_))
    unread = files.filter(pa.array(~enough))
    read = collect(request.ref.storage, source, unread["path"], unread["size_bytes"], threads, progress, request.scans)
    return completed(facts, enough, read)


logger = logging.getLogger("metaindex")

T = TypeVar("T")


@dataclass(slots=True)
class BySize:
    """Builds here what is small, and on the session what is not, as long as there is one. `name`: who built last."""

    here: Builder
    running: Callable[[], Builder | None]
    most_bytes: int
    name: str = "local"

    def facts(self, request: BuildRequest, sink: RunSink, progress: Progress | None = None) -> BuildReport:
        """Build facts; see `protocol.Builder`."""
        return self._built(request, lambda builder: builder.facts(request, sink, progress))

    def keys(
        self, request: BuildRequest, plans: Sequence[PlannedKey], sink: RunSink, progress: Progress | None = None
    ) -> BuildReport:
        """Build keys; see `protocol.Builder`."""
        return self._built(request, lambda builder: builder.keys(request, plans, sink, progress))

    def rows(
        self, request: BuildRequest, plans: Sequence[RowPlan], sink: RunSink, progress: Progress | None = None
    ) -> BuildReport:
        """Build rows; see `protocol.Builder`."""
        return self._built(request, lambda builder: builder.rows(request, plans, sink, progress))

    def _built(self, request: BuildRequest, build: Callable[[Builder], T]) -> T:
        """Build by the session if the files are large; in this process if its workers fail, as no user chose them."""
        large = request.files.size_bytes > self.most_bytes
        builder = (self.running() if large else None) or self.here
        self.name = builder.name
        try:
            return build(builder)
        except WorkerError as error:
            logger.warning("built in this process, as workers cannot: %s", error)
            self.name, self.running = self.here.name, lambda: None
            return build(self.here)
