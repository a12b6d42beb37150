"""Functions from Arrow batches to Arrow batches that run in Spark's Python workers. No Spark is imported here.

`ReadTask` reads files and says the rows of their facts; `WriteTask` writes sorted rows as parts of a run. Both are the
local builder's own code over a share of the files, so the two builders agree.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from metaindex.core import BuildError
from metaindex.index.build.collect import Collected, FactScan, collect
from metaindex.index.kinds.described import Level
from metaindex.index.kinds.fact_rows import fact_rows
from metaindex.index.kinds.registry import FACT_ROWS
from metaindex.index.kinds.spark_types import spark_schema
from metaindex.index.store.writer import PartStream, RunSink
from metaindex.storage import Storage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType


Run = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


@dataclass(frozen=True, slots=True)
class ReadTask:
    """A share of the files, to be read: one at a time on a disk, several at a time from an object store."""

    storage: Storage
    source: FactScan

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows of the facts of the files described by the batches (FILE)."""
        threads = 4 if "://" in self.storage.root else 1
        for batch in batches:
            files = pa.Table.from_batches([batch])
            if files.num_rows:
                collected = collect(
                    self.storage, self.source, files.column("path"), files.column("size_bytes"), threads
                )
                yield from file_rows(self.source, files, collected)


def file_rows(source: FactScan, files: pa.Table, collected: Collected) -> Iterator[pa.RecordBatch]:
    """FILE_ROWS of the files, column by column."""
    columns = [files.column(name).combine_chunks() for name in ("ordinal", "partition_ord", "partition_id")]
    count = files.num_rows
    problems = pa.array([collected.problems.get(row) for row in range(count)], pa.string())
    paths = pa.array(
        [files.column("path")[row].as_py() if row in collected.problems else None for row in range(count)], pa.string()
    )
    for place, leaf in enumerate(source.leaves):
        rows = fact_rows(leaf, collected.facts[place], *columns)
        first = place == 0
        said = [
            pa.repeat(first, count),
            paths if first else pa.nulls(count, pa.string()),
            problems if first else pa.nulls(count, pa.string()),
            pa.array(collected.scanned) if first else pa.repeat(False, count),
        ]
        table = pa.Table.from_arrays([*rows.columns, *said], schema=FILE_ROWS)
        yield from table.combine_chunks().to_batches()


@dataclass(frozen=True, slots=True)
class WriteTask:
    """A range of sorted rows, of so many, to be written."""

    sink: RunSink
    level: Level
    ranges: int

    def run(self, batches: Iterator[pa.RecordBatch], partition: int, attempt: int) -> Iterator[pa.RecordBatch]:
        """Writes the batches as parts, in numbers that no other range takes, and says which (GATHERED)."""
        level = self.level
        stream = PartStream(self.sink, level.partition, level.schema, level.columns, partition, self.ranges)
        for batch in batches:
            table = pa.Table.from_batches([batch])
            stream.add(table.select(level.schema.names).cast(level.schema))
        yield gathered(partition, stream.close(needed=False))


def by_task(run: Callable[[Iterator[pa.RecordBatch], int, int], Iterator[pa.RecordBatch]]) -> Run:
    """Tell a function of batches which partition of Spark's it writes, and in which attempt of the task."""

    def here(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        if context is None:
            raise BuildError("parts are written by tasks of Spark; there is none; report this")
        return run(batches, context.partitionId(), context.taskAttemptId())

    return here


def gathered(place: int, value: object) -> pa.RecordBatch:
    """Return a row of GATHERED."""
    return pa.RecordBatch.from_arrays(
        [pa.array([place], pa.int32()), pa.array([pickle.dumps(value)], pa.binary())], schema=GATHERED
    )


def results(frame: DataFrame, run: Run) -> list[tuple[int, Any]]:
    """Return what a function of batches gathers of a DataFrame (GATHERED), in the order of the places."""
    return unpickled(frame.mapInArrow(run, struct(GATHERED)).collect())


def unpickled(rows: Iterable[Any]) -> list[tuple[int, Any]]:
    """Rows of GATHERED as they were collected, in the order of their places."""
    told = [(row["place"], pickle.loads(bytes(row["data"]))) for row in rows]  # noqa: S301 - our own tasks wrote it
    return sorted(told, key=lambda place_and_value: int(place_and_value[0]))


FILE = pa.schema(
    [
        pa.field("ordinal", pa.int32()),
        pa.field("path", pa.string()),
        pa.field("size_bytes", pa.int64()),
        pa.field("partition_ord", pa.int32()),
        pa.field("partition_id", pa.int64()),
    ]
)
"""What a task is told of a file."""

FILE_ROWS = pa.schema(
    [
        *(field.with_nullable(True) for field in FACT_ROWS.files.schema),
        pa.field("first", pa.bool_()),  # the row of the file's first column: what is said once a file stands there
        pa.field("path", pa.string()),  # of a file with a problem
        pa.field("problem", pa.string()),
        pa.field("scanned", pa.bool_()),
    ]
)
"""The rows of facts with what the report says of the file."""

GATHERED = pa.schema([pa.field("place", pa.int32()), pa.field("data", pa.binary())])
"""What a task found or wrote, by its place: a pickled value of ours."""


def struct(schema: pa.Schema) -> StructType:
    """Return the schema as a Spark type."""
    import json

    from pyspark.sql.types import StructType

    return StructType.fromJson(json.loads(spark_schema(list(schema))))
