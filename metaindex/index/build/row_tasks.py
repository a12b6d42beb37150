"""Runs in Spark's Python workers to build covering indexes: rows out of data files, and sorted rows into parts. No
Spark is imported here.

Every file ends in a *tally*, a row without values whose `_mi_row` says what became of it: so that the driver knows of
each file that it was read once, and of how many rows, and can tell whether all of them were written.

    -2        the file is in doubt, and gave no rows
    -3        the same, after it gave some: they count for nothing
    -4 - n    the file gave n rows
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from metaindex.core import BuildError, StorageUnavailableError
from metaindex.index.build.collect import UNREADABLE, readable
from metaindex.index.build.row_source import DataFile, RowSource
from metaindex.index.build.spark_tasks import gathered
from metaindex.index.kinds.pieces import WrittenPart
from metaindex.index.kinds.row_plan import RowPlan
from metaindex.index.kinds.row_sums import RowSum, sum_of_files
from metaindex.index.kinds.served import NO_ROW, ORDINAL, ROW
from metaindex.index.store.writer import RunSink
from metaindex.storage import Storage

Ordinals = npt.NDArray[np.int32]

EMPTY_DOUBT, LATE_DOUBT, TOLD = -2, -3, -4
SAMPLE_ROWS = 1 << 16
"""Of a sample, by which rows are spread: two hundred and more for each of a column's cut points."""

ROW_FILE = pa.schema(
    [
        pa.field("ordinal", pa.int32()),
        pa.field("path", pa.string()),
        pa.field("size_bytes", pa.int64()),
        pa.field("modified_ms", pa.int64()),
        pa.field("rows", pa.int64()),
        pa.field("kind", pa.int32()),
    ]
)
"""A file as a task is told of it: `row_source.DataFile`."""


@dataclass(frozen=True, slots=True)
class ReadRows:
    """Reads files (ROW_FILE) into rows (`RowPlan.travels`) and tallies."""

    storage: Storage
    source: RowSource

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for ordinal, file in _files(batches):
            yield from self._file(ordinal, file)

    def _file(self, ordinal: int, file: DataFile) -> Iterator[pa.RecordBatch]:
        plan, given = self.source.plan, 0
        schema = plan.travelling
        try:
            for first, columns in self.source.read(self.storage, file):
                count = len(columns[0])
                rows = pa.array(np.arange(first, first + count, dtype=np.int64))
                lineage = [pa.repeat(pa.scalar(ordinal, pa.int32()), count), rows]
                yield plan.placed(pa.RecordBatch.from_arrays([*columns, *lineage], schema=schema))
                given += count
        except StorageUnavailableError:
            raise  # says nothing of the file
        except UNREADABLE:
            yield plan.placed(_tally(schema, ordinal, LATE_DOUBT if given else EMPTY_DOUBT))
        else:
            yield plan.placed(_tally(schema, ordinal, TOLD - given))


def _tally(schema: pa.Schema, ordinal: int, says: int) -> pa.RecordBatch:
    nulls = [pa.nulls(1, column.type) for column in list(schema)[:-2]]
    return pa.RecordBatch.from_arrays(
        [*nulls, pa.array([ordinal], pa.int32()), pa.array([says], pa.int64())], schema=schema
    )


@dataclass(frozen=True, slots=True)
class SampledRows:
    """Reads some rows of files (ROW_FILE), of each as many as its share of `total_bytes` is of `rows`, dealt out over
    it (`travelling`). A file in doubt gives some or none."""

    storage: Storage
    source: RowSource
    rows: int
    total_bytes: int

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for ordinal, file in _files(batches):
            wanted = max(1, self.rows * file.size_bytes // max(1, self.total_bytes))
            try:
                yield from self._file(ordinal, file, wanted)
            except StorageUnavailableError:
                raise  # says nothing of the file
            except UNREADABLE:
                continue

    def _file(self, ordinal: int, file: DataFile, wanted: int) -> Iterator[pa.RecordBatch]:
        held: list[pa.RecordBatch] = []
        every, count = 1, 0  # of so many rows one is held, so many are
        for first, columns in self.source.read(self.storage, file):
            batch = _sampled(columns, first, ordinal, every, self.source.plan.travelling)
            held.append(batch)
            count += batch.num_rows
            while count > 2 * wanted:
                every, held = 2 * every, [b.filter(pa.array(b.column(ROW).to_numpy() % (2 * every) == 0)) for b in held]
                count = sum(batch_.num_rows for batch_ in held)
        yield from held


def _sampled(columns: Sequence[pa.Array], first: int, ordinal: int, every: int, schema: pa.Schema) -> pa.RecordBatch:
    """Return the rows whose number is a multiple of `every`. `first`: the first row's number."""
    at = np.arange(-first % every, len(columns[0]), every)
    some = [column.take(pa.array(at)) for column in columns]
    lineage = [pa.repeat(pa.scalar(ordinal, pa.int32()), len(at)), pa.array(at + first, pa.int64())]
    return pa.RecordBatch.from_arrays([*some, *lineage], schema=schema)


@dataclass(frozen=True, slots=True)
class Doubts:
    """Says why files (ROW_FILE) are in doubt: GATHERED rows of the ordinal and the reason; none for a file that can be
    read after all."""

    storage: Storage
    source: RowSource

    def run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for ordinal, file in _files(batches):
            why = readable(file.path, lambda: deque(self.source.read(self.storage, file), 0))  # noqa: B023 - read here
            if isinstance(why, str):
                yield gathered(ordinal, why)


def _files(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[int, DataFile]]:
    """Return a task's files (ROW_FILE), by ordinal."""
    for batch in batches:
        for row in batch.to_pylist():
            yield row.pop("ordinal"), DataFile(**row)


@dataclass(slots=True)
class RowTaskReport:
    """Report of a task on what it wrote and read. `rows`: by their files."""

    parts: list[WrittenPart] = field(default_factory=list)
    rows: RowSum = field(default_factory=RowSum)
    tallied: npt.NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    tallies: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))


@dataclass(frozen=True, slots=True)
class WriteRows:
    """Writes the sorted rows of one partition of Spark's: a bucket or a range. `size_bytes`: as for
    `RowPlan.spread`."""

    sink: RunSink
    plan: RowPlan
    size_bytes: int

    def run(self, batches: Iterator[pa.RecordBatch], partition: int, attempt: int) -> Iterator[pa.RecordBatch]:
        out, told = RowTaskReport(), []
        writer = self.plan.writer(self.sink, partition, attempt, self.size_bytes)
        for batch in batches:
            table = pa.Table.from_batches([batch])
            tallies = pc.less(table.column(ROW), NO_ROW)
            if pc.any(tallies, min_count=0).as_py():
                some = table.filter(tallies).select([ORDINAL, ROW])
                told.append(some)
                table = table.filter(pc.invert(tallies))
            if not table.num_rows:
                continue
            ordinals = table.column(ORDINAL)
            if ordinals.null_count:
                raise BuildError(
                    "every row read belongs to a file of the request; Spark read one that does not; report this"
                )
            out.rows += sum_of_files(ordinals.to_numpy())
            writer.add(table)
        out.parts = writer.close()
        if told:
            every = pa.concat_tables(told)
            out.tallied, out.tallies = every.column(ORDINAL).to_numpy(), every.column(ROW).to_numpy()
        yield gathered(partition, out)
