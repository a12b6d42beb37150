"""Rows that are read in the table's place, on Spark: they are read by tasks, spread and sorted as their kind has them,
and written by the tasks that sorted them.

    files -> tasks read physical rows (`row_tasks.ReadRows`; CSV and JSON: Spark's own readers, `spark_rows_text`)
          -> `RowPlan.spread`: into buckets, ranges or stretches of a curve, sorted in each
          -> tasks write the parts of theirs (`WriteRows`) -> to the driver one line a task

Files that are in doubt are *unkeyed*: a reader takes their rows from the table. Where doubt came after rows had been
given, all is done once more without those files. Nothing is kept unless as many rows of each file were written as were
read.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from metaindex.core import BuildError, Progress, SparkDriver
from metaindex.formats import Format
from metaindex.index.build.key_build import BuiltKey, key_build
from metaindex.index.build.protocol import BuildReport, BuildRequest
from metaindex.index.build.row_source import RowSource
from metaindex.index.build.row_tasks import (
    EMPTY_DOUBT,
    LATE_DOUBT,
    ROW_FILE,
    SAMPLE_ROWS,
    TOLD,
    Doubts,
    Ordinals,
    ReadRows,
    RowTaskReport,
    SampledRows,
    WriteRows,
)
from metaindex.index.build.spark_keys import tasks_for
from metaindex.index.build.spark_tasks import by_task, gathered, results, struct
from metaindex.index.kinds.pieces import PIECES_MERGED, MergedPiece, RowMerge, WrittenPart
from metaindex.index.kinds.row_plan import RowPlan
from metaindex.index.kinds.row_sums import RowSum, sum_of_counts
from metaindex.index.kinds.served import remove_strays, sizes_of
from metaindex.index.store.writer import RunSink

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


_TRIES = 3
_SAMPLE_FILES = 512
"""Out of which a sample is taken: their columns are read whole."""
_UNKEYED_PARTS = 1_000_000
"""Number of the first part of `unkeyed` that is written here: those of keys that are looked up come before."""


class RowsToStore(Protocol):
    """The rows of the data files of a run, as they are to be stored."""

    @property
    def tallied(self) -> bool:
        """True if each file ends in a tally."""

    @property
    def known(self) -> Mapping[int, str]:
        """Files that are in doubt before any is read, and why."""

    def frame(self, ordinals: Ordinals) -> DataFrame:
        """Return the rows of these files as `RowPlan.travels`."""

    def sample(self, ordinals: Ordinals) -> pa.Table:
        """Sample about `SAMPLE_ROWS` rows of these files, in `travelling` columns."""

    def doubts(self, ordinals: Ordinals) -> dict[int, str]:
        """Why files are in doubt: those of them that are."""


BuiltRows = tuple[BuiltKey, dict[int, str]]
"""Written rows of one plan, and why files are unkeyed."""


@dataclass(frozen=True, slots=True)
class RowJob:
    """Builds all plans of a run."""

    spark: SparkSession
    request: BuildRequest
    sink: RunSink
    files_per_task: int

    def run(self, plans: Sequence[RowPlan], progress: Progress) -> BuildReport:
        """Builds them, one after the other."""
        built = []
        for done, plan in enumerate(plans):
            progress("covering indexes written", done, len(plans))
            columns = ", ".join(".".join(leaf.parts) for leaf in plan.columns[: plan.indexed])
            with tasks_told(self.spark, progress, f"tasks of the covering index of {columns}"):
                built.append(self._build(plan))
            progress("covering indexes written", done + 1, len(plans))
        for partition in {plan.partition for plan in plans}:
            remove_strays(self.sink, partition, {part.path for key, _ in built for part in key.parts})
        return key_build_of(built, self.request, self.sink)

    def _build(self, plan: RowPlan) -> BuiltRows:
        plan = plan.settled(self.request.earlier, self._stored_bytes(plan), self._sample)
        if not len(self.request.files):
            return built_rows(plan, [], {})
        rows = self._rows(plan)
        unkeyed = dict(rows.known)
        for _ in range(_TRIES):
            asked = np.setdiff1d(np.arange(len(self.request.files), dtype=np.int32), np.array([*unkeyed], np.int32))
            written = self._write(plan, rows, asked) if len(asked) else []
            early, late = doubted(written)
            if len(early) or len(late):
                doubtful = rows.doubts(np.concatenate([early, late]))
                unkeyed |= doubtful
                if len(late) or len(doubtful) < len(early):
                    # What was written holds rows of files in doubt, or lacks those of some that can be read after all.
                    continue
                asked = np.setdiff1d(asked, early)
            if rows.tallied:
                check_written(written, asked)
            parts = [part for task in written for part in task.parts]
            return built_rows(plan, parts, unkeyed)
        raise BuildError(
            "data files stay as they are while they are indexed; some were in doubt each time anew; try again later"
        )

    def _rows(self, plan: RowPlan) -> RowsToStore:
        file_format = self.request.snapshot.details.read_options().get("file_format", "parquet")
        match file_format:
            case "parquet":
                return FileRows.of(self.spark, self.request, plan, self.files_per_task)
            case "csv" | "json":
                from .spark_rows_text import TextRows

                return TextRows.of(self.spark, self.request, plan)
            case _:
                raise BuildError(
                    f"a covering index is built of Parquet, CSV and JSON; this table is of {file_format!r}; build"
                    " another kind"
                )

    def _sample(self, plan: RowPlan) -> pa.Table:
        """Sample rows of files spread from first to last."""
        count = len(self.request.files)
        if not count:
            return plan.travelling.empty_table()
        some = np.unique(np.linspace(0, count - 1, min(count, _SAMPLE_FILES)).astype(np.int32))
        return self._rows(plan).sample(some)

    def _write(self, plan: RowPlan, rows: RowsToStore, asked: Ordinals) -> list[RowTaskReport]:
        size_bytes = self._stored_bytes(plan)
        frame = plan.spread(rows.frame(asked), size_bytes)
        task = WriteRows(self.sink, plan, size_bytes)
        return [told for _, told in results(frame, by_task(task.run))]

    def _stored_bytes(self, plan: RowPlan) -> int:
        """Estimate the data files' bytes in the stored columns."""
        columns = max(1, len(self.request.snapshot.schema.leaves()))
        return self.request.files.size_bytes * min(len(plan.columns), columns) // columns


@dataclass(frozen=True)
class FileRows:
    """Rows of Parquet files, whatever the table's format: see `RowsToStore`."""

    spark: SparkSession
    source: RowSource
    request: BuildRequest
    files: pa.Table  # ROW_FILE
    files_per_task: int
    known: Mapping[int, str] = field(default_factory=dict)
    tallied: bool = True

    @classmethod
    def of(cls, spark: SparkSession, request: BuildRequest, plan: RowPlan, files_per_task: int) -> FileRows:
        kinds, source = RowSource.of(request, plan)
        table = request.files.table
        count, plain = len(request.files), not Format.named(request.snapshot.format).has_log
        files = pa.Table.from_arrays(
            [
                pa.array(np.arange(count, dtype=np.int32)),
                table.column("path"),
                table.column("size_bytes"),
                table.column("modified_ms") if plain else pa.nulls(count, pa.int64()),
                table.column("record_count"),
                pa.array(kinds),
            ],
            schema=ROW_FILE,
        )
        return cls(spark, source, request, files, files_per_task)

    def frame(self, ordinals: Ordinals) -> DataFrame:
        schema = struct(self.source.plan.travels)
        return self._files(ordinals).mapInArrow(ReadRows(self.request.ref.storage, self.source).run, schema)

    def sample(self, ordinals: Ordinals) -> pa.Table:
        schema = self.source.plan.travelling
        total_bytes = int(pc.sum(self.files.column("size_bytes").take(pa.array(ordinals))).as_py() or 0)
        task = SampledRows(self.request.ref.storage, self.source, SAMPLE_ROWS, total_bytes)
        frame = self._files(ordinals).mapInArrow(task.run, struct(schema))
        return SparkDriver.arrow_of(frame).rename_columns(schema.names).cast(schema)

    def doubts(self, ordinals: Ordinals) -> dict[int, str]:
        task = Doubts(self.request.ref.storage, self.source)
        return {ordinal: str(why) for ordinal, why in results(self._files(ordinals), task.run)}

    def _files(self, ordinals: Ordinals) -> DataFrame:
        files = SparkDriver(self.spark).frame(self.files.take(pa.array(ordinals)))
        tasks = min(tasks_for(self.request, self.files_per_task), max(1, len(ordinals)))
        return files.coalesce(1) if tasks == 1 else files.repartition(tasks)


def key_build_of(built: Sequence[BuiltRows], request: BuildRequest, sink: RunSink) -> BuildReport:
    """Combine what was built of all plans, with the rows of `unkeyed`."""
    why = {ordinal: told for _, unkeyed in built for ordinal, told in unkeyed.items()}
    return key_build([key for key, _ in built], sink, request, why, len(request.files) - len(why), _UNKEYED_PARTS)


def built_rows(plan: RowPlan, parts: Sequence[WrittenPart], unkeyed: dict[int, str]) -> BuiltRows:
    key, ordinals = plan.covered(sizes_of(parts), len(unkeyed)), np.array([*unkeyed], np.int64)
    return BuiltKey(key, tuple(part.info for part in parts), ordinals), unkeyed


def doubted(written: Sequence[RowTaskReport]) -> tuple[Ordinals, Ordinals]:
    """Files in doubt that gave no rows, and those that gave some."""
    ordinals, says = _tallies(written)
    return ordinals[says == EMPTY_DOUBT], np.unique(ordinals[says == LATE_DOUBT])


def _tallies(written: Sequence[RowTaskReport]) -> tuple[Ordinals, npt.NDArray[np.int64]]:
    return (
        np.concatenate([np.zeros(0, np.int32), *(task.tallied for task in written)]),
        np.concatenate([np.zeros(0, np.int64), *(task.tallies for task in written)]),
    )


def check_written(written: Sequence[RowTaskReport], asked: Ordinals) -> None:
    """Raise unless every file was reported once, and as many rows of each were written as it gave."""
    ordinals, says = _tallies(written)
    told = says <= TOLD
    ordinals, rows = ordinals[told], TOLD - says[told]
    if not np.array_equal(np.sort(ordinals), asked):
        raise BuildError(
            f"every file of a run is read once; Spark's tasks told of {len(ordinals):,}, {len(asked):,} were asked; try"
            " again"
        )
    given, taken = sum_of_counts(ordinals, rows), sum((task.rows for task in written), RowSum())
    if given != taken:
        raise BuildError(
            f"every row that is read is written once; of {given.rows:,} rows read {taken.rows:,} were written; nothing"
            " became visible, try again"
        )


_TASK_BYTES = 128 << 20
"""Of parts, that a task merges where pieces are small."""
_MOST_TASKS = 10_000


@dataclass(frozen=True, slots=True)
class MergeTask:
    """Task that writes merged pieces. A damaged part fails the task: Spark tries again, as a store may have given no
    answer, and then the merge fails."""

    merge: RowMerge

    def run(self, batches: Iterator[pa.RecordBatch], partition: int, attempt: int) -> Iterator[pa.RecordBatch]:
        """Writes the pieces whose numbers are the batches' only column; of each, what became of it (GATHERED)."""
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield gathered(number, self.merge.write(number, attempt))


def merge_on_spark(spark: SparkSession, merge: RowMerge, progress: Progress) -> list[MergedPiece]:
    """Writes all pieces; see `kinds.pieces.WritesPieces`."""
    sizes = merge.sizes
    count = len(sizes)
    if not count:
        return []
    run = by_task(MergeTask(merge).run)
    numbers = spark.range(0, count, 1, merging_tasks(sizes, spark.sparkContext.defaultParallelism))
    with tasks_told(spark, progress, PIECES_MERGED, count):
        pieces: list[MergedPiece] = [piece for _, piece in results(numbers, run)]
    merge.tidy(pieces)
    return pieces


def merging_tasks(sizes: Sequence[int], at_once: int) -> int:
    """Return the number of tasks that merge pieces of so many bytes: by their sum, at least as many as run at a time,
    and no more than pieces."""
    return min(len(sizes), _MOST_TASKS, max(at_once, -(-sum(sizes) // _TASK_BYTES)))


_SECONDS = 0.5
"""Between two looks."""


@contextmanager
def tasks_told(spark: SparkSession, progress: Progress, what: str, total: int | None = None) -> Iterator[None]:
    """Report from another thread, now and then, how many tasks of the jobs started inside are done, and of how many
    known ones; at the end, that all are. `total`: the number of things that all tasks together do, reported instead. A
    failing report does not fail the build."""
    over = threading.Event()
    said = [0, total or 0]

    def tell(done: int, tasks: int) -> None:
        now = [done, tasks] if total is None else [total * done // tasks, total]
        if now != said:
            said[:] = now
            progress(what, *now)

    def watch(tag: str) -> None:
        while not over.wait(_SECONDS):
            try:
                done, tasks = _tasks(spark, tag)
            except Exception:  # noqa: BLE001 - the session may end, or a newer Spark may tell it otherwise
                return
            if tasks:
                tell(done, tasks)

    progress(what, *said)
    driver = SparkDriver(spark)
    with driver.tagged() as tag:
        thread = driver.thread(lambda: watch(tag), tag)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
    if said[1]:
        tell(said[1], said[1])


def _tasks(spark: SparkSession, tag: str) -> tuple[int, int]:
    """Return finished tasks and all tasks of the started stages of the tag's jobs. Stages that never start are skipped
    ones, done by an earlier job."""
    tracker = spark.sparkContext.statusTracker()
    infos = [tracker.getStageInfo(stage) for stage in SparkDriver(spark).stage_ids(tag)]
    begun = [stage for stage in infos if stage is not None and (stage.numActiveTasks or stage.numCompletedTasks)]
    known = sum(stage.numTasks for stage in begun)
    return min(sum(stage.numCompletedTasks for stage in begun), known), known
