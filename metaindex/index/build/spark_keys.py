"""Keys on Spark: tasks run the local builder's own collectors over shares of the files, and its finishers over ranges
of the keys. No row passes through the JVM or the driver.

    files -> tasks of some files each (`CollectTask`): every file is read once for all keys; what a key has found goes,
    sorted, into objects in `spills/run=<run>/` of the index
          -> to the driver one line a task and key: where its objects are, and how many entries
          -> tasks of one range of one key each (`FinishTask`): its stretch of all tasks' objects, merged into the final
          parts -> the objects in `spills/run=<run>/` are removed

A task that is run again writes objects of other names, and parts of the same names and the same bytes. What a build
that was killed leaves belongs to no entry: `clean` removes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from metaindex.core import BuildError, Progress, StorageError
from metaindex.index.kinds.keyed import Gathered, KeyFinisher, Spill
from metaindex.index.kinds.kind import PlannedKey
from metaindex.index.store.layout import PartInfo, run_folder
from metaindex.index.store.writer import RunSink
from metaindex.storage import Storage, each_at

from .key_build import BuiltKey, key_build
from .key_scan import KeyScan, scan_keys
from .protocol import BuildReport, BuildRequest
from .spark_tasks import gathered, results

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SPILLS = "spills"
"""Where tasks leave what they found for the tasks that merge it: a folder beside those of the metadata partitions,
empty but while keys are built."""

_TASK_BYTES = 128 << 20
"""Of data files, that a task reads where there are more."""
_MOST_TASKS = 2_000
"""That read files: each range asks the objects of every one of them."""
_MOST_FINISHING = 10_000
LEAST_HELD, _MOST_HELD, _HELD_SHARE = 128 << 20, 1 << 30, 4_000
"""What the collectors of a task hold together, and what a range takes that is merged: 128 MB, as workers often have no
more than 384 MB beside the JVM; of tables beyond 500 GB a 4,000th of their bytes, up to 1 GB, as the objects times the
ranges are what merging costs."""
_TOLD = 100
"""Files with problems that a task names; it counts the others."""
_STEPS = 2


@dataclass(frozen=True, slots=True)
class _KeyTaskReport:
    """Report of a task on its files."""

    problems: dict[int, str]
    uncovered: int
    opened: int
    files: int


@dataclass(frozen=True, slots=True)
class KeyJob:
    """Builds all keys of a run."""

    spark: SparkSession
    request: BuildRequest
    plans: tuple[PlannedKey, ...]
    sink: RunSink
    held_bytes: int  # by a task

    def run(self, files: DataFrame, progress: Progress) -> BuildReport:
        """Builds them from the files (FILE), a task a partition of them."""
        count = len(self.request.files)
        progress("keys built", 0, _STEPS)
        try:
            shares, scanned = self._collect(files, count)
            progress("keys built", 1, _STEPS)
            spill = spill_of(self.sink, self.held_bytes)
            finishers = [
                plan.kind.finisher(plan, self.sink, spill, count, some)
                for plan, some in zip(self.plans, shares, strict=True)
            ]
            parts = self._finish(finishers)
            progress("keys built", 2, _STEPS)
        finally:
            _remove_spills(self.sink)
        covered = [finisher.covered() for finisher in finishers]
        built = [BuiltKey(key, some, unkeyed) for (key, unkeyed), some in zip(covered, parts, strict=True)]
        problems = {ordinal: why for report in scanned for ordinal, why in report.problems.items()}
        built_keys = key_build(built, self.sink, self.request, problems, sum(report.opened for report in scanned))
        return replace(built_keys, uncovered_files=sum(report.uncovered for report in scanned))

    def _collect(self, files: DataFrame, count: int) -> tuple[list[list[Gathered]], list[_KeyTaskReport]]:
        """Return what the tasks gathered of each key, and their reports."""
        source = KeyScan.of(self.request, self.plans)
        task = CollectTask(self.request.ref.storage, source, self.sink, count, self.held_bytes // len(self.plans))
        shares: list[list[Gathered]] = [[] for _ in self.plans]
        scanned: list[_KeyTaskReport] = []
        for place, value in results(files, task.run):
            if isinstance(value, _KeyTaskReport):
                scanned.append(value)
            else:
                shares[place].append(value)
        told = sum(report.files for report in scanned)
        if told != count:  # a file without rows would be taken for one without values
            elsewhere = "" if self.request.only_spark else ", or build without Spark"
            raise BuildError(
                f"every file of a run is read for its keys; Spark's tasks told of {told:,} of {count:,}; try"
                f" again{elsewhere}"
            )
        return shares, scanned

    def _finish(self, finishers: Sequence[KeyFinisher]) -> list[list[PartInfo]]:
        """The parts of each key, in order."""
        ranges = [(place, number) for place, finisher in enumerate(finishers) for number in range(finisher.ranges)]
        if not ranges:
            return [[] for _ in finishers]
        task = FinishTask(tuple(finishers), tuple(ranges))
        numbers = self.spark.range(0, len(ranges), 1, min(len(ranges), _MOST_FINISHING))
        return task.parts(results(numbers, task.run))


@dataclass(frozen=True, slots=True)
class CollectTask:
    """A share of the files, to be read for all keys. `files`: of the whole run. `limit_bytes`: what a key may hold in
    memory."""

    storage: Storage
    source: KeyScan
    sink: RunSink
    files: int
    limit_bytes: int

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Reads the files described by the batches (FILE); what each key has (GATHERED), and the report, at place
        -1."""
        some = [batch for batch in batches if batch.num_rows]
        if not some:
            return
        files = pa.Table.from_batches(some).sort_by("ordinal")
        spill = spill_of(self.sink, self.limit_bytes)
        collectors = [plan.kind.collector(plan, self.sink, spill, self.files) for plan in self.source.plans]
        threads = 4 if "://" in self.storage.root else 1
        report = scan_keys(self.storage, self.source, files, collectors, threads)
        for place, collector in enumerate(collectors):
            yield gathered(place, collector.hand_over())
        told = dict(sorted(report.problems.items())[:_TOLD])
        yield gathered(-1, _KeyTaskReport(told, len(report.problems), report.files_scanned, files.num_rows))


@dataclass(frozen=True, slots=True)
class FinishTask:
    """Ranges of keys, to be written. `ranges`: of all keys, by (place of the key, number of the range)."""

    finishers: tuple[KeyFinisher, ...]
    ranges: tuple[tuple[int, int], ...]

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Writes the ranges whose numbers are the batches' only column, and says which parts they are (GATHERED)."""
        for batch in batches:
            for at in batch.column(0).to_pylist():
                place, number = self.ranges[at]
                yield gathered(at, self.finishers[place].write(number))

    def parts(self, written: Iterable[tuple[int, list[PartInfo]]]) -> list[list[PartInfo]]:
        """Return the parts of each key, in order, from all tasks' reports."""
        out: list[list[PartInfo]] = [[] for _ in self.finishers]
        for at, parts in written:
            out[self.ranges[at][0]] += parts
        return out


def tasks_for(request: BuildRequest, files_per_task: int) -> int:
    """Return the number of tasks that read the files, by number and size of the files."""
    count = len(request.files)
    by_size = min(count, -(-request.files.size_bytes // _TASK_BYTES))
    return max(1, min(_MOST_TASKS, max(-(-count // files_per_task), by_size)))


def held_bytes_for(request: BuildRequest) -> int:
    """Return the default limit on what a task holds in memory."""
    return max(LEAST_HELD, min(_MOST_HELD, request.files.size_bytes // _HELD_SHARE))


def spill_of(sink: RunSink, limit_bytes: int) -> Spill:
    """Return the spill folder of a run's tasks, which use names of their own."""
    return Spill(sink.storage, run_folder(SPILLS, sink.run), limit_bytes)


def _remove_spills(sink: RunSink) -> None:
    """Remove the spills. What remains after an error is garbage for `clean`, and no reason to fail."""
    with suppress(StorageError):
        paths = [info.path for info in sink.storage.list(run_folder(SPILLS, sink.run))]
        each_at(sink.storage.root, paths, sink.storage.delete)
