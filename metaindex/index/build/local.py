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

from metaindex.core import BuildError, Cure, WorkerError
from metaindex.index.build.collect import Collected, FactScan, collect
from metaindex.index.build.prepared import completed, prepared, unpacked
from metaindex.index.build.protocol import Builder, BuildReport, BuildRequest, KeyBuild, Progress
from metaindex.index.kinds.described import FactWriter
from metaindex.index.kinds.facts import MOST_ROWS, in_column_order
from metaindex.index.kinds.kind import PlannedKey
from metaindex.index.kinds.registry import FACT_ROWS
from metaindex.index.kinds.served import RowPlan
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
        files = request.files.table
        source = FactScan.of(request, scans=self.scans)
        collected = _collected(request, source, self._threads(request), progress)
        writer = _writer(request, collected, sink)
        leaves = (*request.leaves, *request.partition_leaves)
        for done, (place, leaf) in enumerate(in_column_order(leaves)):
            if place < len(request.leaves):
                facts = unpacked(collected.facts[place])
                collected.facts[place] = facts.schema.empty_table()  # its memory is the next column's
                writer.write(leaf, facts)
            else:
                writer.write_values(request.partition_column(leaf))
            if progress is not None:
                progress("columns written", done + 1, len(leaves))
        problems = collected.problems
        return BuildReport(
            parts=tuple(writer.close()),
            uncovered=tuple((files.column("path")[row].as_py(), why) for row, why in sorted(problems.items())[:100]),
            uncovered_files=len(problems),
            files_scanned=int(collected.scanned.sum()),
        )

    def keys(
        self, request: BuildRequest, plans: Sequence[PlannedKey], sink: RunSink, progress: Progress | None = None
    ) -> KeyBuild:
        """Build keys; see `protocol.Builder`."""
        from .key_build import build_keys

        return build_keys(request, plans, sink, self._threads(request), progress)

    def rows(
        self, request: BuildRequest, plans: Sequence[RowPlan], sink: RunSink, progress: Progress | None = None
    ) -> KeyBuild:
        """Refuse to build rows, which only Spark puts into buckets and sorts; see `protocol.Builder`."""
        raise self.not_here()

    def or_on(self, running: Callable[[], Builder | None], most_bytes: int) -> Builder:
        """Return a builder: what is small is built by this one, what is not by the one that is running, if any."""
        return _BySize(self, running, most_bytes)

    @staticmethod
    def not_here() -> BuildError:
        """Return the error of kinds that only Spark builds."""
        return BuildError(
            f"a covering index is built by Spark; the builder is 'local'; choose {Cure('argument', 'builder', 'spark')}"
        )

    def _threads(self, request: BuildRequest) -> int:
        return self.threads or (16 if "://" in request.ref.storage.root else 1)


def _writer(request: BuildRequest, collected: Collected, sink: RunSink) -> FactWriter:
    """Return the writer of facts, which takes all columns at once if the files are few."""
    ids = request.partitions.sort_by("partition_ord").column("partition_id").combine_chunks()
    if len(request.files) * len(request.leaves) > MOST_ROWS:
        return FACT_ROWS.writer(sink, request.partition_ord, ids)
    facts = [unpacked(packed) for packed in collected.facts]
    return FACT_ROWS.few(sink, request.partition_ord, ids, request.leaves, facts)


def _collected(request: BuildRequest, source: FactScan, threads: int, progress: Progress | None) -> Collected:
    """Collect facts from the log if that is allowed and enough, else from the files."""
    files = request.files.table.select(["path", "size_bytes"])
    if not request.trust_log:
        return collect(request.ref.storage, source, files.column("path"), files.column("size_bytes"), threads, progress)
    facts, enough = prepared(request)
    if enough.all():
        return Collected(facts, {}, np.zeros(len(enough), np.bool_))
    unread = files.filter(pa.array(~enough))
    read = collect(request.ref.storage, source, unread.column("path"), unread.column("size_bytes"), threads, progress)
    return completed(facts, enough, read)


logger = logging.getLogger("metaindex")

T = TypeVar("T")


@dataclass(slots=True)
class _BySize:
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
    ) -> KeyBuild:
        """Build keys; see `protocol.Builder`."""
        return self._built(request, lambda builder: builder.keys(request, plans, sink, progress))

    def rows(
        self, request: BuildRequest, plans: Sequence[RowPlan], sink: RunSink, progress: Progress | None = None
    ) -> KeyBuild:
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
            self.name, self.running = self.here.name, _nobody
            return build(self.here)


def _nobody() -> Builder | None:
    return None
