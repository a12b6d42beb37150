"""Merges rows that are read in the table's place on Spark: a task merges some pieces, out of the storage and into it;
the driver sees one line of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from metaindex.core import BuildError
from metaindex.index.kinds.pieces import PIECES_MERGED, MergedPiece, RowMerge

from .protocol import Progress
from .row_tasks import gathered, unpickled
from .spark_progress import tasks_told
from .spark_schemas import GATHERED, sql_schema

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_TASK_BYTES = 128 << 20
"""Of parts, that a task merges where pieces are small."""
_MOST_TASKS = 10_000


@dataclass(frozen=True, slots=True)
class MergeTask:
    """Task that writes merged pieces. A damaged part fails the task: Spark tries again, as a store may have given no
    answer, and then the merge fails."""

    merge: RowMerge

    def run(self, batches: Iterator[pa.RecordBatch], attempt: int) -> Iterator[pa.RecordBatch]:
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
    task = MergeTask(merge)

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        if context is None:
            raise BuildError("parts are written by tasks of Spark; there is none; report this")
        return task.run(batches, context.taskAttemptId())

    numbers = spark.range(0, count, 1, tasks_for(sizes, spark.sparkContext.defaultParallelism))
    with tasks_told(spark, progress, PIECES_MERGED, count):
        rows = numbers.mapInArrow(write, sql_schema(GATHERED)).collect()
    pieces = [piece for _, piece in unpickled(rows) if isinstance(piece, MergedPiece)]
    merge.tidy(pieces)
    return pieces


def tasks_for(sizes: Sequence[int], at_once: int) -> int:
    """Return the number of tasks that merge pieces of so many bytes: by their sum, at least as many as run at a time,
    and no more than pieces."""
    return min(len(sizes), _MOST_TASKS, max(at_once, -(-sum(sizes) // _TASK_BYTES)))
